//! Mappings with known keys.

use super::from_node::FromNode;
use super::node::{At, Node};
use super::problem::{Problems, quote};
use crate::guard::nearest::nearest;
use crate::name::Name;

/// Declares a mapping with known keys, once: the struct, its reader, its keys, its JSON Schema.
///
/// ```
/// use trackside_lifecycle::name::Name;
/// use trackside_lifecycle::source::{At, OneOrMany, keys};
///
/// keys! {
///     /// One rule of a transition.
///     pub struct Arm {
///         /// The states it leaves.
///         pub from: Option<OneOrMany<At<Name>>>,
///         /// A raw identifier: the key is `where`.
///         pub r#where: Option<At<String>>,
///         /// Must be given, since its type has no value for what is left out.
///         pub title: At<String>,
///         /// A key that is no identifier.
///         #[key("$ref")]
///         pub reference: Option<At<String>>,
///     }
/// }
/// assert_eq!(Arm::KEYS, ["from", "where", "title", "$ref"]);
/// ```
///
/// The struct derives `Debug` and `Clone`. Doc comments come first, then `#[key]`; they are the
/// descriptions in the schema. A key may be left out if its type says so
/// ([`FromNode::absent`]: `Option`, `Vec` and `Named`). An explicit null counts as left out.
#[macro_export]
macro_rules! keys {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[key($key:literal)])?
                $field_vis:vis $field:ident : $type:ty
            ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])* $field_vis $field: $type,)*
        }

        impl $name {
            /// Every key, in declared order.
            #[allow(dead_code)]
            pub const KEYS: &'static [&'static str] = &[$($crate::keys!(@key $field $($key)?)),*];
        }

        impl $crate::source::FromNode for $name {
            fn from_node(
                node: &$crate::source::Node,
                problems: &mut $crate::source::Problems,
            ) -> ::core::option::Option<Self> {
                #[allow(unused_mut, unused_variables)]
                let mut keys = $crate::source::declared::Keys::of(node, Self::KEYS, problems)?;
                // Every key is read before the first missing one ends it.
                $(let $field = keys.take($crate::keys!(@key $field $($key)?));)*
                ::core::option::Option::Some(Self { $($field: $field?,)* })
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
                #[allow(unused_variables)] generator: &mut $crate::source::declared::SchemaGenerator,
            ) -> $crate::source::declared::Schema {
                #[allow(unused_mut)]
                let mut schema = $crate::source::declared::MapSchema::new(&[$($about),*]);
                $(schema.key::<$type>(generator, $crate::keys!(@key $field $($key)?), &[$($doc),*]);)*
                schema.finish()
            }
        }
    };
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { const { $crate::source::declared::key_name(stringify!($field)) } };
}

/// The key of an identifier: raw identifiers lose their `r#`.
pub const fn key_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// A mapping being read, key by key.
#[derive(Debug)]
pub struct Keys<'a> {
    node: &'a Node,
    entries: &'a [(At<Name>, Node)],
    /// Keys that misspelled ones probably meant; they are not reported as missing.
    meant: Vec<&'static str>,
    problems: &'a mut Problems,
}

impl<'a> Keys<'a> {
    /// Checks that the node is a mapping, and reports every key that is not among the known.
    pub fn of(node: &'a Node, known: &'static [&'static str], problems: &'a mut Problems) -> Option<Self> {
        let Some(entries) = node.entries() else {
            let hint = match known {
                _ if node.is_null() => Some("write `{}` for a mapping without keys".to_owned()),
                [] => None,
                _ => Some(format!("its keys are {}", join_words(known))),
            };
            problems.expected_with("a mapping", node, hint);
            return None;
        };
        // A key that is given already is not suggested again.
        let left_out: Vec<&str> = known.iter().copied().filter(|it| node.get(it).is_none()).collect();
        let mut meant = Vec::new();
        for (key, value) in entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let shown = quote(key);
            let nearest =
                || nearest(key, left_out.iter().copied()).or_else(|| nearest(key, known.iter().copied()));
            if let Some(hint) = slip(key, value) {
                problems.error("unknown-key", key.at, format!("{shown} is not a key here")).hint(hint);
            } else if let Some(guess) = nearest() {
                let message = format!("{shown} is not a key here. Did you mean `{guess}`?");
                problems.error("unknown-key", key.at, message);
                if !meant.contains(&guess) {
                    meant.push(guess);
                }
            } else {
                let hint = format!("the keys are {}", join_words(known));
                problems.error("unknown-key", key.at, format!("{shown} is not a key here")).hint(hint);
            }
        }
        Some(Self { node, entries, meant, problems })
    }

