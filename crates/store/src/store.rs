//! The storage interface: one journal writer, one projector, any number of readers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::archive::{Archive, ArchivedSlice, PayloadDrops};
use crate::rules::Installed;
use crate::{Chain, EntityRow, Projection, Record, StoreError};

/// The storage of a project. A handle is its only owner.
pub trait Store: Send + Sync {
    /// The writer of the journal. Only one exists at a time.
    fn journal(&self) -> Result<Box<dyn JournalWriter>, StoreError>;

    /// The writer of projections. Only one exists at a time.
    fn projector(&self) -> Result<Box<dyn Projector>, StoreError>;

    /// A reader. Each has its own connection: give every thread one and keep it.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// The archive; empty if nothing was archived.
    fn archive(&self) -> Result<Archive, StoreError> {
        Ok(Archive::default())
    }

    /// Copies journal and state to an empty or absent folder while they are in use. `beside` then copies the rest, and
    /// only after that the copy is verified and gets its name. A copy that fails is removed. Returns the end of its
    /// journal.
    fn backup(
        &self,
        to: &Path,
        _beside: &mut dyn FnMut(&Path) -> Result<(), StoreError>,
        _progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Chain, StoreError> {
        Err(StoreError::io(format!("copy to {}", to.display()), "this store has no files"))
    }

    /// Requests that the projections are rebuilt when the store is opened the next time: readers use them now.
    fn request_rebuild(&self, _why: &str) {}

    /// Drops payloads from archive files, bytes included, and returns how many there were. Drops for missing files
    /// are done when the files are back.
    fn drop_archived(&self, _: &PayloadDrops) -> Result<u64, StoreError> {
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

/// The end of the journal, and the time of its last entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub chain: Chain,
    pub at: Option<Timestamp>,
}

pub trait JournalWriter: Send {
    /// The stored end of the journal.
    fn head(&mut self) -> Result<Head, StoreError>;

    /// Durably starts a session and returns its number, which is greater than all earlier ones.
    fn begin(&mut self) -> Result<u64, StoreError>;

    /// Appends in one durable commit: when this returns, a power cut cannot take it back.
    ///
    /// After an error it is unknown whether the records were written. The caller must read the head again and discard
    /// what it decided meanwhile.
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Drops the payloads of these records, also from the bytes of the files. Returns how many had one.
    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError>;

    /// Removes all records up to and including `upto`, which becomes the base, in one durable commit. Returns their
    /// number. The caller has a verified copy.
    ///
    /// Entries in `staying` are retained: they can still be read by number but are no longer part of the journal.
    /// Cutting at the base again deletes retained records that are no longer needed.
    ///
    /// Fails if `upto` is not a stored entry, or is the newest one.
    fn cut(&mut self, upto: Chain, _staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        Err(StoreError::io(format!("cutting the journal after {}", upto.seq), "this store cannot be cut"))
    }

    /// Replaces payloads by their offsets in the archive file of their entity, in one durable commit. Returns their
    /// number. The caller has written and verified the file. Dropped payloads stay dropped.
    fn move_payloads(&mut self, slice: &ArchivedSlice) -> Result<u64, StoreError> {
        Err(StoreError::io(format!("archiving {}", slice.entity), "this store has no archive"))
    }
}

/// A record as the journal stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRecord {
    /// Without its payload, if that is in the archive file of its entity.
    pub record: Record,
    /// The offset of the payload in that file.
    pub moved_to: Option<u64>,
}

impl WrittenRecord {
    /// Whether it has a payload, here or in the file.
    pub fn has_payload(&self) -> bool {
        self.record.payload.is_some() || self.moved_to.is_some()
    }
}

impl From<Record> for WrittenRecord {
    fn from(record: Record) -> Self {
        Self { record, moved_to: None }
    }
}

pub trait Projector: Send {
    /// The entry up to which projections are written.
    fn position(&mut self) -> Result<u64, StoreError>;

    /// Writes a projection in one transaction. It need not survive a power cut, but is then missing completely.
    fn project(&mut self, projection: &Projection) -> Result<(), StoreError>;

    /// Deletes at most `most` idempotency keys from before `before`. Returns how many.
    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError>;

