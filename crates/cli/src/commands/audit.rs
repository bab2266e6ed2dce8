//! `trackside audit verify`: verify the journal.

use serde_json::Value as Json;
use trackside_lifecycle::hex;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_server::audit_body;
use trackside_store::archive::Archive;
use trackside_store::{Chain, StoreError};

use super::evidence;
use crate::args::{AuditArgs, AuditCommand, AuditSignInsArgs, AuditVerifyArgs, DataArgs};
use crate::exit;
use crate::folder::{self, CliError, count_with_noun};
use crate::paging::{ListSize, fetch_list};
use crate::print::{self, Colour, ProgressBar, painted_data};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{is_true, joined, list, moment_at, number, text};
use crate::url::ApiPath;

/// Most entries that are listed as the cause of missing payloads.
const NAMED: usize = 20;

pub(crate) fn run(args: &AuditArgs) -> u8 {
    match &args.command {
        AuditCommand::Verify(args) => run_verify(args),
        AuditCommand::Export(args) => evidence::export(args),
        AuditCommand::SignIns(args) => {
            refused::finish(sign_ins(args), CommandSubject::default(), args.ask.json)
        }
    }
}

/// Lists failed sign-ins, the oldest first.
fn sign_ins(args: &AuditSignInsArgs) -> Result<u8, RequestError> {
    let within = Span::parse(&args.within).filter(|it| it.0 > 0).ok_or_else(|| {
        CliError::usage(format!("--within {}: write a duration such as 90s, 15m, 24h or 7d", args.within))
    })?;
    let server = ServerConnection::find(&args.ask.reach)?;
    let clock = server.get(&ApiPath::new(&["clock"]))?;
    let since = Timestamp::parse(text(&clock, "now")).map(|it| it.plus(Span(-within.0)));
    let mut found = fetch_list(&server, &ApiPath::new(&["entities", "access.failure"]), ListSize::All)?;
    let last_at = |it: &Json| it.get("fields").map(|it| text(it, "lastAt").to_owned()).unwrap_or_default();
    found.items.retain(|it| Timestamp::parse(&last_at(it)) >= since);
    found.items.sort_by_key(last_at);
    Ok(print::answer(&found.to_json(), args.ask.json, |found| {
        print_table(["LAST", "ADDRESS", "ATTEMPTS", "CREDENTIALS"], list(found, "items"), |it| {
            let fields = it.get("fields").unwrap_or(&Json::Null);
            [
                moment_at(fields, "lastAt"),
                text(fields, "address").to_owned(),
                number(fields, "attempts").to_string(),
                joined(fields, "credentials"),
            ]
        });
    }))
}

fn run_verify(args: &AuditVerifyArgs) -> u8 {
    let known = match args.known.iter().map(|it| noted(it)).collect::<Result<Vec<Chain>, _>>() {
        Ok(known) => known,
        Err(stopped) => return stopped.report(),
    };
    if let Some(file) = &args.file {
        return evidence::verified(file, &known, args.json);
    }
    let verified = match ProjectLocation::find(&args.data) {
        Ok(ProjectLocation::Server(server)) => served(&server, &known),
        Ok(ProjectLocation::Folder(data)) => verify(&data, &known).map_err(RequestError::from),
        Err(stopped) => Err(stopped.into()),
    };
    let answer = verified.map(|verified| {
        print::answer(&verified, args.json, show);
        if is_intact(&verified) { exit::DONE } else { exit::REFUSED }
    });
    refused::finish(answer, CommandSubject::default(), args.json)
}

/// Audits through the server that owns the folder; it keeps running.
fn served(server: &ServerConnection, known: &[Chain]) -> Result<Json, RequestError> {
    let known: Vec<String> = known.iter().map(|it| format!("{}:{}", it.seq, hex::encode(it.hash))).collect();
    let known = (!known.is_empty()).then(|| known.join(","));
    server.get(&ApiPath::new(&["audit", "verify"]).with_some("known", known))
}

fn verify(data: &DataArgs, known: &[Chain]) -> Result<Json, CliError> {
    let mut reader = folder::open_to_read(data)?;
    let archive = Archive::of(&data.data)?;
    let bar = ProgressBar::new("audit");
    let audit = archive.verify(reader.as_mut(), known, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    let audit = audit.map_err(|error| match error {
        // The file exists but was changed.
        StoreError::Unreadable { .. } | StoreError::Chain { .. } => {
            CliError::refused(format!("{error}. See docs/operating/recovery.md"))
        }
        StoreError::Damaged { .. } => CliError::refused(error.to_string()),
        error => error.into(),
    })?;
    let body = audit_body(&audit, &archive, reader.as_mut(), true);
    serde_json::to_value(&body).map_err(|it| CliError::refused(it.to_string()))
}

/// An end that was noted earlier: `SEQ:HASH`.
fn noted(text: &str) -> Result<Chain, CliError> {
    let read = || {
        let (seq, hash) = text.split_once(':')?;
        Some(Chain { seq: seq.parse().ok()?, hash: hex::decode(hash)? })
    };
    read().ok_or_else(|| {
        CliError::usage(format!("--known {text}: give an end as an earlier audit printed it, SEQ:HASH"))
    })
}

fn is_intact(verified: &Json) -> bool {
    is_true(verified, "intact")
}

fn show(verified: &Json) {
    let number = |at: &str| verified.pointer(at).and_then(Json::as_u64).unwrap_or_default();
    for problem in list(verified, "problems") {
        print::line(styled!("{} {}", painted_data("broken", Colour::Red), text(problem, "message")));
    }
    if number("/more") > 0 {
        print::line(styled!("and {} more", number("/more")));
    }
    let dropped = list(verified, "dropped");
    for why in dropped.iter().take(NAMED) {
        print::line(shown(why));
    }
    if dropped.len() > NAMED {
        print::line(styled!("and {} more such entries: see all with --json", dropped.len() - NAMED));
    }
    if number("/from/seq") > 0 {
        print::message(styled!(
            "entries up to {} are archived, but the archive files are missing: not verified",
            number("/from/seq")
        ));
    }
    let files = match number("/archiveFiles") {
        0 => String::new(),
        some => format!(", {} of the archive among them", count_with_noun(some, "file", "files")),
    };
    let mark = match is_intact(verified) {
        true => painted_data("intact", Colour::Green),
        false => painted_data("BROKEN", Colour::Red),
    };
    let entries = count_with_noun(number("/entries"), "entry", "entries");
    let dropped = match number("/payloadsDropped") {
        0 => String::new(),
        some => format!(", {} dropped", count_with_noun(some, "payload", "payloads")),
    };
    print::line(styled!("{mark}  {entries}{files}{dropped}"));
    let hash = verified.pointer("/to/hash").and_then(Json::as_str).unwrap_or_default();
    print::line(styled!("ends at {}:{hash}", number("/to/seq")));
    if !is_intact(verified) {
        print::message(
            "The journal was changed after it was written. Leave the folder unchanged and compare it with a backup: docs/operating/recovery.md",
        );
    }
}

/// Why payloads were dropped. A server omits which entity it was about.
fn shown(why: &Json) -> String {
    let payloads = count_with_noun(number(why, "payloads"), "payload", "payloads");
    let mut line = format!("{payloads} dropped by entry {}: {}", number(why, "seq"), text(why, "event"));
    for (before, name) in [(" ", "entity"), (" by ", "actor"), (" at ", "timestamp"), (": ", "reason")] {
        if let Some(said) = why.get(name).and_then(Json::as_str) {
            line.push_str(before);
            line.push_str(said);
        }
    }
    line
}
