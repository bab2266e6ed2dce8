//! Locks of readers and writers on a database file without a WAL.

use std::collections::BTreeMap;

/// How much of a file a connection has claimed, as SQLite numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    None,
    /// Reads.
    Shared,
    /// Reads, and will write later; one only.
    Reserved,
    /// Waits until the last reader is gone; no new ones come in.
    Pending,
    /// Writes, alone.
    Exclusive,
}

/// The locks on one file, by holder.
#[derive(Debug, Default)]
pub struct Locks {
    held: BTreeMap<u64, Level>,
}

impl Locks {
    /// Whether `who` holds `level` now. A writer that waits for readers stays at [`Level::Pending`].
    pub fn lock(&mut self, who: u64, level: Level) -> bool {
        if self.held.get(&who).copied().unwrap_or_default() >= level {
            return true;
        }
        let others =
            self.held.iter().filter(|(it, _)| **it != who).map(|(_, level)| *level).max().unwrap_or_default();
        let (granted, reached) = match level {
            Level::None => (true, Level::None),
            Level::Shared => (others < Level::Pending, Level::Shared),
            Level::Reserved => (others < Level::Reserved, Level::Reserved),
            Level::Pending | Level::Exclusive if others >= Level::Reserved => (false, level),
            Level::Pending | Level::Exclusive if others == Level::Shared => {
                self.held.insert(who, Level::Pending);
                (level == Level::Pending, Level::Pending)
            }
            Level::Pending | Level::Exclusive => (true, level),
        };
        if granted {
            self.held.insert(who, reached);
        }
        granted
    }

    pub fn unlock(&mut self, who: u64, to: Level) {
        match to {
            Level::None => {
                self.held.remove(&who);
            }
            _ => {
                if let Some(level) = self.held.get_mut(&who) {
                    *level = (*level).min(to);
                }
            }
        }
    }

    /// Whether a connection will write.
    pub fn reserved(&self) -> bool {
        self.held.values().any(|it| *it >= Level::Reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_waits_for_readers_and_keeps_new_ones_out() {
        let mut locks = Locks::default();
        assert!(locks.lock(1, Level::Shared) && locks.lock(2, Level::Shared));
        assert!(locks.lock(1, Level::Reserved));
        assert!(locks.reserved());
        assert!(!locks.lock(2, Level::Reserved), "a second one reserved");
        assert!(locks.lock(3, Level::Shared), "readers come in while one is reserved");
        assert!(!locks.lock(1, Level::Exclusive));
        assert!(!locks.lock(4, Level::Shared), "a reader came in while one is pending");
        locks.unlock(2, Level::None);
        assert!(!locks.lock(1, Level::Exclusive));
        locks.unlock(3, Level::None);
        assert!(locks.lock(1, Level::Exclusive));
        assert!(!locks.lock(4, Level::Shared));
        locks.unlock(1, Level::Shared);
        assert!(locks.lock(4, Level::Shared) && !locks.reserved());
    }

    #[test]
    fn a_reader_that_recovers_takes_all_at_once_but_not_from_a_reserved_one() {
        let mut locks = Locks::default();
        assert!(locks.lock(1, Level::Shared) && locks.lock(1, Level::Exclusive));
        locks.unlock(1, Level::None);
        assert!(locks.lock(2, Level::Shared) && locks.lock(2, Level::Reserved));
        assert!(locks.lock(1, Level::Shared) && !locks.lock(1, Level::Exclusive));
        assert!(locks.lock(3, Level::Shared), "the attempt that failed left a pending lock");
    }
}
