//! Corrections of project time by a person.

use std::collections::BTreeSet;

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, ClockNews, Command};
use trackside_engine::key::EntityKey;
use trackside_engine::{Decision, decide};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::StoreError;

use super::decider::{Decider, refuse_too_large, unavailable};
use crate::answer::Failure;
use crate::requester::Requester;
use crate::steering::ClockDirection;

/// Timers read at a time.
const PAGE: usize = 1_000;

/// A correction of project time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockCorrection {
    Moved {
        from: Timestamp,
        to: Timestamp,
        /// The number of entities whose timers or leases were moved back with it.
        moved: usize,
        /// Entities whose timers could not be moved because their records cannot be read.
        unmoved: usize,
    },
    /// Nothing was changed, and why.
    Refused(String),
}

impl Decider {
    /// Moves project time to the machine's clock, and timers with it if it goes back. All of it is one commit.
    pub(super) fn correct_clock(
        &mut self,
        direction: ClockDirection,
        by: &Requester,
        reason: Option<&str>,
    ) -> Result<ClockCorrection, Failure> {
        let from = self.time.now();
        let to = match self.time.correction(direction) {
            Ok(to) => to,
            Err(why) => return Ok(ClockCorrection::Refused(why)),
        };
        let mut command = by.command(Ask::Clock(ClockNews::Moved { from, alert: self.alerts.clock }));
        command.reason = reason.map(Into::into);
        let timers = match direction {
            ClockDirection::Back => self.entities_with_timers().map_err(unavailable)?,
            ClockDirection::Forward => BTreeSet::new(),
        };
        // Decided at the new time, before anything is changed.
        let decision = self.memory.answer(|law, view| decide(law, view, &command, to));
        match refuse_too_large(decision).map_err(unavailable)? {
            Decision::Accepted(accepted) => {
                self.time.correct(to);
                self.record(accepted.entries);
            }
            Decision::Refused(refusal) => return Ok(ClockCorrection::Refused(refusal.detail.clone())),
            Decision::Replayed { .. } => {
                return Ok(ClockCorrection::Refused("It was done before".to_owned()));
            }
        }
        let (mut moved, mut unmoved) = (0, 0);
        let back = from.since(to);
        for entity in timers {
            match self.rebase(entity, back) {
                Ok(changed) => moved += usize::from(changed),
                Err(_) => unmoved += 1,
            }
        }
        self.sweep.restart_interval(to);
        self.grant_lease_grace(to);
        Ok(ClockCorrection::Moved { from, to, moved, unmoved })
    }

    fn rebase(&mut self, entity: EntityKey, by: Span) -> Result<bool, StoreError> {
        let command = Command::new(Actor::engine(), Ask::Rebase { entity, by });
        match self.decide(&command)? {
            Decision::Accepted(accepted) => {
                let changed = !accepted.entries.is_empty();
                self.record(accepted.entries);
                Ok(changed)
            }
            Decision::Refused(_) | Decision::Replayed { .. } => Ok(false),
        }
    }

    /// Every entity with a running timer or lease.
    fn entities_with_timers(&mut self) -> Result<BTreeSet<EntityKey>, StoreError> {
        let mut found: BTreeSet<EntityKey> = self.memory.source.unflushed.entities().cloned().collect();
        let mut after = None;
        loop {
            let page = self.memory.reader().timers(after.as_ref(), PAGE)?.value;
            let Some(last) = page.last().cloned() else { return Ok(found) };
            found.extend(page.into_iter().map(|it| it.entity));
            after = Some(last);
        }
    }
}
