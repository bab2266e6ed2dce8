//! `trackside export`, and `trackside import` of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use trackside_engine::entity::Entity;
use trackside_engine::event::Event;
use trackside_engine::fields::Fields;
use trackside_engine::journal::Journal;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{CliProject, trackside};

const PACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs");

const NAMES: [&str; 5] = ["build", "coding", "mission", "research", "turns"];

/// A project made of a scenario, and its export.
struct ExportedProject {
    name: String,
    pack: &'static str,
    data: String,
    export: String,
}

/// Projects in which every lifecycle of every pack occurs: made once, and shared by the tests.
fn exported_projects() -> &'static [ExportedProject] {
    static MADE: OnceLock<Vec<ExportedProject>> = OnceLock::new();
    MADE.get_or_init(|| {
        let ground = CliProject::new("export-made");
        let all: Vec<Vec<ExportedProject>> = std::thread::scope(|scope| {
            let each = NAMES.map(|pack| {
                let ground = &ground;
                scope.spawn(move || made_of(ground, pack))
            });
            each.map(|it| it.join().unwrap()).into_iter().collect()
        });
        all.into_iter().flatten().collect()
    })
}

/// Projects of a pack: scenarios until every lifecycle of it has occurred.
fn made_of(ground: &CliProject, pack: &'static str) -> Vec<ExportedProject> {
    let folder = ground.root.join(format!("journals-{pack}"));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, packs) = (folder.join("j.jsonl"), format!("{PACKS}/{pack}"));
    trackside(&["test", &packs, "--journal", file.to_str().unwrap()]).says(0, &[]);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let (mut made, mut known) = (Vec::new(), BTreeSet::new());
    for path in files {
        let journal = Journal::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let here: BTreeSet<_> = journal.entries.iter().map(|it| it.entity.lifecycle.clone()).collect();
        if here.is_subset(&known) {
            continue;
        }
        known.extend(here);
        let name = format!("{pack}-{}", made.len());
        let (data, export) = (ground.path(&name), ground.path(&format!("{name}.1")));
        trackside(&["import", path.to_str().unwrap(), "--packs", &packs, "--data", &data]).says(0, &[]);
        trackside(&["export", "--to", &export, "--data", &data]).says(0, &["lines in"]);
        made.push(ExportedProject { name, pack, data, export });
    }
    let lifecycles = std::fs::read_dir(format!("{packs}/lifecycles")).unwrap().count();
    assert!(known.len() >= lifecycles, "{pack}: {known:?}");
    made
}

