//! The processor time of a thread, for tests that compare the cost of two inputs on a busy machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that this thread spends on `work`.
pub(crate) fn cpu_time(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let before = now();
    work();
    now() - before
}
