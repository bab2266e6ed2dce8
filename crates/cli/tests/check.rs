//! `trackside check` and `trackside explore` as people type them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

fn trackside(args: &[&str], path: &Path) -> Output {
    let binary = env!("CARGO_BIN_EXE_trackside");
    Command::new(binary).args(args).arg(path).env("NO_COLOR", "1").output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn both_streams(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PAPER: &str = r#"lifecycle: office.paper
fields: { author: { type: string, by: engine } }
create: { by: writer, set: { author: actor.id } }
states:
  DRAFT:  { initial: true }
  REVIEW: { deadline: { after: 2d, then: send_back } }
  SIGNED: { final: true, outcome: success }
transitions:
  submit:    { from: DRAFT, to: REVIEW, by: actor.id == author }
  sign:      { from: REVIEW, to: SIGNED, by: human || (writer && actor.id != author) }
  send_back: { from: REVIEW, to: DRAFT, by: human || engine }
prove:
  - { says: Nobody signs alone, alone: agent, from: state == "DRAFT", to: state == "SIGNED" }
  - { says: Papers come back, eventually: state != "REVIEW", when: state == "REVIEW" }
"#;

/// A pack in a folder of its own.
fn pack(name: &str, paper: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("lifecycles")).unwrap();
    std::fs::create_dir_all(folder.join("stages")).unwrap();
    std::fs::write(folder.join("pack.yaml"), "pack: office\nversion: 1\nroles: { writer: {} }\n").unwrap();
    std::fs::write(folder.join("lifecycles/paper.yaml"), paper).unwrap();
    folder
}

fn careless() -> String {
    PAPER.replace("(writer && actor.id != author)", "writer")
}

#[test]
fn kept_promises_are_reported_with_the_bound() {
    let output = trackside(&["check"], &pack("check-good", PAPER));
    assert_eq!(code(&output), 0, "{}{}", data(&output), both_streams(&output));
    let said = "2 of 2 promises: no counterexample and every reachable state was seen; ";
    assert!(data(&output).contains(said), "{}", data(&output));
    assert!(data(&output).contains("situations on 1 stage in "), "{}", data(&output));
    assert!(data(&output).contains("worlds, "), "{}", data(&output));
}

#[test]
fn a_broken_promise_fails_with_a_story_and_a_drawing() {
    let folder = pack("check-broken", &careless());
    let drawn = folder.join("drawn");
    let output = trackside(&["check", "--sequence", "--draw", drawn.to_str().unwrap()], &folder);
    assert_eq!(code(&output), 1);
    let said = data(&output);
    assert!(said.contains("BROKEN   office.paper Nobody signs alone"), "{said}");
    assert!(said.contains("3. writer-1 fires sign of office.paper/paper-1"), "{said}");
    assert!(said.contains("writer-1 alone brought office.paper/paper-1"), "{said}");
    assert!(said.contains("├─") && said.contains("▶│"), "{said}");
    let svg = std::fs::read_to_string(drawn.join("check-broken-default-1.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("writer-1"), "{svg}");
    let mermaid = std::fs::read_to_string(drawn.join("check-broken-default-1.mmd")).unwrap();
    assert!(mermaid.starts_with("sequenceDiagram"), "{mermaid}");
}

#[test]
fn findings_come_with_their_place_and_fail_if_they_are_errors() {
    let trapped = PAPER.replace("human || engine }", "human }").replace("prove:", "x_prove:");
    let trapped = trapped.split("x_prove:").next().unwrap();
    let output = trackside(&["check", "--no-proofs"], &pack("check-finding", trapped));
    assert_eq!(code(&output), 1, "{}", data(&output));
    assert!(both_streams(&output).contains("lifecycles/paper.yaml:6"), "{}", both_streams(&output));
    assert!(data(&output).contains("no promise was explored"), "{}", data(&output));
}

#[test]
fn programs_get_json_from_both() {
    let folder = pack("check-json", &careless());
    let output = trackside(&["check", "--json"], &folder);
    assert_eq!(code(&output), 1);
    let json: Json = serde_json::from_str(&data(&output)).unwrap();
    let pack = &json["packs"][0];
    assert_eq!((&pack["ok"], &pack["broken"]), (&Json::Bool(false), &Json::from(1)));
    let verdict = &pack["stages"][0]["verdicts"][0];
    assert_eq!(verdict["outcome"], "broken");
    assert_eq!(verdict["story"]["steps"][2]["who"], "writer-1");
    let output = trackside(&["explore", "--json", "--worlds", "10"], &folder);
    let json: Json = serde_json::from_str(&data(&output)).unwrap();
    assert_eq!(json["stages"][0]["stopped"], "worlds");
    assert_eq!(json["stages"][0]["worlds"], 10);
}

#[test]
fn the_summary_counts_what_is_printed_and_every_surprise() {
    // The engine should send it back, and may not.
    let stuck = PAPER.replace(
        "by: human || engine }",
        "by: human || engine, when: [ { check: author == null, says: x } ] }",
    );
    let output = trackside(&["check"], &pack("check-surprise", &stuck));
    let said = data(&output);
    assert_eq!(code(&output), 1, "{said}");
    let surprises = said.lines().filter(|it| it.trim_start().starts_with("SURPRISE")).count();
    assert!(surprises > 0, "{said}");
    assert!(said.contains(&format!("; {surprises} surprise")), "{said}");
    let printed = both_streams(&output).lines().filter(|it| it.starts_with("warning")).count();
    assert!(said.contains(&format!(", {printed} warning")), "{said}{}", both_streams(&output));
}

#[test]
fn a_stage_file_with_a_mistake_is_shown_where_it_is() {
    let folder = pack("check-stage", PAPER);
    std::fs::write(folder.join("stages/a.yaml"), "stage: a\npack: office\nasks: { office.paper.sing: {} }\n")
        .unwrap();
    let output = trackside(&["check"], &folder);
    assert_eq!(code(&output), 1);
    assert!(both_streams(&output).contains("stages/a.yaml:3:9"), "{}", both_streams(&output));
    assert!(both_streams(&output).contains("did you mean `sign`?"), "{}", both_streams(&output));
}

#[test]
fn an_exploration_reports_its_bound_and_what_it_did_not_cover() {
    let folder = pack("explore-bound", PAPER);
    let output = trackside(&["explore", "--depth", "1"], &folder);
    assert_eq!(code(&output), 0, "{}", both_streams(&output));
    let said = data(&output);
    assert!(said.contains("Explored every sequence of up to 1 move"), "{said}");
    assert!(
        said.contains(
            "1 of 3 states, 0 of 3 transitions; not reached: REVIEW, SIGNED, submit, sign, send_back"
        ),
        "{said}"
    );
    let output = trackside(&["explore", "--stage", "nowhere"], &folder);
    assert_eq!(code(&output), 2);
    let output = trackside(&["check"], Path::new("nowhere"));
    assert_eq!(code(&output), 2);
}

#[test]
fn built_in_packs_are_checked_by_name_in_any_folder() {
    let output = trackside(&["check", "--no-proofs"], Path::new("mission"));
    assert_eq!(code(&output), 0, "{}{}", data(&output), both_streams(&output));
    assert!(data(&output).starts_with("mission    ok  0 errors"), "{}", data(&output));
    // With the stages that belong to it.
    let output =
        trackside(&["explore", "--stage", "operator", "--worlds", "10", "--json"], Path::new("mission"));
    let json: Json = serde_json::from_str(&data(&output)).unwrap();
    assert_eq!(
        (&json["stages"][0]["pack"], json["stages"].as_array().unwrap().len()),
        (&"mission".into(), 1)
    );
    let output = trackside(&["check"], Path::new("mision"));
    assert_eq!(code(&output), 2);
    let next = "built-in pack: build, coding, mission, research, turns";
    assert!(both_streams(&output).contains(next), "{}", both_streams(&output));
    let output = trackside(&["test"], Path::new("nowhere"));
    assert!(
        code(&output) == 2 && both_streams(&output).contains("Name a pack folder"),
        "{}",
        both_streams(&output)
    );
}

#[test]
fn the_names_of_the_servers_own_packs_are_reserved() {
    let output = trackside(&["check", "--no-proofs"], Path::new("fleet"));
    assert_eq!(code(&output), 0, "{}{}", data(&output), both_streams(&output));
    let folder = pack("check-reserved", &PAPER.replace("office.paper", "fleet.paper"));
    let about = std::fs::read_to_string(folder.join("pack.yaml")).unwrap().replace("office", "fleet");
    std::fs::write(folder.join("pack.yaml"), about).unwrap();
    for command in ["check", "test", "explore"] {
        let output = trackside(&[command], &folder);
        assert_eq!(code(&output), 1, "{command}");
        let said = both_streams(&output);
        assert!(said.contains("reserved-pack") && said.contains("pack.yaml:1:"), "{command}: {said}");
        assert!(said.contains("Choose another name"), "{command}: {said}");
    }
}

/// Without times, which differ from run to run.
fn without_times(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let masked = words.iter().enumerate().map(|(nth, word)| {
            let is_time = words.get(nth + 1) == Some(&"s") && word.parse::<f64>().is_ok();
            if is_time { "N" } else { word }
        });
        masked.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_verdict_states_its_bound() {
    let folder = pack("check-bound", PAPER);
    let complete = trackside(&["check", "--proofs"], &folder);
    assert_eq!(code(&complete), 0);
    insta::assert_snapshot!("complete", without_times(&data(&complete)));
    let moves = trackside(&["check", "--proofs", "--depth", "1"], &folder);
    assert_eq!(code(&moves), 0);
    insta::assert_snapshot!("one-move", without_times(&data(&moves)));
    let worlds = trackside(&["check", "--proofs", "--worlds", "9"], &folder);
    assert_eq!(code(&worlds), 0);
    insta::assert_snapshot!("nine-worlds", without_times(&data(&worlds)));
}

#[test]
fn the_exit_code_tells_what_was_found_within_the_bound() {
    let folder = pack("check-exit", &careless());
    let near = trackside(&["check", "--depth", "1"], &folder);
    assert_eq!(code(&near), 0, "{}", data(&near));
    assert!(data(&near).contains("no counterexample in 1 move;"), "{}", data(&near));
    let broken = trackside(&["check", "--quick"], &folder);
    assert_eq!(code(&broken), 1, "{}", data(&broken));
    insta::assert_snapshot!("broken", without_times(&data(&broken)));
    let both = trackside(&["check", "--quick", "--worlds", "9"], &folder);
    assert_eq!(code(&both), 2, "one bound, not two");
}

#[test]
fn programs_get_the_bound_of_every_promise() {
    let folder = pack("check-bound-json", PAPER);
    let json = |args: &[&str]| -> Json { serde_json::from_str(&data(&trackside(args, &folder))).unwrap() };
    let complete = json(&["check", "--json"]);
    let bound = |of: &Json| of["packs"][0]["bound"].clone();
    assert_eq!(bound(&complete), serde_json::json!({ "moves": null, "complete": true }));
    let near = json(&["check", "--json", "--depth", "1"]);
    let wanted = serde_json::json!({ "moves": 1, "complete": false });
    assert_eq!(bound(&near), wanted);
    let promise = &near["packs"][0]["promises"][0];
    assert_eq!((&promise["verdict"], &promise["bound"]), (&Json::from("not-seen"), &wanted));
    assert_eq!(near["packs"][0]["stages"][0]["bound"], wanted);
}

#[test]
fn a_bound_in_worlds_gives_the_same_result_every_time() {
    let result = |threads: &str| {
        let args = ["check", "--json", "--worlds", "40", "--threads", threads];
        let mut json: Json = serde_json::from_str(&data(&trackside(&args, Path::new("turns")))).unwrap();
        json["packs"][0]["seconds"] = Json::Null;
        json
    };
    assert_eq!(result("1"), result("3"));
}

#[test]
fn a_check_ends_with_its_time() {
    let output = trackside(&["check", "--seconds", "1"], Path::new("turns"));
    assert_eq!(code(&output), 0, "{}", data(&output));
    assert!(data(&output).contains("Stopped at the time limit."), "{}", data(&output));
}
