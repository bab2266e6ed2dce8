//! The command line's arguments.

mod client;
mod delivery;
mod exchange;
mod folder;
mod mcp;
mod project;
mod runs;
mod scripting;
mod server;
mod work;
mod worktree;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
pub(crate) use client::*;
pub(crate) use delivery::*;
pub(crate) use exchange::*;
pub(crate) use folder::*;
pub(crate) use mcp::*;
pub(crate) use project::*;
pub(crate) use runs::*;
pub(crate) use scripting::*;
pub(crate) use server::*;
pub(crate) use work::*;
pub(crate) use worktree::*;

/// Rules for AI agents, enforced: declare in YAML what a task may do next; Trackside refuses everything else and says why.
#[derive(Debug, Parser)]
#[command(
    name = "trackside",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "A person starts the server with: trackside up\nExit codes: 0 done, 1 refused or check failed, 2 wrong usage, 3 server or store unreachable, 4 not permitted.\nSet NO_COLOR to disable colours."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Start the server
    Up(UpArgs),
    /// Watch a team of scripted agents at work
    Demo(DemoArgs),
    /// Create a project folder with a small pack
    Init(InitArgs),
    /// Create an entity
    #[command(visible_alias = "create")]
    New(NewArgs),
    /// Fire a transition or an event of an entity
    Fire(FireArgs),
    /// Claim the next available entity
    Claim(ClaimArgs),
    /// Renew a lease
    Heartbeat(HeartbeatArgs),
    /// Take tasks one at a time, and run an agent for each
    Work(WorkArgs),
    /// Keep one agent running until its role has no more work
    Supervise(SuperviseArgs),
    /// Allow or block the next action of a coding agent, by the project's risk policy
    Hook(HookArgs),
    /// Admin override: set state or fields without a transition; journalled, raises an alert
    Correct(CorrectArgs),
    /// Show an entity
    Show(ShowArgs),
    /// List the entities of a lifecycle
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show the history of an entity
    #[command(visible_alias = "log")]
    History(HistoryArgs),
    /// Show why an entity is not moving, who must act, and what happens next
    Explain(ExplainArgs),
    /// Show what changed in the work on an entity, as a diff
    Changes(ChangesArgs),
    /// Follow a lifecycle live: entities per state, latest events, overdue entities
    Watch(WatchArgs),
    /// List the processes of agents, or show one
    Runs(RunsArgs),
    /// Print what the agent of a run said and did
    Logs(LogsArgs),
    /// Follow a run and send messages to its agent
    Attach(AttachArgs),
    /// Stop a run
    Stop(StopArgs),
    /// List the worktrees of tasks; restore the saved work of removed ones
    Worktree(WorktreeArgs),
    /// List agent programs and check whether they work
    Adapter(AdapterArgs),
    /// Serve MCP on standard input and output, for coding agents
    Mcp(McpArgs),
    /// Print the journal in order
    Journal(JournalArgs),
    /// Run a named query of a pack
    Query(QueryArgs),
    /// List lifecycles, or describe one
    Lifecycles(LifecyclesArgs),
    /// Count the entities in each state, and show how long they stay
    #[command(visible_alias = "status")]
    Stats(StatsArgs),
    /// List everything that waits for you, and decide
    Inbox(InboxArgs),
    /// List the requests that wait for a person; approve or deny them
    Approvals(ApprovalsArgs),
    /// List the messages of an entity
    Messages(MessagesArgs),
    /// List notifications and their recipients
    Notifications(NotificationsArgs),
    /// List open alerts; acknowledge or resolve them
    Alerts(AlertsArgs),
    /// List violated invariants
    #[command(after_help = "Example:\n  trackside violations")]
    Violations(ViolationsArgs),
    /// Show the identity your token belongs to
    Whoami(WhoamiArgs),
    /// Create, list and revoke tokens
    Token(TokenArgs),
    /// Send events to an HTTP endpoint, and inspect deliveries
    Webhook(WebhookArgs),
    /// Say who gets messages about what waits, and where
    Audience(AudienceArgs),
    /// List the messages to people, and test addresses
    Delivery(DeliveryArgs),
    /// Print a link that signs a person in, once
    #[command(visible_alias = "login")]
    SignIn(SignInArgs),
    /// Show the server's time, or advance its manual clock
    Clock(ClockArgs),
    /// List, check and install packs
    Pack(PackArgs),
    /// Show and change the settings of packs
    Settings(SettingsArgs),
    /// Run scenario files in virtual time
    Test(TestArgs),
    /// Check definitions for mistakes and explore whether their promises hold
    Check(CheckArgs),
    /// Draw lifecycles in the terminal, as SVG, or export them to other notations
    Diagram(DiagramArgs),
    /// Compare two versions of a pack: changes, stranded entities, replay of a journal
    Diff(DiffArgs),
    /// Explore everything that can happen on a pack's stages, within a budget
    Explore(ExploreArgs),
    /// Measure throughput and latency on this machine
    Bench(BenchArgs),
    /// Format definition files, keeping every comment
    Fmt(FmtArgs),
    /// Print the JSON Schema of the definition language
    Schema(SchemaArgs),
    /// Check every entity against its invariants and the journal
    Validate(ValidateArgs),
    /// Verify the journal, and export evidence of an entity
    Audit(AuditArgs),
    /// Erase values of an entity from the journal; the hash chain still verifies
    Redact(RedactArgs),
    /// Migrate running entities to another version of their definition
    Migrate(MigrateArgs),
    /// Back up a data folder, and verify the copy
    Backup(BackupArgs),
    /// Restore a backup into an empty folder
    Restore(RestoreArgs),
    /// Move old journal entries into archive files
    Archive(ArchiveArgs),
    /// Export a project as JSON lines
    Export(ExportArgs),
    /// Import an export, or the tasks of another tool
    Import(ImportArgs),
    /// Diagnose a data folder and suggest what to do next
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for every command
    Man(ManArgs),
    /// Wait until an entity changes its state
    Wait(WaitArgs),
    /// List, take and answer effects: work for outside workers
    Effects(EffectsArgs),
    /// Store and fetch files that fields refer to by their hash
    Artifact(ArtifactArgs),
    /// Send many commands in one request
    Batch(BatchArgs),
    /// Show whether the risk policy allows an action
    Policy(PolicyArgs),
    /// Print the reference page of every command, for docs/reference
    #[command(hide = true)]
    Reference,
    /// Print the version
    #[command(after_help = "Example:\n  trackside version")]
    Version,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  trackside test packs/shop\n  trackside test packs --coverage")]
