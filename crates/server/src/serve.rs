//! Starts the server, serves requests, and stops without losing any.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tracing::instrument::WithSubscriber as _;
use tracing::{error, info, warn};
use trackside_engine::actor::ActorKind;
use trackside_lifecycle::name::Name;
use trackside_runtime::{Failure, Runtime, StartError};

use crate::app::{App, ServerOptions};
use crate::auth::{AccessError, TokenSpec, keep_people};
use crate::connections::answer;
use crate::routes::router;
use crate::systemd;
use crate::webhooks;

/// The interval between checks of the store.
const LOOK: Duration = Duration::from_secs(1);
/// The person who exists from the start.
const OWNER: &str = "owner";

/// Why a server cannot start or run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen on {address}: {error}. Choose another with --listen, or stop the process that uses it"
    )]
    Listen { address: String, error: std::io::Error },
    #[error("cannot write {file}: {error}")]
    Write { file: String, error: std::io::Error },
    #[error("cannot deliver webhooks: {0}")]
    Webhooks(String),
    #[error("the server stopped: {0}")]
    Ended(std::io::Error),
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// A server that does not listen yet.
#[derive(Debug)]
pub struct Server {
    app: App,
}

/// A server that listens and does not serve yet.
#[derive(Debug)]
pub struct BoundServer {
    app: App,
    listener: TcpListener,
    pub address: SocketAddr,
    /// Its URL.
    pub url: String,
    /// A sign-in link for the owner; works once.
    pub sign_in: String,
}

impl Server {
    /// Sets up a server for a running project. Blocks.
    pub fn new(runtime: Arc<Runtime>, options: ServerOptions) -> Result<Self, ServeError> {
        runtime.install(&[crate::auth::pack()])?;
        Ok(Self { app: App::new(runtime, options)? })
    }

    /// Listens, and writes the address and the owner's token to the data folder.
    pub async fn bind(self, listen: &str) -> Result<BoundServer, ServeError> {
        let failed = |error| ServeError::Listen { address: listen.to_owned(), error };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.app.listens.set(address).ok();
        let address = reachable_address(address);
        let data = self.app.options.data.clone();
        ensure_owner(&self.app, &data).await?;
        // Removes people without a valid token from the list before the first request.
        self.app.access.count_people().await?;
        let url = format!("{}://{address}", self.app.options.scheme());
        // Readers of the file assume http unless it contains a scheme.
        let told = if self.app.options.tls.is_some() { url.clone() } else { address.to_string() };
        write(&data.join("address"), &told, false)?;
        let (link, _) = self
            .app
            .access
            .link(Name::new(OWNER), &[Name::new("admin")], Name::new(OWNER), None, None)
            .await?;
        let sign_in = format!("{url}/sign-in?link={}", link.text);
        Ok(BoundServer { app: self.app, listener, address, url, sign_in })
    }
}

impl BoundServer {
    /// Serves until `stop`, then finishes open requests within `patience`.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        patience: Duration,
    ) -> Result<(), ServeError> {
        let dispatch = self.app.telemetry.dispatch.clone();
        self.serve(stop, patience).with_subscriber(dispatch).await
    }

    async fn serve(
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
        tokio::spawn(systemd::keep_alive(
            move || well.runtime.problem().is_none(),
            self.app.stopping.subscribe(),
        ));
        tokio::spawn(webhooks::run(self.app.clone()).with_current_subscriber());
        tokio::spawn(keep_people(self.app.clone()));
        systemd::tell("READY=1");
        let stopping = async move {
            stopping.await;
            systemd::tell("STOPPING=1");
        };
        tokio::spawn(log_trouble(self.app.clone()).with_current_subscriber());
        info!(url = self.url, "listening");
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
                    // Small events must not wait for the acknowledgement of earlier ones.
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
            app.telemetry.finish();
            Ok(())
        });
        sent.await.ok();
        info!(seq = ended.reads.seq(), "stopped");
        served
    }
}

/// The address to connect to from this machine: loopback instead of the unspecified address.
fn reachable_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// Logs when the store becomes unusable, and when it recovers.
async fn log_trouble(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut known: Option<String> = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        let trouble = app.runtime.problem();
        match (&known, &trouble) {
            (None, Some(why)) => error!(why, "the store cannot be used"),
            (Some(_), None) => warn!("the store can be used again"),
            _ => {}
        }
        known = trouble;
    }
}

/// Makes sure that the data folder holds a valid token of the owner.
async fn ensure_owner(app: &App, data: &Path) -> Result<(), ServeError> {
    let file = data.join("token");
    if let Ok(text) = std::fs::read_to_string(&file)
        && app.access.identity(text.trim(), app.reads.now())?.is_some_and(|it| it.is_admin())
    {
        return Ok(());
    }
    let spec = TokenSpec {
        holder: Name::new(OWNER),
        kind: ActorKind::Human,
        roles: vec![Name::new("admin")],
        on_behalf: Vec::new(),
        purpose: "token",
        note: Some("created at the first start".to_owned()),
        expires: None,
        by: Name::new(trackside_engine::actor::ENGINE),
        made_with: None,
    };
    let (secret, _) = app.access.mint(spec, None).await?;
    write(&file, &secret.text, true)
}

/// Writes a file atomically, readable only by its owner if it is secret.
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
