//! Watches one running agent: passes its transcript, figures and requests on to the server, and the server's to it.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trackside_protocol::{RequestAction, TransitionBody};
use trackside_shim::liveness::RunActivity;

use crate::adapter::{ExitClass, PendingApproval, TranscriptContent, ended_by_itself};
use crate::agent_loop::AgentLoop;
use crate::held_leases::HeldLease;
use crate::local_run::{LocalRun, RunEnd};
use crate::runner_folder::AssignmentRecord;
use crate::server_api::{ApiError, RequestActor};
use crate::stalling::{StallDetector, StallSigns};
use crate::transcript::{TranscriptEntry, TranscriptLine};
use crate::transcript_upload::Upload;
use crate::work_reach::LetGo;

/// The pause between two looks at the process.
const TICK: Duration = Duration::from_millis(60);
/// The pause between two looks at the run's record, unless the server signals a change.
const LOOK: Duration = Duration::from_secs(3);
/// The pause between two reports of figures.
const REPORT: Duration = Duration::from_secs(5);
/// The pause between two extensions of the process's own lease.
const RENEW: Duration = Duration::from_secs(5);
/// The share of the context window, in percent, at which an agent hands off.
const HANDOFF_PERCENT: u8 = 90;
/// The pause between two extensions of the run's token, which lasts an hour.
const EXTEND: Duration = Duration::from_secs(15 * 60);

/// Why the runner ended the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The process ended by itself.
    Itself,
    /// The server said stop: a pause, a checkpoint, an abort, or a broken invariant.
    Told(String),
    /// A person stopped the run.
    Person(String),
    /// A lease was lost: the runner's, the agent's or the work's.
    Fenced { is_work: bool, why: String },
    /// The runner itself ends.
    Runner,
    /// The context is nearly full.
    Handoff,
    /// The agent's work was moved on or taken away, and the process did not end by itself.
    Over(String),
    /// The folder of the task is gone.
    Vanished,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    pub class: ExitClass,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub text: String,
    pub resets_at: Option<i64>,
    pub ending: Ending,
    /// The process ended well and by itself, even if a stop was requested.
    pub ended_well: bool,
    /// Processes that no signal ended.
    pub unkillable: Vec<String>,
}

/// State of the watch over one process.
pub(crate) struct RunMonitor<'a, 'b> {
    pub(crate) agent: &'a mut AgentLoop<'b>,
    pub(crate) record: &'a mut AssignmentRecord,
    pub(crate) run: LocalRun,
    pub(crate) ending: Ending,
    pub(crate) approvals: Vec<OpenApproval>,
    /// The agent got the answer to a question of its own since its work was last seen in its reach.
    pub(crate) was_answered: bool,
    /// The version of the entity when the agent was last seen to be able to do its work.
    pub(crate) work_version: Option<u64>,
    open_calls: BTreeSet<String>,
    doing: String,
    closed: bool,
    reported: Value,
    last_progress: Instant,
    stall: StallDetector,
    /// The version of the entity and the commit at the last look.
    result: Option<(Option<u64>, Option<String>)>,
    begun: Instant,
    handoff_since: Option<Instant>,
    /// The last upload did not reach the server.
    pub(crate) is_server_away: bool,
    /// The work is over for the process.
    pub(crate) let_go: Option<LetGo>,
    pub(crate) next: NextLooks,
}

/// When something is done again.
pub(crate) struct NextLooks {
    record: Instant,
    report: Instant,
    renew: Instant,
    pub(crate) upload: Instant,
    approvals: Instant,
    extend: Instant,
}

/// A tool call that waits for a decision.
#[derive(Clone, Debug)]
pub(crate) struct OpenApproval {
    asked: PendingApproval,
    told: bool,
}

