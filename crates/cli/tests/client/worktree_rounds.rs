//! The rounds of a task: its reviews, its coders, its worktree between them and after the merge.

use crate::runs::{RunGround, wait_for};
use crate::worktrees::{COMMIT, git, review, worktree};

fn state_of_worktree(ground: &RunGround) -> String {
    let listed = ground.server.ask(&["list", "fleet.worktree", "--json"]).json();
    listed["items"][0]["state"].as_str().unwrap_or_default().to_owned()
}

/// A reviewer reads the change with the token of its run. In the second round it is told how to read what is new.
#[test]
fn a_reviewer_reads_the_change_and_what_is_new_since_the_last_review() {
    let ground = RunGround::new(
        "worktrees-rounds",
        &["isolation=worktree", r#"merge_checks:=[{"name":"files","command":"ls","timeout":"1m"}]"#],
    );
    ground.task("T-1");
    let root = ground.server.root.display().to_string();
    let (_, messages) = ground.once(&format!("echo one > a.txt && {COMMIT}"));
    let first = git(&ground, &["rev-parse", "task/T-1"]);
    let base = git(&ground, &["rev-parse", "integration"]);
    let reject = format!(
        "trackside changes \"$TRACKSIDE_ENTITY\" > {root}/first.txt && trackside fire \"$TRACKSIDE_ENTITY\" reject \
         rejection_reason=More findings:='[{{\"file\":\"a.txt\",\"line\":1,\"impact\":\"Too short\",\"fix\":\"Add a line\"}}]'"
    );
    let (_, review_messages) = review(&ground, &reject);
    assert_eq!(ground.state("coding.task/T-1"), "REJECTED", "{messages}\n{review_messages}");
    let read = |name: &str| std::fs::read_to_string(ground.server.root.join(name)).unwrap();
    assert!(read("first.txt").contains("+one"), "{}", read("first.txt"));

    let (_, messages) = ground.once(&format!("echo two >> a.txt && {COMMIT}"));
    let second = git(&ground, &["rev-parse", "task/T-1"]);
    let whole = ground.server.ask(&["changes", "coding.task/T-1"]);
    whole.says(0, &["+one", "+two"]);
    let between = ground.server.ask(&["changes", "coding.task/T-1", "--from", &first, "--to", &second]);
    assert!(!between.says(0, &["+two"]).data.contains("+one"), "{messages}");
    let approve = format!(
        "cp \"$TRACKSIDE_TASK_FILE\" {root}/task.json && trackside changes \"$TRACKSIDE_ENTITY\" --from {first} > {root}/second.txt && \
         trackside fire \"$TRACKSIDE_ENTITY\" approve"
    );
    let (_, messages) = review(&ground, &approve);
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "MERGED", "{messages}");
    assert!(read("second.txt").contains("+two") && !read("second.txt").contains("+one"));
    let command = format!("trackside changes coding.task/T-1 --from {first}");
    assert!(read("task.json").contains(&command), "{}", read("task.json"));
    // The output of the checks, and the commit to which an undo leads back.
    assert_eq!(task["fields"]["merge_before"], base.as_str(), "{task:#}");
    let output = task["fields"]["integration_output"].as_str().unwrap_or_else(|| panic!("{task:#}"));
    let stored = ground.server.root.join("data").join("artifacts");
    let found = std::process::Command::new("grep").args(["-rl", "a.txt"]).arg(stored).output().unwrap();
    assert!(String::from_utf8_lossy(&found.stdout).contains(output), "{output}");
}

/// A coder is gone for good. The next one starts in a fresh worktree, and the old work is in the trash.
#[test]
fn another_coder_gets_a_fresh_worktree_and_the_old_work_is_saved() {
    let settings = ["isolation=worktree", "lease_duration=10s", "lease_grace=1s", "heartbeat_interval=2s"];
    let ground = RunGround::new("worktrees-reassigned", &settings);
    ground.task("T-1");
    let half = ground.checkout().join(".worktrees/T-1/half.txt");
    let first = ground.spawn(&["work", "coding.task", "--as", "coder-1"], "echo half > half.txt; sleep 600");
    wait_for("the first coder works", || half.exists().then_some(()));
    drop(first);
    let script = format!(
        "git checkout -q -b person integration && echo moved > moved.txt && {COMMIT} && git branch -f integration && git checkout -q -"
    );
    let moved =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(ground.checkout()).status();
    assert!(moved.unwrap().success());
    let tip = git(&ground, &["rev-parse", "integration"]);
    wait_for("the claim is lost", || {
        let task = ground.entity("coding.task/T-1");
        task["leases"].as_array().is_none_or(Vec::is_empty).then_some(())
    });
    let script = format!("test ! -e half.txt && test -f moved.txt && echo whole > whole.txt && {COMMIT}");
    let args = ["work", "coding.task", "--once", "--as", "coder-2"];
    let output = ground.runner(&args, &script).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "READY_FOR_REVIEW", "{messages}");
    assert_eq!(
        (&task["fields"]["assigned_to"], &task["fields"]["base_commit"]),
        (&"coder-2".into(), &tip.as_str().into())
    );
    let listed = worktree(&ground, &["list", "--json"]).json();
    let saved = listed["saved"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed:#}\n{messages}"));
    assert_eq!(git(&ground, &["show", &format!("refs/trackside/trash/{saved}:half.txt")]), "half");
}

