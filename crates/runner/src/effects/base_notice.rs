//! Tells a working agent that its integration branch moved.

use crate::agent_loop::AgentLoop;
use crate::runner_folder::AssignmentRecord;

/// Characters of a commit that are shown.
const SHORT: usize = 12;

impl AgentLoop<'_> {
    /// A message for the agent, if its integration branch has moved since the last look.
    pub(crate) fn news_of_base(&self, record: &mut AssignmentRecord) -> Option<String> {
        let repository = &self.git.as_ref()?.repository;
        let task = record.task_folder.as_mut()?;
        let branch = &task.worktree.as_ref()?.integration;
        let tip = repository.git().commit(&format!("refs/heads/{branch}")).ok().flatten()?;
        let before = task.integration.replace(tip.clone())?;
        let short: String = tip.chars().take(SHORT).collect();
        (before != tip).then(|| {
            format!(
                "{branch} has moved to {short}: other work was merged. If it touches what you change, merge {branch} into your branch before you finish"
            )
        })
    }
}
