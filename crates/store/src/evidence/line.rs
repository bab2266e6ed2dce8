//! The lines of the file.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trackside_lifecycle::hex;

use crate::Chain;
use crate::record::{Hash, RecordLine};

/// The form of the files that this release writes.
pub const FORMAT: u32 = 1;

/// One line; its key names the kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EvidenceLine {
    Evidence(EvidenceHeader),
    Entity(Box<EntitySummary>),
    /// An entry of a covered entity, as stored.
    Record(RecordLine),
    /// Entries of other entities, by digests.
    Links(Links),
    /// An entry of another entity in format 1, without its payload.
    Bare(RecordLine),
    Artifact(ArtifactPiece),
}

/// The first line: what the file covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceHeader {
    pub format: u32,
    /// The entity, such as `mission.task/T-1`.
    pub entity: String,
    /// Approval requests about it.
    pub approvals: Vec<String>,
    /// The time at which the file was created, and the actor who created it.
    pub at: String,
    pub by: String,
    /// The entry before the first included one.
    pub before: EvidenceEnd,
    /// The end of the journal.
    pub head: EvidenceEnd,
}

/// An entry and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceEnd {
    pub seq: u64,
    pub hash: String,
}

impl From<Chain> for EvidenceEnd {
    fn from(chain: Chain) -> Self {
        Self { seq: chain.seq, hash: hex::encode(chain.hash) }
    }
}

impl EvidenceEnd {
    pub fn chain(&self) -> Option<Chain> {
        Some(Chain { seq: self.seq, hash: hex::decode(&self.hash)? })
    }
}

/// An entity as computed from its entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntitySummary {
    pub lifecycle: String,
    pub id: String,
    pub definition: u32,
    pub state: String,
    pub version: u64,
    pub created_at: String,
    pub updated_at: String,
    pub fields: Map<String, Json>,
    /// Counters, budgets among them, by name and key.
    pub counters: BTreeMap<String, BTreeMap<String, f64>>,
    pub entries: u64,
    /// Entries whose payload was dropped.
    pub redacted: u64,
}

/// Consecutive entries that are given only by the digests of their bodies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    pub first: u64,
    /// 32 bytes for each, as base64.
    pub bodies: String,
    /// The hash of the last of them.
    pub hash: String,
}

impl Links {
    pub fn new(first: u64, bodies: &[Hash], hash: Hash) -> Self {
        Self { first, bodies: STANDARD.encode(bodies.as_flattened()), hash: hex::encode(hash) }
    }

    pub fn read(&self) -> Result<(Vec<Hash>, Hash), String> {
        let bytes = STANDARD.decode(&self.bodies).map_err(|it| it.to_string())?;
        let (bodies, rest) = bytes.as_chunks::<32>();
        if bodies.is_empty() || !rest.is_empty() {
            return Err(format!("{} bytes are not a list of digests", bytes.len()));
        }
        let hash = hex::decode(&self.hash).ok_or_else(|| format!("`{}` is not a hash", self.hash))?;
        Ok((bodies.to_vec(), hash))
    }
}

/// A part of an artifact. Without content, an entry refers to it but it was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactPiece {
    pub sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentChunk>,
}

/// Bytes of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentChunk {
    /// The size of the whole artifact.
    pub size: u64,
    /// The offset of this piece.
    pub from: u64,
    pub base64: String,
}

impl ContentChunk {
    pub fn new(size: u64, from: u64, bytes: &[u8]) -> Self {
        Self { size, from, base64: STANDARD.encode(bytes) }
    }

    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        STANDARD.decode(&self.base64).map_err(|it| it.to_string())
    }
}
