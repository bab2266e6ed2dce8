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
    let said = "2 of 2 promises: no counterexample in everything that can happen; ";
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
    assert!(said.contains("Explored every sequence of up to 1 moves"), "{said}");
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
