//! Moves running entities to another version of their definition: planned and done by the same code.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command, Migrate};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::{Code, Refusal};
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::store::Listing;

use crate::answer::{CommandAnswer, Failure, Pending};
use crate::entity_records;
use crate::requester::Requester;
use crate::runtime::Runtime;

/// Entities that are under way at a time.
const BATCH: usize = 256;
/// The pause when the decider has no room for a single command, and the number of attempts.
const NAP: Duration = Duration::from_millis(10);
const PATIENCE: u32 = 3_000;

/// The entities to migrate, the target version and the mapping.
#[derive(Clone, Debug)]
pub struct Migration {
    pub lifecycle: Name,
    /// The version they are to live by.
    pub to: u32,
    /// State to its name there, where that is another one.
    pub states: BTreeMap<Name, Name>,
    /// New values of fields that do not fit the target version.
    pub fields: Fields,
}

/// The planned or completed migration of one entity.
#[derive(Clone, Debug)]
pub struct MigratedEntity {
    pub entity: EntityKey,
    pub from: u32,
    /// The state it has there, or why it cannot move.
    pub outcome: Result<Name, Box<Refusal>>,
}

/// A range of a lifecycle's entities, in the order of their ids. By default all.
#[derive(Clone, Debug, Default)]
pub struct MigrationRange {
    /// Only entities after this one.
    pub after: Option<Name>,
    /// Most entities to read.
    pub most: Option<usize>,
}

/// The progress of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationProgress {
    /// Entities that were read, whether they had to move or not.
    pub looked_at: u64,
    /// The entity to continue after; none if all were covered.
    pub next: Option<Name>,
}

impl Runtime {
    /// Reports for each entity whether it could move, and why not. Changes nothing.
    pub fn plan_migration(
        &self,
        by: impl Into<Requester>,
        migration: &Migration,
        part: &MigrationRange,
        told: &mut dyn FnMut(&MigratedEntity),
    ) -> Result<MigrationProgress, Failure> {
        let ask = |it| self.gateway()?.dry_run(it);
        self.each_to_move(&by.into(), migration, part, &ask, &mut |key, decision| match decision {
            Decision::Accepted(accepted) => tell(key, Ok(&accepted.entries), told),
            Decision::Refused(refusal) => tell(key, Err(refusal), told),
            Decision::Replayed { .. } => {}
        })
    }

    /// Moves every entity that can be moved, a batch at a time; each move is an entry of the journal.
    pub fn apply_migration(
        &self,
        by: impl Into<Requester>,
        migration: &Migration,
        part: &MigrationRange,
        told: &mut dyn FnMut(&MigratedEntity),
    ) -> Result<MigrationProgress, Failure> {
        let ask = |it| self.gateway()?.submit(it);
        self.each_to_move(&by.into(), migration, part, &ask, &mut |key, answer| {
            report_answer(key, answer, told)
        })
    }

