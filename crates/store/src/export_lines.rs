//! Export and import format of a project: JSON lines with a header, pack versions, records and artifacts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::archive::Archive;
use crate::record::RecordLine;
use crate::{Artifacts, Definition, Reader, Record, StoreError};

/// The form of the lines.
pub const FORMAT: u32 = 1;
/// Records read per query.
const PIECE: usize = 500;

/// A line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportLine {
    Header(ExportHeader),
    Definition(Definition),
    Record(Box<Record>),
    /// An artifact whose hash was checked.
    Artifact {
        id: String,
        content: Vec<u8>,
    },
    /// An entry, for callers who may not read the records.
    Entry,
}

/// The first line of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportHeader {
    /// The time of the export.
    pub at: String,
    /// The last entry there was then.
    pub last: u64,
    /// True if records follow, false if entries follow.
    pub records: bool,
    /// The time of the project's clock if it is a manual clock.
    pub clock: Option<Timestamp>,
}

/// The first line. `clock` is the time of the project's clock if it is a manual clock.
pub fn header_line(at: Timestamp, last: u64, records: bool, clock: Option<Timestamp>) -> Json {
    let content = if records { "records" } else { "entries" };
    let mut about = json!({ "format": FORMAT, "at": at.to_string(), "last": last, "content": content });
    if let (Some(clock), Some(about)) = (clock, about.as_object_mut()) {
        about.insert("manualClock".to_owned(), clock.to_string().into());
    }
    json!({ "export": about })
}

/// The texts of a version of a pack.
pub fn definition(it: &Definition) -> Json {
    let files: Json = it.files.iter().map(|(path, text)| (path.clone(), json!(text))).collect();
    json!({ "definition": { "pack": it.pack, "version": it.version, "digest": it.digest, "files": files } })
}

/// A record as stored, so that its hash can be checked.
pub fn record(it: &Record) -> Json {
    json!({ "record": RecordLine::from(it) })
}

/// The content of an artifact.
pub fn artifact(id: &str, content: &[u8]) -> Json {
    json!({ "artifact": { "sha256": id, "base64": STANDARD.encode(content) } })
}

/// Passes every record up to and including `upto` to the callback, in order: archive files that are present, then the
/// journal.
pub fn each_record<E: From<StoreError>>(
    reader: &mut dyn Reader,
    archive: &Archive,
    upto: u64,
    tell: &mut dyn FnMut(&Record) -> Result<(), E>,
) -> Result<(), E> {
    let base = reader.base()?.seq;
    let mut after = 0;
    while after < upto {
        let records = match after < base {
            true => archive.records(after, PIECE)?,
            false => reader.records(after, PIECE)?,
        };
        let Some(last) = records.last().map(|it| it.seq) else {
            // Archive files that were moved away are skipped.
            if after < base {
                after = base;
                continue;
            }
            break;
        };
        for record in records.iter().filter(|it| it.seq <= upto && (after >= base || it.seq <= base)) {
            tell(record)?;
        }
        after = if after < base { last.min(base) } else { last };
    }
    Ok(())
}

#[derive(Deserialize)]
enum Written {
    #[serde(rename = "export")]
    Export(WrittenAbout),
    #[serde(rename = "definition")]
    Definition(WrittenDefinition),
    #[serde(rename = "record")]
    Record(RecordLine),
    #[serde(rename = "artifact")]
    Artifact(WrittenArtifact),
    #[serde(rename = "entry")]
    Entry(Json),
}

#[derive(Deserialize)]
struct WrittenAbout {
    format: u32,
    at: String,
    last: u64,
    content: String,
    #[serde(default, rename = "manualClock")]
    clock: Option<String>,
}

