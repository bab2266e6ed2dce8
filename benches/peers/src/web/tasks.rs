//! Tasks of the mission pack in a cycle, as requests: the commands of the in-process bench, over HTTP.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value as Json, json};

use super::child::post;
use super::load::HttpTarget;
use super::wire::{ConnectionReply, HttpConnection};
use crate::BenchError;
use crate::subject::{CommandOutcome, LoadCommand};
use crate::trackside::{AGENTS, STEPS};

/// People who assign, because the rate of one actor is limited.
const LEADS: u64 = 64;

/// The requests, and the next step of each task.
pub(crate) struct Tasks {
    host: SocketAddr,
    next: Vec<AtomicU8>,
    agents: Vec<String>,
    leads: Vec<String>,
}

impl Tasks {
    /// All tasks are assigned; the owner creates tokens for all actors.
    pub async fn of(host: SocketAddr, owner: &str, entities: u64) -> Result<Self, BenchError> {
        let mut wire = HttpConnection::open(host).await.map_err(BenchError::other)?;
        let headers = format!("authorization: Bearer {owner}\r\n");
        let mut made = Vec::new();
        let agents = (0..AGENTS).map(
            |n| json!({ "actor": format!("agent-{n}"), "kind": "agent", "roles": ["mission:specialist"] }),
        );
        let leads = (0..LEADS).map(|n| json!({ "actor": format!("hank-{n}"), "kind": "human" }));
        for body in agents.chain(leads) {
            let result =
                post(&mut wire, host, "/v1/tokens", &headers, &body).await.map_err(BenchError::other)?;
            let text = |body: &[u8]| {
                Some(serde_json::from_slice::<Json>(body).ok()?.get("token")?.as_str()?.to_owned())
            };
            match text(&result.1) {
                Some(token) if result.0 == 201 => made.push(token),
                _ => {
                    return Err(BenchError::other(format!(
                        "no token was made: {}",
                        String::from_utf8_lossy(&result.1)
                    )));
                }
            }
        }
        let leads = made.split_off(AGENTS as usize);
        let next = (0..entities).map(|_| AtomicU8::new(0)).collect();
        Ok(Self { host, next, agents: made, leads })
    }

    pub fn entities(&self) -> u64 {
        self.next.len() as u64
    }

    fn step(&self, n: u64) -> u8 {
        self.next.get(n as usize).map_or(0, |it| it.load(Ordering::Relaxed))
    }
}

impl HttpTarget for Tasks {
    fn request(&self, ask: LoadCommand, to: &mut Vec<u8>) {
        let n = ask.entity(self.entities());
        let agent = n % AGENTS;
        let lead = (ask.nth.wrapping_add(u64::from(ask.caller)) % LEADS) as usize;
        let mut fields = [0_u8; 96];
        let (token, body) = match self.step(n) {
            0 => (self.agents.get(agent as usize), START.as_bytes()),
            1 => (self.agents.get(agent as usize), BLOCK.as_bytes()),
            _ => {
                let room = fields.len();
                let mut left = fields.as_mut_slice();
                let _ = write!(left, r#"{{"event":"assign","fields":{{"assigneeIds":["agent-{agent}"]}}}}"#);
                let used = room - left.len();
                (self.leads.get(lead), fields.get(..used).unwrap_or_default())
            }
        };
        let (host, length) = (self.host, body.len());
        let LoadCommand { load, caller, nth, .. } = ask;
        let token = token.map_or("", String::as_str);
        let _ = write!(
            to,
            "POST /v1/entities/mission.task/T-{n}/transitions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nidempotency-key: {load}-{caller}-{nth}\r\ncontent-length: {length}\r\n\r\n"
        );
        to.extend_from_slice(body);
    }

    fn classify_reply(&self, ask: LoadCommand, reply: &ConnectionReply<'_>) -> CommandOutcome {
        match reply.status {
            200 => {
                let n = ask.entity(self.entities());
                if let Some(next) = self.next.get(n as usize) {
                    next.store((next.load(Ordering::Relaxed) + 1) % STEPS, Ordering::Relaxed);
                }
                CommandOutcome::Done
            }
            429 => CommandOutcome::Overloaded,
            400..500 => CommandOutcome::Refused,
            _ => CommandOutcome::Failed,
        }
    }
}

/// The same requests for a control, which ignores the answers.
pub(crate) struct ControlTasks {
    pub tasks: std::sync::Arc<Tasks>,
}

impl HttpTarget for ControlTasks {
    fn request(&self, ask: LoadCommand, to: &mut Vec<u8>) {
        self.tasks.request(ask, to);
    }

    fn classify_reply(&self, _: LoadCommand, reply: &ConnectionReply<'_>) -> CommandOutcome {
        if reply.status == 200 { CommandOutcome::Done } else { CommandOutcome::Failed }
    }
}

const START: &str =
    r#"{"event":"start","fields":{"workPlan":{"bullets":["Read it","Write it","Check it"]}}}"#;
const BLOCK: &str = r#"{"event":"block","fields":{"blockReason":"Waits for the index"}}"#;