    /// Deletes all projections, to rebuild them from the journal.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Checkpoints the WAL in small steps; true when nothing is left to do.
    fn tidy(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Removes damaged rows and writes lost keys again.
    fn heal_rows(&mut self, _: &RowHealing) -> Result<(), StoreError> {
        Ok(())
    }

    /// Removes overwritten bytes from the files, after an erasure was projected.
    fn scrub(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Tables with damaged rows, and the losses of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowHealing {
    /// Rows of these tables that do not match their checksum are removed. What they held is written again before.
    pub tables: BTreeSet<&'static str>,
    /// Indexes that do not agree with their table are made again.
    pub indexes: bool,
    /// Entities that have a damaged row and no entry: their ids are damaged.
    pub entities: Vec<EntityKey>,
    /// Groups whose row cannot be read, and when a member last moved.
    pub groups: Vec<(GroupKey, Timestamp)>,
    /// Idempotency keys without a readable row, with the entry that each came with.
    pub keys: Vec<(u64, Timestamp, KeyRecord)>,
}

/// The place from which rows are checked on. The default is the first row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCursor {
    pub(crate) table: usize,
    pub(crate) after: Vec<RowKey>,
}

/// A column of the key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowKey {
    Number(i64),
    Text(String),
}

/// The result of checking some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCheck {
    pub read: usize,
    /// The table that has a damaged row.
    pub damaged: Option<&'static str>,
    /// Where the check resumes; none at the end.
    pub next: Option<RowCursor>,
}

/// A value and the position at which it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct AtPosition<T> {
    pub position: u64,
    pub value: T,
}

/// The answer to a query of projections.
pub type ReadAt<T> = Result<AtPosition<T>, StoreError>;

/// The number of a group's members per state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub by_state: BTreeMap<Name, u64>,
    pub moved_at: Option<Timestamp>,
}

/// The members of a group by state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    pub by_state: BTreeMap<Name, BTreeSet<EntityKey>>,
    pub moved_at: Option<Timestamp>,
}

/// A timer step that will be due, in firing order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueAt {
    pub due: Timestamp,
    pub entity: EntityKey,
    pub timer: Name,
}

/// A requested effect that is still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEffectRow {
    pub id: u64,
    pub effect: Name,
    pub entity: EntityKey,
}

/// A query for entities, in the order of their ids.
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

/// Dwell times of a state, for entities that left it, in the buckets of [`crate::dwell_times`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DwellTimes {
    pub count: u64,
    pub total_ms: i64,
    /// Count by bucket number.
    pub buckets: BTreeMap<u16, u64>,
}

/// The key columns of a stored entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntity {
    pub key: EntityKey,
    /// Its last entry, as stored.
    pub seq: u64,
    /// Its state, as stored.
    pub state: Name,
}

/// A stored member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Its row number in the group, from 1.
    pub row: u64,
    pub key: EntityKey,
    pub state: Name,
}

/// A stored order of a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRow {
    pub ranking: RankingKey,
    pub within: Within,
    /// The number of its places.
    pub n: u64,
    pub closed: bool,
}

/// Counts of timers, leases, open effects and open violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Running timers, including those of leases.
    pub timers: u64,
    pub leases: u64,
    /// Open effects.
    pub effects: u64,
    /// Open violations.
    pub violations: u64,
}

/// The difference reported for an entity without a stored row.
pub const NOTHING_KEPT: &str = "it has no stored row";

pub trait Reader: Send {
    // The journal.