    /// The value of a key, or the default of its type if the key is left out.
    pub fn take<T: FromNode>(&mut self, key: &'static str) -> Option<T> {
        let found = self.entries.iter().find(|(name, _)| name.as_str() == key);
        match found {
            Some((_, node)) if node.is_null() && T::absent().is_some() => T::absent(),
            // An unreadable value is reported and then counts as left out, if the key is optional.
            Some((_, node)) => {
                self.problems.within(key, |problems| T::from_node(node, problems)).or_else(T::absent)
            }
            None => T::absent().or_else(|| self.missing(key)),
        }
    }

    fn missing<T>(&mut self, key: &'static str) -> Option<T> {
        if !self.meant.contains(&key) {
            self.problems.error("missing-key", self.node.at, format!("the key `{key}` is missing here"));
        }
        None
    }
}

/// Guesses the origin of an unknown key without a value: a fragment of another construct.
fn slip(key: &str, value: &Node) -> Option<&'static str> {
    let alone = value.is_null() && value.at.start == value.at.end;
    if alone && key.contains(':') {
        return Some("put a space after the `:`");
    }
    // `{ when: f(a, b) }` is read as two entries.
    let torn = alone && key.contains([')', ']', '"', '\'', ' ']);
    torn.then_some("a comma ends a value inside `{ }`: put a value that contains one in quotes")
}

