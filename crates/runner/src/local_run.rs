//! One run on this machine: started through a shim, read, steered, stopped, and adopted after a restart of the runner.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trackside_shim::folder::OutputStream;
use trackside_shim::{
    ContainmentTier, ExitRecord, LivenessSample, PROTOCOL, RunFolder, RunSecrets, RunSpec, RunningRecord,
    SandboxSpec, StopRequest, boot_time, end_leftovers,
};

use crate::adapter::{
    AdapterDefinition, AdapterReader, PendingApproval, PromptPlace, RunOutcome, RunUsage, STAYED,
    TranscriptContent, Transport, ended_by_itself,
};
use crate::app_server::{AppServerConversation, ConversationRules, SessionView};
use crate::environment::RunEnvironment;
use crate::foreign_run;
use crate::shim_program::ShimProgram;
use crate::template;
use crate::transcript::{TranscriptEntry, TranscriptLine, TranscriptWriter, read_after};

/// Bytes of output that are read at once.
const PORTION: usize = 256 << 10;
/// How long one look at the output takes at most. An agent that writes faster than it is read cannot keep the runner from
/// its leases and from stopping it.
const READ_TIME: Duration = Duration::from_millis(100);
/// Bytes of a line that has no end after which what a terminal would have overwritten is dropped. Without such a part, the
/// whole line is left out.
const LONGEST_LINE: usize = 16 << 20;
/// Unread bytes of a run that was ended, after which only the last [`PORTION`] is read.
const MOST_BACKLOG: u64 = 1 << 20;
/// Bytes of a transcript on this machine. Later lines are read, but not kept.
const MOST_TRANSCRIPT: u64 = 256 << 20;
/// Bytes of the last standard error that decide about the outcome.
const ERROR_TAIL: usize = 64 * 1024;
/// How long the runner waits for the record of a shim that it has started.
const SHIM_START: Duration = Duration::from_secs(2);
/// Nanoseconds that an agent lives on without its runner.
pub const LEASE: u64 = 60_000_000_000;

/// What to start. Contains no secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchPlan {
    pub run: String,
    /// The text of the adapter file, so that a newer one does not change how this run is read.
    pub adapter: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub folder: PathBuf,
    pub prompt: String,
    pub tier: ContainmentTier,
    pub sandbox: Option<SandboxSpec>,
    /// Totals of the session that the run resumes.
    pub earlier: RunUsage,
    /// The session to resume, for a program that opens sessions by request.
    #[serde(default)]
    pub resume: Option<String>,
    /// Seconds between TERM and KILL.
    pub grace: u64,
    /// Seconds that the run may take.
    pub limit: Option<u64>,
}

/// What happened since the last look.
#[derive(Debug, Default)]
pub struct RunProgress {
    pub lines: Vec<TranscriptLine>,
    /// Tool calls that began to wait for a permission. After an adoption, all that still wait.
    pub approvals: Vec<PendingApproval>,
    /// Set when the run has ended and everything was read.
    pub end: Option<RunEnd>,
}

#[derive(Clone, Debug)]
pub enum RunEnd {
    /// The shim reported how it ended.
    Reported { exit: Box<ExitRecord>, outcome: RunOutcome },
    /// Nobody reports how it ended. `left` are its processes that no signal ended.
    Lost { why: String, left: Vec<String> },
}

#[derive(Debug)]
pub struct LocalRun {
    pub plan: LaunchPlan,
    folder: RunFolder,
    adapter: AdapterDefinition,
    reader: AdapterReader,
    transcript: TranscriptWriter,
    read: u64,
    line: Vec<u8>,
    /// The rest of the line is left out: it is too long.
    is_too_long: bool,
    /// The transcript has its largest size.
    is_full: bool,
    /// When the program last wrote a line.
    last_line: Instant,
    /// When its standard input was closed.
    closed: Option<Instant>,
    /// Agent's lines that the transcript has from before a restart.
    known: u64,
    messages: u64,
    /// Of a program with the transport `app-server`.
    conversation: Option<AppServerConversation>,
    /// Approvals that `poll` has returned.
    asked: BTreeSet<String>,
    answered: BTreeSet<String>,
    opened: Instant,
    /// Since when the program has said only that it waits for the network.
    network_lost: Option<Instant>,
    is_stopped: bool,
    /// Why the run cannot be adopted.
    foreign: Option<String>,
}

