//! Every command on a project full of control characters: none of them reaches a terminal or a pipe as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::ground::{ClientServer, scratch};
use crate::program::{binary, isolate, run_command};
use crate::run_commands::FleetFixture;

/// A title, a link, a colour that we never use, a cleared screen, reordered text, a forged line.
const HOSTILE: &str = "a\u{1b}]0;OWNED\u{7}\u{1b}[41mb\u{9b}2J\u{202e}c\u{2066}\r\nFORGED\u{0}\u{7f}\u{2028}d\te\u{85}\u{200f}f";

const NOTE: &str = r#"
lifecycle: small.note
about: "HOSTILE"
face: { is: approval }
fields:
  title: { type: string }
  comment: { type: string }
create: { by: human || agent, takes: [title] }
states:
  OPEN: { initial: true, about: "HOSTILE", deadline: { after: 1h, warn: [50%], then: deny } }
  DONE: { final: true, outcome: success }
  DENIED: { final: true, outcome: failure }
transitions:
  say:
    from: OPEN
    to: OPEN
    by: human || agent
    takes: [comment]
    post: { kind: REMARK, text: "{comment}" }
    notify: { audience: everybody, message: "{comment}" }
    alert: { kind: odd, severity: warning, message: "{comment}" }
  approve: { from: OPEN, to: DONE, by: human, about: "HOSTILE" }
  deny: { from: OPEN, to: DENIED, by: human || engine }
  never: { from: OPEN, to: DONE, by: human, when: [ { check: 'title == "x"', says: "HOSTILE {title}" } ] }
invariants:
  short: { holds: size(title) < 3, severity: warning, says: "{title} is long" }
log: { line: { at: it.timestamp, title: title, why: it.reason } }
"#;

const PACK: &str = r#"
pack: small
version: 1
about: "HOSTILE"
roles: { writer: { about: "HOSTILE" } }
audiences: { everybody: "HOSTILE" }
settings: { word: { default: "HOSTILE", about: "HOSTILE" } }
queries:
  notes: { of: small.note, about: "HOSTILE", order: [createdAt] }
  lines: { of: small.note, takes: { note: { type: string } }, history: ask.note, line: { event: it.event, why: it.reason, changed: it.metadata } }
policy:
  levels: [LOW, HIGH]
  unknown: HIGH
  rules: [ { action: [rm], deny: "HOSTILE" } ]
"#;

/// The pack, with its words as YAML escapes. In the second version a state has another name.
fn pack(root: &Path, folder: &str, version: u32) -> String {
    let words: String = HOSTILE.encode_utf16().map(|it| format!("\\u{it:04x}")).collect();
    let pack = root.join(folder);
    std::fs::create_dir_all(pack.join("lifecycles")).unwrap();
    std::fs::create_dir_all(pack.join("scenarios")).unwrap();
    let text = PACK.replace("HOSTILE", &words).replace("version: 1", &format!("version: {version}"));
    std::fs::write(pack.join("pack.yaml"), text).unwrap();
    let mut text = NOTE.replace("HOSTILE", &words);
    if version > 1 {
        text = text.replace("DENIED", "TURNED_DOWN");
    }
    std::fs::write(pack.join("lifecycles/note.yaml"), text).unwrap();
    let scenario = format!(
        "pack: small\nactors: {{ ada: {{ human: [] }} }}\nscenarios:\n  - scenario: \"{words}\"\n    steps:\n      \
         - {{ as: ada, create: small.note/A, with: {{ title: \"{words}\" }}, then: {{ state: DONE }} }}\n"
    );
    std::fs::write(pack.join("scenarios/odd.yaml"), scenario).unwrap();
    pack.to_str().unwrap().to_owned()
}

/// A command with the arguments it is run with.
struct HostileCase {
    command: &'static str,
    args: Vec<String>,
    /// It takes `--data`.
    is_asked: bool,
    /// Standard input.
    input: String,
}

