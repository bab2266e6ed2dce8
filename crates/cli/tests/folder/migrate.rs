//! `trackside migrate`.

use crate::ground::{CliProject, LIGHT};

/// A second version: `ON` is called `SHINING`, and `watts` is needed to be a text.
fn newer() -> String {
    LIGHT.replace("ON: {", "SHINING: {").replace("to: ON", "to: SHINING").replace("from: ON", "from: SHINING")
}

fn ground(name: &str) -> CliProject {
    let ground = CliProject::with_scenario(name, "Lights go on");
    ground.pack("pack2", 2, &newer());
    ground
}

#[test]
fn a_plan_lists_the_moves_and_changes_nothing() {
    let ground = ground("migrate-plan");
    let pack = ground.path("pack2");
    let plan = ["migrate", "plan", "small.light", "--to", "2", "--pack", &pack];
    ground.ask(&plan).says(
        1,
        &[
            "would move OFF, from version 1: A, C",
            "cannot move B",
            "has no state ON: map ON to one of",
            "2 entities would move, 1 cannot",
        ],
    );
    let mapped = [&plan[..], &["--state", "ON=SHINING", "--json"]].concat();
    let json = ground.ask(&mapped).says(0, &[]).json();
    assert_eq!(json["planned"].as_array().unwrap().len(), 3, "{json:#}");
    assert_eq!(json["cannot"].as_array().unwrap().len(), 0, "{json:#}");
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM journal"), 8, "nothing was written");
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM definition"), 1, "nothing was installed");
    assert!(!ground.data().join("plan").exists(), "the copy is gone");
}

#[test]
fn a_migration_can_be_undone_until_the_entity_changes() {
    let ground = ground("migrate-apply");
    let pack = ground.path("pack2");
    ground
        .ask(&["migrate", "apply", "small.light", "--to", "2", "--pack", &pack])
        .says(1, &["moved OFF, from version 1: A, C", "cannot move B", "--state OLD=NEW"]);
    let version =
        |it: u32| format!("SELECT count(*) FROM entity WHERE json_extract(body, '$.definition') = {it}");
    assert_eq!(ground.number("state.db", &version(2)), 2);
    // The version is installed now, and migrated entities are left alone.
    let apply = ["migrate", "apply", "small.light", "--to", "2", "--state", "ON=SHINING"];
    ground.ask(&apply).says(0, &["moved SHINING, from version 1: B", "1 entity moved, 0 cannot"]);
    assert_eq!(ground.number("state.db", &version(2)), 3);
    ground.ask(&["migrate", "plan", "small.light", "--to", "2"]).says(0, &["0 entities would move"]);

    let json =
        ground.ask(&["migrate", "undo", "small.light", "--version", "2", "--json"]).says(0, &[]).json();
    assert_eq!(json["undone"].as_array().unwrap().len(), 3, "{json:#}");
    assert_eq!(ground.number("state.db", &version(1)), 3);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
}

#[test]
fn wrong_arguments_install_nothing() {
    let ground = ground("migrate-wrong");
    let pack = ground.path("pack2");
    ground.ask(&["migrate", "plan", "small.lihgt", "--to", "2"]).says(2, &["Did you mean small.light?"]);
    ground
        .ask(&["migrate", "apply", "small.light", "--to", "2"])
        .says(2, &["has no version 2 here, only 1", "--pack"]);
    ground.ask(&["migrate", "apply", "small.light", "--to", "3", "--pack", &pack]).says(2, &["only 1, 2"]);
    ground.ask(&["migrate", "apply", "small.light", "--to", "2", "--state", "ON"]).says(2, &["OLD=NEW"]);
    ground.pack("pack2", 1, &newer());
    ground
        .ask(&["migrate", "apply", "small.light", "--to", "1", "--pack", &pack])
        .says(1, &["in use with other texts", "higher `version:`"]);
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM definition"), 1, "nothing was installed");
}
