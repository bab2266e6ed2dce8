//! What can be typed about a project of one's own: its packs, its settings, and the program itself.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{AskArgs, CheckArgs};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside init shop\n\nMakes shop/packs/shop with a lifecycle of five states and a scenario, and a README. Nothing that is there is overwritten."
)]
pub(crate) struct InitArgs {
    /// The folder of the project [default: this one]
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
    /// Lists the packs of the server
    List(PackListArgs),
    /// The same as trackside check
    Check(CheckArgs),
    /// Checks a pack and installs it, beside the versions that entities live by
    Add(PackAddArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PackListArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside pack add packs/shop\n\nA changed pack needs a higher version in its pack.yaml. New entities live by it at once; those there are stay with theirs until trackside migrate moves them."
)]
pub(crate) struct PackAddArgs {
    /// A pack folder
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside settings mission\n         trackside settings mission runBudget:=5\n\nShows each setting with where its value comes from. Values: name=text, name:=json (null for the default), name=@file."
)]
pub(crate) struct SettingsArgs {
    /// A pack, such as mission [default: every pack]
    #[arg(value_name = "PACK")]
    pub(crate) pack: Option<String>,
    /// What a setting becomes
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside completions bash > ~/.local/share/bash-completion/completions/trackside"
)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside man | man -l -\n         trackside man --output ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// Writes a page for every command into this folder
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
