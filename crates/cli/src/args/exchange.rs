//! Arguments of export and import.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::ProjectArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside export --to shop.jsonl\n  trackside import shop.jsonl --data elsewhere\n\nOne line about the project, one for each version of a pack, one for each journal entry; then the artifacts as base64.\nWith the role admin: the stored records with their hash chain. Otherwise: what your token may see."
)]
pub(crate) struct ExportArgs {
    /// File to write; must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
}

/// A tool whose files can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForeignTool {
    /// A Markdown plan with tasks as checkboxes
    Plan,
    /// Issues of beads as JSON lines
    Beads,
    /// The SQLite file of vibe-kanban
    VibeKanban,
}

impl ForeignTool {
    /// The tool's name in the journal.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Beads => "beads",
            Self::VibeKanban => "vibe-kanban",
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "trackside import FILE [OPTIONS]\n       trackside import FILE --from TOOL --into LIFECYCLE [OPTIONS]",
    after_help = "Examples:\n  trackside import shop.jsonl --data elsewhere\n  trackside import --from beads .beads/issues.jsonl --into build.task --state open=pending --state closed=completed --dry-run\n\nInto an empty folder, an export is restored with its history; its tokens and sign-in links are revoked, because their holders could use them here. Into an existing project, its entities are imported in their latest state.\nEverything is checked before anything is written; every problem is printed with its line. Repeating an import changes nothing.\nSee docs/guides/moving-in.md."
)]
pub(crate) struct ImportArgs {
    /// File written by `trackside export` or `trackside test --journal`; with --from, the file of another tool
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Tool that wrote the file
    #[arg(long, value_name = "TOOL", requires = "into")]
    pub(crate) from: Option<ForeignTool>,
    /// Lifecycle of the imported entities, such as mission.task
    #[arg(long, value_name = "LIFECYCLE", requires = "from")]
    pub(crate) into: Option<String>,
    /// Map a key of the other tool to a field; KEY= skips it [default: the field of the same name]
    #[arg(long, value_name = "KEY=FIELD", requires = "from")]
    pub(crate) map: Vec<String>,
    /// Map a status of the other tool to a state; THEIRS=- skips those tasks [default: the state of the same name]
    #[arg(long, value_name = "THEIRS=OURS", requires = "from")]
    pub(crate) state: Vec<String>,
    /// Map a value of the other tool; with := the new value is JSON
    #[arg(long, value_name = "KEY:THEIRS=OURS", requires = "from")]
    pub(crate) value: Vec<String>,
    /// Set a field that the other tool does not provide, for all entities or those in a state: field=text or field:=json
    #[arg(long, value_name = "[STATE:]FIELD=VALUE", requires = "from")]
    pub(crate) set: Vec<String>,
    /// Import only tasks with this value
    #[arg(long, value_name = "KEY=VALUE", requires = "from")]
    pub(crate) only: Vec<String>,
    /// Show what would be imported and every problem, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep the tokens and sign-in links of an export valid in the restored project [default: revoke them]
    #[arg(long, conflicts_with = "from")]
    pub(crate) keep_tokens: bool,
    /// For a scenario journal: pack folders or folders of packs that define its entities [default: the built-in packs]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) packs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
