//! Entries of the journal, one line each.

use serde_json::Value as Json;
use trackside_lifecycle::printable::escape;

use crate::print::{Colour, painted_data};
use crate::styled::Styled;
use crate::time_format::{entity_of, moment, text, value};

/// An entry in a line: time, event, actor and reason. Without `whose` the entity is left out, where it is known.
pub(crate) fn line(entry: &Json, whose: bool) -> Styled {
    let line = happened(entry, &|to| painted_data(to, Colour::Bold));
    let seq = entry.get("seq").and_then(Json::as_u64).unwrap_or_default();
    let whose = if whose { format!("  {}", entity_of(entry)) } else { String::new() };
    styled!("{seq:>6}  {}{whose}  {line}", moment(text(entry, "timestamp")))
}

/// Event, actor and reason, without colours.
pub(crate) fn short(entry: &Json) -> String {
    happened(entry, &|to| to.into()).plain()
}

/// Event, actor and reason.
fn happened(entry: &Json, paint: &dyn Fn(&str) -> Styled) -> Styled {
    let some = |name: &str| Some(text(entry, name)).filter(|it| !it.is_empty());
    let mut line = match (some("from"), some("to")) {
        (Some(from), Some(to)) if from != to => {
            // An ordinary move needs no other name.
            let event = some("event").filter(|it| *it != "STATE_TRANSITION");
            let event = event.map(|it| format!("{it} ")).unwrap_or_default();
            styled!("{event}{from} → {}", paint(to))
        }
        (None, Some(to)) => styled!("{} {}", text(entry, "event"), paint(to)),
        _ => text(entry, "event").into(),
    };
    if let Some(generation) = entry.pointer("/metadata/generation").and_then(Json::as_u64) {
        line.push(styled!("  life {generation}"));
    }
    if let Some(trigger) = some("trigger") {
        line.push(styled!("  {trigger}"));
    }
    if let Some(actor) = some("actor") {
        let kind = some("actorKind").filter(|it| *it != actor);
        let via = some("via").map(|it| format!(", {it}")).unwrap_or_default();
        let kind = kind.map(|it| format!(" ({it}{via})")).unwrap_or_default();
        line.push(styled!("  by {actor}{kind}"));
    }
    if let Some(subject) = some("onBehalfOf") {
        line.push(styled!(" for {subject}"));
    }
    if let Some(pack) = entry.pointer("/metadata/pack").and_then(Json::as_str) {
        let version = entry.pointer("/metadata/version").and_then(Json::as_u64);
        line.push(styled!(": {pack} {}", version.unwrap_or_default()));
    }
    // The assignees: only this kind of entry has a single field before and after.
    if let (Some(_), Some(whom)) = (entry.pointer("/metadata/field"), entry.pointer("/metadata/after")) {
        let nobody = whom.is_null() || whom.as_array().is_some_and(Vec::is_empty);
        line.push(if nobody { ": to no one".into() } else { styled!(": to {}", value(whom)) });
    }
    if let Some(message) = entry.pointer("/metadata/message").and_then(Json::as_str) {
        line.push(styled!(": {message}"));
    }
    if let Some(reason) = some("reason").filter(|it| !line.plain().contains(&*escape(it))) {
        line.push(styled!(": {}", value(&Json::String(reason.to_owned()))));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_printed_in_one_line() {
        let entry = json!({
            "seq": 41, "timestamp": "2026-01-01T00:00:00Z", "event": "STATE_TRANSITION", "lifecycle": "x.y", "id": "1",
            "from": "A", "to": "B", "trigger": "go", "actor": "ada", "actorKind": "agent", "reason": "it\nis time",
        });
        assert_eq!(
            line(&entry, true).plain(),
            "    41  2026-01-01 00:00:00Z  x.y/1  A → B  go  by ada (agent): it is time"
        );
    }

    #[test]
    fn the_credential_of_a_person_is_shown() {
        let entry = json!({ "event": "GIVEN", "actor": "ada", "actorKind": "human", "via": "page" });
        assert_eq!(short(&entry), "GIVEN  by ada (human, page)");
    }

    #[test]
    fn an_assignment_names_the_assignee() {
        let given = |after: Json| {
            short(
                &json!({ "event": "GIVEN", "actor": "eve", "metadata": { "field": "owner", "after": after } }),
            )
        };
        assert_eq!(given(json!(["ada", "bob"])), "GIVEN  by eve: to ada, bob");
        assert_eq!(given(json!("ada")), "GIVEN  by eve: to ada");
        assert_eq!(given(json!([])), "GIVEN  by eve: to no one");
        assert_eq!(given(json!(null)), "GIVEN  by eve: to no one");
    }
}
