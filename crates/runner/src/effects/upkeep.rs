//! What a runner does for a repository from time to time: ready worktrees, and saved work whose retention has ended.

use std::time::{Duration, Instant};

use trackside_worktree::prune_saved_work;

use super::git_work::{GitWork, WORKTREES};
use crate::server_api::ServerApi;

/// The shortest and the longest pause after a ready worktree could not be made.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(1_800);
/// The time between two looks for saved work whose retention has ended.
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// The upkeep of one repository by one runner.
#[derive(Debug)]
pub(super) struct RepositoryUpkeep {
    pool: FailurePause,
    pruned: Option<Instant>,
}

/// A pause that doubles with each failure in a row.
#[derive(Debug)]
struct FailurePause {
    until: Instant,
    next: Duration,
}

impl FailurePause {
    fn new(now: Instant) -> Self {
        Self { until: now, next: SHORTEST }
    }

    fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }

    fn fail(&mut self, now: Instant) {
        self.until = now + self.next;
        self.next = (self.next * 2).min(LONGEST);
    }
}

impl RepositoryUpkeep {
    pub fn new() -> Self {
        Self { pool: FailurePause::new(Instant::now()), pruned: None }
    }

    /// Does what is due. Returns a line for people about what went wrong.
    pub fn run(&mut self, git: &GitWork, api: &ServerApi) -> Option<String> {
        let now = Instant::now();
        let mut said = None;
        if self.pruned.is_none_or(|it| now >= it + PRUNE_EVERY) {
            said = self.prune(git, api, now);
        }
        if self.pool.is_over(now) {
            match fill_pool(git) {
                Ok(()) => self.pool = FailurePause::new(now),
                Err(why) => {
                    said = Some(format!("no ready worktree could be made: {why}"));
                    self.pool.fail(Instant::now());
                }
            }
        }
        said
    }

    /// Deletes saved work whose retention has ended by the clocks of both the server and this machine. A clock that
    /// jumped ahead deletes nothing.
    fn prune(&mut self, git: &GitWork, api: &ServerApi, now: Instant) -> Option<String> {
        let server: jiff::Timestamp = api.clock().ok()?.now.parse().ok()?;
        self.pruned = Some(now);
        let earlier = server.min(jiff::Timestamp::now());
        let pruned = prune_saved_work(&git.repository, earlier, &[]);
        pruned.err().map(|it| format!("saved work could not be deleted: {it}"))
    }
}

/// Keeps ready worktrees for the next task, once a task has shown from which branch they start.
fn fill_pool(git: &GitWork) -> Result<(), String> {
    let records = git.repository.worktree_records().map_err(|it| it.to_string())?;
    let latest = records.iter().filter(|it| !it.integration.is_empty()).max_by_key(|it| it.made_for.number);
    let Some(latest) = latest else { return Ok(()) };
    let filled = git.repository.fill_pool(WORKTREES, &latest.integration, &git.environment);
    filled.map(|_| ()).map_err(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_after_failures_doubles_up_to_half_an_hour() {
        let start = Instant::now();
        let mut pause = FailurePause::new(start);
        assert!(pause.is_over(start));
        let mut pauses = Vec::new();
        for _ in 0..10 {
            pause.fail(start);
            assert!(!pause.is_over(start));
            pauses.push((pause.until - start).as_secs());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1_280, 1_800, 1_800]);
    }
}