impl<'a, 'b> RunMonitor<'a, 'b> {
    pub(crate) fn new(agent: &'a mut AgentLoop<'b>, record: &'a mut AssignmentRecord, run: LocalRun) -> Self {
        let now = Instant::now();
        let next = NextLooks {
            record: now,
            report: now,
            renew: now,
            upload: now,
            approvals: now,
            extend: now + EXTEND,
        };
        Self {
            agent,
            record,
            run,
            ending: Ending::Itself,
            approvals: Vec::new(),
            was_answered: false,
            work_version: None,
            open_calls: BTreeSet::new(),
            doing: String::new(),
            closed: false,
            reported: Value::Null,
            last_progress: now,
            stall: StallDetector::default(),
            result: None,
            begun: now,
            handoff_since: None,
            is_server_away: false,
            let_go: None,
            next,
        }
    }

    /// Watches until the process has ended and everything it wrote was read.
    pub(crate) fn watch(mut self) -> io::Result<RunResult> {
        loop {
            let progress = self.run.poll()?;
            self.approvals
                .extend(progress.approvals.into_iter().map(|asked| OpenApproval { asked, told: false }));
            self.read(&progress.lines)?;
            if let Some(end) = progress.end {
                return self.finish(end);
            }
            self.keep_leases()?;
            self.look_at_context()?;
            // A server that does not answer costs seconds for each request. Its return shows in the heartbeats.
            if !self.agent.leases.is_server_away() {
                self.obey_server()?;
                self.answer_approvals()?;
                self.report_figures();
                self.upload(false);
            }
            if self.agent.is_stopping() && self.ending == Ending::Itself {
                self.end(Ending::Runner, "the runner ends", None)?;
            }
            std::thread::sleep(TICK);
        }
    }

    fn read(&mut self, lines: &[TranscriptLine]) -> io::Result<()> {
        if !lines.is_empty() {
            self.last_progress = Instant::now();
        }
        for line in lines {
            let TranscriptEntry::Agent(content) = &line.content else { continue };
            match content {
                TranscriptContent::ToolCall { id, name, .. } => {
                    self.open_calls.insert(id.clone());
                    self.doing = format!("tool call {name}");
                }
                TranscriptContent::ToolResult { id, .. } => {
                    self.open_calls.remove(id);
                }
                TranscriptContent::Message { text } | TranscriptContent::Output { text } => {
                    self.doing = shortened(text, 300);
                }
                TranscriptContent::End { .. } => self.open_calls.clear(),
                _ => {}
            }
        }
        if LocalRun::has_ended_its_turn(lines) && self.agent.is_steerable() && !self.closed {
            // Messages that came in the meantime begin another turn.
            self.next.record = Instant::now();
            if !self.pass_messages()? {
                self.run.close_input()?;
                self.closed = true;
            }
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, ending: Ending, why: &str, grace: Option<u64>) -> io::Result<()> {
        self.ending = ending;
        self.run.stop(why, grace)
    }

    fn keep_leases(&mut self) -> io::Result<()> {
        if let Some(Ok(report)) = self.agent.beat() {
            if let Some((lease, why)) = report.lost
                && !matches!(self.ending, Ending::Fenced { .. })
            {
                let is_work =
                    self.record.lease.as_ref().is_some_and(|it| it.is_of(&lease.lifecycle, &lease.id));
                // A lease that ended because the agent finished its work is no loss.
                if is_work && self.has_let_go() {
                    self.agent.forget_lease(&lease.lifecycle, &lease.id);
                    self.record.is_released = true;
                    let version = self.record.run.as_ref().map_or(0, |it| it.version);
                    self.let_go("was moved on", self.work_version.unwrap_or(version))?;
                } else if !is_work && self.agent.is_agent_record(&lease) && self.nobody_holds(&lease) {
                    // The agent handed off or left: it registers again before the next process.
                    self.agent.forget_lease(&lease.lifecycle, &lease.id);
                } else {
                    let words = format!("{}/{}: {why}", lease.lifecycle, lease.id);
                    self.end(Ending::Fenced { is_work, why: words }, "the lease was lost", Some(0))?;
                }
            }
            if let Some(why) = report.stop
                && self.ending == Ending::Itself
            {
                self.end(Ending::Told(why.clone()), &why, None)?;
            }
            for notice in report.notices {
                self.run.mark(&format!("notice: {notice}"))?;
            }
        }
        self.end_work_that_is_over()?;
        if Instant::now() >= self.next.renew {
            if self.agent.has_vanished(self.record) && self.ending == Ending::Itself {
                // Otherwise the agent would continue in another folder.
                self.end(Ending::Vanished, "its worktree is gone", Some(0))?;
            }
            if let Some(news) = self.agent.news_of_base(self.record) {
                self.run.mark(&format!("notice: {news}"))?;
                if self.agent.is_steerable() && !self.closed {
                    let _ = self.run.steer(&news);
                }
            }
            self.next.renew = Instant::now() + RENEW;
            let left = self.agent.time_left();
            self.run.renew(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX))?;
        }
        if Instant::now() >= self.next.extend
            && let Some(token) = self.record.run.as_ref().and_then(|it| it.token.clone())
        {
            let extended = self.agent.api().extend_token(&token).is_ok();
            self.next.extend = Instant::now() + if extended { EXTEND } else { LOOK };
        }
        Ok(())
    }