    fn head(&mut self) -> Result<Head, StoreError>;
    /// Records after `seq`, in order, at most `most`. Damaged records are not returned: the first is the error.
    fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError>;
    /// The same without verifying them: for the audit, and for callers that verify the chain themselves.
    fn unverified_records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.records(after, most)
    }
    /// One record, also a retained one.
    fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError>;
    /// The retained records of an entity, in order.
    fn stayed(&mut self, of: &EntityKey) -> Result<Vec<u64>, StoreError>;
    /// The records of one entity, the newest first, from `from` (its last one) backwards, at most `most`.
    fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError>;
    /// Like `records`, without reading payloads from the archive files of entities.
    fn records_as_written(&mut self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        Ok(self.records(after, most)?.into_iter().map(WrittenRecord::from).collect())
    }
    /// Like `unverified_records`, without reading payloads from the archive files of entities.
    fn unverified_as_written(&mut self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        Ok(self.unverified_records(after, most)?.into_iter().map(WrittenRecord::from).collect())
    }
    /// Like `record`, without reading a payload from the archive file of its entity.
    fn record_as_written(&mut self, seq: u64) -> Result<Option<WrittenRecord>, StoreError> {
        Ok(self.record(seq)?.map(WrittenRecord::from))
    }
    /// Like `trail`, without reading payloads from the archive file of the entity.
    fn trail_as_written(&mut self, from: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        Ok(self.trail(from, most)?.into_iter().map(WrittenRecord::from).collect())
    }
    /// Reads the payload of a record from the archive file of its entity, if it is there.
    fn with_payload(&mut self, written: WrittenRecord) -> Result<Record, StoreError> {
        Ok(written.record)
    }
    /// Records after `seq`, for their headers. Payloads may be missing.
    fn headers(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        Ok(self.records_as_written(after, most)?.into_iter().map(|it| it.record).collect())
    }
    /// The last entry of an entity in its archive file; none if the entity is not in long-term storage.
    fn archived_upto(&mut self, _: &EntityKey) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
    /// The base of the journal: the last archived entry.
    fn base(&mut self) -> Result<Chain, StoreError>;
    fn definitions(&mut self) -> Result<Vec<Definition>, StoreError>;
    /// The entries that installed definitions, in order, including archived ones.
    fn installed(&mut self) -> Result<Vec<Installed>, StoreError>;

    // Projections.

    /// From the next query until `end_snapshot`, all queries see one snapshot of the projections, for the price of one
    /// transaction. Do not hold it for long.
    fn begin_snapshot(&mut self) {}
    fn end_snapshot(&mut self) {}
    /// While set, damaged rows of groups and rankings are skipped instead of reported: for a repair, which writes them
    /// again.
    fn skip_damaged(&mut self, _skip: bool) {}
    fn position(&mut self) -> Result<u64, StoreError>;
    fn project(&mut self) -> Result<Option<Project>, StoreError>;
    fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError>;
    /// The last entry of an entity, even if a part of its row is damaged; an error if no part of it can be trusted.
    fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        Ok(self.entity(key)?.map(|it| it.seq))
    }
    fn counts(&mut self, group: &GroupKey) -> ReadAt<Counts>;
    /// All groups of an entity that have or had members, by name.
    fn groups(&mut self, of: &EntityKey) -> ReadAt<Vec<(Name, Counts)>>;
    fn members(&mut self, group: &GroupKey) -> ReadAt<Members>;
    fn ranking(&mut self, key: &RankingKey) -> ReadAt<RankingIndex>;
    fn unique_holder(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>, StoreError>;
    fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>, StoreError>;
    /// Timers in the order in which they are due, after `after`, at most `most`.
    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> ReadAt<Vec<DueAt>>;
    fn list(&mut self, listing: &Listing) -> ReadAt<Vec<Arc<Entity>>>;
    /// How many entities of a lifecycle are in which state.
    fn states(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, u64>>;
    fn dwell_times(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, DwellTimes>>;
    /// Entries of these kinds after `after`, in order.
    fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>, StoreError>;
    fn effects(&mut self, after: u64, most: usize) -> ReadAt<Vec<OpenEffectRow>>;
    /// Stored entities in the order of their keys, without reading their bodies.
    fn stored_entities(&mut self, after: Option<&EntityKey>, most: usize) -> ReadAt<Vec<StoredEntity>> {
        let found = self.list(&Listing { after: after.cloned(), most, ..Listing::default() })?;
        let kept = found.value.iter().map(|it| StoredEntity {
            key: it.key.clone(),
            seq: it.seq,
            state: it.state.clone(),
        });
        Ok(AtPosition { position: found.position, value: kept.collect() })
    }
    /// Whether an entity has a stored row.
    fn is_stored(&mut self, key: &EntityKey) -> Result<bool, StoreError> {
        Ok(self.entity(key)?.is_some())
    }
    /// The first difference between the stored rows of an entity and this row, as text; none if they match.
    fn difference(&mut self, row: &EntityRow) -> Result<Option<String>, StoreError> {
        let kept = self.entity(&row.entity.key)?;
        Ok(match kept {
            None => Some(NOTHING_KEPT.to_owned()),
            Some(kept) if kept != row.entity => Some(serde_json::to_string(&*kept).unwrap_or_default()),
            Some(_) => None,
        })
    }
    /// Verifies at most `most` rows that do not belong to the table of entities.
    fn check_rows(&mut self, _from: RowCursor, _most: usize) -> Result<RowCheck, StoreError> {
        Ok(RowCheck::default())
    }
    /// At most `most` groups after a row number, each with its row number.
    fn groups_after(&mut self, after: u64, most: usize) -> ReadAt<Vec<(u64, GroupKey)>>;
    /// Members of a group after one of them, at most `most`.
    fn members_after(&mut self, group: &GroupKey, after: u64, most: usize) -> ReadAt<Vec<MemberRow>>;
    /// Whether an entity is a stored member of a group.
    fn is_member(&mut self, group: &GroupKey, of: &EntityKey) -> Result<bool, StoreError>;
    /// The stored place of an entity.
    fn place(&mut self, ranking: &RankingKey, id: &Name) -> ReadAt<Option<RankPlace>>;
    /// At most `most` stored places after a given one.
    fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> ReadAt<Vec<(RankingKey, Name)>>;
    /// A stored order.
    fn order(&mut self, ranking: &RankingKey, within: &Within) -> ReadAt<Option<OrderRow>>;
    /// Orders after one of them, at most `most`.
    fn orders_after(&mut self, after: Option<&(RankingKey, Within)>, most: usize) -> ReadAt<Vec<OrderRow>>;
    /// Counts of timers, leases, open effects and open violations.
    fn census(&mut self) -> ReadAt<Census>;
}
