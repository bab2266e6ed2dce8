//! Commands for the folder of a project, while a server has it.

use crate::ground::{ClientServer, LIGHT, small};
use crate::program::{binary, run_command};

#[test]
fn commands_on_a_folder_go_to_the_server_that_owns_it() {
    let ground = ClientServer::small("upkeep");
    ground.ask(&["new", "small.light", "--id", "A", "place=the secret place"]).says(0, &[]);
    ground.ask(&["validate"]).says(0, &["checked", "0 open, 0 of them errors"]);
    ground.ask(&["clock", "advance", "31d"]).says(0, &[]);
    ground
        .ask(&["validate"])
        .says(1, &["error small.light/A dusted: Nobody has dusted it", "1 of them errors"]);
    let json = ground.ask(&["validate", "--json"]).json();
    assert_eq!(json["violations"][0]["rule"], "dusted", "{json:#}");
    ground
        .ask(&["validate", "--deep"])
        .says(1, &["compared with the journal, 0 differed", "1 of them errors"]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
    ground.ask(&["doctor"]).says(0, &["trackside up"]);
    let copy = ground.root.join("copy");
    ground.ask(&["backup", copy.to_str().unwrap()]).says(0, &["copy"]);
    run_command(binary(&["audit", "verify", "--data", copy.to_str().unwrap()])).says(0, &["intact"]);
    ground.ask(&["backup", copy.to_str().unwrap()]).says(2, &["Name another folder"]);
    let odd = ["redact", "small.light/A", "--set", "size=big", "--reason", "it was secret"];
    ground
        .ask(&odd)
        .says(1, &["refused: cannot-redact", "next: trackside history small.light/A shows the entries"]);
    let redact = [
        "redact",
        "small.light/A",
        "--set",
        "place=[gone]",
        "--set",
        "watts:=40",
        "--reason",
        "it was secret",
    ];
    ground.ask(&redact).says(0, &["erased the values of", "place is now \"[gone]\""]);
    ground.ask(&["show", "small.light/A"]).says(0, &["[gone]"]);
    ground.ask(&["audit", "verify"]).says(0, &["intact", "dropped"]);
    // Entries that were archived meanwhile are found as before.
    let history = ground.ask(&["history", "small.light/A"]).says(0, &[]).data.clone();
    ground.ask(&["archive", "--older-than", "soon"]).says(2, &["write a span such as 30d"]);
    ground
        .ask(&["archive", "--older-than", "1d"])
        .says(0, &["entries (1 to ", "archive/journal-000000000001-"]);
    ground.ask(&["archive", "--older-than", "1d"]).says(0, &["nothing to archive"]);
    assert_eq!(ground.ask(&["history", "small.light/A"]).says(0, &[]).data, history);
    ground.ask(&["audit", "verify"]).says(0, &["intact", "1 file of the archive"]);
    ground.ask(&["new", "small.light", "--id", "LATE"]).says(0, &[]);
    // Commands that a server does not run for clients.
    let rebuild = ground.ask(&["doctor", "--rebuild"]);
    rebuild.says(3, &["in use by trackside up"]);
}

#[test]
fn every_entity_of_a_large_migration_is_moved_and_reported() {
    let ground = ClientServer::small("migrate-many");
    let tasks: String = (1..=1_001).map(|n| format!("- [ ] TASK-{n:04}: A light\n")).collect();
    let plan = ground.root.join("plan.md");
    std::fs::write(
        &plan,
        format!("# Implementation Plan: Lights\n\n## Task Breakdown\n\n### Phase 1: All\n\n{tasks}"),
    )
    .unwrap();
    let plan = plan.to_str().unwrap();
    ground
        .ask(&[
            "import",
            "--from",
            "plan",
            plan,
            "--into",
            "small.light",
            "--map",
            "title=place",
            "--state",
            "[ ]=OFF",
        ])
        .says(0, &["1001 entities of small.light imported"]);
    let better = small(&ground.root.join("second"), 2, &LIGHT.replace("default: 40", "default: 50"));
    let apply = ["migrate", "apply", "small.light", "--to", "2", "--pack", &better, "--json"];
    let json = ground.ask(&apply).says(0, &[]).json();
    let moved = json["moved"].as_array().unwrap();
    assert_eq!((moved.len(), &moved[1_000]["id"]), (1_001, &"TASK-1001".into()), "each is named");
    ground
        .ask(&["migrate", "undo", "small.light", "--version", "2"])
        .says(0, &["1001 entities moved back, 0 cannot"]);
}

#[test]
fn entities_are_moved_to_another_version_while_the_server_runs() {
    let ground = ClientServer::small("migrate");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    let better = small(&ground.root.join("second"), 2, &LIGHT.replace("default: 40", "default: 50"));
    let plan = ["migrate", "plan", "small.light", "--to", "2"];
    ground.ask(&plan).says(1, &["has no version 2"]);
    ground
        .ask(&["migrate", "plan", "small.light", "--to", "2", "--pack", &better])
        .says(3, &["Stop the server"]);
    // A misspelled lifecycle installs nothing.
    let wrong = ["migrate", "apply", "small.ligt", "--to", "2", "--pack", &better];
    ground
        .ask(&wrong)
        .says(2, &["has no lifecycle small.ligt. Did you mean small.light?", "Nothing was installed"]);
    let wrong = ["migrate", "apply", "small.light", "--to", "3", "--pack", &better];
    ground.ask(&wrong).says(2, &["has version 2 of small.light, and --to says 3", "Nothing was installed"]);
    ground.ask(&plan).says(1, &["has no version 2"]);
    let apply = ["migrate", "apply", "small.light", "--to", "2", "--pack", &better];
    ground.ask(&apply).says(0, &["moved OFF, from version 1: A", "1 entity moved, 0 cannot"]);
    assert_eq!(ground.ask(&["show", "small.light/A", "--json"]).json()["definition"], 2);
    ground.ask(&["migrate", "undo", "small.light", "--version", "2"]).says(0, &["moved back"]);
    assert_eq!(ground.ask(&["show", "small.light/A", "--json"]).json()["definition"], 1);
}

#[test]
fn a_manual_clock_becomes_the_system_clock_only_on_request() {
    let mut ground = ClientServer::small("upkeep-jump");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    ground.ask(&["clock", "advance", "1h"]).says(0, &[]);
    ground.ask(&["backup", "copy"]).says(0, &[]);
    ground.stop();
    let (pack, data) = (ground.root.join("small").to_str().unwrap().to_owned(), ground.data());
    let up = |more: &[&str]| {
        let args = [&["up", "--listen", "127.0.0.1:0", "--packs", &pack], more].concat();
        ground.ask(&args)
    };
    let ways = ["manual clock", "--clock manual --data", "--clock system --data", "fire at once"];
    up(&[]).says(2, &ways);
    up(&["--now", "2027-01-01T00:00:00Z"]).says(2, &["manual clock"]);
    up(&["--clock", "system", "--now", "2027-01-01T00:00:00Z"])
        .says(2, &["--now sets a manual clock. Add --clock manual"]);
    // A copy of the project is the same project, and so is a restored backup.
    let copy = ground.root.join("copy");
    assert!(copy.join("clock").is_file());
    let back = ground.root.join("back").to_str().unwrap().to_owned();
    run_command(binary(&["restore", copy.to_str().unwrap(), "--data", &back])).says(0, &[]);
    run_command(binary(&["up", "--listen", "127.0.0.1:0", "--data", &back])).says(2, &ways);
    // The refused starts changed nothing; `--clock system` permits the jump.
    let _ = std::fs::remove_file(ground.root.join("data/address"));
    let mut ground = ClientServer::start_by(ground.root.clone(), &pack, "system", &[]);
    assert_eq!(
        ground.ask(&["show", "small.light/A", "--json"]).json()["state"],
        "OFF",
        "its deadline is over"
    );
    ground.stop();
    assert!(!std::path::Path::new(&data).join("clock").exists(), "from now on it uses the system clock");
}

#[test]
fn a_manual_clock_resumes_at_its_time_without_entries() {
    let mut ground = ClientServer::small("upkeep-moved");
    let pack = ground.root.join("small").to_str().unwrap().to_owned();
    ground.ask(&["clock", "advance", "3d"]).says(0, &[]);
    ground.ask(&["backup", "copy"]).says(0, &[]);
    let copy = ground.root.join("copy");
    let noted = |of: &std::path::Path| std::fs::read_to_string(of.join("clock")).unwrap();
    assert_eq!(noted(&copy), "manual 2026-01-04T00:00:00Z\n");
    ground.stop();
    let back = ground.root.join("back");
    run_command(binary(&["restore", copy.to_str().unwrap(), "--data", back.to_str().unwrap()])).says(0, &[]);
    assert_eq!(noted(&back), noted(&copy));
    let _ = std::fs::remove_file(ground.root.join("data/address"));
    let mut ground = ClientServer::start(ground.root.clone(), &pack);
    assert_eq!(ground.ask(&["clock", "--json"]).json()["now"], "2026-01-04T00:00:00Z");
    ground.stop();
    // A time ahead of the system clock: no timer would fire.
    let _ = std::fs::remove_file(ground.root.join("data/address"));
    let mut ground = ClientServer::start_with(ground.root.clone(), &pack, &["--now", "2113-05-01T00:00:00Z"]);
    ground.stop();
    let up = ["up", "--listen", "127.0.0.1:0", "--packs", &pack];
    let ahead = ground.ask(&up);
    ahead.says(2, &["manual clock", "at 2113-05-01", "The system clock is behind"]);
    assert!(!ahead.messages.contains("fire at once"), "{}", ahead.messages);
}

#[test]
fn an_ignored_start_time_is_reported() {
    let mut ground = ClientServer::small("upkeep-now");
    ground.ask(&["clock", "advance", "1h"]).says(0, &[]);
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    ground.stop();
    let _ = std::fs::remove_file(ground.root.join("data/address"));
    let pack = ground.root.join("small").to_str().unwrap().to_owned();
    let ground = ClientServer::start_with(ground.root.clone(), &pack, &["--now", "2026-01-01T00:30:00Z"]);
    let log = std::fs::read_to_string(ground.root.join("up.log")).unwrap();
    assert!(
        log.contains("--now 2026-01-01T00:30:00Z is ignored: the project is already at 2026-01-01T01:00"),
        "{log}"
    );
}

#[test]
fn a_manual_clock_stands_still_while_no_server_runs() {
    let mut ground = ClientServer::small("upkeep-clock");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    // A deadline of eight hours, which the clock of this machine has long passed.
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    let first = ground.ask(&["journal", "--all", "--json"]).data.lines().count();
    ground.stop();
    ground.ask_typed(&["archive", "--older-than", "30d"]).says(0, &["nothing to archive"]);
    ground.ask(&["validate"]).says(0, &["0 open"]);
    let _ = std::fs::remove_file(ground.root.join("data/address"));
    let pack = ground.root.join("small").to_str().unwrap().to_owned();
    let mut ground = ClientServer::start(ground.root.clone(), &pack);
    assert_eq!(ground.ask(&["show", "small.light/A", "--json"]).json()["state"], "ON");
    ground.ask(&["clock", "advance", "31d"]).says(0, &[]);
    ground.stop();
    // By its own clock it is old now.
    let moved = ground.ask_typed(&["archive", "--older-than", "30d", "--json"]).json();
    let last = moved["files"][0]["last"].as_u64().unwrap();
    assert!(last >= first as u64, "{moved:#}, and {first} entries were of the first day");
    ground.ask(&["audit", "verify"]).says(0, &["intact", "of the archive among them"]);
}
