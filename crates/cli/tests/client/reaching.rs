//! Finding the server.

use std::path::Path;

use crate::ground::{ClientServer, LIGHT, scratch, small};
use crate::program::{CliOutput, binary, run_at_terminal, run_command};

#[test]
fn a_server_is_found_by_the_environment_a_folder_or_a_folder_above() {
    let mut ground = ClientServer::small("reaching");
    let read = |name: &str| std::fs::read_to_string(ground.root.join("data").join(name)).unwrap();
    let (address, token) = (read("address"), read("token"));
    // By the folder.
    ground.ask(&["whoami"]).says(0, &["owner (human), admin"]);
    // By the environment, from another folder.
    let mut command = binary(&["whoami"]);
    let url = format!("http://{}", address.trim());
    command.env("TRACKSIDE_URL", &url).env("TRACKSIDE_TOKEN", token.trim()).current_dir(scratch("elsewhere"));
    run_command(command).says(0, &["owner (human), admin"]);
    // The environment overrides the folder, and the output says so.
    let mut command = ground.command(&["whoami"]);
    command.env("TRACKSIDE_URL", "http://127.0.0.1:9").env("TRACKSIDE_TOKEN", "x");
    run_command(command)
        .says(3, &["takes precedence over --data", "cannot reach http://127.0.0.1:9", "TRACKSIDE_URL"]);
    // An address without a token is no way in, and the token of a folder is not sent to it.
    let mut command = ground.command(&["whoami"]);
    command.env("TRACKSIDE_URL", &url);
    run_command(command).says(4, &["TRACKSIDE_TOKEN is not"]);
    // From a folder below the one with `.trackside` in it.
    let home = scratch("above");
    std::fs::create_dir_all(home.join("a/b")).unwrap();
    std::fs::create_dir_all(home.join(".trackside")).unwrap();
    std::fs::write(home.join(".trackside/address"), &address).unwrap();
    std::fs::write(home.join(".trackside/token"), &token).unwrap();
    for below in ["", "a", "a/b"] {
        let mut command = binary(&["whoami"]);
        command.current_dir(home.join(below)).env("TRACKSIDE_TOKEN", token.trim());
        run_command(command).says(0, &["owner (human), admin"]);
        // A folder that was only found gives no token.
        let mut command = binary(&["whoami"]);
        command.current_dir(home.join(below));
        run_command(command)
            .says(4, &["TRACKSIDE_TOKEN is not set", "standard input of this command is no terminal"]);
    }
    // A token that is not good here.
    ground
        .ask_as("ts_000000000000_00", &["whoami"])
        .says(4, &["refused: unauthorized", "next: set TRACKSIDE_TOKEN"]);
    // No message asks a script or an agent to start a server: one that stopped, or that was killed and left its
    // address.
    ground.stop();
    for reason in ["no server is running", "cannot reach"] {
        for args in [&["whoami"][..], &["fire", "small.light/A", "switch_on"]] {
            let told = ground.ask(args);
            told.says(3, &[reason, "Ask the person who runs the server to start it"]);
            assert!(!told.messages.contains("trackside up"), "{told:?}");
        }
        std::fs::write(ground.root.join("data/address"), &address).unwrap();
    }
}

#[test]
fn without_a_server_the_message_names_the_next_step() {
    let empty = scratch("nothing");
    let mut command = binary(&["list", "mission.task"]);
    // Folders above those of the tests do not count.
    command.current_dir("/");
    run_command(command)
        .says(3, &["no .trackside in this folder or above it", "TRACKSIDE_URL", "TRACKSIDE_TOKEN"]);
    let data = empty.join("none");
    let data = data.to_str().unwrap();
    let mut command = binary(&["list", "mission.task", "--data", data]);
    command.env("TRACKSIDE_TOKEN", "x");
    run_command(command).says(3, &["no server is running", "Ask the person who runs the server"]);
}

/// The journal of a scenario, to make a project of, and its pack.
fn journal(root: &Path) -> (String, String) {
    // The lamp is not dusted, and the system clock has moved on.
    let (light, _) = LIGHT.split_once("  dusted:").unwrap();
    let pack = small(root, 1, light);
    let scenarios = "pack: small\nactors: { hank: { human: [] } }\nscenarios:\n  - scenario: One light\n    steps:\n      - { as: hank, create: small.light/A, with: { place: hall } }\n";
    let folder = Path::new(&pack).join("scenarios");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("light.yaml"), scenarios).unwrap();
    let file = root.join("journal.jsonl").to_str().unwrap().to_owned();
    run_command(binary(&["test", &pack, "--only", "One light", "--journal", &file])).says(0, &["1 passed"]);
    (file, pack)
}

/// All commands about a whole project that a server can answer.
const OF_A_PROJECT: [&[&str]; 9] = [
    &["validate"],
    &["audit", "verify"],
    &["export"],
    &["redact", "small.light/A", "--set", "place=[gone]", "--set", "watts:=40", "--reason", "it was secret"],
    &["backup"],
    &["archive", "--older-than", "30d"],
    &["migrate", "plan", "small.light", "--to", "1"],
    &["migrate", "apply", "small.light", "--to", "1"],
    &["migrate", "undo", "small.light", "--version", "1"],
];

/// Runs a command in a folder, with the environment naming this server.
fn run_at(args: &[&str], here: &Path, url: &str, token: &str) -> CliOutput {
    let mut command = binary(args);
    command.current_dir(here).env("TRACKSIDE_URL", url).env("TRACKSIDE_TOKEN", token);
    run_command(command)
}

