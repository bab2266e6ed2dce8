//! A record as JSON, with its hashes as text: the format of archive files, exports and evidence.

use serde::{Deserialize, Serialize};
use trackside_lifecycle::hex;

use super::Record;

/// A record as it is written into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordLine {
    pub seq: u64,
    pub prev: u64,
    pub format: u32,
    pub header: String,
    pub payload: Option<String>,
    pub digest: Option<String>,
    pub hash: String,
}

impl From<&Record> for RecordLine {
    fn from(record: &Record) -> Self {
        let Record { seq, prev, format, header, payload, digest, hash } = record.clone();
        Self {
            seq,
            prev,
            format,
            header,
            payload,
            digest: digest.as_ref().map(hex::encode),
            hash: hex::encode(hash),
        }
    }
}

impl TryFrom<RecordLine> for Record {
    type Error = String;

    fn try_from(line: RecordLine) -> Result<Self, String> {
        let read = |text: &str| hex::decode(text).ok_or_else(|| format!("`{text}` is not a hash"));
        let (digest, hash) = (line.digest.as_deref().map(read).transpose()?, read(&line.hash)?);
        let RecordLine { seq, prev, format, header, payload, .. } = line;
        Ok(Self { seq, prev, format, header, payload, digest, hash })
    }
}
