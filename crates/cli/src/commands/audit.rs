//! `trackside audit verify`: whether the journal is what was written.

use serde_json::{Value as Json, json};
use trackside_store::archive::Archive;
use trackside_store::audit::{Audit, Dropped};
use trackside_store::record::hex;
use trackside_store::{Chain, Reader, StoreError};

use super::evidence;
use crate::args::{AuditArgs, AuditCommand, AuditVerifyArgs};
use crate::exit;
use crate::folder::{self, Stopped, counted};
use crate::print::{self, Colour, Progress, painted_data};

/// Most entries that are named as the reason why payloads are gone.
const NAMED: usize = 20;

pub(crate) fn run(args: &AuditArgs) -> u8 {
    match &args.command {
        AuditCommand::Verify(args) => run_verify(args),
        AuditCommand::Export(args) => evidence::export(args),
    }
}

fn run_verify(args: &AuditVerifyArgs) -> u8 {
    let known = match args.known.iter().map(|it| noted(it)).collect::<Result<Vec<Chain>, _>>() {
        Ok(known) => known,
        Err(stopped) => return stopped.told(),
    };
    if let Some(file) = &args.file {
        return evidence::verified(file, &known, args.json);
    }
    match verify(args, &known) {
        Ok(verified) => {
            match args.json {
                true => print::line(&format!("{:#}", verified.to_json())),
                false => verified.show(),
            }
            if verified.audit.is_clean() { exit::DONE } else { exit::REFUSED }
        }
        Err(stopped) => stopped.told(),
    }
}

struct Verified {
    audit: Audit,
    files: usize,
    dropped: Vec<Why>,
}

/// Why payloads are gone.
struct Why {
    dropped: Dropped,
    /// Entity, who, when and the words given; none if the entry cannot be read.
    entry: Option<(String, String, String, Option<String>)>,
}

fn verify(args: &AuditVerifyArgs, known: &[Chain]) -> Result<Verified, Stopped> {
    let mut reader = folder::look(&args.data)?;
    let archive = Archive::of(&args.data.data)?;
    let bar = Progress::new("audit");
    let audit = archive.verify(reader.as_mut(), known, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    let audit = audit.map_err(|error| match error {
        // It is there, and it is not what was written.
        StoreError::Unreadable { .. } | StoreError::Chain { .. } => {
            Stopped { why: format!("{error}. See docs/operating/recovery.md"), code: exit::REFUSED }
        }
        StoreError::Damaged { .. } => Stopped { why: error.to_string(), code: exit::REFUSED },
        error => error.into(),
    })?;
    let dropped = audit.dropped.iter().map(|it| why(&archive, reader.as_mut(), *it)).collect();
    Ok(Verified { files: archive.files().len(), audit, dropped })
}

/// An end that was noted earlier: `SEQ:HASH`.
fn noted(text: &str) -> Result<Chain, Stopped> {
    let read = || {
        let (seq, hash) = text.split_once(':')?;
        Some(Chain { seq: seq.parse().ok()?, hash: trackside_store::record::unhex(hash)? })
    };
    read().ok_or_else(|| {
        Stopped::usage(format!("--known {text}: give an end as an earlier audit printed it, SEQ:HASH"))
    })
}

fn why(archive: &Archive, reader: &mut dyn Reader, dropped: Dropped) -> Why {
    let here = reader.record(dropped.by).ok().flatten();
    let record = here.or_else(|| archive.record(dropped.by).ok().flatten());
    let entry = record.and_then(|it| it.entry().ok()).map(|it| {
        (it.entity.to_string(), it.actor.to_string(), it.at.to_string(), it.reason.map(|it| it.to_string()))
    });
    Why { dropped, entry }
}

impl Verified {
    fn show(&self) {
        let audit = &self.audit;
        for problem in &audit.problems {
            print::line(&format!("{} {problem}", painted_data("broken", Colour::Red)));
        }
        if audit.more > 0 {
            print::line(&format!("and {} more", audit.more));
        }
        for why in self.dropped.iter().take(NAMED) {
            print::line(&why.to_string());
        }
        if self.dropped.len() > NAMED {
            print::line(&format!(
                "and {} more such entries: see all with --json",
                self.dropped.len() - NAMED
            ));
        }
        if audit.from.seq > 0 {
            print::message(&format!(
                "entries up to {} were archived, and their files are not in this folder: they were not looked at",
                audit.from.seq
            ));
        }
        let files = match self.files {
            0 => String::new(),
            some => format!(", {} of the archive among them", counted(some as u64, "file", "files")),
        };
        let mark = match audit.is_clean() {
            true => painted_data("intact", Colour::Green),
            false => painted_data("BROKEN", Colour::Red),
        };
        let entries = counted(audit.entries, "entry", "entries");
        let dropped = match audit.redacted {
            0 => String::new(),
            some => format!(", {} dropped", counted(some, "payload", "payloads")),
        };
        print::line(&format!("{mark}  {entries}{files}{dropped}"));
        print::line(&format!("ends at {}:{}", audit.to.seq, hex(&audit.to.hash)));
        if !audit.is_clean() {
            print::message(
                "The journal is not what was written. Keep the folder as it is and compare it with a backup: docs/operating/recovery.md",
            );
        }
    }

    fn to_json(&self) -> Json {
        let audit = &self.audit;
        let end = |it: Chain| json!({ "seq": it.seq, "hash": hex(&it.hash) });
        let problems: Vec<Json> = audit
            .problems
            .iter()
            .map(|it| json!({ "seq": it.seq, "code": it.what.code(), "message": it.to_string() }))
            .collect();
        json!({
            "intact": audit.is_clean(), "entries": audit.entries, "archiveFiles": self.files,
            "from": end(audit.from), "to": end(audit.to), "problems": problems, "more": audit.more,
            "payloadsDropped": audit.redacted, "dropped": self.dropped.iter().map(Why::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Why {
    fn kind(&self) -> &'static str {
        if self.dropped.erased { "ERASED" } else { "REDACTED" }
    }

    fn to_json(&self) -> Json {
        let mut json =
            json!({ "seq": self.dropped.by, "event": self.kind(), "payloads": self.dropped.payloads });
        if let (Json::Object(map), Some((entity, actor, at, reason))) = (&mut json, &self.entry) {
            map.extend([
                ("entity".to_owned(), json!(entity)),
                ("actor".to_owned(), json!(actor)),
                ("timestamp".to_owned(), json!(at)),
                ("reason".to_owned(), json!(reason)),
            ]);
        }
        json
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let payloads = counted(self.dropped.payloads, "payload", "payloads");
        write!(f, "dropped {payloads}, as entry {} says: {}", self.dropped.by, self.kind())?;
        if let Some((entity, actor, at, reason)) = &self.entry {
            write!(f, " {entity} by {actor} at {at}")?;
            if let Some(reason) = reason {
                write!(f, ": {reason}")?;
            }
        }
        Ok(())
    }
}
