//! Shared fixtures: a running server, people and agents with tokens, and short request functions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{Client, ClientError, HttpReply, Problem};
use trackside_runtime::{Options, PackSource, ProjectClock, Runtime};
use trackside_server::{OwnerTokenUse, Server, ServerLimits, ServerOptions, WebhookOptions};
use trackside_store::{Sqlite, SqliteOptions};

/// A server that runs until this is dropped.
pub(crate) struct RestServer {
    pub data: PathBuf,
    pub address: SocketAddr,
    /// The link that it printed.
    pub sign_in: String,
    pub owner: Client,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Whether the folder is kept after the test.
    keeps: bool,
    webhooks: WebhookOptions,
    project: Option<PathBuf>,
}

impl RestServer {
    pub fn new() -> Self {
        Self::with(ServerLimits::default())
    }

    pub fn with(limits: ServerLimits) -> Self {
        Self::set_up(|options| options.limits = limits)
    }

    /// A server with these webhook options.
    pub fn telling(webhooks: WebhookOptions) -> Self {
        Self::set_up(|options| options.webhooks = webhooks)
    }

    /// A server with changed options.
    pub fn set_up(change: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::listening("127.0.0.1:0", change)
    }

    /// A server that listens on another address.
    pub fn listening(listen: &str, change: impl FnOnce(&mut ServerOptions)) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let data = std::env::temp_dir().join(format!("trackside-rest-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).unwrap();
        let mut options = ServerOptions::new(data);
        change(&mut options);
        Self::on(options, listen)
    }

    fn on(options: ServerOptions, listen: &str) -> Self {
        let data = options.data.clone();
        let webhooks = options.webhooks.clone();
        let project = options.project.clone();
        let (told, heard) = std::sync::mpsc::channel();
        let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
        let (folder, listen) = (data.clone(), listen.to_owned());
        let thread = std::thread::spawn(move || {
            let store = Arc::new(Sqlite::open(&folder, SqliteOptions::default()).unwrap());
            let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
            let how = Options { clock: ProjectClock::manual(start), ..Options::default() };
            let packs = ["mission", "coding"].map(|it| PackSource::read(&packs().join(it)).unwrap());
            let runtime = Arc::new(Runtime::start(store, &packs, how).unwrap());
            let server = Server::new(runtime.clone(), options).unwrap();
            let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            tokio.block_on(async {
                let bound = server.bind(&listen).await.unwrap();
                let file = folder.join("token");
                let known = std::fs::read_to_string(&file).ok();
                let token = bound.owner_token(OwnerTokenUse::Script, known.as_deref()).await.unwrap();
                std::fs::write(&file, token).unwrap();
                told.send((bound.address, bound.sign_in.clone().unwrap())).unwrap();
                let stopped = async {
                    stopping.await.ok();
                };
                bound.run(stopped, Duration::from_secs(1)).await.unwrap();
            });
            tokio.shutdown_timeout(Duration::from_secs(5));
        });
        let (address, sign_in) = heard.recv().unwrap();
        let token = std::fs::read_to_string(data.join("token")).unwrap();
        let owner = Client::new(&format!("http://{address}"), token.trim());
        // It has written its address once it answers.
        owner.get("/healthz").unwrap();
        let thread = Some(thread);
        Self { data, address, sign_in, owner, stop: Some(stop), thread, keeps: false, webhooks, project }
    }

    /// Stops the server and starts it again on the same folder.
    pub fn restart(self) -> Self {
        self.restarted_after(|_| {})
    }

    /// Restarts the server, with a change to the folder in between.
    pub fn restarted_after(mut self, meanwhile: impl FnOnce(&Path)) -> Self {
        self.keeps = true;
        let (data, webhooks) = (self.data.clone(), self.webhooks.clone());
        let project = self.project.clone();
        drop(self);
        meanwhile(&data);
        let mut options = ServerOptions::new(data);
        options.webhooks = webhooks;
        options.project = project;
        Self::on(options, "127.0.0.1:0")
    }

    /// A client with a token of its own.
    pub fn actor(&self, token: Json) -> Client {
        self.client(&self.mint_token(token))
    }

    /// The text of a new token.
    pub fn mint_token(&self, token: Json) -> String {
        let made = self.owner.post("/v1/tokens", &token).unwrap();
        made.body["token"].as_str().unwrap().to_owned()
    }

    pub fn client(&self, token: &str) -> Client {
        Client::new(&format!("http://{}", self.address), token)
    }

    pub fn person(&self, id: &str) -> Client {
        self.actor(json!({ "actor": id, "kind": "human" }))
    }

    pub fn agent(&self, id: &str, role: &str) -> Client {
        self.actor(json!({ "actor": id, "kind": "agent", "roles": [role] }))
    }

    /// Sends a request with this `Host`.
    pub fn raw_to(&self, host: &str, head: &str) -> RawAnswer {
        self.raw_at(Some(host), head, b"")
    }

    /// Sends a raw request, and returns the whole answer.
    pub fn raw(&self, head: &str, body: &[u8]) -> RawAnswer {
        self.raw_at(Some(&self.address.to_string()), head, body)
    }

    /// Sends a raw request with this `Host`.
    pub fn raw_at(&self, host: Option<&str>, head: &str, body: &[u8]) -> RawAnswer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let host = host.map(|it| format!("\r\nHost: {it}")).unwrap_or_default();
        let head = format!("{head}{host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        // A server that rejects early may close before the request is complete.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        RawAnswer::of(&all)
    }

    /// Sends a raw request whose answer does not end, and returns the part that arrives until it pauses.
    pub fn raw_begin(&self, head: &str) -> RawAnswer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "{head}\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (mut all, mut piece) = (Vec::new(), [0; 65_536]);
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            all.extend_from_slice(&piece[..read]);
            if all.windows(4).any(|it| it == b"\r\n\r\n") {
                stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            }
        }
        RawAnswer::of(&all)
    }
}

impl Drop for RestServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        if !self.keeps {
            let _ = std::fs::remove_dir_all(&self.data);
        }
    }
}

/// An answer with its headers.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl RawAnswer {
    fn of(all: &[u8]) -> Self {
        let end = all.windows(4).position(|it| it == b"\r\n\r\n").expect("an answer");
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: all[end + 4..].to_vec() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|it| it.split_once(": "));
        lines.filter(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// The folder of the packs.
pub(crate) fn packs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs")
}

/// Why not, if it was refused.
pub(crate) fn refused(outcome: Result<HttpReply, ClientError>) -> Problem {
    match outcome {
        Err(ClientError::Refused(problem)) => *problem,
        other => panic!("this should have been refused: {other:?}"),
    }
}

/// A status and a code.
pub(crate) fn why(outcome: Result<HttpReply, ClientError>) -> (u16, String) {
    let problem = refused(outcome);
    (problem.status, problem.code)
}

/// The values of one member of a list's items.
pub(crate) fn each<'a>(list: &'a Json, member: &str) -> Vec<&'a str> {
    let items = list["items"].as_array().unwrap_or_else(|| panic!("no items in {list}"));
    items.iter().filter_map(|it| it[member].as_str()).collect()
}

/// Waits until a condition holds.
pub fn until(holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the condition did not become true");
}
