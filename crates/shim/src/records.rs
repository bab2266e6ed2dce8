//! The files of a run folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::tier::ContainmentTier;

/// The variable that names the run, in the environment of each of its processes.
pub const RUN_VARIABLE: &str = "TRACKSIDE_RUN";

/// File `spec`: what to start. Written by the runner. Contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    pub protocol: u32,
    pub run: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The working folder of the agent.
    pub folder: PathBuf,
    pub tier: ContainmentTier,
    pub sandbox: Option<SandboxSpec>,
    /// First deadline of the lease, in nanoseconds of the boot clock. The file `lease` replaces it.
    pub lease: u64,
    /// Milliseconds between TERM and KILL.
    pub grace: u64,
    /// Milliseconds that the run may take.
    pub limit: Option<u64>,
    /// Whether standard input stays open for messages.
    pub steered: bool,
    /// Bytes of one output segment.
    pub segment: u64,
    /// Bytes of output, both streams together, after which the run ends.
    #[serde(default)]
    pub most_output: Option<u64>,
}

/// What a sandboxed run may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Folders and files that appear empty.
    pub hide: Vec<PathBuf>,
    /// What stays visible inside hidden folders.
    #[serde(default)]
    pub keep: Vec<PathBuf>,
    /// The agent has a sandbox of its own, which does not work inside Landlock. Only `hide` and `keep` apply.
    pub own_sandbox: bool,
}

/// The environment of the agent. The runner sends it on the shim's standard input; it is never written to disk.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSecrets {
    pub env: BTreeMap<String, String>,
    /// Values that are removed from the output.
    pub redact: Vec<String>,
}

impl fmt::Debug for RunSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSecrets").field("env", &self.env.keys()).finish_non_exhaustive()
    }
}

/// File `running`: the shim and the agent's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRecord {
    pub protocol: u32,
    pub boot_id: String,
    /// The shim, with its start time in clock ticks after boot.
    pub pid: i32,
    pub start_time: u64,
    pub tier: ContainmentTier,
    /// What the sandbox enforces, in words; empty without a sandbox.
    pub sandbox: String,
    /// The run's cgroup, in the tier that has one.
    pub cgroup: Option<PathBuf>,
}

/// File `stop`: the runner asks the shim to end the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    pub reason: String,
    /// Milliseconds between TERM and KILL, instead of those of the spec.
    pub grace: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitCause {
    /// The agent ended by itself.
    Exit,
    /// The lease lapsed.
    Lease,
    /// The runner asked for it.
    Stop,
    /// The run took longer than its limit.
    Timeout,
    /// The agent wrote more than its limit.
    Output,
    /// The shim got a signal.
    Signal,
    /// The agent could not be started.
    Start,
}

/// File `exit`: how the run ended. No process of the run is left when it exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub cause: ExitCause,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Why the runner stopped it, or why it could not be started.
    pub reason: String,
    /// Bytes written to each stream.
    pub out: u64,
    pub err: u64,
    /// Bytes that could not be written.
    pub lost: u64,
    /// Rounds of KILL until no process was left.
    pub rounds: u32,
    /// Processes that no signal ended, with what they wait for.
    pub unkillable: Vec<String>,
    pub sample: LivenessSample,
}

/// File `beat`: what the run used and when it last did something. Rewritten every ten seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivenessSample {
    /// Boot clock, in nanoseconds.
    pub at: u64,
    /// Bytes of output so far, both streams.
    pub output: u64,
    /// Boot clock of the last output.
    pub last_output: u64,
    /// Processor time of all processes, ended ones included, in milliseconds.
    pub cpu: u64,
    /// Boot clock of the last tick in which the processes used processor time.
    pub last_cpu: u64,
    /// Boot clock of the last tick in which a process was scheduled at all.
    pub last_switch: u64,
    /// Voluntary context switches of living processes.
    pub switches: u64,
    /// Resident memory in bytes: now and at most.
    pub memory: u64,
    pub peak_memory: u64,
    pub processes: u32,
    /// Processes that were seen to start after the first sample.
    #[serde(default)]
    pub started: u64,
}
