//! Who a command acts as, and where tokens are sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::ground::{ClientServer, scratch};
use crate::program::{CliOutput, binary, isolate, run_at_terminal, run_command};
use crate::terminal::{Terminal, TerminalOutput, TypedCommands};

/// Every command that asks a server, while one uses the project's folder.
const ASKING: &[&[&str]] = &[
    &["new", "mission.task", "title=x"],
    &["fire", "mission.task/T-1", "assign"],
    &["claim", "mission.task"],
    &["heartbeat", "mission.task/T-1"],
    &["work", "mission.task", "--agent", "claude"],
    &["runs"],
    &["logs", "R-1"],
    &["attach", "R-1"],
    &["stop", "R-1"],
    &["supervise", "--role", "coder", "--id", "coder-1", "--agent", "claude"],
    &["correct", "mission.task/T-1", "--to", "CANCELED", "--reason", "x"],
    &["show", "mission.task/T-1"],
    &["list", "mission.task"],
    &["history", "mission.task/T-1"],
    &["explain", "mission.task/T-1"],
    &["changes", "mission.task/T-1"],
    &["watch"],
    &["journal"],
    &["query", "mission"],
    &["lifecycles"],
    &["stats", "mission.task"],
    &["inbox"],
    &["inbox", "approve", "1"],
    &["inbox", "deny", "1"],
    &["inbox", "ack", "1"],
    &["approvals"],
    &["messages", "mission.task/T-1"],
    &["notifications"],
    &["alerts"],
    &["alerts", "acknowledge", "1"],
    &["alerts", "resolve", "1"],
    &["violations"],
    &["whoami"],
    &["token", "create", "eve", "--kind", "human", "--role", "admin"],
    &["token", "list"],
    &["token", "revoke", "x"],
    &["token", "rotate"],
    &["webhook", "add", "https://example.com/"],
    &["webhook", "list"],
    &["audience", "list"],
    &["delivery", "list"],
    &["delivery", "test", "x"],
    &["sign-in"],
    &["clock"],
    &["clock", "advance", "1h"],
    &["clock", "accept"],
    &["clock", "reset"],
    &["pack", "list"],
    &["settings"],
    &["settings", "mission", "maxReviewCycles:=5"],
    &["audit", "verify"],
    &["audit", "sign-ins"],
    &["audit", "export", "mission.task/T-1", "--to", "e.jsonl"],
    &["validate"],
    &["export"],
    &["backup", "copy"],
    &["archive", "--older-than", "30d"],
    &["redact", "mission.task/T-1", "--set", "title=x", "--reason", "x"],
    &["migrate", "plan", "mission.task", "--to", "1"],
    &["migrate", "apply", "mission.task", "--to", "1"],
    &["migrate", "undo", "mission.task", "--version", "1"],
    &["list"],
    &["wait", "mission.task/T-1", "--timeout", "1s"],
    &["claim", "mission.task", "--wait", "1s"],
    &["effects", "list"],
    &["effects", "take"],
    &["effects", "answer", "1", "--fence", "1"],
    &["artifact", "put", "file"],
    &[
        "artifact",
        "get",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "--to",
        "copy.md",
    ],
    &["batch", "file"],
    &["policy", "shell", "command=ls"],
    &["approvals", "list"],
    &["alerts", "list"],
];

/// Commands that ask no server, start one, or have tests of their own: `hook` and `mcp` never act as the owner.
const OTHERS: &[&str] = &[
    "up",
    "demo",
    "init",
    "hook",
    "mcp",
    "completions",
    "man",
    "test",
    "bench",
    "check",
    "diagram",
    "diff",
    "explore",
    "fmt",
    "restore",
    "doctor",
    "import",
    "schema",
    "worktree",
    "adapter",
    "reference",
    "version",
    "help",
];

