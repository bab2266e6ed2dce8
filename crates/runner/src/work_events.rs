//! The events of a lifecycle's `work:` block, and what an agent did to its entity.

use serde_json::{Value, json};

use crate::agent_loop::{AgentLoop, LoopError};
use crate::run_monitor::shortened;
use crate::runner_folder::{AssignmentRecord, RunRecord};
use crate::server_api::RequestActor;

impl AgentLoop<'_> {
    /// Passes metered usage on to the entity, so that the pack's budgets see it.
    pub(crate) fn meter(&mut self, record: &mut AssignmentRecord) {
        if !self.settings.rule.has_meter {
            return;
        }
        let Some(run) = &mut record.run else { return };
        let Ok(known) = self.api.entity(RequestActor::Runner, "fleet.run", &run.id) else { return };
        let number = |name: &str| known.fields.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let counts = ["input", "output", "cacheRead", "cacheWrite"];
        let (cost, tokens) = (number("cost"), counts.iter().map(|it| number(it)).sum::<f64>() as u64);
        if cost <= run.metered && tokens <= run.metered_tokens {
            return;
        }
        let key = format!("meter-{}-{}", run.id, run.meterings + 1);
        let values = json!({ "metered": run.metered, "meteredTokens": run.metered_tokens });
        let body = json!({ "action": "meter", "values": values });
        match self.api.post_report(&format!("/v1/runs/{}/apply", run.id), &body, &key) {
            Ok(answer) => {
                run.meterings += 1;
                (run.metered, run.metered_tokens) = (cost, tokens);
                if answer.get("applied").and_then(Value::as_bool) == Some(true) {
                    run.own_moves += 1;
                    // A budget that is now used up shows in the next heartbeat.
                    self.leases.hurry();
                }
                let _ = self.folder.save_assignment(record);
            }
            Err(error) if error.is_refusal() => {
                run.meterings += 1;
                (self.say)(&format!("the cost of {} was not charged: {}", run.id, error.words()));
            }
            Err(_) => {}
        }
    }

    /// Ends the task. A task whose last event is refused is given back with the refusal, so that it does not stay open.
    pub(crate) fn finish(
        &mut self,
        record: &AssignmentRecord,
        run: &str,
        action: &str,
        values: &Value,
    ) -> Result<(), LoopError> {
        if record.entity.is_none() {
            return Ok(());
        }
        let why = match self.apply_of(record, run, action, values) {
            Ok(false) if action == "done" => "it ended without a result".to_owned(),
            Err(LoopError::Api(error)) if error.is_refusal() => error.words(),
            other => return other.map(|_| ()),
        };
        if action == "done" {
            (self.say)(&format!("the task is not done: {why}"));
            return self.finish(record, run, "failed", &json!({ "why": shortened(&why, 1_000) }));
        }
        (self.say)(&format!("the task stays as it is: {why}"));
        Ok(())
    }

    /// Gives an entity back for which no run could be started.
    pub(crate) fn give_back(&mut self, record: &AssignmentRecord, why: &str) -> Result<(), LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(()) };
        let run = match &record.previous {
            Some(run) => Some(run.clone()),
            None => self.last_run_of(&format!("{lifecycle}/{id}"))?,
        };
        match run {
            Some(run) => self.finish(record, &run, "failed", &json!({ "why": shortened(why, 1_000) })),
            None => Ok(()),
        }
    }

    pub(crate) fn last_run_of(&self, entity: &str) -> Result<Option<String>, LoopError> {
        let path = format!("/v1/runs?entity={}&limit=200", entity.replace('/', "%2F"));
        let runs = self.api.get(&path)?;
        let items = runs.get("items").and_then(Value::as_array);
        Ok(items.and_then(|it| it.last()?.get("id")?.as_str().map(str::to_owned)))
    }

    pub(crate) fn apply_of(
        &mut self,
        record: &AssignmentRecord,
        run: &str,
        action: &str,
        values: &Value,
    ) -> Result<bool, LoopError> {
        if record.entity.is_none() {
            return Ok(false);
        }
        let fence = record.lease.as_ref().map(|it| it.fence);
        let body = json!({ "action": action, "values": values, "fence": fence });
        let path = format!("/v1/runs/{run}/apply");
        let answer = self.api.post_report(&path, &body, &format!("{action}-{run}"))?;
        Ok(answer.get("applied").and_then(Value::as_bool).unwrap_or(false))
    }

    /// Whether the agent, not the runner, changed its entity since the run began.
    pub(crate) fn has_moved(
        &self,
        record: &AssignmentRecord,
        run: &RunRecord,
        own_moves: u64,
    ) -> Result<bool, LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(false) };
        match self.api.entity(RequestActor::Agent, lifecycle, id) {
            Ok(entity) => Ok(entity.state != run.state || entity.version > run.version + own_moves),
            Err(error) if error.is_refusal() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the agent itself changed its entity after this version. Other actors may have changed it, too.
    pub(crate) fn has_agent_moved(&self, record: &AssignmentRecord, version: u64) -> Result<bool, LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(false) };
        let mut by_agent = false;
        let read = self.each_entry_after(lifecycle, id, version, |entry| {
            let actor = entry.get("actor").and_then(Value::as_str);
            by_agent |= actor == Some(self.settings.agent.as_str()) && entry.get("to").is_some();
        });
        match read {
            Err(LoopError::Api(error)) if error.is_refusal() => Ok(true),
            other => other.map(|()| by_agent),
        }
    }

    /// Reads the journal entries of an entity after a version, the oldest first.
    pub(crate) fn each_entry_after(
        &self,
        lifecycle: &str,
        id: &str,
        version: u64,
        mut look: impl FnMut(&Value),
    ) -> Result<(), LoopError> {
        let mut cursor = String::new();
        loop {
            let page = self.api.get(&format!("/v1/entities/{lifecycle}/{id}/history?limit=200{cursor}"))?;
            let is_later =
                |it: &&Value| it.get("version").and_then(Value::as_u64).is_some_and(|it| it > version);
            let entries = page.get("items").and_then(Value::as_array).into_iter().flatten();
            entries.filter(is_later).for_each(&mut look);
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(()),
            }
        }
    }

    /// Whether the agent no longer has the entity. `version` is that of the entity when its run began.
    pub(crate) fn is_over(&self, record: &AssignmentRecord, version: u64) -> Result<bool, LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(false) };
        match self.api.entity(RequestActor::Agent, lifecycle, id) {
            Ok(entity) => {
                let held = record.lease.is_none() || entity.lease_of(&self.settings.agent).is_some();
                Ok(record.is_released || !held || self.is_out_of_reach(record, &entity, version)?)
            }
            Err(error) if error.is_refusal() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
