//! The sweep: visits every entity, a few at a time, finds violations, and compares stored rows with the
//! journal.

mod compare_entity;
mod compare_shared_rows;
mod find_missing;
mod heal_rows;
mod unreadable;
mod verify_chain;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::decide::is_repair;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_engine::view::Need;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::store::{RowHealing, StoredEntity};
use trackside_store::{Store, StoreError};

use crate::answer::Failure;
use crate::failpoints::{Failpoint, is_enabled};
use crate::pipeline::decider::{Decider, unavailable};
use crate::work::Responder;
use compare_entity::EntityReplay;
use compare_shared_rows::SharedRowCheck;
use find_missing::MissingRowSearch;
use heal_rows::RowScan;

/// The budget of a step for the sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepBudget {
    /// Entities to visit.
    pub entities: usize,
    /// Records of the journal read.
    pub records: usize,
}

/// While no caller waits; it ends as soon as one does.
const SLICE: SweepBudget = SweepBudget { entities: 128, records: 256 };
/// While callers wait.
const GLANCE: SweepBudget = SweepBudget { entities: 2, records: 16 };
/// Keys fetched at a time.
const PAGE: usize = 512;
/// Records that a scheduled pass may read; the next pass continues where it ended.
const WINDOW: usize = 1_000;

/// Groups that cannot be read and are skipped one by one. Then a search for them ends.
const MOST_SKIPPED: u32 = 1_000;
/// Steps that a pass waits for its repairs to be flushed.
const PATIENCE: u32 = 2_000;

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub looked_at: u64,
    /// Violations that were not known before.
    pub found: u64,
    /// Violations that have ended.
    pub cleared: u64,
    /// Repairing moves.
    pub repaired: u64,
    /// Entities whose stored rows were compared with the journal.
    pub compared: u64,
    /// Entities whose rows differed and were rebuilt.
    pub mended: u64,
    /// Entities that could not be compared: a part of the journal is missing or too long.
    pub unchecked: u64,
    /// Entities with altered journal entries: nothing was rebuilt from them.
    pub forged: u64,
}

/// The depth of a requested sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// All entities, each compared with its entries.
    Entities,
    /// The whole journal too, for entities that have no rows.
    Journal,
}

/// The schedule of passes, and the progress of the present one.
pub(super) struct Sweep {
    /// For entries that were archived.
    pub(super) store: Arc<dyn Store>,
    /// Whether it found altered journal entries.
    forged: bool,
    /// Whether a pass over everything is requested, because damage was met.
    compare_all: bool,
    every: Option<Span>,
    next: Option<Timestamp>,
    pass: Option<Box<SweepPass>>,
    /// Callers waiting for a pass that has not begun.
    asked: Vec<(Responder<SweepReport>, Depth)>,
    /// The last entity that scheduled passes have compared.
    compared: Option<EntityKey>,
    /// The progress of scheduled passes over groups and rankings.
    shared_rows: Option<Box<SharedRowCheck>>,
    /// The progress of scheduled passes over all other rows.
    row_scan: Option<Box<RowScan>>,
}

/// An entity to rebuild, its last entry, and the difference that was found.
pub(super) type Rebuildable = (EntityKey, u64, Option<String>);

