//! The leases that a runner renews: its own, its agent's registration, and the agent's work.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::server_api::{ApiError, EntityView, RequestActor, ServerApi};

/// The longest and the shortest time between two heartbeats.
const SLOWEST: Duration = Duration::from_secs(10);
const FASTEST: Duration = Duration::from_millis(300);
/// How long before the server's deadline a process must be gone.
const MARGIN: Duration = Duration::from_secs(5);

/// One lease.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct HeldLease {
    pub actor: RequestActor,
    pub lifecycle: String,
    pub id: String,
    pub slot: String,
    pub fence: u64,
    /// Milliseconds that it lasts without a heartbeat.
    pub length: u64,
}

impl HeldLease {
    /// The lease that an entity was just granted to a holder with.
    pub fn of(entity: &EntityView, actor: RequestActor, holder: &str) -> Option<Self> {
        let lease = entity.lease_of(holder)?;
        let moment = |it: &str| it.parse::<jiff::Timestamp>().ok();
        let length = moment(&lease.expires_at)?.duration_since(moment(&entity.updated_at)?).as_millis();
        Some(Self {
            actor,
            lifecycle: entity.lifecycle.clone(),
            id: entity.id.clone(),
            slot: lease.slot.clone(),
            fence: lease.fence,
            length: u64::try_from(length).unwrap_or(0).max(1_000),
        })
    }

    pub fn is_of(&self, lifecycle: &str, id: &str) -> bool {
        self.lifecycle == lifecycle && self.id == id
    }
}

/// What the heartbeats of all leases brought.
#[derive(Debug, Default)]
pub struct BeatReport {
    /// The holder should stop, and why.
    pub stop: Option<String>,
    /// A lease that the server refuses to renew: its entity and why.
    pub lost: Option<(HeldLease, String)>,
    pub notices: Vec<String>,
}

/// All leases, and when they were last renewed.
#[derive(Debug, Default)]
pub struct HeldLeases {
    leases: Vec<(HeldLease, Instant)>,
    next: Option<Instant>,
    failures: u32,
}

impl HeldLeases {
    pub fn add(&mut self, lease: HeldLease) {
        self.remove(&lease.lifecycle, &lease.id);
        self.leases.push((lease, Instant::now()));
        self.next = None;
    }

    pub fn remove(&mut self, lifecycle: &str, id: &str) {
        self.leases.retain(|(it, _)| !it.is_of(lifecycle, id));
    }

    pub fn get(&self, lifecycle: &str, id: &str) -> Option<&HeldLease> {
        self.leases.iter().map(|(it, _)| it).find(|it| it.is_of(lifecycle, id))
    }

    /// Sends the next heartbeats now.
    pub fn hurry(&mut self) {
        if self.failures == 0 {
            self.next = None;
        }
    }

    /// Whether the last heartbeats did not reach the server.
    pub fn is_server_away(&self) -> bool {
        self.failures > 0
    }

