//! Starts the server, serves requests, and stops without losing any.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tracing::instrument::WithSubscriber as _;
use tracing::{error, info, warn};
use trackside_engine::actor::{ActorKind, CredentialKind};
use trackside_lifecycle::name::Name;
use trackside_protocol::issuer_of;
use trackside_runtime::{Failure, Runtime, StartError};

use crate::app::{App, ServerOptions};
use crate::auth::{AccessError, TERMINAL, TokenSpec, keep_people};
use crate::connections::answer;
use crate::routes::router;
use crate::scrub;
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
    #[error("cannot use the server's key {file}: {error}")]
    Key { file: String, error: std::io::Error },
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

/// The use of a token of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerTokenUse {
    /// By commands that a person types at a terminal.
    Terminal,
    /// By scripts and tests.
    Script,
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

    /// Listens. Requests are served from [`BoundServer::run`] on.
    pub async fn bind(self, listen: &str) -> Result<BoundServer, ServeError> {
        let failed = |error| ServeError::Listen { address: listen.to_owned(), error };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.app.listens.set(address).ok();
        let address = reachable_address(address);
        // Removes people without a valid token from the list before the first request.
        self.app.access.count_people().await?;
        let url = format!("{}://{address}", self.app.options.scheme());
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
    /// The fingerprint of the server's key.
    pub fn fingerprint(&self) -> &str {
        self.app.key.fingerprint()
    }

    /// Whether the project has people already. If not, whoever starts the server is its owner.
    pub fn has_people(&self) -> bool {
        !self.app.reads.people().is_empty()
    }

    /// Whether this is a valid token of the owner for this use, issued by this server.
    pub fn is_owner_token(&self, wanted: OwnerTokenUse, text: &str) -> Result<bool, ServeError> {
        let credential = match wanted {
            OwnerTokenUse::Terminal => CredentialKind::Terminal,
            OwnerTokenUse::Script => CredentialKind::Token,
        };
        let identity = self.app.access.identity(text, self.app.reads.now())?;
        let is_valid = identity.is_some_and(|it| it.is_admin() && it.actor.via == Some(credential));
        Ok(is_valid && issuer_of(text) == Some(self.app.key.issuer()))
    }

    /// A token of the owner for this use: `known` if it is valid, else a new one.
    pub async fn owner_token(
        &self,
        wanted: OwnerTokenUse,
        known: Option<&str>,
    ) -> Result<String, ServeError> {
        if let Some(text) = known
            && self.is_owner_token(wanted, text)?
        {
            return Ok(text.to_owned());
        }
        let (purpose, note) = match wanted {
            OwnerTokenUse::Terminal => (TERMINAL, "the owner at a terminal"),
            OwnerTokenUse::Script => ("token", "the owner, for scripts"),
        };
        let spec = TokenSpec {
            holder: Name::new(OWNER),
            kind: ActorKind::Human,
            roles: vec![Name::new("admin")],
            on_behalf: Vec::new(),
            purpose,
            note: Some(note.to_owned()),
            expires: None,
            by: Name::new(trackside_engine::actor::ENGINE),
            made_with: None,
        };
        Ok(self.app.access.mint(spec, None).await?.0.text)
    }

    /// Revokes a token by its text. Does nothing if it is not valid.
    pub async fn revoke_token(&self, text: &str) -> Result<(), ServeError> {
        if let Some(identity) = self.app.access.identity(text, self.app.reads.now())? {
            self.app.access.revoke(&identity.token).await?;
        }
        Ok(())
    }

    /// Writes the address to the data folder. Readers assume http unless it contains a scheme.
    fn announce(&self) -> Result<(), ServeError> {
        let told = if self.app.options.tls.is_some() { self.url.clone() } else { self.address.to_string() };
        write(&self.app.options.data.join("address"), &told)
    }

    /// Writes the address to the data folder, then serves until `stop`, then finishes open requests within `patience`.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        patience: Duration,
    ) -> Result<(), ServeError> {
        self.announce()?;
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
        tokio::spawn(scrub::run(self.app.clone()).with_current_subscriber());
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

/// Writes a file atomically.
fn write(file: &Path, text: &str) -> Result<(), ServeError> {
    use std::io::Write as _;
    let failed = |error| ServeError::Write { file: file.display().to_string(), error };
    let beside = file.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    std::fs::remove_file(&beside).ok();
    let mut opened = options.open(&beside).map_err(failed)?;
    opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()).map_err(failed)?;
    std::fs::rename(&beside, file).map_err(failed)
}
