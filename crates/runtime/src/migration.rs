//! Moves running entities to another version of their definition: planned and done by the same code.

use std::collections::BTreeMap;

use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command, Migrate};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Refusal;
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::store::Listing;

use crate::answer::{Answer, Failure};
use crate::by::By;
use crate::runtime::Runtime;
use crate::trail;

/// Entities that are under way at a time.
const BATCH: usize = 256;

/// Which entities, where to, and how.
#[derive(Clone, Debug)]
pub struct Migration {
    pub lifecycle: Name,
    /// The version they are to live by.
    pub to: u32,
    /// State to its name there, where that is another one.
    pub states: BTreeMap<Name, Name>,
    /// What becomes of fields that cannot stay as they are.
    pub fields: Fields,
}

/// What would become, or has become, of one entity.
#[derive(Clone, Debug)]
pub struct Moved {
    pub entity: EntityKey,
    pub from: u32,
    /// The state it has there, or why it cannot move.
    pub outcome: Result<Name, Box<Refusal>>,
}

impl Runtime {
    /// Tells of each entity whether it could move and why not, and changes nothing.
    pub fn plan_migration(
        &self,
        by: impl Into<By>,
        migration: &Migration,
        told: &mut dyn FnMut(&Moved),
    ) -> Result<(), Failure> {
        let by = by.into();
        self.each_to_move(migration, &mut |keys| {
            let commands = keys.iter().map(|(key, _)| migration.command(&by, key.clone()));
            let asked = commands.map(|it| self.gateway()?.dry_run(it)).collect::<Result<Vec<_>, _>>()?;
            for (key, pending) in keys.into_iter().zip(asked) {
                match pending.wait()? {
                    Decision::Accepted(accepted) => tell(key, Ok(&accepted.entries), told),
                    Decision::Refused(refusal) => tell(key, Err(refusal), told),
                    Decision::Replayed { .. } | Decision::Needs(_) => {}
                }
            }
            Ok(())
        })
    }

    /// Moves every entity that can be moved, a batch at a time; each move is an entry of the journal.
    pub fn apply_migration(
        &self,
        by: impl Into<By>,
        migration: &Migration,
        told: &mut dyn FnMut(&Moved),
    ) -> Result<(), Failure> {
        let by = by.into();
        self.each_to_move(migration, &mut |keys| {
            let commands = keys.iter().map(|(key, _)| migration.command(&by, key.clone()));
            let asked = commands.map(|it| self.gateway()?.submit(it)).collect::<Result<Vec<_>, _>>()?;
            for (key, pending) in keys.into_iter().zip(asked) {
                match pending.wait()? {
                    Answer::Accepted(accepted) => tell(key, Ok(&accepted.entries), told),
                    Answer::Refused(refusal) => tell(key, Err(refusal), told),
                    Answer::Replayed { .. } => {}
                }
            }
            Ok(())
        })
    }

    /// Takes migrations to a version back, of those to which nothing has happened since.
    pub fn undo_migration(
        &self,
        by: impl Into<By>,
        lifecycle: &Name,
        version: u32,
        told: &mut dyn FnMut(&Moved),
    ) -> Result<(), Failure> {
        let unavailable = |it: StoreError| Failure::Unavailable(it.to_string());
        let by = by.into();
        self.each(lifecycle, &|definition| definition == version, &mut |keys| {
            for (entity, _) in keys {
                let last = self.entity(&entity).map_err(unavailable)?.map_or(0, |it| it.seq);
                let records = self.shared().read(|it| trail::upto(it, last)).map_err(unavailable)?;
                let mut migration = None;
                for record in records.iter().rev() {
                    let entry = record.entry().map_err(unavailable)?;
                    if matches!(entry.event, Event::Migrated { definition, .. } if definition == version) {
                        migration = Some(entry);
                        break;
                    }
                }
                // One that was made by this version was never moved to it.
                let Some(migration) = migration else { continue };
                let ask = Ask::UndoMigration { entity: entity.clone(), migration: Box::new(migration) };
                match self.gateway()?.ask(by.command(ask))? {
                    Answer::Accepted(accepted) => tell((entity, version), Ok(&accepted.entries), told),
                    Answer::Refused(refusal) => tell((entity, version), Err(refusal), told),
                    Answer::Replayed { .. } => {}
                }
            }
            Ok(())
        })
    }

    fn each_to_move(
        &self,
        migration: &Migration,
        work: &mut dyn FnMut(Vec<(EntityKey, u32)>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.each(&migration.lifecycle, &|definition| definition != migration.to, work)
    }

    /// Goes through the entities of a lifecycle that live by a version which is wanted, a batch at a time.
    fn each(
        &self,
        lifecycle: &Name,
        wanted: &dyn Fn(u32) -> bool,
        work: &mut dyn FnMut(Vec<(EntityKey, u32)>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // What is not written yet would not be listed.
        self.wait_until_written()?;
        let mut after = None;
        loop {
            let listing = Listing {
                lifecycle: Some(lifecycle.clone()),
                after: after.clone(),
                most: BATCH,
                ..Listing::default()
            };
            let page = self.shared().read(|it| it.list(&listing));
            let page = page.map_err(|it| Failure::Unavailable(it.to_string()))?.value;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.key.clone());
            let keys = page.iter().filter(|it| wanted(it.definition));
            work(keys.map(|it| (it.key.clone(), it.definition)).collect())?;
        }
    }
}

impl Migration {
    fn command(&self, by: &By, entity: EntityKey) -> Command {
        let Self { to, states, fields, .. } = self.clone();
        by.command(Ask::Migrate(Migrate { entity, to, states, fields }))
    }
}

/// Tells of an entity, with the version it had, what its migration leads to. One that stays as it is is not told of.
fn tell(
    (entity, from): (EntityKey, u32),
    outcome: Result<&Vec<Entry>, Box<Refusal>>,
    told: &mut dyn FnMut(&Moved),
) {
    let outcome = match outcome.map(|entries| state_of(entries)) {
        Ok(None) => return,
        Ok(Some(state)) => Ok(state),
        Err(refusal) => Err(refusal),
    };
    told(&Moved { entity, from, outcome });
}

/// The state that a migration leads to.
fn state_of(entries: &[Entry]) -> Option<Name> {
    entries.iter().find_map(|it| match &it.event {
        Event::Migrated { to, .. } => Some(to.clone()),
        _ => None,
    })
}