impl LocalRun {
    /// Creates the run folder and starts the shim.
    pub fn start(
        shim: &ShimProgram,
        folder: &Path,
        plan: LaunchPlan,
        environment: &RunEnvironment,
    ) -> io::Result<Self> {
        Self::start_with_lease(shim, folder, plan, environment, LEASE)
    }

    /// Starts a run that ends after this many nanoseconds unless it is renewed.
    pub fn start_with_lease(
        shim: &ShimProgram,
        folder: &Path,
        plan: LaunchPlan,
        environment: &RunEnvironment,
        lease: u64,
    ) -> io::Result<Self> {
        let run_folder = RunFolder::new(folder);
        run_folder.create()?;
        let mut run = Self::open(run_folder, plan)?;
        run.folder.write("plan", &run.plan)?;
        let steered = matches!(run.adapter.transport, Transport::DuplexLines | Transport::AppServer);
        let spec = RunSpec {
            protocol: PROTOCOL,
            run: run.plan.run.clone(),
            program: run.plan.program.clone(),
            args: run.plan.args.clone(),
            folder: run.plan.folder.clone(),
            tier: run.plan.tier,
            sandbox: run.plan.sandbox.clone(),
            lease: boot_time::now() + lease.min(LEASE),
            grace: run.plan.grace.saturating_mul(1_000),
            limit: run.plan.limit.map(|it| it.saturating_mul(1_000)),
            steered,
            segment: 8 << 20,
            most_output: Some(run.adapter.limits.output),
        };
        run.folder.write("spec", &spec)?;
        if run.adapter.start.prompt == PromptPlace::Message {
            let prompt = run.plan.prompt.clone();
            run.steer(&prompt)?;
        }
        let mut process = Command::new(&shim.path)
            .args(&shim.role)
            .arg("run")
            .arg(run.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(fs::File::create(run.folder.file("shim.log"))?)
            .spawn()?;
        let secrets = RunSecrets { env: environment.variables.clone(), redact: environment.secrets.clone() };
        if let Some(mut stdin) = process.stdin.take() {
            stdin.write_all(&serde_json::to_vec(&secrets)?)?;
        }
        // Waits for the shim, so that it does not stay as a zombie of a runner that lives for weeks.
        std::thread::Builder::new().name("shim".to_owned()).spawn(move || process.wait())?;
        run.mark("started")?;
        Ok(run)
    }

    /// Opens the run of an earlier runner. Reads its output again, and adds the missing lines to the transcript.
    /// A run whose folder this version cannot read is ended.
    pub fn adopt(folder: &Path) -> io::Result<Self> {
        let folder = RunFolder::new(folder);
        let plan = folder.read("plan")?.ok_or_else(|| io::Error::other("the folder contains no run"))?;
        let mut run = Self::open(folder, plan)?;
        run.foreign = foreign_run::end_foreign_run(&run.folder, Duration::from_secs(run.plan.grace))?;
        if let Some(why) = run.foreign.clone() {
            run.mark(&why)?;
            return Ok(run);
        }
        let mut after = 0;
        loop {
            let lines = read_after(&run.transcript_folder(), after, 10_000)?;
            let Some(last) = lines.last() else { break };
            after = last.number;
            run.known +=
                lines.iter().filter(|it| matches!(it.content, TranscriptEntry::Agent(_))).count() as u64;
        }
        run.messages = run.next_message()?;
        run.closed = run.folder.has("in/close").then(Instant::now);
        run.answered = run.folder.read("answered")?.unwrap_or_default();
        if run.conversation.is_some() {
            run.conversation = Some(run.folder.read("conversation")?.unwrap_or_default());
            run.write_outgoing()?;
        }
        run.mark("adopted by a new runner")?;
        Ok(run)
    }

    fn open(folder: RunFolder, plan: LaunchPlan) -> io::Result<Self> {
        let adapter = AdapterDefinition::parse(&plan.adapter).map_err(io::Error::other)?;
        let transcript = TranscriptWriter::open(&folder.file("transcript"))?;
        let reader = AdapterReader::new(adapter.clone(), plan.earlier).resuming(plan.resume.as_deref());
        let conversation = adapter.handshake.is_some().then(AppServerConversation::default);
        Ok(Self {
            plan,
            folder,
            adapter,
            reader,
            transcript,
            read: 0,
            line: Vec::new(),
            is_too_long: false,
            is_full: false,
            last_line: Instant::now(),
            closed: None,
            known: 0,
            messages: 0,
            conversation,
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
            opened: Instant::now(),
            network_lost: None,
            is_stopped: false,
            foreign: None,
        })
    }

    pub fn transcript_folder(&self) -> PathBuf {
        self.folder.file("transcript")
    }

    pub fn reader(&self) -> &AdapterReader {
        &self.reader
    }

    pub fn is_alive(&self) -> bool {
        self.folder.is_alive()
    }

    /// What the shim recorded about itself; `None` before it started.
    pub fn running(&self) -> io::Result<Option<RunningRecord>> {
        self.folder.read("running")
    }

    /// The end of the output after its last whole line, such as a spinner.
    pub fn unfinished_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.line);
        let shown = text.rsplit('\r').find(|it| !it.trim().is_empty()).unwrap_or_default();
        shown.chars().filter(|it| !it.is_control()).take(300).collect()
    }

    /// What holds for the processes of the run, once its shim has said so.
    pub fn enforced(&self) -> Option<String> {
        let limit = Instant::now() + SHIM_START;
        loop {
            if let Ok(Some(RunningRecord { sandbox, .. })) = self.folder.read("running") {
                return Some(sandbox);
            }
            if Instant::now() >= limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn sample(&self) -> io::Result<Option<LivenessSample>> {
        self.folder.read("beat")
    }

    /// Lets the run live for another lease, at most until the server's deadline.
    pub fn renew(&self, nanoseconds_left: u64) -> io::Result<()> {
        self.folder.write("lease", &(boot_time::now() + nanoseconds_left.min(LEASE)))
    }

    pub fn stop(&mut self, reason: &str, grace: Option<u64>) -> io::Result<()> {
        self.is_stopped = true;
        self.mark(&format!("stopped: {reason}"))?;
        self.folder.write(
            "stop",
            &StopRequest { reason: reason.to_owned(), grace: grace.map(|it| it.saturating_mul(1_000)) },
        )
    }

    /// Adds a line of our own to the transcript.
    pub fn mark(&mut self, text: &str) -> io::Result<()> {
        self.transcript.append(now(), TranscriptEntry::Mark { mark: text.to_owned() }).map(|_| ())
    }

    /// Sends a message to the agent.
    pub fn steer(&mut self, text: &str) -> io::Result<()> {
        if let Some(conversation) = &mut self.conversation {
            conversation.say(text);
            return self.converse();
        }
        let template = self.adapter.steer.as_ref().map(|it| it.message.clone());
        self.send(template, &BTreeMap::from([("text", Value::from(text))]))
    }

    /// Interrupts the current turn; the agent then waits for the next message.
    pub fn interrupt(&mut self) -> io::Result<()> {
        if let Some(conversation) = &mut self.conversation {
            conversation.interrupt();
            return self.converse();
        }
        let template = self.adapter.steer.as_ref().and_then(|it| it.interrupt.clone());
        self.send(template, &BTreeMap::new())
    }

    /// Answers a request for permission. `input` replaces the input of the tool call where the program supports it.
    /// A request that the agent withdrew is not answered.
    pub fn answer(&mut self, id: &str, input: &Value, denied: Option<&str>) -> io::Result<()> {
        let Some(asked) = self.reader.take_approval(id) else {
            return self.mark(&format!("approval {id} is no longer asked for"));
        };
        let steer = self.adapter.steer.as_ref();
        let template = match denied {
            Some(_) => asked.deny.or_else(|| steer.and_then(|it| it.deny.clone())),
            None => asked.allow.or_else(|| steer.and_then(|it| it.allow.clone())),
        };
        let reason = Value::from(denied.unwrap_or_default());
        let input = if input.is_null() { asked.input } else { input.clone() };
        self.send(
            template,
            &BTreeMap::from([("id", asked.original_id), ("input", input), ("reason", reason)]),
        )?;
        self.answered.insert(id.to_owned());
        self.folder.write("answered", &self.answered)?;
        match denied {
            Some(why) => self.mark(&format!("{} was denied: {why}", asked.tool)),
            None => self.mark(&format!("{} was allowed", asked.tool)),
        }
    }

    /// Closes standard input: the agent finishes its turn and ends. Messages that wait are sent before.
    pub fn close_input(&mut self) -> io::Result<()> {
        match &mut self.conversation {
            Some(conversation) => {
                conversation.close();
                self.converse()
            }
            None => self.close_stream(),
        }
    }

    fn close_stream(&mut self) -> io::Result<()> {
        self.closed = Some(Instant::now());
        self.folder.write_bytes("in/close", b"")
    }

    /// Sends what the conversation says next.
    fn converse(&mut self) -> io::Result<()> {
        let (Some(conversation), Some(handshake), Some(steer)) =
            (&mut self.conversation, &self.adapter.handshake, &self.adapter.steer)
        else {
            return Ok(());
        };
        let folder = self.plan.folder.display().to_string();
        let rules =
            ConversationRules { handshake, steer, folder: &folder, resume: self.plan.resume.as_deref() };
        let view = SessionView { session: self.reader.session(), turn: self.reader.turn() };
        let next = conversation.advance(&rules, view);
        for line in &next.lines {
            self.messages += 1;
            conversation.outgoing.insert(self.messages, format!("{line}\n"));
        }
        self.save_conversation()?;
        if next.close && !self.folder.has("in/close") {
            self.close_stream()?;
        }
        Ok(())
    }

    /// Saves the conversation with the lines that are to be written, then writes them.
    fn save_conversation(&mut self) -> io::Result<()> {
        let Some(conversation) = &mut self.conversation else { return Ok(()) };
        if conversation.take_changed() {
            self.folder.write("conversation", conversation)?;
        }
        self.write_outgoing()
    }

    /// A line that was written before a crash is not written again: its file says so in each of its stages.
    fn write_outgoing(&mut self) -> io::Result<()> {
        let Some(conversation) = &mut self.conversation else { return Ok(()) };
        for (number, line) in std::mem::take(&mut conversation.outgoing) {
            let is_written =
                ["", ".taken", ".done"].iter().any(|it| self.folder.has(&format!("in/{number}{it}")));
            if !is_written {
                self.folder.write_bytes(&format!("in/{number}"), line.as_bytes())?;
            }
            self.messages = self.messages.max(number);
        }
        Ok(())
    }

    fn send(&mut self, template: Option<Value>, values: &BTreeMap<&str, Value>) -> io::Result<()> {
        let Some(template) = template else {
            return Err(io::Error::other(format!("{} takes no messages while it runs", self.adapter.about)));
        };
        let number = self.messages + 1;
        let mut values = values.clone();
        values.entry("id").or_insert_with(|| Value::from(format!("trackside-{number}")));
        let mut line = template::fill(&template, &values).to_string();
        line.push('\n');
        self.folder.write_bytes(&format!("in/{number}"), line.as_bytes())?;
        self.messages = number;
        Ok(())
    }

    fn next_message(&self) -> io::Result<u64> {
        let names = fs::read_dir(self.folder.file("in"))?.flatten();
        let number = |it: fs::DirEntry| it.file_name().to_str()?.split('.').next()?.parse::<u64>().ok();
        Ok(names.filter_map(number).max().unwrap_or(0))
    }

    /// Reads what the agent has written since the last call.
    pub fn poll(&mut self) -> io::Result<RunProgress> {
        if let Some(why) = self.foreign.clone() {
            let end = Some(RunEnd::Lost { why, left: self.end_leftovers()? });
            return Ok(RunProgress { end, ..RunProgress::default() });
        }
        // Looked at before the output: what the agent wrote before its end is then read below.
        let mut exit: Option<ExitRecord> = self.folder.read("exit")?;
        let alive = exit.is_none() && (self.is_starting()? || self.folder.is_alive());
        if exit.is_none() && !alive {
            // The shim may have ended between the two looks.
            exit = self.folder.read("exit")?;
        }
        let mut progress = RunProgress::default();
        if let Some(exit) = exit.as_ref().filter(|it| !ended_by_itself(it)) {
            self.leave_out_backlog(exit.out, &mut progress)?;
        }
        let until = Instant::now() + READ_TIME;
        let is_all_read = loop {
            let bytes = self.folder.read_stream(OutputStream::Out, self.read, PORTION)?;
            if bytes.is_empty() {
                break true;
            }
            self.take_output(&bytes, &mut progress)?;
            if Instant::now() >= until {
                break false;
            }
        };
        if exit.is_none() && alive {
            self.converse()?;
            self.enforce_limits()?;
        }
        for asked in self.reader.approvals() {
            if !self.answered.contains(&asked.id) && self.asked.insert(asked.id.clone()) {
                progress.approvals.push(asked.clone());
            }
        }
        if is_all_read && (exit.is_some() || !alive) {
            let line = std::mem::take(&mut self.line);
            self.read_line(&line, &mut progress)?;
            progress.end = Some(match exit {
                Some(exit) => {
                    let outcome = RunOutcome::of(&self.reader, &exit, &self.error_tail(exit.err)?);
                    RunEnd::Reported { exit: Box::new(exit), outcome }
                }
                None => RunEnd::Lost { why: "Its shim was killed".to_owned(), left: self.end_leftovers()? },
            });
        }
        if !progress.lines.is_empty() || progress.end.is_some() {
            self.transcript.sync()?;
        }
        Ok(progress)
    }

    /// Ends the processes that a killed shim left. Returns those that no signal ended.
    pub fn end_leftovers(&self) -> io::Result<Vec<String>> {
        end_leftovers(&self.folder)
    }

    /// A run that was ended while it wrote faster than it was read ends now, and not after minutes of reading.
    fn leave_out_backlog(&mut self, end: u64, progress: &mut RunProgress) -> io::Result<()> {
        if end.saturating_sub(self.read) <= MOST_BACKLOG {
            return Ok(());
        }
        let from = end - PORTION as u64;
        let text = format!("{} bytes of output are left out", from - self.read);
        // The reading continues in the middle of a line.
        (self.read, self.line, self.is_too_long) = (from, Vec::new(), true);
        self.add(TranscriptContent::Warning { text }, progress)
    }

    fn take_output(&mut self, bytes: &[u8], progress: &mut RunProgress) -> io::Result<()> {
        for part in bytes.split_inclusive(|it| *it == b'\n') {
            self.read += part.len() as u64;
            let ends = part.ends_with(b"\n");
            if self.is_too_long {
                self.is_too_long = !ends;
                continue;
            }
            self.line.extend_from_slice(part);
            if ends {
                let line = std::mem::take(&mut self.line);
                self.read_line(&line, progress)?;
            } else if self.line.len() > LONGEST_LINE {
                match self.line.iter().rposition(|it| *it == b'\r') {
                    Some(end) => drop(self.line.drain(..=end)),
                    None => {
                        (self.line, self.is_too_long) = (Vec::new(), true);
                        let text = format!("a line of more than {LONGEST_LINE} bytes is left out");
                        self.add(TranscriptContent::Warning { text }, progress)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends a program that says nothing at all, waits for the network without an end, or stays after its last answer.
    fn enforce_limits(&mut self) -> io::Result<()> {
        if self.is_stopped || self.adapter.transport == Transport::Plain {
            return Ok(());
        }
        let limits = self.adapter.limits.clone();
        self.network_lost =
            self.reader.waits_for_network().then(|| self.network_lost.unwrap_or_else(Instant::now));
        if self.network_lost.is_some_and(|it| it.elapsed().as_secs() >= limits.network) {
            return self.stop(&format!("it has had no network for {} s", limits.network), None);
        }
        let is_silent = |since: Instant| since.max(self.last_line).elapsed().as_secs() >= limits.closing;
        if self.closed.is_some_and(is_silent) {
            return self.stop(STAYED, None);
        }
        if self.read == 0 && self.opened.elapsed().as_secs() >= limits.startup {
            return self.stop(&format!("it has said nothing in its first {} s", limits.startup), None);
        }
        Ok(())
    }

    /// The shim takes its lock a moment after it was started.
    fn is_starting(&self) -> io::Result<bool> {
        if self.folder.has("running") {
            return Ok(false);
        }
        let age = fs::metadata(self.folder.file("spec"))?.modified()?.elapsed().unwrap_or_default();
        Ok(age.as_secs() < 10)
    }

    fn read_line(&mut self, line: &[u8], progress: &mut RunProgress) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let contents = self.reader.read_line(&text);
        self.hear(&text, &contents)?;
        self.last_line = Instant::now();
        for content in contents {
            self.add(content, progress)?;
        }
        Ok(())
    }

    /// Adds a line of the agent to the transcript, unless it is there from before a restart.
    fn add(&mut self, content: TranscriptContent, progress: &mut RunProgress) -> io::Result<()> {
        if self.known > 0 {
            self.known -= 1;
            return Ok(());
        }
        let content = TranscriptEntry::Agent(content);
        if self.transcript.bytes() < MOST_TRANSCRIPT {
            progress.lines.push(self.transcript.append(now(), content)?);
            return Ok(());
        }
        if !self.is_full {
            self.is_full = true;
            self.mark(&format!(
                "the transcript has {MOST_TRANSCRIPT} bytes on this machine: later lines are left out"
            ))?;
        }
        progress.lines.push(TranscriptLine { number: self.transcript.last(), at: now(), content });
        Ok(())
    }

    /// Passes a message of the program to the conversation, unless it was passed before a restart.
    fn hear(&mut self, line: &str, contents: &[TranscriptContent]) -> io::Result<()> {
        let Some(conversation) = &mut self.conversation else { return Ok(()) };
        let end = self.read - self.line.len() as u64;
        if end <= conversation.read {
            return Ok(());
        }
        conversation.read = end;
        let Ok(message) = serde_json::from_str::<Value>(line) else { return Ok(()) };
        let is_approval = contents.iter().any(|it| matches!(it, TranscriptContent::Approval { .. }));
        let ends_turn = contents.iter().any(|it| matches!(it, TranscriptContent::End { .. }));
        if let Some(refusal) = conversation.read(&message, is_approval, ends_turn) {
            self.messages += 1;
            conversation.outgoing.insert(self.messages, format!("{refusal}\n"));
            self.save_conversation()?;
        }
        Ok(())
    }

    /// The last part of standard error.
    pub fn error_tail(&self, end: u64) -> io::Result<String> {
        let from = end.saturating_sub(ERROR_TAIL as u64);
        let mut tail = Vec::new();
        loop {
            let part = self.folder.read_stream(OutputStream::Err, from + tail.len() as u64, ERROR_TAIL)?;
            if part.is_empty() || tail.len() > ERROR_TAIL {
                return Ok(String::from_utf8_lossy(&tail).into_owned());
            }
            tail.extend(part);
        }
    }

    /// A turn has ended, so a steered program waits for its next message.
    pub fn has_ended_its_turn(lines: &[TranscriptLine]) -> bool {
        lines.iter().any(|it| matches!(it.content, TranscriptEntry::Agent(TranscriptContent::End { .. })))
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
