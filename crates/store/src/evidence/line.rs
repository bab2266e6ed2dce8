//! The lines of the file.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::Chain;
use crate::record::{Hash, RecordLine, hex, unhex};

/// The form of the files that this release writes.
pub const FORMAT: u32 = 1;

/// One line, named by what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    Evidence(About),
    Entity(Box<EntityTold>),
    /// An entry of one of these entities, as it is kept.
    Record(RecordLine),
    /// Entries of others.
    Links(Links),
    /// An entry of another, in the first format: its payload stays where it is.
    Bare(RecordLine),
    Artifact(Piece),
}

/// What the file is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    pub format: u32,
    /// As in `mission.task/T-1`.
    pub entity: String,
    /// Requests to people that are about it.
    pub approvals: Vec<String>,
    /// When it was made, and by whom.
    pub at: String,
    pub by: String,
    /// The entry before the first one that is shown.
    pub before: End,
    /// Where the journal ended.
    pub head: End,
}

/// An entry and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub seq: u64,
    pub hash: String,
}

impl From<Chain> for End {
    fn from(chain: Chain) -> Self {
        Self { seq: chain.seq, hash: hex(&chain.hash) }
    }
}

impl End {
    pub fn chain(&self) -> Option<Chain> {
        Some(Chain { seq: self.seq, hash: unhex(&self.hash)? })
    }
}

/// An entity as its entries made it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityTold {
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
    /// Of how many the payload was dropped.
    pub redacted: u64,
}

/// Entries in a row of which only the digests of their bodies are shown.
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
        Self { first, bodies: STANDARD.encode(bodies.as_flattened()), hash: hex(&hash) }
    }

    pub fn read(&self) -> Result<(Vec<Hash>, Hash), String> {
        let bytes = STANDARD.decode(&self.bodies).map_err(|it| it.to_string())?;
        let (bodies, rest) = bytes.as_chunks::<32>();
        if bodies.is_empty() || !rest.is_empty() {
            return Err(format!("{} bytes are no digests", bytes.len()));
        }
        let hash = unhex(&self.hash).ok_or_else(|| format!("`{}` is no hash", self.hash))?;
        Ok((bodies.to_vec(), hash))
    }
}

/// A piece of an artifact. Without content it is named by an entry and was not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Part>,
}

/// Bytes of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Of the whole.
    pub size: u64,
    /// Where this piece begins.
    pub from: u64,
    pub base64: String,
}

impl Part {
    pub fn new(size: u64, from: u64, bytes: &[u8]) -> Self {
        Self { size, from, base64: STANDARD.encode(bytes) }
    }

    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        STANDARD.decode(&self.base64).map_err(|it| it.to_string())
    }
}
