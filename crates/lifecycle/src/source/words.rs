//! Values out of a closed list of words.

use super::from_node::text;
use super::keys::join_words;
use super::node::Node;
use super::problem::{Problems, quote};
use crate::guard::nearest::nearest;

/// Declares an enum of words, with its reader and its JSON Schema.
///
/// ```
/// use trackside_lifecycle::source::words;
///
/// words! {
///     /// How it ended.
///     pub enum Outcome {
///         Success = "success",
///         Failure = "failure",
///     }
/// }
/// assert_eq!(Outcome::Success.word(), "success");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident {
            $($(#[doc = $doc:literal])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[doc = $doc])* $variant,)+
        }

        impl $name {
            #[allow(dead_code)]
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[allow(dead_code)]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl $crate::source::FromNode for $name {
            fn from_node(
                node: &$crate::source::Node,
                problems: &mut $crate::source::Problems,
            ) -> ::core::option::Option<Self> {
                match $crate::source::declared::word(node, &[$($word),+], problems)? {
                    $($word => ::core::option::Option::Some(Self::$variant),)+
                    _ => ::core::option::Option::None,
                }
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
                _: &mut $crate::source::declared::SchemaGenerator,
            ) -> $crate::source::declared::Schema {
                let words = [$(($word, &[$($doc),*] as &[&str])),+];
                $crate::source::declared::one_word(&[$($about),*], &words)
            }
        }
    };
}

/// The word of a node, if it is one of these.
pub fn word<'a>(node: &'a Node, words: &[&str], problems: &mut Problems) -> Option<&'a str> {
    let found = text(node, "a word", problems)?;
    if words.contains(&found) {
        return Some(found);
    }
    let shown = quote(found);
    let (message, hint) = match nearest(found, words.iter().copied()) {
        Some(guess) => (format!("{shown} is not expected here. Did you mean `{guess}`?"), None),
        None => {
            (format!("{shown} is not expected here"), Some(format!("the words are {}", join_words(words))))
        }
    };
    problems.error("unknown-word", node.at, message).hint = hint;
    None
}
