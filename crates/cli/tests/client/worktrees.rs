//! Tasks in worktrees of their own: made, submitted, merged and removed by runners, with real git.

use std::process::Command;

use trackside_lifecycle::time::{Span, Timestamp};

use crate::program::{CliOutput, binary, run_command};
use crate::runs::RunGround;

pub(crate) fn git(ground: &RunGround, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(ground.checkout()).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// `trackside worktree`, which needs no server.
pub(crate) fn worktree(ground: &RunGround, args: &[&str]) -> CliOutput {
    let mut command = binary(&["worktree"]);
    command.args(args).arg("--repo").arg(ground.checkout());
    run_command(command)
}

pub(crate) const COMMIT: &str = "git add -A && git -c user.name=t -c user.email=t@t commit -q -m work";

pub(crate) fn review(ground: &RunGround, script: &str) -> (i32, String) {
    let args = ["work", "coding.task", "--role", "code_reviewer", "--as", "code-reviewer-1", "--once"];
    let output = ground.runner(&args, script).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_task_goes_through_its_worktree_and_a_review_to_the_integration_branch() {
    let ground = RunGround::new("worktrees-task", &["isolation=worktree"]);
    ground.task("T-1");
    let (code, messages) =
        ground.once(&format!("echo content > made.txt && {COMMIT}; echo not committed > extra.txt"));
    assert_eq!(code, 0, "{messages}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "READY_FOR_REVIEW", "{messages}");
    assert_eq!(task["fields"]["base_commit"], git(&ground, &["rev-parse", "integration"]));
    assert_eq!(task["fields"]["review_commit"], git(&ground, &["rev-parse", "task/T-1"]));
    assert!(!ground.checkout().join("made.txt").exists());
    ground.server.ask(&["changes", "coding.task/T-1"]).says(0, &["made.txt", "content"]);
    worktree(&ground, &["list"]).says(0, &[".worktrees/T-1", "coding.task/T-1", "task/T-1"]);

    // The reviewer has a folder of its own, at the commit.
    let script = "test -f made.txt && test ! -e extra.txt && trackside fire \"$TRACKSIDE_ENTITY\" approve";
    let (code, messages) = review(&ground, script);
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "MERGED", "{messages}");
    assert_eq!(git(&ground, &["show", "integration:made.txt"]), "content");
    assert!(!ground.checkout().join(".worktrees/T-1").exists());
    // Uncommitted files are saved, and can be restored.
    let listed = worktree(&ground, &["list", "--json"]).json();
    let saved = listed["saved"][0]["id"].as_str().unwrap();
    worktree(&ground, &["restore", saved]).says(0, &["task/T-1"]);
    let extra = ground.checkout().join(".worktrees/T-1/extra.txt");
    assert_eq!(std::fs::read_to_string(extra).unwrap(), "not committed\n");
    worktree(&ground, &["prune", saved]).says(0, &[saved]);
}

#[test]
fn a_conflict_is_reported_and_fixed_in_the_same_worktree() {
    let ground = RunGround::new("worktrees-conflict", &["isolation=worktree"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo ours > same.txt && {COMMIT}"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    // The integration branch moves meanwhile.
    let script =
        format!("git checkout -q integration && echo theirs > same.txt && {COMMIT} && git checkout -q -");
    assert!(
        Command::new("sh").args(["-c", &script]).current_dir(ground.checkout()).status().unwrap().success()
    );
    let approve = "trackside fire \"$TRACKSIDE_ENTITY\" approve";
    let (_, messages) = review(&ground, approve);
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "INTEGRATION_FAILED", "{messages}");
    assert!(task["fields"]["integration_failure"].as_str().unwrap().contains("same.txt"), "{task:#}");
    assert!(task["fields"]["integration_output"].is_string(), "{task:#}");
    // It is where it was, with the work in it.
    let fix = format!(
        "test -f same.txt && git -c user.name=t -c user.email=t@t merge -q integration; echo both > same.txt && {COMMIT}"
    );
    let (_, messages) = ground.once(&fix);
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let (_, messages) = review(&ground, approve);
    assert_eq!(ground.state("coding.task/T-1"), "MERGED", "{messages}");
    assert_eq!(git(&ground, &["show", "integration:same.txt"]), "both");
}

/// S8: an agent that edits the main checkout does not submit, and the files are named.
#[test]
fn s8_a_run_that_touches_the_main_checkout_is_not_submitted() {
    let ground = RunGround::new("worktrees-s8", &["isolation=worktree"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo x > made.txt && {COMMIT}; echo y > ../../touched.txt"));
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{messages}");
    assert!(task["fields"]["blocked_reason"].as_str().unwrap().contains("touched.txt"), "{task:#}");
}

/// S8: a run whose folder is gone ends at once. The next one continues the branch.
#[test]
fn s8_a_worktree_that_vanished_ends_the_run() {
    let ground = RunGround::new("worktrees-vanished", &["isolation=worktree", "crash_delay=1s"]);
    ground.task("T-1");
    let mark = ground.server.root.join("vanished");
    let mark = mark.display();
    let script = format!(
        "if [ -e {mark} ]; then test -f first.txt && echo 2 > second.txt && {COMMIT}; \
         else echo 1 > first.txt && {COMMIT}; touch {mark}; rm -rf \"$PWD\"; sleep 600; fi"
    );
    let (code, messages) = ground.once(&script);
    assert_eq!(code, 0, "{messages}");
    assert!(messages.contains("its worktree is gone"), "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(git(&ground, &["log", "--format=%s", "integration..task/T-1"]), "work\nwork");
    assert_eq!(ground.runs().len(), 2, "{messages}");
}

/// S9: an unfit repository is blamed on the runner, and the task is free again.
#[test]
fn s9_an_unfit_repository_is_no_fault_of_the_task() {
    let ground = RunGround::new("worktrees-s9", &["isolation=worktree"]);
    ground.task("T-1");
    // A branch in the way of every `task/ID`.
    git(&ground, &["branch", "task"]);
    let (_, messages) = ground.once("exit 0");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "UNCLAIMED", "{messages}");
    assert_eq!(task["fields"]["failed_by"].as_array().map_or(0, Vec::len), 0, "{task:#}");
    assert!(ground.runs().is_empty(), "{messages}");
    // At once, and not when its lease ends.
    let history = ground.server.ask(&["history", "coding.task/T-1", "--json"]).json();
    let at = |to: &str| {
        let moves = history["items"].as_array().unwrap();
        let last = moves.iter().rfind(|it| it["to"] == to).unwrap_or_else(|| panic!("{history:#}"));
        Timestamp::parse(last["timestamp"].as_str().unwrap()).unwrap()
    };
    let held = at("UNCLAIMED").since(at("CLAIMED"));
    assert!(held < Span(60_000), "the lease lasts half an hour, and the task was held for {held:?}");
    let runners = ground.server.ask(&["list", "fleet.runner", "--json"]).json();
    assert!(runners["items"][0]["fields"]["unfit"].as_str().unwrap().contains("task"), "{runners:#}");
}
