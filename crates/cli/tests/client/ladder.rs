//! A task of the pack build: an agent for each state, started by the runner, and checks, gates, the commit and the mark in
//! the plan file as effects.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value as Json;

use crate::runs::{RunGround, Runner, wait_for};

fn git(ground: &RunGround, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(ground.checkout()).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Every agent of the pack, each with a runner of its own.
pub(crate) fn start_agents(ground: &RunGround, developer: &str) -> Vec<Runner> {
    let fire = |event: &str| format!("trackside fire \"$TRACKSIDE_ENTITY\" {event}");
    let agents = [
        ("orchestrator", "orch-1", "true".to_owned()),
        ("solution_validator", "val-1", fire("validate")),
        ("fullstack_developer", "dev-1", developer.to_owned()),
        ("quality_monitor", "mon-1", fire("pass")),
        ("git_manager", "gina-1", "true".to_owned()),
        // First the review of the codebase that a task of a plan file needs.
        (
            "cto",
            "cto-1",
            format!(
                "{} || {}",
                fire("codebase_review"),
                fire("retry guidance='Read the output of the checks'")
            ),
        ),
    ];
    agents
        .into_iter()
        .map(|(role, id, script)| ground.spawn(&["work", "build.task", "--role", role, "--as", id], &script))
        .collect()
}

/// Both rungs: the checks fail until the CTO is called, and again until a person is. Then the commit fails once at its
/// hook, and succeeds.
#[test]
fn a_build_task_climbs_both_rungs_and_comes_back_to_a_real_commit() {
    let ground = RunGround::of_build("ladder");
    let hook = ground.checkout().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let refused = ground.server.root.join("refused");
    let refuses = format!(
        "#!/bin/sh\ntest -e formatted.txt && exit 0\ntouch {}\necho code.txt is not formatted\nexit 1\n",
        refused.display()
    );
    std::fs::write(&hook, refuses).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let resumed = ground.server.root.join("resumed");
    let settings = [
        "settings",
        "build",
        "maxFailures:=2",
        "commitBy=runner",
        "commitType=fix",
        r#"checkCommands:=[{"name":"tests","command":"grep good code.txt","timeout":"1m"}]"#,
        r#"gateCommands:=[{"name":"lint","command":"test -f code.txt","timeout":"1m"}]"#,
        "crashDelay=1s",
    ];
    ground.server.ask(&settings).says(0, &[]);
    // Bad code until a person helped; formatted only after the hook refused it.
    let developer = format!(
        "if [ -e {} ]; then touch formatted.txt; elif [ -e {} ]; then echo good > code.txt; else echo bad > code.txt; fi",
        refused.display(),
        resumed.display()
    );
    // Files of a person, which are not part of the work. One of them is the plan.
    let plan = ground.checkout().join("plan.md");
    std::fs::write(&plan, "- [ ] T-1: close\n- [ ] T-2: open\n").unwrap();
    std::fs::write(ground.checkout().join("notes.txt"), "of a person\n").unwrap();
    let _agents = start_agents(&ground, &developer);
    let task = ["new", "build.task", "--id", "T-1", "title=Close the file", "planFile=plan.md"];
    ground.server.ask(&task).says(0, &[]);
    let reached = |state: &str| (ground.state("build.task/T-1") == state).then_some(());
    wait_for("a person is called", || reached("human_escalation"));
    let task = ground.entity("build.task/T-1");
    assert_eq!(task["fields"]["ctoAttempts"], 2, "{task:#}");
    assert!(task["fields"]["cause"].as_str().unwrap().contains("tests"), "{task:#}");
    std::fs::write(&resumed, "").unwrap();
    let resume = ["fire", "build.task/T-1", "resume", "to=in_progress", "guidance=Write good code"];
    ground.server.ask(&resume).says(0, &[]);
    wait_for("the task is committed", || reached("completed"));

    let task = ground.entity("build.task/T-1");
    let fields = &task["fields"];
    assert_eq!(fields["commit"], git(&ground, &["rev-parse", "HEAD"]), "{task:#}");
    let message = "fix: Close the file (T-1, approved by mon-1)";
    assert_eq!(git(&ground, &["log", "-1", "--format=%s"]), message);
    assert_eq!(fields["commitMessage"], message);
    assert_eq!(git(&ground, &["ls-tree", "--name-only", "HEAD"]), "code.txt\nformatted.txt");
    assert_eq!(git(&ground, &["rev-list", "--count", "HEAD"]), "2", "one commit");
    let left = git(&ground, &["status", "--porcelain", "--", "notes.txt", "plan.md"]);
    assert_eq!(left, "?? notes.txt\n?? plan.md", "files of a person are in no commit of a task");
    wait_for("the task is marked in its plan", || {
        let text = std::fs::read_to_string(&plan).unwrap();
        (text == "- [x] T-1: close\n- [ ] T-2: open\n").then_some(())
    });
    assert_eq!(fields["gateReport"], serde_json::json!({ "lint": "passed" }));
    // What failed, in order: the checks until the CTO and until a person was called, and the hook once.
    let log = fields["failureLog"].as_array().unwrap();
    let failures: Vec<&str> = log.iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(failures, ["testing", "testing", "testing", "testing", "committing"], "{task:#}");
    let hook_failure = log.last().unwrap()["cause"].as_str().unwrap();
    assert_eq!(hook_failure, "Pre-commit failed: code.txt is not formatted");
    // The runner started the agent of every state, the CTO on each intervention.
    let of = |agent: &str| ground.runs().iter().filter(|it| it["fields"]["agent"] == agent).count();
    assert_eq!((of("orch-1"), of("val-1"), of("cto-1")), (1, 1, 3));
    assert!(of("dev-1") >= 4 && of("mon-1") >= 2, "{:#}", Json::from(ground.runs()));
}
