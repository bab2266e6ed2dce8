//! Records runs that work in the main checkout, so that a commit takes the changes of its task and no others.

use crate::agent_loop::AgentLoop;
use crate::runner_folder::AssignmentRecord;

impl AgentLoop<'_> {
    /// Records that a run begins, if it works in the main checkout.
    pub(crate) fn record_beginning(&self, record: &AssignmentRecord) {
        self.record_run(record, true);
    }

    /// Records that a run has ended.
    pub(crate) fn record_end(&self, record: &AssignmentRecord) {
        self.record_run(record, false);
    }

    fn record_run(&self, record: &AssignmentRecord, begins: bool) {
        let (Some(git), Some((lifecycle, id))) = (&self.git, &record.entity) else { return };
        if record.task_folder.is_some() {
            return;
        }
        let (entity, agent) = (format!("{lifecycle}/{id}"), &self.settings.agent);
        let recorded = match begins {
            true => git.repository.begin_work(&entity, agent),
            false => git.repository.end_work(&entity, agent),
        };
        if let Err(error) = recorded {
            (self.say)(&format!("the state of the checkout was not recorded for {entity}: {error}"));
        }
    }
}
