//! The shim's own loop.

use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, setsid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::folder::{OutputStream, RunFolder};
use crate::liveness::Sampler;
use crate::process_table::{self, ProcessTable};
use crate::records::{ExitCause, ExitRecord, RUN_VARIABLE, RunSecrets, RunSpec, RunningRecord, StopRequest};
use crate::redaction::Redactor;
use crate::roles::{self, StartPlan};
use crate::segments::{self, OutputCounters, WrittenOutput};
use crate::steering::StdinFeeder;
use crate::termination::{self, TreeEnd};
use crate::tier::{self, ContainmentTier};
use crate::{PROTOCOL, boot_time, sandbox};

const TICK: Duration = Duration::from_millis(200);
const SECOND: u64 = 1_000_000_000;
/// Time between two samples.
const BEAT: u64 = 2 * SECOND;
/// Time that a runner has to renew the lease after the machine was suspended.
const AFTER_SUSPENSION: u64 = 10 * SECOND;
/// Time to wait for the end of the streams after the last process ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs the agent that the folder's spec describes. Returns when no process of the run is left.
pub(crate) fn run(folder: &RunFolder) -> io::Result<u8> {
    // A session of its own: signals for the runner's terminal do not reach the run.
    let _ = setsid();
    let Some(_lock) = folder.lock()? else {
        return Err(io::Error::other("another shim holds this run"));
    };
    if folder.has("running") {
        return Err(io::Error::other("this run was started before"));
    }
    set_child_subreaper(Some(getpid()))?;
    // Other processes of this user cannot read the memory or the environment of the shim.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let spec: RunSpec = folder.read("spec")?.ok_or_else(|| io::Error::other("the run folder has no spec"))?;
    let mut sent = Vec::new();
    io::stdin().read_to_end(&mut sent)?;
    let secrets: RunSecrets = serde_json::from_slice(&sent)?;
    let reserved = folder.reserve_exit()?;
    let signalled = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&signalled))?;
    }
    let record = match Running::start(folder, spec, &secrets) {
        Ok(running) => running.watch(&signalled),
        Err(error) => ExitRecord { reason: error.to_string(), ..nothing(ExitCause::Start) },
    };
    folder.finish(reserved, &record)?;
    Ok(0)
}

fn nothing(cause: ExitCause) -> ExitRecord {
    ExitRecord {
        cause,
        code: None,
        signal: None,
        reason: String::new(),
        out: 0,
        err: 0,
        lost: 0,
        rounds: 0,
        unkillable: Vec::new(),
        sample: crate::records::LivenessSample::default(),
    }
}

struct Running {
    folder: RunFolder,
    spec: RunSpec,
    own: i32,
    agent: Child,
    copies: [JoinHandle<WrittenOutput>; 2],
    counters: Arc<OutputCounters>,
    steering: Option<StdinFeeder>,
    cgroup: Option<std::path::PathBuf>,
    sampler: Sampler,
    began: u64,
}

