//! Backups that the server makes by itself: complete ones at an interval, increments between them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracing::{error, info};
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::ProjectClock;
use trackside_store::backups::{back_up, remove_unfinished_in};
use trackside_store::{BackupSet, StoreError};

use crate::app::App;

/// The longest pause between two looks at the folder of backups.
const LOOK: Duration = Duration::from_secs(60);

/// When backups are made, and how many are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSchedule {
    /// The folder of the backups; each is a folder in it.
    pub to: PathBuf,
    /// The age of the newest complete backup at which another is made.
    pub every: Duration,
    /// The age of the newest increment at which another is made; none for no increments.
    pub increment_every: Option<Duration>,
    /// The number of complete backups to keep, with their increments.
    pub keep: usize,
}

/// The work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Complete,
    Increment,
    Nothing,
}

impl BackupSchedule {
    fn pause(&self) -> Duration {
        self.increment_every.map_or(self.every, |it| it.min(self.every)).min(LOOK)
    }

    /// The work that is due, from the ages of the newest complete backup and of its newest part.
    fn due(&self, complete: Option<Duration>, newest: Option<Duration>) -> Due {
        match (complete, newest, self.increment_every) {
            (None, ..) => Due::Complete,
            (Some(age), ..) if age >= self.every => Due::Complete,
            (_, Some(age), Some(every)) if age >= every => Due::Increment,
            _ => Due::Nothing,
        }
    }
}

/// Makes backups until the server stops.
pub(crate) async fn run(app: App, schedule: BackupSchedule) {
    let mut stopping = app.stopping.subscribe();
    let mut failed = false;
    // A kill may have left one.
    remove_unfinished_in(&schedule.to);
    loop {
        let (worker, plan) = (app.clone(), schedule.clone());
        let done = tokio::task::spawn_blocking(move || make_due(&worker, &plan)).await;
        let done = done.unwrap_or_else(|it| Err(StoreError::io("make a scheduled backup", it)));
        match done {
            Ok(None) => {}
            Ok(Some(made)) => {
                failed = false;
                app.telemetry.upkeep.backed_up.well();
                app.runtime.set_warning(WARNING, None);
                info!(to = made, "backed up");
            }
            Err(why) => {
                app.telemetry.upkeep.backed_up.failed();
                let why = why.to_string();
                app.runtime.set_warning(WARNING, Some(format!("the last scheduled backup failed: {why}")));
                // Once, until one succeeds.
                if !std::mem::replace(&mut failed, true) {
                    error!(why, "a scheduled backup failed");
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(schedule.pause()) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
    }
}

/// The name of the warning about failed backups.
const WARNING: &str = "backup";

/// Makes the backup or the increment that is due. Returns its folder.
fn make_due(app: &App, schedule: &BackupSchedule) -> Result<Option<String>, StoreError> {
    let failed = |it| StoreError::io(format!("make {}", schedule.to.display()), it);
    std::fs::create_dir_all(&schedule.to).map_err(failed)?;
    let newest = newest(&schedule.to)?;
    let age = |path: &Path| {
        let modified = std::fs::metadata(path).and_then(|it| it.modified()).ok();
        modified.map(|it| SystemTime::now().duration_since(it).unwrap_or_default())
    };
    let complete = newest.as_ref().and_then(|it| age(&it.join("journal.db")));
    let increments = newest.as_ref().and_then(|it| age(&it.join("increments")));
    let last = match (complete, increments) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, _) => one,
    };
    let store = app.runtime.store();
    match (schedule.due(complete, last), newest) {
        (Due::Nothing, _) => Ok(None),
        (Due::Increment, Some(newest)) => match BackupSet::open(&newest) {
            // An interval without entries needs no file.
            Ok(mut set) => match set.add_increment(store.as_ref(), &app.options.data) {
                Ok(added) => Ok(added.map(|it| it.path.display().to_string())),
                // After a restore the journal does not continue the backup.
                Err(StoreError::Io { .. }) => complete_backup(app, schedule).map(Some),
                Err(error) => Err(error),
            },
            // A damaged backup gets no increments.
            Err(_) => complete_backup(app, schedule).map(Some),
        },
        _ => complete_backup(app, schedule).map(Some),
    }
}

fn complete_backup(app: &App, schedule: &BackupSchedule) -> Result<String, StoreError> {
    let to = schedule.to.join(name(ProjectClock::System.now(), app.reads.seq()));
    back_up(app.runtime.store().as_ref(), &app.options.data, &to, &mut |_, _| {})?;
    let noted = app.runtime.options().clock.note(&to);
    noted.map_err(|it| StoreError::io(format!("note the clock in {}", to.display()), it))?;
    remove_oldest(&schedule.to, schedule.keep.max(1))?;
    Ok(to.display().to_string())
}

/// The name of a backup: its time and its last entry.
fn name(at: Timestamp, seq: u64) -> String {
    let at: String = at.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{at}-{seq}")
}

/// Whether the server gave a folder its name.
fn is_own(path: &Path) -> bool {
    let parts = path.file_name().and_then(|it| it.to_str()).and_then(|it| it.split_once('-'));
    parts.is_some_and(|(at, seq)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        at.strip_suffix('Z')
            .and_then(|it| it.split_once('T'))
            .is_some_and(|(day, time)| digits(day) && digits(time))
            && digits(seq)
    })
}

/// The complete backups that the server made, the oldest first.
fn own_backups(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |it| StoreError::io(format!("list {}", folder.display()), it);
    let all = std::fs::read_dir(folder).map_err(failed)?.flatten().map(|it| it.path());
    let mut own: Vec<PathBuf> = all.filter(|it| is_own(it) && it.join("journal.db").is_file()).collect();
    own.sort();
    Ok(own)
}

fn newest(folder: &Path) -> Result<Option<PathBuf>, StoreError> {
    Ok(own_backups(folder)?.pop())
}

/// Removes the oldest backups, each with its increments. The journal goes first: without it a folder is no backup.
fn remove_oldest(folder: &Path, keep: usize) -> Result<(), StoreError> {
    let own = own_backups(folder)?;
    for old in own.iter().take(own.len().saturating_sub(keep)) {
        let removed =
            std::fs::remove_file(old.join("journal.db")).and_then(|()| std::fs::remove_dir_all(old));
        removed.map_err(|it| StoreError::io(format!("remove {}", old.display()), it))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_backups_and_increments_are_due_by_their_age() {
        let hour = Duration::from_secs(3_600);
        let schedule =
            BackupSchedule { to: PathBuf::new(), every: 24 * hour, increment_every: Some(hour), keep: 2 };
        assert_eq!(schedule.due(None, None), Due::Complete);
        assert_eq!(schedule.due(Some(23 * hour), Some(hour / 2)), Due::Nothing);
        assert_eq!(schedule.due(Some(23 * hour), Some(hour)), Due::Increment);
        assert_eq!(schedule.due(Some(24 * hour), Some(hour)), Due::Complete);
        let whole = BackupSchedule { increment_every: None, ..schedule };
        assert_eq!(whole.due(Some(23 * hour), Some(hour)), Due::Nothing);
    }

    #[test]
    fn only_folders_of_the_schedule_are_removed() {
        for own in ["20260101T000000Z-12", "20260101T000000123Z-0"] {
            assert!(is_own(Path::new(own)), "{own}");
        }
        for other in
            ["monday", "20260101T000000Z", "20260101-12", "2026-01-01T00Z-1", "T000000Z-12", "20260101T0Z-"]
        {
            assert!(!is_own(Path::new(other)), "{other}");
        }
        assert!(is_own(Path::new(&name(ProjectClock::System.now(), 7))));
    }
}
