//! The move by which an entity came to its state.

use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::{ReadError, Reads};
use crate::answer::Failure;

/// Entries read at once, and the most that are searched.
const CHUNK: usize = 64;
const FAR: usize = 1_024;

/// The move that led an entity to its state.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub entry: Entry,
    /// The request that it followed from, where that was one about the same entity.
    pub cause: Option<Entry>,
    /// Fields that the move and its immediate consequences changed.
    pub changed: Vec<Name>,
}

impl Reads {
    /// The move by which an entity came to its state, archived or not. None if it is too far back, or in a
    /// file that is not here.
    pub fn arrival(&self, key: &EntityKey) -> Result<Option<Arrival>, ReadError> {
        let head = self.entity(key)?.ok_or_else(|| ReadError::UnknownEntity(key.clone()))?.seq;
        let mut later = Vec::new();
        let found = self.look_back(|whole| {
            let (mut next, mut looked) = (head, 0);
            while next > 0 && looked < FAR {
                let found = whole.trail(next, CHUNK)?;
                looked += found.len().max(1);
                for record in found {
                    next = record.prev;
                    let entry = record.entry()?;
                    if is_move(&entry) {
                        return Ok(Some(entry));
                    }
                    later.push(entry);
                }
            }
            Ok(None)
        });
        match found {
            Ok(Some(entry)) => Ok(Some(self.to_arrival(entry, &later)?)),
            Ok(None) => Ok(None),
            Err(error) => if_here(error),
        }
    }

    /// `later` are the entries after it, the newest first.
    fn to_arrival(&self, entry: Entry, later: &[Entry]) -> Result<Arrival, ReadError> {
        let root = |it: &Entry| it.cause.unwrap_or(it.seq);
        let together = later.iter().rev().filter(|it| root(it) == root(&entry));
        let changes = std::iter::once(&entry).chain(together).filter_map(|it| it.event.changes());
        let mut changed: Vec<Name> = Vec::new();
        for (name, _) in changes.flat_map(|it| &it.fields) {
            if !changed.contains(name) {
                changed.push(name.clone());
            }
        }
        let cause = match entry.cause {
            Some(seq) => self.entry(seq).or_else(if_here)?.filter(|it| it.entity == entry.entity),
            None => None,
        };
        Ok(Arrival { entry, cause, changed })
    }
}

fn is_move(entry: &Entry) -> bool {
    matches!(entry.event, Event::Created { .. } | Event::Transitioned { .. } | Event::Corrected { .. })
}

/// Entries in a missing file, or too far back in one, are left out.
fn if_here<T>(error: ReadError) -> Result<Option<T>, ReadError> {
    match error {
        ReadError::Failure(Failure::Archived { .. } | Failure::ArchiveFile(_)) | ReadError::TooFar(_) => {
            Ok(None)
        }
        error => Err(error),
    }
}