impl Running {
    fn start(folder: &RunFolder, spec: RunSpec, secrets: &RunSecrets) -> io::Result<Self> {
        if spec.protocol != PROTOCOL {
            return Err(io::Error::other(format!(
                "the runner is of another version of Trackside (protocol {}, the shim has {PROTOCOL}): start it again",
                spec.protocol
            )));
        }
        let own = getpid().as_raw_nonzero().get();
        let cgroup = match spec.tier {
            ContainmentTier::Cgroup => Some(tier::new_cgroup(&spec.run)?),
            _ => None,
        };
        let row =
            process_table::row(own).ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        folder.write(
            "running",
            &RunningRecord {
                protocol: PROTOCOL,
                boot_id: boot_time::boot_id(),
                pid: own,
                start_time: row.start_time,
                tier: spec.tier,
                sandbox: enforced(&spec),
                cgroup: cgroup.clone(),
            },
        )?;
        let plan = StartPlan {
            tier: spec.tier,
            parent: own,
            program: spec.program.clone(),
            args: spec.args.clone(),
            sandbox: spec.sandbox.clone(),
            cgroup: cgroup.clone(),
            status: (spec.tier == ContainmentTier::Pidns).then(|| folder.file("status")),
        };
        let mut agent = roles::command(&plan)?
            .env_clear()
            .envs(&secrets.env)
            // By this variable a runner finds what a killed shim leaves.
            .env(RUN_VARIABLE, &spec.run)
            .current_dir(&spec.folder)
            .stdin(if spec.steered { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        termination::AGENT.store(i32::try_from(agent.id()).unwrap_or(0), Ordering::Relaxed);
        let counters = Arc::new(OutputCounters::default());
        let missing = || io::Error::other("the agent has no output");
        let out = agent.stdout.take().ok_or_else(missing)?;
        let err = agent.stderr.take().ok_or_else(missing)?;
        let redactor = || Redactor::new(&secrets.redact);
        let most = spec.most_output.unwrap_or(u64::MAX);
        let copies = [
            segments::copy(
                out,
                folder.clone(),
                OutputStream::Out,
                (spec.segment, most),
                redactor(),
                Arc::clone(&counters),
            )?,
            segments::copy(
                err,
                folder.clone(),
                OutputStream::Err,
                (spec.segment, most),
                redactor(),
                Arc::clone(&counters),
            )?,
        ];
        let steering = match agent.stdin.take() {
            Some(stdin) => Some(StdinFeeder::start(folder.clone(), stdin)?),
            None => None,
        };
        let began = boot_time::now();
        Ok(Self {
            folder: folder.clone(),
            spec,
            own,
            agent,
            copies,
            counters,
            steering,
            cgroup,
            sampler: Sampler::default(),
            began,
        })
    }

    /// Watches the run until it has ended, and ends its remaining processes.
    fn watch(mut self, signalled: &AtomicBool) -> ExitRecord {
        let mut clock = SuspensionClock::new(boot_time::now(), boot_time::awake());
        let mut beat = 0;
        let (cause, reason, grace) = loop {
            if let Ok(Some(_)) = self.agent.try_wait() {
                break (ExitCause::Exit, String::new(), 0);
            }
            let now = boot_time::now();
            clock.tick(now, boot_time::awake());
            if let Ok(Some(stop)) = self.folder.read::<StopRequest>("stop") {
                break (ExitCause::Stop, stop.reason, stop.grace.unwrap_or(self.spec.grace));
            }
            if signalled.load(Ordering::Relaxed) {
                break (ExitCause::Signal, "the shim got a signal".to_owned(), self.spec.grace);
            }
            if now >= self.lease() && !clock.woke_lately(now) {
                break (ExitCause::Lease, "no runner renewed the lease".to_owned(), self.spec.grace);
            }
            if self
                .spec
                .limit
                .is_some_and(|it| now >= self.began.saturating_add(it.saturating_mul(1_000_000)))
            {
                break (ExitCause::Timeout, "the run took longer than its limit".to_owned(), self.spec.grace);
            }
            if let Some(most) = self.spec.most_output
                && self.counters.bytes.load(Ordering::Relaxed) > most
            {
                break (ExitCause::Output, format!("it wrote more than {most} bytes of output"), 0);
            }
            if let Some(steering) = &mut self.steering {
                steering.poll();
            }
            if now >= beat {
                beat = now + BEAT;
                self.write_beat();
                termination::reap_orphans(self.own);
            }
            thread::sleep(TICK);
        };
        self.finish(cause, reason, Duration::from_millis(grace))
    }

    fn lease(&self) -> u64 {
        self.folder.read("lease").ok().flatten().unwrap_or(self.spec.lease)
    }

    fn write_beat(&mut self) {
        let output = self.counters.bytes.load(Ordering::Relaxed);
        let last = self.counters.last.load(Ordering::Relaxed).max(self.began);
        let sample = self.sampler.take(self.own, output, last);
        let _ = self.folder.write_lightly("beat", &sample);
    }

    fn finish(mut self, cause: ExitCause, reason: String, grace: Duration) -> ExitRecord {
        let output = self.counters.bytes.load(Ordering::Relaxed);
        let sample = self.sampler.take(self.own, output, self.counters.last.load(Ordering::Relaxed));
        let outer = i32::try_from(self.agent.id()).unwrap_or(0);
        let in_namespace = self.spec.tier == ContainmentTier::Pidns;
        // The stage and `init` end by themselves once the agent has ended.
        let ours = |table: &ProcessTable| match in_namespace {
            true => std::iter::once(outer).chain(table.children(outer).map(|it| it.pid)).collect(),
            false => Vec::new(),
        };
        let had_ended = cause != ExitCause::Exit && {
            let table = ProcessTable::read();
            termination::agents(&table, self.own, &ours(&table)).is_empty()
        };
        let TreeEnd { rounds, left } = termination::end_tree(self.own, &ours, grace, self.cgroup.as_deref());
        let status = self.agent.wait().ok();
        let (code, signal) = match in_namespace {
            true => roles::read_status(&self.folder.file("status")).unwrap_or((None, Some(9))),
            false => (status.and_then(|it| it.code()), status.and_then(|it| it.signal())),
        };
        // On a busy machine the agent's end is seen late, when its lease has lapsed, too. Its result counts.
        let (cause, reason) = match had_ended && code.is_some() {
            true => (ExitCause::Exit, String::new()),
            false => (cause, reason),
        };
        if let Some(cgroup) = &self.cgroup {
            let _ = std::fs::remove_dir(cgroup);
        }
        let [out, err] = self.copies.map(drained);
        ExitRecord {
            cause,
            code,
            signal,
            reason,
            out: out.end,
            err: err.end,
            lost: out.lost + err.lost,
            rounds,
            unkillable: left,
            sample,
        }
    }
}

/// Waits for a copying thread. A process that no signal ends can keep a stream open for good.
fn drained(copy: JoinHandle<WrittenOutput>) -> WrittenOutput {
    let until = boot_time::now() + u64::try_from(DRAIN.as_nanos()).unwrap_or(0);
    while !copy.is_finished() && boot_time::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
    if copy.is_finished() { copy.join().unwrap_or_default() } else { WrittenOutput::default() }
}

/// What holds for this run, in words.
fn enforced(spec: &RunSpec) -> String {
    let own_sandbox = spec.sandbox.as_ref().is_some_and(|it| it.own_sandbox);
    let capabilities = if own_sandbox { "no capabilities but CAP_SETFCAP" } else { "no capabilities" };
    let mut parts = vec![capabilities, "no new privileges"];
    if let Some(sandbox) = &spec.sandbox {
        if spec.tier == ContainmentTier::Pidns && !sandbox.hide.is_empty() {
            parts.push("hidden folders");
        }
        match (sandbox.own_sandbox, sandbox::has_landlock()) {
            (true, _) => parts.push("the agent's own sandbox"),
            (false, true) => parts.push("Landlock"),
            (false, false) => parts.push("no Landlock: this kernel does not have it"),
        }
    }
    parts.join(", ")
}

/// Notices that the machine was suspended: the boot clock moved on, the monotonic clock did not.
struct SuspensionClock {
    boot: u64,
    awake: u64,
    woke: Option<u64>,
}

impl SuspensionClock {
    fn new(boot: u64, awake: u64) -> Self {
        Self { boot, awake, woke: None }
    }

    fn tick(&mut self, boot: u64, awake: u64) {
        let asleep = boot.saturating_sub(self.boot).saturating_sub(awake.saturating_sub(self.awake));
        if asleep > SECOND {
            self.woke = Some(boot);
        }
        (self.boot, self.awake) = (boot, awake);
    }

    fn woke_lately(&self, now: u64) -> bool {
        self.woke.is_some_and(|it| now < it + AFTER_SUSPENSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_has_ten_seconds_to_renew_after_the_machine_was_suspended() {
        let (mut boot, mut awake) = (50 * SECOND, 40 * SECOND);
        let mut clock = SuspensionClock::new(boot, awake);
        let mut pass = |clock: &mut SuspensionClock, asleep: u64| {
            (boot, awake) = (boot + SECOND / 5 + asleep, awake + SECOND / 5);
            clock.tick(boot, awake);
            clock.woke_lately(boot)
        };
        assert!((0..1_000).all(|_| !pass(&mut clock, 0)), "a lease that ends while the machine runs is over");
        assert!(pass(&mut clock, 3_600 * SECOND), "an hour asleep");
        assert!((0..49).all(|_| pass(&mut clock, 0)), "nearly ten seconds");
        assert!((0..100).all(|_| !pass(&mut clock, 0)), "then the lease counts");
    }
}
