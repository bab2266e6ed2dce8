//! Entries of the journal, one line each.

use serde_json::Value as Json;

use crate::print::{Colour, painted_data};
use crate::time_format::{moment, text, value};

/// An entry in a line: time, event, actor and reason. Without `whose` the entity is left out, where it is known.
pub(crate) fn line(entry: &Json, whose: bool) -> String {
    render_line(entry, whose, &|to| painted_data(to, Colour::Bold))
}

/// The entry without colours, for callers that draw by themselves.
pub(crate) fn plain(entry: &Json) -> String {
    render_line(entry, true, &str::to_owned)
}

/// Event, actor and reason, without colours.
pub(crate) fn short(entry: &Json) -> String {
    happened(entry, &str::to_owned)
}

fn render_line(entry: &Json, whose: bool, paint: &dyn Fn(&str) -> String) -> String {
    let seq = entry.get("seq").and_then(Json::as_u64).unwrap_or_default();
    let mut words = vec![format!("{seq:>6}"), moment(text(entry, "timestamp"))];
    if whose {
        words.push(format!("{}/{}", text(entry, "lifecycle"), text(entry, "id")));
    }
    words.push(happened(entry, paint));
    words.join("  ")
}

/// Event, actor and reason.
fn happened(entry: &Json, paint: &dyn Fn(&str) -> String) -> String {
    let some = |name: &str| Some(text(entry, name)).filter(|it| !it.is_empty());
    let mut line = match (some("from"), some("to")) {
        (Some(from), Some(to)) if from != to => {
            // An ordinary move needs no other name.
            let event = some("event").filter(|it| *it != "STATE_TRANSITION");
            let event = event.map(|it| format!("{it} ")).unwrap_or_default();
            format!("{event}{from} → {}", paint(to))
        }
        (None, Some(to)) => format!("{} {}", text(entry, "event"), paint(to)),
        _ => text(entry, "event").to_owned(),
    };
    if let Some(generation) = entry.pointer("/metadata/generation").and_then(Json::as_u64) {
        line.push_str(&format!("  life {generation}"));
    }
    if let Some(trigger) = some("trigger") {
        line.push_str(&format!("  {trigger}"));
    }
    if let Some(actor) = some("actor") {
        let kind = some("actorKind").filter(|it| *it != actor);
        let via = some("via").map(|it| format!(", {it}")).unwrap_or_default();
        let kind = kind.map(|it| format!(" ({it}{via})")).unwrap_or_default();
        line.push_str(&format!("  by {actor}{kind}"));
    }
    if let Some(subject) = some("onBehalfOf") {
        line.push_str(&format!(" for {subject}"));
    }
    if let Some(pack) = entry.pointer("/metadata/pack").and_then(Json::as_str) {
        let version = entry.pointer("/metadata/version").and_then(Json::as_u64);
        line.push_str(&format!(": {pack} {}", version.unwrap_or_default()));
    }
    // The assignees: only this kind of entry has a single field before and after.
    if let (Some(_), Some(whom)) = (entry.pointer("/metadata/field"), entry.pointer("/metadata/after")) {
        let nobody = whom.is_null() || whom.as_array().is_some_and(Vec::is_empty);
        line.push_str(&if nobody { ": to no one".to_owned() } else { format!(": to {}", value(whom)) });
    }
    if let Some(message) = entry.pointer("/metadata/message").and_then(Json::as_str) {
        line.push_str(&format!(": {message}"));
    }
    if let Some(reason) = some("reason").filter(|it| !line.contains(*it)) {
        line.push_str(&format!(": {}", value(&Json::String(reason.to_owned()))));
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
            line(&entry, true),
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
