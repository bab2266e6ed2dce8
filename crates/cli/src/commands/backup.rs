//! `trackside backup` and `trackside restore`: copies a folder, verifies it, and restores it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use trackside_lifecycle::hex;
use trackside_runtime::{ProjectClock, Runtime};
use trackside_store::archive::Archive;
use trackside_store::artifacts::ArtifactStats;
use trackside_store::backups::{BACKUPS, BackupSummary, back_up};
use trackside_store::{Artifacts, BackupSet, Chain, Sqlite, SqliteOptions, Store as _, StoreError};

use crate::args::{BackupArgs, BackupCommand, BackupListArgs, DataArgs, RestoreArgs};
use crate::folder::{self, CliError};
use crate::print::{self, ProgressBar};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::texts;
use crate::url::ApiPath;
use crate::{exit, project, project_files};

pub(crate) fn run(args: &BackupArgs) -> u8 {
    if let Some(BackupCommand::List(args)) = &args.command {
        return list(args).unwrap_or_else(CliError::report);
    }
    let data = match ProjectLocation::find(&args.data) {
        Ok(ProjectLocation::Server(server)) => {
            return refused::finish(served(args, &server), CommandSubject::default(), args.json);
        }
        Ok(ProjectLocation::Folder(data)) => data,
        Err(stopped) => return stopped.report(),
    };
    let bar = ProgressBar::new("backup");
    let copied = backup(args, &data, &bar);
    bar.done();
    print_copied(copied, args.what(), &data.data.display().to_string(), args.to(), args.json)
}

impl BackupArgs {
    fn what(&self) -> &'static str {
        if self.increment { "increment added" } else { "backup" }
    }
}

/// Lists the backups in a folder.
fn list(args: &BackupListArgs) -> Result<u8, CliError> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => project::found(&args.data)?.data.join(BACKUPS),
    };
    let (sets, unusable) = BackupSet::list(&folder)?;
    let row = |it: &BackupSet| {
        json!({
            "folder": it.folder, "base": it.base.seq, "increments": it.increments.len(),
            "end": { "seq": it.end().seq, "hash": hex::encode(it.end().hash) }, "bytes": it.bytes(),
        })
    };
    let broken = |(folder, why): &(PathBuf, String)| json!({ "folder": folder, "message": why });
    let json = json!({
        "backups": sets.iter().map(row).collect::<Vec<_>>(),
        "unusable": unusable.iter().map(broken).collect::<Vec<_>>(),
    });
    print::answer(&json, args.json, |_| {
        for set in &sets {
            let increments = folder::count_with_noun(set.increments.len() as u64, "increment", "increments");
            print::line(styled!(
                "{}  entries 1 to {}, {increments} after {}, {}",
                set.folder.display(),
                set.end().seq,
                set.base.seq,
                set.bytes_text()
            ));
        }
        if sets.is_empty() {
            print::line(styled!("no backups in {}", folder.display()));
        }
        for (folder, why) in &unusable {
            print::line(styled!("{}  unusable: {why}", folder.display()));
        }
    });
    Ok(if unusable.is_empty() { exit::DONE } else { exit::REFUSED })
}

pub(crate) fn run_restore(args: &RestoreArgs) -> u8 {
    let bar = ProgressBar::new("restore");
    let copied = restore(args, &bar);
    bar.done();
    print_copied(copied, "restored", &args.from.display().to_string(), &args.data.data, args.json)
}

/// A copy that was made and checked.
struct Copied {
    end: Chain,
    files: usize,
    artifacts: ArtifactStats,
    /// What else to know.
    notes: Vec<String>,
}

/// Backs up through the server that owns the folder; it keeps running.
fn served(args: &BackupArgs, server: &ServerConnection) -> Result<u8, RequestError> {
    let to = std::path::absolute(args.to()).unwrap_or_else(|_| args.to().to_owned());
    if server.folder().is_some() && !args.increment {
        folder::must_be_free(&to)?;
    }
    let body = match args.increment {
        true => json!({ "to": to, "increment": true }),
        false => json!({ "to": to }),
    };
    let answer = server.post(&ApiPath::new(&["backup"]), &body)?;
    let hash = answer.pointer("/end/hash").and_then(|it| hex::decode(it.as_str()?));
    let seq = answer.pointer("/end/seq").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let files = answer.get("archiveFiles").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let end = Chain { seq, hash: hash.unwrap_or_default() };
    let artifacts = ArtifactStats {
        whole: answer.get("artifacts").and_then(serde_json::Value::as_u64).unwrap_or_default(),
        damaged: texts(&answer, "damagedArtifacts").into_iter().map(str::to_owned).collect(),
    };
    let copied =
        Copied { end, files: usize::try_from(files).unwrap_or(usize::MAX), artifacts, notes: Vec::new() };
    if server.folder().is_some() && !args.increment {
        project_files::write_gitignore(&to)?;
    }
    let code = print_copied(Ok(copied), args.what(), &server.place(), &to, args.json);
    if server.folder().is_none() {
        print::message("The copy is on the server's machine.");
    }
    Ok(code)
}

