//! Arguments of the commands that work on a data folder.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};

use super::AskArgs;

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DataArgs {
    /// Data folder
    #[arg(long, value_name = "DIR", default_value = ".trackside")]
    pub(crate) data: PathBuf,
    /// Found from the current folder, not named by the caller
    #[arg(skip)]
    pub(crate) is_found: bool,
}

/// Which project a command works on.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ProjectArgs {
    /// Data folder [default: .trackside in this folder or the nearest one above]
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
    /// Verify the hash chain of the journal and its archives, or of an evidence file
    Verify(AuditVerifyArgs),
    /// Export evidence of an entity to one file: entries, approvals, costs, artifacts and the proof
    Export(AuditExportArgs),
    /// List failed sign-ins by address and time
    #[command(alias = "sign-in")]
    SignIns(AuditSignInsArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside audit sign-ins\n  trackside audit sign-ins --within 7d --json\n\nOne line per address and minute, without the tokens that were sent. The last minute may be missing. Only for people with the role admin."
)]
pub(crate) struct AuditSignInsArgs {
    /// How far to look back
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    pub(crate) within: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside audit export mission.task/T-1 --to T-1.evidence.jsonl\n  trackside audit verify T-1.evidence.jsonl\n\nThe file is verified before it is written. It contains nothing about other entities. Only for people with the role admin."
)]
pub(crate) struct AuditExportArgs {
    /// Entity, such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// File to write; must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside audit verify --data .trackside\n  trackside audit verify T-1.evidence.jsonl\n\nExits with 0 if the journal is intact, 1 if it is not, 3 if it cannot be opened.\nIf a server uses the folder, or TRACKSIDE_URL names one, that server verifies it.\nKeep the end it prints in another place: a later audit with --known SEQ:HASH detects a rewritten journal."
)]
pub(crate) struct AuditVerifyArgs {
    /// Evidence file to verify, without a server or data folder [default: the project's journal]
    #[arg(value_name = "FILE", conflicts_with = "data")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// End printed by an earlier audit; fail if the journal does not contain it; repeatable
    #[arg(long, value_name = "SEQ:HASH")]
    pub(crate) known: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  trackside backup backups/monday --data .trackside\n  trackside backup backups/monday --increment\n\nThe copy is verified from end to end. It is an ordinary data folder; put it back with trackside restore. An increment adds the journal entries since to the folder increments of the backup."
)]
pub(crate) struct BackupArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// Target folder; must be empty or not exist
    #[arg(value_name = "TO", required = true)]
    to: Option<PathBuf>,
    /// Add the journal entries since to the backup in TO
    #[arg(long)]
    pub(crate) increment: bool,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BackupArgs {
    /// The target folder.
    pub(crate) fn to(&self) -> &Path {
        self.to.as_deref().unwrap_or(Path::new("."))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List backups with their increments
    List(BackupListArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside backup list backups\n\nEvery backup is verified. Exits with 1 if one is damaged or unfinished."
)]
pub(crate) struct BackupListArgs {
    /// Folder with backups, or one backup [default: backups in the data folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside restore backups/monday --data restored/.trackside\n  trackside restore backups/monday --to-seq 12 --data earlier/.trackside\n\nThe backup is verified before anything is written. A folder that is not empty is never overwritten: move it away first."
)]
pub(crate) struct RestoreArgs {
    /// Backup folder
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// Last journal entry to restore [default: the last one of the backup and its increments]
    #[arg(long, value_name = "SEQ")]
    pub(crate) to_seq: Option<u64>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside archive --older-than 30d --data .trackside\n\nEntries move to DIR/archive as JSON lines, which are read back and verified before the journal drops the entries.\nEntities do not change. The newest entry always stays in the journal.\nIf a server uses the folder, or TRACKSIDE_URL names one, that server archives while it keeps running."
)]
pub(crate) struct ArchiveArgs {
    /// Minimum age of an entry, such as 30d, 24h or 90m
    #[arg(long, value_name = "SPAN")]
    pub(crate) older_than: String,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside doctor --data .trackside\n\nChanges nothing, and works beside a running server. Exits with 1 if something is damaged or missing.\n--rebuild needs the folder for itself: stop the server first."
)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// First delete state.db and rebuild it from the journal
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside validate --deep --data .trackside\n\nCompares every record with the journal and rebuilds those that differ.\nWithout a running server, it starts the project to do this: due timers fire, and repairs that the definitions declare are made.\nExits with 1 if a violation of severity error is open."
)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Also search the whole journal for entities without a stored record
    #[arg(long)]
    pub(crate) deep: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside redact mission.task/T-1 --entry 12 --set 'title=[redacted]' --reason 'a token in the title'\n\nOnly for people with the role admin; journalled as REDACTED. Do not repeat the secret in the reason.\nWithout a running server, it starts the project to do this: due timers fire."
)]
pub(crate) struct RedactArgs {
    /// Entity, such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// Number of a journal entry of the entity; repeatable [default: all its entries]
    #[arg(long, value_name = "SEQ")]
    pub(crate) entry: Vec<u64>,
    /// New value of a field set by those entries: name=text, name:=json or name=@file [default: the field is cleared]
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Reason, recorded in the journal
    #[arg(long, value_name = "REASON")]
    pub(crate) reason: String,
    /// Show which entries and fields would be erased, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
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
    /// Show which entities can be migrated and which cannot, without changing anything
    Plan(MigrateToArgs),
    /// Migrate every entity that can be migrated
    Apply(MigrateToArgs),
    /// Undo a migration for entities that have not changed since
    Undo(MigrateUndoArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  trackside migrate plan shop.task --to 2 --pack packs/shop --state TODO=OPEN\n  trackside migrate apply shop.task --to 2 --pack packs/shop --state TODO=OPEN\n\nA plan shows the project as of its last entry; with --pack it works on a copy.\nWithout a running server, apply starts the project: due timers fire. If a server uses the folder, or TRACKSIDE_URL names one, that server does it.\nExits with 1 if an entity cannot be migrated."
)]
pub(crate) struct MigrateToArgs {
    /// Lifecycle of the entities, such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// Version to migrate to
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: u32,
    /// New name of a renamed state; repeatable
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) state: Vec<String>,
    /// Value of a field that is missing or invalid in the new version: name=text, name:=json (null for the default) or name=@file
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) field: Vec<String>,
    /// Pack folder with that version; apply installs it first, plan only tries it
    #[arg(long, value_name = "PATH")]
    pub(crate) pack: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    disable_version_flag = true,
    after_help = "Example:\n  trackside migrate undo shop.task --version 2\n\nAn entity that has changed since cannot be undone: migrate it to the old version instead, with its own mapping."
)]
pub(crate) struct MigrateUndoArgs {
    /// Lifecycle of the entities, such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// Version they were migrated to
    #[arg(long, value_name = "N")]
    pub(crate) version: u32,
    #[command(flatten)]
    pub(crate) data: ProjectArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
