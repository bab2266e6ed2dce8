//! Prints the result of an accepted command; parses entities named on the command line.

use serde_json::Value as Json;
use trackside_protocol::MovedReply;

use crate::folder::CliError;
use crate::print::{self, Colour, painted_data};
use crate::styled::Styled;
use crate::time_format::{moment, text, texts};

/// Reads `LIFECYCLE/ID`.
pub(crate) fn parse_entity(typed: &str) -> Result<(&str, &str), CliError> {
    match typed.split_once('/').filter(|(lifecycle, id)| !lifecycle.is_empty() && !id.is_empty()) {
        Some(named) => Ok(named),
        None => {
            Err(CliError::usage(format!("{typed}: name an entity as LIFECYCLE/ID, such as mission.task/T-1")))
        }
    }
}

/// Prints the result of a command, or of a dry run.
pub(crate) fn print(moved: &MovedReply) {
    let entry = &moved.transition;
    let key = format!("{}/{}", text(entry, "lifecycle"), text(entry, "id"));
    let now = moved.entity.as_ref().filter(|_| !moved.dry_run);
    let result = styled!("{key} {}", describe(entry, now, &bold));
    if moved.dry_run {
        print::line(styled!("dry run, nothing was changed: {result}"));
        return;
    }
    print::line(&result);
    if moved.replayed {
        print::message("this command was already executed with the same key; nothing was changed");
    }
    if !moved.ignored.is_empty() {
        let names = moved.ignored.join(", ");
        print::message(styled!("ignored, because only the engine writes these fields: {names}"));
    }
    let Some(entity) = &moved.entity else { return };
    for lease in entity.get("leases").and_then(Json::as_array).into_iter().flatten() {
        print::line(lease_line(lease));
    }
    let allowed = texts(entity, "allowedTransitions");
    if !allowed.is_empty() {
        print::message(targets(&allowed));
    }
}

/// The states that the caller can move the entity to, as a line.
pub(crate) fn targets<S: AsRef<str>>(states: &[S]) -> String {
    let states: Vec<&str> = states.iter().map(AsRef::as_ref).collect();
    format!("you can move it to: {}", states.join(", "))
}

/// `work held by ada, fence 3, until …`.
pub(crate) fn lease_line(lease: &Json) -> String {
    let fence = lease.get("fence").and_then(Json::as_u64).unwrap_or_default();
    format!(
        "  {} held by {}, fence {fence}, until {}",
        text(lease, "slot"),
        text(lease, "holder"),
        moment(text(lease, "expiresAt"))
    )
}

/// Highlights a target state.
pub(crate) fn bold(state: &str) -> Styled {
    painted_data(state, Colour::Bold)
}

/// Describes a transition by its entry, and by the current state if known.
pub(crate) fn describe(entry: &Json, now: Option<&Json>, paint: &dyn Fn(&str) -> Styled) -> Styled {
    let some = |name: &str| Some(text(entry, name)).filter(|it| !it.is_empty());
    let now = now.map(|it| text(it, "state"));
    let on = some("trigger").map(|it| format!(" on {it}")).unwrap_or_default();
    match (some("from"), some("to")) {
        (Some(from), Some(to)) if from != to => {
            let further = now.filter(|it| *it != to).map(|it| format!(", then to {it}"));
            styled!("{from} → {}{on}{}", paint(to), further.unwrap_or_default())
        }
        (None, Some(to)) => {
            let further = now.filter(|it| *it != to).map(|it| format!(", then to {it}"));
            styled!("created, {}{}", paint(to), further.unwrap_or_default())
        }
        (from, _) => {
            let is = now.or(from).map(|it| format!(", it is {it}")).unwrap_or_default();
            let what = some("trigger").unwrap_or_else(|| text(entry, "event"));
            styled!("{what}: done{is}")
        }
    }
}
