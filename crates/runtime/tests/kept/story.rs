//! The work of the server whose folder is a fixture: a little of everything.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{AlertAction, Ask, Command, Fire, Migrate, TransitionRef};
use trackside_engine::project::{ProjectChange, SettingChange};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_runtime::{CommandAnswer, Options, PackSource, ProjectClock, Redaction, Runtime};
use trackside_store::archive::move_out;
use trackside_store::{Sqlite, SqliteOptions, Store};

use crate::ground::{accepted, entity, fields, fire, key, keyed, plant, refused, start_of_time};

const PACK: &str = "\
pack: kept
version: 1
audiences: { operator: Watches it. }
settings: { most: 4 }
";

const SHELF: &str = "\
lifecycle: kept.shelf
create: { by: human }
states: { HERE: { initial: true } }
";

const JOB: &str = "\
lifecycle: kept.job
assignee: worker
fields:
  title: { type: string }
  note: { type: string }
  worker: { type: string }
  watts: { type: integer, default: 40 }
  shelf: { type: string }
refs: { place: { to: kept.shelf, by: shelf, inverse: jobs } }
create: { by: human, takes: [title, note, shelf, watts], same: title }
indexes: [watts]
evidence: [finish]
effects: { printer: { ok: printed } }
slots: { work: { for: 10m, grace: 1m, lost: drop } }
counters: { fails: { failure: true, limit: settings.most, warn: [50%] } }
rankings: { next: { in: [OPEN, LATE], by: [-watts], within: place, claims: take } }
states:
  OPEN: { initial: true, deadline: { after: 2h, warn: [50%], then: slip } }
  BUSY: {}
  LATE: {}
  DONE: { final: true, outcome: success }
  GONE: { final: true, erase: [watts] }