fn backup(args: &BackupArgs, data: &DataArgs, bar: &ProgressBar) -> Result<Copied, CliError> {
    let store = folder::open(data, "backup")?;
    let (data, to) = (&data.data, args.to());
    if args.increment {
        let mut set = BackupSet::open(to)?;
        set.add_increment(&store, data)?;
        return Ok(Copied {
            end: set.end(),
            files: 0,
            artifacts: ArtifactStats::default(),
            notes: Vec::new(),
        });
    }
    folder::must_be_free(to)?;
    let BackupSummary { end, archive_files, artifacts } = back_up(&store, data, to, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} pages copied"));
    })?;
    verify_chain(to, archive_files, bar)?;
    folder::same_clock(data, to)?;
    project_files::write_gitignore(to)?;
    Ok(Copied { end, files: archive_files, artifacts, notes: Vec::new() })
}

fn restore(args: &RestoreArgs, bar: &ProgressBar) -> Result<Copied, CliError> {
    let data = &args.data.data;
    folder::must_be_free(data)?;
    bar.show(0.0, "checking the backup, then copying it");
    if !args.from.join("journal.db").is_file() {
        let why = format!(
            "{}: no journal.db in it: this is not a backup, or an unfinished one. Name a folder written by trackside backup",
            args.from.display()
        );
        return Err(CliError::unreachable(why));
    }
    let upgraded = UpgradedBackup::of(&args.from, data)?;
    let copied = restore_from(args, upgraded.as_ref().map_or(&args.from, |it| &it.0), bar);
    drop(upgraded);
    copied
}

/// A copy of a backup that an earlier release made, with the tables of this one. Removed at the end.
struct UpgradedBackup(PathBuf);

impl UpgradedBackup {
    /// The copy, beside the target; none if the backup has the tables of this release. The backup does not change.
    fn of(from: &Path, data: &Path) -> Result<Option<Self>, CliError> {
        if !Sqlite::is_outdated(from)? {
            return Ok(None);
        }
        let name = data.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let copy = Self(data.with_file_name(format!("{name}.upgrading")));
        std::fs::remove_dir_all(&copy.0).ok();
        copy_folder(from, &copy.0).map_err(|it| CliError::unwritten(&copy.0, &it))?;
        let store = Arc::new(Sqlite::open(&copy.0, folder::owned_by("restore"))?);
        Runtime::write_projections(store, &mut |_, _| {})?;
        Ok(Some(copy))
    }
}

impl Drop for UpgradedBackup {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &to)?,
            false => drop(std::fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}

fn restore_from(args: &RestoreArgs, from: &Path, bar: &ProgressBar) -> Result<Copied, CliError> {
    let data = &args.data.data;
    // Verify the archive before anything is written.
    let files = Archive::of(from)?.count()?;
    if files > 0 {
        verify_chain(from, files, bar)?;
    }
    let damaged = Artifacts::of(from).stats()?.damaged;
    if let Some(first) = damaged.first() {
        let why = format!(
            "{}: the content of {} does not match its hash, first {first}. Replace them with intact copies, or move them away",
            args.from.display(),
            folder::count_with_noun(damaged.len() as u64, "artifact", "artifacts")
        );
        return Err(CliError::refused(why));
    }
    let set = BackupSet::open(from).map_err(|error| unusable(&args.from, &error))?;
    let (end, files) = match args.to_seq {
        None if set.increments.is_empty() => {
            project_files::remove(data);
            let end = Sqlite::restore(from, data).map_err(|error| unusable(&args.from, &error))?;
            let files = Archive::of(from)?.copy(data)?;
            verify_chain(data, files, bar)?;
            (end, files)
        }
        wanted => (restore_to(&set, wanted.unwrap_or(set.end().seq), data, bar)?, 0),
    };
    let artifacts = Artifacts::of(from).copy(data)?;
    folder::same_clock(from, data)?;
    project_files::write_or_warn(data);
    Ok(Copied { end, files, artifacts, notes: what_happens_next(data)? })
}

/// Restores to an entry: writes the journal up to it, builds the projections, and verifies both. The folder gets its
/// name when it is complete.
fn restore_to(set: &BackupSet, seq: u64, data: &Path, bar: &ProgressBar) -> Result<Chain, CliError> {
    let name = data.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let part = data.with_file_name(format!("{name}.restoring"));
    // A restore that was killed leaves it.
    if part.exists() {
        std::fs::remove_dir_all(&part).map_err(|it| CliError::unwritten(&part, &it))?;
    }
    let built = build(set, seq, &part, bar);
    let end = match built {
        Ok(end) => end,
        Err(error) => {
            std::fs::remove_dir_all(&part).ok();
            return Err(error);
        }
    };
    project_files::remove(data);
    // An empty folder is in the way on some systems.
    std::fs::remove_dir(data).ok();
    std::fs::rename(&part, data).map_err(|it| CliError::unwritten(data, &it))?;
    Ok(end)
}

