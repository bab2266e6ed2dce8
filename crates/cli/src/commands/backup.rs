//! `trackside backup` and `trackside restore`: a copy of a folder, checked, and put back.

use std::path::Path;

use serde_json::json;
use trackside_store::archive::Archive;
use trackside_store::artifacts::Looked;
use trackside_store::record::{hex, unhex};
use trackside_store::{Artifacts, Chain, Sqlite, SqliteOptions, StoreError};

use crate::args::{BackupArgs, DataArgs, RestoreArgs};
use crate::exit;
use crate::folder::{self, Stopped};
use crate::moment::texts;
use crate::print::{self, Progress};
use crate::project::Project;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;

pub(crate) fn run(args: &BackupArgs) -> u8 {
    let data = match Project::find(&args.data) {
        Ok(Project::Server(server)) => {
            return refused::ended(served(args, &server), About::default(), args.json);
        }
        Ok(Project::Folder(data)) => data,
        Err(stopped) => return stopped.told(),
    };
    let bar = Progress::new("backup");
    let copied = backup(args, &data, &bar);
    bar.done();
    told(copied, "backup", &data.data.display().to_string(), &args.to, args.json)
}

pub(crate) fn run_restore(args: &RestoreArgs) -> u8 {
    let bar = Progress::new("restore");
    let copied = restore(args, &bar);
    bar.done();
    told(copied, "restored", &args.from.display().to_string(), &args.data.data, args.json)
}

/// A copy that was made and checked.
struct Copied {
    end: Chain,
    files: usize,
    artifacts: Looked,
}

/// The same, by the server that has the folder: it goes on meanwhile.
fn served(args: &BackupArgs, server: &Server) -> Result<u8, Unanswered> {
    let to = std::path::absolute(&args.to).unwrap_or_else(|_| args.to.clone());
    if server.folder().is_some() {
        folder::must_be_free(&to)?;
    }
    let answer = server.post(&Route::new(&["backup"]), &json!({ "to": to }))?;
    let hash = answer.pointer("/end/hash").and_then(|it| unhex(it.as_str()?));
    let seq = answer.pointer("/end/seq").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let files = answer.get("archiveFiles").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let end = Chain { seq, hash: hash.unwrap_or_default() };
    let artifacts = Looked {
        whole: answer.get("artifacts").and_then(serde_json::Value::as_u64).unwrap_or_default(),
        damaged: texts(&answer, "damagedArtifacts").into_iter().map(str::to_owned).collect(),
    };
    let copied = Copied { end, files: usize::try_from(files).unwrap_or(usize::MAX), artifacts };
    let code = told(Ok(copied), "backup", &server.place(), &to, args.json);
    if server.folder().is_none() {
        print::message("The copy is on the machine of the server.");
    }
    Ok(code)
}

fn backup(args: &BackupArgs, data: &DataArgs, bar: &Progress) -> Result<Copied, Stopped> {
    let store = folder::open(data, "backup")?;
    folder::must_be_free(&args.to)?;
    let data = &data.data;
    let end = store.backup(&args.to, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} pages, then they are checked"));
    })?;
    let files = Archive::of(data)?.copy(&args.to)?;
    whole(&args.to, files, bar)?;
    let artifacts = Artifacts::of(data).copy(&args.to)?;
    folder::same_clock(data, &args.to)?;
    Ok(Copied { end, files, artifacts })
}

fn restore(args: &RestoreArgs, bar: &Progress) -> Result<Copied, Stopped> {
    let data = &args.data.data;
    folder::must_be_free(data)?;
    bar.show(0.0, "checking the backup, then copying it");
    if !args.from.join("journal.db").is_file() {
        let why = format!(
            "{}: there is no such file as journal.db in it, so it is no backup, or one that was never finished. Name a folder that trackside backup has written",
            args.from.display()
        );
        return Err(Stopped { why, code: exit::UNREACHABLE });
    }
    // Before anything is written: what is in the archive must be whole, too.
    let from = Archive::of(&args.from)?.files().len();
    if from > 0 {
        whole(&args.from, from, bar)?;
    }
    let damaged = Artifacts::of(&args.from).look()?.damaged;
    if let Some(first) = damaged.first() {
        let why = format!(
            "{}: the content of {} is not what its name says, first {first}. Put whole ones in their place, or move them away",
            args.from.display(),
            folder::counted(damaged.len() as u64, "artifact", "artifacts")
        );
        return Err(Stopped { why, code: exit::REFUSED });
    }
    let end = Sqlite::restore(&args.from, data).map_err(|error| unusable(&args.from, &error))?;
    let files = Archive::of(&args.from)?.copy(data)?;
    whole(data, files, bar)?;
    let artifacts = Artifacts::of(&args.from).copy(data)?;
    folder::same_clock(&args.from, data)?;
    Ok(Copied { end, files, artifacts })
}

/// A backup that is not what was written.
fn unusable(from: &Path, error: &StoreError) -> Stopped {
    let why = match error {
        StoreError::Chain { .. } => {
            format!("{}: {error}. It is not put back: take another backup", from.display())
        }
        _ => error.to_string(),
    };
    Stopped { why, code: exit::UNREACHABLE }
}

/// Goes through the whole chain, where there is an archive; without one it has been followed already.
fn whole(folder: &Path, files: usize, bar: &Progress) -> Result<(), Stopped> {
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
            Err(Stopped { why, code: exit::REFUSED })
        }
    }
}

fn told(copied: Result<Copied, Stopped>, what: &str, from: &str, to: &Path, json: bool) -> u8 {
    let Copied { end, files, artifacts } = match copied {
        Ok(copied) => copied,
        Err(stopped) => return stopped.told(),
    };
    let (seq, hash) = (end.seq, hex(&end.hash));
    if json {
        let json = json!({
            "from": from, "to": to, "end": { "seq": seq, "hash": hash }, "archiveFiles": files,
            "artifacts": artifacts.whole, "damagedArtifacts": artifacts.damaged,
        });
        print::line(&format!("{json:#}"));
    } else {
        print::line(&format!("{what} to {}, checked: ends at {seq}:{hash}", to.display()));
        if artifacts.whole > 0 {
            print::line(&format!("with {}", folder::counted(artifacts.whole, "artifact", "artifacts")));
        }
    }
    if artifacts.damaged.is_empty() {
        return exit::DONE;
    }
    let names = artifacts.damaged.join(", ");
    print::message(&format!("not in the copy, because their content is not what their name says: {names}"));
    exit::REFUSED
}