transitions:
  take:
    from: [OPEN, LATE]
    to: BUSY
    by: human || agent
    lease: work
    set: { worker: actor.id }
    notify: { audience: operator, message: '{id} is taken' }
  fail: { from: BUSY, by: human || agent, count: fails, post: { kind: FAILED, text: 'Again: {note}' } }
  print: { from: BUSY, by: human || agent, effects: [ { effect: printer, with: { text: title } } ] }
  printed: { from: BUSY, by: engine, set: { note: \"'printed'\" } }
  drop: { from: BUSY, to: OPEN, by: engine }
  slip: { from: OPEN, to: LATE, by: engine, alert: { kind: late, severity: warning, message: '{id} is late' } }
  finish: { from: BUSY, to: DONE, by: human || agent, holding: work, release: [work] }
  burn: { from: [OPEN, LATE], to: GONE, by: human }
  edit: { from: any, by: human, takes: [note] }
invariants: { modest: { holds: watts <= 100, says: '{watts} watts are too many' } }
";

fn version(version: u32) -> PackSource {
    let pack = PACK.replace("version: 1", &format!("version: {version}"));
    let job = if version == 1 { JOB.to_owned() } else { JOB.replace("BUSY", "AT_WORK") };
    let files =
        [("pack.yaml", pack), ("lifecycles/job.yaml", job), ("lifecycles/shelf.yaml", SHELF.to_owned())];
    PackSource { files: files.map(|(path, text)| (path.to_owned(), text)).to_vec() }
}

pub(crate) fn ada() -> Actor {
    Actor::new("ada", ActorKind::Human).with_roles(["admin"])
}

fn bot() -> Actor {
    Actor::new("bot", ActorKind::Agent)
}

/// A server at work, and the names of its commands.
struct Working {
    store: Arc<Sqlite>,
    runtime: Runtime,
    asked: usize,
}

impl Working {
    fn start(folder: &Path, packs: &[PackSource]) -> Self {
        let options = SqliteOptions { journal_page: 512, state_page: 512, ..SqliteOptions::default() };
        let store = Arc::new(Sqlite::open(folder, options).unwrap());
        let last = store.reader().unwrap().head().unwrap();
        let clock = ProjectClock::manual(last.at.unwrap_or(start_of_time()));
        let options = Options { clock, sweep_every: None, ..Options::default() };
        let runtime = Runtime::start(store.clone(), packs, options).unwrap();
        Self { store, runtime, asked: usize::try_from(last.chain.seq).unwrap() }
    }

    fn asks(&mut self, command: Command) -> trackside_runtime::AcceptedCommand {
        self.asked += 1;
        accepted(&self.runtime, keyed(command, &format!("k-{}", self.asked)))
    }

    fn creates(&mut self, id: &str, json: serde_json::Value) {
        self.asks(Command::new(ada(), Ask::Create { entity: key(id), fields: fields(json) }));
    }

    fn fires(&mut self, actor: Actor, id: &str, event: &str) {
        self.asks(fire(actor, id, event, json!({})));
    }

    fn later(&self, minutes: i64) {
        let to = self.runtime.reads().unwrap().now().plus(Span::seconds(60 * minutes));
        self.runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
    }

    fn sweeps(&self) {
        self.runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
    }
}

fn job(title: &str, shelf: &str) -> serde_json::Value {
    json!({ "title": title, "note": format!("About {title}"), "shelf": shelf })
}

/// The first half, by the first version of the pack: with an erasure and an overdue entity.
fn first_half(folder: &Path) {
    let mut work = Working::start(folder, &[version(1)]);
    let change = ProjectChange {
        settings: vec![SettingChange {
            pack: Name::new("kept"),
            setting: Name::new("most"),
            value: Value::Int(3),
        }],
        zone: Some("Europe/Berlin".to_owned()),
        people: Some(vec![Name::new("ada")]),
    };
    work.asks(Command::new(ada(), Ask::Configure(change)));
    work.creates("kept.shelf/S-1", json!({}));
    for n in 1..=3 {
        work.creates(&format!("kept.job/J-{n}"), job(&format!("title {n}"), "S-1"));
    }
    work.fires(ada(), "kept.job/J-3", "burn");
    work.later(61);
    work.later(60);
    let alerts = entity(&work.runtime, "kept.job/J-1").alerts.clone();
    assert!(alerts.len() >= 2, "a warning, and that it is late");
    for (alert, action) in [(&alerts[0], AlertAction::Acknowledge), (&alerts[0], AlertAction::Resolve)] {
        let ask = Ask::HandleAlert { entity: key("kept.job/J-1"), alert: alert.seq, action };
        work.asks(Command::new(ada(), ask));
    }
    work.later(1);
    work.runtime.stop();
}

/// Moves all but the last entries into an archive file.
fn archive_entries(folder: &Path) {
    let store = Sqlite::open(folder, SqliteOptions::default()).unwrap();
    let last = store.reader().unwrap().head().unwrap().at.unwrap();
    let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
    move_out(&mut *reader, &mut *journal, &folder.join("archive"), last).unwrap().unwrap();
}

/// The second half, with a second version beside the first.
fn second_half(folder: &Path) {
    let mut work = Working::start(folder, &[version(2)]);
    // By the first version: taken, renewed, lost.
    work.fires(bot(), "kept.job/J-2", "take");
    let fence = entity(&work.runtime, "kept.job/J-2").leases[0].1.fence;
    let (of, slot) = (key("kept.job/J-2"), Name::new("work"));
    work.asks(Command::new(bot(), Ask::Heartbeat { entity: of.clone(), slot, fence: Some(fence) }));
    for _ in 0..2 {
        work.fires(bot(), "kept.job/J-2", "fail");
    }
    work.fires(bot(), "kept.job/J-2", "print");
    let effect = entity(&work.runtime, "kept.job/J-2").effects[0].id;
    work.asks(Command::new(
        ada(),
        Ask::EffectResult { entity: of, effect, ok: true, fields: fields(json!({})) },
    ));
    work.later(15);
    // By the second version: taken, and completed only by its holder.
    for n in 4..=6 {
        work.creates(&format!("kept.job/J-{n}"), job(&format!("title {n}"), "S-1"));
    }
    work.fires(bot(), "kept.job/J-4", "take");
    let what = TransitionRef::Event(Name::new("finish"));
    let late = Fire {
        entity: key("kept.job/J-4"),
        what,
        fields: fields(json!({})),
        fence: Some(99),
        if_version: None,
    };
    refused(&work.runtime, Command::new(bot(), Ask::Fire(late)));
    work.fires(bot(), "kept.job/J-4", "finish");
    // Moved from one version to the other.
    let to = Migrate::new(key("kept.job/J-2"), 2);
    work.asks(Command::new(ada(), Ask::Migrate(to)));
    // Words are taken out.
    let redaction = Redaction {
        entity: key("kept.job/J-5"),
        entries: Vec::new(),
        becomes: fields(json!({ "title": "taken out", "watts": 40 })),
        reason: "It was a secret".to_owned(),
        once: None,
    };
    let answer = work.runtime.redact(ada(), redaction).unwrap();
    assert!(matches!(answer, CommandAnswer::Accepted(_)), "{answer:?}");
    // Broken, found, repaired.
    plant(&work.runtime, "kept.job/J-7", "OPEN", json!({ "title": "title 7", "watts": 200 }));
    work.sweeps();
    let ask = Ask::Correct { entity: key("kept.job/J-7"), to: None, fields: fields(json!({ "watts": 80 })) };
    work.asks(Command::new(ada(), ask).with_reason("It was too bright"));
    work.sweeps();
    // Left as it is: an open effect, a lease, a clock.
    work.fires(bot(), "kept.job/J-7", "take");
    work.fires(bot(), "kept.job/J-7", "print");
    work.runtime.stop();
    drop(work.store);
}

#[test]
#[ignore = "writes the folder that is kept"]
fn write_the_whole_one() {
    let to = crate::fixtures().join("3/whole");
    assert!(!to.exists(), "{} is there: a released one is never written again", to.display());
    let folder = std::env::temp_dir().join(format!("trackside-kept-writing-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    first_half(&folder);
    archive_entries(&folder);
    second_half(&folder);
    let store = Sqlite::open(&folder, SqliteOptions::default()).unwrap();
    let entities: String =
        crate::rows(&mut *store.reader().unwrap()).iter().map(|it| format!("{it}\n")).collect();
    drop(store);
    std::fs::write(folder.join("entities.jsonl"), entities).unwrap();
    std::fs::remove_file(folder.join("lock")).ok();
    crate::copy(&folder, &to);
    std::fs::remove_dir_all(&folder).ok();
}
