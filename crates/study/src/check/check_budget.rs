//! A limit on the work of the checks, so that no definition keeps them busy for long.

use std::cell::Cell;
use std::fmt;

/// The steps that all checks of one pack may take. A step is one move looked at, or one combination of values tried.
/// The packs that ship with Trackside take fewer than three million.
pub const MOST_STEPS: u64 = 300_000_000;

/// How many steps pass before the caller is asked again whether to stop.
const BETWEEN: u64 = 4096;

/// Counts the steps of the checks, and ends them when there are too many or when the caller says so.
pub struct CheckBudget<'a> {
    most: u64,
    spent: Cell<u64>,
    ask_at: Cell<u64>,
    is_stopped: Cell<bool>,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> CheckBudget<'a> {
    /// At most `most` steps, and only while `stop` returns false.
    pub fn new(most: u64, stop: &'a dyn Fn() -> bool) -> Self {
        Self { most, spent: Cell::new(0), ask_at: Cell::new(0), is_stopped: Cell::new(false), stop }
    }

    /// Records a step. Returns false once the checks must end.
    pub fn step(&self) -> bool {
        self.steps(1)
    }

    /// Records several steps. Returns false once the checks must end.
    pub fn steps(&self, count: usize) -> bool {
        let spent = self.spent.get().saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.spent.set(spent);
        if spent >= self.ask_at.get() && !self.is_stopped.get() {
            self.ask_at.set(spent.saturating_add(BETWEEN));
            self.is_stopped.set(spent > self.most || (self.stop)());
        }
        !self.is_stopped.get()
    }

    /// The steps so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Whether the checks ended early.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }
}

impl fmt::Debug for CheckBudget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckBudget")
            .field("spent", &self.spent.get())
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// The checks ended before they were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksStopped {
    pub steps: u64,
}

impl ChecksStopped {
    /// Advice for the author of the pack.
    pub const ADVICE: &'static str = "Make the lifecycle smaller: fewer states, transitions with fewer `from` states, or two lifecycles with a ref";
}

impl fmt::Display for ChecksStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the checks were stopped after {} steps", self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_the_limit_or_when_the_caller_says_so() {
        let work = CheckBudget::new(3 * BETWEEN, &|| false);
        let taken = (0..10 * BETWEEN).take_while(|_| work.step()).count() as u64;
        assert!((3 * BETWEEN..=4 * BETWEEN).contains(&taken), "{taken}");
        assert!(work.is_stopped() && !work.step());
        let work = CheckBudget::new(u64::MAX, &|| true);
        assert!(!work.step());
    }
}
