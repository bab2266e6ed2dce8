//! Arguments about messages to people.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{AskArgs, NoticesArgs};

#[derive(Debug, ClapArgs)]
pub(crate) struct AudienceArgs {
    #[command(subcommand)]
    pub(crate) command: AudienceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AudienceCommand {
    /// List audiences with their members and addresses
    List(AudienceListArgs),
    /// Set who an audience is, and where its messages go
    Set(AudienceSetArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside audience list")]
pub(crate) struct AudienceListArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside audience set operator audience.yaml\n\nThe file names members and addresses:\n  members: [ada, role:mission:lead]\n  addresses:\n    phone: { channel: ntfy, person: ada, values: { topic: TOPIC } }\n\nThe values of an address are stored by the server outside its journal, and are not shown again. Without `values`, an address keeps those that it has.\nOther keys: lifecycles, alerts, notifications, escalate_after, digest, quiet."
)]
pub(crate) struct AudienceSetArgs {
    /// Name of the audience
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// YAML file with members and addresses; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DeliveryArgs {
    #[command(subcommand)]
    pub(crate) command: DeliveryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveryCommand {
    /// List messages and what became of them
    List(DeliveryListArgs),
    /// Send a test message to the addresses of an audience
    Test(DeliveryTestArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside delivery list --state FAILED")]
pub(crate) struct DeliveryListArgs {
    /// Only deliveries in this state
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside delivery test operator\n\nExits with 1 if an address does not accept the message."
)]
pub(crate) struct DeliveryTestArgs {
    /// Name of the audience
    #[arg(value_name = "AUDIENCE")]
    pub(crate) audience: String,
    /// Only this address
    #[arg(long, value_name = "NAME")]
    pub(crate) address: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