    fn nobody_holds(&self, lease: &HeldLease) -> bool {
        let entity = self.agent.api().entity(lease.actor, &lease.lifecycle, &lease.id);
        entity.is_ok_and(|it| !it.leases.iter().any(|held| held.slot == lease.slot))
    }

    /// Whether the agent itself moved its entity on, so that its lease was released in order.
    fn has_let_go(&self) -> bool {
        let (Some((lifecycle, id)), Some(run)) = (&self.record.entity, &self.record.run) else {
            return false;
        };
        match self.agent.api().entity(RequestActor::Agent, lifecycle, id) {
            Ok(entity) => {
                entity.state != run.state
                    && !entity
                        .leases
                        .iter()
                        .any(|it| self.record.lease.as_ref().is_some_and(|lease| it.slot == lease.slot))
            }
            Err(_) => false,
        }
    }

    /// Looks at the run's record: a stop, and messages to the agent.
    fn obey_server(&mut self) -> io::Result<()> {
        let changed = self.agent.take_change();
        if !changed && Instant::now() < self.next.record {
            return Ok(());
        }
        self.next.record = Instant::now() + LOOK;
        if changed {
            self.agent.hurry();
        }
        self.pass_messages()?;
        self.look_at_work()
    }

    /// Passes messages on. True if there was one.
    fn pass_messages(&mut self) -> io::Result<bool> {
        let Some(run) = &self.record.run else { return Ok(false) };
        let (id, delivered) = (run.id.clone(), run.delivered);
        let Ok(entity) = self.agent.api().entity(RequestActor::Runner, "fleet.run", &id) else {
            return Ok(false);
        };
        if let Some(reason) = stop_requested(&entity.fields)
            && self.ending == Ending::Itself
        {
            self.end(Ending::Person(reason.clone()), &reason, None)?;
            return Ok(false);
        }
        let messages = entity.fields.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut last = delivered;
        for message in &messages {
            let number = message.get("number").and_then(Value::as_u64).unwrap_or(0);
            if number <= last {
                continue;
            }
            let text = message.get("text").and_then(Value::as_str).unwrap_or_default();
            if message.get("mode").and_then(Value::as_str) == Some("interrupt") {
                let _ = self.run.interrupt();
            }
            match self.run.steer(text) {
                Ok(()) => self.run.mark(&format!("message {number} was passed on"))?,
                Err(why) => self.run.mark(&format!("message {number} was not passed on: {why}"))?,
            }
            last = number;
        }
        if last > delivered {
            self.closed = false;
            if let Some(run) = &mut self.record.run {
                run.delivered = last;
            }
            self.agent.save(self.record)?;
            let fields = Map::from_iter([("delivered".to_owned(), Value::from(last))]);
            self.agent.report_run(&id, "report", fields, &format!("deliver-{id}-{last}"))?;
        }
        Ok(last > delivered)
    }