/// One pass over all entities, in key order.
#[derive(Debug, Default)]
pub(super) struct SweepPass {
    after: Option<EntityKey>,
    page: VecDeque<StoredEntity>,
    last_page: bool,
    pub report: SweepReport,
    asked: Vec<Responder<SweepReport>>,
    depth: Option<Depth>,
    /// Records of the journal that were read.
    spent: usize,
    /// The entity that is being compared.
    trial: Option<Box<EntityReplay>>,
    /// Rows in each state, counted at one position.
    counted: Option<Counted>,
    is_counted: bool,
    /// Entities whose last entry must be searched in the whole journal.
    pub lost: BTreeSet<EntityKey>,
    /// Entities with altered journal entries: several checks can meet the same one.
    forged: BTreeSet<EntityKey>,
    search: Option<MissingRowSearch>,
    /// Entities to mend, with their last entry.
    pub to_mend: Vec<Rebuildable>,
    /// Places of entities that do not exist, by ranking: the next rebuild removes them.
    pub ghost_places: Vec<(Name, EntityKey)>,
    /// The check of groups and rankings; none when it is over.
    shared_rows: Option<Box<SharedRowCheck>>,
    /// Rows of it that were read.
    spent_together: usize,
    /// The last entry by which this pass repaired something: groups and rankings are checked after it is flushed.
    pub awaits: u64,
    waited: u32,
    /// Entities that are in the projections only.
    ghosts: Vec<EntityKey>,
    /// Lifecycles whose state counts are wrong: the first entity, and the difference.
    miscounted: Vec<(EntityKey, String)>,
    /// Whether indexes are checked before anything else, because damage was met.
    checks_indexes: bool,
    /// The check of all other rows, at the end of a full pass.
    row_scan: Option<Box<RowScan>>,
    /// The cost of it so far.
    rows_scanned: usize,
    /// Whether some entity could not be compared or rebuilt: damaged rows may be the last trace of what it has.
    is_incomplete: bool,
    /// Whether no damaged row is left.
    is_whole: bool,
}

/// The number of rows at one position.
#[derive(Debug, Default)]
struct Counted {
    position: u64,
    states: BTreeMap<Name, BTreeMap<Name, u64>>,
    first: BTreeMap<Name, EntityKey>,
}

impl Sweep {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            forged: false,
            compare_all: false,
            every: None,
            next: None,
            pass: None,
            asked: Vec::new(),
            compared: None,
            shared_rows: None,
            row_scan: None,
        }
    }

    /// Begins a pass this often, from now on.
    pub fn set_interval(&mut self, every: Option<Span>, now: Timestamp) {
        (self.every, self.next) = (every, every.map(|it| now.plus(it)));
    }

    /// The clock was corrected: the next pass is due one interval later.
    pub fn restart_interval(&mut self, now: Timestamp) {
        self.set_interval(self.every, now);
    }

    /// Takes over from the sweep of a decider whose decisions were not committed.
    pub fn succeed(&mut self, failed: &mut Self) {
        self.forged |= failed.forged;
        self.asked.extend(failed.take_asked());
    }

    /// Requests a pass over everything that has no caller.
    pub fn compare_all(&mut self) {
        self.compare_all = true;
    }

    pub fn is_forged(&self) -> bool {
        self.forged
    }

    pub fn ask(&mut self, responder: Responder<SweepReport>, depth: Depth) {
        self.asked.push((responder, depth));
    }

    /// Callers waiting for a pass, for a sweep that takes over.
    fn take_asked(&mut self) -> Vec<(Responder<SweepReport>, Depth)> {
        let under_way =
            self.pass.as_mut().map(|it| (std::mem::take(&mut it.asked), it.depth)).unwrap_or_default();
        let depth = under_way.1.unwrap_or(Depth::Entities);
        let again = under_way.0.into_iter().map(|it| (it, depth));
        again.chain(std::mem::take(&mut self.asked)).collect()
    }

    /// The rules have changed: the next pass begins at once.
    pub fn begin_soon(&mut self) {
        self.next = self.every.and(Some(Timestamp(i64::MIN)));
    }

    pub fn is_under_way(&self) -> bool {
        self.pass.is_some()
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// Begins a pass if one is due or requested.
    pub fn begin(&mut self, now: Timestamp) {
        let due = self.next.is_some_and(|it| it <= now);
        if self.pass.is_some() || (!due && self.asked.is_empty() && !self.compare_all) {
            return;
        }
        if due {
            self.next = self.every.map(|it| now.plus(it));
        }
        let (asked, depths): (Vec<_>, Vec<_>) = std::mem::take(&mut self.asked).into_iter().unzip();
        let depth = depths.into_iter().chain(self.compare_all.then_some(Depth::Entities)).max();
        let checks_indexes = std::mem::take(&mut self.compare_all);
        // A requested pass checks everything.
        let begun = self.shared_rows.take().filter(|_| depth.is_none());
        let shared_rows = Some(begun.unwrap_or_default());
        let row_scan = Some(self.row_scan.take().filter(|_| depth.is_none()).unwrap_or_default());
        let pass = SweepPass { asked, depth, shared_rows, row_scan, checks_indexes, ..SweepPass::default() };
        self.pass = Some(Box::new(pass));
    }

    /// Whether an entity is due for comparison.
    fn compares(&self, pass: &SweepPass, key: &EntityKey) -> bool {
        pass.depth.is_some() || (pass.spent < WINDOW && self.compared.as_ref().is_none_or(|upto| key > upto))
    }
}

