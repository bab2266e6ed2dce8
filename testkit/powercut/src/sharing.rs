//! The memory that connections to a database with a WAL share, and its locks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// The state that the connections to one database share. Gone when the last of them closes.
#[derive(Debug, Default)]
pub struct SharedMemory {
    /// SQLite writes to them from all threads, so they consist of atomics.
    regions: Vec<Box<[AtomicU64]>>,
    locks: BTreeMap<usize, Lock>,
    members: BTreeSet<u64>,
    /// Whether a connection with write access has set up the memory.
    pub set_up: bool,
}

#[derive(Debug)]
enum Lock {
    Shared(BTreeSet<u64>),
    Exclusive(u64),
}

impl SharedMemory {
    pub fn join(&mut self, who: u64) {
        self.members.insert(who);
    }

    /// Returns whether no member is left.
    pub fn leave(&mut self, who: u64) -> bool {
        self.unlock(who, 0..usize::MAX);
        self.members.remove(&who);
        self.members.is_empty()
    }

    /// The start of a region; none if it does not exist and `make` is false. Regions do not move.
    pub fn region(&mut self, index: usize, size: usize, make: bool) -> Option<*mut u64> {
        while make && self.regions.len() <= index {
            self.regions.push((0..size.div_ceil(8)).map(|_| AtomicU64::new(0)).collect());
        }
        self.regions.get(index)?.first().map(AtomicU64::as_ptr)
    }

    pub fn lock_shared(&mut self, who: u64, slot: usize) -> bool {
        match self.locks.entry(slot).or_insert_with(|| Lock::Shared(BTreeSet::new())) {
            Lock::Shared(holders) => {
                holders.insert(who);
                true
            }
            Lock::Exclusive(holder) => *holder == who,
        }
    }

    /// Locks all of the slots or none.
    pub fn lock_exclusive(&mut self, who: u64, slots: Range<usize>) -> bool {
        let free = self.locks.range(slots.clone()).all(|(_, lock)| match lock {
            Lock::Shared(_) => false,
            Lock::Exclusive(holder) => *holder == who,
        });
        if free {
            self.locks.extend(slots.map(|slot| (slot, Lock::Exclusive(who))));
        }
        free
    }

    pub fn unlock(&mut self, who: u64, slots: Range<usize>) {
        self.locks.retain(|slot, lock| match lock {
            _ if !slots.contains(slot) => true,
            Lock::Shared(holders) => {
                holders.remove(&who);
                !holders.is_empty()
            }
            Lock::Exclusive(holder) => *holder != who,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_share_or_one_has_it_alone() {
        let mut sharing = SharedMemory::default();
        assert!(sharing.lock_shared(1, 3) && sharing.lock_shared(2, 3));
        assert!(!sharing.lock_exclusive(3, 2..5), "one of three slots is shared");
        assert!(sharing.lock_exclusive(3, 4..6), "the attempt that failed left nothing behind");
        assert!(!sharing.lock_shared(1, 5));
        sharing.unlock(1, 3..4);
        assert!(!sharing.lock_exclusive(3, 3..4));
        sharing.unlock(2, 3..4);
        assert!(sharing.lock_exclusive(3, 3..4));
        sharing.unlock(1, 3..4);
        assert!(!sharing.lock_shared(2, 3), "unlocked by one who did not hold it");
    }

    #[test]
    fn a_closed_connection_releases_its_locks() {
        let mut sharing = SharedMemory::default();
        sharing.join(1);
        sharing.join(2);
        assert!(sharing.lock_exclusive(1, 0..8));
        assert!(!sharing.leave(1));
        assert!(sharing.lock_exclusive(2, 0..8));
        assert!(sharing.leave(2));
    }

    #[test]
    fn regions_are_made_on_demand_and_stay() {
        let mut sharing = SharedMemory::default();
        assert_eq!(sharing.region(0, 32768, false), None);
        let first = sharing.region(0, 32768, true);
        assert!(first.is_some());
        sharing.region(40, 32768, true);
        assert_eq!(sharing.region(0, 32768, false), first);
    }
}
