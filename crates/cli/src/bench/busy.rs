//! Other load on the machine while answer times are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time in which the share of a core is used once.
const PERIOD: Duration = Duration::from_millis(10);

/// Threads that use the processor until this is dropped.
#[derive(Debug)]
pub(super) struct BusyThreads(Arc<AtomicBool>);

impl BusyThreads {
    /// Uses this many percent of one core; 200 are two cores.
    pub(super) fn start(percent: u32) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut left = percent;
        while left > 0 {
            let share = left.min(100);
            let over = over.clone();
            std::thread::spawn(move || use_processor(share, &over));
            left -= share;
        }
        Self(over)
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn use_processor(percent: u32, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        while begun.elapsed() < PERIOD * percent / 100 {
            std::hint::spin_loop();
        }
        std::thread::sleep(PERIOD.saturating_sub(begun.elapsed()));
    }
}
