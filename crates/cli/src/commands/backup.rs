//! `trackside backup` and `trackside restore`: copies a folder, verifies it, and restores it.

use std::path::Path;

use serde_json::json;
use trackside_lifecycle::hex;
use trackside_store::archive::Archive;
use trackside_store::artifacts::ArtifactStats;
use trackside_store::{Artifacts, Chain, Sqlite, SqliteOptions, StoreError};

use crate::args::{BackupArgs, DataArgs, RestoreArgs};
use crate::folder::{self, CliError};
use crate::print::{self, ProgressBar};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::texts;
use crate::url::ApiPath;
use crate::{exit, project_files};

pub(crate) fn run(args: &BackupArgs) -> u8 {
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
    print_copied(copied, "backup", &data.data.display().to_string(), &args.to, args.json)
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
}

/// Backs up through the server that owns the folder; it keeps running.
fn served(args: &BackupArgs, server: &ServerConnection) -> Result<u8, RequestError> {
    let to = std::path::absolute(&args.to).unwrap_or_else(|_| args.to.clone());
    if server.folder().is_some() {
        folder::must_be_free(&to)?;
    }
    let answer = server.post(&ApiPath::new(&["backup"]), &json!({ "to": to }))?;
    let hash = answer.pointer("/end/hash").and_then(|it| hex::decode(it.as_str()?));
    let seq = answer.pointer("/end/seq").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let files = answer.get("archiveFiles").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let end = Chain { seq, hash: hash.unwrap_or_default() };
    let artifacts = ArtifactStats {
        whole: answer.get("artifacts").and_then(serde_json::Value::as_u64).unwrap_or_default(),
        damaged: texts(&answer, "damagedArtifacts").into_iter().map(str::to_owned).collect(),
    };
    let copied = Copied { end, files: usize::try_from(files).unwrap_or(usize::MAX), artifacts };
    if server.folder().is_some() {
        project_files::write_gitignore(&to)?;
    }
    let code = print_copied(Ok(copied), "backup", &server.place(), &to, args.json);
    if server.folder().is_none() {
        print::message("The copy is on the server's machine.");
    }
    Ok(code)
}

fn backup(args: &BackupArgs, data: &DataArgs, bar: &ProgressBar) -> Result<Copied, CliError> {
    let store = folder::open(data, "backup")?;
    folder::must_be_free(&args.to)?;
    let data = &data.data;
    let end = store.backup(&args.to, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} pages copied"));
    })?;
    let files = Archive::of(data)?.copy(&args.to)?;
    verify_chain(&args.to, files, bar)?;
    let artifacts = Artifacts::of(data).copy(&args.to)?;
    folder::same_clock(data, &args.to)?;
    project_files::write_gitignore(&args.to)?;
    Ok(Copied { end, files, artifacts })
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
    // Verify the archive before anything is written.
    let from = Archive::of(&args.from)?.files().len();
    if from > 0 {
        verify_chain(&args.from, from, bar)?;
    }
    let damaged = Artifacts::of(&args.from).stats()?.damaged;
    if let Some(first) = damaged.first() {
        let why = format!(
            "{}: the content of {} does not match its hash, first {first}. Replace them with intact copies, or move them away",
            args.from.display(),
            folder::count_with_noun(damaged.len() as u64, "artifact", "artifacts")
        );
        return Err(CliError::refused(why));
    }
    project_files::remove(data);
    let end = Sqlite::restore(&args.from, data).map_err(|error| unusable(&args.from, &error))?;
    let files = Archive::of(&args.from)?.copy(data)?;
    verify_chain(data, files, bar)?;
    let artifacts = Artifacts::of(&args.from).copy(data)?;
    folder::same_clock(&args.from, data)?;
    project_files::write_or_warn(data);
    Ok(Copied { end, files, artifacts })
}

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
    let Copied { end, files, artifacts } = match copied {
        Ok(copied) => copied,
        Err(stopped) => return stopped.report(),
    };
    let (seq, hash) = (end.seq, hex::encode(end.hash));
    if json {
        let json = json!({
            "from": from, "to": to, "end": { "seq": seq, "hash": hash }, "archiveFiles": files,
            "artifacts": artifacts.whole, "damagedArtifacts": artifacts.damaged,
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
    if artifacts.damaged.is_empty() {
        return exit::DONE;
    }
    let names = artifacts.damaged.join(", ");
    print::message(styled!("not copied, because their content does not match their hash: {names}"));
    exit::REFUSED
}
