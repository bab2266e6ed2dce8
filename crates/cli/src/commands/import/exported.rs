//! Imports a file of `trackside export`: checked as a whole, then imported.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use trackside_engine::decide::{is_protected, is_reserved_pack};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{Law, View, apply};
use trackside_lifecycle::hex;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{ImportCount, ImportEntity, ImportLease};
use trackside_runtime::PackSource;
use trackside_store::export_lines::{self, ExportHeader, ExportLine};
use trackside_store::{Chain, Definition};

use super::send::{Sent, send};
use super::{in_the_way, restore};
use crate::args::ImportArgs;
use crate::folder::{self, CliError, count_with_noun};
use crate::foreign::ImportProblem;
use crate::project::ProjectLocation;
use crate::project_access::ProjectAccess;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::RequestError;
use crate::{exit, files, print};

/// Most bytes of a line.
const LONGEST: u64 = 64 * 1024 * 1024;
/// Most problems to collect; a file with more is of another kind.
const ENOUGH: usize = 1_000;

pub(super) fn run(args: &ImportArgs) -> u8 {
    match read_export(&args.file) {
        Err(troubles) => in_the_way(args, &troubles, exit::REFUSED),
        Ok(looked) => refused::finish(import(args, &looked), CommandSubject::default(), args.json),
    }
}

fn import(args: &ImportArgs, looked: &ExportSummary) -> Result<u8, RequestError> {
    match ProjectLocation::find_or_new(&args.data)? {
        ProjectLocation::Folder(data) if !folder::is_project(&data) => Ok(restore::run(args, &data, looked)),
        project => {
            let door = ProjectAccess::open(project, args.dry_run)?;
            let code = into_project(args, looked, &door)?;
            door.close()?;
            Ok(code)
        }
    }
}

/// A verified export.
pub(super) struct ExportSummary {
    pub(super) definitions: Vec<Definition>,
    pub(super) end: Chain,
    pub(super) artifacts: u64,
    /// The time of its clock, if that is manual.
    pub(super) clock: Option<Timestamp>,
    /// The first entry's hash: no two projects have the same.
    first: String,
    view: View,
    law: Law,
    /// The line of the last entry of each.
    lines: BTreeMap<EntityKey, usize>,
}

impl ExportSummary {
    pub(super) fn entities(&self) -> u64 {
        self.view.len() as u64
    }

    /// Whether it has tokens, sign-in links or webhooks that have not ended.
    pub(super) fn has_credentials(&self) -> bool {
        let of_access = self.view.entities().into_iter().filter(|it| is_protected(&it.key.lifecycle));
        let mut open = of_access.filter(|it| {
            let life = self.law.definition(&it.key.lifecycle, it.definition);
            life.and_then(|life| life.state(&it.state)).is_some_and(|state| !state.last)
        });
        open.next().is_some()
    }
}

/// Checks the whole file: every line, the whole chain, and the packs of its entities.
fn read_export(path: &Path) -> Result<ExportSummary, Vec<ImportProblem>> {
    let mut looking = Looking::default();
    let read = each_line(path, &mut |n, line| {
        looking.line(n, line);
        looking.troubles.len() < ENOUGH
    });
    if let Err(error) = read {
        looking.troubles.push(ImportProblem::new("", files::reading(&error)));
    }
    looking.done()
}

#[derive(Default)]
struct Looking {
    about: Option<ExportHeader>,
    definitions: Vec<(usize, Definition)>,
    chain: Chain,
    first: String,
    view: View,
    lines: BTreeMap<EntityKey, usize>,
    troubles: Vec<ImportProblem>,
    artifacts: u64,
    shown: bool,
}

