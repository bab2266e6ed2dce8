//! Arguments of `up` and `demo`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::DataArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside up\n\nWrites the address to DIR/address. The owner's credential goes to $XDG_STATE_HOME/trackside/servers (else ~/.local/state/trackside/servers), and commands use it only when a person types them at a terminal."
)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    pub(crate) listen: String,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(crate) public: bool,
    /// Additional host name to accept in requests; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// TLS certificate in PEM; enables TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Seconds to wait for running requests after Ctrl-C or SIGTERM, before they are cut off
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) stop_within: u64,
    /// Storage: this release has only `sqlite`, with its files in the data folder
    #[arg(long, value_name = "URL", default_value = "sqlite")]
    pub(crate) store: String,
    /// Packs to load: built-in packs by name, others by folder, separated by commas [default: all built-in packs]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) packs: Vec<String>,
    /// Source of time: `system`, or `manual`, which stands still until `trackside clock advance` [default: system; a project with a manual clock needs this option]
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// Initial time of the manual clock, unless the project is already later [default: 2026-01-01T00:00:00Z]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Allow webhooks to private addresses and over plain HTTP
    #[arg(long)]
    pub(crate) allow_private_webhooks: bool,
    /// Additional CA certificates in PEM for webhook receivers
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_ca: Option<PathBuf>,
    /// Serve `/metrics` without a token
    #[arg(long)]
    pub(crate) open_metrics: bool,
    /// Write an owner's token for scripts and tests to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Form of the log on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogKind::Text)]
    pub(crate) log: LogKind,
    /// Log level
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Warn)]
    pub(crate) log_level: LogLevel,
    /// Append the log lines that the packs declare to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) pack_log: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogKind {
    /// For people
    Text,
    /// One JSON object per line; does not print the sign-in link
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Failures
    Error,
    /// Conditions that need attention
    Warn,
    /// Every request, and everything above
    Info,
    /// Verbose diagnostics
    Debug,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside demo\n  trackside demo --once --pace 0\n\nScripted agents work through every built-in pack by HTTP, command line and MCP. The server's clock is advanced manually, so deadlines and leases expire while you watch.\nTo follow along in another terminal: trackside watch --data DIR, with the DIR that the demo prints.\nExits with 1 if a step does not go as scripted."
)]
pub(crate) struct DemoArgs {
    /// Pause after each step, up to 60s; 0 for none
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub(crate) pace: String,
    /// Data folder to keep; must be new or empty [default: a temporary folder, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Exit after the last step instead of waiting for Ctrl-C
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockArg {
    /// The system clock
    System,
    /// A clock that only `trackside clock advance` moves
    Manual,
}
