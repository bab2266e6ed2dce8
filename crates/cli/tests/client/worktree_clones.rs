//! Several runners of one machine, and several clones of one repository.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::ladder::start_agents;
use crate::runs::{RunGround, wait_for};
use crate::worktrees::{COMMIT, git, review};

/// Runs one task in a repository and returns the messages.
fn once_in(ground: &RunGround, repository: &Path, args: &[&str], script: &str) -> String {
    let mut command = ground.server.command(&["work", "coding.task", "--once"]);
    command.args(args).arg("--repo").arg(repository).args(["--", "sh", "-c", script]);
    command.env("XDG_CACHE_HOME", ground.server.root.join("cache"));
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const REVIEWER: [&str; 4] = ["--role", "code_reviewer", "--as", "code-reviewer-1"];

/// Six runners with one token see each effect as their own. One of them carries it out.
#[test]
fn one_runner_carries_out_the_checks_of_a_task() {
    let ground = RunGround::of_build("worktrees-one-runner");
    let log = |name: &str| std::fs::read_to_string(ground.server.root.join(name)).unwrap_or_default();
    let settings = [
        "settings",
        "build",
        "commitBy=runner",
        // Longer than the pause between two looks for effects.
        r#"checkCommands:=[{"name":"tests","command":"echo check >> ../checks.log; sleep 5","timeout":"1m"}]"#,
        r#"gateCommands:=[{"name":"lint","command":"echo gate >> ../gates.log; sleep 5","timeout":"1m"}]"#,
    ];
    ground.server.ask(&settings).says(0, &[]);
    let _agents = start_agents(&ground, "echo good > code.txt");
    ground.server.ask(&["new", "build.task", "--id", "T-1", "title=Close the file"]).says(0, &[]);
    wait_for("the task is committed", || (ground.state("build.task/T-1") == "completed").then_some(()));
    assert_eq!((log("checks.log").as_str(), log("gates.log").as_str()), ("check\n", "gate\n"));
}

/// A runner of another clone has no copy of the work. It gives the task back, and no agent runs in its checkout.
#[test]
fn a_task_whose_work_is_in_another_clone_is_given_back() {
    let ground = RunGround::new("worktrees-clones", &["isolation=worktree"]);
    let clone = ground.server.root.join("clone");
    let in_clone = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&ground.server.root).status().unwrap();
        assert!(done.success(), "git {args:?}");
    };
    in_clone(&["clone", "-q", "repo", "clone"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo 1 > made.txt && {COMMIT}"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");

    // The review.
    let messages = once_in(&ground, &clone, &REVIEWER, "touch ran.txt");
    assert!(messages.contains("coding.task/T-1 is given back"), "{messages}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!((&task["state"], &task["fields"]["reviewing_by"]), (&"READY_FOR_REVIEW".into(), &Json::Null));
    assert_eq!((ground.runs().len(), clone.join("ran.txt").exists()), (1, false), "{messages}");
    let runners = ground.server.ask(&["list", "fleet.runner", "--json"]).json().to_string();
    assert!(runners.contains("the work of coding.task/T-1 is in"), "{runners}");

    // With the commit, a review is possible.
    in_clone(&["-C", "clone", "fetch", "-q", "origin", "refs/heads/task/T-1:refs/heads/task/T-1"]);
    let reject = "test -f made.txt && trackside fire \"$TRACKSIDE_ENTITY\" reject rejection_reason=Again";
    let messages = once_in(&ground, &clone, &REVIEWER, reject);
    assert_eq!(ground.state("coding.task/T-1"), "REJECTED", "{messages}");
    assert!(!clone.join("made.txt").exists(), "the review has a folder of its own");

    // The next round.
    in_clone(&["-C", "clone", "branch", "-D", "-q", "task/T-1"]);
    let messages = once_in(&ground, &clone, &[], "touch ran.txt");
    assert!(messages.contains("coding.task/T-1 is given back"), "{messages}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!((&task["state"], &task["leases"]), (&"CLAIMED".into(), &Json::Array(Vec::new())), "{task:#}");
    assert!(!clone.join("ran.txt").exists(), "{messages}");
    let (_, messages) = ground.once(&format!("test -f made.txt && echo 2 > second.txt && {COMMIT}"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(git(&ground, &["log", "--format=%s", "integration..task/T-1"]), "work\nwork");
}

/// The records of the repository are lost. The server knows the branch, so nobody works in the main checkout.
#[test]
fn lost_records_are_made_again() {
    let ground = RunGround::new("worktrees-lost-records", &["isolation=worktree"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo 1 > made.txt && {COMMIT}; echo open > open.txt"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let lose = || std::fs::remove_dir_all(ground.checkout().join(".git/trackside")).unwrap();
    lose();
    let (_, messages) = review(
        &ground,
        "test -f made.txt && trackside fire \"$TRACKSIDE_ENTITY\" reject rejection_reason=Again",
    );
    assert_eq!(ground.state("coding.task/T-1"), "REJECTED", "{messages}");
    lose();
    let (_, messages) = ground.once(&format!("test -f made.txt && echo 2 > second.txt && {COMMIT}"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(git(&ground, &["log", "--format=%s", "integration..task/T-1"]), "work\nwork");
    assert_eq!(git(&ground, &["status", "--porcelain"]), "");
    // What was not committed is saved.
    let saved = git(&ground, &["for-each-ref", "--format=%(refname)", "refs/trackside/trash"]);
    let saved = saved.lines().next().unwrap_or_else(|| panic!("{messages}"));
    assert_eq!(git(&ground, &["show", &format!("{saved}:open.txt")]), "open");
}
