//! Worktrees in real repositories.

mod creating;
mod fixture;
mod kills;
mod merging;
mod saving;
