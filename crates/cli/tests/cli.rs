//! The binary as people type it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn trackside(args: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_trackside");
    Command::new(binary).args(args).env("NO_COLOR", "1").env("COLUMNS", "100").output().unwrap()
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

/// A small pack in a folder of its own.
fn pack(name: &str, lifecycle: &str, scenarios: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("lifecycles")).unwrap();
    std::fs::create_dir_all(folder.join("scenarios")).unwrap();
    std::fs::write(folder.join("pack.yaml"), "pack: small\nversion: 1\n").unwrap();
    std::fs::write(folder.join("lifecycles/light.yaml"), lifecycle).unwrap();
    std::fs::write(folder.join("scenarios/light.yaml"), scenarios).unwrap();
    folder
}

const LIGHT: &str = "\
lifecycle: small.light
create: { by: human }
states: { OFF: { initial: true }, ON: {} }
transitions:
  switch_on:  { from: OFF, to: ON, by: human }
  switch_off: { from: ON, to: OFF, by: human }
";

const SCENARIOS: &str = "\
pack: small
actors: { hank: { human: [] }, ada: { agent: [] } }
scenarios:
  - scenario: People switch the light
    steps:
      - { as: ada, create: small.light/L, then: { refused: not-permitted } }
      - { as: hank, create: small.light/L }
      - { as: ada, fire: switch_on, of: small.light/L, then: { refused: not-permitted } }
      - { as: hank, fire: switch_on, of: small.light/L, then: { state: ON } }
      - { as: ada, fire: switch_off, of: small.light/L, then: { refused: not-permitted } }
      - { as: hank, move: small.light/L, to: \"OFF\", then: { state: \"OFF\" } }
";

#[test]
fn the_commands_page_is_up_to_date() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let kept = std::fs::read_to_string(page).unwrap_or_default();
    let now = data(&trackside(&["reference"]));
    assert!(
        kept == now,
        "docs/reference/commands.md is not what the commands are now: run `cargo xtask reference`"
    );
}

#[test]
fn help_matches_the_reviewed_snapshots() {
    insta::assert_snapshot!("help", data(&trackside(&["--help"])));
    insta::assert_snapshot!("help-test", data(&trackside(&["test", "--help"])));
    insta::assert_snapshot!("help-diff", data(&trackside(&["diff", "--help"])));
    insta::assert_snapshot!("help-fmt", data(&trackside(&["fmt", "--help"])));
    insta::assert_snapshot!("help-schema", data(&trackside(&["schema", "--help"])));
}

#[test]
fn passing_scenarios_are_reported() {
    let folder = pack("passes", LIGHT, SCENARIOS);
    let output = trackside(&["test", folder.to_str().unwrap(), "--coverage"]);
    assert_eq!(code(&output), 0, "{}", both_streams(&output));
    assert!(data(&output).contains("1 passed, 0 failed"), "{}", data(&output));
    assert!(data(&output).contains("coverage 100.0 %"), "{}", data(&output));
}

#[test]
fn only_selects_scenarios_and_tables_by_name() {
    let table = "matrix: { name: The edges of a light, of: small.light, allowed: { OFF: { ON: [hank] }, ON: { OFF: [hank] } } }\n";
    let folder = pack("only", LIGHT, &format!("{SCENARIOS}{table}"));
    let run = |only: &str| data(&trackside(&["test", folder.to_str().unwrap(), "--only", only]));
    assert!(run("People switch").contains("1 passed, 0 failed"), "{}", run("People switch"));
    // Two states, two actors: the allowed targets of each, and one request to the other state.
    assert!(run("edges of").contains("8 passed, 0 failed"), "{}", run("edges of"));
    assert!(run("light").contains("9 passed, 0 failed"), "{}", run("light"));
    let none = run("lamp");
    assert!(none.contains("no scenario ran: no name of a scenario or table contains `lamp`"), "{none}");
}

#[test]
fn rules_without_a_scenario_are_listed_and_fail() {
    let fewer = SCENARIOS.lines().filter(|it| !it.contains("switch_off")).collect::<Vec<_>>().join("\n");
    let folder = pack("uncovered", LIGHT, &fewer);
    let output = trackside(&["test", folder.to_str().unwrap(), "--coverage"]);
    assert_eq!(code(&output), 1);
    assert!(
        data(&output).contains("not exercised: refusal small.light transitions.switch_off.by"),
        "{}",
        data(&output)
    );
    // Without --coverage the scenarios alone decide.
    assert_eq!(code(&trackside(&["test", folder.to_str().unwrap()])), 0);
}

#[test]
fn a_failing_scenario_shows_expectation_result_and_journal() {
    let wrong = SCENARIOS.replace("then: { state: ON }", "then: { state: \"OFF\" }");
    let folder = pack("fails", LIGHT, &wrong);
    let output = trackside(&["test", folder.to_str().unwrap()]);
    assert_eq!(code(&output), 1);
    let told = both_streams(&output);
    for words in [
        "failed People switch the light",
        "scenarios/light.yaml:9:",
        "step 4",
        "expected small.light/L is OFF",
        "happened it is ON",
        "journal so far",
        "STATE_TRANSITION small.light/L OFF → ON by hank (human) on switch_on",
    ] {
        assert!(told.contains(words), "expected {words:?} in\n{told}");
    }
}

