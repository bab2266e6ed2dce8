//! An export becomes a project in a folder: the same entries, the same chain.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use trackside_runtime::{Options, ProjectClock, Runtime};
use trackside_server::revoke_credentials;
use trackside_store::export_lines::{self, ExportLine};
use trackside_store::{Artifacts, Batch, Record, Sqlite, Store, StoreError, rules};

use super::exported::{ExportSummary, each_line, end_of};
use crate::args::{DataArgs, ImportArgs};
use crate::folder::{self, CliError, count_with_noun, share};
use crate::print::{self, ProgressBar};
use crate::{exit, files, project_files};

/// Entries in one commit.
const PIECE: usize = 10_000;

pub(super) fn run(args: &ImportArgs, data: &DataArgs, looked: &ExportSummary) -> u8 {
    match restore(args, &data.data, looked) {
        Err(stopped) => stopped.report(),
        Ok(revoked) => {
            print_answer(args, &data.data, looked, revoked);
            exit::DONE
        }
    }
}

/// Returns the number of revoked tokens and links.
fn restore(args: &ImportArgs, data: &Path, looked: &ExportSummary) -> Result<u64, CliError> {
    folder::must_be_free(data)?;
    if !args.packs.is_empty() {
        return Err(CliError::usage(
            "--packs is only for the journal of a scenario: an export contains its packs",
        ));
    }
    if args.dry_run {
        return Ok(0);
    }
    // Written beside the target and renamed at the end, so that the folder is complete or absent.
    let beside = beside(data);
    let written =
        write(args, looked, &beside).and_then(|()| revoke(args, looked, &beside)).and_then(|revoked| {
            let unmoved = |it: std::io::Error| CliError::unwritten(data, &it);
            if data.is_dir() {
                project_files::remove(data);
                fs::remove_dir(data).map_err(unmoved)?;
            }
            fs::rename(&beside, data).map_err(unmoved)?;
            project_files::write_or_warn(data);
            Ok(revoked)
        });
    if written.is_err() {
        let _ = fs::remove_dir_all(&beside);
    }
    written
}

/// A folder of its own, next to the one it will be.
fn beside(data: &Path) -> PathBuf {
    let name = data.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    data.with_file_name(format!("{name}.importing-{}", std::process::id()))
}

fn write(args: &ImportArgs, looked: &ExportSummary, to: &Path) -> Result<(), CliError> {
    let store = Sqlite::open(to, folder::owned_by("import"))?;
    let mut journal = store.journal()?;
    let bar = ProgressBar::new("import");
    let mut batch = Batch { definitions: looked.definitions.clone(), ..Batch::default() };
    let mut failed: Option<CliError> = None;
    let mut append = |batch: &mut Batch| -> bool {
        let done = batch.records.last().map_or(0, |it: &Record| it.seq);
        if let Err(error) = journal.append(batch) {
            failed = Some(error.into());
        }
        *batch = Batch::default();
        bar.show(share(done, looked.end.seq), &format!("{done} entries"));
        failed.is_none()
    };
    let mut unkept = None;
    let read = each_line(&args.file, &mut |_, text| match export_lines::read(text) {
        Ok(ExportLine::Record(record)) if record.seq <= looked.end.seq => {
            batch.records.push(*record);
            batch.records.len() < PIECE || append(&mut batch)
        }
        Ok(ExportLine::Artifact { id, content }) => {
            unkept = Artifacts::of(to).put(&id, &content).err();
            unkept.is_none()
        }
        _ => true,
    });
    if !batch.records.is_empty() || !batch.definitions.is_empty() {
        append(&mut batch);
    }
    bar.done();
    if let Some(failed) = failed {
        return Err(failed);
    }
    if let Some(error) = unkept {
        return Err(CliError::unwritten(to, &error));
    }
    read.map_err(|it| CliError::usage(files::unread(&args.file, &it)))?;
    let changed = rules::find_changed(store.reader()?.as_mut())?;
    if !changed.is_empty() {
        return Err(StoreError::Rules { path: args.file.clone(), changed }.into());
    }
    let end = journal.head()?.chain;
    match end == looked.end {
        true => match looked.clock {
            Some(now) => folder::note_clock(to, &ProjectClock::manual(now)),
            None => Ok(()),
        },
        false => {
            let why = format!("{}: it changed while it was read", args.file.display());
            Err(CliError::refused(why))
        }
    }
}

/// Revokes the tokens and sign-in links of the export, at the time of its last entry, so that no timer fires.
fn revoke(args: &ImportArgs, looked: &ExportSummary, to: &Path) -> Result<u64, CliError> {
    if args.keep_tokens || !looked.has_credentials() {
        return Ok(0);
    }
    let store = Arc::new(Sqlite::open(to, folder::owned_by("import"))?);
    let last = store.reader()?.head()?.at;
    let now = looked.clock.or(last).unwrap_or_else(|| ProjectClock::System.now());
    let options = Options { clock: ProjectClock::manual(now), ..Options::default() };
    let runtime = Runtime::start(store, &[], options)?;
    let revoked = revoke_credentials(&runtime)?;
    runtime.stop();
    Ok(revoked)
}

fn print_answer(args: &ImportArgs, data: &Path, looked: &ExportSummary, revoked: u64) {
    let packs: Vec<String> =
        looked.definitions.iter().map(|it| format!("{} {}", it.pack, it.version)).collect();
    if args.json {
        let json = json!({
            "success": true, "dryRun": args.dry_run, "data": data, "entries": looked.end.seq,
            "entities": looked.entities(), "packs": packs, "artifacts": looked.artifacts,
            "end": end_of(looked), "revoked": revoked,
        });
        print::json(&json);
        return;
    }
    let what = if args.dry_run { "would be" } else { "are" };
    print::line(styled!(
        "{}{} of {} {what} in {}, unchanged, with {}",
        super::dry_run_mark(args),
        count_with_noun(looked.end.seq, "entry", "entries"),
        count_with_noun(looked.entities(), "entity", "entities"),
        data.display(),
        packs.join(", ")
    ));
    if looked.artifacts > 0 {
        print::line(styled!("with {}", count_with_noun(looked.artifacts, "artifact", "artifacts")));
    }
    print::line(styled!("verified: ends at {}", end_of(looked)));
    if revoked > 0 {
        let revoked = count_with_noun(revoked, "token or sign-in link", "tokens and sign-in links");
        print::line(styled!("revoked: {revoked} of the export. To keep them, import it with --keep-tokens"));
    } else if args.keep_tokens && looked.has_credentials() {
        print::line("kept: its tokens and sign-in links are valid here");
    } else if args.dry_run && looked.has_credentials() {
        print::line("its tokens and sign-in links would be revoked; --keep-tokens keeps them");
    }
}
