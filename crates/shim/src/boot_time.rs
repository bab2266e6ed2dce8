//! The boot clock. It counts while the machine is suspended, and cannot be set.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since boot, time in suspension included.
pub fn now() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// Nanoseconds since boot, without time in suspension.
pub(crate) fn awake() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Identifies this boot of the machine.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|it| it.trim().to_owned())
        .unwrap_or_default()
}
