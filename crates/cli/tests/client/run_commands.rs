//! Runs of agents: listed, followed, steered and stopped.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::ClientServer;
use crate::program::run_command;

/// A runner and its runs, as a runner's process would make them.
pub(crate) struct FleetFixture {
    client: Client,
}

impl FleetFixture {
    pub fn new(ground: &ClientServer) -> Self {
        let token = ground.token("host-1", "agent", &["fleet:agent_runner"]);
        let fixture = Self { client: Client::new(&ground.url(), &token) };
        fixture
            .post("/v1/entities/fleet.runner", &json!({ "id": "host-1", "fields": { "machine": "mars" } }));
        fixture
    }

    fn post(&self, path: &str, body: &Json) -> Json {
        self.client.post(path, body).unwrap_or_else(|it| panic!("{path}: {it:#?}")).body
    }

    /// A run that has started, with these lines.
    pub fn start(&self, id: &str, lines: &[Json]) {
        let fields = json!({ "agent": "coder-1", "runner": "host-1", "adapter": "claude", "entity": "small.light/L-1" });
        self.post("/v1/entities/fleet.run", &json!({ "id": id, "fields": fields }));
        self.fire(id, "started", json!({}));
        self.write(id, 1, lines);
        self.fire(id, "report", json!({ "lines": lines.len(), "input": 1200, "output": 34, "cost": 0.5, "doing": "tool call Bash" }));
    }

    pub fn write(&self, id: &str, first: u64, lines: &[Json]) {
        let numbered = lines.iter().zip(first..).map(|(line, number)| {
            let mut line = line.clone();
            line["number"] = json!(number);
            line["at"] = json!(45_296_000);
            line
        });
        let body = json!({ "lines": numbered.collect::<Vec<_>>() });
        self.post(&format!("/v1/runs/{id}/transcript"), &body);
    }

    pub fn fire(&self, id: &str, event: &str, fields: Json) {
        self.post(
            &format!("/v1/entities/fleet.run/{id}/transitions"),
            &json!({ "event": event, "fields": fields }),
        );
    }
}

fn message(text: &str) -> Json {
    json!({ "kind": "message", "text": text })
}

#[test]
fn runs_are_listed_shown_and_read() {
    let ground = ClientServer::small("runs");
    ground.ask(&["runs"]).says(0, &["no runs found"]);
    let fleet = FleetFixture::new(&ground);
    let call = json!({ "kind": "toolCall", "id": "c", "name": "Bash", "input": { "command": "ls" } });
    fleet.start("R-1", &[message("First line.\nSecond line."), call, json!({ "mark": "started" })]);
    fleet.start("R-2", &[]);
    let many: Vec<Json> = (1..=450).map(|it| message(&format!("step {it}"))).collect();
    fleet.write("R-2", 1, &many);
    ground
        .ask(&["runs"])
        .says(0, &["R-1", "R-2", "RUNNING", "coder-1", "small.light/L-1", "1234", "$0.50", "tool call Bash"]);
    let listed = ground.ask(&["runs", "--agent", "nobody", "--json"]).says(0, &[]).json();
    assert_eq!(listed["items"], json!([]));
    ground.ask(&["runs", "R-1"]).says(0, &["R-1 RUNNING", "adapter: claude", "tokens.input: 1200"]);
    ground.ask(&["runs", "R-9"]).says(1, &["R-9"]);

    let shown = ground
        .ask(&["logs", "R-1"])
        .says(
            0,
            &[
                "12:34:56  agent      First line.",
                "call       Bash {\"command\":\"ls\"}",
                "trackside  started",
            ],
        )
        .data
        .clone();
    assert_eq!(shown.lines().nth(1), Some("                     Second line."));
    // More than a page.
    let all = ground.ask(&["logs", "R-2", "--json"]).says(0, &[]).data.clone();
    assert_eq!(all.lines().count(), 450);
    let few = ground.ask(&["logs", "R-2", "--after", "448"]).says(0, &["step 449", "step 450"]).data.clone();
    assert_eq!(few.lines().count(), 2);
    let found = ground.ask(&["logs", "R-2", "--search", "step 44"]).says(0, &["step 44"]).data.clone();
    assert_eq!(found.lines().count(), 11);
    ground.ask(&["logs", "R-1", "--search", "nowhere"]).says(0, &["no lines found"]);
    ground.ask(&["logs", "R-9"]).says(1, &["R-9"]);
}