/// Every command. `served` commands get `--data`; the others run beside the pack.
fn cases(ground: &ClientServer) -> Vec<HostileCase> {
    let case = |command: &'static str, args: &[&str], is_asked: bool, input: &str| HostileCase {
        command,
        args: args.iter().map(|it| (*it).to_owned()).collect(),
        is_asked,
        input: input.to_owned(),
    };
    let served = |command, args: &[&str]| case(command, args, true, "");
    let alone = |command, args: &[&str]| case(command, args, false, "");
    // An argument cannot contain a NUL.
    let word = HOSTILE.replace('\0', "");
    let title = format!("title={word}");
    let comment = format!("comment={word}");
    let act = json!({ "tool_name": HOSTILE, "tool_input": { "command": HOSTILE } }).to_string();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "explain",
        "arguments": { "lifecycle": "small.note", "id": "A" } } });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": HOSTILE, "version": "1" } } });
    let webhook =
        ground.ask(&["webhook", "list", "--json"]).json()["items"][0]["id"].as_str().unwrap().to_owned();
    let alert = ground.ask(&["alerts", "--json"]).json()["items"][0]["alertId"].as_str().unwrap().to_owned();
    // The items of the inbox: requests, of which one is decided by each command, and alerts.
    let inbox = ground.ask(&["inbox", "--json"]).json();
    let numbers = |kind: &str| -> Vec<String> {
        let items = inbox["items"].as_array().unwrap().iter().filter(|it| it["kind"] == kind);
        items.map(|it| it["number"].to_string()).collect()
    };
    let (requests, alerts) = (numbers("approval"), numbers("alert"));
    let entity = format!("small.note/{word}");
    let commands = json!([
        { "lifecycle": "small.note", "id": "A", "event": word },
        { "lifecycle": "small.note", "id": word, "fields": { "title": word } },
    ]);
    let commands = commands.to_string();
    vec![
        served("up", &["--listen", "127.0.0.1:0"]),
        alone("up", &["--packs", &word, "--data", "elsewhere"]),
        alone("demo", &["--help"]),
        alone("init", &[&word]),
        served("sign-in", &[]),
        served("new", &["small.note", "--id", &word, &title]),
        served("new", &[&word]),
        served("fire", &["small.note/A", "say", &comment, "--reason", &word]),
        served("fire", &["small.note/A", "never"]),
        served("fire", &["small.note/A", &word]),
        served("fire", &[&entity, "say"]),
        served("claim", &["small.note"]),
        served("heartbeat", &["small.note/A", "--fence", "1"]),
        served("correct", &["small.note/B", "--to", "DONE", "--reason", &word]),
        served("show", &["small.note/A"]),
        served("show", &[&entity]),
        served("list", &["small.note"]),
        served("list", &["small.note", "--where", &word]),
        served("explain", &["small.note/A"]),
        served("changes", &["small.note/A"]),
        served("changes", &["small.note/A", "--stat"]),
        served("history", &["small.note/A"]),
        served("history", &["small.note/A", "--form", "pack"]),
        served("messages", &["small.note/A"]),
        served("query", &["small"]),
        served("query", &["small", "notes"]),
        served("query", &["small", "lines", "note=A"]),
        served("stats", &["small.note"]),
        served("journal", &["--all"]),
        served("runs", &[]),
        served("runs", &["R-1"]),
        served("runs", &["--agent", &word]),
        served("logs", &["R-1"]),
        served("logs", &["R-1", "--search", &word]),
        served("logs", &["R-2", "--follow"]),
        served("logs", &[&word]),
        case("attach", &["R-2"], true, &format!("{word}\n/{word}\n")),
        served("stop", &["R-1", "--reason", &word]),
        served("stop", &[&word]),
        served("work", &[&word, "--agent", "claude"]),
        served("work", &["small.note", "--agent", "claude"]),
        served("supervise", &["--role", &word, "--id", "x-1"]),
        alone("worktree", &[]),
        alone("worktree list", &["--repo", &word]),
        alone("worktree restore", &[&word]),
        alone("worktree prune", &[&word]),
        alone("adapter", &[]),
        alone("adapter list", &[]),
        alone("adapter check", &["command"]),
        alone("adapter check", &[&word]),
        case("mcp", &[], true, &format!("{hello}\n{call}\n")),
        case("hook", &["--pack", "small"], true, &act),
        case("hook test", &["-", "--pack", "small"], true, &format!("rm {word}\n{act}\n")),
        served("inbox", &[]),
        served("inbox ack", &[&alerts[0], "--note", &word]),
        served("inbox approve", &[&requests[0], "--note", &word]),
        served("inbox deny", &[&requests[1], "--note", &word]),
        served("inbox deny", &["4000000", "--note", &word]),
        served("approvals", &[]),
        served("approvals approve", &["C", "--note", &word]),
        served("approvals deny", &["A", "--note", &word]),
        served("alerts", &[]),
        served("alerts acknowledge", &[&alert, "--note", &word]),
        served("alerts resolve", &[&alert, "--note", &word]),
        served("notifications", &[]),
        served("violations", &[]),
        served("validate", &[]),
        alone("check", &["small"]),
        alone("check", &[&word]),
        alone("test", &["small"]),
        alone("diagram", &["small"]),
        alone("diagram", &["small.note", "small", "--format", "dot"]),
        alone("diagram", &["small.note", "small", "--format", "mermaid"]),
        alone("diagram", &["small.note", "small", "--format", "svg"]),
        alone("diagram", &["small.note", "small", "--format", "scxml"]),
        alone("diagram", &["small.note", "small", "--format", "xstate"]),
        alone("diff", &["small", "second"]),
        alone("explore", &["small", "--seconds", "1"]),
        alone("fmt", &["small", "--check"]),
        alone("fmt", &[&word]),
        case("fmt", &["--stdin"], false, &format!("pack: x # {}\n", HOSTILE.replace('\0', ""))),
        alone("schema", &["lifecycle"]),
        served("list", &[]),
        served("wait", &["small.note/A", "--timeout", "1s"]),
        served("wait", &["small.note/A", "--state", &word, "--timeout", "1s"]),
        served("wait", &[&entity]),
        alone("effects", &[]),
        served("effects list", &[]),
        served("effects list", &["--kind", &word]),
        served("effects take", &["--kind", &word]),
        served("effects take", &["--entity", &word]),
        served("effects answer", &[&word, "--fence", "1", &comment]),
        alone("artifact", &[]),
        served("artifact put", &["issues.jsonl"]),
        served("artifact put", &[&word]),
        served("artifact get", &[&word, "--to", "fetched"]),
        case("batch", &["-"], true, &commands),
        served("batch", &[&word]),
        served("policy", &[&word]),
        served("policy", &["shell", &comment]),
        served("approvals list", &[]),
        served("alerts list", &["--resolved"]),
        served("lifecycles", &[]),
        served("lifecycles", &["small.note"]),
        alone("pack", &[]),
        served("pack list", &[]),
        alone("pack check", &["small"]),
        served("pack add", &["second"]),
        served("settings", &["small"]),
        served("settings", &["small", &format!("word={word}")]),
        alone("migrate", &[]),
        served("migrate plan", &["small.note", "--to", "2"]),
        served("migrate apply", &["small.note", "--to", "2"]),
        served("migrate undo", &["small.note", "--version", "2"]),
        alone("token", &[]),
        served("token create", &["eve", "--kind", "agent", "--note", &word]),
        served("token create", &[&word, "--kind", "agent"]),
        served("token list", &[]),
        served("token revoke", &[&word]),
        served("token rotate", &[]),
        alone("audience", &[]),
        served("audience list", &[]),
        served("audience set", &[&word, "missing.yaml"]),
        alone("delivery", &[]),
        served("delivery list", &["--state", &word]),
        served("delivery test", &[&word]),
        alone("webhook", &[]),
        served("webhook add", &["https://example.com/hook", "--note", &word]),
        served("webhook add", &[&word]),
        served("webhook list", &[]),
        served("webhook deliveries", &[&webhook]),
        served("webhook replay", &[&webhook]),
        served("webhook remove", &[&word]),
        served("whoami", &[]),
        served("clock", &[]),
        served("clock advance", &["31m"]),
        served("clock accept", &["--reason", &word]),
        served("clock reset", &["--reason", &word]),
        alone("audit", &[]),
        served("audit verify", &[]),
        served("audit sign-ins", &[]),
        served("audit export", &["small.note/A", "--to", "A.jsonl"]),
        alone("audit verify", &["A.jsonl"]),
        served("export", &[]),
        alone("import", &["issues.jsonl", "--from", "beads", "--into", "small.note", "--dry-run"]),
        served("import", &["issues.jsonl", "--from", "beads", "--into", "small.note", "--dry-run"]),
        served("redact", &["small.note/A", "--entry", "9", "--set", &title, "--reason", &word]),
        served("backup", &["copy"]),
        alone("backup list", &["copy"]),
        alone("restore", &["copy", "--data", "restored"]),
        served("archive", &["--older-than", "30d"]),
        served("doctor", &[]),
        alone("bench", &["--help"]),
        alone("completions", &["bash"]),
        alone("man", &[]),
        alone("version", &[]),
    ]
}