fn build(set: &BackupSet, seq: u64, part: &Path, bar: &ProgressBar) -> Result<Chain, CliError> {
    let end = Sqlite::restore_journal(set, seq, part, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries"));
    });
    let end = end.map_err(|error| match error {
        StoreError::Io { .. } => CliError::refused(error.to_string()),
        error => unusable(&set.folder, &error),
    })?;
    let store = Arc::new(Sqlite::open(part, folder::owned_by("restore"))?);
    Runtime::write_projections(store.clone(), &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries applied"));
    })?;
    let audit = Archive::of(part)?.verify(store.reader()?.as_mut(), &[], &mut |done, all| {
        bar.show(folder::share(done, all), &format!("checking {done} of {all} entries"));
    })?;
    if let Some(first) = audit.problems.first() {
        return Err(CliError::refused(format!(
            "{first}. If it was redacted or erased after entry {seq}, restore to a later entry: the backup ends at {}",
            set.end().seq
        )));
    }
    match store.reader()?.head()?.chain == end {
        true => Ok(end),
        false => {
            Err(CliError::refused(format!("{}: the project did not stop at entry {seq}", part.display())))
        }
    }
}

/// What a restored project does when it starts, which may have happened before.
fn what_happens_next(data: &Path) -> Result<Vec<String>, CliError> {
    let mut reader = Sqlite::open_to_read(data, SqliteOptions::default())?;
    let effects = reader.effects(0, usize::MAX)?.value.len() as u64;
    let now = ProjectClock::System.now();
    let is_manual = ProjectClock::is_manual_in(data);
    let due = reader.timers(None, MOST_TIMERS)?.value.iter().filter(|it| !is_manual && it.due <= now).count();
    let mut notes = Vec::new();
    if effects > 0 {
        notes.push(format!(
            "{} were open at this entry and are handed out again. Check whether they were carried out since",
            folder::count_with_noun(effects, "effect", "effects")
        ));
    }
    if due > 0 {
        let many = if due >= MOST_TIMERS { " or more" } else { "" };
        notes.push(format!(
            "{}{many} became due since this entry and fire when the project starts",
            folder::count_with_noun(due as u64, "timer", "timers")
        ));
    }
    Ok(notes)
}

/// Timers that are counted.
const MOST_TIMERS: usize = 10_000;

/// The error for a damaged backup.
fn unusable(from: &Path, error: &StoreError) -> CliError {
    let why = match error {
        StoreError::Chain { .. } => {
            format!("{}: {error}. It was not restored: use another backup", from.display())
        }
        _ => error.to_string(),
    };
    CliError::unreachable(why)
}

/// Verifies the whole chain if there is an archive; without one it has been verified already.
fn verify_chain(folder: &Path, files: usize, bar: &ProgressBar) -> Result<(), CliError> {
    if files == 0 {
        return Ok(());
    }
    let archive = Archive::of(folder)?;
    let mut reader = Sqlite::open_to_read(folder, SqliteOptions::default())?;
    let audit = archive.verify(reader.as_mut(), &[], &mut |done, all| {
        bar.show(folder::share(done, all), &format!("checking {done} of {all} entries"));
    })?;
    match audit.problems.first() {
        None => Ok(()),
        Some(first) => {
            let why = format!(
                "{}: {first}. See all with trackside audit verify --data {}",
                folder.display(),
                folder.display()
            );
            Err(CliError::refused(why))
        }
    }
}

fn print_copied(copied: Result<Copied, CliError>, what: &str, from: &str, to: &Path, json: bool) -> u8 {
    let Copied { end, files, artifacts, notes } = match copied {
        Ok(copied) => copied,
        Err(stopped) => return stopped.report(),
    };
    let (seq, hash) = (end.seq, hex::encode(end.hash));
    if json {
        let json = json!({
            "from": from, "to": to, "end": { "seq": seq, "hash": hash }, "archiveFiles": files,
            "artifacts": artifacts.whole, "damagedArtifacts": artifacts.damaged, "notes": notes,
        });
        print::json(&json);
    } else {
        print::line(styled!("{what} to {}, verified: ends at {seq}:{hash}", to.display()));
        if artifacts.whole > 0 {
            print::line(styled!(
                "with {}",
                folder::count_with_noun(artifacts.whole, "artifact", "artifacts")
            ));
        }
    }
    if !json {
        notes.iter().for_each(print::message);
    }
    if artifacts.damaged.is_empty() {
        return exit::DONE;
    }
    let names = artifacts.damaged.join(", ");
    print::message(styled!("not copied, because their content does not match their hash: {names}"));
    exit::REFUSED
}
