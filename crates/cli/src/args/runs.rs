//! Arguments of the commands about runs and adapters.

use clap::{Args as ClapArgs, Subcommand};

use super::{AskArgs, PageArgs, ReachArgs};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside runs\n  trackside runs --entity coding.task/T-1 --state RUNNING\n\nA run is one process of an agent. `trackside logs RUN` prints what it said."
)]
pub(crate) struct RunsArgs {
    /// Show this run in detail
    #[arg(value_name = "RUN", conflicts_with_all = ["entity", "agent", "state", "runner", "limit", "all"])]
    pub(crate) run: Option<String>,
    /// Only runs for this entity, such as coding.task/T-1
    #[arg(long, value_name = "LIFECYCLE/ID")]
    pub(crate) entity: Option<String>,
    /// Only runs of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only runs in this state, such as RUNNING
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only runs of this runner
    #[arg(long, value_name = "RUNNER")]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside logs R-1\n  trackside logs R-1 --search error\n  trackside logs R-1 --follow\n\nWith --json, prints one JSON document per line."
)]
pub(crate) struct LogsArgs {
    /// Run, as `trackside runs` lists it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Print new lines as they arrive, until the run has ended
    #[arg(long, short, conflicts_with = "search")]
    pub(crate) follow: bool,
    /// Only lines after this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: u64,
    /// Only lines that contain this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside stop R-1 --reason 'wrong branch'\n\nThe runner ends the process and everything that it started. `trackside runs R-1` shows when that is done."
)]
pub(crate) struct StopArgs {
    /// Run, as `trackside runs` lists it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Reason, recorded with the run
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside attach R-1\n\nWhile you are attached:\n  TEXT              Send a message to the agent; it reads it as soon as it can\n  /interrupt TEXT   Interrupt what the agent does, and send it a message\n  /stop [REASON]    Stop the run\n  /help             Show these commands\nCtrl-C leaves; the run goes on."
)]
pub(crate) struct AttachArgs {
    /// Run, as `trackside runs` lists it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Number of earlier lines to show first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) lines: u64,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AdapterArgs {
    #[command(subcommand)]
    pub(crate) command: AdapterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdapterCommand {
    /// List the adapters, and the agent programs of this machine
    #[command(visible_alias = "ls", after_help = "Example:\n  trackside adapter list")]
    List(AdapterListArgs),
    /// Check that an agent program, its login and its sandbox work
    Check(AdapterCheckArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AdapterListArgs {
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside adapter check command\n\nExits with 1 if a check fails. With --run, the agent program asks its model, which may cost a little."
)]
pub(crate) struct AdapterCheckArgs {
    /// Adapter, or the path of an adapter file [default: every adapter whose program is installed]
    #[arg(value_name = "ADAPTER")]
    pub(crate) name: Option<String>,
    /// Also start the program in its sandbox with a small task
    #[arg(long)]
    pub(crate) run: bool,
    /// Model for --run [default: the program's own choice]
    #[arg(long, value_name = "MODEL", requires = "run")]
    pub(crate) model: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