impl Looking {
    fn line(&mut self, n: usize, text: &str) {
        let mut wrong = |what: String| self.troubles.push(ImportProblem::new(format!("line {n}"), what));
        match export_lines::read(text) {
            Err(what) => wrong(what),
            Ok(ExportLine::Header(about)) if n == 1 => self.about = Some(about),
            Ok(ExportLine::Header(_)) => wrong("another export begins here: import one at a time".to_owned()),
            Ok(ExportLine::Definition(definition)) => self.definitions.push((n, definition)),
            Ok(ExportLine::Artifact { .. }) => self.artifacts += 1,
            Ok(ExportLine::Entry) => self.shown = true,
            Ok(ExportLine::Record(record)) => {
                if record.seq == 1 {
                    self.first = hex::encode(record.hash);
                }
                if self.chain.seq == 0 && record.seq > 1 {
                    wrong(format!(
                        "it begins with entry {}: earlier entries are in archive files that were missing. Put them back and export again",
                        record.seq
                    ));
                } else if let Err(error) = self.chain.follow(&record) {
                    wrong(error.to_string());
                }
                // Report a broken chain once, not for every later entry.
                self.chain = Chain { seq: record.seq, hash: record.hash };
                match record.entry() {
                    Err(error) => {
                        self.troubles.push(ImportProblem::new(format!("line {n}"), error.to_string()))
                    }
                    Ok(entry) => {
                        apply(&mut self.view, &entry);
                        self.lines.insert(entry.entity, n);
                    }
                }
            }
        }
    }

    fn done(mut self) -> Result<ExportSummary, Vec<ImportProblem>> {
        let mut packs = Vec::new();
        self.definitions.sort_by(|(_, a), (_, b)| (&a.pack, a.version).cmp(&(&b.pack, b.version)));
        for (n, it) in &self.definitions {
            let source = PackSource { files: it.files.clone() };
            let what = match source.compile_stored() {
                Ok((pack, same, _)) if same.digest == it.digest => {
                    packs.push(pack);
                    continue;
                }
                Ok(_) => {
                    format!("the texts of {} {} differ from those that were exported", it.pack, it.version)
                }
                Err(error) => format!("{} {} does not compile here: {error}", it.pack, it.version),
            };
            self.troubles.push(ImportProblem::new(format!("line {n}"), what));
        }
        let law = Law::new(packs);
        let last = self.about.as_ref().map_or(0, |it| it.last);
        if self.about.as_ref().is_some_and(|it| !it.records) || self.shown {
            let what = "it was exported without the role admin and is incomplete: export it as a person with the role admin";
            self.troubles = vec![ImportProblem::new("", what)];
        } else if self.chain.seq != last {
            let what = format!(
                "it ends with entry {} instead of {last}: it is incomplete. Export again",
                self.chain.seq
            );
            self.troubles.push(ImportProblem::new("", what));
        }
        if self.troubles.is_empty() {
            for entity in self.view.entities() {
                if law.definition(&entity.key.lifecycle, entity.definition).is_none() {
                    let n = self.lines.get(&entity.key).copied().unwrap_or_default();
                    let what = format!("{} uses a definition that the file does not contain", entity.key);
                    self.troubles.push(ImportProblem::new(format!("line {n}"), what));
                }
            }
        }
        match self.troubles.is_empty() {
            false => Err(self.troubles),
            true => Ok(ExportSummary {
                definitions: self.definitions.into_iter().map(|(_, it)| it).collect(),
                end: self.chain,
                artifacts: self.artifacts,
                clock: self.about.and_then(|it| it.clock),
                first: self.first,
                view: self.view,
                law,
                lines: self.lines,
            }),
        }
    }
}