pub(crate) struct TestArgs {
    /// Pack folders, folders of packs, or scenario files inside a pack
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// List every rule that no scenario exercises, and fail if there is one
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Run only scenarios and tables whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Write the journal of each scenario as JSON lines: one scenario to FILE, several to FILE-1.jsonl, FILE-2.jsonl and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside check packs/shop --seconds 2\n  trackside check packs/shop --quick --proofs\n  trackside check mission --no-proofs"
)]
pub(crate) struct CheckArgs {
    /// Pack folders, folders of packs, files inside a pack, or names of built-in packs
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Check the definitions only, without exploring
    #[arg(long)]
    pub(crate) no_proofs: bool,
    /// Show every promise and how much of it was explored
    #[arg(long, conflicts_with = "no_proofs")]
    pub(crate) proofs: bool,
    /// Time to explore each pack, in seconds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Explore this many worlds per stage instead, so that every machine gets the same result
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub(crate) worlds: Option<usize>,
    /// Maximum number of moves from the start [default: that of each stage, or no limit with a time]
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Explore the number of worlds that each stage names, so that every machine gets the same result
    #[arg(long, conflicts_with_all = ["seconds", "worlds"])]
    pub(crate) quick: bool,
    /// Memory limit in MiB, on systems that report memory use
    #[arg(long, value_name = "N", default_value_t = 4_096)]
    pub(crate) memory: u64,
    /// Show notes as well as errors and warnings
    #[arg(long)]
    pub(crate) notes: bool,
    /// Fail on warnings
    #[arg(long)]
    pub(crate) strict: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// Also draw every counterexample as a sequence
    #[arg(long)]
    pub(crate) sequence: bool,
    /// Write every counterexample as a sequence diagram (SVG and Mermaid) to this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) draw: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside diff packs/shop@HEAD packs/shop\n  trackside diff packs/shop@HEAD packs/shop --fail-on stranded --journal shop.jsonl"
)]
pub(crate) struct DiffArgs {
    /// The old version: a pack folder, a folder of packs, or a lifecycle file inside a pack; append `@REV` for a git revision
    pub(crate) old: PathBuf,
    /// The new version, in the same form
    pub(crate) new: PathBuf,
    /// Current entities as JSON: list those that would be stranded
    #[arg(long, value_name = "FILE", conflicts_with = "journal")]
    pub(crate) entities: Option<PathBuf>,
    /// A journal as JSON lines: list its entities that would be stranded
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// With `--journal`: replay its commands under the new definition
    #[arg(long, requires = "journal")]
    pub(crate) what_if: bool,
    /// With `--what-if`: the actors and their roles, as in scenario files; other actors get the least roles the old rules accept
    #[arg(long, value_name = "FILE", requires = "what_if")]
    pub(crate) actors: Option<PathBuf>,
    /// Exit with 1 if the comparison finds this
    #[arg(long, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// Show at most this many changes of a kind
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: usize,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A rule became stricter, a deadline shorter, or something was removed
    Tighter,
    /// An entity would be stranded, or a replayed command refused
    Stranded,
    /// Anything changed
    Any,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside explore packs/shop --seconds 10")]
pub(crate) struct ExploreArgs {
    /// Pack folders, folders of packs, or names of built-in packs
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Explore only stages whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) stage: Option<String>,
    /// Report only promises whose sentence contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) promise: Option<String>,
    /// Time limit per stage, in seconds
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Memory limit in MiB, on systems that report memory use
    #[arg(long, value_name = "N", default_value_t = 4_096)]
    pub(crate) memory: u64,
    /// Maximum number of distinct worlds per stage
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) worlds: usize,
    /// Maximum number of moves from the start
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) depth: u32,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// Explore symmetric worlds separately
    #[arg(long)]
    pub(crate) no_symmetry: bool,
    /// Also draw every counterexample as a sequence
    #[arg(long)]
    pub(crate) sequence: bool,
    /// Write every counterexample as a sequence diagram (SVG and Mermaid) to this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) draw: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside bench --seconds 1 --entities 1000 --only throughput")]
