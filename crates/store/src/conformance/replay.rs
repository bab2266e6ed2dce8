//! Replay equals live, byte for byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Redact};
use trackside_engine::event::Event;
use trackside_engine::fields::Fields;
use trackside_engine::ranking::{RankingKey, Reranked};
use trackside_engine::view::{Found, Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::Make;
use super::reader_dump::{dump, groups_of, line, sames_of};
use super::sample::{Press, key, name};
use super::story::{ConformanceStory, projected, stories};
use crate::store::JournalWriter;
use crate::{Store, audit};

/// All entities as JSON, a line each.
fn images(view: &View) -> String {
    view.entities().iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect()
}

/// A view replayed from the store.
fn replayed(store: &dyn Store, project: &Project) -> View {
    let mut reader = store.reader().unwrap();
    let (mut view, mut chain) = (View::default(), reader.base().unwrap());
    view.project = project.clone();
    while let some = reader.records(chain.seq, 50).unwrap()
        && !some.is_empty()
    {
        for record in &some {
            chain.follow(record).unwrap();
            apply(&mut view, &record.entry().unwrap());
        }
    }
    assert_eq!(chain, reader.head().unwrap().chain);
    view
}

pub fn stored_journals_replay_to_the_live_state_byte_for_byte(make: Make<'_>) {
    let mut kinds = BTreeSet::new();
    for story in stories() {
        let place = make();
        {
            let store = place.open();
            let mut journal = store.journal().unwrap();
            let mut press = Press::default();
            for some in story.entries.chunks(7) {
                journal.append(&press.batch(some)).unwrap();
            }
        }
        let store = place.open();
        let read = store.reader().unwrap().records(0, usize::MAX >> 1).unwrap();
        for (record, entry) in read.iter().zip(&story.entries) {
            assert_eq!(record.entry().unwrap(), *entry, "{}", story.name);
            kinds.insert(entry.event.kind().as_str());
        }
        assert_eq!(read.len(), story.entries.len());
        let view = replayed(&*store, &story.view.project);
        assert_eq!(images(&view), images(&story.view), "{}", story.name);
        same_beside_rankings(&view, &story.view, &story.name);
    }
    assert!(kinds.len() > 15, "the packs know most kinds of events: {kinds:?}");
}

/// Checks that groups, keys and values are equal. Rankings are compared by their dumps, since an empty
/// order counts as none.
fn same_beside_rankings(view: &View, live: &View, what: &str) {
    let mut view = view.clone();
    view.rankings = live.rankings.clone();
    assert!(view == *live, "{what}: groups, keys or values differ");
}

pub fn projections_do_not_depend_on_batch_boundaries(make: Make<'_>) {
    let (mut timers, mut groups) = (0, 0);
    for story in stories() {
        let kept = |every| {
            let place = make();
            {
                let store = place.open();
                let mut projector = store.projector().unwrap();
                let mut view = View::default();
                view.project = story.view.project.clone();
                for it in projected(&story.law, &mut view, &story.entries, every) {
                    projector.project(&it).unwrap();
                }
                assert_eq!(images(&view), images(&story.view), "{}", story.name);
            }
            dump(&mut *place.open().reader().unwrap(), &story.law, &story.entries)
        };
        let (one, all) = (kept(1), kept(usize::MAX));
        assert_eq!(one, all, "{}", story.name);
        let lived = lived(story);
        for line in &lived {
            assert!(one.contains(line), "{}: {line} is not among {one:#?}", story.name);
        }
        timers += one.iter().filter(|it| it.starts_with("timer")).count();
        groups += lived.iter().filter(|it| it.starts_with("members")).count();
    }
    assert!(timers > 20 && groups > 20, "{timers} timers, {groups} groups");
}

/// A part of the same dump, from the live view.
fn lived(story: &ConformanceStory) -> Vec<String> {
    let view = &story.view;
    let mut all = Vec::new();
    for entity in view.entities() {
        all.push(format!("entity {}", serde_json::to_string(entity).unwrap()));
    }
    for it in groups_of(&story.entries) {
        let Found::Here(group) = view.group(&it) else { continue };
        all.push(line("counts", "", (&it, &group.counts, group.moved_at)));
        all.push(line("members", "", (&it, &group.members, group.moved_at)));
    }
    for (lifecycle, value) in sames_of(&story.entries) {
        all.push(line("same", value, view.unique_holder(lifecycle, value).here().cloned()));
    }
    for record in story.entries.iter().filter_map(|it| it.key.as_ref()) {
        all.push(line("key", &record.key, view.key(&record.by, &record.key).here()));
    }
    let rankings: BTreeSet<_> =
        story.entries.iter().flat_map(|it| &it.reranked).map(Reranked::ranking).collect();
    for it in rankings {
        let Some(ranking) = view.rankings.get(&it) else { continue };
        all.push(line("open", &it.name, ranking.open(None).collect::<Vec<_>>()));
    }
    all
}

const PACK: &str = "pack: t\nversion: 1\nroles: { lead: {} }\n";
const BOX: &str = "\
lifecycle: t.box
create: { by: human }
states: { OKAY: { initial: true }, SHUT: {}, GONE: { final: true } }
transitions: { shut: { from: OKAY, to: SHUT, by: human } }
";
const THING: &str = "\
lifecycle: t.thing
fields: { place: { type: string }, weight: { type: integer }, note: { type: string }, n: { type: integer, default: 0 } }
refs: { box: { to: t.box, by: place, inverse: things } }
create: { by: human, takes: [place, weight, note], same: note }
states: { OKAY: { initial: true, deadline: { after: 1h } }, GONE: { final: true, erase: [weight] } }
counters: { fails: { failure: true } }
effects: { printer: {} }
rankings: { heavy: { in: OKAY, by: -weight, within: box, open: box.state != 'SHUT' } }
transitions:
  fail: { from: OKAY, to: OKAY, by: human, count: fails, set: { n: fails }, post: { kind: SAID, text: \"{note}\" } }
  print: { from: OKAY, by: human, effects: [ { effect: printer, with: { text: note } } ] }
  bury: { from: OKAY, to: GONE, by: human }
";

/// A world in which things are put into boxes and buried.
fn boxes() -> World {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", PACK);
    let lifecycles = vec![sources.add("box.yaml", BOX), sources.add("thing.yaml", THING)];
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => World::new(Arc::new(Law::new([pack])), Project::default(), Timestamp(0)),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

/// Decides, appends and drops payloads, as the runtime does.
struct Writing<'a> {
    world: World,
    journal: Box<dyn JournalWriter + 'a>,
    press: Press,
    dropped: u64,
}

impl Writing<'_> {
    fn does(&mut self, ask: Ask) {
        self.world.advance(Span::seconds(60));
        let mut command = Command::new(ada(), ask).with_reason("she wants it");
        command.idempotency_key = Some(name(&format!("k{}", self.press.chain.seq)));
        let entries = match self.world.submit(&command) {
            Outcome::Accepted { entries, .. } => self.world.journal[entries].to_vec(),
            other => panic!("{command:?}: {other:?}"),
        };
        self.journal.append(&self.press.batch(&entries)).unwrap();
        for entry in &entries {
            let of_it =
                self.world.journal.iter().filter(|it| it.entity == entry.entity && it.seq < entry.seq);
            let seqs: Vec<u64> = match &entry.event {
                Event::Erased { .. } => of_it.map(|it| it.seq).collect(),
                Event::Redacted { entries, .. } => entries.clone(),
                _ => continue,
            };
            self.dropped += self.journal.drop_payloads(&seqs).unwrap();
        }
    }

    fn redacts(&mut self, id: &str, entries: &[u64], becomes: &[(&str, &str)]) {
        let history = self.world.journal.iter().filter(|it| it.entity == key(id)).cloned().collect();
        let becomes = becomes.iter().map(|(name, value)| (*name, Value::text(value))).collect();
        self.does(Ask::Redact(Redact { entity: key(id), entries: entries.to_vec(), becomes, history }));
    }
}

fn ada() -> Actor {
    Actor::new("ada", ActorKind::Human).with_roles(["admin"])
}

fn create(id: &str, fields: &[(&str, Value)]) -> Ask {
    let fields = fields.iter().map(|(name, value)| (*name, value.clone())).collect();
    Ask::Create { entity: key(id), fields }
}

fn fire(id: &str, event: &str) -> Ask {
    Command::fire(ada(), key(id), event, Fields::default()).ask
}

pub fn erased_entities_replay_without_payloads(make: Make<'_>) {
    let thing = |place: &str, weight, note: &str| {
        [("place", Value::text(place)), ("weight", Value::Int(weight)), ("note", Value::text(note))]
    };
    let asks = [
        create("t.box/X", &[]),
        create("t.thing/A", &thing("X", 1, "secret")),
        fire("t.thing/A", "fail"),
        fire("t.thing/A", "print"),
        // The box is shut while only A is in it; later ones enter a shut box.
        fire("t.box/X", "shut"),
        create("t.thing/B", &thing("X", 2, "hushed")),
        create("t.thing/C", &thing("X", 3, "lost")),
        fire("t.thing/A", "fail"),
        fire("t.thing/C", "bury"),
        fire("t.thing/A", "bury"),
        create("t.thing/D", &thing("X", 0, "known")),
        fire("t.thing/B", "fail"),
    ];
    let place = make();
    let world = {
        let store = place.open();
        let journal = store.journal().unwrap();
        let mut writing = Writing { world: boxes(), journal, press: Press::default(), dropped: 0 };
        asks.into_iter().for_each(|it| writing.does(it));
        let of_b = writing.world.journal.iter().filter(|it| it.entity == key("t.thing/B"));
        let of_b: Vec<u64> = of_b.map(|it| it.seq).collect();
        writing.redacts("t.thing/B", &of_b, &[("note", "blank")]);
        writing.does(fire("t.thing/B", "fail"));
        assert!(writing.dropped > 10, "{} payloads", writing.dropped);
        writing.world
    };
    let store = place.open();
    let records = store.reader().unwrap().records(0, 1_000).unwrap();
    let all: String = records.iter().map(|it| format!("{} {:?}\n", it.header, it.payload)).collect();
    assert!(!all.contains("secret") && !all.contains("hushed") && all.contains("known"), "{all}");
    let audit = audit::verify(&mut *store.reader().unwrap(), &[], &mut |_, _| {}).unwrap();
    assert!(audit.is_clean() && audit.redacted > 10, "{audit:?}");
    let view = replayed(&*store, &world.view.project);
    assert_eq!(images(&view), images(&world.view));
    let story = ConformanceStory {
        name: "boxes".to_owned(),
        law: world.law.clone(),
        entries: records.iter().map(|it| it.entry().unwrap()).collect(),
        view: world.view.clone(),
    };
    same_beside_rankings(&view, &world.view, "boxes");
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    for it in projected(&story.law, &mut View::default(), &story.entries, 3) {
        projector.project(&it).unwrap();
    }
    let told = dump(&mut *store.reader().unwrap(), &story.law, &story.entries);
    for line in lived(&story) {
        assert!(told.contains(&line), "{line} is not among {told:#?}");
    }
}

pub fn a_redacted_entity_keeps_its_place_in_a_closed_order(make: Make<'_>) {
    let place = make();
    let world = {
        let store = place.open();
        let journal = store.journal().unwrap();
        let mut writing = Writing { world: boxes(), journal, press: Press::default(), dropped: 0 };
        writing.does(create("t.box/X", &[]));
        writing.does(create("t.thing/A", &[("place", Value::text("X")), ("note", Value::text("secret"))]));
        // No other entity is in the box when it is shut, and none enters later.
        writing.does(fire("t.box/X", "shut"));
        let of_a = writing.world.journal.iter().filter(|it| it.entity == key("t.thing/A"));
        let of_a: Vec<u64> = of_a.map(|it| it.seq).collect();
        writing.redacts("t.thing/A", &of_a, &[("place", "X")]);
        assert!(writing.dropped > 0);
        writing.world
    };
    let heavy = RankingKey { lifecycle: name("t.thing"), name: name("heavy") };
    let within = vec![name("X")];
    let live = world.view.rankings.get(&heavy).unwrap();
    assert_eq!(live.is_open(&within), Some(false));
    let store = place.open();
    let view = replayed(&*store, &world.view.project);
    assert_eq!(view.rankings.get(&heavy), Some(live), "it is as closed as it was");
}
