//! The shape of the values that a field accepts, in words and as an example, for refusals.

use super::fit::{FieldType, Fit};
use crate::name::Name;

/// Most characters of a hint; a longer part is left out.
const LONGEST: usize = 300;
/// Most choices that a shape names, and most items of an example.
const FEW: usize = 6;

impl FieldType {
    /// The expected shape and an example, such as `expected {"bullets": [text, … 3 to 6]}, for instance …`. None for a
    /// type without members, and if both are too long.
    pub(super) fn shape_hint(&self) -> Option<String> {
        if !self.has_members() {
            return None;
        }
        let (shape, example) = (self.shape(), self.example());
        let both = format!("expected {shape}, for instance {example}");
        let shorter = [both, format!("for instance {example}"), format!("expected {shape}")];
        shorter.into_iter().find(|it| it.chars().count() <= LONGEST)
    }

    fn has_members(&self) -> bool {
        matches!(self.fit, Fit::List { .. } | Fit::Object { .. } | Fit::Map(_))
    }

    /// Its shape, in the form of JSON. A `?` marks a member that may be left out.
    fn shape(&self) -> String {
        match &self.fit {
            Fit::Any => "any value".to_owned(),
            Fit::Bool => "true or false".to_owned(),
            Fit::Int { .. } => "whole number".to_owned(),
            Fit::Number { .. } => "number".to_owned(),
            Fit::Text { .. } => "text".to_owned(),
            Fit::Choice(names) => {
                let more = if names.len() > FEW { "|…" } else { "" };
                let some: Vec<String> = names.iter().take(FEW).map(|it| quoted(it)).collect();
                format!("{}{more}", some.join("|"))
            }
            Fit::Time => "time".to_owned(),
            Fit::Span => "span".to_owned(),
            Fit::List { items, min, max, .. } => {
                let count = match (min, max) {
                    (Some(min), Some(max)) if min == max => format!(" {min} items"),
                    (Some(min), Some(max)) => format!(" {min} to {max}"),
                    (Some(min), None) => format!(" at least {min}"),
                    (None, Some(max)) => format!(" at most {max}"),
                    (None, None) => String::new(),
                };
                format!("[{}, …{count}]", items.shape())
            }
            Fit::Object { properties, required } => {
                let is_optional = |name: &Name| if required.contains(name) { "" } else { "?" };
                let member = |(name, it): (&Name, &Self)| {
                    format!("{}{}: {}", quoted(name), is_optional(name), it.shape())
                };
                let (first, then): (Vec<_>, Vec<_>) =
                    properties.iter().partition(|(name, _)| required.contains(*name));
                let members: Vec<String> = first.into_iter().chain(then).map(member).collect();
                format!("{{{}}}", members.join(", "))
            }
            Fit::Map(values) => format!("{{NAME: {}, …}}", values.shape()),
        }
    }

    /// The smallest value with all required members, as JSON. Patterns of texts are not considered.
    fn example(&self) -> String {
        match &self.fit {
            Fit::Any | Fit::Text { .. } => quoted("text"),
            Fit::Bool => "true".to_owned(),
            Fit::Int { min, max } | Fit::Number { min, max } => {
                min.or(*max).map_or_else(|| "1".to_owned(), |it| it.to_string())
            }
            Fit::Choice(names) => quoted(names.first().map_or("text", Name::as_str)),
            Fit::Time => quoted("2026-01-31T12:00:00Z"),
            Fit::Span => quoted("15m"),
            Fit::List { items, min, .. } => {
                let count = min.map_or(1, |it| it as usize).clamp(1, FEW);
                format!("[{}]", vec![items.example(); count].join(", "))
            }
            Fit::Object { properties, required } => {
                let all_optional = required.is_empty();
                let shown = properties.iter().filter(|(name, _)| all_optional || required.contains(*name));
                let members: Vec<String> =
                    shown.map(|(name, it)| format!("{}: {}", quoted(name), it.example())).collect();
                format!("{{{}}}", members.join(", "))
            }
            Fit::Map(values) => format!("{{{}: {}}}", quoted("name"), values.example()),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::value::Value;

    fn text() -> FieldType {
        FieldType { fit: Fit::Text { min: None, max: None, pattern: None }, says: None }
    }

    fn plan(says: Option<&str>) -> FieldType {
        let bullets = Fit::List { items: Box::new(text()), min: Some(3), max: Some(6), unique: false };
        let bullets = FieldType { fit: bullets, says: None };
        let cost = FieldType { fit: Fit::Number { min: Some(0.0), max: None }, says: None };
        let properties = BTreeMap::from([(Name::new("bullets"), bullets), (Name::new("cost"), cost)]);
        let fit = Fit::Object { properties, required: vec![Name::new("bullets")] };
        FieldType { fit, says: says.map(str::to_owned) }
    }

    fn message(ty: &FieldType, value: &str) -> String {
        let value = Value::from_json(&serde_json::from_str(value).unwrap());
        let misfits = ty.accept("plan", &value).expect_err("it does not fit");
        misfits.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
    }

    const HINT: &str = "expected {\"bullets\": [text, … 3 to 6], \"cost\"?: number}, for instance {\"bullets\": [\"text\", \"text\", \"text\"]}";

    #[test]
    fn a_wrong_shape_is_refused_with_the_expected_one_and_an_example() {
        let told = plan(Some("A plan has 3 to 6 bullets."));
        for wrong in
            [r#"["a","b","c"]"#, r#""text""#, r#"{"steps":["a","b","c"]}"#, r#"{"bullets":"a"}"#, "{}"]
        {
            assert_eq!(message(&told, wrong), format!("A plan has 3 to 6 bullets: {HINT}"), "{wrong}");
        }
        let plain = message(&plan(None), r#"["a","b","c"]"#);
        assert_eq!(plain, format!("plan must be a map, this is a list: {HINT}"));
        assert_eq!(message(&text(), "1"), "plan must be text, this is a whole number");
    }

    #[test]
    fn members_that_are_only_too_few_keep_the_message_alone() {
        let told = plan(Some("A plan has 3 to 6 bullets"));
        assert_eq!(message(&told, r#"{"bullets":["a"]}"#), "A plan has 3 to 6 bullets");
        assert_eq!(message(&told, r#"{"bullets":["a","b","c"],"cost":-1}"#), "A plan has 3 to 6 bullets");
    }

    #[test]
    fn the_example_fits_and_the_hint_is_short() {
        let hint = plan(None).example();
        let example = Value::from_json(&serde_json::from_str(&hint).unwrap());
        plan(None).accept("plan", &example).expect("the example fits");
        let many = (0..40).map(|n| (Name::from(format!("a_long_name_of_a_member_{n}")), plan(None)));
        let large =
            FieldType { fit: Fit::Object { properties: many.collect(), required: Vec::new() }, says: None };
        assert!(large.shape_hint().is_none_or(|it| it.chars().count() <= LONGEST));
        let nested = FieldType { fit: Fit::Map(Box::new(plan(None))), says: None };
        assert!(
            nested
                .shape_hint()
                .is_some_and(|it| it.starts_with("expected {NAME: {") && it.chars().count() <= LONGEST)
        );
    }
}
