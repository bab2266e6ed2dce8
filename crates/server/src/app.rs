//! What every request can reach.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::event::Entry;
use trackside_runtime::{Gateway, Reads, Runtime};

use crate::auth::{Access, PACK, Strangers};
use crate::limits::Limits;
use crate::problem::Refused;
use crate::rest::Answers;
use crate::serve::ServeError;
use crate::tls::Tls;
use crate::watch::{Log, TraceOptions, Watch, current, on_thread};
use crate::webhooks::{WebhookOptions, Webhooks};

/// The one who acts when the server does.
pub(crate) const OWN: &str = "trackside";

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The folder of the project: artifacts lie in it.
    pub data: PathBuf,
    /// Hosts it answers to beside the loopback names and the address it listens on.
    pub hosts: Vec<String>,
    /// Bounds, where the settings of the project do not say otherwise.
    pub limits: Limits,
    /// Whether `/metrics` needs no token.
    pub open_metrics: bool,
    /// The certificate it shows; none: it speaks in the clear.
    pub tls: Option<Tls>,
    /// What it says while it runs.
    pub log: Log,
    /// Where it sends what requests went through; none: nowhere.
    pub traces: Option<TraceOptions>,
    pub webhooks: WebhookOptions,
}

impl ServerOptions {
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            hosts: Vec::new(),
            limits: Limits::default(),
            open_metrics: false,
            tls: None,
            log: Log::default(),
            traces: None,
            webhooks: WebhookOptions::default(),
        }
    }
}

impl ServerOptions {
    /// How it is spoken to.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// What every request can reach; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub runtime: Arc<Runtime>,
    pub reads: Reads,
    pub gateway: Gateway,
    pub access: Access,
    pub strangers: Strangers,
    pub webhooks: Webhooks,
    pub options: ServerOptions,
    pub watch: Watch,
    /// What was answered to those who asked with a key, where the journal does not tell.
    pub answers: Answers,
    /// Where it listens, once it does.
    pub listens: OnceLock<SocketAddr>,
    /// Streams of events that are open.
    pub streams: Arc<AtomicUsize>,
    /// Whether it is being stopped: streams end then.
    pub stopping: watch::Sender<bool>,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub fn new(runtime: Arc<Runtime>, options: ServerOptions) -> Result<Self, ServeError> {
        let (reads, gateway) = (runtime.reads()?, runtime.gateway()?.clone());
        let webhooks = Webhooks::open(&options).map_err(ServeError::Webhooks)?;
        let access = Access::new(runtime.clone());
        let watch = Watch::new(options.log, options.traces.clone()).map_err(ServeError::Ended)?;
        let (streams, stopping) = (Arc::default(), watch::Sender::new(false));
        Ok(Self(Arc::new(Inner {
            runtime,
            reads,
            gateway,
            access,
            strangers: Strangers::default(),
            webhooks,
            options,
            watch,
            answers: Answers::default(),
            listens: OnceLock::new(),
            streams,
            stopping,
        })))
    }

    /// How much is too much, by now: what the project says, else how the server was set up.
    pub fn limits(&self) -> Limits {
        match self.reads.project().settings.get(PACK) {
            Some(own) => self.options.limits.changed(own),
            None => self.options.limits,
        }
    }

    /// Something happened that the server itself goes by.
    pub fn heard(&self, entries: &[Entry]) {
        self.access.heard(entries);
        Webhooks::heard(self, entries);
    }

    /// A question that reads the store, beside those that wait for nothing.
    pub async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Reads) -> Result<T, trackside_runtime::ReadError> + Send + 'static,
    ) -> Result<T, Refused> {
        let (app, current) = (self.clone(), current());
        let read = tokio::task::spawn_blocking(move || on_thread(current, || question(&app.reads)));
        Ok(read.await.map_err(Refused::broken)??)
    }

    /// Other work that waits, beside what waits for nothing.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let (app, current) = (self.clone(), current());
        tokio::task::spawn_blocking(move || on_thread(current, || work(&app)))
            .await
            .map_err(Refused::broken)?
    }
}

/// The server itself, where it acts.
pub(crate) fn own() -> Actor {
    Actor::new(OWN, ActorKind::System)
}
