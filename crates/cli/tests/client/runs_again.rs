//! One runner for an identity, and one counter for all runs of a task.

use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::ground::ClientServer;
use crate::runs::{Paused, RunGround, Runner, processes, read, wait_for};

/// Whether this machine lets the test start a program in a pid namespace of its own.
fn has_pid_namespaces() -> bool {
    let tried = Command::new("unshare").args(["--pid", "--fork", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|it| it.success())
}

#[test]
fn s2_an_older_runner_that_wakes_starts_nothing() {
    for is_elsewhere in [false, true] {
        if is_elsewhere && !has_pid_namespaces() {
            eprintln!("not tried in another pid namespace: this machine forbids it");
            continue;
        }
        older_runner_wakes(is_elsewhere);
    }
}

fn older_runner_wakes(is_elsewhere: bool) {
    let name = format!("runs-s2-wakes-{is_elsewhere}");
    let ground = RunGround::new(&name, &["lease_duration=20s", "lease_grace=1s", "heartbeat_interval=2s"]);
    ground.server.ask(&["settings", "fleet", "runnerLease=20s", "runnerGrace=1s"]).says(0, &[]);
    ground.task("T-1");
    let script = |mark: &str| {
        format!(
            "echo {mark} >> starts.txt; echo said by {mark}; while [ ! -e go.txt ]; do sleep 0.2; : {mark}; done"
        )
    };
    let [older, newer] = ["older", "newer"].map(|it| format!("trackside-{it}-{}-{name}", std::process::id()));
    let args = ["work", "coding.task"];
    let first = ground.spawn(&args, &script(&older));
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    let entity = format!("fleet.run/{run}");
    wait_for("its first line is known", || {
        ground.server.ask(&["logs", &run]).data.contains("said by").then_some(())
    });
    let paused = Paused::new(first.0.as_ref().unwrap().id().cast_signed());
    wait_for("its processes end with its lease", || processes(&older).is_empty().then_some(()));
    let runner = "fleet.runner/runner.coder-1";
    wait_for("its registration is lost", || (ground.state(runner) == "OFFLINE").then_some(()));

    // The same identity on another machine.
    let direct = ground.runner(&args, &script(&newer));
    let mut command = match is_elsewhere {
        true => {
            let mut command = Command::new("unshare");
            command
                .args(["--pid", "--fork", "--kill-child"])
                .arg(direct.get_program())
                .args(direct.get_args());
            command.current_dir(direct.get_current_dir().unwrap()).stderr(Stdio::piped());
            direct.get_envs().for_each(|(name, value)| match value {
                Some(value) => drop(command.env(name, value)),
                None => drop(command.env_remove(name)),
            });
            command
        }
        false => direct,
    };
    command.env("XDG_STATE_HOME", ground.server.root.join("other-machine")).stdout(Stdio::null());
    let _second = Runner(Some(command.spawn().unwrap()));
    let is_new = |it: &Json| it["id"] != run.as_str() && it["state"] == "RUNNING";
    let new = wait_for("the newer one works", || ground.runs().into_iter().find(is_new));
    let versions = || ["fleet.runner/runner.coder-1", &entity].map(|it| ground.entity(it)["version"].clone());
    let before = versions();
    // The newer one has reported the end of a process that was ended by its lease.
    let ended = ground.entity(&entity);
    assert_eq!(
        (&ended["state"], &ended["fields"]["exitClass"]),
        (&"FAILED".into(), &"killed".into()),
        "{ended:#}"
    );

    drop(paused);
    let (code, messages) = first.end();
    assert_eq!(code, 4, "{messages}");
    assert!(messages.contains("runner.coder-1"), "it is told why: {messages}");
    assert!(processes(&older).is_empty(), "{messages}");
    let starts = read(&ground.repo().join("starts.txt")).unwrap();
    assert_eq!(starts.lines().filter(|it| *it == older).count(), 1, "{messages}");
    let runs = ground.runs();
    let open: Vec<&Json> = runs.iter().filter(|it| it["state"] == "RUNNING").collect();
    assert_eq!((open.len(), &open[0]["id"]), (1, &new["id"]), "{messages}");
    // It has moved nothing: the registration and its run are as they were.
    assert_eq!(versions(), before, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "CLAIMED", "{messages}");
}

impl RunGround {
    /// Starts the server again, with the same folder.
    fn restart_server(&mut self) {
        self.server.stop();
        self.server = ClientServer::start_by(self.server.root.clone(), "coding", "system", &[]);
    }

    fn reject(&self, reviewer: &str) {
        self.server.ask_as(reviewer, &["fire", "coding.task/T-1", "claim_review"]).says(0, &[]);
        let finding = r#"findings:=[{"file":"a.rs","line":1,"impact":"wrong","fix":"right"}]"#;
        let earlier = r#"earlier:=[{"file":"a.rs","line":1,"status":"still_present"}]"#;
        let verdict = ["fire", "coding.task/T-1", "reject", "rejection_reason=Not yet", finding, earlier];
        self.server.ask_as(reviewer, &verdict).says(0, &[]);
        assert_eq!(self.state("coding.task/T-1"), "REJECTED");
    }
}

#[test]
fn s6_review_rounds_reassignment_and_restarts_count_together() {
    let mut ground = RunGround::new("runs-s6-whole", &["crash_delay=1s", "max_review_cycles:=20"]);
    ground.server.ask(&["settings", "fleet", "maxRuns:=5"]).says(0, &[]);
    let reviewer = ground.server.token("critic-1", "agent", &["coding:code_reviewer"]);
    ground.task("T-1");
    // The first process of the second coder waits and crashes; all others do their work.
    ground.claude(
        r#"echo '{"type":"assistant","message":{"id":"m'$TURN'","content":[],"usage":{"input_tokens":100,"output_tokens":10}}}'
        echo start >> ../starts.txt; CODE=0
        if [ -e crash.txt ]; then while [ ! -e go.txt ]; do sleep 0.1; done; rm crash.txt; exit 3; fi; good"#,
    );
    let done = |ground: &RunGround, coder: &str| {
        let (code, messages) = ground.spawn_claude(coder, &["--once"]).end();
        assert_eq!(code, 0, "{messages}");
        assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    };
    let used = |ground: &RunGround| {
        let fields = ground.entity("fleet.work/coding.task-T-1")["fields"].clone();
        (fields["started"].as_u64().unwrap(), fields["tokens"].as_u64().unwrap())
    };
    // Two review rounds of one coder.
    done(&ground, "coder-1");
    ground.reject(&reviewer);
    done(&ground, "coder-1");
    ground.reject(&reviewer);
    assert_eq!(used(&ground), (2, 220));
    ground.restart_server();
    assert_eq!(used(&ground), (2, 220));
    // Another coder, whose runner is killed: the same process goes on. Then it crashes.
    let repo = ground.repo_of("coder-2");
    std::fs::write(repo.join("crash.txt"), "").unwrap();
    let mut runner = ground.spawn_claude("coder-2", &["--once"]);
    ground.run_of("coder-2");
    runner.kill();
    let runner = ground.spawn_claude("coder-2", &["--once"]);
    std::fs::write(repo.join("go.txt"), "").unwrap();
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(used(&ground), (4, 440), "{messages}");
    ground.reject(&reviewer);
    done(&ground, "coder-2");
    ground.reject(&reviewer);
    ground.restart_server();
    // The limit is reached: a person is asked, and nothing starts.
    let (code, messages) = ground.spawn_claude("coder-2", &["--once"]).end();
    assert_eq!(code, 0, "{messages}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{messages}");
    let reason = task["fields"]["blocked_reason"].as_str().unwrap();
    assert!(reason.contains("has had 5 runs, and 5 are allowed"), "{reason}");
    assert_eq!(used(&ground), (5, 550), "{messages}");
    assert_eq!(read(&ground.server.root.join("starts.txt")).unwrap().lines().count(), 5);
    assert_eq!(ground.runs().len(), 5);
}
