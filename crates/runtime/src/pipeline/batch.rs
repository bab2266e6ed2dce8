//! Several commands that are done together, or not at all.

use std::sync::Arc;

use trackside_engine::command::Command;
use trackside_engine::{Decision, View, apply, decide};

use super::decider::{Decider, ROUNDS, too_wide, unavailable};
use crate::answer::{Answer, Batch, Failure, Verdict};
use crate::planted::{Bug, is_planted};
use crate::stages::Stages;

impl Decider {
    /// Decides commands one after the other, each seeing those before it, and does them if none is refused.
    pub(super) fn all_or_none(
        &mut self,
        commands: &[Command],
        stages: &[Arc<Stages>],
    ) -> Result<Batch, Failure> {
        self.turn.commands += commands.len();
        // Elsewhere: what is recorded cannot be taken back.
        let mut trial = View::partial(self.view.seq);
        trial.project = self.view.project.clone();
        trial.resumed_at = self.view.resumed_at;
        let mut decided = Vec::with_capacity(commands.len());
        for (place, command) in commands.iter().enumerate() {
            let noted = stages.get(place);
            noted.inspect(|it| it.is_taken());
            let decision = self.try_out(&mut trial, command)?;
            noted.inspect(|it| it.is_decided());
            if let Decision::Accepted(accepted) = &decision {
                accepted.entries.iter().for_each(|it| apply(&mut trial, it));
            }
            decided.push(decision);
        }
        if decided.iter().any(|it| matches!(it, Decision::Refused(_) | Decision::Needs(_))) {
            if is_planted(Bug::HalfOfAll) {
                let answers: Result<Vec<Answer>, Failure> =
                    commands.iter().map(|it| self.answer(it)).collect();
                return answers.map(Batch::Done);
            }
            return Ok(Batch::Refused(decided.into_iter().map(verdict).collect()));
        }
        let done = decided.into_iter().filter_map(|it| match it {
            Decision::Accepted(accepted) => Some(self.carry_out(accepted)),
            Decision::Replayed { first, entries, root } => Some(Answer::Replayed { first, entries, root }),
            Decision::Refused(_) | Decision::Needs(_) => None,
        });
        Ok(Batch::Done(done.collect()))
    }

    /// Decides against a view of its own, into which goes what the decision needs.
    fn try_out(&mut self, trial: &mut View, command: &Command) -> Result<Decision, Failure> {
        let mut decision = decide(&self.law, trial, command, self.now);
        for _ in 0..ROUNDS {
            let Decision::Needs(needs) = decision else { break };
            for need in needs {
                self.load(need.clone()).map_err(unavailable)?;
                trial.load_from(&self.view, need);
            }
            decision = decide(&self.law, trial, command, self.now);
        }
        Ok(decision)
    }
}

/// What is said of a command in a batch that is not done.
fn verdict(decision: Decision) -> Verdict {
    match decision {
        Decision::Refused(mut refusal) => {
            // Evidence is kept of a request that was decided; none of these was.
            refusal.kept = None;
            Verdict::Refused(refusal)
        }
        Decision::Needs(_) => Verdict::Refused(Box::new(too_wide())),
        Decision::Accepted(_) | Decision::Replayed { .. } => Verdict::Passed,
    }
}
