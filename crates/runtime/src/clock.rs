//! The project's clock. The only module that reads the machine's clock.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trackside_lifecycle::time::Timestamp;

/// The file in a project's folder that records a manual clock and its time.
const NOTE: &str = "clock";
const MANUAL: &str = "manual";

/// Notes are written one after the other, so that the last one has the latest time.
static NOTING: Mutex<()> = Mutex::new(());

/// The project's clock: the machine's, or a manual one.
#[derive(Clone, Debug)]
pub enum ProjectClock {
    /// The machine's.
    System,
    /// Stands still until it is moved.
    Manual(Arc<AtomicI64>),
    /// The machine's clock, which can be set back.
    #[cfg(feature = "simulation")]
    Simulated(Arc<AtomicI64>),
}

impl ProjectClock {
    pub fn manual(now: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(now.0)))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp(jiff::Timestamp::now().as_millisecond()),
            Self::Manual(now) => Timestamp(now.load(Ordering::Acquire)),
            #[cfg(feature = "simulation")]
            Self::Simulated(now) => Timestamp(now.load(Ordering::Acquire)),
        }
    }

    /// A time that only measures intervals, for work that is spread over time. None for a manual clock: nothing waits
    /// for one.
    pub(crate) fn interval_time(&self) -> Option<Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::System => Some(START.elapsed()),
            Self::Manual(_) => None,
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => Some(Duration::from_millis(u64::try_from(self.now().0).unwrap_or(0))),
        }
    }

    pub fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Moves a manual clock, never backwards.
    pub(crate) fn set(&self, to: Timestamp) {
        if let Self::Manual(now) = self {
            now.fetch_max(to.0, Ordering::AcqRel);
        }
    }

    /// Records a manual clock and its time in the project's folder, durably: for the next start, and for
    /// commands that run without a server.
    pub fn note(&self, folder: &Path) -> io::Result<()> {
        let _alone = NOTING.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_manual() {
            return write(folder, &format!("{MANUAL} {}\n", self.now()));
        }
        match fs::remove_file(folder.join(NOTE)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the note in a folder says that its project has a manual clock.
    pub fn is_manual_in(folder: &Path) -> bool {
        read_note(folder).is_some()
    }

    /// The noted time of that clock, if there is one.
    pub fn noted_in(folder: &Path) -> Option<Timestamp> {
        Timestamp::parse(read_note(folder)?.trim())
    }
}

/// The rest of the note. Notes of earlier builds contain nothing else.
fn read_note(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(NOTE)).ok()?;
    text.strip_prefix(MANUAL).map(str::to_owned)
}

/// Writes the note whole or not at all.
fn write(folder: &Path, text: &str) -> io::Result<()> {
    let (note, beside) = (folder.join(NOTE), folder.join("clock.new"));
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &note)?;
    // Systems that cannot sync a folder do not need it.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_records_the_time_of_a_manual_clock() {
        let folder = std::env::temp_dir().join(format!("trackside-clock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(!ProjectClock::is_manual_in(&folder) && ProjectClock::noted_in(&folder).is_none());
        let clock = ProjectClock::manual(Timestamp(0));
        clock.set(Timestamp(1_500));
        clock.note(&folder).unwrap();
        assert!(ProjectClock::is_manual_in(&folder));
        assert_eq!(ProjectClock::noted_in(&folder), Some(Timestamp(1_500)));
        fs::write(folder.join(NOTE), "manual\n").unwrap();
        assert!(
            ProjectClock::is_manual_in(&folder) && ProjectClock::noted_in(&folder).is_none(),
            "as it was before"
        );
        ProjectClock::System.note(&folder).unwrap();
        ProjectClock::System.note(&folder).unwrap();
        assert!(!ProjectClock::is_manual_in(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