    /// Undoes migrations to a version, for entities that have not changed since.
    pub fn undo_migration(
        &self,
        by: impl Into<Requester>,
        lifecycle: &Name,
        version: u32,
        part: &MigrationRange,
        told: &mut dyn FnMut(&MigratedEntity),
    ) -> Result<MigrationProgress, Failure> {
        let by = by.into();
        self.visit_entities(lifecycle, part, &|definition| definition == version, &mut |keys| {
            for (entity, _) in keys {
                let migration = match self.last_migration(&entity, version) {
                    Ok(Some(migration)) => migration,
                    // An entity created with this version was never migrated to it.
                    Ok(None) => continue,
                    Err(error) if error.is_out_of_reach() => {
                        tell((entity, version), Err(Box::new(archived(&error))), told);
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let command = |key: &EntityKey| {
                    let ask =
                        Ask::UndoMigration { entity: key.clone(), migration: Box::new(migration.clone()) };
                    by.command(ask)
                };
                let ask = |it| self.gateway()?.submit(it);
                let mut done = |key, answer| report_answer(key, answer, told);
                self.each_asked(vec![(entity, version)], &command, &ask, &mut done)?;
            }
            Ok(())
        })
    }

    /// Submits one request per entity, many at a time, and passes on the answers in order. If the queue is
    /// full, it waits for its own requests, then for others.
    fn each_asked<T>(
        &self,
        keys: Vec<(EntityKey, u32)>,
        command: &dyn Fn(&EntityKey) -> Command,
        ask: &dyn Fn(Command) -> Result<Pending<T>, Failure>,
        done: &mut dyn FnMut((EntityKey, u32), T),
    ) -> Result<(), Failure> {
        let mut under_way = VecDeque::new();
        for key in keys {
            let mut naps = 0;
            let pending = loop {
                match ask(command(&key.0)) {
                    Ok(pending) => break pending,
                    Err(Failure::Overloaded(why)) => match under_way.pop_front() {
                        Some((earlier, pending)) => {
                            let pending: Pending<T> = pending;
                            done(earlier, pending.wait()?);
                        }
                        None if naps >= PATIENCE => return Err(Failure::Overloaded(why)),
                        None => {
                            naps += 1;
                            std::thread::sleep(NAP);
                        }
                    },
                    Err(failure) => return Err(failure),
                }
            };
            under_way.push_back((key, pending));
        }
        for (key, pending) in under_way {
            done(key, pending.wait()?);
        }
        Ok(())
    }

    /// The entry of the last migration of an entity to a version; none if it was created with it.
    fn last_migration(&self, entity: &EntityKey, version: u32) -> Result<Option<Entry>, StoreError> {
        let last = self.entity(entity)?.map_or(0, |it| it.seq);
        let mut migration = None;
        self.shared().look_back(|whole| {
            entity_records::walk_back(whole, last, 0, &mut |record| {
                if record.header.contains("Migrated") {
                    let entry = record.entry()?;
                    let is_it =
                        matches!(entry.event, Event::Migrated { definition, .. } if definition == version);
                    migration = is_it.then_some(entry);
                }
                Ok(migration.is_none())
            })
        })?;
        Ok(migration)
    }

    /// Asks for the migration of each entity that lives by another version.
    fn each_to_move<T>(
        &self,
        by: &Requester,
        migration: &Migration,
        part: &MigrationRange,
        ask: &dyn Fn(Command) -> Result<Pending<T>, Failure>,
        done: &mut dyn FnMut((EntityKey, u32), T),
    ) -> Result<MigrationProgress, Failure> {
        let Migration { lifecycle, to, states, fields } = migration;
        let command = |key: &EntityKey| {
            let (entity, states, fields) = (key.clone(), states.clone(), fields.clone());
            by.command(Ask::Migrate(Migrate { entity, to: *to, states, fields }))
        };
        let is_other = |definition| definition != *to;
        self.visit_entities(lifecycle, part, &is_other, &mut |keys| {
            self.each_asked(keys, &command, ask, done)
        })
    }

    /// Visits the entities of a lifecycle that have a wanted version, a batch at a time.
    fn visit_entities(
        &self,
        lifecycle: &Name,
        part: &MigrationRange,
        wanted: &dyn Fn(u32) -> bool,
        work: &mut dyn FnMut(Vec<(EntityKey, u32)>) -> Result<(), Failure>,
    ) -> Result<MigrationProgress, Failure> {
        // Entities that are not flushed yet are missing from the list.
        self.wait_until_written()?;
        let mut went = MigrationProgress { looked_at: 0, next: part.after.clone() };
        let mut left = part.most.unwrap_or(usize::MAX);
        while left > 0 {
            let most = left.min(BATCH);
            let after = went.next.clone().map(|id| EntityKey { lifecycle: lifecycle.clone(), id });
            let listing = Listing { lifecycle: Some(lifecycle.clone()), after, most, ..Listing::default() };
            let page = self.shared().read(|it| it.list(&listing))?.value;
            left -= page.len();
            went.looked_at += page.len() as u64;
            let is_last = page.len() < most;
            went.next = page.last().map(|it| it.key.id.clone()).filter(|_| !is_last);
            let keys = page.iter().filter(|it| wanted(it.definition));
            work(keys.map(|it| (it.key.clone(), it.definition)).collect())?;
            if is_last {
                break;
            }
        }
        Ok(went)
    }
}

/// Reports the answer for one entity.
fn report_answer(key: (EntityKey, u32), answer: CommandAnswer, told: &mut dyn FnMut(&MigratedEntity)) {
    match answer {
        CommandAnswer::Accepted(accepted) => tell(key, Ok(&accepted.entries), told),
        CommandAnswer::Refused(refusal) => tell(key, Err(refusal), told),
        CommandAnswer::Replayed { .. } => {}
    }
}

/// Reports the result for an entity, with its earlier version. An unchanged entity is not reported.
fn tell(
    (entity, from): (EntityKey, u32),
    outcome: Result<&Vec<Entry>, Box<Refusal>>,
    told: &mut dyn FnMut(&MigratedEntity),
) {
    if let Some(outcome) = outcome.map(|entries| state_of(entries)).transpose() {
        told(&MigratedEntity { entity, from, outcome });
    }
}

/// The refusal if the entry of the migration is in a missing archive file, so that its result is unknown.
fn archived(error: &StoreError) -> Refusal {
    Refusal::one(Code::Archived, format!("Archived: {error}"))
}

/// The state that a migration leads to.
fn state_of(entries: &[Entry]) -> Option<Name> {
    entries.iter().find_map(|it| match &it.event {
        Event::Migrated { to, .. } => Some(to.clone()),
        _ => None,
    })
}
