//! Looks at every entity in turn, a few at a time, for what is broken, and whether what is kept of it is what the
//! journal says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trackside_engine::Decision;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_engine::view::Need;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::StoreError;
use trackside_store::store::Kept;

use super::comparing::Trial;
use super::decider::{Decider, unavailable};
use super::searching::Search;
use super::together::Together;
use crate::answer::Failure;
use crate::planted::{Bug, is_planted};
use crate::work::Ticket;

/// What a turn may spend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Entities looked at.
    pub entities: usize,
    /// Records of the journal read.
    pub records: usize,
}

/// In a turn in which nobody asks for anything.
const SLICE: Budget = Budget { entities: 128, records: 256 };
/// While callers wait.
const GLANCE: Budget = Budget { entities: 2, records: 16 };
/// Keys fetched at a time.
const PAGE: usize = 512;
/// Records of the journal that a pass nobody asked for may read: the next one goes on where it ended.
const WINDOW: usize = 1_000;

/// Turns that a pass waits until what it put right is written.
const PATIENCE: u32 = 2_000;

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
    /// Entities of which everything that is kept was held against the journal.
    pub compared: u64,
    /// Those of which something else was kept, which was made anew.
    pub mended: u64,
    /// Those that could not be held against the journal: a part of it is not here, or too long.
    pub unchecked: u64,
    /// Those whose entries in the journal are not what was written: nothing was made of them.
    pub forged: u64,
}

/// How far a sweep that was asked for goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// All entities, each held against its entries.
    Entities,
    /// The whole journal too, for entities of which nothing is kept.
    Journal,
}

/// When and how far.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    every: Option<Span>,
    next: Option<Timestamp>,
    pass: Option<Box<Pass>>,
    /// Whoever waits for a pass that has not begun.
    asked: Vec<(Ticket<SweepReport>, Depth)>,
    /// Up to here entities were held against the journal by passes that nobody asked for.
    compared: Option<EntityKey>,
    /// How far those came with what is kept of many together.
    together: Option<Box<Together>>,
}

/// One way through all of them, in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Pass {
    after: Option<EntityKey>,
    page: VecDeque<Kept>,
    last_page: bool,
    pub report: SweepReport,
    asked: Vec<Ticket<SweepReport>>,
    depth: Option<Depth>,
    /// Records of the journal that were read.
    spent: usize,
    /// The entity that is being held against the journal.
    trial: Option<Box<Trial>>,
    /// Rows in each state, as long as nobody writes any.
    counted: Option<Counted>,
    is_counted: bool,
    /// Entities whose last entry must be looked for in the whole journal.
    pub lost: BTreeSet<EntityKey>,
    search: Option<Search>,
    /// Those that were found, with their last entry.
    pub to_mend: Vec<(EntityKey, u64, Option<String>)>,
    /// Places of entities that there are not, by ranking: they go with whoever is made anew next.
    pub without: Vec<(Name, EntityKey)>,
    /// What is kept of many together; none when that is over.
    together: Option<Box<Together>>,
    /// Rows of it that were read.
    spent_together: usize,
    /// The last entry by which this pass put something right: what is kept of many is looked at when it is written.
    pub awaits: u64,
    waited: u32,
    /// Lifecycles that were counted wrongly: the first entity, and what was found.
    miscounted: Vec<(EntityKey, String)>,
}

/// How many rows there are, seen at one position.
#[derive(Debug, Default)]
struct Counted {
    position: u64,
    states: BTreeMap<Name, BTreeMap<Name, u64>>,
    first: BTreeMap<Name, EntityKey>,
}

impl Sweep {
    pub fn every(every: Option<Span>, now: Timestamp) -> Self {
        Self { every, next: every.map(|it| now.plus(it)), ..Self::default() }
    }

    pub fn ask(&mut self, ticket: Ticket<SweepReport>, depth: Depth) {
        self.asked.push((ticket, depth));
    }

    /// Whoever waits for a pass, be it under way: for one who begins anew.
    pub fn take_asked(&mut self) -> Vec<(Ticket<SweepReport>, Depth)> {
        let under_way =
            self.pass.as_mut().map(|it| (std::mem::take(&mut it.asked), it.depth)).unwrap_or_default();
        let depth = under_way.1.unwrap_or(Depth::Entities);
        let again = under_way.0.into_iter().map(|it| (it, depth));
        again.chain(std::mem::take(&mut self.asked)).collect()
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
        let (asked, depths): (Vec<_>, Vec<_>) = std::mem::take(&mut self.asked).into_iter().unzip();
        let depth = depths.into_iter().max();
        // Whoever asks is told of everything.
        let begun = self.together.take().filter(|_| depth.is_none());
        let together = Some(begun.unwrap_or_default());
        self.pass = Some(Box::new(Pass { asked, depth, together, ..Pass::default() }));
    }