/// The commands of the reference, which is generated from the definition of the command line.
fn all_commands() -> BTreeSet<String> {
    let page = run_command(binary(&["reference"])).data;
    let heads = page.lines().filter(|it| it.starts_with("###"));
    heads.filter_map(|it| Some(it.split_once("`trackside ")?.1.trim_end_matches('`').to_owned())).collect()
}

fn is_allowed(it: char) -> bool {
    let bidi =
        matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    it == '\n' || (!it.is_control() && !bidi)
}

/// Checks that nothing of others is a control character, and that no line is forged.
fn check(what: &str, shown: &str) {
    if let Some(at) = shown.find(|it| !is_allowed(it)) {
        let from = shown.floor_char_boundary(at.saturating_sub(60));
        panic!("{what} prints {:?}", &shown[from..shown.ceil_char_boundary(at + 40)]);
    }
    // In SVG a line is only white space.
    let forged = |it: &str| it.starts_with("FORGED") && !shown.contains("</svg>");
    assert!(!shown.lines().any(forged), "{what} prints a forged line:\n{shown}");
}

/// Removes colours, except the one of the hostile text, and the redrawing of progress bars.
fn without_colours(shown: &str) -> String {
    let shown = shown.replace("\r\u{1b}[2K", "\n");
    let mut parts = shown.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.strip_prefix('[').and_then(|it| it.split_once('m'));
        match code
            .filter(|(code, _)| *code != "41" && code.chars().all(|it| it.is_ascii_digit() || it == ';'))
        {
            Some((_, after)) => plain.push_str(after),
            None => plain.push_str(&format!("\u{1b}{part}")),
        }
    }
    plain
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The command in a pseudo-terminal, with colours.
fn on_terminal(ground: &ClientServer, case: &HostileCase, token: &str) -> String {
    let mut line = format!("stty rows 30 cols 100; {}", env!("CARGO_BIN_EXE_trackside"));
    line.extend(
        case.command
            .split(' ')
            .map(quoted)
            .chain(case.args.iter().map(|it| quoted(it)))
            .map(|it| format!(" {it}")),
    );
    if case.is_asked {
        line.push_str(&format!(" --data {}", quoted(&ground.data())));
    }
    if !case.input.is_empty() {
        std::fs::write(ground.root.join("input"), &case.input).unwrap();
        line.push_str(" <input");
    }
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("TERM", "xterm");
    isolate(&mut command);
    command.env_remove("COLUMNS").env_remove("LINES").env_remove("NO_COLOR").env("SHELL", "/bin/bash");
    if matches!(case.command, "hook" | "mcp") {
        command.env("TRACKSIDE_TOKEN", token);
    }
    let output = command.current_dir(&ground.root).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

/// The command in a pipe: data and messages.
fn in_pipe(ground: &ClientServer, case: &HostileCase, token: &str, more: &[&str]) -> (String, String) {
    let args: Vec<&str> = case
        .command
        .split(' ')
        .chain(case.args.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect();
    let mut command = if case.is_asked { ground.command(&args) } else { binary(&args) };
    if matches!(case.command, "hook" | "mcp") {
        command.env("TRACKSIDE_TOKEN", token);
    }
    command.current_dir(&ground.root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(case.input.as_bytes());
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn hostile_project(name: &str) -> ClientServer {
    let root = scratch(name);
    let small = pack(&root, "small", 1);
    pack(&root, "second", 2);
    let issue = json!({ "id": "bd-1", "title": HOSTILE, "status": HOSTILE, "priority": 1 });
    std::fs::write(root.join("issues.jsonl"), format!("{issue}\n")).unwrap();
    let ground = ClientServer::start_with(root, &small, &["--log", "text", "--log-level", "debug"]);
    let (title, comment) = (format!("title:={}", json!(HOSTILE)), format!("comment:={}", json!(HOSTILE)));
    for id in ["A", "B", "C"] {
        ground.ask(&["new", "small.note", "--id", id, &title]).says(0, &[]);
        let reason = HOSTILE.replace('\0', "");
        ground.ask(&["fire", &format!("small.note/{id}"), "say", &comment, "--reason", &reason]).says(0, &[]);
    }
    let fleet = FleetFixture::new(&ground);
    let lines = [
        json!({ "kind": "message", "text": HOSTILE }),
        json!({ "kind": "toolCall", "id": "1", "name": HOSTILE, "input": { "command": HOSTILE } }),
        json!({ "kind": HOSTILE, "text": HOSTILE }),
        json!({ "mark": HOSTILE }),
        json!({ "kind": "end", "ok": true, "text": HOSTILE, "usage": {} }),
    ];
    for run in ["R-1", "R-2"] {
        fleet.start(run, &lines);
        fleet.fire(run, "report", json!({ "doing": HOSTILE, "model": HOSTILE }));
    }
    fleet.fire("R-2", "ended", json!({ "exitClass": "crash", "exitText": HOSTILE, "lines": lines.len() }));
    let host = trackside_protocol::Client::new(&ground.url(), &ground.token("host-2", "system", &[]));
    let line = json!({ "kind": "add", "text": HOSTILE });
    let hunk = json!({ "oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "header": HOSTILE, "lines": [line] });
    let file =
        json!({ "path": HOSTILE, "oldPath": HOSTILE, "status": "renamed", "additions": 1, "hunks": [hunk] });
    let change = json!({ "base": HOSTILE, "head": HOSTILE, "files": [file] }).to_string().into_bytes();
    let artifact = trackside_store::Artifacts::id_of(&change);
    host.put_bytes(&format!("/v1/artifacts/{artifact}"), &change).unwrap();
    let body = json!({ "from": HOSTILE, "to": HOSTILE, "artifact": artifact });
    host.post("/v1/entities/small.note/A/changes", &body).unwrap_or_else(|it| panic!("{it:#?}"));
    let note = HOSTILE.replace('\0', "");
    ground.ask(&["webhook", "add", "https://example.com/x", "--note", &note]).says(0, &[]);
    ground.ask(&["token", "create", "bob", "--kind", "agent", "--note", &note]).says(0, &[]);
    ground
}

#[test]
fn no_command_prints_control_characters_of_others() {
    let mut ground = hostile_project("hostile");
    let token = ground.token("ada", "agent", &["small:writer"]);
    let cases = cases(&ground);
    let covered: BTreeSet<&str> = cases.iter().map(|it| it.command).chain(["watch"]).collect();
    let missing: Vec<String> =
        all_commands().into_iter().filter(|it| !covered.contains(it.as_str())).collect();
    assert!(missing.is_empty(), "add cases for {missing:?}");
    let mut escaped = 0;
    for case in &cases {
        let what = format!("trackside {} {:?}", case.command, case.args);
        let (data, messages) = in_pipe(&ground, case, &token, &[]);
        check(&what, &data);
        check(&what, &messages);
        escaped += usize::from(format!("{data}{messages}").contains("\\u{1b}"));
        let shown = on_terminal(&ground, case, &token);
        assert!(!shown.contains("\\u{1b}[0m"), "{what} escapes our own colours: {shown}");
        check(&format!("{what} on a terminal"), &without_colours(&shown));
        let help =
            run_command(binary(&[case.command.split(' ').collect::<Vec<_>>(), vec!["--help"]].concat())).data;
        if help.contains("--json")
            && !case.args.contains(&"--help".to_owned())
            && !["mcp", "diagram"].contains(&case.command)
        {
            let (data, _) = in_pipe(&ground, case, &token, &["--json"]);
            check(&format!("{what} --json"), &data);
            let documents = serde_json::Deserializer::from_str(&data).into_iter::<Json>();
            documents.for_each(|it| drop(it.unwrap_or_else(|it| panic!("{what} --json: {it}\n{data}"))));
        }
    }
    assert!(escaped > 20, "only {escaped} commands print words of others: the project is too tame");
    let log = std::fs::read_to_string(ground.root.join("up.log")).unwrap();
    check("the log", &log);
    ground.stop();
    for (command, args) in [
        ("doctor", vec![]),
        ("validate", vec![]),
        ("audit verify", vec![]),
        ("export", vec![]),
        ("migrate plan", vec!["small.note", "--to", "2"]),
        ("list", vec!["small.note"]),
    ] {
        let args = args.into_iter().map(str::to_owned).collect();
        let case = HostileCase { command, args, is_asked: true, input: String::new() };
        let (data, messages) = in_pipe(&ground, &case, &token, &[]);
        check(command, &data);
        check(command, &messages);
        if command == "export" {
            // The escaped form is the same document: it can be imported.
            std::fs::write(ground.root.join("export.jsonl"), data).unwrap();
            run_command({
                let mut import = binary(&["import", "export.jsonl", "--data", "imported"]);
                import.current_dir(&ground.root);
                import
            })
            .says(0, &["verified"]);
        }
    }
}

#[test]
fn a_list_has_a_line_for_each_item() {
    let ground = hostile_project("hostile-lists");
    let lists: BTreeMap<&str, &[&str]> = [
        ("list", &["list", "small.note"][..]),
        ("alerts", &["alerts"]),
        ("notifications", &["notifications"]),
        ("tokens", &["token", "list"]),
        ("webhooks", &["webhook", "list"]),
        ("journal", &["journal", "--all"]),
        ("runs", &["runs"]),
        ("history", &["history", "small.note/A"]),
        ("violations", &["violations"]),
    ]
    .into();
    for (name, args) in lists {
        let lines = ground.ask(args).says(0, &[]).data.lines().count();
        let json = ground.ask(&[args, &["--json"]].concat()).data;
        let items = match serde_json::from_str::<Json>(&json) {
            Ok(it) if it.get("items").is_some() => it["items"].as_array().unwrap().len(),
            _ => json.lines().count(),
        };
        // A heading, or a line at the end.
        let heading = usize::from(name != "journal");
        assert!(items > 0, "{name}");
        assert_eq!(lines, items + heading, "{name}\n{}", ground.ask(args).data);
    }
}

#[test]
fn watching_prints_no_control_characters_of_others() {
    let ground = hostile_project("hostile-watch");
    for on_terminal in [false, true] {
        let watch =
            format!("timeout 4 {} watch --data {}", env!("CARGO_BIN_EXE_trackside"), quoted(&ground.data()));
        let mut command = match on_terminal {
            true => {
                let mut command = Command::new("script");
                command.args([
                    "--quiet",
                    "--command",
                    &format!("stty rows 30 cols 300; {watch}"),
                    "/dev/null",
                ]);
                command
            }
            false => {
                let mut command = Command::new("sh");
                command.args(["-c", &watch]);
                command
            }
        };
        isolate(&mut command);
        command.env("TERM", "xterm").env("SHELL", "/bin/bash").env_remove("NO_COLOR");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let comment = format!("comment:={}", json!(HOSTILE));
        for _ in 0..6 {
            ground.ask(&["fire", "small.note/A", "say", &comment, "--reason", "why"]).says(0, &[]);
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
        let shown = String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned();
        assert!(shown.contains("say"), "{shown:?}");
        assert!(
            !shown.contains("\u{1b}]") && !shown.contains("\u{1b}[41m") && !shown.contains('\u{7}'),
            "{shown:?}"
        );
        // The view moves the cursor by itself.
        let mut plain = String::new();
        for (at, part) in shown.replace("\r\n", "\n").split('\u{1b}').enumerate() {
            let end = part.find(|it: char| it.is_ascii_alphabetic()).map_or(part.len(), |it| it + 1);
            plain.push_str(if at == 0 { part } else { &part[end..] });
        }
        check("watch", &plain.replace('\r', ""));
    }
}
