//! What became of a command that was carried out, as people read it; and entities named on the command line.

use serde_json::Value as Json;
use trackside_protocol::Moved;

use crate::folder::Stopped;
use crate::moment::{moment, text, texts};
use crate::print::{self, Colour, painted_data};

/// Reads `LIFECYCLE/ID`.
pub(crate) fn named(typed: &str) -> Result<(&str, &str), Stopped> {
    match typed.split_once('/').filter(|(lifecycle, id)| !lifecycle.is_empty() && !id.is_empty()) {
        Some(named) => Ok(named),
        None => {
            Err(Stopped::usage(format!("{typed}: name an entity as LIFECYCLE/ID, such as mission.task/T-1")))
        }
    }
}

/// Tells what was done, or would be.
pub(crate) fn tell(moved: &Moved) {
    let entry = &moved.transition;
    let key = format!("{}/{}", text(entry, "lifecycle"), text(entry, "id"));
    let now = moved.entity.as_ref().filter(|_| !moved.dry_run);
    print::line(&format!("{key} {}", way(entry, now, &bold)));
    if moved.dry_run {
        print::message("nothing was changed: this is what would be done");
        return;
    }
    if moved.replayed {
        print::message("this command was carried out before, under the same key: nothing was done again");
    }
    if !moved.ignored.is_empty() {
        let names = moved.ignored.join(", ");
        print::message(&format!("left out, since only the engine writes it: {names}"));
    }
    let Some(entity) = &moved.entity else { return };
    for lease in entity.get("leases").and_then(Json::as_array).into_iter().flatten() {
        print::line(&lease_line(lease));
    }
    let allowed = texts(entity, "allowedTransitions");
    if !allowed.is_empty() {
        print::message(&format!("from here you may go to: {}", allowed.join(", ")));
    }
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

/// How the state stands out to which something went.
pub(crate) fn bold(state: &str) -> String {
    painted_data(state, Colour::Bold)
}

/// Which way it went, by the entry that answers the command; and where it is now, where that is known.
pub(crate) fn way(entry: &Json, now: Option<&Json>, paint: &dyn Fn(&str) -> String) -> String {
    let some = |name: &str| Some(text(entry, name)).filter(|it| !it.is_empty());
    let now = now.map(|it| text(it, "state"));
    let on = some("trigger").map(|it| format!(" on {it}")).unwrap_or_default();
    match (some("from"), some("to")) {
        (Some(from), Some(to)) if from != to => {
            let further = now.filter(|it| *it != to).map(|it| format!(", and went on to {it}"));
            format!("{from} → {}{on}{}", paint(to), further.unwrap_or_default())
        }
        (None, Some(to)) => {
            let further = now.filter(|it| *it != to).map(|it| format!(", and went on to {it}"));
            format!("created, {}{}", paint(to), further.unwrap_or_default())
        }
        (from, _) => {
            let is = now.or(from).map(|it| format!(", it is {it}")).unwrap_or_default();
            let what = some("trigger").unwrap_or_else(|| text(entry, "event"));
            format!("{what}: done{is}")
        }
    }
}
