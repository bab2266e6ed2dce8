//! `trackside validate`: run the sweep over the whole project and list open violations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::decide::is_repair;
use trackside_engine::event::{Entry, Event, EventKind};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_runtime::{Depth, SweepReport};
use trackside_store::archive::Archive;
use trackside_store::{Reader, Store, StoreError};

use crate::args::{DataArgs, ValidateArgs};
use crate::exit;
use crate::folder::{self, CliError, count_with_noun};
use crate::paging::{ListSize, fetch_list};
use crate::print::{self, Colour, ProgressBar, painted_data};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{is_true, number, text};
use crate::url::ApiPath;

/// Notices read at a time.
const PIECE: usize = 1_000;

pub(crate) fn run(args: &ValidateArgs) -> u8 {
    let found = match ProjectLocation::find(&args.data) {
        Ok(ProjectLocation::Server(server)) => served(args, &server),
        Ok(ProjectLocation::Folder(data)) => validate(args, &data).map_err(RequestError::from),
        Err(stopped) => Err(stopped.into()),
    };
    let answer = found.map(|found| {
        print::answer(&found.to_json(), args.json, |_| found.show());
        if found.errors() + found.sweep.forged > 0 { exit::REFUSED } else { exit::DONE }
    });
    refused::finish(answer, CommandSubject::default(), args.json)
}

/// Validates through the server that owns the folder.
fn served(args: &ValidateArgs, server: &ServerConnection) -> Result<Found, RequestError> {
    let route = ApiPath::new(&["sweep"]);
    let route = if args.deep { route.with("deep", true) } else { route };
    let swept = |route: &ApiPath| -> Result<(Json, SweepReport), RequestError> {
        let answer = server.post(route, &json!({}))?;
        let number = |name: &str| answer.get(name).and_then(Json::as_u64).unwrap_or_default();
        let sweep = SweepReport {
            looked_at: number("lookedAt"),
            found: number("found"),
            cleared: number("cleared"),
            repaired: number("repaired"),
            compared: number("compared"),
            mended: number("mended"),
            unchecked: number("unchecked"),
            forged: number("forged"),
        };
        Ok((answer, sweep))
    };
    let (answer, mut sweep) = swept(&route)?;
    if sweep.repaired > 0 {
        sweep.cleared += swept(&ApiPath::new(&["sweep"]))?.1.cleared;
    }
    let place =
        |name: &str| answer.pointer(&format!("/journal/{name}")).and_then(Json::as_u64).unwrap_or_default();
    let (after, upto) = (place("after"), place("upto"));
    let much = ListSize::Most(usize::try_from(upto.saturating_sub(after)).unwrap_or(usize::MAX));
    let written = match upto > after {
        true => fetch_list(server, &ApiPath::new(&["journal"]).with("after", after), much)?.items,
        false => Vec::new(),
    };
    let is_repair = |it: &&Json| {
        EventKind::parse(text(it, "event")).is_some_and(|kind| is_repair(kind, text(it, "condition")))
    };
    let repairs = written.iter().filter(is_repair).map(|it| Repair {
        entity: EntityKey::new(text(it, "lifecycle"), text(it, "id")),
        trigger: text(it, "trigger").to_owned(),
        why: text(it, "reason").to_owned(),
        seq: number(it, "seq"),
    });
    let violations = fetch_list(server, &ApiPath::new(&["violations"]), ListSize::All)?;
    let broken = violations.items.iter().filter(|it| !is_true(it, "cleared"));
    let severity = |it: &Json| serde_json::from_value::<Severity>(it.clone()).ok();
    let open = broken.map(|it| Open {
        entity: EntityKey::new(text(it, "lifecycle"), text(it, "id")),
        rule: Name::new(text(it, "rule")),
        severity: it.get("severity").and_then(severity).unwrap_or(Severity::Error),
        message: text(it, "message").to_owned(),
        since: text(it, "since").to_owned(),
        seq: number(it, "seq"),
        evidence: it.get("evidence").cloned().unwrap_or_default(),
    });
    Ok(Found { sweep, open: open.collect(), repairs: repairs.collect(), unseen: 0 })
}

