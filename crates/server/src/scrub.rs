//! The scrub: reads everything that is stored, slowly and in the background, so that damage is found before it is needed.
//!
//! It verifies the archive, the journal and the artifacts, and has SQLite check both files. Stored rows are compared
//! with the journal by the sweep.

use std::time::Duration;

use tracing::{error, info};
use trackside_store::{Artifacts, Sqlite, StoreError};

use crate::app::App;
use crate::problem::Refused;

/// The time from the start to the first pass.
const FIRST: Duration = Duration::from_secs(2);
/// The time between two passes.
const BETWEEN: Duration = Duration::from_secs(60 * 60);
/// The pause after each piece, so that the scrub takes little of the machine.
const PAUSE: Duration = Duration::from_millis(200);
/// The warning in `/readyz`.
const WARNING: &str = "scrub";
/// Entries and artifacts in one piece.
const ENTRIES: usize = 500;
const ARTIFACTS: usize = 4;

/// The position of a pass.
#[derive(Clone, Debug)]
enum ScrubStep {
    /// Archived entries after this one.
    Archive(u64),
    /// Entries of the journal after this one.
    Journal(u64),
    /// Artifacts that are left.
    Artifacts(Vec<String>),
    /// The files of both databases.
    Files,
}

/// Runs passes until the server stops.
pub(crate) async fn run(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut pause = FIRST;
    let mut next = ScrubStep::Archive(0);
    app.telemetry.upkeep.scrub.begin();
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        let now = next.clone();
        let Ok(then) = app.blocking(move |app| Ok::<_, Refused>(step(app, now))).await else { return };
        (next, pause) = match then {
            Some(next) => (next, PAUSE),
            None => {
                let scrub = &app.telemetry.upkeep.scrub;
                let damaged = scrub.end();
                app.runtime.set_warning(WARNING, damaged.first().map(String::as_str).map(warning));
                match damaged.first() {
                    None => info!("the scrub read everything that is stored: nothing is damaged"),
                    Some(first) => error!(damaged = damaged.len(), "{}", warning(first)),
                }
                scrub.begin();
                (ScrubStep::Archive(0), BETWEEN)
            }
        };
    }
}

/// Records damage. `/readyz` warns at once.
fn record_damage(app: &App, what: String) {
    app.runtime.set_warning(WARNING, Some(warning(&what)));
    app.telemetry.upkeep.scrub.found(what);
}

fn warning(what: &str) -> String {
    format!("the scrub found damage: {what}. Run trackside doctor and see docs/operating/recovery.md")
}

/// Does one piece, and returns the next one.
fn step(app: &App, now: ScrubStep) -> Option<ScrubStep> {
    let scrub = &app.telemetry.upkeep.scrub;
    match now {
        ScrubStep::Archive(after) => match archived(app, after) {
            Ok(Some(last)) => {
                scrub.advance(last, app.reads.seq());
                Some(ScrubStep::Archive(last))
            }
            Ok(None) => Some(ScrubStep::Journal(0)),
            Err(error) => {
                // Files that were moved away are no damage.
                if !matches!(error, StoreError::NotArchived { .. }) {
                    record_damage(app, error.to_string());
                }
                Some(ScrubStep::Journal(0))
            }
        },
        ScrubStep::Journal(after) => match journalled(app, after) {
            Ok(Some(last)) => {
                scrub.advance(last, app.reads.seq());
                Some(ScrubStep::Journal(last))
            }
            Ok(None) => {
                Some(ScrubStep::Artifacts(Artifacts::of(&app.options.data).ids().unwrap_or_default()))
            }
            Err(StoreError::Chain { seq, what }) => {
                record_damage(app, StoreError::Chain { seq, what }.to_string());
                Some(ScrubStep::Journal(seq.max(after.saturating_add(1))))
            }
            Err(StoreError::Unreadable { seq, what }) => {
                record_damage(app, StoreError::Unreadable { seq, what }.to_string());
                Some(ScrubStep::Journal(seq.max(after.saturating_add(1))))
            }
            Err(error) => {
                record_damage(app, error.to_string());
                Some(ScrubStep::Artifacts(Artifacts::of(&app.options.data).ids().unwrap_or_default()))
            }
        },
        ScrubStep::Artifacts(mut left) => {
            let artifacts = Artifacts::of(&app.options.data);
            for id in left.split_off(left.len().saturating_sub(ARTIFACTS)) {
                if let Err(error) = artifacts.get(&id) {
                    record_damage(app, error.to_string());
                }
            }
            Some(if left.is_empty() { ScrubStep::Files } else { ScrubStep::Artifacts(left) })
        }
        ScrubStep::Files => {
            for file in Sqlite::health(&app.options.data).into_iter().flatten() {
                if let Some(problem) = file.problems.first() {
                    let found = format!("{}: {problem}", file.path.display());
                    if file.path.ends_with("state.db") {
                        app.runtime.store().request_rebuild(&found);
                    }
                    record_damage(app, found);
                }
            }
            None
        }
    }
}

/// Verifies some archived entries; the last of them, or none if there are no more.
fn archived(app: &App, after: u64) -> Result<Option<u64>, StoreError> {
    let store = app.runtime.store();
    let base = store.reader()?.base()?;
    if after >= base.seq {
        return Ok(None);
    }
    let mut last = None;
    for record in store.archive()?.archived_after(after, base)?.take(ENTRIES) {
        last = Some(record?.seq);
    }
    Ok(last)
}

/// Verifies some entries of the journal; the last of them, or none if there are no more.
fn journalled(app: &App, after: u64) -> Result<Option<u64>, StoreError> {
    let mut reader = app.runtime.store().reader()?;
    Ok(reader.records(after, ENTRIES)?.last().map(|it| it.seq))
}
