//! Tries an adapter on this machine: its sandbox, and a small run of its program.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trackside_shim::{ContainmentTier, SandboxSpec};

use crate::adapter::{AdapterCatalogue, RunOutcome, RunUsage};
use crate::environment::RunEnvironment;
use crate::launch::{self, LaunchError, LaunchSettings, RunIdentity, SessionToResume};
use crate::local_run::{LEASE, LaunchPlan, LocalRun, RunEnd};
use crate::shim_program::ShimProgram;

/// Time between two looks at a run.
const PAUSE: Duration = Duration::from_millis(50);
/// Time between two renewals of the run's lease.
const RENEW: Duration = Duration::from_secs(10);

/// Result of a trial of the sandbox.
#[derive(Clone, Debug)]
pub struct SandboxTrial {
    /// What the sandbox enforces, in words.
    pub enforced: String,
    /// It could not read a file that is hidden from it.
    pub is_tight: bool,
    /// Why the trial failed.
    pub problem: Option<String>,
}

/// Starts a shell in a sandbox that hides a file, and lets it try to read the file. `space` is an empty folder.
pub fn try_sandbox(shim: &ShimProgram, tier: ContainmentTier, space: &Path) -> io::Result<SandboxTrial> {
    let (hidden, work) = (space.join("hidden"), space.join("work"));
    fs::create_dir_all(&hidden)?;
    fs::create_dir_all(&work)?;
    fs::write(hidden.join("secret"), "readable")?;
    let command = AdapterCatalogue::default().find("command").map_err(io::Error::other)?;
    let script = format!("cat {}/secret; echo tried", hidden.display());
    let read = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev"];
    let plan = LaunchPlan {
        run: "sandbox-trial".to_owned(),
        adapter: command.text,
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), script],
        folder: work.clone(),
        prompt: String::new(),
        tier,
        sandbox: Some(SandboxSpec {
            read: read.iter().map(Into::into).collect(),
            write: vec![work],
            hide: vec![hidden],
            keep: Vec::new(),
            own_sandbox: false,
        }),
        earlier: RunUsage::default(),
        resume: None,
        grace: 1,
        limit: Some(20),
    };
    let mut environment = RunEnvironment::default();
    environment.set("PATH", "/usr/bin:/bin");
    let mut run = LocalRun::start(shim, &space.join("run"), plan, &environment)?;
    let enforced =
        |run: &LocalRun| Ok::<_, io::Error>(run.running()?.map(|it| it.sandbox).unwrap_or_default());
    let mut said = String::new();
    let outcome = watch(&mut run, Duration::from_secs(30), &mut |text| said.push_str(text))?;
    let problem = match outcome {
        Some(_) if said.contains("tried") => None,
        Some(outcome) => Some(outcome.text),
        None => Some("the shim ended without a report".to_owned()),
    };
    Ok(SandboxTrial {
        enforced: enforced(&run)?,
        is_tight: problem.is_none() && !said.contains("readable"),
        problem,
    })
}

/// How a small run of an agent program ended.
#[derive(Clone, Debug)]
pub struct ProgramTrial {
    /// `None` if the shim died.
    pub outcome: Option<RunOutcome>,
    pub usage: RunUsage,
    pub session: Option<String>,
    pub model: Option<String>,
    pub sandbox: String,
}

/// Starts the program as a run would start it, with a small task. Approvals are denied. `space` is an empty folder.
pub fn try_program(
    settings: &LaunchSettings,
    shim: &ShimProgram,
    space: &Path,
    limit: Duration,
) -> Result<ProgramTrial, LaunchError> {
    let who = RunIdentity { run: "adapter-trial", agent: "trial", entity: "", url: "", token: "" };
    let task: Value = json!({ "instructions": "Reply with the single word ready. Use no tools." });
    let prepared = launch::prepare(
        settings,
        &who,
        &space.join("space"),
        &space.join("login"),
        &task,
        &SessionToResume::default(),
    )?;
    let mut run = LocalRun::start(shim, &space.join("run"), prepared.plan, &prepared.environment)?;
    let outcome = watch(&mut run, limit, &mut |_| {})?;
    let reader = run.reader();
    Ok(ProgramTrial {
        outcome,
        usage: reader.usage(),
        session: reader.session().map(str::to_owned),
        model: reader.model().map(str::to_owned),
        sandbox: run.running()?.map(|it| it.sandbox).unwrap_or_default(),
    })
}

/// Watches a run to its end: closes its input after its turn, denies what it asks for, stops it at the limit.
fn watch(run: &mut LocalRun, limit: Duration, heard: &mut dyn FnMut(&str)) -> io::Result<Option<RunOutcome>> {
    use crate::adapter::TranscriptContent::{Message, Output};
    use crate::transcript::TranscriptEntry::Agent;
    let until = Instant::now() + limit;
    let mut renewed = Instant::now();
    let (mut is_closed, mut is_stopped) = (false, false);
    loop {
        let progress = run.poll()?;
        for line in &progress.lines {
            if let Agent(Message { text } | Output { text }) = &line.content {
                heard(text);
            }
        }
        for asked in &progress.approvals {
            run.answer(&asked.id, &asked.input, Some("this is only a trial: use no tools"))?;
        }
        match progress.end {
            Some(RunEnd::Reported { outcome, .. }) => return Ok(Some(outcome)),
            Some(RunEnd::Lost { .. }) => return Ok(None),
            None => {}
        }
        if LocalRun::has_ended_its_turn(&progress.lines) && !is_closed {
            is_closed = true;
            run.close_input()?;
        }
        if renewed.elapsed() > RENEW {
            renewed = Instant::now();
            run.renew(LEASE)?;
        }
        if Instant::now() > until && !is_stopped {
            is_stopped = true;
            run.stop("the trial took too long", Some(2))?;
        }
        std::thread::sleep(PAUSE);
    }
}