    /// Asks the pack's policy about tool calls that need a permission, and waits for people where it says so.
    fn answer_approvals(&mut self) -> io::Result<()> {
        if self.approvals.is_empty() || Instant::now() < self.next.approvals {
            return Ok(());
        }
        self.next.approvals = Instant::now() + Duration::from_millis(700);
        let asked = self.approvals.len();
        for mut open in std::mem::take(&mut self.approvals) {
            let PendingApproval { id, tool, input, leaves_sandbox, .. } = open.asked.clone();
            let request = RequestAction {
                action: tool,
                arguments: self.agent.arguments_of(input.clone()),
                role: self.agent.role_name(),
                pack: Some(self.agent.pack().to_owned()),
                entity: self.record.entity.as_ref().map(|(lifecycle, id)| format!("{lifecycle}/{id}")),
                unattended: true,
            };
            match self.agent.api().request_action(&request) {
                // Without a policy the sandbox is the limit.
                Err(ApiError::Refused(problem)) if problem.code == "no-policy" => {
                    let denied = leaves_sandbox
                        .then_some("it would leave the sandbox, and the pack has no policy that allows it");
                    self.run.answer(&id, &input, denied)?;
                }
                Err(ApiError::Refused(problem)) => self.run.answer(&id, &input, Some(&problem.detail))?,
                Err(ApiError::Unreachable(_)) => self.approvals.push(open),
                Ok(answer) => match (answer.outcome.as_str(), answer.approval) {
                    ("allow", _) => self.run.answer(&id, &input, None)?,
                    ("approve", Some(approval)) => {
                        if !open.told {
                            self.run.mark(&format!(
                                "waits for approval {}/{}",
                                approval.lifecycle, approval.id
                            ))?;
                            open.told = true;
                        }
                        self.approvals.push(open);
                    }
                    _ => self.run.answer(&id, &input, Some(&answer.why))?,
                },
            }
        }
        self.was_answered |= self.approvals.len() < asked;
        // Waiting for a person is no silence.
        if !self.approvals.is_empty() {
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// Asks an agent whose context is nearly full for its notes, then ends it.
    fn look_at_context(&mut self) -> io::Result<()> {
        if self.ending != Ending::Itself {
            return Ok(());
        }
        match self.handoff_since {
            None if self.run.reader().context_percent().is_some_and(|it| it >= HANDOFF_PERCENT) => {
                self.handoff_since = Some(Instant::now());
                self.run.mark("the context is nearly full: the agent is asked for its handoff notes")?;
                let asked = self.run.steer(HANDOFF_MESSAGE).is_ok();
                if !asked {
                    self.end(Ending::Handoff, "the context is nearly full", None)?;
                }
            }
            Some(since) if since.elapsed() > self.agent.limits.handoff => {
                self.end(Ending::Handoff, "the context is nearly full", None)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn figures(&self) -> Map<String, Value> {
        let reader = self.run.reader();
        let usage = reader.usage();
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        };
        put("model", json!(reader.model()));
        put("session", json!(reader.session()));
        put("input", json!(usage.input));
        put("output", json!(usage.output));
        put("cacheRead", json!(usage.cache_read));
        put("cacheWrite", json!(usage.cache_write));
        put("cost", json!(usage.cost));
        put("context", json!(reader.context_percent()));
        if let Ok(Some(sample)) = self.run.sample() {
            put("processor", json!(sample.cpu));
            put("memory", json!(sample.peak_memory));
        }
        fields
    }

    /// The version of the entity and the commit of the folder.
    fn present_result(&self) -> (Option<u64>, Option<String>) {
        let entity = self.record.entity.as_ref();
        let entity = entity
            .and_then(|(lifecycle, id)| self.agent.api().entity(RequestActor::Agent, lifecycle, id).ok());
        (entity.map(|it| it.version), self.agent.commit_of_folder(self.record))
    }

    /// Whether the entity moved or a commit was made since the last look. That is progress, too.
    fn has_new_result(&mut self) -> bool {
        let present = Some(self.present_result());
        let is_new = self.result != present;
        self.result = present;
        if is_new {
            self.last_progress = Instant::now();
        }
        is_new
    }

    fn report_figures(&mut self) {
        if Instant::now() < self.next.report {
            return;
        }
        self.next.report = Instant::now() + REPORT;
        if self.result.is_none() {
            self.result = Some(self.present_result());
        }
        let Some(run) = self.record.run.clone() else { return };
        let mut fields = self.figures();
        let sample = self.run.sample().ok().flatten();
        if let Some(sample) = &sample {
            let activity = match sample.activity(60_000_000_000) {
                RunActivity::Busy => "busy",
                RunActivity::Waiting => "waiting",
                RunActivity::Silent => "silent",
            };
            fields.insert("activity".to_owned(), json!(activity));
        }
        let doing = match self.doing.is_empty() {
            true => self.run.unfinished_line(),
            false => self.doing.clone(),
        };
        if !doing.is_empty() {
            fields.insert("doing".to_owned(), json!(doing));
        }
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Counted from one moment, so that it is the same at each look.
        let last = self.last_progress.saturating_duration_since(self.begun);
        let last_progress = u64::try_from(last.as_millis()).unwrap_or(u64::MAX);
        let signs = StallSigns {
            now,
            last_progress,
            processor: sample.as_ref().map_or(0, |it| it.cpu),
            started: sample.as_ref().map_or(0, |it| it.started),
            switches: sample.as_ref().map_or(0, |it| it.switches),
            output: sample.as_ref().map_or(0, |it| it.output),
            open_calls: self.open_calls.len() + self.approvals.len(),
        };
        let limit = u64::try_from(self.agent.limits.stall.as_millis()).unwrap_or(u64::MAX);
        let stalled = self.stall.look(signs, limit) && !self.has_new_result();
        let event = if stalled { "stall" } else { "report" };
        // Processor time changes always; a report needs another reason.
        let mut telling = fields.clone();
        telling.remove("processor");
        telling.remove("memory");
        if !stalled && Value::Object(telling.clone()) == self.reported {
            return;
        }
        fields.insert("byGeneration".to_owned(), json!(self.agent.generation));
        let body = TransitionBody { event: Some(event.to_owned()), fields, ..TransitionBody::default() };
        let key = crate::launch::new_uuid();
        match self.agent.api().fire(RequestActor::Runner, "fleet.run", &run.id, &body, &key) {
            Ok(_) => self.reported = Value::Object(telling),
            Err(error) if error.is_refusal() => self.reported = Value::Object(telling),
            // Reported again at the next look.
            Err(_) if stalled => self.stall.repeat(),
            Err(_) => {}
        }
        self.agent.meter(self.record);
    }

    fn finish(mut self, end: RunEnd) -> io::Result<RunResult> {
        let mut result = RunResult {
            class: ExitClass::Crash,
            code: None,
            signal: None,
            text: String::new(),
            resets_at: None,
            ending: self.ending.clone(),
            ended_well: false,
            unkillable: Vec::new(),
        };
        match end {
            RunEnd::Reported { exit, outcome } => {
                result.ended_well = ended_by_itself(&exit) && outcome.class == ExitClass::Ok;
                (result.code, result.signal) = (exit.code, exit.signal);
                (result.class, result.text) = (outcome.class, outcome.text);
                (result.resets_at, result.unkillable) = (outcome.resets_at, exit.unkillable);
            }
            RunEnd::Lost { why, left } => (result.text, result.unkillable) = (why, left),
        }
        // A stop that came too late stopped nothing: the result counts.
        if result.ended_well && matches!(self.ending, Ending::Person(_) | Ending::Told(_) | Ending::Runner) {
            result.ending = Ending::Itself;
        }
        if self.handoff_since.is_some() && matches!(self.ending, Ending::Itself | Ending::Handoff) {
            (result.class, result.ending) = (ExitClass::Context, Ending::Handoff);
            // The notes are its last answer, also if the runner had to end it afterwards.
            if let Some(answer) = self.run.reader().answer().filter(|it| !it.is_empty()) {
                answer.clone_into(&mut result.text);
            }
        }
        let mut fields = self.figures();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        };
        put("exitCode", json!(result.code));
        put("signal", json!(result.signal));
        put("exitClass", json!(result.class));
        if !result.text.is_empty() {
            put("exitText", json!(shortened(&result.text, 3_900)));
        }
        let reset = result.resets_at.and_then(|it| jiff::Timestamp::from_second(it).ok());
        put("resetsAt", json!(reset.map(|it| it.to_string())));
        put("commit", json!(self.agent.commit_of_folder(self.record)));
        if let Ending::Told(why) | Ending::Person(why) | Ending::Over(why) | Ending::Fenced { why, .. } =
            &result.ending
        {
            put("stopReason", json!(shortened(why, 480)));
        }
        self.record.session = self.run.reader().session().map(str::to_owned).or(self.record.session.take());
        self.record.total = self.run.reader().session_total();
        // The lines come first: a reader who sees the end of the run sees all its lines.
        let mut limit = Instant::now() + Duration::from_secs(30);
        self.is_server_away = false;
        let mut is_told = false;
        while !self.agent.is_stopping() {
            match self.upload(true) {
                Upload::Complete => break,
                Upload::Partial => {
                    limit = Instant::now() + Duration::from_secs(30);
                    let _ = self.agent.beat();
                    continue;
                }
                Upload::Later => {}
            }
            if self.is_server_away && !is_told {
                let run = self.record.run.as_ref().map(|it| it.id.clone()).unwrap_or_default();
                (self.agent.say)(&format!(
                    "{run} has ended. Its report waits until the server can be reached"
                ));
                is_told = true;
            }
            if !self.is_server_away && Instant::now() >= limit {
                break;
            }
            let _ = self.agent.beat();
            std::thread::sleep(Duration::from_millis(300));
        }
        if let Some(run) = &self.record.run {
            let id = run.id.clone();
            put_lines(&mut fields, run.next_line);
            if !result.unkillable.is_empty() {
                let evidence = json!(shortened(&result.unkillable.join("; "), 3_900));
                let fields = Map::from_iter([("evidence".to_owned(), evidence)]);
                self.agent.report_run(&id, "resist", fields, &format!("resist-{id}"))?;
                self.outwait_leftovers()?;
            }
            self.agent.report_run(&id, "ended", fields, &format!("ended-{id}"))?;
        }
        self.agent.save(self.record)?;
        Ok(result)
    }

    /// Waits until no process of the run is left: the next one would work in the same folder.
    fn outwait_leftovers(&mut self) -> io::Result<()> {
        while !self.agent.is_stopping() {
            std::thread::sleep(Duration::from_millis(300));
            if self.run.end_leftovers()?.is_empty() {
                break;
            }
            let _ = self.agent.beat();
        }
        Ok(())
    }
}

fn put_lines(fields: &mut Map<String, Value>, next: u64) {
    fields.insert("lines".to_owned(), json!(next.saturating_sub(1)));
}

/// The reason of a stop that was requested, if there is one. The runner learns it from the record's field, not from a
/// state's name.
fn stop_requested(fields: &Map<String, Value>) -> Option<String> {
    let requested = fields.get("stopRequested").and_then(Value::as_bool).unwrap_or(false);
    let reason = fields.get("stopReason").and_then(Value::as_str).unwrap_or("a person stopped it");
    requested.then(|| reason.to_owned())
}

pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const HANDOFF_MESSAGE: &str = "Your context window is nearly full. Stop working now. Write your handoff notes: what you have done and what comes next, in one phrase each, with the handoff event of your task if it has one, else as your answer. Then end. A fresh process reads the notes and goes on.";
