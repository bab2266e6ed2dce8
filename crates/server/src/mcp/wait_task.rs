//! A wait as an MCP task. Its id contains everything, so it survives a restart.

use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use super::tool_answer::ToolAnswer;
use super::wait::{Awaited, told};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The longest and default time of a task, in seconds.
const LONGEST: u64 = 24 * 60 * 60;
const USUAL: u64 = 60 * 60;

/// A wait that the client polls.
#[derive(Clone, Debug)]
pub(super) struct WaitTask {
    pub awaited: Awaited,
    pub begun: Timestamp,
    pub until: Timestamp,
}

/// Separates the parts of a task id; does not occur in names and ids.
const BETWEEN: char = '~';

impl WaitTask {
    /// Only for an entity that is to leave its state: claimable work comes and goes, and a finished task
    /// must not reopen.
    pub fn of(app: &App, awaited: &Awaited, seconds: Option<u64>) -> Option<Self> {
        matches!(awaited, Awaited::Leaves { .. }).then(|| {
            let seconds = seconds.unwrap_or(USUAL).clamp(1, LONGEST);
            let begun = app.reads.now();
            let lasts = Span(i64::try_from(seconds).unwrap_or_default() * 1_000);
            Self { awaited: awaited.clone(), begun, until: begun.plus(lasts) }
        })
    }

    pub fn name(&self) -> String {
        let Awaited::Leaves { key, state, since } = &self.awaited else { return String::new() };
        let EntityKey { lifecycle, id } = key;
        let times = [since.0, self.begun.0, self.until.0].map(|it| it.to_string());
        let parts = ["wait", lifecycle.as_str(), id.as_str(), state.as_str()];
        let parts: Vec<&str> = parts.into_iter().chain(times.iter().map(String::as_str)).collect();
        parts.join(&BETWEEN.to_string())
    }

    /// Parses a task id.
    pub fn named(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split(BETWEEN).collect();
        let ["wait", lifecycle, id, state, since, begun, until] = parts.as_slice() else { return None };
        let time = |it: &str| it.parse().ok().map(Timestamp);
        let key = EntityKey::new(*lifecycle, *id);
        let awaited = Awaited::Leaves { key, state: Name::new(state), since: time(since)? };
        let (begun, until) = (time(begun)?, time(until)?);
        let longest = i64::try_from(LONGEST).ok()? * 1_000;
        let in_order = Timestamp(0) <= begun && begun <= until && until.since(begun).0 <= longest;
        (is_valid_id(id) && in_order).then_some(Self { awaited, begun, until })
    }

    /// The result, if there is one.
    pub async fn check(&self, app: &App, caller: &Caller) -> Result<Option<ToolAnswer>, Refused> {
        if let Some(waited) = self.awaited.check(app, caller).await? {
            return Ok(Some(told(&self.awaited, &waited)));
        }
        // A ticket of a time that was corrected is over.
        let now = app.reads.now();
        if self.begun <= now && now < self.until {
            return Ok(None);
        }
        Ok(Some(told(&self.awaited, &self.awaited.in_vain(app, caller).await?)))
    }

    pub fn in_words(&self) -> String {
        self.awaited.in_words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_found_again_by_its_name() {
        let awaited =
            Awaited::Leaves { key: EntityKey::new("a.b", "T-1"), state: Name::new("A"), since: Timestamp(5) };
        let ticket = WaitTask { awaited, begun: Timestamp(10), until: Timestamp(1_010) };
        let found = WaitTask::named(&ticket.name());
        assert_eq!(found.map(|it| it.name()), Some(ticket.name()));
    }

    #[test]
    fn a_malformed_task_name_is_rejected() {
        for name in [
            "",
            "wait",
            "wait~a.b~T-1~A~5~10",
            "wait~a.b~T-1~A~5~10~x",
            "wait~a.b~T 1~A~5~10~20",
            "wait~a.b~T-1~A~5~20~10",
            "wait~a.b~T-1~A~5~0~86400001",
            "wait~a.b~T-1~A~5~-9223372036854775808~9223372036854775807",
        ] {
            assert!(WaitTask::named(name).is_none(), "{name}");
        }
    }
}