    /// How long a process may still run by what the server last confirmed.
    pub fn time_left(&self) -> Duration {
        let left = |(lease, renewed): &(HeldLease, Instant)| {
            let deadline = *renewed + Duration::from_millis(lease.length);
            deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN)
        };
        self.leases.iter().map(left).min().unwrap_or(SLOWEST * 6)
    }

    /// Sends heartbeats if they are due. `None` if they are not.
    pub fn beat(&mut self, api: &ServerApi) -> Option<Result<BeatReport, ApiError>> {
        if self.next.is_some_and(|it| Instant::now() < it) {
            return None;
        }
        let shortest = self.leases.iter().map(|(it, _)| it.length / 3).min().unwrap_or(u64::MAX);
        let pause = Duration::from_millis(shortest).clamp(FASTEST, SLOWEST);
        self.next = Some(Instant::now() + pause);
        let answer = self.send(api);
        match answer {
            Err(ApiError::Unreachable(_)) => {
                self.failures += 1;
                let pause = FASTEST * 2u32.saturating_pow(self.failures.min(5));
                self.next = Some(Instant::now() + pause.min(SLOWEST));
            }
            _ => self.failures = 0,
        }
        Some(answer)
    }

    fn send(&mut self, api: &ServerApi) -> Result<BeatReport, ApiError> {
        let mut report = BeatReport::default();
        if self.leases.is_empty() {
            return Ok(report);
        }
        let sent = Instant::now();
        let all: Vec<HeldLease> = self.leases.iter().map(|(it, _)| it.clone()).collect();
        for ((lease, renewed), answer) in self.leases.iter_mut().zip(api.heartbeats(&all)?) {
            match answer {
                Ok(answer) => {
                    *renewed = sent;
                    if let Some(stop) = answer.stop {
                        report.stop.get_or_insert(stop.why);
                    }
                    report.notices.extend(answer.notices.into_iter().map(|it| it.message));
                }
                Err(refused @ ApiError::Refused(_)) => {
                    report.lost.get_or_insert((lease.clone(), refused.words()));
                }
                Err(unreachable) => return Err(unreachable),
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;

    use serde_json::{Value, json};
    use trackside_protocol::Client;

    use super::*;

    /// A server that answers each request in turn, and passes its path and body on.
    fn server(answers: Vec<Value>) -> (String, mpsc::Receiver<(String, Value)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let (mut path, mut line, mut length) = (String::new(), String::new(), 0);
                reader.read_line(&mut path).unwrap();
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(it) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = it.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                sender.send((path, serde_json::from_slice(&body).unwrap())).unwrap();
                let text = answer.to_string();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                write!(reader.get_mut(), "{head}Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
            }
        });
        (url, requests)
    }

    fn lease(actor: RequestActor, lifecycle: &str) -> HeldLease {
        HeldLease {
            actor,
            lifecycle: lifecycle.to_owned(),
            id: "X".to_owned(),
            slot: "work".to_owned(),
            fence: 7,
            length: 60_000,
        }
    }

    #[test]
    fn one_request_renews_all_leases_and_each_has_its_own_answer() {
        let renewed = |more: Value| {
            let mut answer = json!({ "status": 200, "expiresAt": "2026-01-01T00:01:00Z" });
            answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            answer
        };
        let stale = json!({
            "type": "x", "title": "Stale fence", "status": 409, "detail": "bob has it", "code": "stale-fence",
            "success": false, "errors": [], "allowedTransitions": [],
        });
        let results = json!([
            renewed(json!({ "notices": [{ "message": "a word" }] })),
            renewed(json!({ "stop": { "why": "paused" } })),
            stale,
        ]);
        // An answer that is neither counts as no answer.
        let (url, requests) =
            server(vec![json!({ "results": results }), json!({ "results": [{ "status": 200 }] })]);
        let api = ServerApi::new(&Client::new(&url, "token"), "ada");
        let mut leases = HeldLeases::default();
        leases.add(lease(RequestActor::Runner, "fleet.runner"));
        leases.add(lease(RequestActor::Agent, "coding.agent"));
        leases.add(lease(RequestActor::Agent, "coding.task"));
        let report = leases.beat(&api).unwrap().unwrap();
        assert_eq!(
            (report.stop.as_deref(), &report.notices[..]),
            (Some("paused"), &["a word".to_owned()][..])
        );
        let (lost, why) = report.lost.unwrap();
        assert_eq!((lost.lifecycle.as_str(), why.as_str()), ("coding.task", "bob has it"));
        let (path, body) = requests.recv().unwrap();
        assert!(path.starts_with("POST /v1/batch "), "{path}");
        let sent = body["commands"].as_array().unwrap();
        let of = |it: &Value| (it["lifecycle"].clone(), it["for"].clone(), it["heartbeat"]["fence"].clone());
        assert_eq!(sent.len(), 3);
        assert_eq!(of(&sent[0]), (json!("fleet.runner"), Value::Null, json!(7)));
        assert_eq!(of(&sent[2]), (json!("coding.task"), json!("ada"), json!(7)));

        leases.remove("coding.agent", "X");
        leases.remove("coding.task", "X");
        leases.hurry();
        assert!(leases.beat(&api).unwrap().is_err());
        assert!(leases.is_server_away());
    }
}