fn lines(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn entities(data: &Path) -> BTreeMap<EntityKey, Entity> {
    let mut reader = Sqlite::open_to_read(data, SqliteOptions::default()).unwrap();
    let mut view = View::default();
    reader.records(0, 100_000).unwrap().iter().for_each(|it| apply(&mut view, &it.entry().unwrap()));
    view.entities().into_iter().map(|it| (it.key.clone(), it.clone())).collect()
}

#[test]
fn every_lifecycle_survives_an_export_and_import() {
    let ground = CliProject::new("export-round");
    for ExportedProject { name, data, export: first, .. } in exported_projects() {
        let (back, second) = (ground.path(&format!("{name}-back")), ground.path(&format!("{name}.2")));
        let dry = trackside(&["import", first, "--data", &back, "--dry-run"]);
        dry.says(0, &["would be in", "nothing was changed"]);
        assert!(!Path::new(&back).exists(), "{name}");
        trackside(&["import", first, "--data", &back]).says(0, &["unchanged", "verified: ends at"]);
        trackside(&["export", "--to", &second, "--data", &back]).says(0, &[]);
        let (mut first, mut second) = (lines(first), lines(&second));
        // Only the time of the export may differ.
        let without_time = |line: &str| {
            let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
            json["export"].as_object_mut().unwrap().remove("at").unwrap();
            json
        };
        assert_eq!(without_time(&first.remove(0)), without_time(&second.remove(0)), "{name}");
        assert!(first == second, "{name}: the import differs from the export");
        assert_eq!(entities(Path::new(data)), entities(Path::new(&back)), "{name}");
        trackside(&["audit", "verify", "--data", &back]).says(0, &["intact"]);
    }
}

#[test]
fn an_export_with_altered_rules_is_refused() {
    let ground = CliProject::with_scenario("export-rules", "Lights go on");
    let (export, back) = (ground.path("export.jsonl"), ground.path("back"));
    ground.ask(&["export", "--to", &export]).says(0, &[]);
    // With a matching digest, so that only the journal reveals the change.
    let rewritten = lines(&export).into_iter().map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(&line).unwrap();
        let Some(files) = json["definition"]["files"].as_object_mut() else { return line };
        let text = files["lifecycles/light.yaml"].as_str().unwrap().replace("100", "1000");
        files["lifecycles/light.yaml"] = text.into();
        let files = files.iter().map(|(path, text)| (path.clone(), text.as_str().unwrap().to_owned()));
        json["definition"]["digest"] = trackside_store::rules::digest_of(&files.collect::<Vec<_>>()).into();
        json.to_string()
    });
    let rewritten: Vec<String> = rewritten.collect();
    std::fs::write(&export, rewritten.join("\n") + "\n").unwrap();
    trackside(&["import", &export, "--data", &back]).says(3, &["the rules of small 1 were changed"]);
    assert!(!Path::new(&back).exists());
}

#[test]
fn entities_are_imported_in_the_state_they_had_at_the_end_of_the_export() {
    let ground = CliProject::new("export-merge");
    ground.journal("Lights go on");
    let (journal, small) = (ground.path("journal.jsonl"), ground.path("pack"));
    for pack in NAMES {
        let base = ground.path(&format!("{pack}-base"));
        let packs = format!("{PACKS}/{pack}");
        trackside(&["import", &journal, "--packs", &small, &packs, "--data", &base]).says(0, &[]);
    }
    let (mut came, mut refused) = (0, Vec::new());
    for ExportedProject { name, pack, data: source, export: file } in exported_projects() {
        let into = ground.path(&format!("{name}-into"));
        trackside(&["backup", &into, "--data", &ground.path(&format!("{pack}-base"))]).says(0, &[]);
        let told = trackside(&["import", file, "--data", &into, "--json"]);
        if told.code == 1 {
            // An entity that breaks a rule is reported, and not imported.
            refused.push(format!("{name}: {}", told.messages));
            continue;
        }
        told.says(0, &[]);
        let brought = import_entities(Path::new(&into));
        assert_eq!(told.json()["imported"], brought.len(), "{told:?}");
        let there = entities(Path::new(source));
        for (key, (state, fields)) in &brought {
            let was = &there[key];
            assert_eq!(*state, was.state, "{key}");
            for (field, value) in was.fields.iter() {
                assert_eq!(fields.get(field), Some(value), "{name}: {field} of {key}");
            }
        }
        came += brought.len();
        let again = trackside(&["import", file, "--data", &into, "--json"]);
        again.says(0, &[]);
        assert_eq!(again.json()["imported"], 0, "nothing comes twice");
        assert_eq!(again.json()["already"].as_array().unwrap().len(), brought.len());
        trackside(&["audit", "verify", "--data", &into]).says(0, &["intact"]);
    }
    assert!(came >= 15, "{came} came, and these not: {refused:#?}");
    assert!(refused.iter().all(|it| it.contains(" line ")), "{refused:#?}");
}

