//! The steps after the end of a run, by the rules of the pack.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use trackside_protocol::{CreateBody, TransitionBody};

use crate::adapter::{ExitClass, RunUsage};
use crate::agent_loop::{AgentLoop, HOLD_POLL, LoopEnd, LoopError, LoopMode, Step, members};
use crate::run_monitor::{Ending, RunResult, shortened};
use crate::runner_folder::{AssignmentRecord, EndedRun};
use crate::server_api::{RequestActor, VerdictAct};
use crate::work_rule::WorkRule;

impl AgentLoop<'_> {
    /// The steps after the end of a run.
    pub(crate) fn conclude(
        &mut self,
        mut record: AssignmentRecord,
        result: RunResult,
    ) -> Result<Step, LoopError> {
        let Some(run) = record.run.clone() else { return Ok(Step::Continue) };
        self.meter(&mut record);
        let own_moves = record.run.as_ref().map_or(0, |it| it.own_moves);
        if let Some(token) = &run.token {
            let _ = self.api.revoke_token(token);
        }
        while !self.deliver()? {
            if !self.pause(HOLD_POLL, false) {
                return Ok(Step::End(LoopEnd::Stopped));
            }
        }
        for folder in &run.leftovers {
            // Fails for a folder that is not empty: it stays.
            let _ = std::fs::remove_dir(self.launch_in_folder(&record).folder.join(folder));
        }
        let code = code_of(&result, &self.settings.rule);
        // Before the reports about its folder, which can move the entity, too.
        let moved = self.has_moved(&record, &run, own_moves)?;
        let touched = self.report_folder(&record);
        self.record_end(&record);
        if moved {
            (record.restarts, record.reruns) = (0, 0);
        } else {
            record.restarts = if record.code == Some(code) { record.restarts + 1 } else { 1 };
            record.reruns += 1;
        }
        record.code = Some(code);
        record.previous = Some(run.id.clone());
        record.run = None;
        if matches!(result.class, ExitClass::Context | ExitClass::NoSession)
            || result.ending == Ending::Handoff
        {
            record.session = None;
            record.total = RunUsage::default();
        }
        (self.say)(&format!("{} ended: {}", run.id, words_of(&result)));
        record.ended =
            Some(EndedRun { id: run.id.clone(), result, code, moved, version: run.version, touched });
        self.folder.save_assignment(&record)?;
        // Only now: until here the next process has to find the run's folder.
        self.clean(&run.id);
        self.follow_up(record)
    }

    /// Carries out the consequences of the end of a run. A crash or an outage of the server in between repeats it; every event
    /// has a key, so it counts once.
    pub(crate) fn follow_up(&mut self, mut record: AssignmentRecord) -> Result<Step, LoopError> {
        let Some(EndedRun { id, result, code, moved, version, touched }) = record.ended.clone() else {
            return Ok(Step::Continue);
        };
        // A lease that is lost can be another agent's by now: its work did not stray.
        if !touched.is_empty() && !matches!(result.ending, Ending::Fenced { .. }) {
            (self.say)(&touched_words(&touched));
            if self.report_strayed(&record, &touched, version)? && result.ending != Ending::Runner {
                self.drop_work(&record)?;
                return Ok(self.after_task());
            }
        }
        match &result.ending {
            Ending::Runner => {
                self.forget_ended(&mut record)?;
                return Ok(Step::End(LoopEnd::Stopped));
            }
            Ending::Fenced { is_work, why } => {
                self.offer_late_result(&record, &id, &result, version)?;
                self.drop_work(&record)?;
                if *is_work {
                    (self.say)(&format!("the work was lost: {why}"));
                    return Ok(Step::Continue);
                }
                return Err(LoopError::Collision(why.clone()));
            }
            Ending::Handoff => self.note(&record, &id, &result)?,
            Ending::Person(why) => {
                self.finish(&record, &id, "failed", &json!({ "why": format!("Stopped: {why}") }))?;
                self.drop_work(&record)?;
                return Ok(self.after_task());
            }
            Ending::Over(why) if self.settings.mode != LoopMode::Supervise => {
                (self.say)(&format!("the work was taken away: {why}"));
                self.offer_late_result(&record, &id, &result, version)?;
                self.drop_work(&record)?;
                return Ok(self.after_task());
            }
            Ending::Itself | Ending::Told(_) | Ending::Over(_) | Ending::Vanished => {}
        }
        if result.class == ExitClass::Quota {
            return self.hold(record, &result);
        }
        if self.settings.mode != LoopMode::Supervise && moved && self.is_over(&record, version)? {
            self.offer_late_result(&record, &id, &result, version)?;
            self.drop_work(&record)?;
            return Ok(self.after_task());
        }
        if let LoopMode::Work { .. } = self.settings.mode
            && result.class == ExitClass::Ok
            && result.ending == Ending::Itself
        {
            if !moved {
                if touched.is_empty() {
                    self.finish(&record, &id, "done", &json!({}))?;
                } else {
                    self.finish(&record, &id, "failed", &json!({ "why": touched_words(&touched) }))?;
                }
            }
            self.drop_work(&record)?;
            return Ok(self.after_task());
        }
        if self.settings.mode == LoopMode::Supervise && self.is_over(&record, version)? {
            self.drop_work(&record)?;
            record.entity = None;
        }
        self.judge(record, &id, code, &result)
    }

    /// Submits the result of a run whose work another agent has taken over. The server refuses it and keeps it as evidence.
    fn offer_late_result(
        &mut self,
        record: &AssignmentRecord,
        run: &str,
        result: &RunResult,
        version: u64,
    ) -> Result<(), LoopError> {
        if self.settings.mode == LoopMode::Supervise
            || !result.ended_well
            || self.has_agent_moved(record, version)?
        {
            return Ok(());
        }
        match self.apply_of(record, run, "done", &json!({})) {
            Err(LoopError::Api(error)) if error.is_refusal() => {
                (self.say)(&format!("the result came too late: {}", error.words()));
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// Everything that follows from the last run is done, and the work continues.
    fn forget_ended(&mut self, record: &mut AssignmentRecord) -> io::Result<()> {
        record.ended = None;
        // Work that was dropped stays dropped.
        if self.folder.assignment()?.is_some() {
            self.folder.save_assignment(record)?;
        }
        Ok(())
    }

    /// Waits before the next process.
    fn pause_before_next(
        &mut self,
        record: &mut AssignmentRecord,
        after: Duration,
        by_server: bool,
    ) -> Result<Step, LoopError> {
        if !self.pause(after, by_server) {
            return Ok(Step::End(LoopEnd::Stopped));
        }
        self.forget_ended(record)?;
        Ok(Step::Continue)
    }

    /// Does what the pack's rules of supervision say.
    pub(crate) fn judge(
        &mut self,
        mut record: AssignmentRecord,
        run: &str,
        code: i64,
        result: &RunResult,
    ) -> Result<Step, LoopError> {
        if code == 0 && self.settings.mode == LoopMode::Supervise {
            // The role is complete only if there is nothing to take.
            self.drop_work(&record)?;
            if self.take_work()?.is_some_and(|it| it.entity.is_some()) {
                return Ok(Step::Continue);
            }
        }
        loop {
            let verdict = match self.api.verdict(run, code, self.waited.as_secs()) {
                Ok(verdict) => verdict,
                Err(error) if error.is_refusal() => return self.judge_plainly(record, run, result),
                Err(_) => {
                    if !self.pause(HOLD_POLL, false) {
                        return Ok(Step::End(LoopEnd::Stopped));
                    }
                    continue;
                }
            };
            let after = Duration::from_secs_f64(verdict.after.unwrap_or(0.0).clamp(0.0, 1e7));
            match verdict.act {
                VerdictAct::Restart => {
                    (self.say)(&format!("{}: starting again in {} s", verdict.why, after.as_secs_f64()));
                    return self.pause_before_next(&mut record, after, true);
                }
                VerdictAct::Wait => {
                    (self.say)(&verdict.why);
                    self.drop_work(&record)?;
                    let due = self.pause(after, true);
                    self.waited += after;
                    return Ok(if due { Step::Continue } else { Step::End(LoopEnd::Stopped) });
                }
                VerdictAct::Hold => {
                    (self.say)(&verdict.why);
                    loop {
                        if !self.pause(HOLD_POLL, false) {
                            return Ok(Step::End(LoopEnd::Stopped));
                        }
                        let now = self.api.verdict(run, code, self.waited.as_secs());
                        if now.is_ok_and(|it| it.act != VerdictAct::Hold) {
                            break;
                        }
                    }
                }
                VerdictAct::GiveUp => {
                    (self.say)(&format!("giving up: {}", verdict.why));
                    if let (Some(fire), Some((lifecycle, id))) = (verdict.fire, &record.entity) {
                        let body = TransitionBody {
                            event: Some(fire.event),
                            fields: fire.fields,
                            reason: Some(verdict.why),
                            fence: record.lease.as_ref().map(|it| it.fence),
                            ..TransitionBody::default()
                        };
                        let key = format!("give-up-{run}");
                        match self.api.fire(RequestActor::Agent, lifecycle, id, &body, &key) {
                            Err(error) if error.is_refusal() => {
                                (self.say)(&format!("the task stays as it is: {}", error.words()));
                            }
                            other => drop(other?),
                        }
                    }
                    self.drop_work(&record)?;
                    return Ok(self.after_task());
                }
                VerdictAct::Stop => {
                    if self.settings.mode == LoopMode::Supervise {
                        self.folder.clear_assignment()?;
                        return Ok(Step::End(LoopEnd::Complete(verdict.why)));
                    }
                    let values = json!({ "why": shortened(&result.text, 1_000) });
                    self.finish(&record, run, "failed", &values)?;
                    self.drop_work(&record)?;
                    return Ok(self.after_task());
                }
            }
        }
    }

    /// The rules for a role that the pack does not supervise.
    pub(crate) fn judge_plainly(
        &mut self,
        mut record: AssignmentRecord,
        run: &str,
        result: &RunResult,
    ) -> Result<Step, LoopError> {
        let is_lasting = matches!(
            result.class,
            ExitClass::Auth | ExitClass::Model | ExitClass::Usage | ExitClass::Billing | ExitClass::Limit
        );
        if result.class == ExitClass::Ok || is_lasting || record.restarts > self.limits.restarts {
            let values = json!({ "why": shortened(&result.text, 1_000) });
            self.finish(&record, run, "failed", &values)?;
            self.drop_work(&record)?;
            return Ok(self.after_task());
        }
        self.pause_before_next(&mut record, self.limits.pause, true)
    }

    /// A usage limit is no attempt: everything waits for its end, and then the same conversation continues.
    pub(crate) fn hold(
        &mut self,
        mut record: AssignmentRecord,
        result: &RunResult,
    ) -> Result<Step, LoopError> {
        let until = result.resets_at.and_then(|it| jiff::Timestamp::from_second(it).ok());
        let mut fields = members(json!({ "why": shortened(&result.text, 900) }));
        if let Some(until) = until {
            fields.insert("heldUntil".to_owned(), json!(until.to_string()));
        }
        let account = self.settings.account.clone();
        let body = CreateBody { id: Some(account.clone()), fields };
        let key = format!("hold-{}", record.previous.as_deref().unwrap_or_default());
        let held = self.api.create(RequestActor::Runner, "fleet.account", &body, &key);
        record.restarts = record.restarts.saturating_sub(1);
        record.reruns = record.reruns.saturating_sub(1);
        match held {
            Ok(_) => {
                self.forget_ended(&mut record)?;
                Ok(Step::Continue)
            }
            Err(error) if error.is_refusal() => {
                (self.say)(&format!("the account {account} was not held: {}", error.words()));
                self.pause_before_next(&mut record, self.limits.pause, true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the agent's notes for the next process, unless the agent has kept them itself.
    pub(crate) fn note(
        &mut self,
        record: &AssignmentRecord,
        run: &str,
        result: &RunResult,
    ) -> Result<(), LoopError> {
        let mut lines = result.text.lines().filter(|it| !it.trim().is_empty());
        let summary = lines.next().unwrap_or("The context window was full");
        let next = lines.next_back().unwrap_or("Continue from the state of the folder");
        let values = json!({ "summary": shortened(summary, 180), "next": shortened(next, 180) });
        self.apply_of(record, run, "note", &values).map(|_| ())
    }
}

/// Why the result of a run does not count that changed the main checkout.
fn touched_words(touched: &[String]) -> String {
    let shown: Vec<&str> = touched.iter().take(20).map(String::as_str).collect();
    let more = if touched.len() > shown.len() { ", …" } else { "" };
    format!(
        "The main checkout changed during the run, outside the worktree: {}{more}. The work is not submitted",
        shown.join(", ")
    )
}

/// The exit code by which the pack's rules judge a run.
fn code_of(result: &RunResult, rule: &WorkRule) -> i64 {
    match (&result.ending, result.class) {
        (Ending::Told(_), _) => rule.stopped_code,
        (_, ExitClass::Ok) => 0,
        (_, ExitClass::Context) => rule.stopped_code,
        (_, _) => result.code.map(i64::from).filter(|it| *it != 0).unwrap_or(1),
    }
}

fn words_of(result: &RunResult) -> String {
    let class = serde_json::to_value(result.class).ok();
    let class = class.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let code = result.code.map(|it| format!(", exit code {it}")).unwrap_or_default();
    let why = match &result.ending {
        Ending::Itself => String::new(),
        Ending::Told(why) | Ending::Person(why) | Ending::Over(why) | Ending::Fenced { why, .. } => {
            format!(" ({why})")
        }
        Ending::Runner => " (the runner ends)".to_owned(),
        Ending::Handoff => " (context nearly full)".to_owned(),
        Ending::Vanished => " (its worktree is gone)".to_owned(),
    };
    format!("{class}{code}{why}")
}
