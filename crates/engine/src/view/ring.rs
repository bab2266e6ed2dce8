//! The order in which eviction visits cached items.

use std::collections::VecDeque;

/// Keys of cached items, as on the face of a clock: eviction moves the hand a few places at a time and returns to where it
/// stopped. A key may be here whose item is gone already.
#[derive(Clone, Debug)]
pub(crate) struct EvictionRing<K>(VecDeque<K>);

impl<K> Default for EvictionRing<K> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K> EvictionRing<K> {
    pub fn push(&mut self, key: K) {
        self.0.push_back(key);
    }

    /// The key under the hand. Push it again if its item stays.
    pub fn next(&mut self) -> Option<K> {
        self.0.pop_front()
    }
}

/// Views with the same content are equal, also if their eviction orders differ.
impl<K> PartialEq for EvictionRing<K> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
