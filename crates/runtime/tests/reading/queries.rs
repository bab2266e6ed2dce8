//! The packs' queries give the same rows as a whole view.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::project::{ProjectChange, SettingChange, project_key};
use trackside_engine::query::{self, QueryAnswer};
use trackside_engine::trace::Trace;
use trackside_engine::world::World;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{FileId, Problems, Sources};
use trackside_lifecycle::value::Value;
use trackside_runtime::read::NamedAnswer;
use trackside_runtime::{Options, PackSource, ProjectClock, Runtime};
use trackside_store::{Batch, Chain, Definition, Store};
use trackside_study::scenario;

use crate::ground::*;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    mission_answers_the_same
    build_answers_the_same
    coding_answers_the_same
    turns_answers_the_same
    research_answers_the_same
}

/// The number of scenarios, those with the longest journals first; all with `TRACKSIDE_ALL_SCENARIOS`.
const TAKEN: usize = 4;

fn mission_answers_the_same(stores: Stores) {
    compare(stores, "../../packs/mission");
}

fn build_answers_the_same(stores: Stores) {
    compare(stores, "../../packs/build");
}

fn coding_answers_the_same(stores: Stores) {
    compare(stores, "../../packs/coding");
}

fn turns_answers_the_same(stores: Stores) {
    compare(stores, "../../packs/turns");
}

fn research_answers_the_same(stores: Stores) {
    compare(stores, "../../packs/research");
}

fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

fn compare(stores: Stores, folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = Sources::default();
    let add = |sources: &mut Sources, path: &Path| -> FileId {
        sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap())
    };
    let file = add(&mut sources, &folder.join("pack.yaml"));
    let lifecycles = yaml_in(&folder.join("lifecycles")).iter().map(|it| add(&mut sources, it)).collect();
    let (compiled, _) = compile(&sources, &PackFiles { pack: file, lifecycles }).unwrap();
    let law = Arc::new(Law::new([compiled]));
    let mut problems = Problems::default();
    let mut worlds: Vec<(String, World)> = Vec::new();
    for path in yaml_in(&folder.join("scenarios")) {
        let file = add(&mut sources, &path);
        let scenarios = scenario::read_file(&sources, file, &mut problems).unwrap();
        let trace = Arc::new(Trace::default());
        scenario::run_watched(&law, &scenarios, &trace, &mut problems, &mut |played| {
            worlds.push((played.scenario.to_owned(), played.world.clone()));
        });
    }
    worlds.sort_by_key(|(_, world)| std::cmp::Reverse(world.journal.len()));
    if std::env::var_os("TRACKSIDE_ALL_SCENARIOS").is_none() {
        worlds.truncate(TAKEN);
    }
    let source = PackSource::read(&folder).unwrap();
    let installed = stores.place();
    Runtime::start(installed.open(), std::slice::from_ref(&source), manual()).unwrap().stop();
    let definitions = installed.open().reader().unwrap().definitions().unwrap();
    let (mut answers, mut rows) = (0, 0);
    for (n, (name, world)) in worlds.iter().enumerate() {
        let place = stores.place();
        write(&*place.open(), world, &definitions);
        // Entries are in the projections, or in memory only.
        let behind = std::time::Duration::from_millis(if n % 2 == 0 { 1 } else { 3_600_000 });
        let options = Options { clock: ProjectClock::manual(world.now), behind, ..Options::default() };
        let runtime = Runtime::start(place.open(), std::slice::from_ref(&source), options).unwrap();
        if n % 2 == 0 {
            while runtime.lag() > 0 {
                std::thread::yield_now();
            }
        }
        let (more, there) = answers_alike(&runtime, world, &folder, name);
        answers += more;
        rows += there;
    }
    println!("{}: {answers} answers with {rows} rows", folder.display());
    assert!(answers > 50 && rows > 10, "{answers} answers with {rows} rows");
}

