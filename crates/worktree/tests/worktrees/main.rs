//! Worktrees in real repositories.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod changes;
mod committing;
mod committing_tasks;
mod creating;
mod failing_saves;
mod fixture;
mod kills;
mod leftovers;
mod merging;
mod planted;
mod saving;