#[derive(Deserialize)]
struct WrittenDefinition {
    pack: Name,
    version: u32,
    digest: String,
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct WrittenArtifact {
    sha256: String,
    base64: String,
}

/// Parses a line, or returns what is wrong with it.
pub fn read(text: &str) -> Result<ExportLine, String> {
    let written =
        serde_json::from_str(text).map_err(|it| format!("this is not a line of an export ({it})"))?;
    Ok(match written {
        Written::Export(it) if it.format > FORMAT => {
            return Err(format!(
                "it has format {}; this release supports up to {FORMAT}. Use a newer release",
                it.format
            ));
        }
        Written::Export(it) => {
            let stands = |text: &String| {
                Timestamp::parse(text)
                    .ok_or_else(|| format!("`{text}`, the time of its clock, is not a time"))
            };
            let clock = it.clock.as_ref().map(stands).transpose()?;
            ExportLine::Header(ExportHeader {
                at: it.at,
                last: it.last,
                records: it.content == "records",
                clock,
            })
        }
        Written::Definition(it) => ExportLine::Definition(Definition {
            pack: it.pack,
            version: it.version,
            digest: it.digest,
            files: it.files.into_iter().collect(),
        }),
        Written::Record(it) => {
            let hash = |text: &str| {
                hex::decode(text).ok_or_else(|| format!("`{text}` of entry {} is not a hash", it.seq))
            };
            let digest = it.digest.as_deref().map(hash).transpose()?;
            let hash = hash(&it.hash)?;
            let RecordLine { seq, prev, format, header, payload, .. } = it;
            ExportLine::Record(Box::new(Record { seq, prev, format, header, payload, digest, hash }))
        }
        Written::Artifact(it) => {
            let content = STANDARD
                .decode(it.base64)
                .map_err(|error| format!("{} is not base64 ({error})", it.sha256))?;
            if Artifacts::id_of(&content) != it.sha256 {
                return Err(format!("the content of artifact {} does not match its hash", it.sha256));
            }
            ExportLine::Artifact { id: it.sha256, content }
        }
        Written::Entry(it) if it.is_object() => ExportLine::Entry,
        Written::Entry(_) => return Err("this is not a line of an export (an entry is an object)".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::digest;

    #[test]
    fn written_lines_are_read_back() {
        let kept = Record {
            seq: 3,
            prev: 1,
            format: 1,
            header: "{}".to_owned(),
            payload: Some("{\"a\":1}".to_owned()),
            digest: Some(digest("{\"a\":1}")),
            hash: digest("x"),
        };
        assert_eq!(read(&record(&kept).to_string()).unwrap(), ExportLine::Record(Box::new(kept.clone())));
        let bare = Record { payload: None, digest: None, ..kept };
        assert_eq!(read(&record(&bare).to_string()).unwrap(), ExportLine::Record(Box::new(bare)));
        let pack = Definition {
            pack: Name::new("p"),
            version: 2,
            digest: "d".to_owned(),
            files: vec![("a.yaml".to_owned(), "1".to_owned()), ("b.yaml".to_owned(), "2".to_owned())],
        };
        assert_eq!(read(&definition(&pack).to_string()).unwrap(), ExportLine::Definition(pack));
        let told = read(&header_line(Timestamp(0), 7, true, None).to_string()).unwrap();
        assert!(matches!(told, ExportLine::Header(ExportHeader { last: 7, records: true, .. })), "{told:?}");
        assert_eq!(read("{\"entry\":{\"seq\":1}}").unwrap(), ExportLine::Entry);
        let (id, content) = (Artifacts::id_of(b"a report"), b"a report".to_vec());
        let line = artifact(&id, &content).to_string();
        assert_eq!(read(&line).unwrap(), ExportLine::Artifact { id: id.clone(), content });
        let other = artifact(&id, b"another").to_string();
        assert!(read(&other).unwrap_err().contains("does not match its hash"));
    }

    #[test]
    fn invalid_lines_are_rejected() {
        for text in ["", "[]", "{}", "{\"record\":{}}", "{\"thing\":1}", "null", "{\"export\":1,\"entry\":2}"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        let newer =
            header_line(Timestamp(0), 7, true, None).to_string().replace("\"format\":1", "\"format\":9");
        assert!(read(&newer).unwrap_err().contains("Use a newer release"));
    }
}
