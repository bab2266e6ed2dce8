//! Server and runners are replaced by a new program while agents work.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use crate::runs::{RunGround, wait_for};

const AGENTS: [&str; 3] = ["coder-1", "coder-2", "coder-3"];

/// The installed program as a runner of one agent in a repository of its own.
fn start(ground: &RunGround, program: &Path, agent: &str) -> Child {
    let script = "echo start >> starts.txt; while [ ! -e go.txt ]; do sleep 0.1; done; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let plain = ground.server.command(&[]);
    // The hangup counts only where it is not ignored, as it is below `nohup`.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(program).args(["work", "coding.task", "--once", "--as", agent]);
    command.arg("--data").arg(ground.server.data()).arg("--repo").arg(ground.server.root.join(agent));
    command.args(["--", "sh", "-c", script]).current_dir(&ground.server.root);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("XDG_CACHE_HOME", ground.server.root.join("cache"));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(runner: Child) -> (Option<i32>, String) {
    let output = runner.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn s11_server_and_runners_are_replaced_while_agents_work() {
    let mut ground = RunGround::new("upgrade", &[]);
    let program = ground.server.root.join("installed");
    let built = env!("CARGO_BIN_EXE_trackside");
    std::fs::hard_link(built, &program).or_else(|_| std::fs::copy(built, &program).map(|_| ())).unwrap();
    let mut runners = Vec::new();
    for (number, agent) in (1..).zip(AGENTS) {
        ground.task(&format!("T-{number}"));
        let repo = ground.server.root.join(agent);
        std::fs::create_dir_all(&repo).unwrap();
        let init = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
        assert!(Command::new("sh").args(["-c", init]).current_dir(&repo).status().unwrap().success());
        runners.push(start(&ground, &program, agent));
        wait_for("the agent works", || repo.join("starts.txt").exists().then_some(()));
    }
    let ids = |ground: &RunGround| {
        ground.runs().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = wait_for("every run is known", || {
        let runs = ground.runs();
        runs.iter().all(|it| it["state"] == "RUNNING").then(|| ids(&ground)).filter(|it| it.len() == 3)
    });

    std::fs::remove_file(&program).unwrap();
    std::fs::copy(built, &program).unwrap();
    ground.server.replace_by(&program);
    let mut replaced = Vec::new();
    for ((agent, runner), signal) in AGENTS.into_iter().zip(runners).zip(["-HUP", "-KILL", "-HUP"]) {
        let sent = Command::new("kill").args([signal, &runner.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let (code, messages) = ended(runner);
        if signal == "-HUP" {
            assert_eq!(code, Some(0), "{messages}");
            assert!(messages.contains("goes on for up to a minute"), "{messages}");
        }
        replaced.push(start(&ground, &program, agent));
    }
    for run in &before {
        wait_for("the run is adopted", || {
            ground.server.ask(&["logs", run]).data.contains("adopted by a new runner").then_some(())
        });
    }
    for agent in AGENTS {
        std::fs::write(ground.server.root.join(agent).join("go.txt"), "").unwrap();
    }
    for (agent, runner) in AGENTS.into_iter().zip(replaced) {
        let (code, messages) = ended(runner);
        assert_eq!(code, Some(0), "{messages}");
        let starts = std::fs::read_to_string(ground.server.root.join(agent).join("starts.txt")).unwrap();
        assert_eq!(starts, "start\n", "{agent}: {messages}");
    }
    assert_eq!(ids(&ground), before);
    for run in ground.runs() {
        assert_eq!((&run["state"], &run["fields"]["exitCode"]), (&Json::from("SUCCEEDED"), &Json::from(0)));
    }
    for number in 1..=3 {
        assert_eq!(ground.state(&format!("coding.task/T-{number}")), "READY_FOR_REVIEW");
    }
}
