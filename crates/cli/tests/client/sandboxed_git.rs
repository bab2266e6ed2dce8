//! Which git commands work in a sandboxed run, for both kinds of worktrees: the table of docs/operating/worktrees.md.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::runs::RunGround;

/// A name, a command, and whether it works in a worktree. In a clone, every one works.
const COMMANDS: [(&str, &str, bool); 18] = [
    ("add and commit", "echo 1 > a && git add a && git commit -q -m a", true),
    ("commit --amend", "git commit -q --amend -m b", true),
    (
        "checkout -b task/…",
        "git checkout -q -b task/side && echo 2 > b && git add b && git commit -q -m b && git checkout -q task/T-1",
        true,
    ),
    ("merge", "echo 3 > c && git add c && git commit -q -m c && git merge -q --no-edit task/side", true),
    ("rebase", "git rebase -q --force-rebase HEAD~1", true),
    ("reset", "git reset -q --hard HEAD~1", true),
    (
        "a detached HEAD",
        "git checkout -q --detach && git commit -q --allow-empty -m d && git checkout -q task/T-1",
        true,
    ),
    ("stash", "echo changed > a && git stash -q", false),
    ("clean up", "git checkout -q -f HEAD", true),
    ("tag", "git tag mine", false),
    ("a branch outside of task/", "git branch other", false),
    ("branch -D", "git branch -q -D task/side", false),
    ("pack-refs", "git pack-refs --all", false),
    ("gc", "git gc -q", false),
    ("config", "git config user.nick ada", false),
    ("update of the integration branch", "git update-ref refs/heads/integration HEAD", false),
    (
        "hooks",
        "mkdir -p \"$(git rev-parse --git-path hooks)\" && touch \"$(git rev-parse --git-path hooks)/post-commit\"",
        false,
    ),
    ("files of the main checkout", "! touch ../../touched 2> /dev/null", true),
];

fn git(ground: &RunGround, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(ground.checkout()).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What an agent must not change in the repository.
fn protected(ground: &RunGround) -> String {
    let refs = git(
        ground,
        &["for-each-ref", "refs/heads/integration", "refs/heads/other", "refs/tags", "refs/stash"],
    );
    let config = fs::read_to_string(ground.checkout().join(".git/config")).unwrap();
    let hook = ground.checkout().join(".git/hooks/post-commit").exists();
    format!("{refs}\n{config}\n{hook}")
}

#[test]
fn git_commands_fail_in_a_sandboxed_run_as_the_page_says() {
    if !trackside_shim::has_landlock() {
        return;
    }
    for kind in ["worktree", "clone"] {
        let ground = RunGround::new(&format!("sandboxed-git-{kind}"), &[&format!("isolation={kind}")]);
        git(&ground, &["branch", "integration"]);
        let before = protected(&ground);
        ground.task("T-1");
        let steps: String = COMMANDS
            .iter()
            .map(|(name, command, _)| format!("if ( {command} ) >> \"$log\" 2>&1; then echo '{name}: works'; else echo '{name}: fails'; fi >> results.txt\n"))
            .collect();
        let script = format!(
            "log=$PWD/log.txt\nexport GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t\n{steps}"
        );
        let args = ["work", "coding.task", "--once", "--sandbox", "on"];
        let output = ground.runner(&args, &script).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let place = ground.checkout().join(".worktrees/T-1");
        let read = |name: &str| fs::read_to_string(place.join(name)).unwrap_or_default();
        let (results, log) = (read("results.txt"), read("log.txt"));
        let found: BTreeMap<&str, &str> = results.lines().filter_map(|it| it.split_once(": ")).collect();
        for (name, _, works_in_worktree) in COMMANDS {
            let expected = if works_in_worktree || kind == "clone" { "works" } else { "fails" };
            assert_eq!(found.get(name), Some(&expected), "{kind}, {name}\n{results}\n{log}\n{messages}");
        }
        assert_eq!(protected(&ground), before, "{kind}\n{log}");
        assert!(!ground.checkout().join("touched").exists(), "{kind}");
        assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    }
}
