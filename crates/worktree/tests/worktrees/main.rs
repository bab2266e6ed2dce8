//! Worktrees in real repositories.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod changes;
mod committing;
mod creating;
mod fixture;
mod failing_saves;
mod kills;
mod merging;
mod planted;
mod leftovers;
mod saving;
