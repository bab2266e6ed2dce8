//! MCP at `/mcp`, message by message.

mod claiming;
mod doors;
mod inbox;
mod sizes;
mod tools;
mod versions;
mod waiting;

use serde_json::{Value as Json, json};

use crate::ground::{RawAnswer, RestServer};

/// The protocol with a handshake, and the one without.
const OLDER: &str = "2025-11-25";
pub(crate) const NEWEST: &str = "2026-07-28";

/// Wagons that are claimed, checked, reported on, and approved.
const WAGON: &str = "\
lifecycle: yard.wagon
about: A wagon in the yard.
fields:
  load: { type: string }
  weight: { type: integer, default: 10 }
  checker: { type: string }
  fitter: { type: string, by: engine }
relations: { checks: actor.id == checker }
slots: { work: { for: 1h, holder: fitter, lost: drop } }
rankings: { parked: { in: [PARKED], by: [weight], claims: fix } }
create: { by: human || agent, takes: [load, weight, checker], require: { load: Say what is in it } }
states:
  PARKED: { initial: true }
  FIXING: {}
  CHECKING: {}
  GONE: { final: true, outcome: success }
transitions:
  fix: { from: PARKED, to: FIXING, by: agent, lease: work }
  drop: { from: FIXING, to: PARKED, by: engine }
  done: { from: FIXING, to: CHECKING, by: agent && actor.id == fitter, holding: work }
  leave: { from: CHECKING, to: GONE, by: 'human || actor.id == checker' }
  note: { from: any, by: agent || human, takes: { text: { type: string, required: Say something } }, post: { kind: NOTE, text: '{text}' } }
";

/// A lifecycle that only its holder and admins see.
const CHEST: &str = "\
lifecycle: yard.chest
about: A chest.
read: actor.id == holder || (human && admin)
fields: { holder: { type: string }, secret: { type: string } }
create: { by: human, takes: [holder, secret] }
states: { SHUT: { initial: true }, OPEN: { final: true, outcome: success } }
transitions: { unlock: { from: SHUT, to: OPEN, by: actor.id == holder } }
";

/// A server with the yard.
fn yard() -> RestServer {
    on(RestServer::new())
}

fn on(ground: RestServer) -> RestServer {
    let pack = json!({ "files": {
        "pack.yaml": "pack: yard\nversion: 1\nabout: A yard.\n",
        "lifecycles/wagon.yaml": WAGON,
        "lifecycles/chest.yaml": CHEST,
    } });
    ground.owner.put("/v1/packs/yard", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

fn park(ground: &RestServer, id: &str) {
    let fields = json!({ "load": "coal", "checker": "mia" });
    ground.owner.post("/v1/entities/yard.wagon", &json!({ "id": id, "fields": fields })).unwrap();
}

/// A client that speaks MCP.
pub(crate) struct McpClient<'a> {
    ground: &'a RestServer,
    /// Further headers, each with a line break before it.
    shown: String,
    version: &'static str,
    /// The capabilities that the client declares.
    capabilities: Json,
}

impl<'a> McpClient<'a> {
    pub fn new(ground: &'a RestServer, token: &str, version: &'static str) -> Self {
        let shown = format!("\r\nAuthorization: Bearer {token}");
        Self { ground, shown, version, capabilities: json!({}) }
    }

    fn agent(ground: &'a RestServer, id: &str) -> Self {
        Self::new(ground, &ground.mint_token(json!({ "actor": id, "kind": "agent" })), OLDER)
    }

    /// One message, and the whole answer.
    fn send(&self, method: &str, params: Json) -> RawAnswer {
        let mut params = params;
        let mut head = format!(
            "POST /mcp HTTP/1.1{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream",
            self.shown
        );
        if method != "initialize" {
            head.push_str(&format!("\r\nMCP-Protocol-Version: {}", self.version));
        }
        if self.version == NEWEST {
            head.push_str(&format!("\r\nMcp-Method: {method}"));
            for member in ["name", "taskId"] {
                if let Some(name) = params[member].as_str() {
                    head.push_str(&format!("\r\nMcp-Name: {name}"));
                }
            }
            for (name, value) in [
                ("protocolVersion", json!(NEWEST)),
                ("clientInfo", json!({ "name": "test", "version": "1" })),
                ("clientCapabilities", self.capabilities.clone()),
            ] {
                params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.ground.raw(&head, message.to_string().as_bytes())
    }

    /// All messages of an answer, in order.
    fn call_messages(&self, method: &str, params: Json) -> Vec<Json> {
        let answer = self.send(method, params);
        let text = String::from_utf8(answer.body).unwrap();
        if answer.head.to_ascii_lowercase().contains("content-type: text/event-stream") {
            let events = text.lines().filter_map(|it| it.strip_prefix("data:"));
            return events.filter_map(|it| serde_json::from_str(it.trim()).ok()).collect();
        }
        vec![serde_json::from_str(&text).unwrap_or_else(|it| panic!("{it}: {} {text}", answer.head))]
    }

    fn result(&self, method: &str, params: Json) -> Json {
        let mut heard = self.call_messages(method, params);
        let answer = heard.pop().expect("an answer");
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    fn call(&self, tool: &str, arguments: Json) -> Json {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The result of a tool.
    pub fn tool_result(&self, tool: &str, arguments: Json) -> Json {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    /// Why a tool did not.
    pub fn tool_refusal(&self, tool: &str, arguments: Json) -> Json {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }
}
