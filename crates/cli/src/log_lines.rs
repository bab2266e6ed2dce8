//! Log lines in the form that packs declare. Their members keep the order of the declaration.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use crate::folder::CliError;
use crate::paging::ListSize;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print};

/// A JSON object whose members stay in order.
pub(crate) struct LogLine(Vec<(String, Json)>);

impl LogLine {
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value)
    }

    /// The names of its members, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::Object(self.0.iter().cloned().collect())
    }
}

impl<'de> Deserialize<'de> for LogLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = LogLine;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a log line")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LogLine, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(LogLine(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

impl Serialize for LogLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogPage {
    items: Vec<LogLine>,
    next_cursor: Option<String>,
}

/// Prints the log lines of a list, page by page, one line each.
pub(crate) fn print_lines(
    server: &ServerConnection,
    route: &ApiPath,
    much: ListSize,
) -> Result<u8, RequestError> {
    let route = route.clone().with_some("form", Some("pack"));
    let (mut cursor, mut printed): (Option<String>, usize) = (None, 0);
    loop {
        let size = much.page_size(printed);
        let route = route.clone().with_some("limit", size).with_some("cursor", cursor.as_ref());
        let page: LogPage = serde_json::from_reader(server.stream(&route)?)
            .map_err(|error| CliError::unreachable(format!("The server sent no log lines: {error}")))?;
        for line in &page.items {
            print::json_line(line);
        }
        printed += page.items.len();
        cursor = page.next_cursor;
        if cursor.is_none() || much.is_enough(printed) {
            return Ok(exit::DONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let text = r#"{"timestamp":"2026-02-04T21:00:00Z","event":"x","agentId":"pm","metadata":{}}"#;
        let line: LogLine = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }
}