    /// Whether an entity is to be held against the journal now.
    fn compares(&self, pass: &Pass, key: &EntityKey) -> bool {
        pass.depth.is_some() || (pass.spent < WINDOW && self.compared.as_ref().is_none_or(|upto| key > upto))
    }
}

impl Decider {
    /// Goes on with the pass that is under way.
    pub(super) fn sweep_on(&mut self) {
        let Some(mut pass) = self.sweep.pass.take() else { return };
        let busy = !self.turn.sayings.is_empty();
        let mut left = if busy { GLANCE } else { SLICE };
        while left.entities > 0 && left.records > 0 {
            match self.step(&mut pass, &mut left) {
                Ok(true) => {}
                Ok(false) => return self.end_of(*pass),
                Err(error) => return self.give_up(*pass, &unavailable(error)),
            }
        }
        self.sweep.pass = Some(pass);
    }

    /// One step of a pass; false when there are no more.
    fn step(&mut self, pass: &mut Pass, left: &mut Budget) -> Result<bool, StoreError> {
        if let Some(trial) = pass.trial.take() {
            let before = left.records;
            pass.trial = self.go_on_with(trial, pass, left)?;
            pass.spent += before - left.records;
            return Ok(true);
        }
        if let Some(kept) = self.next_of(pass)? {
            left.entities -= 1;
            pass.report.looked_at += 1;
            self.look_at(pass, &kept)?;
            return Ok(true);
        }
        if !pass.is_counted {
            pass.is_counted = true;
            let fewer = self.compare_counts(pass)?;
            if fewer || !pass.lost.is_empty() || pass.depth == Some(Depth::Journal) {
                pass.search = Some(Search::upto(self.reader.position()?));
            }
            return Ok(true);
        }
        if let Some(mut search) = pass.search.take() {
            let is_over = search.go_on(self, pass, left)?;
            match is_over {
                true => pass.to_mend = search.found(&mut pass.report),
                false => pass.search = Some(search),
            }
            return Ok(true);
        }
        if let Some((key, newest, found)) = pass.to_mend.pop() {
            pass.trial = Some(Box::new(Trial::of(key, newest).saying(found)));
            return Ok(true);
        }
        if let Some(mut together) = pass.together.take() {
            if pass.depth.is_none() && pass.spent_together >= WINDOW {
                self.sweep.together = Some(together);
                return Ok(true);
            }
            if pass.waited < PATIENCE && pass.awaits > self.reader.position()? {
                pass.waited += 1;
                pass.together = Some(together);
                // The rest of this turn is for others.
                left.records = 0;
                return Ok(true);
            }
            let before = left.records;
            let is_over = self.go_on_together(&mut together, pass, left)?;
            pass.spent_together += before - left.records;
            pass.together = (!is_over).then_some(together);
            return Ok(true);
        }
        // What was made anew was counted anew, too.
        if pass.report.mended == 0
            && let Some((key, found)) = pass.miscounted.pop()
        {
            if let Some(newest) = self.newest_of(&key, None)? {
                pass.to_mend.push((key, newest, Some(found)));
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn next_of(&mut self, pass: &mut Pass) -> Result<Option<Kept>, StoreError> {
        if pass.page.is_empty() && !pass.last_page {
            let found = self.reader.kept(pass.after.as_ref(), PAGE)?;
            pass.count(&found.value, found.position);
            let found = found.value;
            pass.last_page = found.len() < PAGE;
            pass.after = found.last().map(|it| it.key.clone());
            pass.page = found.into();
            if is_planted(Bug::SweepSkips) {
                pass.page.retain(|it| it.key.id.len() % 2 == 0);
            }
            if pass.last_page {
                // The youngest are not in the projections yet.
                let known: BTreeSet<&EntityKey> = pass.page.iter().map(|it| &it.key).collect();
                let young = self.tail.entities().filter(|it| !known.contains(it) && *it != project_key());
                let young: BTreeSet<EntityKey> = young.cloned().collect();
                let young = young.into_iter().map(|key| Kept { key, seq: 0, state: Name::new("") });
                pass.page.extend(young.collect::<Vec<_>>());
            }
        }
        Ok(pass.page.pop_front())
    }

    /// Holds an entity against the journal if it is its turn, or there is a reason to; then it is inspected.
    fn look_at(&mut self, pass: &mut Pass, kept: &Kept) -> Result<(), StoreError> {
        let key = &kept.key;
        // One that cannot be read, or is in a state that there is not, may be so only here.
        let odd = self.load(Need::Entity(key.clone())).is_err() || !self.is_in_a_known_state(key);
        let due = odd || self.sweep.compares(pass, key);
        if !due || self.is_unwritten(key)? {
            return self.inspect(key, pass);
        }
        match self.newest_of(key, Some(kept.seq))? {
            Some(newest) => pass.trial = Some(Box::new(Trial::of(key.clone(), newest).of_a_pass(odd))),
            None => {
                pass.lost.insert(key.clone());
            }
        }
        Ok(())
    }

    fn is_in_a_known_state(&self, key: &EntityKey) -> bool {
        let Some(entity) = self.view.get(key) else { return false };
        let life = self.law.definition(&key.lifecycle, entity.definition);
        life.is_none_or(|it| it.state(&entity.state).is_some())
    }

    /// Held against the journal, as far as a pass goes.
    pub(super) fn compared(&mut self, key: &EntityKey, pass: &Pass) {
        if pass.depth.is_none() {
            self.sweep.compared = Some(key.clone());
        }
    }

    /// Looks for what is broken.
    pub(super) fn inspect(&mut self, key: &EntityKey, pass: &mut Pass) -> Result<(), StoreError> {
        let actor = Actor::new("trackside", ActorKind::System);
        let command = Command::new(actor, Ask::Inspect { entity: key.clone() });
        match self.decide(&command) {
            Ok(Decision::Accepted(accepted)) => {
                for entry in &accepted.entries {
                    count(entry, &mut pass.report);
                }
                if !accepted.entries.is_empty() {
                    self.record(accepted.entries);
                    pass.awaits = self.view.seq;
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            // Something that it refers to cannot be read: that one's turn comes, too.
            Err(StoreError::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds what counts entities against their rows; whether there are fewer rows than were counted.
    fn compare_counts(&mut self, pass: &mut Pass) -> Result<bool, StoreError> {
        let Some(Counted { position, states: rows, first }) = pass.counted.take() else { return Ok(false) };
        if pass.report.mended > 0 || self.reader.position()? != position {
            return Ok(false);
        }
        let mut fewer = false;
        let nothing = BTreeMap::new();
        let names: BTreeSet<Name> = rows.keys().chain(self.law.lifecycle_names()).cloned().collect();
        for name in names {
            let (there, states) = (rows.get(&name).unwrap_or(&nothing), self.reader.states(&name)?);
            if states.position != position {
                // Written meanwhile: it cannot be told this time.
                pass.miscounted.clear();
                return Ok(false);
            }
            let counted = states.value;
            if *there == counted {
                continue;
            }
            fewer |= there.values().sum::<u64>() < counted.values().sum();
            if let Some(key) = first.get(&name) {
                let found = format!("{name} was counted as {counted:?}, and its rows are {there:?}");
                pass.miscounted.push((key.clone(), found));
            }
        }
        Ok(fewer)
    }

    fn end_of(&mut self, pass: Pass) {
        if pass.depth.is_none() && pass.spent < WINDOW {
            // All were: the next pass begins anew.
            self.sweep.compared = None;
        }
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

impl Pass {
    /// Counts rows, unless some were written since the first were.
    fn count(&mut self, rows: &[Kept], position: u64) {
        if self.after.is_none() {
            self.counted = Some(Counted { position, ..Counted::default() });
        }
        let Some(counted) = self.counted.as_mut().filter(|it| it.position == position) else {
            self.counted = None;
            return;
        };
        for Kept { key, state, .. } in rows {
            let states = counted.states.entry(key.lifecycle.clone()).or_default();
            *states.entry(state.clone()).or_default() += 1;
            counted.first.entry(key.lifecycle.clone()).or_insert_with(|| key.clone());
        }
    }
}

/// How the reason of a repair begins.
const REPAIR: &str = "Repair: ";

fn count(entry: &Entry, report: &mut SweepReport) {
    match &entry.event {
        Event::ViolationFound { .. } => report.found += 1,
        Event::ViolationCleared { .. } => report.cleared += 1,
        Event::Transitioned { .. } | Event::Corrected { .. } => report.repaired += 1,
        // A repair need not move it.
        Event::FieldsChanged { .. } if entry.reason.as_ref().is_some_and(|it| it.starts_with(REPAIR)) => {
            report.repaired += 1;
        }
        // Nothing of it changed but where it stands.
        Event::FieldsChanged { .. } if !entry.reranked.is_empty() => report.repaired += 1,
        _ => {}
    }
}
