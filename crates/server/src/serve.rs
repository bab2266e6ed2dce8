//! Starts the server, serves requests, and stops without losing any.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::instrument::WithSubscriber as _;
use tracing::{error, info, warn};
use trackside_engine::actor::{ActorKind, CredentialKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::issuer_of;
use trackside_runtime::{Failure, Runtime, SpaceStatus, StartError};

use crate::app::{App, ServerOptions};
use crate::auth::{AccessError, LinkSpec, TERMINAL, TokenSpec, keep_derived, keep_failures, keep_people};
use crate::backup_schedule;
use crate::connection_slots::{ConnectionLimits, ConnectionSlots, LimitedListener, LimitsNow};
use crate::connections::answer;
use crate::control_files;
use crate::delivery;
use crate::pack_log;
use crate::routes::router;
use crate::scrub;
use crate::systemd;
use crate::transcript_retention;
use crate::webhooks;

/// The interval between checks of the store.
const LOOK: Duration = Duration::from_secs(1);
/// The person who exists from the start.
pub const OWNER: &str = "owner";

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
    #[error("{0}")]
    Oidc(String),
    #[error("cannot deliver webhooks: {0}")]
    Webhooks(String),
    #[error("cannot deliver messages: {0}")]
    Delivery(std::io::Error),
    #[error("cannot read the transcripts in the data folder: {0}")]
    Transcripts(std::io::Error),
    #[error("cannot read artifact-use.log in the data folder: {0}")]
    ArtifactUse(std::io::Error),
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

/// The owner's credential for commands at a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalToken {
    pub token: String,
    /// When to replace it, from now on; none if it does not expire.
    pub rotate_in: Option<Span>,
    /// The text of the token that it replaces. Call [`BoundServer::replace_token`] once the new one is stored.
    pub replaces: Option<String>,
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
    /// A sign-in link for the owner; works once. None if the disk is full.
    pub sign_in: Option<String>,
}

impl Server {
    /// Sets up a server for a running project. Blocks.
    pub fn new(runtime: Arc<Runtime>, options: ServerOptions) -> Result<Self, ServeError> {
        crate::own_packs::install_if_space(&runtime)?;
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
        match self.app.access.count_people().await {
            Ok(()) | Err(AccessError::Failure(Failure::NoSpace(_))) => {}
            Err(error) => return Err(error.into()),
        }
        let url = format!("{}://{address}", self.app.options.scheme());
        let owner = LinkSpec {
            holder: Name::new(OWNER),
            roles: vec![Name::new("admin")],
            by: Name::new(OWNER),
            until: None,
            made_with: None,
        };
        let sign_in = match self.app.access.link(owner, None).await {
            Ok((link, _)) => Some(format!("{url}/sign-in?link={}", link.text)),
            Err(AccessError::Failure(Failure::NoSpace(_))) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(BoundServer { app: self.app, listener, address, url, sign_in })
    }
}

impl BoundServer {
    /// The fingerprint of the server's key.
    pub fn fingerprint(&self) -> &str {
        self.app.key.fingerprint()
    }

