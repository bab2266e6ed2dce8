//! Arguments about packs, settings and the program itself.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{AskArgs, CheckArgs};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside init shop\n\nCreates shop/packs/shop with a lifecycle of five states and a scenario, and a README. Existing files are never overwritten."
)]
pub(crate) struct InitArgs {
    /// Folder of the new project, which is created if it does not exist [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PackArgs {
    #[command(subcommand)]
    pub(crate) command: PackCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PackCommand {
    /// List the packs of the server
    List(PackListArgs),
    /// Check packs; same as `trackside check`
    Check(CheckArgs),
    /// Check a pack and install it on the server; new entities use it at once
    Add(PackAddArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside pack list")]
pub(crate) struct PackListArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside pack add packs/shop\n\nA changed pack needs a higher version in its pack.yaml. New entities use it at once; existing entities keep their version until trackside migrate moves them."
)]
pub(crate) struct PackAddArgs {
    /// Folder of the pack, which contains pack.yaml
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside settings mission\n  trackside settings mission maxComments:=30\n\nShows each setting and where its value comes from. Values: name=text, name:=json (null for the default), name=@file."
)]
pub(crate) struct SettingsArgs {
    /// Pack, such as mission [default: every pack]
    #[arg(value_name = "PACK")]
    pub(crate) pack: Option<String>,
    /// Settings to change
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  source <(trackside completions bash)")]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside man | man -l -\n  trackside man --output ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// Write a page for every command to this folder
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
