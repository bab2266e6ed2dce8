//! Arguments of `up` and `demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use trackside_lifecycle::time::Span;

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
    /// Reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses or networks, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) trust_proxy: Vec<String>,
    /// Header in which a trusted proxy names the person it authenticated
    #[arg(long, value_name = "NAME", requires_all = ["trust_proxy", "people"])]
    pub(crate) proxy_user_header: Option<String>,
    /// OpenID provider with which people sign in: its issuer URL
    #[arg(long, value_name = "URL", requires_all = ["oidc_client_id", "people"])]
    pub(crate) oidc_issuer: Option<String>,
    /// Client id of this server at the OpenID provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    pub(crate) oidc_client_id: Option<String>,
    /// File with the client secret; leave it out for a public client
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// Scopes to ask for besides openid
    #[arg(long, value_name = "SCOPES", requires = "oidc_issuer", default_value = "email profile")]
    pub(crate) oidc_scopes: String,
    /// Additional CA certificates in PEM for the OpenID provider
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    pub(crate) oidc_ca: Option<PathBuf>,
    /// File with the people who may sign in by OpenID or through the proxy, and their roles
    #[arg(long, value_name = "FILE")]
    pub(crate) people: Option<PathBuf>,
    /// Write an owner's token for scripts and tests to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Largest size of the data folder, such as 20GiB; commands are refused above it [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = byte_size)]
    pub(crate) quota: Option<u64>,
    /// Space of the disk that stays free for recovery; commands are refused below it [default: 256MiB, or 5 % of a small disk]
    #[arg(long, value_name = "SIZE", value_parser = byte_size)]
    pub(crate) min_free: Option<u64>,
    /// Folder for backups that the server makes by itself
    #[arg(long, value_name = "DIR")]
    pub(crate) backup_to: Option<PathBuf>,
    /// Interval of complete backups
    #[arg(long, value_name = "SPAN", default_value = "24h", requires = "backup_to", value_parser = span)]
    pub(crate) backup_every: Duration,
    /// Interval of increments between them [default: no increments]
    #[arg(long, value_name = "SPAN", requires = "backup_to", value_parser = span)]
    pub(crate) backup_increment: Option<Duration>,
    /// Number of complete backups to keep, each with its increments
    #[arg(long, value_name = "COUNT", default_value_t = 7, requires = "backup_to", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) backup_keep: u32,
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
    after_help = "Examples:\n  trackside demo\n  trackside demo packs --once --pace 0\n\nThe team needs git, and nothing else: its agents are shell scripts. Its repository is in a temporary folder, and its server listens on this machine only.\nThe clock of `packs` is advanced manually, so deadlines and leases expire while you watch.\nTo follow along in another terminal: trackside watch --data DIR, with the DIR that the demo prints.\nExits with 1 if something does not go as scripted."
)]
pub(crate) struct DemoArgs {
    /// What to show
    #[arg(value_name = "STORY", default_value = "team")]
    pub(crate) story: DemoChoice,
    /// Pause after each step, up to 60s; 0 for none
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub(crate) pace: String,
    /// Folder to keep; must be new or empty [default: a temporary folder, removed at the end]
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
pub(crate) enum DemoChoice {
    /// Five scripted agents merge ten tasks of a git repository
    Team,
    /// People and agents use every built-in pack
    Packs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockArg {
    /// The system clock
    System,
    /// A clock that only `trackside clock advance` moves
    Manual,
}

/// A number of bytes: `512MiB`, `20GiB`, or plain bytes.
fn byte_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text}: write a size such as 512MiB or 20GiB");
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" | "K" | "k" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "TiB" | "T" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|it| it.checked_mul(factor)).ok_or_else(wrong)
}

/// A span of time that is not zero.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let span = Span::parse(text).and_then(|it| u64::try_from(it.0).ok()).filter(|it| *it > 0);
    span.map(Duration::from_millis).ok_or_else(|| format!("{text}: write a span such as 24h, 90m or 7d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let read = |text| byte_size(text).ok();
        assert_eq!([read("0"), read("12"), read("3KiB")], [Some(0), Some(12), Some(3_072)]);
        assert_eq!([read("20GiB"), read("1TB")], [Some(20 << 30), Some(1_000_000_000_000)]);
        for bad in ["", "GiB", "-1", "1.5GiB", "3 miles", "99999999999TiB"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(span("90m"), Ok(Duration::from_secs(5_400)));
        assert!(span("0s").is_err() && span("soon").is_err());
    }
}