/// Puts a journal into a store as it is, and the project after it.
fn write(store: &dyn Store, world: &World, definitions: &[Definition]) {
    let project = &world.view.project;
    let settings = project.settings.iter().flat_map(|(pack, all)| {
        let change = move |(setting, value): (&Name, &Value)| SettingChange {
            pack: pack.clone(),
            setting: setting.clone(),
            value: value.clone(),
        };
        all.iter().map(change)
    });
    let change = ProjectChange {
        settings: settings.collect(),
        zone: Some(project.zone.clone()),
        people: Some(project.people.clone()),
    };
    let mut entries = world.journal.clone();
    let own = Entry {
        seq: 0,
        at: world.now,
        entity: project_key().clone(),
        version: 0,
        actor: Name::new("given"),
        actor_kind: ActorKind::System,
        on_behalf_of: None,
        via: None,
        trigger: Name::new("configure"),
        reason: None,
        origin: None,
        cause: None,
        condition: None,
        key: None,
        request_id: None,
        event: Event::ProjectChanged { change: Box::new(change) },
        reranked: Vec::new(),
    };
    let installs = definitions.iter().map(|it| Event::PackInstalled {
        pack: it.pack.clone(),
        version: it.version,
        digest: it.digest.as_str().into(),
    });
    let installs = installs.map(|event| Entry { event, trigger: Name::new("install"), ..own.clone() });
    for entry in installs.chain([own.clone()]) {
        entries.push(Entry { seq: entries.len() as u64 + 1, ..entry });
    }
    let mut last = std::collections::BTreeMap::new();
    let mut chain = Chain::default();
    let records = entries.into_iter().map(|entry| {
        let prev = last.insert(entry.entity.clone(), entry.seq).unwrap_or(0);
        chain.seal(entry, prev).unwrap()
    });
    let batch = Batch { records: records.collect(), definitions: definitions.to_vec() };
    store.journal().unwrap().append(&batch).unwrap();
}

fn answers_alike(runtime: &Runtime, world: &World, folder: &Path, name: &str) -> (usize, usize) {
    let reads = runtime.reads().unwrap();
    let pack = folder.file_name().unwrap().to_str().unwrap();
    let law = world.law.clone();
    let mut params: Vec<Value> = vec![Value::text("nothing")];
    for entity in world.view.entities() {
        params.push(Value::from(&entity.key.id));
        params.push(Value::from(&entity.state));
        params.extend(
            entity.fields.iter().filter(|(_, it)| it.as_str().is_some()).map(|(_, it)| it.clone()).take(3),
        );
    }
    params.sort_by(query::compare);
    params.dedup();
    // Samples spread over all of them.
    let step = params.len() / 30 + 1;
    let params: Vec<Value> = params.into_iter().step_by(step).collect();
    let actors = [
        Actor::new("owner", ActorKind::Human).with_roles(["admin"]),
        Actor::new("ada", ActorKind::Agent).with_roles(["specialist", "coder"]),
    ];
    let (mut answers, mut rows) = (0, 0);
    for query in &law.pack(pack).unwrap().queries {
        let choices: Vec<Fields> = match query.takes.as_slice() {
            [] => vec![Fields::default()],
            takes => params
                .iter()
                .map(|it| takes.iter().map(|(name, _)| (name.clone(), it.clone())).collect())
                .collect(),
        };
        for asked in &choices {
            for actor in &actors {
                let expected = query::ask(&law, &world.view, query, actor, asked, world.now);
                let found = reads.run_query(pack, &query.name, asked, actor);
                let what = format!("{pack}.{} of `{name}`, asked {asked:?}", query.name);
                answers += 1;
                match (expected, found) {
                    (Ok(QueryAnswer::Entities(expected)), Ok(NamedAnswer::Entities(found))) => {
                        rows += found.len();
                        let found: Vec<_> = found.iter().map(|it| &**it).collect();
                        assert_eq!(found, expected, "{what}");
                    }
                    (Ok(QueryAnswer::Values(expected)), Ok(NamedAnswer::Values(found))) => {
                        rows += 1;
                        assert_eq!(found, expected, "{what}");
                    }
                    (Ok(QueryAnswer::History(expected)), Ok(NamedAnswer::History(found))) => {
                        rows += 1;
                        assert_eq!(found.key, expected, "{what}");
                        let mut history = reads.history(&found.key, 0, 200, true).unwrap();
                        let own = world.journal.iter().filter(|it| it.entity == expected);
                        let own: Vec<u64> = own.map(|it| it.seq).take(200).collect();
                        let seqs: Vec<u64> = history.records.drain(..).map(|it| it.seq).collect();
                        assert_eq!(seqs, own, "{what}");
                    }
                    (Err(_), Err(_)) => {}
                    (expected, found) => panic!("{what}: {expected:?} and {found:?}"),
                }
            }
        }
    }
    (answers, rows)
}
