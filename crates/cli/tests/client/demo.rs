//! The small team by itself: the whole story on a server of its own.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::ground::scratch;
use crate::program::{binary, run_command};

#[test]
fn the_demo_plays_its_script_and_uses_every_pack() {
    let data = scratch("demo").join("data");
    let data = data.to_str().unwrap();
    let played = run_command(binary(&["demo", "--once", "--pace", "0", "--data", data]));
    played.says(0, &["1 of 6", "6 of 6", "refused as expected", "its hash chain verifies", "trackside up"]);
    // The server is gone: the command that starts it again comes before those that need it.
    let place = |text: &str| played.data.find(text).unwrap_or_else(|| panic!("no {text}:\n{}", played.data));
    assert!(place("trackside up --clock manual --data") < place("trackside alerts --data"));
    for door in ["$ trackside fire", "POST /v1/entities", "fire {"] {
        assert!(played.data.contains(door), "no actor used {door}:\n{}", played.data);
    }
    assert!(!played.data.contains('\u{1b}'), "colours in a pipe");
    run_command(binary(&["audit", "verify", "--data", data])).says(0, &[]);
    for pack in ["build", "coding", "mission", "research", "turns"] {
        assert!(played.data.contains(&format!("done {pack}.")), "nothing was done in {pack}");
    }
}

#[test]
fn a_used_folder_and_an_invalid_pace_are_errors() {
    let data = scratch("demo-used");
    std::fs::write(data.join("mine"), "x").unwrap();
    run_command(binary(&["demo", "--data", data.to_str().unwrap()]))
        .says(2, &["is not empty", "Name another folder"]);
    run_command(binary(&["demo", "--pace", "quickly"])).says(2, &["--pace quickly", "500ms"]);
    run_command(binary(&["demo", "--listen", "0.0.0.0:0"])).says(2, &["can be reached from other machines"]);
}

#[test]
fn an_interrupted_story_leaves_nothing_behind() {
    let place = scratch("demo-interrupted");
    let mut demo = binary(&["demo", "--pace", "500ms"]);
    let mut demo = demo.env("TMPDIR", &place).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let folder = lines.find(|it| it.contains("folder")).unwrap();
    assert!(folder.contains(place.to_str().unwrap()) && folder.contains("removed at the end"), "{folder}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
    lines.find(|it| it.contains("done ")).unwrap();
    let killed = std::process::Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_story_interrupted_before_its_start_leaves_nothing_behind() {
    let place = scratch("demo-early");
    let mut demo = binary(&["demo"]);
    let mut demo = demo.env("TMPDIR", &place).stdout(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while std::fs::read_dir(&place).unwrap().count() == 0 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it makes no folder");
    }
    let killed = std::process::Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}
