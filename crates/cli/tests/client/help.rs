//! The help of every command.

use crate::program::{binary, run_command};

#[test]
fn misspelled_commands_get_a_suggestion() {
    for (args, says) in [
        (&["help", "fier"][..], "a similar subcommand exists: 'fire'"),
        (&["fier"], "a similar subcommand exists: 'fire'"),
        (&["up", "--packs", "misson", "--data", "/nowhere/at/all"], "Did you mean mission?"),
        (
            &["up", "--packs", "nope", "--data", "/nowhere/at/all"],
            "Built-in packs: build, coding, mission, research, turns",
        ),
    ] {
        run_command(binary(args)).says(2, &[says]);
    }
}

#[test]
fn help_matches_the_reviewed_snapshots() {
    for command in [
        "up",
        "demo",
        "init",
        "new",
        "fire",
        "claim",
        "heartbeat",
        "hook",
        "correct",
        "show",
        "list",
        "history",
        "explain",
        "changes",
        "watch",
        "mcp",
        "runs",
        "logs",
        "attach",
        "stop",
        "journal",
        "query",
        "lifecycles",
        "stats",
        "alerts",
        "approvals",
        "messages",
        "notifications",
        "violations",
        "whoami",
        "sign-in",
        "clock",
        "settings",
        "completions",
        "man",
    ] {
        insta::assert_snapshot!(format!("help-{command}"), run_command(binary(&[command, "--help"])).data);
    }
    for (group, command) in [
        ("token", "create"),
        ("token", "list"),
        ("token", "revoke"),
        ("audience", "list"),
        ("audience", "set"),
        ("delivery", "list"),
        ("delivery", "test"),
        ("webhook", "add"),
        ("webhook", "list"),
        ("webhook", "remove"),
        ("webhook", "deliveries"),
        ("webhook", "replay"),
        ("alerts", "acknowledge"),
        ("alerts", "resolve"),
        ("approvals", "approve"),
        ("approvals", "deny"),
        ("clock", "advance"),
        ("pack", "list"),
        ("pack", "add"),
        ("worktree", "list"),
        ("worktree", "restore"),
        ("worktree", "prune"),
        ("adapter", "list"),
        ("adapter", "check"),
    ] {
        let help = run_command(binary(&[group, command, "--help"])).data;
        insta::assert_snapshot!(format!("help-{group}-{command}"), help);
    }
}

#[test]
fn misspelled_words_get_the_nearest_word() {
    run_command(binary(&["shwo", "a.b/1"])).says(2, &["'show'"]);
    run_command(binary(&["list", "a.b", "--stat", "X"])).says(2, &["--state"]);
    run_command(binary(&["token", "create", "ada", "--kind", "robot"]))
        .says(2, &["human", "agent", "system"]);
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        run_command(binary(&["completions", shell])).says(0, &["trackside", "explain"]);
    }
    run_command(binary(&["man"])).says(0, &[".TH trackside 1", "explain"]);
    let folder = crate::ground::scratch("man");
    run_command(binary(&["man", "--output", folder.to_str().unwrap()])).says(0, &["man -l"]);
    for page in ["trackside.1", "trackside-fire.1", "trackside-token-create.1"] {
        assert!(folder.join(page).is_file(), "{page}");
    }
}
