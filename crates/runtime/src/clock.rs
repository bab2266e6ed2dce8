//! What time it is. The only place that asks the machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use trackside_lifecycle::time::Timestamp;

/// The file in the folder of a project that says that its clock is moved by hand.
const NOTE: &str = "clock";

/// Tells the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's.
    System,
    /// Stands still until somebody moves it.
    Manual(Arc<AtomicI64>),
    /// As the machine's, which somebody sets as they like.
    #[cfg(feature = "simulation")]
    Simulated(Arc<AtomicI64>),
}

impl Clock {
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

    pub fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Moves a manual clock, never backwards.
    pub(crate) fn set(&self, to: Timestamp) {
        if let Self::Manual(now) = self {
            now.fetch_max(to.0, Ordering::AcqRel);
        }
    }

    /// Notes in the folder of a project that it lives by this clock, for those who come while nothing runs there.
    pub fn note(&self, folder: &Path) -> std::io::Result<()> {
        let path = folder.join(NOTE);
        match self.is_manual() {
            true => std::fs::write(path, "manual\n"),
            false => std::fs::remove_file(path).or_else(|it| match it.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(it),
            }),
        }
    }

    /// Whether it was noted that the project in a folder lives by a clock that is moved by hand.
    pub fn is_manual_in(folder: &Path) -> bool {
        std::fs::read_to_string(folder.join(NOTE)).is_ok_and(|it| it.trim() == "manual")
    }
}
