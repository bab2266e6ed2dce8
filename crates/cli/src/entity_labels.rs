//! What a list shows of an entity, as its lifecycle declares it: title, holder and card.

use serde_json::Value as Json;

use crate::server_lookup::ServerConnection;
use crate::time_format::{list, says_something, text, texts, value};
use crate::url::ApiPath;

/// The names that a lifecycle declares for lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntityLabels {
    title: String,
    assignee: String,
    card: Vec<String>,
}

impl EntityLabels {
    /// Those of a lifecycle in an answer of `/v1/lifecycles`.
    pub(crate) fn read(lifecycle: &Json) -> Self {
        let named = |name: &str| text(lifecycle, name).to_owned();
        let card = texts(lifecycle, "card").into_iter().map(str::to_owned).collect();
        Self { title: named("title"), assignee: named("assignee"), card }
    }

    /// Those of the server's lifecycle. A list without them is better than none.
    pub(crate) fn fetch(server: &ServerConnection, lifecycle: &str) -> Self {
        server.get(&ApiPath::new(&["lifecycles", lifecycle])).map(|it| Self::read(&it)).unwrap_or_default()
    }

    /// Its title; empty if it has none.
    pub(crate) fn title(&self, entity: &Json) -> String {
        field(entity, &self.title).filter(|it| says_something(it)).map(value).unwrap_or_default()
    }

    /// Who holds a lease on it, or else the assignee; `-` without either.
    pub(crate) fn holder(&self, entity: &Json) -> String {
        let holders: Vec<&str> = list(entity, "leases").iter().map(|it| text(it, "holder")).collect();
        let assigned = || field(entity, &self.assignee).filter(|it| says_something(it)).map(value);
        match holders.is_empty() {
            true => assigned().unwrap_or_else(|| "-".to_owned()),
            false => holders.join(", "),
        }
    }

    /// The values of its card in a line, without empty and false ones; without a card, every short value.
    pub(crate) fn card(&self, entity: &Json) -> String {
        if self.card.is_empty() {
            let fields = entity.get("fields").and_then(Json::as_object).into_iter().flatten();
            let named = fields.filter(|(name, it)| !it.is_object() && **name != self.title);
            return said(named.map(|(name, it)| (name.as_str(), it)));
        }
        let counter = |name: &str| entity.get("counters").and_then(|it| it.get(name));
        let found = |name: &String| field(entity, name).or_else(|| counter(name));
        said(self.card.iter().filter_map(|name| Some((name.as_str(), found(name)?))))
    }
}

fn field<'a>(entity: &'a Json, name: &str) -> Option<&'a Json> {
    entity.get("fields").and_then(|it| it.get(name))
}

fn said<'a>(values: impl Iterator<Item = (&'a str, &'a Json)>) -> String {
    let says = |it: &Json| match it {
        Json::Bool(yes) => *yes,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::Array(some) => some.iter().all(|it| !it.is_object()) && says_something(it),
        it => says_something(it),
    };
    let line = |(name, it): (&str, &Json)| match it {
        Json::Object(members) => {
            let members = members.iter().filter(|(_, it)| !it.is_object() && says(it));
            let members: Vec<String> = members.map(|(name, it)| format!("{name} {}", value(it))).collect();
            (!members.is_empty()).then(|| format!("{name}: {}", members.join(", ")))
        }
        it => Some(format!("{name}: {}", value(it))),
    };
    values.filter(|(_, it)| says(it)).filter_map(line).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifecycle_names_what_is_shown() {
        let entity = json!({
            "fields": { "what": "Write\nit", "to": ["ada", "bob"], "price": 2.5, "cost": { "total": 1, "runs": 0 }, "more": "x" },
            "counters": { "tries": 3 }, "leases": [],
        });
        let labels = EntityLabels::read(&json!({
            "title": "what", "assignee": "to", "card": ["price", "tries", "cost", "absent"],
        }));
        assert_eq!(labels.title(&entity), "Write it");
        assert_eq!(labels.holder(&entity), "ada, bob");
        assert_eq!(labels.card(&entity), "price: 2.5 · tries: 3 · cost: total 1");
        let held = json!({ "leases": [{ "holder": "eve" }], "fields": { "to": ["ada"] } });
        assert_eq!((labels.title(&held), labels.holder(&held)), (String::new(), "eve".to_owned()));
        let none = EntityLabels::default();
        assert_eq!(none.card(&entity), "more: x · price: 2.5 · to: ada, bob · what: Write it");
        assert_eq!(none.holder(&entity), "-");
    }
}