#[test]
fn a_broken_definition_is_shown_where_it_is_broken() {
    let folder = pack("broken", &LIGHT.replace("from: ON", "form: ON"), SCENARIOS);
    let output = trackside(&["test", folder.to_str().unwrap()]);
    assert_eq!(code(&output), 1);
    let told = both_streams(&output);
    assert!(told.contains("lifecycles/light.yaml:6:17"), "{told}");
    assert!(told.to_lowercase().contains("did you mean `from`?"), "{told}");
    let json = trackside(&["test", folder.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&data(&json)).unwrap();
    assert_eq!(json.pointer("/packs/0/problems/0/line"), Some(&serde_json::json!(6)), "{json:#}");
}

#[test]
fn a_wrong_path_is_reported_with_the_missing_file() {
    let output = trackside(&["test", "no-such-folder"]);
    assert_eq!(code(&output), 2);
    assert!(both_streams(&output).contains("no such file or folder"));
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let output = trackside(&["test", empty.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(both_streams(&output).contains("neither a pack (pack.yaml) nor a folder of packs"));
}

#[test]
fn typing_errors_are_usage_errors_with_the_nearest_word() {
    let output = trackside(&["tset", "packs"]);
    assert_eq!(code(&output), 2);
    assert!(both_streams(&output).contains("'test'"), "{}", both_streams(&output));
    assert_eq!(code(&trackside(&["test"])), 2);
}

#[test]
fn the_schema_is_json_schema() {
    for of in ["lifecycle", "pack", "scenario"] {
        let output = trackside(&["schema", of]);
        assert_eq!(code(&output), 0);
        let json: serde_json::Value = serde_json::from_str(&data(&output)).unwrap();
        assert!(json.get("$schema").is_some(), "{of}");
    }
}

#[test]
fn a_difference_is_reported_and_can_fail() {
    let old = pack("diff-old", LIGHT, SCENARIOS);
    let new = pack(
        "diff-new",
        &LIGHT.replace("from: ON, to: OFF, by: human", "from: ON, to: OFF, by: system"),
        SCENARIOS,
    );
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let output = trackside(&["diff", old, old]);
    assert_eq!(
        (code(&output), data(&output).as_str()),
        (0, "Nothing changed.\n"),
        "{}",
        both_streams(&output)
    );
    let output = trackside(&["diff", old, new]);
    assert_eq!(code(&output), 0, "{}", both_streams(&output));
    assert!(
        data(&output).contains("`switch_off` from ON: who may was `human`, is `system`"),
        "{}",
        data(&output)
    );
    assert_eq!(code(&trackside(&["diff", old, new, "--fail-on", "any"])), 1);
    assert_eq!(code(&trackside(&["diff", old, new, "--fail-on", "tighter"])), 0);
    let file = format!("{new}/lifecycles/light.yaml");
    assert!(data(&trackside(&["diff", old, &file])).contains("switch_off"));
    assert_eq!(code(&trackside(&["diff", old, "no-such-folder"])), 2);
}

#[test]
fn a_journal_is_written_and_replayed_by_diff() {
    let old = pack("whatif-old", LIGHT, SCENARIOS);
    let new = pack("whatif-new", &LIGHT.replace("to: ON, by: human", "to: ON, by: system"), SCENARIOS);
    let journal = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("light.jsonl");
    let (old, new, journal) = (old.to_str().unwrap(), new.to_str().unwrap(), journal.to_str().unwrap());
    let output = trackside(&["test", old, "--journal", journal]);
    assert_eq!(code(&output), 0, "{}", both_streams(&output));
    assert!(
        both_streams(&output).contains("entries of \"People switch the light\""),
        "{}",
        both_streams(&output)
    );
    let output = trackside(&["diff", old, new, "--journal", journal, "--what-if"]);
    let text = data(&output);
    for words in [
        "Stranded: 0 of 1 entities",
        "What if: 3 commands replayed, 1 differences and 1 that follow from them",
        "2026-01-01 00:00 hank switch_on small.light/L: would be refused: hank may not switch_on. Who may: system (not-permitted)",
    ] {
        assert!(text.contains(words), "expected {words:?} in\n{text}");
    }
    let json = data(&trackside(&["diff", old, new, "--journal", journal, "--what-if", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.pointer("/whatIf/followUps"), Some(&serde_json::json!(1)), "{json:#}");
    assert_eq!(
        code(&trackside(&["diff", old, new, "--journal", journal, "--what-if", "--fail-on", "stranded"])),
        1
    );
    let output = trackside(&["diff", old, new, "--journal", &format!("{old}/pack.yaml")]);
    assert_eq!(code(&output), 2);
    assert!(both_streams(&output).contains("this is no journal entry"), "{}", both_streams(&output));
}

#[test]
fn both_programs_are_shims() {
    let (shim, whole) = (env!("CARGO_BIN_EXE_trackside-shim"), env!("CARGO_BIN_EXE_trackside"));
    let run = |program: &str, arguments: &[&str]| Command::new(program).args(arguments).output().unwrap();
    let probed = [run(shim, &["probe", "tree"]), run(whole, &["__shim", "probe", "tree"])];
    assert!(probed.iter().all(|it| code(it) == 0 && it.stdout.is_empty()), "{probed:?}");
    let alone = run(shim, &[]);
    assert_eq!(code(&alone), 125);
    assert!(both_streams(&alone).contains("is started by `trackside work`"), "{alone:?}");
    // The role is hidden: it is in no help and suggested to nobody.
    assert!(!data(&trackside(&["--help"])).contains("__shim"));
}
