//! Values that may be written in more than one form.

use super::node::{Node, NodeValue};
use super::problem::Problems;

/// Declares an enum whose variant is chosen by how the value is written, with its reader and
/// its JSON Schema.
///
/// ```
/// use trackside_lifecycle::name::Name;
/// use trackside_lifecycle::source::{At, Named, keys, shapes};
///
/// keys! { pub struct Asked { pub ask: At<Name> } }
///
/// shapes! {
///     /// Where a transition leads.
///     pub enum To {
///         /// One state.
///         State(At<Name>) if scalar,
///         /// Several, tried in order.
///         Choices(Vec<To>) if list,
///         /// A state that the caller names.
///         Asked(Asked) if map with "ask",
///         /// One for each current state.
///         Table(Named<At<Name>>) if map,
///     }
/// }
/// ```
///
/// The shapes are `scalar`, `list`, `map` and `map with "key"`. The first variant that fits is read. Every variant holds one value. The enum
/// derives `Debug` and `Clone`.
#[macro_export]
macro_rules! shapes {
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $variant:ident($type:ty) if $shape:ident $(with $key:literal)?
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        $vis enum $name {
            $($(#[doc = $doc])* $variant($type),)+
        }

        impl $crate::source::FromNode for $name {
            fn from_node(
                node: &$crate::source::Node,
                problems: &mut $crate::source::Problems,
            ) -> ::core::option::Option<Self> {
                let shapes = [$($crate::shapes!(@shape $shape $($key)?)),+];
                let chosen = $crate::source::declared::pick(&shapes, node, problems)?;
                let mut number = 0_usize;
                $(
                    if chosen == number {
                        return <$type as $crate::source::FromNode>::from_node(node, problems).map(Self::$variant);
                    }
                    number += 1;
                )+
                let _ = number;
                ::core::option::Option::None
            }
        }

        impl $crate::source::declared::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(
                generator: &mut $crate::source::declared::SchemaGenerator,
            ) -> $crate::source::declared::Schema {
                let variants = ::std::vec![$((generator.subschema_for::<$type>(), &[$($doc),*] as &[&str])),+];
                $crate::source::declared::any_of(&[$($about),*], variants)
            }
        }
    };
    (@shape scalar) => { $crate::source::declared::NodeShape::Scalar };
    (@shape list) => { $crate::source::declared::NodeShape::List };
    (@shape map) => { $crate::source::declared::NodeShape::Map };
    (@shape map $key:literal) => { $crate::source::declared::NodeShape::MapWith($key) };
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeShape {
    Scalar,
    List,
    Map,
    MapWith(&'static str),
}

impl NodeShape {
    fn fits(self, node: &Node) -> bool {
        match (self, &node.value) {
            (Self::Scalar, _) => node.as_written().is_some(),
            (Self::List, NodeValue::List(_)) => true,
            (Self::Map, NodeValue::Map(_)) => true,
            (Self::MapWith(key), NodeValue::Map(_)) => node.get(key).is_some(),
            _ => false,
        }
    }

    fn word(self) -> String {
        match self {
            Self::Scalar => "text".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Map => "a mapping".to_owned(),
            Self::MapWith(key) => format!("a mapping with `{key}`"),
        }
    }
}

/// The number of the first shape that fits, or a report of all that would.
pub fn pick(shapes: &[NodeShape], node: &Node, problems: &mut Problems) -> Option<usize> {
    let found = shapes.iter().position(|it| it.fits(node));
    if found.is_none() {
        let words: Vec<String> = shapes.iter().map(|it| it.word()).collect();
        let what = match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        };
        problems.expected(&what, node);
    }
    found
}