#[test]
fn a_run_is_followed_to_its_end_and_an_attached_person_steers_it() {
    let ground = ClientServer::small("attach");
    let fleet = FleetFixture::new(&ground);
    fleet.start("R-1", &[message("Hello.")]);
    let spawn = |args: &[&str]| {
        let mut command = ground.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let follower = spawn(&["logs", "R-1", "--follow"]);
    let mut attached = spawn(&["attach", "R-1"]);
    let mut typed = attached.stdin.take().unwrap();
    let run = || ground.ask(&["runs", "R-1", "--json"]).says(0, &[]).json();
    let wait = |what: &str, holds: &dyn Fn(&Json) -> bool| {
        let begun = Instant::now();
        while !holds(&run()) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}: {:#}", run());
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    typed.write_all(b"/nonsense\n\nfix the test first\n/interrupt use the other file\n").unwrap();
    wait("two messages", &|it| it["messages"].as_array().is_some_and(|it| it.len() == 2));
    let messages = run()["messages"].clone();
    assert_eq!((&messages[0]["text"], &messages[0]["mode"]), (&json!("fix the test first"), &json!("queue")));
    assert_eq!(
        (&messages[1]["text"], &messages[1]["mode"]),
        (&json!("use the other file"), &json!("interrupt"))
    );
    fleet.write("R-1", 2, &[message("I heard you.")]);
    typed.write_all(b"/stop enough for today\n").unwrap();
    wait("the stop", &|it| it["state"] == "STOPPING");
    assert_eq!(run()["stopReason"], "enough for today");
    fleet.fire("R-1", "ended", json!({ "exitClass": "killed", "lines": 2 }));
    for child in [follower, attached] {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("Hello.") && said.contains("I heard you."), "{said}");
    }
    // A run that has ended takes no messages.
    run_command(ground.command(&["stop", "R-1"])).says(1, &["STOPPED"]);
}

#[test]
fn a_run_is_stopped_with_a_reason() {
    let ground = ClientServer::small("stop-run");
    let fleet = FleetFixture::new(&ground);
    fleet.start("R-1", &[]);
    ground.ask(&["stop", "R-1", "--reason", "wrong branch"]).says(0, &["STOPPING"]);
    ground.ask(&["runs", "R-1"]).says(0, &["stopReason: wrong branch"]);
    ground.ask(&["stop", "R-9"]).says(1, &["R-9"]);
}

#[test]
fn the_change_of_an_entity_is_printed_as_a_diff_and_escaped() {
    let ground = ClientServer::small("changes");
    ground.ask(&["new", "small.light", "--id", "L-1"]).says(0, &[]);
    ground.ask(&["changes", "small.light/L-1"]).says(1, &["No change was reported for small.light/L-1"]);
    let host = Client::new(&ground.url(), &ground.token("host-1", "system", &[]));
    let line = |kind: &str, text: &str| json!({ "kind": kind, "text": text });
    let lines =
        [line("context", "fn main() {"), line("delete", "\told();"), line("add", "\tnew(\"\u{1b}[2J\");")];
    let hunk =
        json!({ "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "header": "", "lines": lines });
    let main = json!({ "path": "src/main.rs", "oldPath": "main.rs", "status": "renamed", "additions": 1, "deletions": 1, "hunks": [hunk] });
    let logo = json!({ "path": "logo.png", "status": "added", "binary": true });
    let stats = json!({ "files": 2, "additions": 1, "deletions": 1 });
    for (from, to) in [("base0000", "one11111"), ("one11111", "two22222")] {
        let change =
            json!({ "base": from, "head": to, "stats": stats, "files": [main, logo], "truncated": true });
        let content = change.to_string().into_bytes();
        let artifact = trackside_store::Artifacts::id_of(&content);
        host.put_bytes(&format!("/v1/artifacts/{artifact}"), &content).unwrap();
        let body = json!({ "from": from, "to": to, "artifact": artifact, "files": 2, "additions": 1, "deletions": 1 });
        host.post("/v1/entities/small.light/L-1/changes", &body).unwrap();
    }
    let diff = [
        "small.light/L-1  base0000..one11111",
        "2 files, +1 -1",
        "too large to be shown in full",
        "main.rs → src/main.rs  renamed  +1 -1",
        "@@ -1,2 +1,2 @@",
        " fn main() {",
        "-    old();",
        "+    new(\"\\u{1b}[2J\");",
        "logo.png  added, binary",
        "Reported changes",
    ];
    let shown = ground.ask(&["changes", "small.light/L-1", "--to", "one1"]).says(0, &diff).data.clone();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let figures =
        ground.ask(&["changes", "small.light/L-1", "--stat"]).says(0, &["one11111..two22222"]).data.clone();
    assert!(!figures.contains("@@"), "{figures}");
    let found = ground.ask(&["changes", "small.light/L-1", "--json"]).says(0, &[]).json();
    assert_eq!(found["files"][0]["hunks"][0]["lines"][2]["text"], json!("\tnew(\"\u{1b}[2J\");"));
}

/// An adapter of the project, whose program says what its file says.
#[test]
fn adapter_check_starts_a_program_with_a_small_task() {
    let root = crate::ground::scratch("adapter-check-run");
    let (adapters, bin) = (root.join(".trackside/adapters"), root.join("bin"));
    for folder in [&adapters, &bin] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let adapter = "adapter: parrot\nabout: A parrot\ntransport: lines\nprogram: { names: [parrot] }\n\
        start: { prompt: last-argument }\nevents: [ { when: { type: end }, as: end, take: { text: text, input: tokens } } ]\n\
        end: { ok: { fine: true }, causes: [ { class: auth, when: { why: login } } ] }\n";
    std::fs::write(adapters.join("parrot.yaml"), adapter).unwrap();
    let check = |says: &str| {
        let program = bin.join("parrot");
        std::fs::write(&program, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        let mut mode = std::fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let mut command = crate::program::binary(&["adapter", "check", "parrot", "--run"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).current_dir(&root);
        run_command(command)
    };
    check(r#"{"type":"end","fine":true,"text":"ready","tokens":7}"#)
        .says(0, &["parrot", "ok", "ok: ready (7 tokens in, 0 out"]);
    check(r#"{"type":"end","fine":false,"why":"login","text":"sign in first"}"#)
        .says(1, &["failed", "auth: sign in first"]);
    check("hello").says(1, &["failed", "crash"]);
}
