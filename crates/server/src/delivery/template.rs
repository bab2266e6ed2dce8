//! Texts with placeholders, as channel files have them: `New: {title}`.

use serde_json::Value as Json;

/// A text with placeholders in braces. `{{` stands for a brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextTemplate(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Placeholder(String),
}

impl TextTemplate {
    /// Reads a text, or says why it is no template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                plain.push('{');
                rest = after;
                continue;
            }
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!("`{text}` has a `{{` without its `}}`. Write `{{{{` for a brace"));
            };
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Placeholder(name.trim().to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Self(parts))
    }

    /// The names of its placeholders.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|it| match it {
            TemplatePart::Placeholder(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The text with the values in place of the placeholders. A missing value is empty.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let filled = self.0.iter().map(|it| match it {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Placeholder(name) => value(name).unwrap_or_default(),
        });
        filled.collect()
    }

    /// The text as a URL: the value at the very start is an address and stays as it is, every other one is a part of a
    /// path or query, and is encoded.
    pub fn fill_url(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let filled = self.0.iter().enumerate().map(|(place, it)| match it {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Placeholder(name) if place == 0 => value(name).unwrap_or_default(),
            TemplatePart::Placeholder(name) => encode(&value(name).unwrap_or_default()),
        });
        filled.collect()
    }
}

/// Percent-encodes a part of a path or query.
fn encode(text: &str) -> String {
    let keeps = |it: u8| it.is_ascii_alphanumeric() || b"-._~:@!".contains(&it);
    let encoded = text.bytes().map(|it| match keeps(it) {
        true => char::from(it).to_string(),
        false => format!("%{it:02X}"),
    });
    encoded.collect()
}

/// JSON whose texts have placeholders. Values become parts of its texts, so they cannot change its structure.
#[derive(Clone, Debug)]
pub(crate) enum JsonTemplate {
    Text(TextTemplate),
    List(Vec<JsonTemplate>),
    Map(Vec<(String, JsonTemplate)>),
    Plain(Json),
}

impl JsonTemplate {
    pub fn parse(json: &Json) -> Result<Self, String> {
        Ok(match json {
            Json::String(text) => Self::Text(TextTemplate::parse(text)?),
            Json::Array(all) => Self::List(all.iter().map(Self::parse).collect::<Result<_, _>>()?),
            Json::Object(members) => {
                let parsed = members.iter().map(|(name, it)| Ok((name.clone(), Self::parse(it)?)));
                Self::Map(parsed.collect::<Result<_, String>>()?)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => Self::Plain(json.clone()),
        })
    }

    /// The names of its placeholders.
    pub fn placeholders(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => text.placeholders().collect(),
            Self::List(all) => all.iter().flat_map(Self::placeholders).collect(),
            Self::Map(members) => members.iter().flat_map(|(_, it)| it.placeholders()).collect(),
            Self::Plain(_) => Vec::new(),
        }
    }

    pub fn fill(&self, value: &impl Fn(&str) -> Option<String>) -> Json {
        match self {
            Self::Text(text) => Json::String(text.fill(value)),
            Self::List(all) => all.iter().map(|it| it.fill(value)).collect(),
            Self::Map(members) => {
                Json::Object(members.iter().map(|(name, it)| (name.clone(), it.fill(value))).collect())
            }
            Self::Plain(json) => json.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(name: &str) -> Option<String> {
        let known = [
            ("title", "a\"}, \"x\": {title} \u{1F600}\n"),
            ("url", "https://example.com/x"),
            ("id", "a/../b?c=d&e #%"),
        ];
        known.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn values_are_inserted_once_and_a_missing_one_is_empty() {
        let template = TextTemplate::parse("{{}: {title} and { id } and {other}.").unwrap();
        assert_eq!(template.placeholders().collect::<Vec<_>>(), ["title", "id", "other"]);
        let title = value("title").unwrap();
        assert_eq!(template.fill(value), format!("{{}}: {title} and a/../b?c=d&e #% and ."));
        assert!(TextTemplate::parse("a {title").unwrap_err().contains("without its"));
    }

    #[test]
    fn a_value_does_not_change_the_structure_of_json() {
        let body = json!({ "text": "{title}", "list": ["{id}", 1, null, true] });
        let template = JsonTemplate::parse(&body).unwrap();
        assert_eq!(template.placeholders(), ["id", "title"]);
        let filled = serde_json::to_string(&template.fill(&value)).unwrap();
        let read: Json = serde_json::from_str(&filled).unwrap();
        assert_eq!(read["text"].as_str(), value("title").as_deref());
        assert_eq!(read["list"], json!(["a/../b?c=d&e #%", 1, null, true]));
        assert_eq!(read.as_object().unwrap().len(), 2);
    }

    #[test]
    fn only_the_value_at_the_start_of_a_url_is_an_address() {
        let filled = |text: &str| TextTemplate::parse(text).unwrap().fill_url(value);
        assert_eq!(filled("{url}"), "https://example.com/x");
        assert_eq!(filled("{url}/rooms/{id}"), "https://example.com/x/rooms/a%2F..%2Fb%3Fc%3Dd%26e%20%23%25");
        assert_eq!(filled("https://x.example/{url}"), "https://x.example/https:%2F%2Fexample.com%2Fx");
    }
}
