//! What passes through a run: messages of a person to the agent, and secrets that must reach no disk.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::runs::{RunGround, Runner, read, wait_for};

#[test]
fn an_attached_person_steers_interrupts_and_stops_a_live_agent() {
    let ground = RunGround::new("runs-attached", &[]);
    ground.task("T-1");
    ground.claude(
        r#"say() { echo '{"type":"assistant","message":{"id":"'$RANDOM'","content":[{"type":"text","text":"'"$1"'"}]}}'; }
        say ready
        while read -r line; do case "$line" in
            *'"interrupt"'*) say "I was interrupted";;
            *"use the other file"*) say "I use the other file";;
            *"fix the test first"*) say "I fix the test";;
        esac; done; CODE=0"#,
    );
    let runner = ground.spawn_claude("coder-1", &["--once"]);
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    let mut command = ground.server.command(&["attach", &run]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut attached = command.spawn().unwrap();
    let mut typed = attached.stdin.take().unwrap();
    let says = |text: &str| {
        wait_for(text, || ground.server.ask(&["logs", &run]).data.contains(text).then_some(()));
    };
    says("ready");
    typed.write_all(b"fix the test first\n").unwrap();
    says("I fix the test");
    typed.write_all(b"/interrupt use the other file\n").unwrap();
    says("I was interrupted");
    says("I use the other file");
    let record = ground.entity(&format!("fleet.run/{run}"));
    assert_eq!(
        record["fields"]["messages"],
        serde_json::json!([]),
        "each message is delivered once: {record:#}"
    );
    typed.write_all(b"/stop enough for today\n").unwrap();
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    let output = attached.wait_with_output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{seen}");
    for text in ["ready", "I fix the test", "I was interrupted", "I use the other file"] {
        assert_eq!(seen.matches(&format!("{text}\n")).count(), 1, "{text}: {seen}");
    }
    let record = ground.entity(&format!("fleet.run/{run}"));
    assert_eq!(
        (&record["state"], &record["fields"]["stopReason"]),
        (&"STOPPED".into(), &"enough for today".into()),
        "{record:#}"
    );
    assert!(ground.state("coding.task/T-1") == "BLOCKED", "{messages}");
}

/// All files below a folder that contain a text.
fn files_with(folder: &Path, text: &[u8], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_with(&path, text, found),
            Ok(kind) if kind.is_file() => {
                let content = std::fs::read(&path).unwrap_or_default();
                if content.windows(text.len()).any(|it| it == text) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_secret_of_a_run_reaches_no_disk_and_no_record() {
    let canary = format!("canary{}x{}", std::process::id(), "Zq7Lw2");
    let ground = RunGround::new("runs-canary", &["crash_delay=1s"]);
    ground.task("T-1");
    // On standard output and error, in a message, a tool call and its result, in pieces, and in the last words. The
    // folder of the agent is its own: it writes nothing there.
    ground.claude(
        r#"echo "plain $CANARY"; echo "error $CANARY" >&2
        echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I know '$CANARY'"}]}}'
        echo '{"type":"assistant","message":{"id":"n","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"echo '$CANARY'"}}]}}'
        echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"it is '$CANARY'"}]}}'
        printf '{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s-1","result":"at the end '; sleep 0.3
        printf '%s' "${CANARY%Lw2}"; sleep 0.3; printf 'Lw2"}\n'
        printf 'no new line: %s' "$CANARY"; while [ ! -e go.txt ]; do sleep 0.1; done; CODE=3"#,
    );
    let state = ground.server.root.join("own");
    let mut command = ground.claude_runner("coding.task", "coder-1", &["--once", "--env", "CANARY"]);
    command.env("CANARY", &canary).env("XDG_STATE_HOME", &state);
    ground.server.ask(&["settings", "fleet", "maxRuns:=1"]).says(0, &[]);
    let runner = Runner(Some(command.spawn().unwrap()));
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    let transcript = || ground.server.ask(&["logs", &run, "--json"]).data;
    wait_for("all was said", || transcript().contains("at the end").then_some(()));
    let look = |when: &str| {
        let mut found = Vec::new();
        files_with(&ground.server.root, canary.as_bytes(), &mut found);
        assert!(found.is_empty(), "{when}: {found:?}");
    };
    let mut errors = Vec::new();
    files_with(&state, b"error [redacted]", &mut errors);
    assert!(!errors.is_empty(), "its standard error is on disk");
    // While it runs: the folder of the run, the spool, and the folder of the server.
    look("while it runs");
    std::fs::write(ground.server.root.join("coder-1/go.txt"), "").unwrap();
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    look("after its end");
    assert!(!messages.contains(&canary), "{messages}");
    let said = transcript();
    for text in ["plain ", "I know ", "echo ", "it is ", "at the end "] {
        assert!(said.contains(&format!("{text}[redacted]")), "{text}: {said}");
    }
    let record = ground.entity(&format!("fleet.run/{run}"));
    assert!(record["fields"]["exitText"].as_str().unwrap().contains("[redacted]"), "{record:#}");
    for page in [said, record.to_string(), ground.server.ask(&["journal", "--json"]).data] {
        assert!(!page.contains(&canary), "{page}");
    }
    assert!(read(&ground.server.root.join("up.log")).is_none_or(|it| !it.contains(&canary)));
}