#[test]
fn a_whole_project_is_found_like_its_entities_by_the_environment_first() {
    let ground = ClientServer::small("reaching-whole");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let read = |name: &str| std::fs::read_to_string(ground.root.join("data").join(name)).unwrap();
    let (url, token) = (format!("http://{}", read("address").trim()), read("token").trim().to_owned());
    // The current folder has another project, which must not be used.
    let home = scratch("reaching-home");
    let (journal, pack) = journal(&home);
    let mut made = binary(&["import", &journal, "--packs", &pack]);
    made.current_dir(&home);
    run_command(made).says(0, &[]);
    let before = std::fs::read(home.join(".trackside/journal.db")).unwrap();
    let meant = format!("Using the project of {url}");
    let copy = home.join("copy");
    for args in OF_A_PROJECT {
        let mut args = args.to_vec();
        if args == ["backup"] {
            args.push("copy");
        }
        let told = run_at(&args, &home, &url, &token);
        assert!(told.messages.contains(&meant), "{args:?}: {told:#?}");
        told.says(0, &[]);
    }
    assert_eq!(std::fs::read(home.join(".trackside/journal.db")).unwrap(), before);
    let of_server = ground.ask(&["audit", "verify", "--json"]).json();
    let copied = run_command(binary(&["audit", "verify", "--json", "--data", copy.to_str().unwrap()])).json();
    assert_eq!(copied["to"], of_server["to"], "the copy is of the server's project");
    // Commands that need the files of a folder say so, and accept a named folder.
    run_at(&["doctor"], &home, &url, &token).says(3, &["TRACKSIDE_URL names a server", "--data DIR"]);
    run_at(&["doctor", "--data", ".trackside"], &home, &url, &token).says(0, &["none: the folder is free"]);
    run_at(&["validate", "--deep"], &home, &url, &token).says(0, &[&meant, "compared with the journal"]);
    run_at(&["migrate", "plan", "small.light", "--to", "2", "--pack", &pack], &home, &url, &token)
        .says(3, &["TRACKSIDE_URL names a server", "without TRACKSIDE_URL"]);
    // An archive file is named as the server has it, not as if it were in a folder of ours.
    ground.ask(&["clock", "advance", "31d"]).says(0, &[]);
    let archived = run_at(&["archive", "--older-than", "1d", "--json"], &home, &url, &token).json();
    let path = archived["files"][0]["path"].as_str().unwrap();
    assert!(path.starts_with("archive/journal-"), "{archived:#}");
    assert!(ground.root.join("data").join(path).is_file() && !home.join(".trackside/archive").exists());
    // An unreachable server gives the same message as for every client.
    let gone = run_at(&["audit", "verify"], &home, "http://127.0.0.1:9", "x");
    gone.says(3, &["cannot reach http://127.0.0.1:9", "TRACKSIDE_URL"]);
}

#[test]
fn a_whole_project_is_found_from_a_folder_below() {
    let home = scratch("reaching-below");
    std::fs::create_dir_all(home.join("a/b")).unwrap();
    let (journal, pack) = journal(&home);
    // Some of them act as the owner, so a person types them.
    let below = |args: &[&str]| {
        let mut command = binary(args);
        command.current_dir(home.join("a/b"));
        run_at_terminal(&command)
    };
    std::fs::create_dir(home.join(".trackside")).unwrap();
    below(&["import", &journal, "--packs", &pack]).says(0, &["in ", ".trackside"]);
    assert!(home.join(".trackside/journal.db").is_file() && !home.join("a/b/.trackside").exists());
    let which = format!("Using the project in {}", home.join(".trackside").display());
    for args in [
        &["validate"][..],
        &["audit", "verify"],
        &["doctor"],
        &["export", "--to", "out.jsonl"],
        &["backup", "copy"],
        &["archive", "--older-than", "30d"],
        &["migrate", "plan", "small.light", "--to", "1"],
        &["migrate", "apply", "small.light", "--to", "1"],
        &["migrate", "undo", "small.light", "--version", "1"],
    ] {
        below(args).says(0, &[&which]);
    }
    assert!(!home.join("a/b/.trackside").exists(), "nothing was made beside it");
    below(&["import", "out.jsonl", "--dry-run"]).says(1, &[&which, "small.light/A exists already"]);
    let redact = ["redact", "small.light/A", "--set", "place=[gone]", "--set", "watts:=40", "--reason", "x"];
    below(&redact).says(0, &[&which]);
    // In the project's own folder, the output names no folder.
    let mut here = binary(&["audit", "verify"]);
    here.current_dir(&home);
    let here = run_command(here);
    assert!(here.says(0, &["intact"]).messages.is_empty(), "{here:#?}");
    let mut nowhere = binary(&["audit", "verify"]);
    nowhere.current_dir("/");
    run_command(nowhere).says(3, &["no .trackside in this folder or above it"]);
}

#[test]
fn a_running_server_performs_the_audit() {
    let ground = ClientServer::small("reaching-audit");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let end = ground.ask(&["audit", "verify", "--json"]).json();
    let known = format!("{}:{}", end["to"]["seq"], end["to"]["hash"].as_str().unwrap());
    ground.ask(&["audit", "verify", "--known", &known]).says(0, &["intact"]);
    let other = format!("1:{}", "0".repeat(64));
    ground
        .ask(&["audit", "verify", "--known", &other])
        .says(1, &["entry 1 does not match the hash noted for it", "recovery.md"]);
    // The server does the work: it refuses an agent's token.
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["audit", "verify"]).says(4, &["Only people may run the audit"]);
}
