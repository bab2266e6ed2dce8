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
        let key = format!("meter-{}-{}", run.id, run.metered + 1);
        match self.api.post_report(&format!("/v1/runs/{}/apply", run.id), &json!({ "action": "meter" }), &key)
        {
            Ok(answer) => {
                run.metered += 1;
                if answer.get("applied").and_then(Value::as_bool) == Some(true) {
                    run.own_moves += 1;
                    // A budget that is now used up shows in the next heartbeat.
                    self.leases.hurry();
                }
            }
            Err(error) if error.is_refusal() => run.metered += 1,
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
        match self.apply_of(record, run, action, values) {
            Err(LoopError::Api(error)) if error.is_refusal() && action == "done" => {
                let words = error.words();
                (self.say)(&format!("the end of the task was refused: {words}"));
                let values = json!({ "exitText": shortened(&words, 1_000) });
                match self.apply_of(record, run, "failed", &values) {
                    Err(LoopError::Api(error)) if error.is_refusal() => {
                        (self.say)(&format!("the task stays as it is: {}", error.words()));
                        Ok(())
                    }
                    other => other.map(|_| ()),
                }
            }
            Err(LoopError::Api(error)) if error.is_refusal() => {
                (self.say)(&format!("the task stays as it is: {}", error.words()));
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// Gives an entity back for which no run could be started.
    pub(crate) fn give_back(&mut self, record: &AssignmentRecord, why: &str) -> Result<(), LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(()) };
        let run = match &record.previous {
            Some(run) => Some(run.clone()),
            None => self.last_run_of(&format!("{lifecycle}/{id}"))?,
        };
        match run {
            Some(run) => self.finish(record, &run, "failed", &json!({ "exitText": shortened(why, 1_000) })),
            None => Ok(()),
        }
    }

    pub(crate) fn last_run_of(&self, entity: &str) -> Result<Option<String>, LoopError> {
        let path = format!("/v1/runs?entity={}&limit=200", entity.replace('/', "%2F"));
        let runs = self.api.get(&path)?;
        let items = runs.get("items").and_then(Value::as_array);
        Ok(items.and_then(|it| it.last()?.get("id")?.as_str().map(str::to_owned)))
    }

    pub(crate) fn apply(
        &mut self,
        record: &mut AssignmentRecord,
        action: &str,
        values: &Value,
    ) -> Result<(), LoopError> {
        let Some(run) = record.run.as_ref().map(|it| it.id.clone()) else { return Ok(()) };
        if record.entity.is_none() || !self.settings.rule.has(action) {
            return Ok(());
        }
        match self.apply_of(record, &run, action, values) {
            Ok(true) => {
                if let Some(run) = &mut record.run {
                    run.own_moves += 1;
                }
                Ok(self.folder.save_assignment(record)?)
            }
            Ok(false) => Ok(()),
            Err(LoopError::Api(error)) if error.is_refusal() => {
                (self.say)(&format!("{action}: {}", error.words()));
                Ok(())
            }
            Err(error) => Err(error),
        }
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
        let body = json!({ "action": action, "values": values });
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

    /// Whether the agent no longer has the entity.
    pub(crate) fn is_over(&self, record: &AssignmentRecord) -> Result<bool, LoopError> {
        let Some((lifecycle, id)) = &record.entity else { return Ok(false) };
        match self.api.entity(RequestActor::Agent, lifecycle, id) {
            Ok(entity) => {
                let held = record.lease.is_none() || entity.lease_of(&self.settings.agent).is_some();
                Ok(entity.is_final || !held)
            }
            Err(error) if error.is_refusal() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn has_more_work(&self) -> Result<bool, LoopError> {
        let Some(query) = &self.settings.rule.query else { return Ok(false) };
        let params = match self.settings.rule.query_takes_agent {
            true => format!("?agent={}&limit=1", self.settings.agent),
            false => "?limit=1".to_owned(),
        };
        let rows = self.api.query(&self.settings.pack, query, &params)?;
        Ok(rows.get("items").and_then(Value::as_array).is_some_and(|it| !it.is_empty()))
    }
}
