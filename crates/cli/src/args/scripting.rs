//! Arguments of the commands for scripts and workers: waiting, effects, artifacts, batches and the policy.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use trackside_lifecycle::time::Span;

use super::{AskArgs, CountArgs, EyesArgs, NoticesArgs, PageArgs, ReachArgs};

/// Reads a span of at most a day.
pub(super) fn patience(text: &str) -> Result<Duration, String> {
    let span = Span::parse(text).ok_or("not a span such as 45s, 5m or 2h")?;
    let wait = Duration::from_millis(u64::try_from(span.0).map_err(|_| "a span is not negative")?);
    if wait > Duration::from_secs(86_400) { Err("at most 24h".to_owned()) } else { Ok(wait) }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside wait mission.approval/T-1.A1 --state APPROVED,DENIED\n\nExits with 1 if the time ran out, or if the entity ended in another state."
)]
pub(crate) struct WaitArgs {
    /// Entity, such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// Wait until it is in this state; separate several with commas [default: until it leaves its state]
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// The longest wait
    #[arg(long, default_value = "5m", value_name = "SPAN", value_parser = patience)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) eyes: EyesArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EffectsArgs {
    #[command(subcommand)]
    pub(crate) command: EffectsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EffectsCommand {
    /// List open effects, the oldest first
    #[command(after_help = "Example:\n  trackside effects list --kind merge")]
    List(EffectsListArgs),
    /// Take open effects, to carry them out
    #[command(
        after_help = "Example:\n  trackside effects take --kind worktree.create --lease 15m\n\nPrints each effect with the fence to answer under. Exits with 1 if there is none to take."
    )]
    Take(EffectsTakeArgs),
    /// Report the result of an effect that you have taken
    #[command(
        after_help = "Example:\n  trackside effects answer 43 --fence 1 --failed detail='no such branch'\n\nFields: name=text, name:=json, name=@file."
    )]
    Answer(EffectsAnswerArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EffectsListArgs {
    /// Only effects of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EffectsTakeArgs {
    /// Only effects of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only effects of this entity
    #[arg(long, value_name = "LIFECYCLE/ID")]
    pub(crate) entity: Option<String>,
    /// How long they are yours; after that, another worker can take those without a result [default: 5m]
    #[arg(long, value_name = "SPAN")]
    pub(crate) lease: Option<String>,
    /// Maximum number of effects
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=200))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EffectsAnswerArgs {
    /// Number of the effect, as shown by `trackside effects list`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Details of the result
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) detail: Vec<String>,
    /// Fence under which you took it
    #[arg(long, value_name = "N")]
    pub(crate) fence: u64,
    /// Report that it failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Idempotency key: repeating the command with the same key has no further effect
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ArtifactArgs {
    #[command(subcommand)]
    pub(crate) command: ArtifactCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Store a file, and print the hash that fields refer to
    #[command(after_help = "Example:\n  trackside artifact put report.md")]
    Put(ArtifactPutArgs),
    /// Fetch a stored file
    #[command(
        after_help = "Example:\n  trackside artifact get e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 --to copy.md"
    )]
    Get(ArtifactGetArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ArtifactPutArgs {
    /// File to store
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ArtifactGetArgs {
    /// Hash of the content: 64 hexadecimal digits
    #[arg(value_name = "SHA256")]
    pub(crate) sha256: String,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  echo '[{\"lifecycle\":\"mission.task\",\"fields\":{\"title\":\"One\"}}]' | trackside batch -\n\nThe file is a JSON list of commands: {lifecycle, id?, fields} creates; with `to` or `event` it moves. Exits with 1 if a command is refused."
)]
pub(crate) struct BatchArgs {
    /// File with the commands; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Carry out all commands or none
    #[arg(long)]
    pub(crate) atomic: bool,
    /// Decide and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) count: CountArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside policy shell command='ls docs' --role specialist --pack mission\n\nExits with 0 if the action is allowed, and with 1 if it needs an approval or is denied. Nothing is requested or recorded.\nArguments: name=text, name:=json, name=@file."
)]
pub(crate) struct PolicyArgs {
    /// Action, such as shell
    #[arg(value_name = "ACTION")]
    pub(crate) action: String,
    /// Arguments of the action
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// Role that would act [default: your own roles]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Pack whose policy decides, if several packs have one
    #[arg(long, value_name = "PACK")]
    pub(crate) pack: Option<String>,
    /// Entity that the action is for: its state may limit the actions
    #[arg(long, value_name = "LIFECYCLE/ID")]
    pub(crate) entity: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AlertsListArgs {
    /// Include resolved alerts
    #[arg(long)]
    pub(crate) resolved: bool,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}
