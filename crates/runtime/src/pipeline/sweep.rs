//! Looks at every entity in turn, a few at a time, for what is broken.

use std::collections::VecDeque;

use trackside_engine::Decision;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::StoreError;
use trackside_store::store::Listing;

use super::decider::{Decider, unavailable};
use crate::answer::Failure;
use crate::planted::{Bug, is_planted};
use crate::work::Ticket;

/// Entities looked at in a turn in which nobody asks for anything.
const SLICE: usize = 128;
/// Entities looked at while callers wait.
const GLANCE: usize = 2;
/// Keys fetched at a time.
const PAGE: usize = 512;

/// What a sweep came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub looked_at: u64,
    /// Violations that were not known before.
    pub found: u64,
    /// Violations that are none any more.
    pub cleared: u64,
    /// Moves that repaired something.
    pub repaired: u64,
}

/// When and how far.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    every: Option<Span>,
    next: Option<Timestamp>,
    pass: Option<Pass>,
    /// Whoever waits for a pass that has not begun.
    asked: Vec<Ticket<SweepReport>>,
}

/// One way through all of them, in the order of their keys.
#[derive(Debug, Default)]
struct Pass {
    after: Option<EntityKey>,
    page: VecDeque<EntityKey>,
    last_page: bool,
    report: SweepReport,
    asked: Vec<Ticket<SweepReport>>,
}

impl Sweep {
    pub fn every(every: Option<Span>, now: Timestamp) -> Self {
        Self { every, next: every.map(|it| now.plus(it)), ..Self::default() }
    }

    pub fn ask(&mut self, ticket: Ticket<SweepReport>) {
        self.asked.push(ticket);
    }

    /// Whoever waits for a pass, be it under way: for one who begins anew.
    pub fn take_asked(&mut self) -> Vec<Ticket<SweepReport>> {
        let under_way = self.pass.as_mut().map(|it| std::mem::take(&mut it.asked)).unwrap_or_default();
        under_way.into_iter().chain(std::mem::take(&mut self.asked)).collect()
    }

    /// Rules have changed under everybody: they are looked at without waiting for the next time.
    pub fn begin_soon(&mut self) {
        self.next = self.every.and(Some(Timestamp(i64::MIN)));
    }

    pub fn is_under_way(&self) -> bool {
        self.pass.is_some()
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// Begins a pass if one is due or was asked for.
    pub fn begin(&mut self, now: Timestamp) {
        let due = self.next.is_some_and(|it| it <= now);
        if self.pass.is_some() || (!due && self.asked.is_empty()) {
            return;
        }
        if due {
            self.next = self.every.map(|it| now.plus(it));
        }
        self.pass = Some(Pass { asked: std::mem::take(&mut self.asked), ..Pass::default() });
    }
}

impl Decider {
    /// Goes on with the pass that is under way.
    pub(super) fn sweep_on(&mut self) {
        let Some(mut pass) = self.sweep.pass.take() else { return };
        let busy = !self.turn.sayings.is_empty();
        for _ in 0..if busy { GLANCE } else { SLICE } {
            match self.next_of(&mut pass) {
                Ok(Some(key)) => {
                    pass.report.looked_at += 1;
                    if let Err(error) = self.inspect(&key, &mut pass.report) {
                        return self.give_up(pass, &unavailable(error));
                    }
                }
                Ok(None) => return self.end_of(pass),
                Err(error) => return self.give_up(pass, &unavailable(error)),
            }
        }
        self.sweep.pass = Some(pass);
    }

    fn next_of(&mut self, pass: &mut Pass) -> Result<Option<EntityKey>, StoreError> {
        if pass.page.is_empty() && !pass.last_page {
            let listing = Listing { after: pass.after.clone(), most: PAGE, ..Listing::default() };
            let found = self.reader.list(&listing)?.value;
            pass.last_page = found.len() < PAGE;
            pass.after = found.last().map(|it| it.key.clone());
            pass.page = found.into_iter().map(|it| it.key.clone()).collect();
            if is_planted(Bug::SweepSkips) {
                pass.page.retain(|it| it.id.len() % 2 == 0);
            }
            if pass.last_page {
                // The youngest are not in the projections yet.
                let known: std::collections::BTreeSet<EntityKey> = pass.page.iter().cloned().collect();
                let young = self.tail.entities().filter(|it| !known.contains(it) && *it != project_key());
                let young: std::collections::BTreeSet<EntityKey> = young.cloned().collect();
                pass.page.extend(young);
            }
        }
        Ok(pass.page.pop_front())
    }

    fn inspect(&mut self, key: &EntityKey, report: &mut SweepReport) -> Result<(), StoreError> {
        let actor = Actor::new("trackside", ActorKind::System);
        let command = Command::new(actor, Ask::Inspect { entity: key.clone() });
        if let Decision::Accepted(accepted) = self.decide(&command)? {
            for entry in &accepted.entries {
                count(entry, report);
            }
            if !accepted.entries.is_empty() {
                self.record(accepted.entries);
            }
        }
        Ok(())
    }

    fn end_of(&mut self, pass: Pass) {
        for ticket in pass.asked {
            self.say(ticket, Ok(pass.report));
        }
    }

    fn give_up(&mut self, pass: Pass, why: &Failure) {
        for ticket in pass.asked {
            self.say(ticket, Err(why.clone()));
        }
    }
}

fn count(entry: &Entry, report: &mut SweepReport) {
    match &entry.event {
        Event::ViolationFound { .. } => report.found += 1,
        Event::ViolationCleared { .. } => report.cleared += 1,
        Event::Transitioned { .. } | Event::Corrected { .. } => report.repaired += 1,
        _ => {}
    }
}
