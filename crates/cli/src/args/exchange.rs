//! What can be typed about bringing things in and taking them out.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::ProjectArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside export --to shop.jsonl\n         trackside import shop.jsonl --data elsewhere\n\nOne line about it, one for each version of a pack, one for each entry of the journal. With role admin the records as they are kept,\nhash chain and all; others get what they may see. Artifacts follow, as base64."
)]
pub(crate) struct ExportArgs {
    /// A file that is not there yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
}

/// Another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// A plan in Markdown, with tasks as checkboxes
    Plan,
    /// Issues of beads, as JSON lines
    Beads,
    /// The SQLite file of vibe-kanban
    VibeKanban,
}

impl Tool {
    /// Its name, for the journal.
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
    after_help = "Example: trackside import shop.jsonl --data elsewhere\n         trackside import --from beads .beads/issues.jsonl --into build.task --state open=pending --state closed=completed --dry-run\n\nAn export goes into an empty folder as it is, with its history; into a project, its entities come as they are at the end.\nEverything is tried before anything is written, and every problem is told with its line. The same import again brings nothing twice.\nSee docs/guides/moving-in.md."
)]
pub(crate) struct ImportArgs {
    /// What trackside export or trackside test --journal wrote; with --from, the file of another tool
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The tool that the file is of
    #[arg(long, value_name = "TOOL", requires = "into")]
    pub(crate) from: Option<Tool>,
    /// The lifecycle that its things are to live by, such as mission.task
    #[arg(long, value_name = "LIFECYCLE", requires = "from")]
    pub(crate) into: Option<String>,
    /// Which field something of theirs goes to; KEY= leaves it out [default: the field that is called alike]
    #[arg(long, value_name = "KEY=FIELD", requires = "from")]
    pub(crate) map: Vec<String>,
    /// Which state a status of theirs is; THEIRS=- leaves those out [default: the state that is called alike]
    #[arg(long, value_name = "THEIRS=OURS", requires = "from")]
    pub(crate) state: Vec<String>,
    /// What a value of theirs becomes; with := as json
    #[arg(long, value_name = "KEY:THEIRS=OURS", requires = "from")]
    pub(crate) value: Vec<String>,
    /// What a field is where nothing of theirs goes to it, of all or of those in a state: field=text or field:=json
    #[arg(long, value_name = "[STATE:]FIELD=VALUE", requires = "from")]
    pub(crate) set: Vec<String>,
    /// Only things with this value
    #[arg(long, value_name = "KEY=VALUE", requires = "from")]
    pub(crate) only: Vec<String>,
    /// Tells what would be imported and what is in the way, and changes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// For the journal of a scenario: pack folders or folders of packs that its entities live by [default: the five that come with Trackside]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) packs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
