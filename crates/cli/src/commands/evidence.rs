//! `trackside audit export` and `trackside audit verify FILE`: writes evidence of an entity to a file, and
//! verifies it.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackside_store::Chain;
use trackside_store::evidence::{EntitySummary, EvidenceJudgement, EvidenceVerdict, NoEvidence, verify};

use crate::args::AuditExportArgs;
use crate::folder::{CliError, count_with_noun};
use crate::print::{self, Colour, painted_data};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, files, refused};

/// Writes a file.
pub(super) fn export(args: &AuditExportArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| exported(args, lifecycle, id))
}

fn exported(args: &AuditExportArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let to = &args.to;
    if to.exists() {
        return Err(CliError::usage(format!("{} already exists: choose another name", to.display())).into());
    }
    let route = ApiPath::new(&["audit", "export", lifecycle, id]);
    let mut from = ServerConnection::find(&args.ask.reach)?.stream(&route)?;
    let part = Part(part_of(to));
    let stopped = |doing: &str, error: io::Error| {
        CliError::unreachable(format!(
            "{doing} {}. No file was left behind: run the command again",
            files::unwritten(to, &error)
        ))
    };
    written(&mut from, &part.0).map_err(|it| stopped("writing", it))?;
    // The file gets its name only after it is verified.
    let verdict = judged(&part.0, &[])?;
    if verdict.judgement() == EvidenceJudgement::Broken {
        show(&verdict);
        let why = "The evidence does not verify: the journal was changed, or values were redacted meanwhile. Run trackside audit verify, then export again";
        return Err(CliError::refused(why.to_owned()).into());
    }
    fs::rename(&part.0, to).map_err(|it| stopped("naming", it))?;
    Ok(print::answer(&to_json(&verdict), args.ask.json, |_| {
        show(&verdict);
        print::message(styled!(
            "written to {}. Anyone who has the file can verify it with: trackside audit verify FILE",
            to.display()
        ));
    }))
}

/// Checks a file.
pub(super) fn verified(file: &Path, known: &[Chain], as_json: bool) -> u8 {
    let verdict = match judged(file, known) {
        Ok(verdict) => verdict,
        Err(stopped) => return stopped.report(),
    };
    print::answer(&to_json(&verdict), as_json, |_| show(&verdict));
    match verdict.judgement() {
        EvidenceJudgement::Intact => exit::DONE,
        EvidenceJudgement::Broken => exit::REFUSED,
    }
}

fn judged(file: &Path, known: &[Chain]) -> Result<EvidenceVerdict, CliError> {
    let verdict = File::open(file).map_err(NoEvidence::from).and_then(|it| verify(BufReader::new(it), known));
    verdict.map_err(|error| match error {
        NoEvidence::Io(error) => CliError::unreachable(files::unread(file, &error)),
        error => CliError::refused(format!("{}: {error}", file.display())),
    })
}

/// A file that is not complete yet; removed on drop unless it gets its name.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn part_of(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    to.with_file_name(name)
}

fn written(from: &mut impl io::Read, to: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(to)?);
    io::copy(from, &mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

fn show(verdict: &EvidenceVerdict) {
    let (audit, about) = (&verdict.audit, &verdict.about);
    let broken = painted_data("broken", Colour::Red);
    for problem in &audit.problems {
        print::line(styled!("{broken} {problem}"));
    }
    for flaw in &verdict.flaws {
        print::line(styled!("{broken} {flaw}"));
    }
    if audit.more + verdict.more > 0 {
        print::line(styled!("and {} more", audit.more + verdict.more));
    }
    for entity in &verdict.entities {
        print::line(line(entity));
    }
    let artifacts = verdict.artifacts.iter().map(|(id, size)| format!("artifact {id}  {size} bytes"));
    let absent = verdict.absent.iter().map(|id| format!("artifact {id}  is referenced but not stored"));
    artifacts.chain(absent).for_each(|it| print::line(&it));
    for seq in &verdict.outside {
        print::message(styled!("entry {seq} is not in this file: --known cannot be checked"));
    }
    let mark = match verdict.judgement() {
        EvidenceJudgement::Intact => painted_data("intact", Colour::Green),
        EvidenceJudgement::Broken => painted_data("BROKEN", Colour::Red),
    };
    let (entries, first) =
        (count_with_noun(audit.entries, "entry", "entries"), audit.from.seq.saturating_add(1));
    let hidden = count_with_noun(verdict.hidden, "of them as a digest only", "of them as digests only");
    print::line(styled!("{mark}  {entries} from {first} to {}, {hidden}", audit.to.seq));
    print::line(styled!("{} by {} at {}", about.entity, about.by, about.at));
    print::line(styled!("ends at {}:{}", about.head.seq, about.head.hash));
}

fn line(entity: &EntitySummary) -> String {
    let mut line = format!(
        "{}/{}  {}, version {}, {}",
        entity.lifecycle,
        entity.id,
        entity.state,
        entity.version,
        count_with_noun(entity.entries, "entry", "entries")
    );
    if entity.redacted > 0 {
        line.push_str(&format!(", {} dropped", count_with_noun(entity.redacted, "payload", "payloads")));
    }
    let counters = entity.counters.iter().flat_map(|(name, by_key)| {
        by_key.iter().map(move |(key, value)| match key.is_empty() {
            true => format!("{name} {value}"),
            false => format!("{name} {key} {value}"),
        })
    });
    let counters: Vec<String> = counters.collect();
    if !counters.is_empty() {
        line.push_str(&format!("; counted: {}", counters.join(", ")));
    }
    line
}

fn to_json(verdict: &EvidenceVerdict) -> Json {
    let audit = &verdict.audit;
    let problems = audit
        .problems
        .iter()
        .map(|it| json!({ "seq": it.seq, "code": it.what.code(), "message": it.to_string() }));
    let flaws = verdict.flaws.iter().map(|it| json!({ "code": it.code(), "message": it.to_string() }));
    json!({
        "intact": verdict.judgement() == EvidenceJudgement::Intact,
        "about": verdict.about, "entities": verdict.entities,
        "entries": audit.entries, "hidden": verdict.hidden, "payloadsDropped": audit.redacted,
        "artifacts": verdict.artifacts, "absentArtifacts": verdict.absent,
        "problems": problems.chain(flaws).collect::<Vec<_>>(), "more": audit.more + verdict.more,
        "notWithin": verdict.outside,
    })
}