/// Imported entities, according to their entries.
fn import_entities(data: &Path) -> BTreeMap<EntityKey, (trackside_lifecycle::name::Name, Fields)> {
    let mut reader = Sqlite::open_to_read(data, SqliteOptions::default()).unwrap();
    let mut all = BTreeMap::new();
    for record in reader.records(0, 100_000).unwrap() {
        let entry = record.entry().unwrap();
        if entry.trigger != "import" {
            continue;
        }
        assert!(entry.reason.as_deref().unwrap().starts_with("imported from trackside "), "{entry:?}");
        assert_eq!(entry.actor, "owner");
        if let Event::Corrected { to, changes, .. } = &entry.event {
            let fields = changes.fields.iter().cloned().collect();
            all.insert(entry.entity.clone(), (to.clone(), fields));
        }
    }
    all
}

#[test]
fn an_altered_export_is_reported_by_line_and_nothing_is_created() {
    let ground = CliProject::with_scenario("export-broken", "Lights go on");
    let (file, back) = (ground.path("out.jsonl"), ground.path("back"));
    ground.ask(&["export", "--to", &file]).says(0, &[]);
    ground.ask(&["export", "--to", &file]).says(2, &["already exists"]);
    let printed = ground.ask(&["export"]);
    assert_eq!(printed.says(0, &[]).data.lines().count(), lines(&file).len());
    let good = lines(&file);
    let broken = |change: &dyn Fn(&mut Vec<String>), words: &[&str]| {
        let mut all = good.clone();
        change(&mut all);
        let path = ground.path("broken.jsonl");
        std::fs::write(&path, all.join("\n")).unwrap();
        trackside(&["import", &path, "--data", &back]).says(1, words);
        assert!(!Path::new(&back).exists(), "something was made");
        let left = std::fs::read_dir(&ground.root).unwrap();
        assert!(!left.map(|it| it.unwrap().file_name()).any(|it| it.to_string_lossy().contains("importing")));
    };
    broken(&|it| drop(it.pop()), &["ends with entry 7 instead of 8", "incomplete", "nothing was imported"]);
    broken(&|it| drop(it.remove(4)), &["line 5", "comes after 2"]);
    broken(&|it| it[2] = it[2].replace("secret place", "other place"), &["line 3", "was changed"]);
    broken(&|it| it[1] = it[1].replace("small.light", "small.lamp"), &["line 2"]);
    broken(
        &|it| {
            it[3] = "nonsense".to_owned();
            it[5] = "{}".to_owned();
        },
        &["line 4: this is not a line of an export", "line 6: this is not a line of an export"],
    );
    broken(&|it| drop(it.remove(2)), &["begins with entry 2"]);
    broken(
        &|it| *it = vec![it[0].replace("records", "entries"), "{\"entry\":{}}".to_owned()],
        &["without the role admin", "export it as a person with the role admin"],
    );
    // Nothing is written into a folder that is not empty.
    std::fs::create_dir_all(&back).unwrap();
    std::fs::write(ground.root.join("back/mine"), "x").unwrap();
    trackside(&["import", &file, "--data", &back]).says(2, &["is not empty"]);
}

#[test]
fn an_export_keeps_redactions_and_the_archive() {
    let ground = CliProject::with_scenario("export-redacted", "Lights go on");
    let redact = [
        "redact",
        "small.light/A",
        "--set",
        "note=[gone]",
        "--set",
        "watts:=60",
        "--reason",
        "it was secret",
    ];
    ground.ask(&redact).says(0, &[]);
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &[]);
    let (file, back) = (ground.path("out.jsonl"), ground.path("back"));
    ground.ask(&["export", "--to", &file]).says(0, &[]);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("secret place"));
    trackside(&["import", &file, "--data", &back]).says(0, &[]);
    trackside(&["audit", "verify", "--data", &back]).says(0, &["intact", "dropped"]);
    std::fs::rename(ground.root.join("data/archive"), ground.root.join("elsewhere")).unwrap();
    let cut = ground.path("cut.jsonl");
    ground.ask(&["export", "--to", &cut]).says(0, &[]);
    trackside(&["import", &cut, "--data", &ground.path("none")])
        .says(1, &["in archive files that were missing"]);
}