/// Calls back with every line that is not blank and its number, until the callback returns false.
pub(super) fn each_line(path: &Path, show: &mut dyn FnMut(usize, &str) -> bool) -> io::Result<()> {
    let mut file = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut line = Vec::new();
    let mut n = 0;
    loop {
        line.clear();
        n += 1;
        if file.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST {
            return Err(io::Error::other(format!("line {n} has more than {LONGEST} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|it| io::Error::other(format!("line {n}: {it}")))?;
        if !text.trim().is_empty() && !show(n, text.trim_end()) {
            return Ok(());
        }
    }
}

/// Imports its entities into a project, in their last state.
fn into_project(args: &ImportArgs, looked: &ExportSummary, door: &ProjectAccess) -> Result<u8, RequestError> {
    let file = args.file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let project = looked.first.get(..8).unwrap_or_default();
    let (mut entities, mut left_out) = (Vec::new(), BTreeMap::<String, u64>::new());
    for entity in looked.view.entities() {
        let Some(life) = looked.law.definition(&entity.key.lifecycle, entity.definition) else { continue };
        // Every project has its own.
        if life.one || is_reserved_pack(&life.pack) {
            *left_out.entry(life.name.to_string()).or_default() += 1;
            continue;
        }
        let n = looked.lines.get(&entity.key).copied().unwrap_or_default();
        let cleared = life.fields.values().filter(|it| !it.default.is_null()).map(|it| it.name.as_str());
        entities.push((to_import(entity, cleared, project), n));
    }
    entities.sort_by_key(|(_, n)| *n);
    let entities: Vec<(ImportEntity, String)> =
        entities.into_iter().map(|(it, n)| (it, format!("line {n}"))).collect();
    match send(door, &entities, &file, args.dry_run, &|_, _| None)? {
        Err(troubles) => Ok(in_the_way(args, &troubles, exit::REFUSED)),
        Ok(sent) => {
            if !args.dry_run {
                put_artifacts(args, door)?;
            }
            let json = json!({
                "success": true, "dryRun": args.dry_run, "imported": sent.imported, "already": sent.already,
                "leftOut": left_out, "artifacts": looked.artifacts,
            });
            let show = |_: &Json| print_answer(args, &sent, &left_out, looked.artifacts);
            Ok(print::answer(&json, args.json, show))
        }
    }
}

/// Its artifacts, whole ones that are not there yet.
fn put_artifacts(args: &ImportArgs, door: &ProjectAccess) -> Result<(), RequestError> {
    let mut failed = None;
    let read = each_line(&args.file, &mut |_, text| {
        if let Ok(ExportLine::Artifact { id, content }) = export_lines::read(text) {
            failed = door.put_artifact(&id, &content).err();
        }
        failed.is_none()
    });
    read.map_err(|it| CliError::usage(files::unread(&args.file, &it)))?;
    failed.map_or(Ok(()), Err)
}

/// An entity as it is to be in another project.
fn to_import<'a>(entity: &Entity, cleared: impl Iterator<Item = &'a str>, project: &str) -> ImportEntity {
    let mut fields: Map<String, Json> =
        entity.fields.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
    // A field with a default that is not set was cleared.
    for name in cleared {
        fields.entry(name).or_insert(Json::Null);
    }
    let counts = entity.tallies.iter().flat_map(|it| {
        it.by_key.iter().map(|(key, tally)| ImportCount {
            counter: it.counter.to_string(),
            key: key.to_string(),
            value: tally.value,
        })
    });
    let leases = entity.leases.iter().filter_map(|(slot, lease)| {
        let holder = lease.holder.as_ref()?.to_string();
        Some(ImportLease { slot: slot.to_string(), holder })
    });
    ImportEntity {
        lifecycle: entity.key.lifecycle.to_string(),
        id: entity.key.id.to_string(),
        state: Some(entity.state.to_string()),
        fields,
        counts: counts.collect(),
        leases: leases.collect(),
        origin: format!("trackside {project} {}", entity.key),
    }
}

fn print_answer(args: &ImportArgs, sent: &Sent, left_out: &BTreeMap<String, u64>, artifacts: u64) {
    let mark = super::dry_run_mark(args);
    let what = if args.dry_run { "would be imported" } else { "imported" };
    let count = count_with_noun(sent.imported, "entity", "entities");
    print::line(styled!("{mark}{count} {what} from {}, in their latest state", args.file.display()));
    if !sent.already.is_empty() {
        let already = count_with_noun(sent.already.len() as u64, "was", "were");
        print::line(styled!("{already} already imported, unchanged"));
    }
    if artifacts > 0 {
        print::line(styled!("with {}", count_with_noun(artifacts, "artifact", "artifacts")));
    }
    for (lifecycle, count) in left_out {
        print::line(styled!("skipped: {count} of {lifecycle}, because every project has its own"));
    }
}

/// The end of a chain, as `SEQ:HASH`.
pub(super) fn end_of(looked: &ExportSummary) -> String {
    format!("{}:{}", looked.end.seq, hex::encode(looked.end.hash))
}
