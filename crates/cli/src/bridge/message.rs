//! One message, and the headers that HTTP needs beside its text.

use serde_json::{Value as Json, json};

/// Codes of JSON-RPC: it is not JSON, it is not one message, the server turned it down or cannot be reached.
const NOT_JSON: i64 = -32700;
pub(super) const NOT_ONE: i64 = -32600;
pub(super) const TURNED_DOWN: i64 = -32000;

/// The path of the protocol version in a message of the newer protocol.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// A received message.
#[derive(Debug)]
pub(super) struct McpMessage {
    text: Vec<u8>,
    json: Json,
}

impl McpMessage {
    pub fn read(text: Vec<u8>) -> Result<Self, (i64, &'static str)> {
        let Ok(json) = serde_json::from_slice::<Json>(&text) else {
            return Err((NOT_JSON, "Not JSON: send one JSON message per line"));
        };
        if !json.is_object() {
            return Err((NOT_ONE, "A message must be a JSON object: send one at a time"));
        }
        Ok(Self { text, json })
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    fn method(&self) -> Option<&str> {
        self.json.get("method").and_then(Json::as_str)
    }

    /// Its id, if it wants an answer.
    pub fn id(&self) -> Option<&Json> {
        self.json.get("id").filter(|it| self.method().is_some() && !it.is_null())
    }

    pub fn id_text(&self) -> Option<String> {
        self.id().map(Json::to_string)
    }

    /// The id of the request that a cancellation names.
    pub fn gives_up(&self) -> Option<String> {
        let id = self.json.pointer("/params/requestId")?;
        (self.method() == Some("notifications/cancelled")).then(|| id.to_string())
    }

    pub fn is_handshake(&self) -> bool {
        self.method() == Some("initialize")
    }

    /// The protocol version that the message contains.
    pub fn version(&self) -> Option<String> {
        self.json.pointer(VERSION).and_then(Json::as_str).map(str::to_owned)
    }

    /// The headers of its request.
    pub fn headers(&self, version: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("accept", "application/json, text/event-stream".to_owned())];
        let mut put = |name: &'static str, value: Option<&str>| {
            if let Some(value) = value.filter(|it| is_plain(it)) {
                headers.push((name, value.to_owned()));
            }
        };
        put("mcp-protocol-version", version.filter(|_| !self.is_handshake()));
        put("mcp-method", self.method());
        put("mcp-name", self.target_name());
        headers
    }

    /// The name of the tool or resource, for methods that have one.
    fn target_name(&self) -> Option<&str> {
        let member = match self.method()? {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return None,
        };
        self.json.get("params")?.get(member)?.as_str()
    }
}

/// Whether a text is valid in a header without encoding.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic())
}

/// An error as JSON-RPC writes it.
pub(super) fn refusal(id: &Json, code: i64, why: &str, problem: Option<Json>) -> String {
    let mut error = json!({ "code": code, "message": why });
    if let (Json::Object(error), Some(problem)) = (&mut error, problem) {
        error.insert("data".to_owned(), problem);
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}