impl Decider {
    /// Continues the pass that is under way.
    pub(super) fn sweep_on(&mut self, callers_wait: &dyn Fn() -> bool) {
        let Some(mut pass) = self.sweep.pass.take() else { return };
        let busy = !self.batch.replies.is_empty();
        let mut left = if busy { GLANCE } else { SLICE };
        while left.entities > 0 && left.records > 0 {
            match self.sweep_step(&mut pass, &mut left) {
                Ok(true) => {}
                Ok(false) => return self.end_of(*pass),
                Err(error) => {
                    self.damage.comparison_failed(&error);
                    self.damage.request_rebuild(self.sweep.store.as_ref());
                    return self.give_up(*pass, &unavailable(error));
                }
            }
            if !busy && callers_wait() {
                break;
            }
        }
        self.sweep.pass = Some(pass);
    }

    /// One step of a pass; false when there are no more.
    fn sweep_step(&mut self, pass: &mut SweepPass, left: &mut SweepBudget) -> Result<bool, StoreError> {
        if std::mem::take(&mut pass.checks_indexes) {
            self.damage.heal(RowHealing { indexes: true, ..RowHealing::default() });
        }
        // Rows are looked up by the indexes: they come first.
        if pass.after.is_none() && !self.damage.is_healed() && pass.waited < PATIENCE {
            pass.waited += 1;
            left.records = 0;
            return Ok(true);
        }
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
                pass.search = Some(MissingRowSearch::upto(self.memory.reader().position()?));
            }
            return Ok(true);
        }
        if let Some(mut search) = pass.search.take() {
            let is_over = search.go_on(self, pass, left)?;
            match is_over {
                true => {
                    pass.is_incomplete |= search.is_cut();
                    let (rebuildable, doubtful, ghosts) = search.into_rebuildable(&mut pass.report);
                    (pass.to_mend, pass.ghosts) = (rebuildable, ghosts);
                    doubtful.into_iter().for_each(|key| self.count_forged(pass, key));
                }
                false => pass.search = Some(search),
            }
            return Ok(true);
        }
        if let Some((key, newest, found)) = pass.to_mend.pop() {
            pass.trial = Some(Box::new(EntityReplay::of(key, newest).saying(found)));
            return Ok(true);
        }
        if let Some(mut shared_rows) = pass.shared_rows.take() {
            if pass.depth.is_none() && pass.spent_together >= WINDOW {
                self.sweep.shared_rows = Some(shared_rows);
                return Ok(true);
            }
            if pass.waited < PATIENCE && pass.awaits > self.memory.reader().position()? {
                pass.waited += 1;
                pass.shared_rows = Some(shared_rows);
                // The rest of this step is for others.
                left.records = 0;
                return Ok(true);
            }
            let before = left.records;
            let is_over = match self.continue_shared_rows(&mut shared_rows, pass, left) {
                // One damaged row does not stop the pass.
                Err(error) if error.is_state_damage() || matches!(error, StoreError::DamagedRow { .. }) => {
                    pass.report.unchecked += 1;
                    left.records = left.records.saturating_sub(1);
                    shared_rows.skip();
                    false
                }
                is_over => is_over?,
            };
            pass.spent_together += before - left.records;
            pass.shared_rows = (!is_over).then_some(shared_rows);
            return Ok(true);
        }
        // A rebuild recounts the states, too.
        if pass.report.mended == 0
            && let Some((key, found)) = pass.miscounted.pop()
        {
            match self.newest_of(&key, None) {
                Ok(Some(newest)) => pass.to_mend.push((key, newest, Some(found))),
                Err(error) if error.is_journal_damage() => self.count_forged(pass, key),
                newest => drop(newest?),
            }
            return Ok(true);
        }
        // At last, when all that belongs to entities is right.
        if let Some(mut scan) = pass.row_scan.take() {
            if pass.waited < PATIENCE && pass.awaits > self.memory.reader().position()? {
                pass.waited += 1;
                pass.row_scan = Some(scan);
                left.records = 0;
                return Ok(true);
            }
            if pass.depth.is_none() && pass.rows_scanned >= WINDOW {
                self.sweep.row_scan = Some(scan);
                return Ok(true);
            }
            let before = left.records;
            if !self.continue_row_scan(&mut scan, pass, left)? {
                pass.row_scan = Some(scan);
            }
            pass.rows_scanned += before - left.records;
            return Ok(true);
        }
        Ok(false)
    }

    fn next_of(&mut self, pass: &mut SweepPass) -> Result<Option<StoredEntity>, StoreError> {
        if pass.page.is_empty() && !pass.last_page {
            let found = self.memory.reader().stored_entities(pass.after.as_ref(), PAGE)?;
            pass.count(&found.value, found.position);
            let found = found.value;
            pass.last_page = found.len() < PAGE;
            pass.after = found.last().map(|it| it.key.clone());
            pass.page = found.into();
            if is_enabled(Failpoint::SweepSkips) {
                pass.page.retain(|it| it.key.id.len() % 2 == 0);
            }
            if pass.last_page {
                // The youngest are not in the projections yet.
                let known: BTreeSet<&EntityKey> = pass.page.iter().map(|it| &it.key).collect();
                let young = self
                    .memory
                    .unflushed()
                    .entities()
                    .filter(|it| !known.contains(it) && *it != project_key());
                let young: BTreeSet<EntityKey> = young.cloned().collect();
                let young = young.into_iter().map(|key| StoredEntity { key, seq: 0, state: Name::new("") });
                pass.page.extend(young.collect::<Vec<_>>());
            }
        }
        Ok(pass.page.pop_front())
    }

    /// Compares an entity with the journal if it is due or suspicious, then inspects it.
    fn look_at(&mut self, pass: &mut SweepPass, kept: &StoredEntity) -> Result<(), StoreError> {
        let key = &kept.key;
        // An unreadable row, or one in an unknown state, may be wrong only in the projections.
        let odd = self.memory.load(Need::Entity(key.clone())).is_err() || !self.is_in_a_known_state(key);
        let due = odd || self.sweep.compares(pass, key);
        if !due || self.is_unwritten(key)? {
            return self.inspect(key, pass);
        }
        let newest = match self.newest_of(key, Some(kept.seq)) {
            Err(error) if error.is_journal_damage() => {
                self.count_forged(pass, key.clone());
                self.record_compared(key, pass);
                return if odd { Ok(()) } else { self.inspect(key, pass) };
            }
            newest => newest?,
        };
        match newest {
            Some(newest) => pass.trial = Some(Box::new(EntityReplay::of(key.clone(), newest).of_a_pass(odd))),
            None => {
                pass.lost.insert(key.clone());
            }
        }
        Ok(())
    }

    /// Counts an entity whose entries are altered, once in a pass.
    pub(super) fn count_forged(&mut self, pass: &mut SweepPass, key: EntityKey) {
        pass.is_incomplete = true;
        pass.forged.insert(key);
        pass.report.forged = pass.forged.len() as u64;
        self.sweep.forged = true;
    }

    fn is_in_a_known_state(&self, key: &EntityKey) -> bool {
        let Some(entity) = self.memory.view.get(key) else { return false };
        let life = self.memory.law.definition(&key.lifecycle, entity.definition);
        life.is_none_or(|it| it.state(&entity.state).is_some())
    }

    /// Records the progress of the comparison in this pass.
    pub(super) fn record_compared(&mut self, key: &EntityKey, pass: &SweepPass) {
        if pass.depth.is_none() {
            self.sweep.compared = Some(key.clone());
        }
    }

    /// Checks an entity for violations.
    pub(super) fn inspect(&mut self, key: &EntityKey, pass: &mut SweepPass) -> Result<(), StoreError> {
        let actor = Actor::engine();
        let command = Command::new(actor, Ask::Inspect { entity: key.clone() });
        let decided = match self.decide(&command) {
            // A place that was lost is given again. Nothing else is decided without the damaged rows.
            Err(error) if error.is_state_damage() => match self.without_damaged(|it| it.decide(&command)) {
                Ok(Decision::Accepted(accepted)) if accepted.entries.iter().all(is_place_only) => {
                    Ok(Decision::Accepted(accepted))
                }
                _ => Err(error),
            },
            decided => decided,
        };
        match decided {
            Ok(Decision::Accepted(accepted)) => {
                for entry in &accepted.entries {
                    count(entry, &mut pass.report);
                }
                if !accepted.entries.is_empty() {
                    self.record(accepted.entries);
                    pass.awaits = self.memory.view.seq;
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            // An entity it refers to cannot be read; the sweep visits that one separately.
            Err(StoreError::Damaged { .. } | StoreError::DamagedRow { .. }) => Ok(()),
            Err(error) if error.is_journal_damage() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Compares state counts with the rows; true if there are fewer rows than counted.
    fn compare_counts(&mut self, pass: &mut SweepPass) -> Result<bool, StoreError> {
        let Some(Counted { position, states: rows, first }) = pass.counted.take() else { return Ok(false) };
        if pass.report.mended > 0 || self.memory.reader().position()? != position {
            return Ok(false);
        }
        let mut fewer = false;
        let nothing = BTreeMap::new();
        let names: BTreeSet<Name> = rows.keys().chain(self.memory.law.lifecycle_names()).cloned().collect();
        for name in names {
            let there = rows.get(&name).unwrap_or(&nothing);
            let states = match self.memory.reader().states(&name) {
                Err(error) if error.is_state_damage() => {
                    // The counts are not known: there may have been more.
                    fewer = true;
                    if let Some(key) = first.get(&name) {
                        pass.miscounted.push((key.clone(), format!("{name}: {error}")));
                    }
                    continue;
                }
                states => states?,
            };
            if states.position != position {
                // Flushed meanwhile: it cannot be compared this time.
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

    fn end_of(&mut self, pass: SweepPass) {
        if pass.depth.is_none() && pass.spent < WINDOW {
            // All were compared: the next pass starts over.
            self.sweep.compared = None;
        }
        if pass.depth.is_some() {
            self.damage.compared_all(pass.is_whole, !pass.is_incomplete);
            self.timers.bring_back();
        }
        for responder in pass.asked {
            self.say(responder, Ok(pass.report));
        }
    }

    fn give_up(&mut self, pass: SweepPass, why: &Failure) {
        for responder in pass.asked {
            self.say(responder, Err(why.clone()));
        }
    }
}

impl SweepPass {
    /// Counts rows, unless some were written since the first were.
    fn count(&mut self, rows: &[StoredEntity], position: u64) {
        if self.after.is_none() {
            self.counted = Some(Counted { position, ..Counted::default() });
        }
        let Some(counted) = self.counted.as_mut().filter(|it| it.position == position) else {
            self.counted = None;
            return;
        };
        for StoredEntity { key, state, .. } in rows {
            let states = counted.states.entry(key.lifecycle.clone()).or_default();
            *states.entry(state.clone()).or_default() += 1;
            counted.first.entry(key.lifecycle.clone()).or_insert_with(|| key.clone());
        }
    }
}

/// Whether an entry changes only the place of its entity in rankings.
fn is_place_only(entry: &Entry) -> bool {
    matches!(&entry.event, Event::FieldsChanged { .. }) && entry.condition.as_deref() == Some("rankings")
}

fn count(entry: &Entry, report: &mut SweepReport) {
    match &entry.event {
        Event::ViolationFound { .. } => report.found += 1,
        Event::ViolationCleared { .. } => report.cleared += 1,
        Event::Transitioned { .. } | Event::Corrected { .. } => report.repaired += 1,
        // A repair need not move it.
        Event::FieldsChanged { .. }
            if is_repair(entry.event.kind(), entry.condition.as_deref().unwrap_or_default()) =>
        {
            report.repaired += 1;
        }
        // Only its place in a ranking changed.
        Event::FieldsChanged { .. } if !entry.reranked.is_empty() => report.repaired += 1,
        _ => {}
    }
}
