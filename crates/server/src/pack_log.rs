//! The log file of the packs: the log lines of committed entries, in the form that packs declare with `log`.

use std::io::Write as _;
use std::path::PathBuf;

use tokio::sync::watch;
use tracing::error;
use trackside_engine::Law;
use trackside_engine::event::Entry;
use trackside_engine::observe::strip_fields;
use trackside_lifecycle::name::Name;
use trackside_protocol::{FieldMap, entry_value};
use trackside_runtime::read::MOST;
use trackside_runtime::{ReadError, Reads};

use crate::app::App;
use crate::problem::Refused;

/// Writes the lines of new entries until the server ends, and then those of the last ones. The file is opened for each
/// group of lines, so that it can be rotated.
pub(crate) async fn run(app: App, file: PathBuf, after: u64, mut ended: watch::Receiver<bool>) {
    let mut after = after;
    let mut feed = app.runtime.follow(after);
    loop {
        let found = tokio::select! {
            found = feed.next() => found,
            _ = ended.wait_for(|it| *it) => break,
        };
        let Ok(batch) = found else { break };
        let entries: Vec<Entry> = batch.to_vec();
        after = entries.last().map_or(after, |it| it.seq);
        write(&app, &file, entries).await;
    }
    // Entries that were committed while the server stopped.
    loop {
        let rest = app.read(move |reads| {
            let (records, _) = reads.journal_page(after, MOST)?;
            Ok(records.iter().map(|it| it.entry()).collect::<Result<Vec<_>, _>>()?)
        });
        let Ok(rest) = rest.await else { return };
        let Some(last) = rest.last().map(|it| it.seq) else { return };
        after = last;
        write(&app, &file, rest).await;
    }
}

async fn write(app: &App, file: &std::path::Path, entries: Vec<Entry>) {
    let place = file.to_owned();
    let written = app.blocking(move |app| {
        let text = lines(&app.reads, &app.runtime.law(), &entries)?;
        if text.is_empty() {
            return Ok(());
        }
        let mut options = std::fs::OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&place).and_then(|mut it| it.write_all(text.as_bytes())).map_err(Refused::broken)
    });
    if let Err(refused) = written.await {
        error!(why = refused.0.detail, file = %file.display(), "cannot write the log lines of the packs");
    }
}

/// The lines of entries. Fields that some readers may not see are left out, because the file has no reader.
fn lines(reads: &Reads, law: &Law, entries: &[Entry]) -> Result<String, ReadError> {
    let values = entries.iter().map(|entry| {
        let definitions = law.definitions(&entry.entity.lifecycle).iter();
        let restricted: Vec<Name> =
            definitions.flat_map(|it| it.restricted_fields()).map(|(field, _)| field.name.clone()).collect();
        (entry.entity.clone(), entry_value(&strip_fields(entry, &restricted)))
    });
    let mut text = String::new();
    for line in reads.log_lines(values, None)? {
        text.push_str(&serde_json::to_string(&FieldMap(line)).unwrap_or_default());
        text.push('\n');
    }
    Ok(text)
}
