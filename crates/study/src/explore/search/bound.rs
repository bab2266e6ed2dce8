//! The bound of a search, and the reason for its end.

use serde::Serialize;

/// The budget of a search. The same bound gives the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchBound {
    /// Most different worlds.
    pub worlds: usize,
    /// Most moves from the start.
    pub depth: u32,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Every reachable world was explored.
    Exhausted,
    /// The bound on worlds was reached.
    Worlds,
    /// The bound on depth was reached.
    Depth,
    /// The watcher stopped it: the time or memory limit is reached.
    #[default]
    Asked,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Different worlds found.
    pub worlds: usize,
    /// Worlds whose moves were all explored.
    pub followed: usize,
    /// Explored moves, including those to known worlds.
    pub moves: u64,
    /// Every world at most this many moves from the start is among those found.
    pub depth: u32,
}
