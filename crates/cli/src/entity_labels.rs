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

    /// The values of its card in a line, without empty, false and zero ones; without a card, every short value.
    pub(crate) fn card(&self, entity: &Json) -> String {
        if self.card.is_empty() {
            let fields = entity.get("fields").and_then(Json::as_object).into_iter().flatten();
            let named = fields.filter(|(name, it)| !it.is_object() && **name != self.title);
            let named = named.filter_map(|(name, it)| said(name, it));
            return joined(named.chain(counters(entity).filter_map(|(name, it)| counted(name, it))));
        }
        joined(self.card.iter().filter_map(|name| match field(entity, name) {
            Some(it) => said(name, it),
            None => counted(name, entity.get("counters")?.get(name)?),
        }))
    }
}

/// The counters of an entity.
pub(crate) fn counters(entity: &Json) -> impl Iterator<Item = (&String, &Json)> {
    entity.get("counters").and_then(Json::as_object).into_iter().flatten()
}

/// The values of a counter: `1.2 of 3`, or its tallies by key.
pub(crate) fn counter_values(counter: &Json) -> String {
    // `3` for a budget of 3.0.
    let value = |it: &Json| it.as_f64().map_or_else(|| value(it), |it| it.to_string());
    let limit = counter.get("limit").map(|it| format!(" of {}", value(it))).unwrap_or_default();
    let own = counter.get("value").map(|it| format!("{}{limit}", value(it)));
    let keys = counter.get("byKey").and_then(Json::as_object).into_iter().flatten();
    own.into_iter().chain(keys.map(|(key, it)| format!("{key} {}", value(it)))).collect::<Vec<_>>().join(", ")
}

/// Whether a counter has counted anything.
fn has_counted(counter: &Json) -> bool {
    counter.get("byKey").is_some() || counter.get("value").and_then(Json::as_f64).is_some_and(|it| it != 0.0)
}

/// A counter in a line; none if it has counted nothing.
fn counted(name: &str, counter: &Json) -> Option<String> {
    has_counted(counter).then(|| format!("{name}: {}", counter_values(counter)))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" · ")
}

fn field<'a>(entity: &'a Json, name: &str) -> Option<&'a Json> {
    entity.get("fields").and_then(|it| it.get(name))
}

/// A value with its name; none if it is empty, false or zero.
fn said(name: &str, it: &Json) -> Option<String> {
    let says = |it: &Json| match it {
        Json::Bool(yes) => *yes,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::Array(some) => some.iter().all(|it| !it.is_object()) && says_something(it),
        it => says_something(it),
    };
    if !says(it) {
        return None;
    }
    match it {
        Json::Object(members) => {
            let members = members.iter().filter(|(_, it)| !it.is_object() && says(it));
            let members: Vec<String> = members.map(|(name, it)| format!("{name} {}", value(it))).collect();
            (!members.is_empty()).then(|| format!("{name}: {}", members.join(", ")))
        }
        it => Some(format!("{name}: {}", value(it))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifecycle_names_what_is_shown() {
        let entity = json!({
            "fields": { "what": "Write\nit", "to": ["ada", "bob"], "price": 2.5, "cost": { "total": 1, "runs": 0 }, "more": "x" },
            "counters": {
                "tries": { "value": 3 }, "spent": { "value": 1.2, "limit": 3.0 }, "rounds": { "value": 0, "limit": 2 },
                "faults": { "value": 0, "byKey": { "build": 2 } },
            },
            "leases": [],
        });
        let labels = EntityLabels::read(&json!({
            "title": "what", "assignee": "to", "card": ["price", "tries", "cost", "absent", "spent", "rounds", "faults"],
        }));
        assert_eq!(labels.title(&entity), "Write it");
        assert_eq!(labels.holder(&entity), "ada, bob");
        assert_eq!(
            labels.card(&entity),
            "price: 2.5 · tries: 3 · cost: total 1 · spent: 1.2 of 3 · faults: 0, build 2"
        );
        let held = json!({ "leases": [{ "holder": "eve" }], "fields": { "to": ["ada"] } });
        assert_eq!((labels.title(&held), labels.holder(&held)), (String::new(), "eve".to_owned()));
        let none = EntityLabels::default();
        assert_eq!(
            none.card(&entity),
            "more: x · price: 2.5 · to: ada, bob · what: Write it · faults: 0, build 2 · spent: 1.2 of 3 · tries: 3"
        );
        assert_eq!(none.holder(&entity), "-");
    }
}
