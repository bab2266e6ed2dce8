//! Worktrees in real repositories.

mod changes;
mod creating;
mod fixture;
mod kills;
mod merging;
mod saving;
