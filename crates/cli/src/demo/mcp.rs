//! By MCP: this very program as a server of tools over standard input and output, as coding agents start it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::interface::DemoServer;
use super::request::{DemoAnswer, DemoRequest};

/// The protocol version.
const VERSION: &str = "2025-11-25";
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client with its server process.
#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    /// None once the session has ended.
    to: Option<ChildStdin>,
    from: Receiver<Json>,
    asked: u64,
}

impl Session {
    pub fn open(at: DemoServer<'_>, token: &str) -> Result<Self, String> {
        let mut command = Command::new(at.program);
        command.arg("mcp").env("TRACKSIDE_URL", at.url).env("TRACKSIDE_TOKEN", token);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|it| format!("cannot start trackside mcp: {it}"))?;
        let (to, out) = (child.stdin.take(), child.stdout.take());
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for line in out.map(BufReader::new).into_iter().flat_map(BufReader::lines) {
                let Ok(line) = line else { return };
                if let Ok(message) = serde_json::from_str(&line)
                    && tell.send(message).is_err()
                {
                    return;
                }
            }
        });
        let mut session = Self { child, to, from, asked: 0 };
        let client = json!({ "name": "trackside-demo", "version": env!("CARGO_PKG_VERSION") });
        session.call(
            "initialize",
            &json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client }),
        )?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    pub fn ask(&mut self, ask: &DemoRequest) -> Result<DemoAnswer, String> {
        let (name, arguments) = tool(ask).ok_or_else(|| format!("there is no tool of MCP for {ask:?}"))?;
        let result = self.call("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        let response = result.get("structuredContent").cloned().unwrap_or_default();
        if result.get("isError") == Some(&Json::Bool(true)) {
            let problem =
                serde_json::from_value(response).map_err(|it| format!("{name}: {it} in {result}"))?;
            return Ok(DemoAnswer::Refused(Box::new(problem)));
        }
        Ok(match response.get("claimed") {
            Some(Json::Bool(false)) => DemoAnswer::Nothing,
            _ => DemoAnswer::Done(response),
        })
    }

    fn call(&mut self, method: &str, params: &Json) -> Result<Json, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.from.recv_timeout(PATIENCE);
            let message = message.map_err(|_| format!("trackside mcp did not answer {method}"))?;
            if message.get("id").and_then(Json::as_u64) != Some(id) {
                continue;
            }
            return match message.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(format!("{method}: {message}")),
            };
        }
    }

    fn send(&mut self, message: &Json) -> Result<(), String> {
        let Some(to) = &mut self.to else { return Err("the session is over".to_owned()) };
        let sent = writeln!(to, "{message}").and_then(|()| to.flush());
        sent.map_err(|it| format!("trackside mcp has gone: {it}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The end of its input is the end of the session.
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `tool {…}`.
pub(super) fn words(ask: &DemoRequest) -> String {
    match tool(ask) {
        Some((name, arguments)) => format!("{name} {arguments}"),
        None => String::new(),
    }
}

/// The tool and its arguments.
fn tool(ask: &DemoRequest) -> Option<(&'static str, Json)> {
    let name = match ask {
        DemoRequest::Create { .. } => "create",
        DemoRequest::Fire { .. } => "fire",
        DemoRequest::Claim { .. } => "claim",
        DemoRequest::Heartbeat { .. } => "heartbeat",
        DemoRequest::Explain { .. } => "explain",
        DemoRequest::Correct { .. }
        | DemoRequest::Decide { .. }
        | DemoRequest::AnswerEffect { .. }
        | DemoRequest::Advance { .. }
        | DemoRequest::Sweep => {
            return None;
        }
    };
    let mut arguments = json!({ "lifecycle": ask.lifecycle() });
    if let (Some(all), Some(id)) = (arguments.as_object_mut(), ask.entity().map(|it| &it.id)) {
        all.insert("id".to_owned(), json!(id));
    }
    if let (Some(all), Json::Object(body)) = (arguments.as_object_mut(), ask.body()) {
        all.extend(body);
    }
    Some((name, arguments))
}
