//! Imports entities from elsewhere. A repeated import brings nothing twice.

use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, ImportedEntity, RequestDigest};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Refusal;
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::archive::Archive;

use crate::answer::{CommandAnswer, Failure};
use crate::runtime::Runtime;

/// The result of an import or its dry run.
#[derive(Clone, Debug)]
pub enum Imported {
    Done {
        /// The number of imported entities.
        brought: u64,
        /// Entities that an earlier import from the same place brought. They are not changed.
        already: Vec<EntityKey>,
    },
    /// Nothing was imported.
    Refused(Box<Refusal>),
}

impl Runtime {
    /// Imports all entities, or none if one is invalid, and reports every problem; with `dry_run` changes
    /// nothing. `request` is the request id in the journal.
    pub fn import(
        &self,
        actor: &Actor,
        request: Option<Name>,
        entities: Vec<ImportedEntity>,
        dry_run: bool,
    ) -> Result<Imported, Failure> {
        self.import_once(actor, request, None, entities, dry_run)
    }

    /// Imports under an idempotency key, with the digest of the request.
    pub fn import_once(
        &self,
        actor: &Actor,
        request: Option<Name>,
        once: Option<(Name, RequestDigest)>,
        entities: Vec<ImportedEntity>,
        dry_run: bool,
    ) -> Result<Imported, Failure> {
        let archive = self.store().archive().map_err(unavailable)?;
        let (mut already, mut new) = (Vec::new(), Vec::new());
        for it in entities {
            match self.came_from_there(&archive, &it).map_err(unavailable)? {
                true => already.push(it.entity),
                false => new.push(it),
            }
        }
        let brought = new.len() as u64;
        if new.is_empty() {
            return Ok(Imported::Done { brought, already });
        }
        let mut command = Command::new(actor.clone(), Ask::Import(new));
        command.request_id = request;
        if let Some((key, said)) = once {
            (command.idempotency_key, command.said) = (Some(key), Some(said));
        }
        let refusal = match dry_run {
            true => match self.gateway()?.dry_run(command)?.wait()? {
                Decision::Refused(refusal) => Some(refusal),
                Decision::Accepted(_) | Decision::Replayed { .. } => None,
            },
            false => match self.gateway()?.ask(command)? {
                CommandAnswer::Refused(refusal) => Some(refusal),
                CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => None,
            },
        };
        Ok(match refusal {
            Some(refusal) => Imported::Refused(refusal),
            None => Imported::Done { brought, already },
        })
    }

    /// Whether an import from the same place created the entity: its first entry names the place.
    fn came_from_there(&self, archive: &Archive, it: &ImportedEntity) -> Result<bool, StoreError> {
        let Some(entity) = self.entity(&it.entity)? else { return Ok(false) };
        let trail = self.shared().read(|reader| archive.trail(reader, entity.seq, usize::MAX))?;
        let Some(first) = trail.last().filter(|it| it.prev == 0) else { return Ok(false) };
        Ok(it.origin.is_of(&first.entry()?))
    }
}

fn unavailable(error: StoreError) -> Failure {
    Failure::Unavailable(error.to_string())
}
