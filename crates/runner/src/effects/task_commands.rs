//! Checks and commits that a pack asks for, in the folder of the task.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use trackside_protocol::EffectBody;
use trackside_worktree::{CommandRule, CommitOutcome, CommitRequest, FileLock, WorktreeError};

use super::effect_client::{HeldEffect, settle_effect};
use super::git_work::{GitWork, LONGEST};
use super::work_report::store_artifact;
use crate::run_monitor::shortened;
use crate::server_api::{ApiError, ServerApi};

/// The commands of an effect.
pub(crate) fn commands_of(with: &Map<String, Value>) -> Result<Vec<CommandRule>, String> {
    let commands = with.get("commands").cloned().unwrap_or(Value::Null);
    serde_json::from_value(commands).map_err(|it| format!("the commands of the effect cannot be read: {it}"))
}

impl GitWork {
    /// The folder in which agents work on an entity: its worktree, else the main checkout.
    fn folder_of(&self, entity: &str) -> Result<PathBuf, WorktreeError> {
        let worktree = self.repository.worktree_of(entity)?;
        Ok(worktree.map_or_else(|| self.repository.root().to_owned(), |it| it.path))
    }

    /// Why the work of an entity cannot be committed by this runner; none if it can.
    pub fn foreign_work(&self, entity: &str) -> Option<String> {
        let is_here = self.folder_of(entity).is_ok_and(|it| it != self.repository.root())
            || self.repository.has_work_of(entity).unwrap_or(true);
        (!is_here).then(|| self.repository.unknown_work(entity))
    }

    /// Takes the folder of the entity of an effect for commands. None while another process runs commands in it, or if the
    /// lock cannot be had: the next look tries again.
    pub fn take_folder_of(&self, effect: &EffectBody) -> Option<FileLock> {
        let folder = self.folder_of(&format!("{}/{}", effect.lifecycle, effect.entity)).ok()?;
        self.repository.take_folder(&folder).ok().flatten()
    }

    /// Runs the commands of an effect and reports each result. Returns a message for people.
    pub fn run_checks(&self, api: &ServerApi, effect: &HeldEffect) -> Result<String, ApiError> {
        let entity = effect.entity_key();
        match self.check_results(effect) {
            Ok((results, output)) => {
                let mut fields = Map::from_iter([
                    ("results".to_owned(), Value::Array(results.iter().map(CheckResult::to_json).collect())),
                    ("report".to_owned(), results.iter().map(CheckResult::to_member).collect()),
                ]);
                with_visit(&mut fields, effect);
                if let Some(stored) = store_artifact(api, output.as_bytes()) {
                    fields.insert("output".to_owned(), stored.into());
                }
                settle_effect(api, effect, true, Value::Object(fields))?;
                let failed: Vec<&str> =
                    results.iter().filter(|it| !it.passed).map(|it| it.name.as_str()).collect();
                let words = if failed.is_empty() {
                    "passed".to_owned()
                } else {
                    format!("failed: {}", failed.join(", "))
                };
                Ok(format!("the checks of {entity} {words}"))
            }
            Err(why) => {
                settle_effect(api, effect, false, json!({ "detail": shortened(&why, LONGEST) }))?;
                Ok(format!("the checks of {entity} could not be run: {why}"))
            }
        }
    }

    fn check_results(&self, effect: &HeldEffect) -> Result<(Vec<CheckResult>, String), String> {
        let folder = self.folder_of(&effect.entity_key()).map_err(|it| it.to_string())?;
        let (mut results, mut output) = (Vec::new(), String::new());
        for rule in commands_of(&effect.with)? {
            let ending = self
                .repository
                .run_command_in(&folder, &rule, &self.environment)
                .map_err(|it| it.to_string())?;
            output.push_str(&format!("$ {}\n{}\n{}\n", rule.run, ending.output.trim_end(), ending.ending));
            let name = rule.name.unwrap_or(rule.run);
            results.push(CheckResult { name, passed: ending.succeeded, note: ending.ending });
        }
        Ok((results, output))
    }

    /// Commits the work of a task. Returns a message for people, or why it has to wait.
    pub fn commit(
        &self,
        api: &ServerApi,
        effect: &HeldEffect,
        queue: &FileLock,
    ) -> Result<Result<String, String>, ApiError> {
        let entity = effect.entity_key();
        let settle = |ok: bool, fields: Value| {
            let mut fields = crate::agent_loop::members(fields);
            with_visit(&mut fields, effect);
            settle_effect(api, effect, ok, Value::Object(fields))
        };
        let Some(message) = effect.text("message") else {
            settle(false, json!({ "detail": "the effect needs `message`" }))?;
            return Ok(Ok(format!("{entity}: the effect needs `message`")));
        };
        let folder = match self.folder_of(&entity) {
            Ok(folder) => folder,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let request = CommitRequest {
            folder,
            entity: Some(entity.clone()),
            message: message.clone(),
            made_for: self.made_for(effect),
            environment: self.environment.clone(),
        };
        match self.repository.commit_work(&request, queue) {
            Ok(CommitOutcome::Committed { commit }) => {
                let short: String = commit.chars().take(12).collect();
                settle(true, json!({ "commit": commit, "message": message }))?;
                Ok(Ok(format!("{entity} is committed as {short}")))
            }
            Ok(CommitOutcome::Refused { summary, output }) => {
                let stored = if output.is_empty() { None } else { store_artifact(api, output.as_bytes()) };
                settle(false, json!({ "detail": shortened(&summary, LONGEST), "output": stored }))?;
                Ok(Ok(format!("{entity} is not committed: {summary}")))
            }
            // The machine is the reason: another runner can take over.
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

/// The visit of the state for which the effect was requested.
fn with_visit(fields: &mut Map<String, Value>, effect: &HeldEffect) {
    if let Some(visit) = effect.with.get("visit") {
        fields.insert("visit".to_owned(), visit.clone());
    }
}

struct CheckResult {
    name: String,
    passed: bool,
    note: String,
}

impl CheckResult {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "passed": self.passed, "note": self.note })
    }

    fn to_member(&self) -> (String, Value) {
        (self.name.clone(), if self.passed { "passed" } else { "failed" }.into())
    }
}
