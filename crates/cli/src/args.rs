//! What can be typed.

mod client;
mod exchange;
mod folder;
mod mcp;
mod project;
mod server;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
pub(crate) use client::*;
pub(crate) use exchange::*;
pub(crate) use folder::*;
pub(crate) use mcp::*;
pub(crate) use project::*;
pub(crate) use server::*;

/// The control plane for teams of AI agents: agents drive, Trackside keeps the line clear.
#[derive(Debug, Parser)]
#[command(
    name = "trackside",
    version,
    about,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Colours are left out where NO_COLOR is set.\nStart with: trackside up\nExit codes: 0 done, 1 refused or a check failed, 2 wrong usage, 3 cannot reach the server or store, 4 not permitted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Starts the server
    Up(UpArgs),
    /// Lets a small scripted team work through every pack, on a server of its own
    Demo(DemoArgs),
    /// Makes a folder with a small pack to start from
    Init(InitArgs),
    /// Creates an entity
    New(NewArgs),
    /// Asks for a transition or an event of an entity
    Fire(FireArgs),
    /// Takes the next entity that can be claimed
    Claim(ClaimArgs),
    /// Extends a lease
    Heartbeat(HeartbeatArgs),
    /// Tells a coding agent whether it may do what it is about to do
    Hook(HookArgs),
    /// Sets an entity right outside its edges, loudly
    Correct(CorrectArgs),
    /// Shows an entity
    Show(ShowArgs),
    /// Lists entities of a lifecycle
    List(ListArgs),
    /// Tells what happened to an entity
    History(HistoryArgs),
    /// Tells why an entity is not moving, who must act, and what happens next
    Explain(ExplainArgs),
    /// Shows a lifecycle live: how many are where, what happened last, what is overdue
    Watch(WatchArgs),
    /// Speaks MCP over standard input and output, for coding agents
    Mcp(McpArgs),
    /// Prints the journal in order
    Journal(JournalArgs),
    /// Asks a named question of a pack
    Query(QueryArgs),
    /// Lists lifecycles, or tells what one is made of
    Lifecycles(LifecyclesArgs),
    /// Tells how many are in each state, and for how long
    Stats(StatsArgs),
    /// Lists requests that wait for a person, and decides on them
    Approvals(ApprovalsArgs),
    /// Lists what was said about an entity
    Messages(MessagesArgs),
    /// Lists what was told to whom
    Notifications(NotificationsArgs),
    /// Lists what was raised for people to look at, and says that it is seen, or seen to
    Alerts(AlertsArgs),
    /// Lists invariants that were found broken
    Violations(NoticesArgs),
    /// Tells as whom you ask
    Whoami(WhoamiArgs),
    /// Makes, lists and revokes tokens
    Token(TokenArgs),
    /// Tells receivers outside what happens, and what became of the messages
    Webhook(WebhookArgs),
    /// Prints a link that signs a person in, once
    SignIn(SignInArgs),
    /// Tells the time of the server, or moves its manual clock
    Clock(ClockArgs),
    /// Lists, checks and installs packs
    Pack(PackArgs),
    /// Shows and changes the settings of packs
    Settings(SettingsArgs),
    /// Runs scenario files in virtual time
    Test(TestArgs),
    /// Finds what is wrong with definitions before they run, and holds them to their promises
    Check(CheckArgs),
    /// Draws lifecycles, for the terminal, as SVG, or in the notations of others
    Diagram(DiagramArgs),
    /// Tells what changed between two versions of a pack, who would be stranded, and what would have gone otherwise
    Diff(DiffArgs),
    /// Explores what can happen on a pack's stages, as far as a budget allows
    Explore(ExploreArgs),
    /// Measures how fast it is on this machine, beside controls in the same run
    Bench(BenchArgs),
    /// Formats definition files, and keeps every comment
    Fmt(FmtArgs),
    /// Prints the JSON Schema of the definition language
    Schema(SchemaArgs),
    /// Looks at every entity for what is broken, and tells what is
    Validate(ValidateArgs),
    /// Tells whether the journal is what was written
    Audit(AuditArgs),
    /// Drops values and words of an entity from the journal; its hash chain still verifies
    Redact(RedactArgs),
    /// Moves running entities to another version of their definition
    Migrate(MigrateArgs),
    /// Copies the folder of a project, and checks the copy
    Backup(BackupArgs),
    /// Puts a backup into an empty folder
    Restore(RestoreArgs),
    /// Moves old journal into files of its own
    Archive(ArchiveArgs),
    /// Writes everything as JSON lines
    Export(ExportArgs),
    /// Brings in an export, or what another tool keeps
    Import(ImportArgs),
    /// Looks at the folder of a project, and tells what to do next
    Doctor(DoctorArgs),
    /// Prints completions for a shell
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes one for every command
    Man(ManArgs),
    /// Prints the page of every command, for docs/reference
    #[command(hide = true)]
    Reference,
    /// Prints the version
    Version,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TestArgs {
    /// Pack folders, folders of packs, or scenario files inside a pack
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Lists every rule that no scenario exercises, and fails if there is one
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Only scenarios whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Writes what the scenarios did as JSON lines: one into FILE, several into FILE-1.jsonl, FILE-2.jsonl and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// Pack folders, folders of packs, files inside a pack, or names of packs that come with Trackside
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only what can be seen in the text: explores nothing
    #[arg(long)]
    pub(crate) no_proofs: bool,
    /// Shows every promise and what was and was not covered
    #[arg(long, conflicts_with = "no_proofs")]
    pub(crate) proofs: bool,
    /// Shows notes too
    #[arg(long)]
    pub(crate) notes: bool,
    /// Warnings fail, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// How many cores to use; default: all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// Draws every story as a sequence, too
    #[arg(long)]
    pub(crate) sequence: bool,
    /// Writes every story as a drawn sequence into this folder: SVG and Mermaid
    #[arg(long, value_name = "FOLDER")]
    pub(crate) draw: Option<PathBuf>,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// A pack folder, a folder of packs, or a lifecycle file inside a pack; with `@REV` as git had it
    pub(crate) old: PathBuf,
    /// The same, as it is to be
    pub(crate) new: PathBuf,
    /// Entities that live now, as JSON: tells which of them would be stranded
    #[arg(long, value_name = "FILE", conflicts_with = "journal")]
    pub(crate) entities: Option<PathBuf>,
    /// A journal as JSON lines: tells which of its entities would be stranded
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// With `--journal`: asks again for everything that was done, under the new definition
    #[arg(long, requires = "journal")]
    pub(crate) what_if: bool,
    /// With `--what-if`: who has which roles, as in scenario files; others are given the least that the old rules accept
    #[arg(long, value_name = "FILE", requires = "what_if")]
    pub(crate) actors: Option<PathBuf>,
    /// Fails if there is such a thing
    #[arg(long, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// Shows at most this many of a kind
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: usize,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Something became tighter, shorter or went away
    Tighter,
    /// An entity would be stranded, or a command refused
    Stranded,
    /// Anything changed
    Any,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExploreArgs {
    /// Pack folders, folders of packs, or names of packs that come with Trackside
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only stages whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) stage: Option<String>,
    /// Only promises whose sentence contains this text are told of
    #[arg(long, value_name = "TEXT")]
    pub(crate) promise: Option<String>,
    /// Most seconds for each stage
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Most memory, in MiB, where the system tells how much is used
    #[arg(long, value_name = "N", default_value_t = 4_096)]
    pub(crate) memory: u64,
    /// Most different worlds of each stage
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) worlds: usize,
    /// Most moves from the start
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) depth: u32,
    /// How many cores to use; default: all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// Follows mirror images too
    #[arg(long)]
    pub(crate) no_symmetry: bool,
    /// Draws every story as a sequence, too
    #[arg(long)]
    pub(crate) sequence: bool,
    /// Writes every story as a drawn sequence into this folder: SVG and Mermaid
    #[arg(long, value_name = "FOLDER")]
    pub(crate) draw: Option<PathBuf>,
    /// Explores nothing: writes a finite model of every lifecycle for `spin` into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) promela: Option<PathBuf>,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// Measures over HTTP, with a server of its own, instead of in process
    #[arg(long)]
    pub(crate) http: bool,
    /// For how long each rate is measured; latency on a schedule takes six times as long
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,
    /// How many callers wait for answers at the same time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) callers: u32,
    /// How many follow the journal at the same time, over HTTP
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) subscribers: u32,
    /// How many entities there are
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) entities: u64,
    /// How many entities a large store has; its journal has five times as many entries
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) large: u64,
    /// Only this; may be given several times
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) only: Vec<BenchPart>,
    /// Works inside this folder, so on its disk [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Leaves what was written where it is, and says where
    #[arg(long)]
    pub(crate) keep: bool,
    /// Fails if an aim is not reached
    #[arg(long)]
    pub(crate) strict: bool,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Starts the store in this folder, asks one command and prints how long that took
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) start: Option<PathBuf>,
    /// Serves as a bare handler that appends to the first file, and writes where it listens into the second
    #[arg(long, value_names = ["FILE", "ADDRESS"], num_args = 2, requires = "sizes", hide = true)]
    pub(crate) append: Option<Vec<PathBuf>>,
    /// Bytes that it appends for a request, and that it answers
    #[arg(long, value_names = ["N", "N"], num_args = 2, hide = true)]
    pub(crate) sizes: Option<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchPart {
    /// Callers that wait, beside bare loops on the same disk
    Throughput,
    /// Half of the peak on a schedule: how long answers take
    Latency,
    /// The same by hand with PostgreSQL, where it is installed
    Postgres,
    /// A large store beside a small one
    Scale,
    /// A large store from closed to its first answer, and its memory
    Start,
    /// Over HTTP: the same with Restate, where it is installed; asked for by name, it is fetched with npm
    Restate,
    /// Over HTTP: many who follow the journal
    Subscribers,
    /// Over HTTP: a server on an empty folder, how soon it is there and its memory
    Idle,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FmtArgs {
    /// Pack folders, folders of packs, or single YAML files
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Changes nothing, shows what would change, and fails if there is something
    #[arg(long)]
    pub(crate) check: bool,
    /// Formats standard input to standard output
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiagramArgs {
    /// A lifecycle such as `mission.task`, or a pack for all of its lifecycles; without it, all there are
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    /// Pack folders or folders of packs [default: the pack in this folder or those in packs, then those that come with Trackside]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// In which form
    #[arg(long, value_enum, default_value_t = DiagramFormat::Text)]
    pub(crate) format: DiagramFormat,
    /// Colours of an SVG
    #[arg(long, value_enum, default_value_t = DiagramTheme::Auto)]
    pub(crate) theme: DiagramTheme,
    /// Columns of a text [default: those of the terminal, or 100]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) width: Option<u16>,
    /// Writes to this file; several lifecycles go to a folder
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Prints the states and the ways between them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DiagramFormat {
    /// Boxes and lists for the terminal
    Text,
    /// A drawing that needs nothing else
    Svg,
    /// A `stateDiagram-v2` for Mermaid
    Mermaid,
    /// For Graphviz
    Dot,
    /// State Chart XML of the W3C
    Scxml,
    /// The configuration of an XState machine, as JSON
    Xstate,
}

impl DiagramFormat {
    /// Several of them, one after the other, are still readable.
    pub(crate) fn joins(self) -> bool {
        matches!(self, Self::Text | Self::Dot)
    }

    /// How files of it are called.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Svg => "svg",
            Self::Mermaid => "mmd",
            Self::Dot => "dot",
            Self::Scxml => "scxml",
            Self::Xstate => "json",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DiagramTheme {
    Light,
    Dark,
    /// As the reader prefers
    Auto,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Of which file
    #[arg(value_enum, default_value_t = SchemaKind::Lifecycle)]
    pub(crate) of: SchemaKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaKind {
    /// A file in a pack's `lifecycles` folder
    Lifecycle,
    /// A `pack.yaml`
    Pack,
    /// A file in a pack's `scenarios` folder
    Scenario,
    /// A file in a pack's `stages` folder
    Stage,
}