fn run_in(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> CliOutput {
    let mut command = binary(args);
    command.current_dir(folder).envs(environment.iter().copied());
    run_command(command)
}

fn end_of_journal(ground: &ClientServer) -> u64 {
    ground.ask(&["audit", "verify", "--json"]).json()["to"]["seq"].as_u64().unwrap()
}

#[test]
fn without_a_token_no_command_acts_as_the_owner() {
    let ground = ClientServer::start_in(scratch("tokenless"), ".trackside", "mission");
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=x"]).says(0, &[]);
    let before = end_of_journal(&ground);
    for args in ASKING {
        for environment in [&[][..], &[("CLAUDECODE", "1")]] {
            let told = run_in(&ground.root, args, environment);
            assert_eq!(told.code, 4, "{args:?}: {told:?}");
            told.says(4, &["TRACKSIDE_TOKEN is not set", "TRACKSIDE_URL", "trackside token create"]);
            assert!(!told.messages.contains("trackside up"), "{args:?}: {told:?}");
            assert_eq!(told.data, "", "{args:?}");
        }
    }
    assert_eq!(end_of_journal(&ground), before);
    // The table has every command.
    let help = run_command(binary(&["--help"])).data;
    let (_, help) = help.split_once("Usage:").unwrap();
    let known = |name: &str| OTHERS.contains(&name) || ASKING.iter().any(|it| it[0] == name);
    let listed =
        help.lines().filter_map(|it| it.strip_prefix("  ")).filter_map(|it| it.split_whitespace().next());
    let commands: Vec<&str> = listed.filter(|it| it.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    assert!(commands.len() > 40, "{help}");
    for name in commands {
        assert!(known(name), "{name} is in neither table");
    }
}

/// Commands that act as the owner on a folder without a server.
const AS_OWNER: &[&[&str]] = &[
    &["redact", "mission.task/T-1", "--set", "title=x", "--reason", "x"],
    &["redact", "mission.task/T-1", "--set", "title=x", "--reason", "x", "--dry-run"],
    &["migrate", "plan", "mission.task", "--to", "1"],
    &["migrate", "apply", "mission.task", "--to", "1"],
    &["migrate", "undo", "mission.task", "--version", "1"],
    &["archive", "--older-than", "30d"],
    &["import", "all.jsonl"],
    &["import", "all.jsonl", "--dry-run"],
    &["import", "PLAN.md", "--from", "plan", "--into", "mission.task"],
    &["import", "PLAN.md", "--from", "plan", "--into", "mission.task", "--dry-run"],
];

/// Commands that read a folder without a server, or check and repair it as the engine. They act as no person.
const AS_NO_PERSON: &[&[&str]] = &[
    &["audit", "verify"],
    &["validate"],
    &["export"],
    &["backup", "copy"],
    &["doctor"],
    &["doctor", "--rebuild"],
];

/// The actors of all entries in the journal of a folder without a server, each with how it was authenticated.
fn actors_of(root: &Path) -> Vec<String> {
    let journal = run_in(root, &["export"], &[]).data;
    let read = |it: &str| serde_json::from_str::<serde_json::Value>(it).unwrap();
    let headers = journal.lines().filter_map(|it| Some(read(read(it)["record"]["header"].as_str()?)));
    headers.map(|it| format!("{} {} {}", it["actor"], it["actor_kind"], it["via"]).replace('"', "")).collect()
}

#[test]
fn only_a_person_at_a_terminal_is_the_owner_of_a_folder_without_a_server() {
    let mut ground = ClientServer::start_in(scratch("tokenless-offline"), ".trackside", "mission");
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=x"]).says(0, &[]);
    ground.ask(&["export", "--to", "all.jsonl"]).says(0, &[]);
    let owners = ground.owner();
    ground.stop();
    std::fs::write(ground.root.join("PLAN.md"), "- [ ] One\n").unwrap();
    let before = actors_of(&ground.root);
    assert!(before.iter().any(|it| it == "owner human token"), "{before:?}");
    // The owner's token in the folder and in the environment, an agent's variables, another home: nothing helps.
    let home = scratch("tokenless-home");
    let home = home.to_str().unwrap();
    let environments: [&[(&str, &str)]; 6] = [
        &[("TRACKSIDE_TOKEN", " ")],
        &[],
        &[("CLAUDECODE", "1")],
        &[("TRACKSIDE_TOKEN", &owners)],
        &[("HOME", home), ("XDG_STATE_HOME", home)],
        &[("USER", "owner"), ("LOGNAME", "owner"), ("SSH_TTY", "/dev/pts/0"), ("TERM", "xterm")],
    ];
    for args in AS_OWNER {
        let more = if args[0] == "redact" { &["--data", ".trackside"][..] } else { &[] };
        for environment in environments {
            let told = run_in(&ground.root, &[args, more].concat(), environment);
            told.says(4, &["acts as the owner, which only a person at a terminal may do", "Ask the owner"]);
            assert!(!told.messages.contains("trackside up") && told.data.is_empty(), "{told:?}");
        }
        // A terminal alone is no person.
        for (name, value) in [("CODEX_THREAD_ID", "1"), ("TRACKSIDE_TOKEN", &owners)] {
            let mut command = binary(args);
            command.current_dir(&ground.root).env(name, value);
            run_at_terminal(&command).says(4, &[&format!("{name} is set")]);
        }
    }
    // Every other command needs a server, or acts as no person.
    for args in ASKING {
        let told = run_in(&ground.root, args, &[]);
        let is_free = AS_NO_PERSON.iter().any(|it| it[0] == args[0]);
        assert!(is_free || matches!(told.code, 3 | 4), "{args:?}: {told:?}");
    }
    for args in AS_NO_PERSON {
        let _ = std::fs::remove_dir_all(ground.root.join("copy"));
        run_in(&ground.root, args, &[("CLAUDECODE", "1")]).says(0, &[]);
    }
    let people = |all: &[String]| all.iter().filter(|it| it.contains(" human ")).cloned().collect::<Vec<_>>();
    assert_eq!(people(&actors_of(&ground.root)), people(&before));
    // At a terminal, the owner has one name in every environment.
    let mut redact = binary(AS_OWNER[0]);
    redact.current_dir(&ground.root).env("USER", "mallory").env("LOGNAME", "mallory");
    run_at_terminal(&redact).says(0, &["recorded as entry"]);
    assert_eq!(people(&actors_of(&ground.root)).last().unwrap(), "owner human terminal");
}

/// Starts a server that ends by itself, and returns what it says.
fn started(root: &Path, more: &[&str], environment: &[(&str, &str)]) -> String {
    let mut up = Command::new("timeout");
    up.args(["--signal", "TERM", "120", env!("CARGO_BIN_EXE_trackside"), "up", "--listen", "127.0.0.1:0"]);
    up.args(["--clock", "manual", "--packs", "mission"]).args(more).stdin(Stdio::null()).current_dir(root);
    isolate(&mut up);
    up.envs(environment.iter().copied());
    let log = root.join("started.log");
    let mut up = up.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    loop {
        let text = std::fs::read_to_string(&log).unwrap();
        match up.try_wait().unwrap() {
            Some(_) => return text,
            None if text.contains("stop       Ctrl-C") || text.contains("\"url\"") => {
                let ended = Command::new("kill").arg(up.id().to_string()).status().unwrap();
                assert!(ended.success() && up.wait().is_ok());
                return text;
            }
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

#[test]
fn who_starts_a_server_of_an_existing_project_is_not_its_owner_by_that() {
    let mut ground = ClientServer::start_in(scratch("not-the-owner"), ".trackside", "mission");
    ground.stop();
    let token = ground.root.join(".trackside/token");
    let kept = std::fs::read_to_string(&token).unwrap();
    std::fs::remove_file(&token).unwrap();
    let home = scratch("not-the-owner-home");
    let elsewhere = [("HOME", home.to_str().unwrap()), ("XDG_STATE_HOME", home.to_str().unwrap())];
    let files = || std::fs::read_dir(home.join("trackside/servers")).map_or(0, Iterator::count);
    // Another home, and a token file: no new credential of the owner.
    let log = started(&ground.root, &[], &elsewhere);
    assert!(
        log.contains("commands of this user cannot act as the owner") && !log.contains("owner   "),
        "{log}"
    );
    let log = started(&ground.root, &["--log", "json"], &elsewhere);
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    assert!(log.contains("commands of this user cannot act as the owner"), "{log}");
    for environment in [&[][..], &[("CLAUDECODE", "1")], &elsewhere] {
        let log = started(&ground.root, &["--token-file", "stolen"], environment);
        assert!(log.contains("up --token-file acts as the owner"), "{log}");
    }
    assert!(!ground.root.join("stolen").exists() && files() == 0);
    // A copy of the folder is another project: its credential is worth nothing for this one.
    let copied = Command::new("cp").args(["-r", ".trackside", "copy"]).current_dir(&ground.root).status();
    assert!(copied.unwrap().success());
    assert!(!started(&ground.root, &["--data", "copy"], &elsewhere).contains("owner   "));
    // The usual state directory has the credential, and a token file of the owner is one.
    assert!(started(&ground.root, &[], &[]).contains("owner   "));
    std::fs::write(&token, kept).unwrap();
    let log = started(&ground.root, &["--token-file", ".trackside/token"], &elsewhere);
    assert!(log.contains("owner   ") && files() == 1, "{log}");
}

#[test]
fn nobody_becomes_the_owner_because_the_tokens_of_the_people_have_ended() {
    let mut ground = ClientServer::start_in(scratch("expired-owner"), ".trackside", "mission");
    let listed = ground.ask(&["token", "list", "--json"]).json();
    let own = ground.ask(&["whoami", "--json"]).json();
    let mut ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
    // The token of this test ends last.
    ids.sort_by_key(|it| own["token"] == *it);
    for id in ids {
        ground.ask(&["token", "revoke", id]).says(0, &[]);
    }
    ground.stop();
    std::fs::remove_file(ground.root.join(".trackside/token")).unwrap();
    let log = started(&ground.root, &["--token-file", "stolen"], &[]);
    assert!(log.contains("up --token-file acts as the owner"), "{log}");
    assert!(!ground.root.join("stolen").exists());
    assert!(started(&ground.root, &[], &[]).contains("commands of this user cannot act as the owner"));
}

#[test]
fn no_option_of_the_server_decides_who_the_owner_is() {
    let root = scratch("sign-in-options");
    let people = |name: &str| {
        let file = root.join(format!("{name}.yaml"));
        std::fs::write(&file, format!("people:\n  {name}: {{ id: owner, roles: [admin] }}\n")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (ada, eve) = (people("ada"), people("eve"));
    let behind = |people: &'static str| -> Vec<&'static str> {
        vec!["--trust-proxy", "127.0.0.1", "--proxy-user-header", "x-user", "--people", people]
    };
    let (ada, eve) = (behind(ada.leak()), behind(eve.leak()));
    let oidc = ["--oidc-issuer", "http://127.0.0.1:9", "--oidc-client-id", "t", "--people", ada[5]];
    // The process that starts a new project chooses them, and starts it again with them.
    let with_token: Vec<&str> = ada.iter().copied().chain(["--token-file", "owner"]).collect();
    assert!(started(&root, &with_token, &[]).contains("stop       Ctrl-C"));
    assert!(started(&root, &ada, &[("CLAUDECODE", "1")]).contains("stop       Ctrl-C"));
    // Others need the owner.
    let kept = std::fs::read_to_string(root.join(".trackside/sign-in.json")).unwrap();
    let refused = |options: &[&str], environment: &[(&str, &str)]| {
        let log = started(&root, options, environment);
        assert!(log.contains("decide who acts as the owner") && !log.contains("Ctrl-C"), "{log}");
        assert!(!log.contains("trackside up"), "{log}");
    };
    for environment in [&[][..], &[("CLAUDECODE", "1")], &[("TRACKSIDE_TOKEN", "ts_00_a")]] {
        refused(&eve, environment);
    }
    refused(&oidc, &[]);
    assert_eq!(std::fs::read_to_string(root.join(".trackside/sign-in.json")).unwrap(), kept);
    let token = std::fs::read_to_string(root.join("owner")).unwrap();
    assert!(started(&root, &eve, &[("TRACKSIDE_TOKEN", token.trim())]).contains("stop       Ctrl-C"));
    assert!(started(&root, &ada, &[]).contains("decide who acts as the owner"));
    assert!(started(&root, &[], &[]).contains("stop       Ctrl-C"), "sign-in with links needs no option");
}

/// Runs commands in a shell on a pseudo-terminal.
fn typed(terminal: &Terminal, commands: &[&str]) -> Vec<TerminalOutput> {
    terminal.run(&commands.iter().map(|it| TypedCommands::new(*it)).collect::<Vec<_>>())
}

const UP: &str =
    "trackside up --packs mission 2>up.log & until [ -s .trackside/address ]; do sleep 0.1; done";

#[test]
fn a_person_at_a_terminal_acts_as_the_owner() {
    let terminal = Terminal::new(&scratch("owner-terminal"));
    let seen = typed(
        &terminal,
        &[
            UP,
            "trackside whoami",
            "trackside new mission.task --id T-1 title=x",
            "trackside history mission.task/T-1 | cat",
            "trackside list mission.task > list.txt && cat list.txt",
            "for name in CLAUDECODE CODEX_THREAD_ID CURSOR_AGENT GEMINI_CLI JUNIE_DATA OPENCODE_CLIENT TRACKSIDE_RUN; do env $name=1 trackside whoami; echo \"$name $?\"; done; for role in agent-exec user; do env CURSOR_EXTENSION_HOST_ROLE=$role trackside whoami; echo \"$role $?\"; done",
            "trackside whoami </dev/null",
            "trackside whoami 2>/dev/null",
            "trackside --help | head -1; echo '{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | trackside hook",
            "find .trackside ~/.local/state/trackside -name 'token' -o -name '*.json' -path '*servers*' -printf '%m %p\\n' -o -name servers -printf '%m %p\\n'",
            "git init --quiet && git add -A && git ls-files",
            "cat up.log",
            "for home in HOME XDG_STATE_HOME; do env $home=$PWD/elsewhere trackside whoami; echo \"code $?\"; done",
            "cd ~/.local/state && git init --quiet . && git add -A && git ls-files | wc -l; cd - >/dev/null",
            "TRACKSIDE_TOKEN=' ' trackside whoami",
            "TRACKSIDE_TOKEN=$(printf '\\377') trackside whoami",
        ],
    );
    assert_eq!(seen[1].code, 0, "{seen:?}");
    assert!(seen[1].output.contains("owner (human), admin"), "{}", seen[1].output);
    assert_eq!(seen[2].code, 0, "{seen:?}");
    assert!(seen[3].output.contains("by owner (human, terminal)"), "{}", seen[3].output);
    assert!(seen[4].output.contains("T-1"), "{}", seen[4].output);
    let output = &seen[5].output;
    for name in [
        "CLAUDECODE",
        "CODEX_THREAD_ID",
        "CURSOR_AGENT",
        "GEMINI_CLI",
        "JUNIE_DATA",
        "OPENCODE_CLIENT",
        "TRACKSIDE_RUN",
    ] {
        assert!(
            output.contains(&format!("{name} 4")) && output.contains(&format!("{name} is set")),
            "{output}"
        );
    }
    // An editor sets this variable in terminals of people, too: only one value is an agent's.
    assert!(output.contains("agent-exec 4") && output.contains("user 0"), "{output}");
    assert_eq!((seen[6].code, seen[7].code), (4, 4));
    assert!(seen[6].output.contains("standard input of this command is no terminal"), "{}", seen[6].output);
    // The hook never uses the owner's credential, not even at a terminal.
    assert_eq!(seen[8].code, 2, "{}", seen[8].output);
    assert!(seen[8].output.contains("TRACKSIDE_TOKEN is not set"), "{}", seen[8].output);
    let files = &seen[9].output;
    assert!(files.contains("600 ") && files.contains("700 ") && !files.contains("/token"), "{files}");
    let staged = &seen[10].output;
    assert!(!staged.contains("key") && !staged.contains("token") && !staged.contains(".db"), "{staged}");
    assert!(seen[11].output.contains("owner      ~/.local/state/trackside/servers/"), "{}", seen[11].output);
    assert!(!seen[11].output.contains("link="), "the log is no terminal: {}", seen[11].output);
    let elsewhere = &seen[12].output;
    assert_eq!(elsewhere.matches("a server that you have not started").count(), 2, "{elsewhere}");
    assert_eq!(elsewhere.matches("code 4").count(), 2, "{elsewhere}");
    assert_eq!(seen[13].output.trim(), "0", "the state directory may be in a repository: {:?}", seen[13]);
    // A token that cannot be used is not replaced by the owner's credential.
    for unusable in &seen[14..] {
        assert_eq!(unusable.code, 4, "{unusable:?}");
        assert!(unusable.output.contains("TRACKSIDE_TOKEN is set, but"), "{unusable:?}");
    }
}

#[test]
fn no_message_to_an_agent_names_a_command_that_starts_a_server() {
    let folder = scratch("no-start");
    for args in [&["init", "."][..], &["pack", "add", "mission"], &["whoami"], &["validate"], &["doctor"]] {
        for environment in [&[][..], &[("TRACKSIDE_TOKEN", "ts_00_a")]] {
            let told = run_in(&folder, args, environment);
            assert!(!told.messages.contains("trackside up"), "{args:?}: {told:?}");
        }
    }
    let demo = run_in(&folder, &["demo", "packs", "--once", "--pace", "0", "--data", "demo"], &[]);
    assert_eq!(demo.code, 0, "{demo:?}");
    assert!(!demo.data.contains("trackside up"), "{demo:?}");
}

#[test]
fn only_the_owner_at_a_terminal_reads_how_to_start_a_server() {
    let terminal = Terminal::new(&scratch("start-hint"));
    let seen = typed(&terminal, &["trackside whoami", "TRACKSIDE_TOKEN=ts_00_a trackside whoami"]);
    assert!(seen[0].output.contains("trackside up"), "{}", seen[0].output);
    assert!(!seen[1].output.contains("trackside up"), "{}", seen[1].output);
    assert_eq!((seen[0].code, seen[1].code), (3, 3));
}

/// A listener that records what it receives and answers nothing useful.
fn recorder(place: &str) -> (String, Arc<Mutex<Vec<u8>>>) {
    let (listener, heard) = (TcpListener::bind(place).unwrap(), Arc::new(Mutex::new(Vec::new())));
    let (address, into) = (listener.local_addr().unwrap().to_string(), heard.clone());
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut bytes = [0; 65_536];
            if let Ok(count) = client.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
        }
    });
    (address, heard)
}

/// A folder as a repository may contain it: it names an address.
fn hostile_folder(name: &str, address: &str) -> PathBuf {
    let root = scratch(name);
    std::fs::create_dir(root.join(".trackside")).unwrap();
    std::fs::write(root.join(".trackside/address"), address).unwrap();
    root
}

#[test]
fn a_folder_of_a_cloned_repository_gets_no_token() {
    let ground = ClientServer::start_in(scratch("cloned-real"), ".trackside", "mission");
    let token = ground.token("ada", "agent", &[]);
    let old = format!("ts_0123456789ab_{}", "0".repeat(64));
    let (address, heard) = recorder("127.0.0.1:0");
    let root = hostile_folder("cloned", &address);
    for args in [&["whoami"][..], &["list", "mission.task"], &["whoami", "--data", ".trackside"]] {
        for token in [token.as_str(), &old, &ground.owner()] {
            let told = run_in(&root, args, &[("TRACKSIDE_TOKEN", token)]);
            told.says(4, &["does not prove its identity", "No token was sent"]);
        }
    }
    // A person with a credential of the owner for another server.
    let terminal = Terminal::new(&scratch("cloned-person"));
    let clone = format!("mkdir -p clone/.trackside && echo {address} >clone/.trackside/address && cd clone");
    let seen = typed(&terminal, &[UP, "trackside whoami", &clone, "trackside whoami"]);
    assert_eq!((seen[1].code, seen[3].code), (0, 4), "{seen:?}");
    let heard = String::from_utf8_lossy(&heard.lock().unwrap().clone()).to_lowercase();
    assert!(heard.contains("/v1/identity?nonce="), "the recorder was asked: {heard}");
    assert!(!heard.contains("authorization") && !heard.contains("ts_"), "{heard}");
}

#[test]
fn a_folder_that_names_another_project_is_not_followed() {
    let terminal = Terminal::new(&scratch("other-project"));
    let other = "mkdir -p clone/.trackside && cp .trackside/address clone/.trackside/ && cd clone";
    let link = "cd ../.. && mkdir linked && ln -s ../project/.trackside linked/ && cd linked";
    let seen = typed(
        &terminal,
        &[
            UP,
            other,
            "trackside whoami",
            "trackside whoami --data ../.trackside",
            link,
            "trackside whoami",
            "trackside audit verify",
        ],
    );
    assert_eq!((seen[2].code, seen[3].code), (4, 0), "{seen:?}");
    assert!(seen[2].output.contains("the server of another project"), "{}", seen[2].output);
    // A link leads to a project of the same person, and the command says which.
    assert_eq!((seen[5].code, seen[6].code), (0, 0), "{seen:?}");
    for it in &seen[5..] {
        assert!(
            it.output.contains("Using the project in /") && it.output.contains("project/.trackside."),
            "{it:?}"
        );
    }
}

/// Forwards connections to a server, with all that they contain.
fn relay_to(server: String) -> (String, Arc<Mutex<Vec<u8>>>) {
    let (listener, heard) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(Mutex::new(Vec::new())));
    let (address, into) = (listener.local_addr().unwrap().to_string(), heard.clone());
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut to_server = TcpStream::connect(&server).unwrap();
            let (mut back, mut forth) = (to_server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
            let into = into.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(count @ 1..) = client.read(&mut bytes) {
                    into.lock().unwrap().extend_from_slice(&bytes[..count]);
                    if to_server.write_all(&bytes[..count]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, heard)
}

#[test]
fn a_relay_gets_no_token() {
    let ground = ClientServer::start_in(scratch("relayed"), ".trackside", "mission");
    let token = ground.token("ada", "agent", &[]);
    let (address, heard) = relay_to(ground.url().trim_start_matches("http://").to_owned());
    let root = hostile_folder("relay", &address);
    run_in(&root, &["whoami"], &[("TRACKSIDE_TOKEN", &token)])
        .says(4, &["passes requests on to a server at another address", "No token was sent"]);
    assert!(!String::from_utf8_lossy(&heard.lock().unwrap().clone()).contains("ts_"));
    // A proxy that the user names is the user's choice.
    let url = format!("http://{address}");
    run_in(&root, &["whoami"], &[("TRACKSIDE_TOKEN", &token), ("TRACKSIDE_URL", &url)]).says(0, &["ada"]);
}

#[test]
fn a_proxy_of_the_environment_gets_no_token() {
    let ground = ClientServer::start_in(scratch("proxied"), ".trackside", "mission");
    let token = ground.token("ada", "agent", &[]);
    let (proxy, heard) = relay_to(ground.url().trim_start_matches("http://").to_owned());
    let proxy = format!("http://{proxy}");
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let proxies = names.map(|it| (it, proxy.as_str()));
    let url = ground.url();
    for more in [&[][..], &[("TRACKSIDE_URL", url.as_str())]] {
        let environment = [&proxies[..], &[("TRACKSIDE_TOKEN", &token)], more].concat();
        run_in(&ground.root, &["whoami"], &environment).says(0, &["ada"]);
    }
    assert!(heard.lock().unwrap().is_empty(), "the server is called directly");
}

#[test]
fn a_program_that_takes_the_port_gets_no_token() {
    let mut ground = ClientServer::start_in(scratch("port-taken"), ".trackside", "mission");
    let ada = ground.token("ada", "agent", &[]);
    let address = ground.url().trim_start_matches("http://").to_owned();
    let mut bridge = binary(&["mcp"]);
    bridge.current_dir(&ground.root).env("TRACKSIDE_TOKEN", &ada);
    let mut bridge = bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(bridge.stdout.take().unwrap()).lines();
    let mut input = bridge.stdin.take().unwrap();
    let mut ping = || {
        writeln!(input, "{}", serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).unwrap();
        answers.next().unwrap().unwrap()
    };
    assert!(ping().contains("result"));
    ground.stop();
    // A server that was killed leaves its address.
    std::fs::write(ground.root.join(".trackside/address"), &address).unwrap();
    let (_, heard) = recorder(&address);
    for _ in 0..2 {
        let answer = ping();
        assert!(answer.contains("No token was sent"), "{answer}");
    }
    let heard = String::from_utf8_lossy(&heard.lock().unwrap().clone()).into_owned();
    assert!(heard.contains("/v1/identity") && !heard.contains("ts_"), "{heard}");
    bridge.kill().unwrap();
    bridge.wait().unwrap();
}

#[test]
fn a_token_goes_only_to_the_server_that_issued_it() {
    let ground = ClientServer::start_in(scratch("issuer-one"), ".trackside", "mission");
    let other = ClientServer::start_in(scratch("issuer-two"), ".trackside", "mission");
    let token = ground.token("ada", "agent", &[]);
    run_in(&ground.root, &["whoami"], &[("TRACKSIDE_TOKEN", &token)]).says(0, &["ada"]);
    let wrong = ["was issued by the server", "The token was not sent"];
    run_in(&other.root, &["whoami"], &[("TRACKSIDE_TOKEN", &token)]).says(4, &wrong);
    let named = [("TRACKSIDE_TOKEN", token.as_str()), ("TRACKSIDE_URL", &other.url())];
    run_in(&ground.root, &["whoami"], &named).says(4, &wrong);
    // A server that this user has not started: the token itself names it.
    let elsewhere = scratch("issuer-state");
    let unpinned = [("TRACKSIDE_TOKEN", token.as_str()), ("XDG_STATE_HOME", elsewhere.to_str().unwrap())];
    run_in(&ground.root, &["whoami"], &unpinned).says(0, &["ada"]);
    // A token in the old form names no server: it needs a pinned server, or an address that the user names.
    let old = format!("ts_0123456789ab_{}", "0".repeat(64));
    let unpinned = [("TRACKSIDE_TOKEN", old.as_str()), ("XDG_STATE_HOME", elsewhere.to_str().unwrap())];
    run_in(&ground.root, &["whoami"], &unpinned).says(4, &["has an old form", "TRACKSIDE_URL=http://"]);
    run_in(&ground.root, &["whoami"], &[("TRACKSIDE_TOKEN", &old)]).says(4, &["refused: unauthorized"]);
    // The doctor says who else can read the owner's credential.
    ground.ask(&["doctor"]).says(0, &["every process of your Unix user can read the owner's credential"]);
    run_in(&ground.root, &["doctor"], &[("CLAUDECODE", "1")])
        .says(0, &["this process has CLAUDECODE, as agents do"]);
}

#[test]
fn a_server_with_a_new_key_is_another_server() {
    let mut ground = ClientServer::start_in(scratch("new-key"), ".trackside", "mission");
    let token = ground.token("ada", "agent", &[]);
    ground.stop();
    std::fs::remove_file(ground.root.join(".trackside/server.key")).unwrap();
    let ground = ClientServer::start_in(ground.root.clone(), ".trackside", "mission");
    run_in(&ground.root, &["whoami"], &[("TRACKSIDE_TOKEN", &token)])
        .says(4, &["was issued by the server", "has a new key", "trackside token create"]);
    // The token file was replaced, because its token named the old key.
    ground.ask(&["whoami"]).says(0, &["owner (human)"]);
    // A damaged key stops the start.
    let mut ground = ground;
    ground.stop();
    std::fs::write(ground.root.join(".trackside/server.key"), "x").unwrap();
    run_in(&ground.root, &["up", "--listen", "127.0.0.1:0", "--clock", "manual"], &[])
        .says(3, &["server.key", "damaged"]);
}

#[test]
fn the_owners_token_of_an_older_release_leaves_the_project() {
    let terminal = Terminal::new(&scratch("old-token"));
    let old = format!("printf ts_0123456789ab_{} >.trackside/token", "0".repeat(64));
    let seen = typed(
        &terminal,
        &[
            UP,
            "kill %1; wait; rm .trackside/address",
            &old,
            UP,
            "cat up.log",
            "ls .trackside",
            "trackside whoami",
        ],
    );
    let log = &seen[4].output;
    assert!(
        log.contains("The owner's credential moved out of the project: .trackside/token is removed"),
        "{log}"
    );
    assert!(!seen[5].output.contains("token"), "{}", seen[5].output);
    assert_eq!(seen[6].code, 0, "{seen:?}");
}

/// The exit code and messages of the hook, for a command in a folder.
#[test]
fn the_owners_credential_is_replaced_before_it_expires() {
    let terminal = Terminal::new(&scratch("rotation"));
    let set = |value: &str| {
        format!(
            "sed -i 's/\"rotate_after\": \"[^\"]*\"/\"rotate_after\": \"{value}\"/' $F; grep -c {value} $F"
        )
    };
    let changed = |kept: &str| format!("cmp -s {kept} $F && echo same || echo other");
    let (due, late) = (set("2020-01-01T00:00:00Z"), set("2099-01-01T00:00:00Z"));
    let commands: Vec<String> = [
        UP,
        "F=$(echo ~/.local/state/trackside/servers/*.json); cp $F 1.json; grep -c rotate_after $F",
        "trackside token list",
        "trackside whoami",
        &changed("1.json"),
        // Past half of its lifetime, any command replaces it.
        &due,
        "trackside whoami",
        &format!("{}; cp $F 2.json; grep -c 2020 $F", changed("1.json")),
        "trackside token list",
        "trackside whoami && grep -c replaces $F",
        &changed("2.json"),
        // On demand.
        "trackside token rotate",
        &changed("2.json"),
        // A crash before the server knew about the new one is made up for.
        "sed -i 's/\"address\"/\"replaces\": \"000000000000\", \"address\"/' $F; grep -c replaces $F",
        "trackside whoami",
        "grep -c replaces $F",
        // It expires, and the next start at a terminal creates a new one.
        "trackside settings access ownerLifetime=1s && trackside token rotate",
        &late,
        "while trackside whoami >/dev/null; do sleep 0.2; done; trackside whoami",
        "kill %1; wait",
        "trackside up & until [ -s .trackside/address ]; do sleep 0.1; done",
        "trackside settings access ownerLifetime=90d",
    ]
    .map(str::to_owned)
    .into();
    let seen = typed(&terminal, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    let said = |nth: usize| seen[nth].output.trim();
    assert_eq!(said(1), "1", "{seen:#?}");
    assert_eq!((said(2).matches("terminal").count(), seen[3].code, said(4)), (2, 0, "same"), "{seen:#?}");
    assert_eq!((said(5), seen[6].code, said(7)), ("1", 0, "other\n0"), "{seen:#?}");
    assert_eq!(said(8).matches("terminal").count(), 4, "the earlier one is valid for a while: {}", said(8));
    assert_eq!((said(9).ends_with('0'), said(10)), (true, "same"), "{seen:#?}");
    assert!(
        said(11).contains("The owner's credential is replaced in ") && !said(11).contains("ts_"),
        "{seen:#?}"
    );
    assert_eq!(said(12), "other");
    assert_eq!((said(13), seen[14].code, said(15)), ("1", 0, "0"), "{seen:#?}");
    assert_eq!((seen[16].code, said(17)), (0, "1"), "{seen:#?}");
    assert_eq!(seen[18].code, 4, "{seen:#?}");
    assert!(
        said(18).contains("The owner's credential has expired") && said(18).contains("trackside up"),
        "{seen:#?}"
    );
    assert_eq!(seen[21].code, 0, "{seen:#?}");
}

fn hook_in(folder: &Path, command: &str, more: &[&str], token: &str) -> CliOutput {
    let mut hook = binary(&["hook"]);
    hook.args(more).current_dir(folder).env("TRACKSIDE_TOKEN", token);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sent = serde_json::json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command } });
    child.stdin.take().unwrap().write_all(sent.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    CliOutput {
        code: output.status.code().unwrap(),
        data: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_hook_believes_only_the_server_of_its_token() {
    let ground = ClientServer::start_in(scratch("hooked"), ".trackside", "mission");
    let ada = ground.token("ada", "agent", &["mission:specialist"]);
    let below = ground.root.join("src");
    std::fs::create_dir_all(below.join(".trackside")).unwrap();
    hook_in(&ground.root, "cargo test -q", &[], &ada).says(0, &[]);
    hook_in(&ground.root, "rm -rf /", &[], &ada).says(2, &["blocked pattern"]);
    // The agent's own server, in a folder that the policy lets it write: a recorder, a real server, and none.
    let (recorder, heard) = recorder("127.0.0.1:0");
    let own = ClientServer::start_in(scratch("hooked-own"), ".trackside", "mission");
    for address in [recorder.as_str(), own.url().trim_start_matches("http://"), "127.0.0.1:9"] {
        std::fs::write(below.join(".trackside/address"), address).unwrap();
        for more in [&[][..], &["--unreachable", "allow"], &["--unreachable", "ask"], &["--allow"]] {
            hook_in(&below, "rm -rf /", more, &ada).says(2, &["Cannot ask the policy"]);
        }
    }
    assert!(!String::from_utf8_lossy(&heard.lock().unwrap().clone()).contains("ts_"));
    // A named server that is away is what the option is for.
    let away = ground.root.join("away");
    std::fs::create_dir(&away).unwrap();
    std::fs::write(away.join("address"), "127.0.0.1:9").unwrap();
    hook_in(&ground.root, "ls", &["--unreachable", "allow", "--data", "away"], &ada).says(0, &[]);
    hook_in(&ground.root, "ls", &["--data", "away"], &ada).says(2, &["cannot reach"]);
}

#[test]
fn a_worktree_uses_the_project_of_the_main_checkout() {
    let ground = ClientServer::start_in(scratch("worktree"), ".trackside", "mission");
    let ada = ground.token("ada", "agent", &[]);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]).args(args);
        let output = git.current_dir(&ground.root).env_remove("GIT_DIR").output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let tree = scratch("worktree-beside");
    git(&["init", "--quiet"]);
    // The schemas are in git, so the worktree has a folder of them, without a project.
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "x"]);
    git(&["worktree", "add", "--quiet", tree.join("tree").to_str().unwrap()]);
    let below = tree.join("tree/a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert!(tree.join("tree/.trackside/schema").is_dir());
    for folder in [&tree.join("tree"), &below] {
        run_in(folder, &["whoami"], &[("TRACKSIDE_TOKEN", &ada)]).says(0, &["ada"]);
        let told = run_in(folder, &["whoami"], &[]);
        told.says(4, &["TRACKSIDE_TOKEN is not set"]);
    }
    // The worktree's own project comes first.
    std::fs::write(tree.join("tree/.trackside/journal.db"), "").unwrap();
    let told = run_in(&below, &["whoami"], &[("TRACKSIDE_TOKEN", &ada)]);
    told.says(3, &["no server is running in this folder", "Ask the person who runs the server"]);
    assert!(!told.messages.contains("trackside up"), "{told:?}");
}
