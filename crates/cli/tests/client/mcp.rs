//! MCP over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value as Json, json};

use crate::ground::{ClientServer, scratch};
use crate::program::{binary, run_command};

/// An agent host: it starts the program and exchanges messages with it.
struct Host {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Host {
    fn of(mut command: std::process::Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, next: 1 }
    }

    fn as_agent(ground: &ClientServer, token: &str) -> Self {
        let mut command = ground.command(&["mcp"]);
        command.env("TRACKSIDE_TOKEN", token);
        Self::of(command)
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn hear(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|it| panic!("{it}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.next;
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    fn shake_hands(&mut self) -> Json {
        let this = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": this });
        let agreed = self.ask("initialize", hello);
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        agreed
    }

    /// Closes the input: the bridge must end by itself with exit code 0.
    fn close(mut self) -> Vec<Json> {
        drop(self.input);
        let rest = self.output.lines().map(|it| serde_json::from_str(&it.unwrap()).unwrap()).collect();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        rest
    }
}

#[test]
fn an_agent_host_speaks_to_the_server_through_the_program() {
    let ground = ClientServer::small("mcp");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let token = ground.token("ada", "agent", &[]);
    let mut ada = Host::as_agent(&ground, &token);
    assert_eq!(ada.shake_hands()["result"]["protocolVersion"], "2025-11-25");
    let tools = ada.ask("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 11, "{tools}");
    let work = ada.call("my_work", json!({}));
    assert_eq!(work["structuredContent"]["you"]["actor"], "ada", "{work}");
    // A refusal is the same problem as over HTTP, and is fixed in one step.
    let one = json!({ "lifecycle": "small.light", "id": "A" });
    let refused = ada.call("fire", json!({ "lifecycle": "small.light", "id": "A", "event": "switch_on" }));
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["code"]),
        (&json!(true), &json!("not-permitted"))
    );
    assert_eq!(refused["structuredContent"]["who"], "human");
    let claimed = ada.call("claim", json!({ "lifecycle": "small.light" }));
    assert_eq!(claimed["structuredContent"]["entity"]["state"], "FIXING", "{claimed}");
    assert_eq!(ada.call("show", one)["structuredContent"]["fields"]["fitter"], "ada");
    assert_eq!(ada.close(), Vec::<Json>::new());
}

#[test]
fn the_newest_protocol_goes_through_as_well_with_progress_and_tasks() {
    let ground = ClientServer::small("mcp-newest");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let token = ground.token("ada", "agent", &[]);
    let mut ada = Host::as_agent(&ground, &token);
    let meta = |extensions: Json| {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
        })
    };
    let found = ada.ask("server/discover", json!({ "_meta": meta(json!({})) }));
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    let arguments = json!({ "lifecycle": "small.light", "id": "A", "seconds": 1 });
    let mut heard = meta(json!({}));
    heard["progressToken"] = json!("p");
    let asked = json!({ "name": "wait", "arguments": arguments, "_meta": heard });
    ada.say(&json!({ "jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": asked }).to_string());
    let progress = ada.hear();
    assert_eq!(
        (&progress["method"], &progress["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    let waited = ada.hear();
    assert_eq!(
        (&waited["id"], &waited["result"]["structuredContent"]["happened"]),
        (&json!("w"), &json!(false))
    );
    let tasks = meta(json!({ "io.modelcontextprotocol/tasks": {} }));
    let asked =
        json!({ "name": "wait", "arguments": { "lifecycle": "small.light", "id": "A" }, "_meta": tasks });
    let begun = ada.ask("tools/call", asked);
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    let done = ada.ask("tasks/get", json!({ "taskId": begun["result"]["taskId"], "_meta": tasks }));
    assert_eq!(done["result"]["status"], "completed", "{done}");
}

#[test]
fn cancelled_requests_are_not_answered_and_the_others_are() {
    let ground = ClientServer::small("mcp-given-up");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let mut host = Host::as_agent(&ground, &ground.owner());
    host.shake_hands();
    let wait =
        json!({ "name": "wait", "arguments": { "lifecycle": "small.light", "id": "A", "seconds": 2 } });
    host.say(&json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": wait }).to_string());
    host.say(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } })
            .to_string(),
    );
    host.say("nonsense");
    assert_eq!(host.hear()["error"]["code"], -32700);
    host.say("[]");
    assert_eq!(host.hear()["error"]["code"], -32600);
    host.say("");
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(host.close(), Vec::<Json>::new(), "a cancelled request has no answer");
}

#[test]
fn while_the_server_is_away_every_request_gets_advice() {
    let mut ground = ClientServer::small("mcp-away");
    // No server has ever run there.
    let none = scratch("mcp-none");
    let mut command = binary(&["mcp", "--data"]);
    command.arg(none.join("data")).env("TRACKSIDE_TOKEN", "x");
    let mut host = Host::of(command);
    let refused = host.shake_hands();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("no server is running in this folder"), "{refused}");
    assert!(message.contains("Ask the person") && !message.contains("trackside up"), "{refused}");
    host.close();
    // Without a token it never acts as the owner, even where the folder has an owner's token.
    let mut host = Host::of(ground.command(&["mcp"]));
    let refused = host.shake_hands();
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("TRACKSIDE_TOKEN is not set"),
        "{refused}"
    );
    host.close();
    // A token that is not good.
    let mut host = Host::as_agent(&ground, "ts_000000000000_00");
    let refused = host.shake_hands();
    assert!(refused["error"]["message"].as_str().unwrap().contains("trackside token create"), "{refused}");
    assert_eq!(refused["error"]["data"]["code"], "unauthorized");
    host.close();
    // The server stops, and comes back on another port.
    let mut host = Host::as_agent(&ground, &ground.owner());
    host.shake_hands();
    ground.stop();
    let refused = host.ask("tools/list", json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Ask the person"), "{refused}");
    let pack = ground.root.join("small").to_str().unwrap().to_owned();
    let again = ClientServer::start(ground.root.clone(), &pack);
    assert_eq!(host.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 11);
    host.close();
    drop(again);
}

#[test]
fn nothing_but_messages_goes_to_standard_output() {
    let ground = ClientServer::small("mcp-quiet");
    let mut command = ground.command(&["mcp"]);
    command.env("TRACKSIDE_URL", "http://127.0.0.1:9").env("TRACKSIDE_TOKEN", "x");
    let heard = run_command(command);
    assert_eq!((heard.code, heard.data.as_str()), (0, ""));
}
