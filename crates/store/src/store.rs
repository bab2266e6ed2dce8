//! What a store is: one who appends, one who projects, any number who read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{Place, Ranking, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::archive::{Archive, Unwanted};
use crate::rules::Installed;
use crate::{Chain, EntityRow, Projection, Record, StoreError};

/// The place where a project is kept. Whoever has it is its only owner.
pub trait Store: Send + Sync {
    /// The end at which records are appended. There is one at a time.
    fn journal(&self) -> Result<Box<dyn Journal>, StoreError>;

    /// The one who writes projections. There is one at a time.
    fn projector(&self) -> Result<Box<dyn Projector>, StoreError>;

    /// Somebody who reads; each has a connection of its own, so give every thread one and keep it.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Where old journal was moved to; without files where nothing was.
    fn archive(&self) -> Result<Archive, StoreError> {
        Ok(Archive::default())
    }

    /// Copies the project to a folder that is empty or not there, while others go on; where the copy's journal ends.
    fn backup(&self, to: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<Chain, StoreError> {
        Err(StoreError::io(format!("copy to {}", to.display()), "this store is not kept in files"))
    }

    /// Drops payloads from what was archived, so that their bytes are gone; how many there were. What may be in a file
    /// that is not there now is dropped when it is.
    fn drop_archived(&self, _: &Unwanted) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Everything that one commit writes.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub records: Vec<Record>,
    /// Packs whose installation is among the records.
    pub definitions: Vec<Definition>,
}

/// The texts of one version of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub pack: Name,
    pub version: u32,
    /// SHA-256 over its files, as hexadecimal text.
    pub digest: String,
    /// Path within the pack and text, in the order of paths.
    pub files: Vec<(String, String)>,
}

/// Where the journal ends, and when its last entry was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub chain: Chain,
    pub at: Option<Timestamp>,
}

pub trait Journal: Send {
    /// Where it ends, as it is stored.
    fn head(&mut self) -> Result<Head, StoreError>;

    /// Notes durably that somebody begins to work with it: a number that is greater than everybody before was given.
    fn begin(&mut self) -> Result<u64, StoreError>;

    /// Appends in one durable commit: when this returns, a power cut cannot take it back.
    ///
    /// After an error it is unknown whether it is there: whoever appends must ask for the head again, and
    /// must not append what it decided meanwhile.
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Drops the payloads of these records, so that their bytes are gone from the files too. How many had one.
    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError>;

    /// Takes everything up to and with the entry `upto` away, which becomes the base; how many records that
    /// were. In one durable commit. Whoever cuts has a verified copy elsewhere.
    ///
    /// Those that are `staying`, somebody may still need: they can be asked for by their number, though they are not part of
    /// the journal any more. Cutting at the base itself again lets go of those that stayed and need not now.
    ///
    /// Refused where `upto` is not the entry that is stored there, or is the newest one: that always stays.
    fn cut(&mut self, upto: Chain, _staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        Err(StoreError::io(format!("cutting the journal after {}", upto.seq), "this store keeps all of it"))
    }
}

pub trait Projector: Send {
    /// The entry up to which projections are written.
    fn position(&mut self) -> Result<u64, StoreError>;

    /// Writes a projection in one transaction. It need not survive a power cut, but must then be missing as a whole.
    fn project(&mut self, projection: &Projection) -> Result<(), StoreError>;

    /// Forgets idempotency keys that came before `before`, at most `most` of them; how many.
    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError>;

    /// Throws all projections away: they are made anew from the journal.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Moves what was written from the log into the file, in small steps; true when nothing is left to do.
    fn tidy(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Makes sure that no byte of what was overwritten is left in the files: after something was erased and
    /// projected.
    fn scrub(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A value as it was after an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct As<T> {
    pub position: u64,
    pub value: T,
}

/// How many of a group are in which state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub by_state: BTreeMap<Name, u64>,
    pub moved_at: Option<Timestamp>,
}

/// Who a group consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    pub by_state: BTreeMap<Name, BTreeSet<EntityKey>>,
    pub moved_at: Option<Timestamp>,
}

/// A step of a clock that will be due. Ordered as they fire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueAt {
    pub due: Timestamp,
    pub entity: EntityKey,
    pub timer: Name,
}

/// An effect that somebody outside has been asked for and has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEffectRow {
    pub id: u64,
    pub effect: Name,
    pub entity: EntityKey,
}

/// Which entities of a lifecycle, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub lifecycle: Option<Name>,
    /// Only those in one of these states; empty: all.
    pub states: Vec<Name>,
    /// Only those whose indexed field has this value.
    pub indexed: Option<(Name, Value)>,
    /// Only those that are overdue at this time.
    pub overdue_at: Option<Timestamp>,
    /// Only those after this one.
    pub after: Option<EntityKey>,
    pub most: usize,
}

/// How long a state was stayed in, by those who left it: in the buckets of [`crate::stays`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    pub count: u64,
    pub total_ms: i64,
    /// Number of the bucket and how many fell into it.
    pub buckets: BTreeMap<u16, u64>,
}

/// An entity of which something is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub key: EntityKey,
    /// Its last entry, as it is kept.
    pub seq: u64,
    /// The state by which it is found.
    pub state: Name,
}

/// One of a group, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Its place among them, from 1 on.
    pub row: u64,
    pub key: EntityKey,
    pub state: Name,
}

/// One order of a ranking, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRow {
    pub ranking: RankingKey,
    pub within: Within,
    /// How many stand in it.
    pub n: u64,
    pub closed: bool,
}

