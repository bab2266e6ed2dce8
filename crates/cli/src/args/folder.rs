//! What can be typed about the folder of a project.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::AskArgs;

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DataArgs {
    /// The folder of the project
    #[arg(long, value_name = "DIR", default_value = ".trackside")]
    pub(crate) data: PathBuf,
}

/// Which project a command is about.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ProjectArgs {
    /// The folder of the project [default: .trackside, here or in a folder above]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Checks the hash chain of the whole journal, archive files included, or an evidence file by itself
    Verify(AuditVerifyArgs),
    /// Writes evidence of an entity into one file: its entries, approvals, costs, artifacts and the proof
    Export(AuditExportArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside audit export mission.task/T-1 --to T-1.evidence.jsonl\n         trackside audit verify T-1.evidence.jsonl\n\nThe file is checked before it is given its name. Of other entities it tells nothing. For people with role admin."
)]
pub(crate) struct AuditExportArgs {
    /// Which entity, such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// The file to write, which must not be there
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside audit verify --data .trackside\n         trackside audit verify T-1.evidence.jsonl --known 1206:9f86…\n\nExits with 0 if the journal is intact, with 1 if it is not, with 3 if it cannot be opened. A server that has the folder, or that TRACKSIDE_URL names, is asked.\nNote the end that it prints somewhere else: with --known a later audit tells whether all was written anew."
)]
pub(crate) struct AuditVerifyArgs {
    /// An evidence file: checked by itself, without a server or a folder [default: the journal of the project]
    #[arg(value_name = "FILE", conflicts_with = "data")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// An end that an earlier audit printed: fails if the journal does not go through it
    #[arg(long, value_name = "SEQ:HASH")]
    pub(crate) known: Vec<String>,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside backup /backups/2026-11-16 --data .trackside\n\nThe copy is checked from end to end. It is a folder like any other: put it back with trackside restore."
)]
pub(crate) struct BackupArgs {
    /// A folder that is empty or not there
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside restore /backups/2026-11-16 --data .trackside\n\nThe backup is checked before anything is written. A folder with something in it is never overwritten: move it away first."
)]
pub(crate) struct RestoreArgs {
    /// A backup
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside archive --older-than 30d --data .trackside\n\nEntries go to DIR/archive as JSON lines, which are read back and checked before the journal lets go of them.\nWhat is kept of entities does not change. The newest entry always stays.\nA server that has the folder, or that TRACKSIDE_URL names, is asked to do it, and goes on meanwhile."
)]
pub(crate) struct ArchiveArgs {
    /// How old an entry must be, such as 30d, 24h or 90m
    #[arg(long, value_name = "SPAN")]
    pub(crate) older_than: String,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside doctor --data .trackside\n\nLooks without changing anything, beside a running server too. Exits with 1 if something is damaged or missing.\n--rebuild needs the folder for itself."
)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// First throws state.db away and makes it anew from the journal
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside validate --deep --data .trackside\n\nStarts the project for the time that takes, so timers that became due fire, and what its definitions say how to repair is repaired.\nEvery record is held against the journal, and made anew where it is something else.\nExits with 1 if a violation of severity error is open."
)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Also goes through the whole journal for entities of which nothing is kept
    #[arg(long)]
    pub(crate) deep: bool,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside redact mission.task/T-1 --entry 12 --set 'title=[redacted]' --reason 'a token in the title'\n\nDone as you, a person with role admin, and journalled as REDACTED. The hash chain still verifies and says so.\nStarts the project for the time that takes, so timers that became due fire. Do not repeat the secret in the reason."
)]
pub(crate) struct RedactArgs {
    /// Which entity, such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// The number of an entry of it; may be given several times [default: all of them]
    #[arg(long, value_name = "SEQ")]
    pub(crate) entry: Vec<u64>,
    /// What a field becomes that came from there; without a word it is cleared. name=text, name:=json or name=@file
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Why, for the journal
    #[arg(long, value_name = "REASON")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MigrateArgs {
    #[command(subcommand)]
    pub(crate) command: MigrateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Tells which entities would move and which cannot, and changes nothing
    Plan(MigrateToArgs),
    /// Moves every entity that can be moved
    Apply(MigrateToArgs),
    /// Takes migrations back, of entities to which nothing has happened since
    Undo(MigrateUndoArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside migrate plan mission.task --to 2 --pack packs/mission --state OLD=NEW\n         trackside migrate apply mission.task --to 2 --pack packs/mission --state OLD=NEW\n\nA plan looks at the project as it is after its last entry; with --pack it works in a copy. Applying starts the project for the time that takes, so timers that became due fire.\nA server that has the folder, or that TRACKSIDE_URL names, is asked to do it.\nExits with 1 if an entity cannot move."
)]
pub(crate) struct MigrateToArgs {
    /// Whose entities, such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// The version they are to live by
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: u32,
    /// What a state is called there, where that is another name
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) state: Vec<String>,
    /// What becomes of a field that is not set or cannot stay: name=text, name:=json (null for its default) or name=@file
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) field: Vec<String>,
    /// A pack folder with that version: apply installs it first, plan only tries it
    #[arg(long, value_name = "PATH")]
    pub(crate) pack: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    disable_version_flag = true,
    after_help = "Example: trackside migrate undo mission.task --version 2\n\nAn entity that has changed since cannot be taken back: migrate it to the old version, with a mapping of its own."
)]
pub(crate) struct MigrateUndoArgs {
    /// Whose entities, such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// The version that they were moved to
    #[arg(long, value_name = "N")]
    pub(crate) version: u32,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
