//! The state that every handler shares.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use trackside_engine::settings::effective;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_runtime::{Gateway, Reads, Runtime};

use crate::artifact_use::ArtifactUse;
use crate::auth::{Access, FailedSignIns, PACK, UnknownTokenLimiter};
use crate::backup_schedule::BackupSchedule;
use crate::delivery::DeliveryService;
use crate::large_answers::LargeAnswers;
use crate::limits::ServerLimits;
use crate::middleware::KeptAnswers;
use crate::problem::Refused;
use crate::quotas::Quotas;
use crate::serve::{ServeError, reachable_address};
use crate::server_key::ServerKey;
use crate::sign_on::{Oidc, OidcOptions, ProxyOptions, ProxySessions};
use crate::telemetry::{LogOptions, RunFigures, Telemetry, TraceOptions, current, on_thread};
use crate::tls::Tls;
use crate::transcripts::Transcripts;
use crate::webhooks::{WebhookOptions, Webhooks};

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The data folder of the project.
    pub data: PathBuf,
    /// Hosts it accepts besides loopback names and its own address.
    pub hosts: Vec<String>,
    /// Limits; settings of the project override them.
    pub limits: ServerLimits,
    /// Most open connections that the system has room for; the settings cannot exceed it.
    pub most_connections: usize,
    /// Whether `/metrics` needs no token.
    pub open_metrics: bool,
    /// The TLS certificate; none for plain HTTP.
    pub tls: Option<Tls>,
    /// The log on standard error.
    pub log: LogOptions,
    /// The file for the log lines that packs declare; none for no file.
    pub pack_log: Option<PathBuf>,
    /// The collector for traces; none for no traces.
    pub traces: Option<TraceOptions>,
    pub webhooks: WebhookOptions,
    /// The interval at which failed sign-ins are recorded.
    pub record_failures: Duration,
    /// Reverse proxies whose headers are believed.
    pub proxy: ProxyOptions,
    /// The OpenID provider of people; none if there is none.
    pub oidc: Option<OidcOptions>,
    /// Backups that the server makes by itself.
    pub backups: Option<BackupSchedule>,
    /// The folder of the project, whose control files are watched; none if it has no folder of its own.
    pub project: Option<PathBuf>,
}

impl ServerOptions {
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            hosts: Vec::new(),
            limits: ServerLimits::default(),
            most_connections: usize::MAX,
            open_metrics: false,
            tls: None,
            log: LogOptions::default(),
            pack_log: None,
            traces: None,
            webhooks: WebhookOptions::default(),
            record_failures: Duration::from_secs(60),
            proxy: ProxyOptions::default(),
            oidc: None,
            backups: None,
            project: None,
        }
    }
}

impl ServerOptions {
    /// The URL scheme.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// The state that every handler shares; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub runtime: Arc<Runtime>,
    pub reads: Reads,
    pub gateway: Gateway,
    pub access: Access,
    pub key: ServerKey,
    pub unknown_tokens: UnknownTokenLimiter,
    pub failed_sign_ins: FailedSignIns,
    pub proxy_sessions: ProxySessions,
    pub oidc: Option<Oidc>,
    pub quotas: Quotas,
    pub large_answers: LargeAnswers,
    pub artifact_use: ArtifactUse,
    pub webhooks: Webhooks,
    pub delivery: DeliveryService,
    pub transcripts: Transcripts,
    pub run_figures: Arc<RunFigures>,
    pub options: ServerOptions,
    pub telemetry: Telemetry,
    pub kept_answers: KeptAnswers,
    /// The address it listens on, once it does.
    pub listens: OnceLock<SocketAddr>,
    /// Open event streams.
    pub streams: Arc<AtomicUsize>,
    /// True once the server is stopping: streams end then.
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
        let delivery =
            DeliveryService::open(&options.data, &options.webhooks).map_err(ServeError::Delivery)?;
        let key = ServerKey::open(&options.data).map_err(|error| ServeError::Key {
            file: options.data.join("server.key").display().to_string(),
            error,
        })?;
        let access = Access::new(runtime.clone(), key.issuer());
        let transcripts = Transcripts::open(&options.data).map_err(ServeError::Transcripts)?;
        let artifact_use = ArtifactUse::open(&options.data).map_err(ServeError::ArtifactUse)?;
        let run_figures = Arc::<RunFigures>::default();
        runtime.observe(run_figures.clone());
        let oidc = options.oidc.clone().map(Oidc::new).transpose().map_err(ServeError::Oidc)?;
        let telemetry = Telemetry::new(options.log, options.traces.clone()).map_err(ServeError::Ended)?;
        let (streams, stopping) = (Arc::default(), watch::Sender::new(false));
        Ok(Self(Arc::new(Inner {
            runtime,
            reads,
            gateway,
            access,
            key,
            unknown_tokens: UnknownTokenLimiter::default(),
            failed_sign_ins: FailedSignIns::default(),
            proxy_sessions: ProxySessions::default(),
            oidc,
            quotas: Quotas::default(),
            large_answers: LargeAnswers::default(),
            artifact_use,
            webhooks,
            delivery,
            transcripts,
            run_figures,
            options,
            telemetry,
            kept_answers: KeptAnswers::default(),
            listens: OnceLock::new(),
            streams,
            stopping,
        })))
    }

    /// The limits in force: the settings of the project, else the configuration.
    pub fn limits(&self) -> ServerLimits {
        match self.reads.project().settings.get(PACK) {
            Some(own) => self.options.limits.changed(own),
            None => self.options.limits,
        }
    }

    /// A duration among the settings of the pack `access`.
    pub fn span_setting(&self, name: &str) -> Span {
        self.setting(PACK, name).as_span().unwrap_or(Span(0))
    }

    /// A setting of a pack; null if it has none of this name.
    pub fn setting(&self, pack: &str, name: &str) -> Value {
        let law = self.runtime.law();
        let setting = law.pack(pack).and_then(|it| it.settings.iter().find(|it| *it.name == *name));
        setting.map_or(Value::Null, |it| effective(it, &Name::new(pack), &self.reads.project(), None))
    }

    /// The URL at which people reach this server, without a slash at the end: the setting `publicUrl`, else the address it
    /// listens on.
    pub fn public_url(&self) -> String {
        let set = self.setting(PACK, "publicUrl");
        let set = set.as_str().map(|it| it.trim_end_matches('/')).unwrap_or_default();
        if set.starts_with("https://") || set.starts_with("http://") {
            return set.to_owned();
        }
        let host = match (self.options.hosts.first(), self.listens.get().copied().map(reachable_address)) {
            (Some(host), Some(address)) => format!("{host}:{}", address.port()),
            (None, Some(address)) => address.to_string(),
            (_, None) => "localhost".to_owned(),
        };
        format!("{}://{host}", self.options.scheme())
    }

    /// Reads the store on a blocking thread.
    pub async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Reads) -> Result<T, trackside_runtime::ReadError> + Send + 'static,
    ) -> Result<T, Refused> {
        let (app, current) = (self.clone(), current());
        let read = tokio::task::spawn_blocking(move || on_thread(current, || question(&app.reads)));
        Ok(read.await.map_err(Refused::broken)??)
    }

    /// Runs other blocking work on a blocking thread.
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
