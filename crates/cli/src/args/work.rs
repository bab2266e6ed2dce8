//! Arguments of the commands that run agents.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use trackside_shim::ContainmentTier;

use super::ReachArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside work coding.task --agent claude --once\n  trackside work coding.task --agent claude --role code_reviewer --as code-reviewer-2 --once\n  trackside work coding.task --once -- ./fix-it.sh\n\nThe agent gets its task on the way its adapter says, and in the file that TRACKSIDE_TASK_FILE names.\nWithout a terminal, set TRACKSIDE_TOKEN to a token with the role fleet:agent_runner that may act for the agent."
)]
pub(crate) struct WorkArgs {
    /// Lifecycle to take work from, such as coding.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// Adapter of the agent program: claude, codex, or your own [default: command, for a command after --]
    #[arg(long, value_name = "ADAPTER")]
    pub(crate) agent: Option<String>,
    /// Id of the agent [default: its role and 1, such as coder-1]
    #[arg(long = "as", value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Role of the agent [default: the first that the lifecycle has work for]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// End after one task, or at once if there is none
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// Command to run for each task, or the agent program to use instead of the adapter's
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside supervise --role coder --id coder-1 -- ./agent.sh\n\nExit codes of the command: 0 no more work for the role, 42 restart, others crash. The pack's `supervise` rules say what follows.\nThis command exits with 0 when the role is complete, and with 4 if another process has the id."
)]
pub(crate) struct SuperviseArgs {
    /// Role of the agent, such as coder or coding:coder
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: String,
    /// Id of the agent, such as coder-1
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    /// Adapter of the agent program [default: command]
    #[arg(long, value_name = "ADAPTER")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// Command to run
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// How the agent's process is started.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct LaunchArgs {
    /// Folder that the agent works in [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Whether the agent is kept from your other files and credentials [default: on for adapters, off for a command]
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// Environment variable to pass on to the agent; can be repeated
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) variables: Vec<String>,
    /// Further path that a sandboxed agent may write; can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Model that the agent uses [default: the program's own choice]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Account at the model provider; runs of one account share its usage limits [default: the adapter's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Longest time of one run, such as 2h [default: no limit]
    #[arg(long, value_name = "SPAN", value_parser = super::server::span)]
    pub(crate) limit: Option<std::time::Duration>,
    /// Containment tier [default: the strongest that works on this machine]
    #[arg(long, value_name = "TIER", value_parser = containment, hide = true)]
    pub(crate) containment: Option<ContainmentTier>,
}

fn containment(text: &str) -> Result<ContainmentTier, String> {
    ContainmentTier::parse(text).ok_or_else(|| {
        format!("choose one of {}", ContainmentTier::ALL.map(ContainmentTier::name).join(", "))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxMode {
    On,
    Off,
}
