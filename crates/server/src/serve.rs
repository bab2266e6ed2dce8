//! Listening, letting requests in, and ending without losing any.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use serde_json::json;
use tokio::net::TcpListener;
use trackside_engine::actor::ActorKind;
use trackside_lifecycle::name::Name;
use trackside_runtime::{Failure, Runtime, StartError};

use crate::app::{App, ServerOptions};
use crate::auth::{AccessError, Minting, keep_people};
use crate::connections::{Timely, answer};
use crate::manners::{heard_out, in_our_form};
use crate::mcp;
use crate::notify;
use crate::problem::Refused;
use crate::request_id;
use crate::routes::router;
use crate::watch::Level;
use crate::webhooks;

/// How often it is looked whether the store can be used.
const LOOK: Duration = Duration::from_secs(1);
/// The person who is there from the start.
const OWNER: &str = "owner";

/// Why a server does not come up.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {address}: {error}. Choose another with --listen, or stop whoever has it")]
    Listen { address: String, error: std::io::Error },
    #[error("cannot write {file}: {error}")]
    Write { file: String, error: std::io::Error },
    #[error("cannot deliver webhooks: {0}")]
    Webhooks(String),
    #[error("it ended: {0}")]
    Ended(std::io::Error),
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// A server that is being set up.
#[derive(Debug)]
pub struct Server {
    app: App,
}

/// One that listens and has not begun to answer.
#[derive(Debug)]
pub struct Bound {
    app: App,
    listener: TcpListener,
    pub address: SocketAddr,
    /// Where it is reached.
    pub url: String,
    /// A way in for the owner, once.
    pub sign_in: String,
}

impl Server {
    /// Sets up a server for a project that runs. It blocks: not for async code.
    pub fn new(runtime: Arc<Runtime>, options: ServerOptions) -> Result<Self, ServeError> {
        runtime.install(&[crate::auth::pack()])?;
        Ok(Self { app: App::new(runtime, options)? })
    }

    /// Listens, and writes where and with which token into the data folder.
    pub async fn bind(self, listen: &str) -> Result<Bound, ServeError> {
        let failed = |error| ServeError::Listen { address: listen.to_owned(), error };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.app.listens.set(address).ok();
        let address = reached(address);
        let data = self.app.options.data.clone();
        owner(&self.app, &data).await?;
        // Whoever has no way in any more does not count from the first request on.
        self.app.access.count_people().await?;
        let url = format!("{}://{address}", self.app.options.scheme());
        // Whoever reads it takes it for plain HTTP, unless it says otherwise.
        let told = if self.app.options.tls.is_some() { url.clone() } else { address.to_string() };
        write(&data.join("address"), &told, false)?;
        let (link, _) = self
            .app
            .access
            .link(Name::new(OWNER), &[Name::new("admin")], Name::new(OWNER), None, None)
            .await?;
        let sign_in = format!("{url}/sign-in?link={}", link.text);
        Ok(Bound { app: self.app, listener, address, url, sign_in })
    }
}

impl Bound {
    /// Answers until `stop` comes, then ends what is under way, within `patience`.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        patience: Duration,
    ) -> Result<(), ServeError> {
        let told = self.app.clone();
        let mut heard = self.app.stopping.subscribe();
        let stopping = async move {
            stop.await;
            told.stopping.send(true).ok();
        };
        let well = self.app.clone();
        tokio::spawn(notify::keep_alive(
            move || well.runtime.trouble().is_none(),
            self.app.stopping.subscribe(),
        ));
        tokio::spawn(webhooks::start(self.app.clone()));
        tokio::spawn(keep_people(self.app.clone()));
        notify::tell("READY=1");
        let stopping = async move {
            stopping.await;
            notify::tell("STOPPING=1");
        };
        tokio::spawn(speak_of_trouble(self.app.clone()));
        self.app.watch.log.say(Level::Info, "listening", &[("url", json!(self.url))]);
        let ended = self.app.clone();
        let (tls, router) = (self.app.options.tls.clone(), router(self.app));
        let limits = ended.clone();
        let patience_with_peers = move || Duration::from_secs(limits.limits().seconds);
        let served = async move {
            match tls {
                Some(tls) => {
                    answer(tls.over(self.listener)?, router, patience_with_peers, stopping).await;
                }
                None => {
                    // An event is small and must not wait for the one before it to be confirmed.
                    let listener = self.listener.tap_io(|it| it.set_nodelay(true).unwrap_or_default());
                    answer(listener, router, patience_with_peers, stopping).await;
                }
            }
            Ok::<(), std::io::Error>(())
        };
        let late = async move {
            heard.wait_for(|it| *it).await.ok();
            tokio::time::sleep(patience).await;
        };
        let served = tokio::select! {
            ended = served => ended.map_err(ServeError::Ended),
            () = late => Ok(()),
        };
        let sent = ended.blocking(|app| {
            app.watch.finish();
            Ok(())
        });
        sent.await.ok();
        ended.watch.log.say(Level::Info, "stopped", &[("seq", json!(ended.reads.seq()))]);
        served
    }
}