/// How much there is of what is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Timers that run, those of leases included.
    pub timers: u64,
    pub leases: u64,
    /// Effects that nobody has answered.
    pub effects: u64,
    /// Violations that were found and not cleared.
    pub violations: u64,
}

/// What is said where an entity is in the journal and nowhere else.
pub const NOTHING_KEPT: &str = "nothing was kept of it";

pub trait Reader: Send {
    // The journal.

    fn head(&mut self) -> Result<Head, StoreError>;
    /// Records after `seq`, in order, at most `most`.
    fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError>;
    /// One of them, or one that stayed when the journal was cut after it.
    fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError>;
    /// Those of an entity that stayed when the journal was cut after them, in order.
    fn stayed(&mut self, of: &EntityKey) -> Result<Vec<u64>, StoreError>;
    /// The records of one entity, the newest first, from `from` (its last one) backwards, at most `most`.
    fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError>;
    /// Where the journal begins in this file: the end of what was archived before it.
    fn base(&mut self) -> Result<Chain, StoreError>;
    fn definitions(&mut self) -> Result<Vec<Definition>, StoreError>;
    /// The entries by which definitions came into force, in order, also those that were archived since.
    fn installed(&mut self) -> Result<Vec<Installed>, StoreError>;

    // Projections.

    /// From the next question on, projections are seen as they are then, until `release`: many questions for the
    /// price of one transaction. Whoever holds must not hold for long.
    fn hold(&mut self) {}
    fn release(&mut self) {}
    fn position(&mut self) -> Result<u64, StoreError>;
    fn project(&mut self) -> Result<Option<Project>, StoreError>;
    fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError>;
    /// The last entry of an entity, be the rest of what is kept of it damaged.
    fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        Ok(self.entity(key)?.map(|it| it.seq))
    }
    fn counts(&mut self, group: &GroupKey) -> Result<As<Counts>, StoreError>;
    /// All groups of an entity that anybody is or was in, by name.
    fn groups(&mut self, of: &EntityKey) -> Result<As<Vec<(Name, Counts)>>, StoreError>;
    fn members(&mut self, group: &GroupKey) -> Result<As<Members>, StoreError>;
    fn ranking(&mut self, key: &RankingKey) -> Result<As<Ranking>, StoreError>;
    fn same(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>, StoreError>;
    fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>, StoreError>;
    /// Timers in the order in which they are due, after `after`, at most `most`.
    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> Result<As<Vec<DueAt>>, StoreError>;
    fn list(&mut self, listing: &Listing) -> Result<As<Vec<Arc<Entity>>>, StoreError>;
    /// How many entities of a lifecycle are in which state.
    fn states(&mut self, lifecycle: &Name) -> Result<As<BTreeMap<Name, u64>>, StoreError>;
    fn stays(&mut self, lifecycle: &Name) -> Result<As<BTreeMap<Name, Stays>>, StoreError>;
    /// Entries of these kinds after `after`, in order.
    fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>, StoreError>;
    fn effects(&mut self, after: u64, most: usize) -> Result<As<Vec<OpenEffectRow>>, StoreError>;
    /// Of which entities something is kept, in the order of their keys, without a look at what that is.
    fn kept(&mut self, after: Option<&EntityKey>, most: usize) -> Result<As<Vec<Kept>>, StoreError> {
        let found = self.list(&Listing { after: after.cloned(), most, ..Listing::default() })?;
        let kept =
            found.value.iter().map(|it| Kept { key: it.key.clone(), seq: it.seq, state: it.state.clone() });
        Ok(As { position: found.position, value: kept.collect() })
    }
    /// Whether anything is kept of an entity.
    fn is_kept(&mut self, key: &EntityKey) -> Result<bool, StoreError> {
        Ok(self.entity(key)?.is_some())
    }
    /// What is kept of an entity and is not what this makes of it, in words; none if all of it is.
    fn difference(&mut self, row: &EntityRow) -> Result<Option<String>, StoreError> {
        let kept = self.entity(&row.entity.key)?;
        Ok(match kept {
            None => Some(NOTHING_KEPT.to_owned()),
            Some(kept) if kept != row.entity => Some(serde_json::to_string(&*kept).unwrap_or_default()),
            Some(_) => None,
        })
    }
    /// Groups after a number, each with its own, at most `most`.
    fn groups_after(&mut self, after: u64, most: usize) -> Result<As<Vec<(u64, GroupKey)>>, StoreError>;
    /// Members of a group after one of them, at most `most`.
    fn members_after(
        &mut self,
        group: &GroupKey,
        after: u64,
        most: usize,
    ) -> Result<As<Vec<MemberRow>>, StoreError>;
    /// Whether an entity is kept as a member of a group.
    fn is_member(&mut self, group: &GroupKey, of: &EntityKey) -> Result<bool, StoreError>;
    /// Where an entity is kept to stand.
    fn place(&mut self, ranking: &RankingKey, id: &Name) -> Result<As<Option<Place>>, StoreError>;
    /// Who is kept to stand anywhere, after one of them, at most `most`.
    fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> Result<As<Vec<(RankingKey, Name)>>, StoreError>;
    /// An order as it is kept.
    fn order(&mut self, ranking: &RankingKey, within: &Within) -> Result<As<Option<OrderRow>>, StoreError>;
    /// Orders after one of them, at most `most`.
    fn orders_after(
        &mut self,
        after: Option<&(RankingKey, Within)>,
        most: usize,
    ) -> Result<As<Vec<OrderRow>>, StoreError>;
    /// How much there is of what is waited for.
    fn census(&mut self) -> Result<As<Census>, StoreError>;
}
