//! The main checkout while agents work in worktrees of their own.

use std::process::Stdio;

use crate::runs::{RunGround, wait_for};
use crate::worktrees::COMMIT;

/// S8: an agent that submits its own work is checked, too. A person can have made the change, so the coder is not blamed.
#[test]
fn s8_a_change_of_the_main_checkout_blocks_the_task_and_blames_nobody() {
    let submit = "trackside fire \"$TRACKSIDE_ENTITY\" submit review_commit=$(git rev-parse HEAD)";
    for (name, end) in [("own", submit), ("runner", "true")] {
        let ground = RunGround::new(&format!("main-checkout-{name}"), &["isolation=worktree"]);
        ground.task("T-1");
        let script = format!("echo x > made.txt && {COMMIT}; echo y > ../../touched.txt; {end}");
        let (_, messages) = ground.once(&script);
        let task = ground.entity("coding.task/T-1");
        assert_eq!(task["state"], "BLOCKED", "{name}: {messages}");
        assert!(task["fields"]["blocked_reason"].as_str().unwrap().contains("touched.txt"), "{task:#}");
        assert_eq!(task["fields"]["failed_by"].as_array().map_or(0, Vec::len), 0, "{name}: {task:#}");
        assert_eq!(task["leases"].as_array().map_or(0, Vec::len), 0, "{name}: {task:#}");
    }
}

/// The sandbox keeps the agent out of the main checkout, so a change there is that of a person.
#[test]
fn a_person_changes_the_main_checkout_while_a_sandboxed_agent_works() {
    if !trackside_shim::has_landlock() {
        return;
    }
    let ground = RunGround::new("main-checkout-person", &["isolation=worktree"]);
    ground.task("T-1");
    let script = format!(
        "echo x > made.txt && {COMMIT}; touch begun.txt; while [ ! -e go.txt ]; do sleep 0.1; done; \
         echo y > ../../touched.txt; true"
    );
    let args = ["work", "coding.task", "--once", "--sandbox", "on"];
    let runner = ground.runner(&args, &script).stdout(Stdio::null()).spawn().unwrap();
    let worktree = ground.checkout().join(".worktrees/T-1");
    wait_for("the agent works", || worktree.join("begun.txt").exists().then_some(()));
    std::fs::write(ground.checkout().join("edited.txt"), "by a person").unwrap();
    std::fs::write(worktree.join("go.txt"), "").unwrap();
    let output = runner.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(!ground.checkout().join("touched.txt").exists(), "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
}
