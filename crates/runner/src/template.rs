//! Messages of adapters with placeholders.

use std::collections::BTreeMap;

use serde_json::Value;

/// Fills a template. A text that is exactly `{name}` becomes the value itself, otherwise its text is inserted.
pub fn fill(template: &Value, values: &BTreeMap<&str, Value>) -> Value {
    match template {
        Value::String(text) => fill_text(text, values),
        Value::Array(list) => Value::Array(list.iter().map(|it| fill(it, values)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, it)| (key.clone(), fill(it, values))).collect())
        }
        other => other.clone(),
    }
}

fn fill_text(text: &str, values: &BTreeMap<&str, Value>) -> Value {
    if let Some(value) =
        text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).and_then(|it| values.get(it))
    {
        return value.clone();
    }
    Value::String(fill_string(text, values))
}

/// Fills the placeholders of an argument. Inserted text is not looked at again.
pub fn fill_string(text: &str, values: &BTreeMap<&str, Value>) -> String {
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}').and_then(|(name, after)| Some((values.get(name)?, after))) {
            Some((value, after)) => {
                match value {
                    Value::String(text) => filled.push_str(text),
                    other => filled.push_str(&other.to_string()),
                }
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once_and_json_stays_json() {
        let values = BTreeMap::from([
            ("text", Value::from("say {id} \"x\"")),
            ("input", Value::from(vec![1, 2])),
            ("id", Value::from(7)),
        ]);
        let template: Value =
            serde_json::from_str(r#"{"a": "{text}", "b": ["{input}", "n {id}"], "c": "{unknown} {"}"#)
                .unwrap();
        let expected: Value =
            serde_json::from_str(r#"{"a": "say {id} \"x\"", "b": [[1, 2], "n 7"], "c": "{unknown} {"}"#)
                .unwrap();
        assert_eq!(fill(&template, &values), expected);
        assert_eq!(fill_string("x{text}y", &values), "xsay {id} \"x\"y");
    }
}
