//! Types of fields, from their declarations.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::RegexBuilder;

use crate::guard::nearest::nearest;
use crate::model::{FieldType, Fit};
use crate::name::Name;
use crate::source::{At, Named, NodeValue, Place, Problems};
use crate::syntax::TypeDecl;

/// Named types of the pack and of the lifecycle, and its states.
pub(super) struct Types<'a> {
    pub declared: BTreeMap<Name, &'a TypeDecl>,
    pub states: Arc<Vec<Name>>,
}

const BUILT_IN: &[&str] =
    &["string", "integer", "number", "boolean", "time", "span", "state", "array", "object", "any"];

/// Most steps from one named type to another: a type that contains itself would never end.
const DEPTH: u32 = 16;

impl<'a> Types<'a> {
    pub fn new(states: Arc<Vec<Name>>, lists: &[&'a Named<TypeDecl>]) -> Self {
        let mut declared = BTreeMap::new();
        for list in lists {
            for (name, decl) in list.iter() {
                declared.insert(name.it.clone(), decl);
            }
        }
        Self { declared, states }
    }

    pub fn build(&self, decl: &TypeDecl, at: Place, problems: &mut Problems) -> FieldType {
        self.build_at(decl, at, 0, problems)
    }

    fn build_at(&self, decl: &TypeDecl, at: Place, depth: u32, problems: &mut Problems) -> FieldType {
        if depth > DEPTH {
            problems.error("endless-type", at, "this type contains itself");
            return FieldType::ANY;
        }
        let at = decl.r#type.as_ref().map_or(at, |it| it.at);
        let word = decl.r#type.as_ref().map(|it| it.it.as_str()).unwrap_or_else(|| implied(decl));
        keys_apply(decl, word, at, problems);
        let fit = match word {
            "any" => Fit::Any,
            "boolean" => Fit::Bool,
            "integer" => Fit::Int { min: decl.minimum, max: decl.maximum },
            "number" => Fit::Number { min: decl.minimum, max: decl.maximum },
            "time" => Fit::Time,
            "span" => Fit::Span,
            "state" => Fit::Choice(self.states.clone()),
            "string" => match &decl.r#enum {
                Some(names) => Fit::Choice(Arc::new(names.iter().map(|it| it.it.clone()).collect())),
                None => Fit::Text {
                    min: decl.min_length,
                    max: decl.max_length,
                    pattern: decl.pattern.as_ref().and_then(|it| pattern(it, problems)),
                },
            },
            "array" => Fit::List {
                items: Box::new(match &decl.items {
                    Some(items) => self.build_at(items, at, depth + 1, problems),
                    None => FieldType::ANY,
                }),
                min: decl.min_items,
                max: decl.max_items,
                unique: decl.unique.unwrap_or(false),
            },
            "object" => match (&decl.properties, &decl.values) {
                (Some(properties), _) => Fit::Object {
                    properties: properties
                        .iter()
                        .map(|(name, it)| (name.it.clone(), self.build_at(it, name.at, depth + 1, problems)))
                        .collect(),
                    required: self.required_names(decl, properties, problems),
                },
                (None, Some(values)) => Fit::Map(Box::new(self.build_at(values, at, depth + 1, problems))),
                (None, None) => Fit::Map(Box::new(FieldType::ANY)),
            },
            other => match self.declared.get(other) {
                Some(named) => {
                    let built = self.build_at(named, at, depth + 1, problems);
                    let says = decl.says.clone().or(built.says);
                    return FieldType { fit: built.fit, says };
                }
                None => {
                    let known = BUILT_IN.iter().copied().chain(self.declared.keys().map(Name::as_str));
                    let problem = problems.error("unknown-type", at, format!("there is no type `{other}`"));
                    if let Some(near) = nearest(other, known) {
                        problem.hint(format!("did you mean `{near}`?"));
                    }
                    Fit::Any
                }
            },
        };
        FieldType { fit, says: decl.says.clone() }
    }

