//! `trackside validate`: the sweep over the whole project, and what is broken after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_runtime::{RecordReport, Runtime, SweepReport};
use trackside_store::archive::Archive;
use trackside_store::{Reader, Store, StoreError};

use crate::args::{DataArgs, ValidateArgs};
use crate::exit;
use crate::folder::{self, Stopped, counted};
use crate::listed::{Much, listed};
use crate::moment::text;
use crate::print::{self, Colour, Progress, painted_data};
use crate::project::Project;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;

/// Notices read at a time.
const PIECE: usize = 1_000;

pub(crate) fn run(args: &ValidateArgs) -> u8 {
    let found = match Project::find(&args.data) {
        Ok(Project::Server(server)) => served(args, &server),
        Ok(Project::Folder(data)) => validate(args, &data).map_err(Unanswered::from),
        Err(stopped) => Err(stopped.into()),
    };
    let told = found.map(|found| {
        match args.json {
            true => print::line(&format!("{:#}", found.to_json())),
            false => found.show(),
        }
        if found.errors() > 0 { exit::REFUSED } else { exit::DONE }
    });
    refused::ended(told, About::default(), args.json)
}

/// The same, by the server that has the folder.
fn served(args: &ValidateArgs, server: &Server) -> Result<Found, Unanswered> {
    if args.deep {
        return Err(server.needs_its_folder("--deep").into());
    }
    let told = server.post(&Route::new(&["sweep"]), &json!({}))?;
    let number = |name: &str| told.get(name).and_then(Json::as_u64).unwrap_or_default();
    let sweep = SweepReport {
        looked_at: number("lookedAt"),
        found: number("found"),
        cleared: number("cleared"),
        repaired: number("repaired"),
    };
    let violations = listed(server, &Route::new(&["violations"]), Much::All)?;
    let broken = violations.items.iter().filter(|it| it.get("cleared") != Some(&Json::Bool(true)));
    let severity = |it: &Json| serde_json::from_value::<Severity>(it.clone()).ok();
    let open = broken.map(|it| Open {
        entity: EntityKey::new(text(it, "lifecycle"), text(it, "id")),
        rule: Name::new(text(it, "rule")),
        severity: it.get("severity").and_then(severity).unwrap_or(Severity::Error),
        message: text(it, "message").to_owned(),
        since: text(it, "since").to_owned(),
        seq: it.get("seq").and_then(Json::as_u64).unwrap_or_default(),
        evidence: it.get("evidence").cloned().unwrap_or_default(),
    });
    Ok(Found { sweep, records: None, open: open.collect() })
}

struct Found {
    sweep: SweepReport,
    records: Option<RecordReport>,
    open: Vec<Open>,
}

/// A violation that is not cleared.
struct Open {
    entity: EntityKey,
    rule: Name,
    severity: Severity,
    message: String,
    since: String,
    seq: u64,
    evidence: Json,
}

fn validate(args: &ValidateArgs, data: &DataArgs) -> Result<Found, Stopped> {
    let store = Arc::new(folder::open(data, "validate")?);
    let runtime = folder::start(data, &store, &[])?;
    let records = match args.deep {
        true => Some(deep(&runtime)?),
        false => None,
    };
    let bar = Progress::new("sweep");
    bar.show(0.0, "looking at every entity");
    let sweep = runtime.gateway()?.sweep()?.wait();
    bar.done();
    let sweep = sweep?;
    runtime.wait_until_written()?;
    let archive = Archive::of(&data.data)?;
    let open = still_open(store.reader()?.as_mut(), &archive)?;
    runtime.stop();
    Ok(Found { sweep, records, open })
}

/// Holds every record against the journal.
fn deep(runtime: &Runtime) -> Result<RecordReport, Stopped> {
    let bar = Progress::new("records");
    let report = runtime.check_records(&mut |done| bar.show(0.5, &format!("{done} entities")));
    bar.done();
    Ok(report?)
}

/// Violations that were found and not cleared since, in the order in which they were found.
fn still_open(reader: &mut dyn Reader, archive: &Archive) -> Result<Vec<Open>, StoreError> {
    let mut open: BTreeMap<(EntityKey, Name), Entry> = BTreeMap::new();
    let mut after = 0;
    loop {
        let some = reader.notices(&["VIOLATION", "VIOLATION_CLEARED"], after, PIECE)?;
        let Some(last) = some.last() else { break };
        after = *last;
        for seq in some {
            let record = match reader.record(seq)? {
                Some(record) => Some(record),
                None => archive.record(seq)?,
            };
            // One whose archive file is elsewhere can only be told by its entity.
            let Some(entry) = record.map(|it| it.entry()).transpose()? else { continue };
            match &entry.event {
                Event::ViolationFound { rule, .. } => {
                    open.insert((entry.entity.clone(), rule.clone()), entry);
                }
                Event::ViolationCleared { rule } => {
                    open.remove(&(entry.entity.clone(), rule.clone()));
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    for ((key, rule), entry) in open {
        let broken = reader.entity(&key)?.is_some_and(|it| it.broken.contains(&rule));
        if let (Event::ViolationFound { severity, message, evidence, .. }, true) = (entry.event, broken) {
            let evidence = evidence.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
            let (message, since) = (message.to_string(), entry.at.to_string());
            all.push(Open { entity: key, rule, severity, message, since, seq: entry.seq, evidence });
        }
    }
    all.sort_by_key(|it| it.seq);
    Ok(all)
}

impl Found {
    fn errors(&self) -> u64 {
        self.open.iter().filter(|it| it.severity >= Severity::Error).count() as u64
    }

    fn show(&self) {
        for it in &self.open {
            let mark = match it.severity {
                Severity::Error | Severity::Critical => painted_data(it.severity.as_str(), Colour::Red),
                other => painted_data(other.as_str(), Colour::Yellow),
            };
            print::line(&format!(
                "{mark} {} {}: {} (since {}, entry {})",
                it.entity, it.rule, it.message, it.since, it.seq
            ));
        }
        if let Some(RecordReport { looked_at, mended }) = self.records {
            let records = counted(looked_at, "record", "records");
            print::line(&format!(
                "{records} held against the journal, {mended} were not what it says and were made anew"
            ));
        }
        let SweepReport { looked_at, found, cleared, repaired } = self.sweep;
        print::line(&format!(
            "{} looked at: {} new, {cleared} cleared, {}; {} open, {} of them errors",
            counted(looked_at, "entity", "entities"),
            counted(found, "violation", "violations"),
            counted(repaired, "repair", "repairs"),
            self.open.len(),
            self.errors()
        ));
        if self.errors() > 0 {
            print::message(
                "Set right what is wrong by the lifecycle's own moves, or correct it; then validate again.",
            );
        }
    }

    fn to_json(&self) -> Json {
        let open = |it: &Open| {
            json!({
                "lifecycle": it.entity.lifecycle, "id": it.entity.id, "rule": it.rule, "severity": it.severity.as_str(),
                "message": it.message, "since": it.since, "seq": it.seq, "evidence": it.evidence,
            })
        };
        let SweepReport { looked_at, found, cleared, repaired } = self.sweep;
        let records = self.records.map(|it| json!({ "lookedAt": it.looked_at, "mended": it.mended }));
        json!({
            "errors": self.errors(), "violations": self.open.iter().map(open).collect::<Vec<_>>(),
            "sweep": { "lookedAt": looked_at, "found": found, "cleared": cleared, "repaired": repaired },
            "records": records,
        })
    }
}