/// `a`, `b` and `c`.
pub(super) fn join_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Json, Named, OneOrMany, Percent, Scalar, Sources, SpanText, read};

    keys! {
        struct Lifecycle {
            lifecycle: At<Name>,
            about: Option<String>,
            transitions: Named<Arm>,
            limit: Option<u32>,
            #[key("$ref")]
            reference: Option<At<String>>,
        }
    }

    keys! {
        /// One rule of a transition.
        struct Arm {
            from: Option<OneOrMany<At<Name>>>,
            to: At<Name>,
            by: Option<Scalar>,
            r#where: Option<At<String>>,
            warn: Vec<Percent>,
            after: Option<SpanText>,
            default: Option<Json>,
            hidden: Option<bool>,
        }
    }

    fn check(text: &str) -> (Option<Lifecycle>, String) {
        let mut sources = Sources::new();
        let file = sources.add("task.yaml", text);
        let mut problems = Problems::new();
        let node = read(&sources, file, &mut problems).unwrap();
        let read = Lifecycle::from_node(&node, &mut problems);
        (read, problems.render(&sources, false))
    }

    #[test]
    fn a_good_file_is_read() {
        let (read, problems) = check(
            "lifecycle: mission.task
transitions:
  start: { from: [ready, on], to: yes, by: true, warn: [80%, 150%], after: 1h30m, default: { a: [1, null] } }
  stop:
    from: in_progress
    to: done
    where: 1.10
$ref: x
about:
",
        );
        insta::assert_snapshot!(problems, @r#"
        error[type]: text is expected here, this is a number
         --> task.yaml:7:12
          |
        7 |     where: 1.10
          |            ^^^^
          |
          = help: put it in quotes if it is text: `"1.10"`
        "#);
        assert!(read.is_some());
        let (read, problems) = check(
            "lifecycle: mission.task
transitions:
  start: { from: [ready, on], to: yes, by: 1.10, warn: [80%, 150%], after: 1h30m, default: { a: [1, null] } }
  stop:
    from: in_progress
    to: done
    where: a == b
$ref: x
about:
",
        );
        assert_eq!(problems, "");
        let read = read.unwrap();
        assert_eq!((read.lifecycle.as_str(), read.about, read.limit), ("mission.task", None, None));
        assert_eq!(read.reference.unwrap().it, "x");
        assert_eq!(read.transitions.names().map(|it| it.as_str()).collect::<Vec<_>>(), ["start", "stop"]);
        let start = read.transitions.get("start").unwrap();
        assert_eq!(
            start.from.as_ref().unwrap().iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            ["ready", "on"]
        );
        assert_eq!((start.to.as_str(), start.to.at.line, start.to.at.column), ("yes", 3, 35));
        assert_eq!(start.by.as_ref().unwrap().text, "1.10");
        assert_eq!(start.warn, [Percent(80), Percent(150)]);
        assert_eq!(start.after.unwrap().0.to_string(), "1h30m");
        assert_eq!(start.default.as_ref().unwrap().0.to_json(), serde_json::json!({ "a": [1, null] }));
        assert_eq!(start.hidden, None);
        let stop = read.transitions.get("stop").unwrap();
        assert_eq!(stop.from.as_ref().unwrap().len(), 1);
        assert_eq!(stop.r#where.as_ref().unwrap().it, "a == b");
    }

    #[test]
    fn every_mistake_is_named_at_once() {
        let (read, problems) = check(
            "lifecycle: 42
colour: red
limit: -1
transitions:
  start:
    form: ready
    too: done
    hidden: yes
  stop: { from: [a, 7], to: b, warn: 80, after: 15 }
  wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
  go:
",
        );
        assert!(read.is_none());
        insta::assert_snapshot!(problems, @r#"
        error[type]: a name is expected here, this is a number
         --> task.yaml:1:12
          |
        1 | lifecycle: 42
          |            ^^
          |
          = help: put it in quotes if it is text: `"42"`

        error[unknown-key]: `colour` is not a key here
         --> task.yaml:2:1
          |
        2 | colour: red
          | ^^^^^^
          |
          = help: the keys are `lifecycle`, `about`, `transitions`, `limit` and `$ref`

        error[type]: a whole number from 0 to 4294967295 is expected here, this is -1
         --> task.yaml:3:8
          |
        3 | limit: -1
          |        ^^

        error[unknown-key]: `form` is not a key here. Did you mean `from`?
         --> task.yaml:6:5
          |
        6 |     form: ready
          |     ^^^^

        error[unknown-key]: `too` is not a key here. Did you mean `to`?
         --> task.yaml:7:5
          |
        7 |     too: done
          |     ^^^

        error[type]: `true` or `false` is expected here, this is text
         --> task.yaml:8:13
          |
        8 |     hidden: yes
          |             ^^^
          |
          = help: write `true`

        error[type]: a name is expected here, this is a number
         --> task.yaml:9:21
          |
        9 |   stop: { from: [a, 7], to: b, warn: 80, after: 15 }
          |                     ^
          |
          = help: put it in quotes if it is text: `"7"`

        error[type]: a list is expected here, this is a number
         --> task.yaml:9:38
          |
        9 |   stop: { from: [a, 7], to: b, warn: 80, after: 15 }
          |                                      ^^
          |
          = help: for a list of one, write `[80]`

        error[type]: a length of time such as `15m` is expected here, this is a number
         --> task.yaml:9:49
          |
        9 |   stop: { from: [a, 7], to: b, warn: 80, after: 15 }
          |                                                 ^^
          |
          = help: give it a unit: `15s`, `15m`, `15h` or `15d`

        error[type]: a name is expected here, this is a mapping
          --> task.yaml:10:17
           |
        10 |   wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
           |                 ^^^^^^^^

        error[type]: a percentage such as `80%` is expected here, this is a number
          --> task.yaml:10:41
           |
        10 |   wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
           |                                         ^^
           |
           = help: write `80%`

        error[type]: a length of time such as `15m` is expected here, this is text
          --> task.yaml:10:53
           |
        10 |   wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
           |                                                     ^^^^
           |
           = help: the units are `ms`, `s`, `m`, `h` and `d`, as in `1h30m`

        error[unknown-key]: `b)` is not a key here
          --> task.yaml:10:68
           |
        10 |   wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
           |                                                                    ^^
           |
           = help: a comma ends a value inside `{ }`: put a value that contains one in quotes

        error[unknown-key]: `by:x` is not a key here
          --> task.yaml:10:72
           |
        10 |   wait: { from: { a: b }, to: c, warn: [80], after: soon, by: f(a, b), by:x }
           |                                                                        ^^^^
           |
           = help: put a space after the `:`

        error[type]: a mapping is expected here, this is empty
          --> task.yaml:11:5
           |
        11 |   go:
           |     ^
           |
           = help: write `{}` for a mapping without keys
        "#);
    }

    #[test]
    fn an_empty_file_is_reported_with_the_expected_content() {
        insta::assert_snapshot!(check("").1, @r#"
        error[type]: a mapping is expected here, this is empty
         --> task.yaml:1:1
          |
        1 |
          | ^
          |
          = help: write `{}` for a mapping without keys
        "#);
    }
}