    fn required_names(
        &self,
        decl: &TypeDecl,
        properties: &Named<TypeDecl>,
        problems: &mut Problems,
    ) -> Vec<Name> {
        let Some(node) = &decl.required else { return Vec::new() };
        let NodeValue::List(items) = &node.value else {
            problems.error("not-a-list", node.at, "`required` lists the members an object must have");
            return Vec::new();
        };
        let mut names = Vec::new();
        for item in items {
            match &item.value {
                NodeValue::Text(name) if properties.iter().any(|(it, _)| *it.it == **name) => {
                    names.push(Name::new(name));
                }
                _ => {
                    problems.error("unknown-member", item.at, "`required` names no member of this object");
                }
            }
        }
        names
    }
}

/// Reports keys that do not apply to this type, and bounds that no value can meet.
fn keys_apply(decl: &TypeDecl, word: &str, at: Place, problems: &mut Problems) {
    let keys: [(&str, bool, &[&str]); 13] = [
        ("enum", decl.r#enum.is_some(), &["string"]),
        ("minLength", decl.min_length.is_some(), &["string"]),
        ("maxLength", decl.max_length.is_some(), &["string"]),
        ("pattern", decl.pattern.is_some(), &["string"]),
        ("minimum", decl.minimum.is_some(), &["integer", "number"]),
        ("maximum", decl.maximum.is_some(), &["integer", "number"]),
        ("items", decl.items.is_some(), &["array"]),
        ("minItems", decl.min_items.is_some(), &["array"]),
        ("maxItems", decl.max_items.is_some(), &["array"]),
        ("unique", decl.unique.is_some(), &["array"]),
        ("properties", decl.properties.is_some(), &["object"]),
        ("values", decl.values.is_some(), &["object"]),
        ("required", decl.required.is_some(), &["object"]),
    ];
    for (key, _, types) in keys.iter().filter(|(_, there, types)| *there && !types.contains(&word)) {
        let hint = if BUILT_IN.contains(&word) {
            format!("leave it out, or write `type: {}`", types.join("` or `type: "))
        } else {
            format!("put it where `{word}` is declared, or remove it")
        };
        problems
            .error("wrong-key-for-type", at, format!("`{key}` does not apply to a value of type {word}"))
            .hint(hint);
    }
    let float = |it: Option<u32>| it.map(f64::from);
    check_bounds_order(decl.minimum, decl.maximum, ("minimum", "maximum"), at, problems);
    check_bounds_order(
        float(decl.min_length),
        float(decl.max_length),
        ("minLength", "maxLength"),
        at,
        problems,
    );
    check_bounds_order(float(decl.min_items), float(decl.max_items), ("minItems", "maxItems"), at, problems);
}

/// Bounds in the wrong order leave no value at all.
pub(super) fn check_bounds_order(
    min: Option<f64>,
    max: Option<f64>,
    (least, most): (&str, &str),
    at: Place,
    problems: &mut Problems,
) {
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        problems
            .error("bounds", at, format!("no value fits: `{least}` is {min} and `{most}` is {max}"))
            .hint("exchange them");
    }
}

/// The type implied by the other keys.
fn implied(decl: &TypeDecl) -> &'static str {
    if decl.properties.is_some() || decl.values.is_some() {
        "object"
    } else if decl.items.is_some()
        || decl.min_items.is_some()
        || decl.max_items.is_some()
        || decl.unique.is_some()
    {
        "array"
    } else if decl.r#enum.is_some()
        || decl.pattern.is_some()
        || decl.min_length.is_some()
        || decl.max_length.is_some()
    {
        "string"
    } else if decl.minimum.is_some() || decl.maximum.is_some() {
        "number"
    } else {
        "any"
    }
}

fn pattern(source: &At<String>, problems: &mut Problems) -> Option<regex::Regex> {
    match RegexBuilder::new(&format!("^(?:{})$", source.it)).size_limit(1 << 18).nest_limit(32).build() {
        Ok(it) => Some(it),
        Err(_) => {
            problems.error("bad-pattern", source.at, "this regular expression is not supported");
            None
        }
    }
}
