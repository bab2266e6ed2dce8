//! What can be typed to start a server and to speak to one.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::DataArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside up\n\nNothing else is needed. The address is written to DIR/address and the owner's token to DIR/token."
)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    pub(crate) listen: String,
    /// Listens where others can reach it too, not only programs on this machine
    #[arg(long)]
    pub(crate) public: bool,
    /// Another name under which it is reached; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// A certificate in PEM: it speaks TLS then
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Seconds that requests under way may take once it is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) stop_within: u64,
    /// Where it is kept: `sqlite` inside the data folder
    #[arg(long, value_name = "URL", default_value = "sqlite")]
    pub(crate) store: String,
    /// Packs to load: built-in ones by name, others by folder, with commas between them [default: all built-in ones]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) packs: Vec<String>,
    /// By which clock it goes [default: system; a project whose clock was moved by hand must be told which]
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockKind>,
    /// Where the manual clock stands at first, if the project is not further already [default: 2026-01-01T00:00:00Z]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Webhooks may lead to this machine and its own networks, and be spoken to without TLS
    #[arg(long)]
    pub(crate) allow_private_webhooks: bool,
    /// Certificates in PEM that receivers of webhooks may be signed by, beside those that browsers trust
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_ca: Option<PathBuf>,
    /// `/metrics` needs no token
    #[arg(long)]
    pub(crate) open_metrics: bool,
    /// In which form it says what happens, on stderr
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogKind::Text)]
    pub(crate) log: LogKind,
    /// How much it says
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Warn)]
    pub(crate) log_level: LogLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogKind {
    /// For people
    Text,
    /// An object per line, for programs; the sign-in link is not shown then
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// What should not happen
    Error,
    /// What somebody should look at
    Warn,
    /// Every request
    Info,
    /// What is only of use when looking for something
    Debug,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside demo\n         trackside watch --data DIR     in another terminal; the demo tells which DIR\n\nScripted agents work through every pack that comes with the program, by HTTP, by the command line and by MCP. The clock of this server is moved by hand, so that deadlines and leases run out while you watch. Exits with 1 if a step did not go as scripted."
)]
pub(crate) struct DemoArgs {
    /// How long a step is shown, up to 60s; 0 does not wait
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub(crate) pace: String,
    /// Keeps the project in this folder, which must be new or empty [default: a scratch folder, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Ends after the story instead of waiting for Ctrl-C
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockKind {
    /// The machine's
    System,
    /// Stands still until `trackside clock advance` moves it
    Manual,
}