/// Nobody works in the worktree, and a runner finds that it is gone.
#[test]
fn a_worktree_that_is_gone_is_found_while_its_task_waits() {
    let ground = RunGround::new("worktrees-gone", &["isolation=worktree"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo 1 > first.txt && {COMMIT}"));
    let (_, more) = review(&ground, "trackside fire \"$TRACKSIDE_ENTITY\" reject rejection_reason=Again");
    assert_eq!(ground.state("coding.task/T-1"), "REJECTED", "{messages}\n{more}");
    let idle =
        ground.spawn(&["work", "coding.task", "--role", "code_reviewer", "--as", "code-reviewer-1"], "true");
    std::fs::remove_dir_all(ground.checkout().join(".worktrees/T-1")).unwrap();
    wait_for("the runner reports it", || {
        let alerts = ground.server.ask(&["alerts", "--json"]).json();
        alerts["items"].as_array()?.iter().find(|it| it["kind"] == "worktree_vanished").map(|_| ())
    });
    drop(idle);
    assert_eq!(ground.entity("coding.task/T-1")["fields"]["worktree_state"], "vanished");
    let (_, messages) = ground.once(&format!("test -f first.txt && echo 2 > second.txt && {COMMIT}"));
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(git(&ground, &["log", "--format=%s", "integration..task/T-1"]), "work\nwork");
}

/// The worktree of a merged task could not be removed. It counts as removed only when it is.
#[test]
fn a_worktree_that_stayed_after_the_merge_is_removed_later() {
    let ground = RunGround::new("worktrees-stayed", &["isolation=worktree"]);
    ground.task("T-1");
    let (_, messages) = ground.once(&format!("echo 1 > made.txt && {COMMIT}; echo open > open.txt"));
    // In the way of the removal.
    let kept = ground.checkout().join(".worktrees/.kept");
    std::fs::write(&kept, "").unwrap();
    let (_, more) = review(&ground, "trackside fire \"$TRACKSIDE_ENTITY\" approve");
    assert_eq!(ground.state("coding.task/T-1"), "MERGED", "{messages}\n{more}");
    let place = ground.checkout().join(".worktrees/T-1");
    assert!(more.contains("was not removed") && place.exists(), "{more}");
    assert_eq!(state_of_worktree(&ground), "READY", "{more}");
    std::fs::remove_file(&kept).unwrap();
    let _idle =
        ground.spawn(&["work", "coding.task", "--role", "code_reviewer", "--as", "code-reviewer-1"], "true");
    wait_for("the worktree is removed", || (state_of_worktree(&ground) == "REMOVED").then_some(()));
    assert!(!place.exists());
    let saved = worktree(&ground, &["list", "--json"]).json();
    let saved = saved["saved"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(git(&ground, &["show", &format!("refs/trackside/trash/{saved}:open.txt")]), "open");
}

/// S10: an agent at work learns that other work was merged.
#[test]
fn s10_a_live_agent_is_told_that_its_base_moved() {
    let ground = RunGround::new("worktrees-base", &["isolation=worktree"]);
    ground.task("T-1");
    let worktree = ground.checkout().join(".worktrees/T-1");
    let script = format!("touch begun.txt; while [ ! -e go.txt ]; do sleep 0.1; done; {COMMIT}");
    let _runner = ground.spawn(&["work", "coding.task", "--once"], &script);
    wait_for("the agent works", || worktree.join("begun.txt").exists().then_some(()));
    let run = wait_for("its run is known", || Some(ground.runs().first()?["id"].as_str()?.to_owned()));
    let tree = git(&ground, &["rev-parse", "integration^{tree}"]);
    let author = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let moved =
        git(&ground, &[&author[..], &["commit-tree", "-p", "integration", "-m", "other", &tree]].concat());
    git(&ground, &["update-ref", "refs/heads/integration", &moved]);
    let news = format!("integration has moved to {}", &moved[..12]);
    wait_for("the agent is told", || ground.server.ask(&["logs", &run]).data.contains(&news).then_some(()));
    std::fs::write(worktree.join("go.txt"), "").unwrap();
    wait_for("it submits", || (ground.state("coding.task/T-1") == "READY_FOR_REVIEW").then_some(()));
    assert_eq!(ground.server.ask(&["logs", &run]).data.matches("has moved to").count(), 1);
}
