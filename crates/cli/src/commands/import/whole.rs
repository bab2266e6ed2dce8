//! An export becomes a project in a folder: the same entries, the same chain.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use trackside_runtime::Clock;
use trackside_store::lines::{self, Line};
use trackside_store::{Artifacts, Batch, Record, Sqlite, Store, StoreError, rules};

use super::exported::{Looked, each_line, end_of};
use crate::args::{DataArgs, ImportArgs};
use crate::folder::{self, Stopped, counted, share};
use crate::print::{self, Progress};
use crate::{exit, files};

/// Entries in one commit.
const PIECE: usize = 10_000;

pub(super) fn run(args: &ImportArgs, data: &DataArgs, looked: &Looked) -> u8 {
    match restore(args, &data.data, looked) {
        Err(stopped) => stopped.told(),
        Ok(()) => {
            tell(args, &data.data, looked);
            exit::DONE
        }
    }
}

fn restore(args: &ImportArgs, data: &Path, looked: &Looked) -> Result<(), Stopped> {
    folder::must_be_free(data)?;
    if !args.packs.is_empty() {
        return Err(Stopped::usage("--packs is for the journal of a scenario: an export brings its packs"));
    }
    if args.dry_run {
        return Ok(());
    }
    // There as a whole or not at all: it gets its name when everything is written.
    let beside = beside(data);
    let written = write(args, looked, &beside).and_then(|()| {
        let unmoved =
            |it: std::io::Error| Stopped { why: files::unwritten(data, &it), code: exit::UNREACHABLE };
        if data.is_dir() {
            fs::remove_dir(data).map_err(unmoved)?;
        }
        fs::rename(&beside, data).map_err(unmoved)
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

fn write(args: &ImportArgs, looked: &Looked, to: &Path) -> Result<(), Stopped> {
    let store = Sqlite::open(to, folder::owned_by("import"))?;
    let mut journal = store.journal()?;
    let bar = Progress::new("import");
    let mut batch = Batch { definitions: looked.definitions.clone(), ..Batch::default() };
    let mut failed: Option<Stopped> = None;
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
    let read = each_line(&args.file, &mut |_, text| match lines::read(text) {
        Ok(Line::Record(record)) if record.seq <= looked.end.seq => {
            batch.records.push(*record);
            batch.records.len() < PIECE || append(&mut batch)
        }
        Ok(Line::Artifact { id, content }) => {
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
        return Err(Stopped { why: files::unwritten(to, &error), code: exit::UNREACHABLE });
    }
    read.map_err(|it| Stopped::usage(files::unread(&args.file, &it)))?;
    let changed = rules::look(store.reader()?.as_mut())?;
    if !changed.is_empty() {
        return Err(StoreError::Rules { path: args.file.clone(), changed }.into());
    }
    let end = journal.head()?.chain;
    match end == looked.end {
        true => match looked.clock {
            Some(now) => folder::note_clock(to, &Clock::manual(now)),
            None => Ok(()),
        },
        false => {
            let why = format!("{}: it changed while it was read", args.file.display());
            Err(Stopped { why, code: exit::REFUSED })
        }
    }
}

fn tell(args: &ImportArgs, data: &Path, looked: &Looked) {
    let packs: Vec<String> =
        looked.definitions.iter().map(|it| format!("{} {}", it.pack, it.version)).collect();
    if args.json {
        let json = json!({
            "success": true, "dryRun": args.dry_run, "data": data, "entries": looked.end.seq,
            "entities": looked.entities(), "packs": packs, "artifacts": looked.artifacts,
            "end": end_of(looked),
        });
        print::line(&format!("{json:#}"));
        return;
    }
    let what = if args.dry_run { "would be" } else { "are" };
    print::line(&format!(
        "{} of {} {what} in {}, as they were written, with {}",
        counted(looked.end.seq, "entry", "entries"),
        counted(looked.entities(), "entity", "entities"),
        data.display(),
        packs.join(", ")
    ));
    if looked.artifacts > 0 {
        print::line(&format!("with {}", counted(looked.artifacts, "artifact", "artifacts")));
    }
    print::line(&format!("checked: ends at {}", end_of(looked)));
    if args.dry_run {
        print::message("Nothing was changed. Leave out --dry-run to import.");
    }
}