pub(crate) struct BenchArgs {
    /// Measure over HTTP, with a server of its own, instead of in process
    #[arg(long)]
    pub(crate) http: bool,
    /// Seconds for each rate; answer times at a fixed rate take six times as long
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,
    /// Callers that wait for answers at the same time; over HTTP, open connections
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) callers: u32,
    /// Entities in the store
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) entities: usize,
    /// Measure only this; may be given twice
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) only: Vec<Measurement>,
    /// Other load while answer times are measured, in percent of one core
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=6_400))]
    pub(crate) busy: u32,
    /// Work inside this folder, so on its disk [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keep what was written, and print where it is
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Serve as the bare handler: append to the first file, write the address into the second
    #[arg(long, value_names = ["FILE", "ADDRESS"], num_args = 2, requires = "sizes", hide = true)]
    pub(crate) append: Option<Vec<PathBuf>>,
    /// Bytes that the bare handler appends for a request, and that it answers
    #[arg(long, value_names = ["N", "N"], num_args = 2, hide = true)]
    pub(crate) sizes: Option<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measurement {
    /// Durable commands a second with callers that wait
    Throughput,
    /// Answer times at half of that rate, on a schedule
    Latency,
    /// Answer times of quiet callers beside a storm of another actor; with `--http`
    Neighbour,
    /// Commands, reads, lists and refusals on all connections; with `--http`
    Mixed,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  trackside fmt packs\n  trackside fmt packs --check")]
pub(crate) struct FmtArgs {
    /// Pack folders, folders of packs, or single YAML files
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Change nothing; show what would change, and fail if anything would
    #[arg(long)]
    pub(crate) check: bool,
    /// Format standard input to standard output
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside diagram mission.task\n  trackside diagram mission.task --format svg --output task.svg"
)]
pub(crate) struct DiagramArgs {
    /// A lifecycle such as `mission.task`, or a pack for all of its lifecycles [default: all lifecycles]
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    /// Pack folders or folders of packs [default: the pack in this folder or in ./packs, then the built-in packs]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DiagramFormat::Text)]
    pub(crate) format: DiagramFormat,
    /// Colours of the SVG
    #[arg(long, value_enum, default_value_t = DiagramTheme::Auto)]
    pub(crate) theme: DiagramTheme,
    /// Width of the text in columns [default: the terminal's, or 100]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) width: Option<u16>,
    /// Write to this file, or to this folder for several lifecycles
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print states and transitions as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DiagramFormat {
    /// Boxes and lists for the terminal
    Text,
    /// A self-contained SVG
    Svg,
    /// Mermaid `stateDiagram-v2`
    Mermaid,
    /// Graphviz DOT
    Dot,
    /// W3C State Chart XML
    Scxml,
    /// XState machine configuration as JSON
    Xstate,
}

impl DiagramFormat {
    /// Whether several drawings can be concatenated in one output.
    pub(crate) fn joins(self) -> bool {
        matches!(self, Self::Text | Self::Dot)
    }

    /// The file extension.
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
    /// Follow the reader's preference
    Auto,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  trackside schema lifecycle > lifecycle.schema.json")]
pub(crate) struct SchemaArgs {
    /// The kind of file
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
    /// An adapter of an agent program
    Adapter,
}