    /// Whether the project has people already, or had them under this key: their tokens may have expired. If not, the
    /// person who starts the server is its owner.
    pub fn has_people(&self) -> Result<bool, ServeError> {
        Ok(!self.app.reads.people().is_empty() || (!self.app.key.is_new() && self.app.access.had_people()?))
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

    /// Whether this is a valid token of the owner for any use, also one of an older release.
    pub fn is_any_owner_token(&self, text: &str) -> Result<bool, ServeError> {
        let identity = self.app.access.identity(text, self.app.reads.now())?;
        Ok(identity.is_some_and(|it| it.is_admin() && *it.actor.id == *OWNER))
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
        let (purpose, note, expires) = match wanted {
            OwnerTokenUse::Terminal => {
                let ends = self.app.owner_lifetime().map(|it| self.app.reads.now().plus(it));
                (TERMINAL, "the owner at a terminal", ends)
            }
            OwnerTokenUse::Script => ("token", "the owner, for scripts", None),
        };
        let spec = TokenSpec {
            holder: Name::new(OWNER),
            kind: ActorKind::Human,
            roles: vec![Name::new("admin")],
            on_behalf: Vec::new(),
            purpose,
            note: Some(note.to_owned()),
            expires,
            by: Name::new(trackside_engine::actor::ENGINE),
            minter: None,
            made_with: None,
            scope: None,
        };
        Ok(self.app.access.mint(spec, None).await?.0.text)
    }

    /// The owner's credential for a terminal: `known` if it is valid and has half of its lifetime before it, else a new
    /// one.
    pub async fn terminal_token(&self, known: Option<&str>) -> Result<TerminalToken, ServeError> {
        let mut known = known.map(str::to_owned);
        let is_known = |text: &String| self.is_owner_token(OwnerTokenUse::Terminal, text);
        if !known.as_ref().map(is_known).transpose()?.unwrap_or_default() {
            known = None;
        }
        let lifetime = self.app.owner_lifetime();
        let left = |text: &str| -> Result<Option<Span>, ServeError> {
            let now = self.app.reads.now();
            let ends = self.app.access.identity(text, now)?.and_then(|it| it.expires);
            Ok(ends.map(|it| it.since(now)))
        };
        if let Some(text) = &known {
            let half = lifetime.map(|it| it.0 / 2);
            match (left(text)?, half) {
                (_, None) => {
                    return Ok(TerminalToken { token: text.clone(), rotate_in: None, replaces: None });
                }
                (Some(left), Some(half)) if left.0 > half => {
                    let rotate_in = Some(Span(left.0 - half));
                    return Ok(TerminalToken { token: text.clone(), rotate_in, replaces: None });
                }
                _ => {}
            }
        }
        let token = self.owner_token(OwnerTokenUse::Terminal, None).await?;
        let rotate_in = lifetime.map(|it| Span(it.0 / 2));
        Ok(TerminalToken { token, rotate_in, replaces: known })
    }

    /// Lets an earlier token of the owner end soon, because a new one replaces it.
    pub async fn replace_token(&self, earlier: &str, new: &str) -> Result<(), ServeError> {
        let (access, now) = (&self.app.access, self.app.reads.now());
        if let (Some(old), Some(new)) = (access.identity(earlier, now)?, access.identity(new, now)?)
            && let Some(record) = access.token(&old.token)?
        {
            access.replace(&record, &new.token, self.app.replaced_lifetime()).await?;
        }
        Ok(())
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

    /// Writes the address to the data folder, then serves until `stop`, then finishes open requests within `patience`
    /// and removes the address.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        patience: Duration,
    ) -> Result<(), ServeError> {
        let dispatch = self.app.telemetry.dispatch.clone();
        match self.announce() {
            // Clients that know the URL can still read.
            Err(ServeError::Write { file, error }) if error.kind() == std::io::ErrorKind::StorageFull => {
                tracing::dispatcher::with_default(&dispatch, || {
                    warn!(
                        file,
                        url = self.url,
                        "the disk is full: the address was not written, set TRACKSIDE_URL"
                    );
                });
            }
            announced => announced?,
        }
        let app = self.app.clone();
        let served = self.serve(stop, patience).with_subscriber(dispatch).await;
        // The project is still open, so no other server has written the file.
        std::fs::remove_file(app.options.data.join("address")).ok();
        served
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
        tokio::spawn(delivery::run(self.app.clone()).with_current_subscriber());
        tokio::spawn(keep_people(self.app.clone()));
        tokio::spawn(scrub::run(self.app.clone()).with_current_subscriber());
        tokio::spawn(keep_derived(self.app.clone()));
        tokio::spawn(transcript_retention::run(self.app.clone()).with_current_subscriber());
        let recorded = tokio::spawn(keep_failures(self.app.clone()));
        if let Some(schedule) = self.app.options.backups.clone() {
            tokio::spawn(backup_schedule::run(self.app.clone(), schedule).with_current_subscriber());
        }
        if let Some(root) = self.app.options.project.clone() {
            tokio::spawn(control_files::run(self.app.clone(), root).with_current_subscriber());
        }
        let (end_log, log_ends) = watch::channel(false);
        let pack_log = self.app.options.pack_log.clone().map(|file| {
            let after = self.app.reads.seq();
            tokio::spawn(pack_log::run(self.app.clone(), file, after, log_ends).with_current_subscriber())
        });
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
        let limited = ended.clone();
        let connections: LimitsNow = Arc::new(move || {
            let (limits, most) = (limited.limits(), limited.options.most_connections);
            let all = limits.connections.min(most);
            ConnectionLimits { all, of_address: limits.address_connections.min(all) }
        });
        let slots = ConnectionSlots::default();
        let listener = LimitedListener::new(self.listener, slots, connections, tls.is_none());
        let served = async move {
            match tls {
                Some(tls) => {
                    answer(tls.over(listener)?, router, patience_with_peers, stopping).await;
                }
                None => answer(listener, router, patience_with_peers, stopping).await,
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
        recorded.await.ok();
        end_log.send(true).ok();
        if let Some(pack_log) = pack_log {
            pack_log.await.ok();
        }
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
pub(crate) fn reachable_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// Logs when the store becomes unusable or the machine's clock jumps, and when that ends.
async fn log_trouble(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut known: Option<String> = None;
    let mut jumped = false;
    let mut warned: Vec<String> = Vec::new();
    let mut was_out = false;
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
        let alarm = app.runtime.clock_alarm();
        match (jumped, alarm) {
            (false, Some(alarm)) => {
                error!(why = alarm.to_string(), "project time does not follow the machine's clock")
            }
            (true, None) => warn!("project time follows the machine's clock again"),
            _ => {}
        }
        jumped = alarm.is_some();
        let space = app.runtime.space();
        match &space {
            SpaceStatus::Out(why) if !was_out => error!(why, "commands are refused: there is no space"),
            SpaceStatus::Enough | SpaceStatus::Low(_) if was_out => warn!("commands are accepted again"),
            _ => {}
        }
        was_out = matches!(space, SpaceStatus::Out(_));
        let warnings = app.runtime.warnings();
        if warnings.len() != warned.len() {
            warnings.iter().for_each(|why| warn!(why, "attention"));
        }
        warned = warnings;
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
    match opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()) {
        // An existing file has room for another address.
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            std::fs::remove_file(&beside).ok();
            let mut opened = std::fs::OpenOptions::new().write(true).open(file).map_err(|_| failed(error))?;
            let written = opened.write_all(text.as_bytes()).and_then(|()| opened.set_len(text.len() as u64));
            return written.map_err(failed);
        }
        written => written.map_err(failed)?,
    }
    std::fs::rename(&beside, file).map_err(failed)
}
