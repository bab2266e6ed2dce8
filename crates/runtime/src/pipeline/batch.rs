//! Several commands that are done together, or not at all.

use std::sync::Arc;

use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::view::Need;
use trackside_engine::{Decision, View, apply, decide};
use trackside_store::StoreError;

use super::decider::{Decider, refuse_too_large, unavailable};
use crate::answer::{BatchAnswer, BatchVerdict, CommandAnswer, Failure};
use crate::failpoints::{Failpoint, is_enabled};
use crate::stages::Stages;

impl Decider {
    /// Decides commands one after the other, each on top of those before it, and carries them out if none
    /// is refused.
    pub(super) fn all_or_none(
        &mut self,
        commands: &[Command],
        stages: &[Arc<Stages>],
    ) -> Result<BatchAnswer, Failure> {
        self.batch.content.commands += commands.len();
        let decisions = self.try_commands(commands, stages)?;
        if decisions.iter().any(|it| matches!(it, Decision::Refused(_))) {
            if is_enabled(Failpoint::BatchPartlyApplied) {
                let answers: Result<Vec<CommandAnswer>, Failure> =
                    commands.iter().map(|it| self.answer(it)).collect();
                return answers.map(BatchAnswer::Done);
            }
            return Ok(BatchAnswer::Refused(decisions.into_iter().map(verdict).collect()));
        }
        let done = decisions.into_iter().filter_map(|it| match it {
            Decision::Accepted(accepted) => Some(self.carry_out(accepted)),
            Decision::Replayed { first, entries, root } => {
                Some(CommandAnswer::Replayed { first, entries, root })
            }
            Decision::Refused(_) => None,
        });
        Ok(BatchAnswer::Done(done.collect()))
    }

    /// Decides commands one after the other, each on top of those before it that are accepted. Changes nothing, except
    /// that it repairs damaged rows that it meets.
    pub(super) fn try_commands(
        &mut self,
        commands: &[Command],
        stages: &[Arc<Stages>],
    ) -> Result<Vec<Decision>, Failure> {
        loop {
            match self.try_commands_once(commands, stages) {
                // From the start: the repair is an entry of its own.
                Err(error) if self.heals(&error) => {}
                Err(error) => return Err(unavailable(error)),
                Ok(decisions) => return Ok(decisions),
            }
        }
    }

    fn try_commands_once(
        &mut self,
        commands: &[Command],
        stages: &[Arc<Stages>],
    ) -> Result<Vec<Decision>, StoreError> {
        // In a view beside the memory, because recorded entries cannot be undone.
        let mut trial = View::partial(self.memory.view.seq);
        trial.project = self.memory.view.project.clone();
        trial.resumed_at = self.memory.view.resumed_at;
        trial.pauses = self.memory.view.pauses.clone();
        let mut decisions: Vec<Decision> = Vec::with_capacity(commands.len());
        for (place, command) in commands.iter().enumerate() {
            let noted = stages.get(place);
            noted.inspect(|it| it.mark_taken());
            let now = self.now();
            let catch_up = |view: &mut View, need: &Need| {
                decisions.iter().flat_map(entries).for_each(|it| view.catch_up(need, it));
            };
            let decision =
                self.memory.answer_in(&mut trial, |law, view| decide(law, view, command, now), catch_up);
            let decision = refuse_too_large(decision)?;
            noted.inspect(|it| it.mark_decided());
            if let Decision::Accepted(accepted) = &decision {
                accepted.entries.iter().for_each(|it| apply(&mut trial, it));
            }
            decisions.push(decision);
        }
        Ok(decisions)
    }
}

/// The entries of an accepted command.
fn entries(decision: &Decision) -> &[Entry] {
    match decision {
        Decision::Accepted(accepted) => &accepted.entries,
        Decision::Refused(_) | Decision::Replayed { .. } => &[],
    }
}

/// The verdict on one command of a refused batch.
fn verdict(decision: Decision) -> BatchVerdict {
    match decision {
        Decision::Refused(mut refusal) => {
            // Evidence is stored only for a decided request; none of these was.
            refusal.kept = None;
            BatchVerdict::Refused(refusal)
        }
        Decision::Accepted(_) | Decision::Replayed { .. } => BatchVerdict::Passed,
    }
}
