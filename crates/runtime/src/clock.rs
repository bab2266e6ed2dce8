//! What time it is. The only place that asks the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use trackside_lifecycle::time::Timestamp;

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
}
