//! Values of fields as they are typed: `name=text`, `name:=json`, `name=@file`.

use serde_json::{Map, Value as Json};
use trackside_engine::fields::Fields;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::find_mistake;

use crate::files;
use crate::folder::CliError;

/// All of them. A name that is given twice is an error.
pub(crate) fn fields(typed: &[String]) -> Result<Fields, CliError> {
    let read = |(name, value): (String, Json)| (Name::new(&name), Value::from_json(&value));
    Ok(to_send(typed)?.into_iter().map(read).collect())
}

/// Parses the fields, to be sent.
pub(crate) fn to_send(typed: &[String]) -> Result<Map<String, Json>, CliError> {
    let mut all = Map::new();
    for it in typed {
        let (name, value) = field(it)?;
        if all.contains_key(&name) {
            return Err(CliError::usage(format!("{name} is given twice. Remove one of them")));
        }
        all.insert(name, value);
    }
    Ok(all)
}

/// Whether this field was typed as text.
pub(crate) fn is_text(typed: &[String], name: &str) -> bool {
    typed.iter().any(|it| it.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
}

/// Whether the argument has the form of a value, not of a word.
pub(crate) fn is_value(typed: &str) -> bool {
    typed.contains('=')
}

fn field(typed: &str) -> Result<(String, Json), CliError> {
    let wrong = |why: &str| CliError::usage(format!("{typed}: {why}"));
    let Some((name, text)) = typed.split_once('=').filter(|(name, _)| !name.trim_end_matches(':').is_empty())
    else {
        return Err(wrong("write name=text, name:=json or name=@file"));
    };
    if let Some(name) = name.strip_suffix(':') {
        let json = serde_json::from_str(text).map_err(|it| wrong(&invalid_json(name, text, &it)))?;
        if let Some(mistake) = find_mistake(text.as_bytes()) {
            return Err(wrong(&mistake.to_string()));
        }
        return Ok((name.to_owned(), json));
    }
    if let Some(path) = text.strip_prefix('@') {
        let text = std::fs::read_to_string(path).map_err(|it| wrong(&files::unread(path.as_ref(), &it)))?;
        return Ok((name.to_owned(), Json::String(text)));
    }
    Ok((name.to_owned(), Json::String(text.to_owned())))
}

/// The error for a value that is not JSON, with the value as it was probably meant.
fn invalid_json(name: &str, text: &str, error: &serde_json::Error) -> String {
    let next = match text {
        _ if text.starts_with('[') && text.ends_with(']') => {
            let items =
                text.trim_matches(['[', ']']).split(',').map(|it| it.trim().trim_matches(['"', '\'']));
            let items: Vec<Json> = items.filter(|it| !it.is_empty()).map(Json::from).collect();
            format!("Quote each text, and the whole value for the shell: {name}:='{}'", Json::Array(items))
        }
        _ if text.starts_with('{') => {
            format!(
                "Quote each text, and the whole value for the shell, as in {name}:='{{\"key\":\"value\"}}'"
            )
        }
        _ => format!("Write {name}={text} for text, or JSON as in {name}:=3 or {name}:='[\"ada\"]'"),
    };
    format!("this is not valid JSON ({error}). {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_json_are_distinguished() {
        let typed = ["a=1", "b:=1", "c:=null", "d=x=y", "e="].map(str::to_owned);
        let fields = fields(&typed).unwrap();
        assert_eq!(fields.value("a"), Value::text("1"));
        assert_eq!(fields.value("b"), Value::Int(1));
        assert_eq!(fields.get("c"), Some(&Value::Null));
        assert_eq!(fields.value("d"), Value::text("x=y"));
        assert_eq!(fields.value("e"), Value::text(""));
    }

    #[test]
    fn a_field_given_twice_is_an_error() {
        let twice = ["a=1", "b=2", "a:=3"].map(str::to_owned);
        assert!(fields(&twice).unwrap_err().why.plain().contains("a is given twice"));
        assert!(to_send(&twice).unwrap_err().why.plain().contains("a is given twice"));
    }

    #[test]
    fn an_invalid_value_is_an_error() {
        for (typed, words) in [
            ("a", "write name=text"),
            ("=1", "write name=text"),
            (":=1", "write name=text"),
            ("a:={", "this is not valid JSON"),
            ("a:=[ada, eve]", "Quote each text, and the whole value for the shell: a:='[\"ada\",\"eve\"]'"),
            ("a:=ada", "Write a=ada for text"),
            ("a=@/no/such/file", "no such file"),
            ("a:={\"n\":1,\"n\":2}", "\"n\" is there twice"),
            ("a:=9223372036854775808", "would lose digits"),
        ] {
            let stopped = field(typed).unwrap_err();
            assert!(stopped.why.plain().contains(words), "{:?}", stopped.why);
        }
    }
}
