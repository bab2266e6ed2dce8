//! Ends a process whose agent can no longer do its work: its entity was moved on, blocked or ended.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_loop::{AgentLoop, LoopError};
use crate::run_monitor::{Ending, RunMonitor};
use crate::runner_folder::AssignmentRecord;
use crate::server_api::{ApiError, EntityView, RequestActor};

/// How long a process whose work was taken away has until the signal TERM.
const TAKEN_AWAY: Duration = Duration::from_secs(2);
/// Seconds until the signal KILL after that.
const TAKEN_GRACE: u64 = 3;

/// What an agent can do with its entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkReach {
    #[default]
    Nothing,
    /// It can fire events that leave the entity in its state.
    Change,
    /// It can move the entity to another state.
    Move,
}

impl WorkReach {
    /// Reads it from the agent's instructions.
    pub(crate) fn of(work: &Value) -> Self {
        let events = work.get("events").and_then(Value::as_array).into_iter().flatten();
        let moves =
            |event: &Value| event.get("to").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
        events.map(|it| if moves(it) { Self::Move } else { Self::Change }).max().unwrap_or_default()
    }
}

/// A process that may say its last words.
#[derive(Clone, Debug)]
pub(crate) struct LetGo {
    end: Instant,
    /// Seconds between TERM and KILL; none for those of the adapter.
    grace: Option<u64>,
    why: String,
}

impl AgentLoop<'_> {
    /// What the agent can do with an entity now.
    pub(crate) fn reach(&self, lifecycle: &str, id: &str) -> Result<WorkReach, ApiError> {
        match self.api.work(lifecycle, id, &self.settings.role) {
            Ok(work) => Ok(WorkReach::of(&work)),
            Err(error) if error.is_refusal() => Ok(WorkReach::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Whether the agent can no longer do the work of its assignment, after a change since `version`. A lease shows that
    /// by itself, and a pause may refuse all events without taking the work away.
    pub(crate) fn is_out_of_reach(
        &self,
        record: &AssignmentRecord,
        entity: &EntityView,
        version: u64,
    ) -> Result<bool, ApiError> {
        if entity.is_final || record.is_released {
            return Ok(true);
        }
        if record.lease.is_some() || entity.version == version {
            return Ok(false);
        }
        Ok(self.reach(&entity.lifecycle, &entity.id)? < record.reach)
    }

    /// Whether the agent has a lease on an entity.
    fn holds(&self, entity: &EntityView) -> bool {
        entity.lease_of(&self.settings.agent).is_some()
    }

    /// Whether the agent itself caused the last move of an entity after a version, also by an event from which the move
    /// followed.
    fn is_moved_by_agent(&self, lifecycle: &str, id: &str, version: u64) -> Result<bool, LoopError> {
        let mut entries = BTreeMap::new();
        let mut last = None;
        self.each_entry_after(lifecycle, id, version, |entry| {
            let number = |name: &str| entry.get(name).and_then(Value::as_u64);
            let Some(seq) = number("seq") else { return };
            let by_agent = entry.get("actor").and_then(Value::as_str) == Some(self.settings.agent.as_str());
            entries.insert(seq, (by_agent, number("cause")));
            if entry.get("to").is_some() {
                last = Some(seq);
            }
        })?;
        while let Some((by_agent, cause)) = last.and_then(|it| entries.get(&it)) {
            if *by_agent {
                return Ok(true);
            }
            // A cause comes before its consequence.
            last = cause.filter(|it| last.is_some_and(|of| *it < of));
        }
        Ok(false)
    }
}

impl RunMonitor<'_, '_> {
    /// Looks whether the agent can still do its work.
    pub(crate) fn look_at_work(&mut self) -> io::Result<()> {
        // An agent that waits for a decision has work again after it.
        if self.let_go.is_some() || !self.approvals.is_empty() || self.ending != Ending::Itself {
            return Ok(());
        }
        let Some((lifecycle, id)) = self.record.entity.clone() else { return Ok(()) };
        let known = self.record.run.as_ref().map_or(0, |it| it.version);
        let version = self.work_version.unwrap_or(known);
        let entity = match self.agent.api().entity(RequestActor::Agent, &lifecycle, &id) {
            Ok(entity) => entity,
            Err(error) if error.is_refusal() => return self.let_go("can no longer be read", version),
            Err(_) => return Ok(()),
        };
        match self.agent.is_out_of_reach(self.record, &entity, version) {
            Ok(true) => self.let_go(&format!("is {}", entity.state), version),
            // A lease that was released shows at the next heartbeat.
            Ok(false) if self.record.lease.is_some() && !self.agent.holds(&entity) => Ok(()),
            Ok(false) => {
                self.work_version = Some(entity.version);
                self.was_answered = false;
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// The work is over for this process. An agent that moved it on itself, or got the answer to its own question, has
    /// longer than one whose work was taken away.
    pub(crate) fn let_go(&mut self, what: &str, version: u64) -> io::Result<()> {
        let Some((lifecycle, id)) = self.record.entity.clone() else { return Ok(()) };
        let is_own = match self.agent.is_moved_by_agent(&lifecycle, &id, version) {
            Ok(by_agent) => by_agent || self.was_answered,
            // Looked at again.
            Err(LoopError::Api(error)) if !error.is_refusal() => return Ok(()),
            Err(_) => self.was_answered,
        };
        let why = format!("{lifecycle}/{id} {what}");
        let (after, grace) = match is_own {
            true => (self.agent.limits.wrap_up, None),
            false => (TAKEN_AWAY, Some(TAKEN_GRACE)),
        };
        self.run.mark(&format!("{why}: the process ends within {} s", after.as_secs()))?;
        self.let_go = Some(LetGo { end: Instant::now() + after, grace, why });
        Ok(())
    }

    /// Ends a process that had its time.
    pub(crate) fn end_work_that_is_over(&mut self) -> io::Result<()> {
        let Some(LetGo { end, grace, why }) = self.let_go.clone() else { return Ok(()) };
        if Instant::now() < end || self.ending != Ending::Itself {
            return Ok(());
        }
        self.end(Ending::Over(why.clone()), &why, grace)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_that_can_only_comment_cannot_move_its_work() {
        let of = |events: Value| WorkReach::of(&json!({ "events": events }));
        let comment = json!({ "event": "comment", "to": [] });
        let submit = json!({ "event": "submit", "to": ["REVIEW"] });
        assert_eq!(of(json!([])), WorkReach::Nothing);
        assert_eq!(of(json!([comment])), WorkReach::Change);
        assert_eq!(of(json!([comment, submit])), WorkReach::Move);
        assert!(WorkReach::Nothing < WorkReach::Change && WorkReach::Change < WorkReach::Move);
    }
}
