//! An export becomes a project in a folder: the same entries, the same chain.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use trackside_runtime::ProjectClock;
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
        Ok(()) => {
            print_answer(args, &data.data, looked);
            exit::DONE
        }
    }
}

fn restore(args: &ImportArgs, data: &Path, looked: &ExportSummary) -> Result<(), CliError> {
    folder::must_be_free(data)?;
    if !args.packs.is_empty() {
        return Err(CliError::usage(
            "--packs is only for the journal of a scenario: an export contains its packs",
        ));
    }
    if args.dry_run {
        return Ok(());
    }
    // Written beside the target and renamed at the end, so that the folder is complete or absent.
    let beside = beside(data);
    let written = write(args, looked, &beside).and_then(|()| {
        let unmoved = |it: std::io::Error| CliError::unwritten(data, &it);
        if data.is_dir() {
            project_files::remove(data);
            fs::remove_dir(data).map_err(unmoved)?;
        }
        fs::rename(&beside, data).map_err(unmoved)?;
        project_files::write_or_warn(data);
        Ok(())
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

fn print_answer(args: &ImportArgs, data: &Path, looked: &ExportSummary) {
    let packs: Vec<String> =
        looked.definitions.iter().map(|it| format!("{} {}", it.pack, it.version)).collect();
    if args.json {
        let json = json!({
            "success": true, "dryRun": args.dry_run, "data": data, "entries": looked.end.seq,
            "entities": looked.entities(), "packs": packs, "artifacts": looked.artifacts,
            "end": end_of(looked),
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
}