struct Found {
    sweep: SweepReport,
    open: Vec<Open>,
    /// The repairs of the sweep.
    repairs: Vec<Repair>,
    /// Violations, or their ends, that are in missing archive files.
    unseen: u64,
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

/// The start of the reason of a repair; the printed line says it in another way.
const REPAIR: &str = "Repair: ";

/// A move, or a change of fields, by which the sweep repaired an entity.
struct Repair {
    entity: EntityKey,
    trigger: String,
    why: String,
    seq: u64,
}

/// Repairs in these entries and later ones.
fn repaired(reader: &mut dyn Reader, mut after: u64) -> Result<Vec<Repair>, StoreError> {
    let mut all = Vec::new();
    loop {
        let some = reader.records(after, PIECE)?;
        let Some(last) = some.last() else { return Ok(all) };
        after = last.seq;
        for record in some {
            let entry = record.entry()?;
            if is_repair(entry.event.kind(), entry.condition.as_deref().unwrap_or_default()) {
                let (trigger, why) =
                    (entry.trigger.to_string(), entry.reason.unwrap_or_default().to_string());
                all.push(Repair { entity: entry.entity, trigger, why, seq: entry.seq });
            }
        }
    }
}

fn validate(args: &ValidateArgs, data: &DataArgs) -> Result<Found, CliError> {
    let store = Arc::new(folder::open(data, "validate")?);
    let runtime = folder::start(data, &store, &[])?;
    let depth = if args.deep { Depth::Journal } else { Depth::Entities };
    let before = runtime.seq();
    let bar = ProgressBar::new("sweep");
    bar.show(0.0, "checking every entity");
    // Records that are not written yet cannot be compared.
    let swept =
        |depth| runtime.wait_until_written().and_then(|()| runtime.gateway()?.sweep_to(depth)?.wait());
    let sweep = swept(depth).and_then(|mut sweep| {
        // Check repaired entities again: they may be fine now.
        if sweep.repaired > 0 {
            sweep.cleared += swept(Depth::Entities)?.cleared;
        }
        Ok(sweep)
    });
    bar.done();
    let sweep = sweep?;
    runtime.wait_until_written()?;
    let archive = Archive::of(&data.data)?;
    let (open, unseen) = still_open(store.reader()?.as_mut(), &archive)?;
    let repairs = repaired(store.reader()?.as_mut(), before)?;
    runtime.stop();
    Ok(Found { sweep, open, repairs, unseen })
}

/// Violations that were found and not cleared since, in the order in which they were found; and how many entries
/// about such are in files that are not here.
fn still_open(reader: &mut dyn Reader, archive: &Archive) -> Result<(Vec<Open>, u64), StoreError> {
    let mut unseen = 0;
    let mut open: BTreeMap<(EntityKey, Name), Entry> = BTreeMap::new();
    let mut after = 0;
    loop {
        let some = reader.notices(
            &[EventKind::ViolationFound, EventKind::ViolationCleared].map(|it| it.as_str()),
            after,
            PIECE,
        )?;
        let Some(last) = some.last() else { break };
        after = *last;
        for seq in some {
            let record = match reader.record(seq)? {
                Some(record) => Some(record),
                None => archive.record(seq)?,
            };
            let Some(entry) = record.map(|it| it.entry()).transpose()? else {
                unseen += 1;
                continue;
            };
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
    Ok((all, unseen))
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
            print::line(styled!(
                "{mark} {} {}: {} (since {}, entry {})",
                it.entity,
                it.rule,
                it.message,
                it.since,
                it.seq
            ));
        }
        for Repair { entity, trigger, why, seq } in &self.repairs {
            let mark = painted_data("repaired", Colour::Green);
            let why = why.strip_prefix(REPAIR).unwrap_or(why);
            print::line(styled!("{mark} {entity} by {trigger}: {why} (entry {seq})"));
        }
        let SweepReport { looked_at, found, cleared, repaired, compared, mended, unchecked, forged } =
            self.sweep;
        let records = count_with_noun(compared, "record", "records");
        print::line(styled!("{records} compared with the journal, {mended} differed and were rebuilt"));
        if unchecked > 0 {
            print::line(styled!(
                "{} could not be compared: their entries are in missing archive files, or too long",
                count_with_noun(unchecked, "record", "records")
            ));
        }
        if forged > 0 {
            print::line(styled!(
                "{} {}: their journal entries were changed, so nothing was rebuilt from them",
                painted_data("error", Colour::Red),
                count_with_noun(forged, "entity", "entities")
            ));
            print::message("Leave the folder unchanged. `trackside audit verify` lists the changed entries.");
        }
        if self.unseen > 0 {
            print::message(styled!(
                "{} about violations are in missing archive files: put them back into archive/ to see all.",
                count_with_noun(self.unseen, "entry is", "entries are")
            ));
        }
        print::line(styled!(
            "{} checked: {} new, {cleared} cleared, {}; {} open, {} of them errors",
            count_with_noun(looked_at, "entity", "entities"),
            count_with_noun(found, "violation", "violations"),
            count_with_noun(repaired, "repair", "repairs"),
            self.open.len(),
            self.errors()
        ));
        if self.errors() > 0 {
            print::message("Fix the violations with transitions or trackside correct, then validate again.");
        }
    }

    fn to_json(&self) -> Json {
        let open = |it: &Open| {
            json!({
                "lifecycle": it.entity.lifecycle, "id": it.entity.id, "rule": it.rule, "severity": it.severity.as_str(),
                "message": it.message, "since": it.since, "seq": it.seq, "evidence": it.evidence,
            })
        };
        let repair = |it: &Repair| {
            json!({
                "lifecycle": it.entity.lifecycle, "id": it.entity.id, "trigger": it.trigger, "reason": it.why, "seq": it.seq,
            })
        };
        let SweepReport { looked_at, found, cleared, repaired, compared, mended, unchecked, forged } =
            self.sweep;
        json!({
            "repairs": self.repairs.iter().map(repair).collect::<Vec<_>>(),
            "errors": self.errors(), "violations": self.open.iter().map(open).collect::<Vec<_>>(),
            "sweep": { "lookedAt": looked_at, "found": found, "cleared": cleared, "repaired": repaired },
            "records": { "lookedAt": compared, "mended": mended, "unchecked": unchecked, "forged": forged },
            "archived": self.unseen,
        })
    }
}
