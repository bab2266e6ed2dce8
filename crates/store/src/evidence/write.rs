//! Writes an evidence file line by line, with little of the journal in memory.

use std::collections::BTreeSet;
use std::io;

use trackside_engine::key::EntityKey;

use super::line::{ArtifactPiece, ContentChunk, EntitySummary, EvidenceHeader, EvidenceLine, FORMAT, Links};
use super::replay::Replay;
use crate::archive::Archive;
use crate::record::{Hash, RecordLine};
use crate::store::Reader;
use crate::{Chain, Record, StoreError};

/// Records read at a time, and most digests of one line.
const PIECE: usize = 1_000;
/// Bytes of an artifact in one line.
const PART: usize = 384 * 1_024;

/// A request for an evidence file.
#[derive(Clone, Debug)]
pub struct EvidenceRequest {
    pub entity: EntityKey,
    /// Its last entry.
    pub newest: u64,
    /// Approval requests about it, each with its last entry.
    pub approvals: Vec<(EntityKey, u64)>,
    /// The last entry to read.
    pub upto: u64,
    pub at: String,
    pub by: String,
}

/// The content of an evidence file.
#[derive(Clone, Debug)]
pub struct Bundle {
    about: EvidenceHeader,
    entities: Vec<EntitySummary>,
    /// Entries that are shown.
    shown: BTreeSet<u64>,
    artifacts: BTreeSet<String>,
    before: Chain,
    head: Chain,
}

impl Bundle {
    /// Collects the data of the evidence.
    pub fn gather(
        reader: &mut dyn Reader,
        archive: &Archive,
        wanted: &EvidenceRequest,
    ) -> Result<Self, StoreError> {
        let (mut replay, mut shown, mut approvals) = (Replay::default(), BTreeSet::new(), Vec::new());
        let own = (wanted.entity.clone(), wanted.newest);
        for (key, newest) in std::iter::once(&own).chain(&wanted.approvals) {
            let before = shown.len();
            for record in archive.full_trail(reader, *newest)?.iter().filter(|it| it.seq <= wanted.upto) {
                replay.take(record)?;
                shown.insert(record.seq);
            }
            if *key != wanted.entity && shown.len() > before {
                approvals.push(key.to_string());
            }
        }
        let first = shown.first().copied().unwrap_or(wanted.upto);
        let before = chain_at(reader, archive, first.saturating_sub(1))?;
        let head = chain_at(reader, archive, wanted.upto)?;
        let about = EvidenceHeader {
            format: FORMAT,
            entity: wanted.entity.to_string(),
            approvals,
            at: wanted.at.clone(),
            by: wanted.by.clone(),
            before: before.into(),
            head: head.into(),
        };
        let (entities, artifacts) = (replay.summaries(), replay.artifacts);
        Ok(Self { about, entities, shown, artifacts, before, head })
    }

    /// Passes every line to the callback. `content` loads an artifact by its id.
    pub fn write<E: From<StoreError>>(
        &self,
        reader: &mut dyn Reader,
        archive: &Archive,
        content: &dyn Fn(&str) -> io::Result<Option<Vec<u8>>>,
        say: &mut dyn FnMut(&EvidenceLine) -> Result<(), E>,
    ) -> Result<(), E> {
        say(&EvidenceLine::Evidence(self.about.clone()))?;
        for entity in &self.entities {
            say(&EvidenceLine::Entity(Box::new(entity.clone())))?;
        }
        self.chain(reader, archive, say)?;
        for id in &self.artifacts {
            let found = content(id).map_err(|it| StoreError::io(format!("reading the artifact {id}"), it))?;
            pieces(id, found.as_deref(), say)?;
        }
        Ok(())
    }

    fn chain<E: From<StoreError>>(
        &self,
        reader: &mut dyn Reader,
        archive: &Archive,
        say: &mut dyn FnMut(&EvidenceLine) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut hidden = Hidden { at: self.before, bodies: Vec::new() };
        let mut look = |record: &Record| -> Result<(), E> {
            if record.seq != hidden.at.seq.saturating_add(1) {
                let what = "was archived meanwhile. Try again".to_owned();
                return Err(StoreError::Chain { seq: hidden.at.seq.saturating_add(1), what }.into());
            }
            let line = match self.shown.contains(&record.seq) {
                true => Some(EvidenceLine::Record(record.into())),
                false if !record.has_body() => {
                    Some(EvidenceLine::Bare(RecordLine { payload: None, ..RecordLine::from(record) }))
                }
                false => None,
            };
            if line.is_some() || hidden.bodies.len() >= PIECE {
                hidden.said(say)?;
            }
            match line {
                Some(line) => say(&line)?,
                None => hidden.bodies.push(record.body()),
            }
            hidden.at = Chain { seq: record.seq, hash: record.hash };
            Ok(())
        };
        let base = reader.base()?;
        if self.before.seq < base.seq {
            for record in archive.archived_after(self.before.seq, base)? {
                look(&record?)?;
            }
        }
        let mut after = self.before.seq.max(base.seq);
        while after < self.head.seq {
            let records = reader.records(after, PIECE)?;
            let Some(last) = records.last().map(|it| it.seq) else { break };
            records.iter().filter(|it| it.seq <= self.head.seq).try_for_each(&mut look)?;
            after = last;
        }
        hidden.said(say)
    }
}

/// Entries of other entities that are collected into one line.
struct Hidden {
    /// The last entry that was read.
    at: Chain,
    bodies: Vec<Hash>,
}

impl Hidden {
    fn said<E>(&mut self, say: &mut dyn FnMut(&EvidenceLine) -> Result<(), E>) -> Result<(), E> {
        if self.bodies.is_empty() {
            return Ok(());
        }
        let bodies = std::mem::take(&mut self.bodies);
        let first = self.at.seq.saturating_add(1).saturating_sub(bodies.len() as u64);
        say(&EvidenceLine::Links(Links::new(first, &bodies, self.at.hash)))
    }
}

/// An entry and its hash; the default before the first entry.
fn chain_at(reader: &mut dyn Reader, archive: &Archive, seq: u64) -> Result<Chain, StoreError> {
    if seq == 0 {
        return Ok(Chain::default());
    }
    let base = reader.base()?;
    if seq == base.seq {
        return Ok(base);
    }
    let found = if seq < base.seq { archive.record(seq)? } else { reader.record(seq)? };
    let record = found.ok_or_else(|| StoreError::Chain { seq, what: "is missing".to_owned() })?;
    Ok(Chain { seq, hash: record.hash })
}

fn pieces<E>(
    id: &str,
    content: Option<&[u8]>,
    say: &mut dyn FnMut(&EvidenceLine) -> Result<(), E>,
) -> Result<(), E> {
    let line = |content| EvidenceLine::Artifact(ArtifactPiece { sha256: id.to_owned(), content });
    let Some(content) = content else { return say(&line(None)) };
    let size = content.len() as u64;
    if content.is_empty() {
        return say(&line(Some(ContentChunk::new(0, 0, &[]))));
    }
    let mut from = 0;
    for part in content.chunks(PART) {
        say(&line(Some(ContentChunk::new(size, from, part))))?;
        from += part.len() as u64;
    }
    Ok(())
}