/// The address at which one that listens is reached from this machine: everywhere is no place to go to.
fn reached(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// Says when the store cannot be used, and when it can again.
async fn speak_of_trouble(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut known: Option<String> = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        let trouble = app.runtime.trouble();
        match (&known, &trouble) {
            (None, Some(why)) => {
                app.watch.log.say(Level::Error, "the store cannot be used", &[("why", json!(why))])
            }
            (Some(_), None) => app.watch.log.say(Level::Warn, "the store can be used again", &[]),
            _ => {}
        }
        known = trouble;
    }
}

/// Sees to it that the owner's token is in the folder, and good.
async fn owner(app: &App, data: &Path) -> Result<(), ServeError> {
    let file = data.join("token");
    if let Ok(text) = std::fs::read_to_string(&file)
        && app.access.identity(text.trim(), app.reads.now())?.is_some_and(|it| it.is_admin())
    {
        return Ok(());
    }
    let minting = Minting {
        holder: Name::new(OWNER),
        kind: ActorKind::Human,
        roles: vec![Name::new("admin")],
        on_behalf: Vec::new(),
        purpose: "token",
        note: Some("made at the first start".to_owned()),
        expires: None,
        by: Name::new(crate::app::OWN),
        made_with: None,
    };
    let (secret, _) = app.access.mint(minting, None).await?;
    write(&file, &secret.text, true)
}

/// Writes a file whole, for its owner alone if it is secret.
fn write(file: &Path, text: &str, secret: bool) -> Result<(), ServeError> {
    use std::io::Write as _;
    let failed = |error| ServeError::Write { file: file.display().to_string(), error };
    let beside = file.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    std::fs::remove_file(&beside).ok();
    let mut opened = options.open(&beside).map_err(failed)?;
    opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()).map_err(failed)?;
    std::fs::rename(&beside, file).map_err(failed)
}

/// What holds for every request: it is meant for us, it ends in time, and its answer is not misused.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = request_id::of(&request);
    let watched = app.watch.begin(&request, id.as_ref());
    let mut answer = watched.during(guarded(&app, request, next)).await;
    answer = finished(in_our_form(answer));
    request_id::echo(&mut answer, id);
    app.watch.end(watched, &answer);
    answer
}

/// What takes as long as there is something to tell or to do.
const LONG: &[&str] = &[
    mcp::PATH,
    "/v1/events",
    "/v1/clock/advance",
    "/v1/audit/verify",
    "/v1/backup",
    "/v1/migrations",
    "/v1/sweep",
    "/v1/import",
    "/v1/redactions",
];

async fn guarded(app: &App, request: Request, next: Next) -> Response {
    if !is_ours(app, &request) {
        let detail = "This server answers to loopback names, to the address it listens on, and to names given with --host";
        return Refused::new(StatusCode::MISDIRECTED_REQUEST, "foreign-host", detail).into_response();
    }
    let limit = Duration::from_secs(app.limits().seconds);
    let request = Timely::within(request, tokio::time::Instant::now() + limit);
    let takes_long = LONG.contains(&request.uri().path());
    let too_long = |_| {
        let detail = "It took too long. With an idempotency key the same may be asked again safely";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail).into_response()
    };
    let request = match tokio::time::timeout(limit, heard_out(request)).await.map_err(too_long).flatten() {
        Ok(request) => request,
        Err(refused) => return refused,
    };
    match takes_long {
        true => next.run(request).await,
        false => tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(too_long),
    }
}

/// Headers of every answer.
fn finished(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'self'; frame-ancestors 'none'"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Whether the host that is asked for is one of ours: a page of somebody else may lead its own name to us.
fn is_ours(app: &App, request: &Request) -> bool {
    let host = request.headers().get(header::HOST).and_then(|it| it.to_str().ok());
    let Some(host) = host.or_else(|| request.uri().authority().map(|it| it.as_str())) else { return false };
    is_our_name(app, host)
}

/// Whether a host, with or without a port, is one of ours.
pub(crate) fn is_our_name(app: &App, host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.to_ascii_lowercase();
    // No page can lead a number elsewhere.
    let is_where_we_listen = || {
        let ip = name.parse::<IpAddr>().ok();
        ip.is_some() && ip == app.listens.get().map(SocketAddr::ip)
    };
    matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1")
        || is_where_we_listen()
        || app.options.hosts.iter().any(|it| it.eq_ignore_ascii_case(&name))
}
