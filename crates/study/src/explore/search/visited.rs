//! The worlds found so far: the predecessor of each, and the move that led to it.

use trackside_engine::index::Index;

/// A world by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorldId(pub(super) u32);

/// The origin of a world: its predecessor, none for a start, and the number of the move (of the start).
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldOrigin {
    pub(super) parent: Option<WorldId>,
    pub(super) nth: u32,
}

#[derive(Debug, Default)]
pub(super) struct VisitedWorlds {
    numbers: Index<u128, u32>,
    origins: Vec<WorldOrigin>,
}

impl VisitedWorlds {
    pub(super) fn has(&self, key: u128) -> bool {
        self.numbers.get(&key).is_some()
    }

    /// The number of a new world; none if it is known.
    pub(super) fn add(&mut self, key: u128, origin: WorldOrigin) -> Option<WorldId> {
        if self.has(key) {
            return None;
        }
        let number = u32::try_from(self.origins.len()).ok()?;
        self.numbers.insert(key, number);
        self.origins.push(origin);
        Some(WorldId(number))
    }

    pub(super) fn len(&self) -> usize {
        self.origins.len()
    }

    /// The moves that lead to a world: first the number of the start, then one number a move.
    pub(super) fn moves_to(&self, to: WorldId) -> Vec<u32> {
        let mut way = Vec::new();
        let mut at = Some(to);
        while let Some(node) = at {
            let Some(origin) = self.origins.get(node.0 as usize) else { break };
            way.push(origin.nth);
            at = origin.parent;
        }
        way.reverse();
        way
    }
}
