//! How far a search goes, and why it stopped.

use serde::Serialize;

/// What a search may spend. The same bound gives the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchBound {
    /// Most different worlds.
    pub worlds: usize,
    /// Most moves from the start.
    pub depth: u32,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// There is nothing else: every world that can be reached was looked at.
    Exhausted,
    /// The bound on worlds was reached.
    Worlds,
    /// The bound on depth was reached.
    Depth,
    /// The watcher stopped it: the time or memory limit is reached.
    Asked,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Different worlds found.
    pub worlds: usize,
    /// Worlds whose moves were all followed.
    pub followed: usize,
    /// Moves followed, also those that lead to a world known already.
    pub moves: u64,
    /// Every world at most this many moves from the start is among those found.
    pub depth: u32,
}
