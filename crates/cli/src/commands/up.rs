//! `trackside up`: the server.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::{Failure, Options, PackSource, ProjectClock, Runtime, SpaceLimits, SpaceStatus};
use trackside_server::{
    AccessError, BackupSchedule, BoundServer, Level, LogFormat, LogOptions, OidcOptions, PeopleFile,
    ServeError, Server, ServerOptions, Tls, own_pack_names,
};
use trackside_store::{Sqlite, Store as _, backups};

use crate::args::{ClockArg, LogKind, LogLevel, UpArgs};
use crate::folder::{self, CliError};
use crate::pinned_servers::PinnedServer;
use crate::print::{self, ProgressBar};
use crate::styled::{BREAK, Styled};
use crate::{
    builtin, exit, files, huge_pages, open_files, owner_credential, person, project_files, sign_in_options,
    traces,
};

/// The start of a manual clock.
const FIRST: &str = "2026-01-01T00:00:00Z";

pub(crate) fn run(args: &UpArgs) -> u8 {
    match up(args) {
        Ok(()) => exit::DONE,
        Err(stopped) => stopped.report(),
    }
}

fn up(args: &UpArgs) -> Result<(), CliError> {
    huge_pages::avoid();
    must_be_loopback(&args.listen, args.public)?;
    if args.store != "sqlite" {
        return Err(CliError::usage(format!(
            "--store {}: this release supports only sqlite. Leave --store out",
            args.store
        )));
    }
    let packs = packs(&args.packs)?;
    let space =
        SpaceLimits { folder: Some(args.data.data.clone()), quota: args.quota, min_free: args.min_free };
    let runtime = open(&args.data.data, "up", &packs, space, |store| clock(args, store))?;
    if let SpaceStatus::Out(why) = runtime.space() {
        say(args, styled!("warning: the project can be read, but commands are refused: {why}"));
    }
    runtime.warnings().iter().for_each(|it| say(args, styled!("warning: {it}")));
    open_files::raise();
    let tokio = threads()?;
    let server = server(args, runtime.clone())?;
    tokio.block_on(serve(args, server))?;
    tokio.shutdown_timeout(Duration::from_secs(1));
    if args.log == LogKind::Text {
        print::message("stopped; every answered command is on disk");
    }
    drop(runtime);
    Ok(())
}

/// Opens the folder of a project, which is made if it is not there, and starts the project.
pub(super) fn open(
    folder: &Path,
    doing: &str,
    packs: &[PackSource],
    space: SpaceLimits,
    clock: impl FnOnce(&Sqlite) -> Result<ProjectClock, CliError>,
) -> Result<Arc<Runtime>, CliError> {
    let store = Arc::new(Sqlite::open(folder, folder::owned_by(doing))?);
    project_files::write_or_warn(folder);
    for unfinished in backups::remove_unfinished(folder) {
        print::message(styled!("removed the unfinished backup {}", unfinished.display()));
    }
    let clock = clock(&store)?;
    folder::note_clock(folder, &clock)?;
    Ok(Arc::new(start(&store, packs, clock, space)?))
}

/// Threads that wait for the store, at most. Each may hold a reader of it.
const MOST_READING: usize = 128;
/// Open files that connections leave for the store: its readers, journal and artifacts.
const RESERVED_FILES: usize = 512;

/// Threads that answer, and threads that wait for the store; named, so that the busy ones can be
/// identified.
pub(super) fn threads() -> Result<tokio::runtime::Runtime, CliError> {
    let answering = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let started = std::sync::atomic::AtomicUsize::new(0);
    let name = move || match started.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        nth if nth < answering => format!("http-{nth}"),
        nth => format!("reads-{nth}"),
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(answering).max_blocking_threads(MOST_READING).thread_name_fn(name);
    let built = builder.enable_all().build();
    built.map_err(|error| CliError::unreachable(format!("cannot start threads: {error}")))
}

fn server(args: &UpArgs, runtime: Arc<Runtime>) -> Result<Server, CliError> {
    let mut options = ServerOptions::new(args.data.data.clone());
    options.hosts.clone_from(&args.host);
    options.open_metrics = args.open_metrics;
    options.most_connections = open_files::limit().saturating_sub(RESERVED_FILES).max(RESERVED_FILES);
    options.webhooks.allow_private = args.allow_private_webhooks;
    if let Some(file) = &args.webhook_ca {
        options.webhooks.trust(file).map_err(CliError::usage)?;
    }
    options.backups = args.backup_to.as_ref().map(|to| BackupSchedule {
        to: to.clone(),
        every: args.backup_every,
        increment_every: args.backup_increment,
        keep: args.backup_keep as usize,
    });
    options.project = project_folder(&args.data.data);
    options.log = log(args);
    if let Some(file) = &args.pack_log {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        opened.map_err(|error| CliError::usage(files::unwritten(file, &error)))?;
        options.pack_log = Some(file.clone());
    }
    options.traces = traces::from(|name| std::env::var(name).ok()).map_err(CliError::usage)?;
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        options.tls = Some(Tls::read(certificate, key).map_err(CliError::usage)?);
    }
    sign_on(args, &mut options).map_err(CliError::usage)?;
    Ok(Server::new(runtime, options)?)
}

/// The folder of the project, if the data folder is in one.
fn project_folder(data: &Path) -> Option<PathBuf> {
    let data = std::path::absolute(data).ok()?;
    let is_inside = data.file_name().is_some_and(|it| it == ".trackside");
    data.parent().filter(|_| is_inside).map(Path::to_owned)
}

/// Sets up sign-in with an OpenID provider and through reverse proxies.
fn sign_on(args: &UpArgs, options: &mut ServerOptions) -> Result<(), String> {
    let people = args.people.as_deref().map(PeopleFile::read).transpose()?.unwrap_or_default();
    options.proxy.trust(&args.trust_proxy)?;
    if let Some(header) = &args.proxy_user_header {
        options.proxy.accept_user(header)?;
        options.proxy.people = people.clone();
    }
    if let (Some(issuer), Some(client_id)) = (&args.oidc_issuer, &args.oidc_client_id) {
        let secret = args
            .oidc_client_secret_file
            .as_deref()
            .map(|file| std::fs::read_to_string(file).map_err(|it| files::unread(file, &it)));
        options.oidc = Some(OidcOptions {
            issuer: issuer.clone(),
            client_id: client_id.clone(),
            client_secret: secret.transpose()?.map(|it| it.trim().to_owned()),
            scopes: args.oidc_scopes.clone(),
            people,
            trust: args.oidc_ca.clone(),
        });
    }
    Ok(())
}

async fn serve(args: &UpArgs, server: Server) -> Result<(), CliError> {
    let bound = server.bind(&args.listen).await?;
    let is_new = !bound.has_people()?;
    sign_in_options::check(args, &bound, is_new)?;
    let (data, tell) = (&args.data.data, |it: Styled| say(args, it));
    let pinned = match owner_credential::pin(&bound, data, args.token_file.as_deref(), tell).await {
        Err(ServeError::Access(AccessError::Failure(Failure::NoSpace(_)))) => {
            say(args, "warning: the owner's credential was not made: there is no space");
            None
        }
        pinned => pinned?,
    };
    if let Some(pinned) = &pinned {
        owner_credential::retire_old_token(&bound, data, pinned, tell).await?;
    }
    if let Some(path) = &args.token_file {
        owner_credential::write_token_file(&bound, path, is_new).await?;
    }
    greet(args, &bound, pinned.as_ref());
    bound.run(stop(), Duration::from_secs(args.stop_within)).await?;
    Ok(())
}

/// Prints the address. The sign-in link makes its reader the owner: it is printed only for a person at a terminal.
fn greet(args: &UpArgs, bound: &BoundServer, pinned: Option<&PinnedServer>) {
    if args.log == LogKind::Json {
        let more = [("url", bound.url.as_str().into()), ("version", env!("CARGO_PKG_VERSION").into())];
        let log = LogOptions { level: Level::INFO, ..log(args) };
        return log.write(Level::INFO, "up", &more);
    }
    print::message(styled!("Trackside is up at {}", bound.url));
    match (person::check(), &bound.sign_in) {
        (Ok(()), Some(link)) => print::message(styled!("  sign in    {link}  (once, within 15 minutes)")),
        (Ok(()), None) => print::message("  sign in    not possible: there is no space for a link"),
        (Err(_), _) => print::message("  sign in    at a terminal, with: trackside sign-in"),
    }
    if let Some(path) = pinned.and_then(PinnedServer::path) {
        print::message(styled!("  owner      {}", below_home(&path)));
    }
    if let Some(path) = &args.token_file {
        print::message(styled!("  token      {}", path.display()));
    }
    print::message("  stop       Ctrl-C");
}

/// A path as people write it, with `~` for their home folder.
fn below_home(path: &Path) -> String {
    let home = std::env::var_os("HOME").unwrap_or_default();
    match path.strip_prefix(&home) {
        Ok(rest) if !home.is_empty() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

fn log(args: &UpArgs) -> LogOptions {
    let form = match args.log {
        LogKind::Text => LogFormat::Text,
        LogKind::Json => LogFormat::Json,
    };
    let level = match args.log_level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    };
    LogOptions { form, level }
}

/// Completes on SIGINT or SIGTERM, from this call on. Needs a tokio runtime.
#[cfg(unix)]
pub(super) fn stop() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| {
        let signal = signal(kind);
        Box::pin(async move {
            match signal {
                Ok(mut signal) => signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        })
    });
    let [mut interrupt, mut terminate] = heard;
    async move {
        tokio::select! {
            _ = &mut interrupt => {}
            _ = &mut terminate => {}
        }
    }
}

/// Completes on Ctrl-C.
#[cfg(not(unix))]
pub(super) async fn stop() {
    tokio::signal::ctrl_c().await.ok();
}

/// Refuses an address that other machines can reach, unless `--public` is given.
pub(super) fn must_be_loopback(listen: &str, public: bool) -> Result<(), CliError> {
    let found = listen.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
    let addresses = found.map_err(|error| {
        CliError::usage(format!("--listen {listen}: {error}. Write it as 127.0.0.1:7420"))
    })?;
    if public || addresses.iter().all(|it| it.ip().is_loopback()) {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--listen {listen} can be reached from other machines. Add --public to allow that, and --host NAME for the server's host name"
    )))
}

fn clock(args: &UpArgs, store: &Sqlite) -> Result<ProjectClock, CliError> {
    let last = folder::stands_at(&args.data.data, store)?;
    let kind = match (args.clock, last) {
        (Some(kind), _) => kind,
        (None, Some(last)) if ProjectClock::is_manual_in(&args.data.data) => {
            return Err(not_by_the_machine(args, last, store.reader()?.head()?.at));
        }
        (None, _) => ClockArg::System,
    };
    if kind == ClockArg::System {
        if args.now.is_some() {
            return Err(CliError::usage(
                "--now sets a manual clock. Add --clock manual, or leave --now out to use the system clock",
            ));
        }
        return Ok(ProjectClock::System);
    }
    if let Some(last) = last.filter(|_| !ProjectClock::is_manual_in(&args.data.data)) {
        say(args, stops_the_clock(&args.data.data, last));
    }
    let text = args.now.as_deref().unwrap_or(FIRST);
    let now = Timestamp::parse(text)
        .ok_or_else(|| CliError::usage(format!("--now {text}: write a time as in {FIRST}")))?;
    // Time never goes back.
    if let Some(last) = last.filter(|it| args.now.is_some() && *it > now) {
        say(
            args,
            format!("--now {text} is ignored: the project is already at {last}, and time never goes back"),
        );
    }
    Ok(ProjectClock::manual(last.map_or(now, |it| it.max(now))))
}

/// The warning for a project with the system clock that is started with `--clock manual`.
fn stops_the_clock(folder: &Path, last: Timestamp) -> Styled {
    let folder = folder.display();
    styled!(
        "warning: the project in {folder} used the system clock. With --clock manual its time stops at {last}: no deadline, \
         lease or timer ends until you advance it with: trackside clock advance SPAN{BREAK}\
         Return to the system clock with: trackside up --clock system --data {folder}"
    )
}

/// The error for a project with a manual clock that is started without `--clock`.
fn not_by_the_machine(args: &UpArgs, stands: Timestamp, journal_ends: Option<Timestamp>) -> CliError {
    let folder = args.data.data.display();
    let then = by_the_machine(ProjectClock::System.now(), stands, journal_ends.unwrap_or(stands));
    CliError::usage(styled!(
        "The project in {folder} has a manual clock, at {stands}. The server was not started.{BREAK}\
         Keep the manual clock with: trackside up --clock manual --data {folder}{BREAK}\
         Switch to the system clock with: trackside up --clock system --data {folder}{BREAK}{then}"
    ))
}

/// Describes how switching to the system clock moves the project's time, which is never before the last
/// entry.
fn by_the_machine(now: Timestamp, stands: Timestamp, journal_ends: Timestamp) -> String {
    if now < journal_ends {
        return format!(
            "The system clock is behind, at {now}: project time would continue from {journal_ends} with an alarm, \
             until you run `trackside clock reset` or the system clock is set"
        );
    }
    if ProjectClock::is_too_far_ahead(now, journal_ends) {
        return format!(
            "The system clock is far ahead, at {now}: project time would continue from {journal_ends} with an alarm, \
             until you run `trackside clock accept`"
        );
    }
    if now < stands {
        return format!(
            "The system clock is behind, at {now}: project time would go back to it, \
             which is safe because nothing has happened since {journal_ends}"
        );
    }
    format!(
        "Project time would jump to {now}, and every timer due until then would fire at once. This cannot be undone"
    )
}

/// Prints or logs a warning, depending on the log format.
fn say(args: &UpArgs, text: impl Into<Styled>) {
    let text = text.into();
    match args.log {
        LogKind::Text => print::message(text),
        LogKind::Json => log(args).write(Level::WARN, &text.plain(), &[]),
    }
}

fn packs(asked: &[String]) -> Result<Vec<PackSource>, CliError> {
    if asked.is_empty() {
        return Ok(builtin::all());
    }
    // The server's own packs are always in force.
    let is_own = |name: &String| own_pack_names().any(|it| it == name) && !Path::new(name).exists();
    asked
        .iter()
        .filter(|it| !is_own(it))
        .map(|name| match builtin::pack(name) {
            Some(pack) => Ok(pack),
            None if Path::new(name).exists() => Ok(PackSource::read(Path::new(name))?),
            None => {
                let near = nearest(name, builtin::names()).map(|it| format!(". Did you mean {it}?"));
                let known =
                    || format!(". Built-in packs: {}", builtin::names().collect::<Vec<_>>().join(", "));
                let hint = near.unwrap_or_else(known);
                let why = format!("{name} is neither a built-in pack nor a folder{hint}");
                Err(CliError::usage(why))
            }
        })
        .collect()
}

fn start(
    store: &Arc<Sqlite>,
    packs: &[PackSource],
    clock: ProjectClock,
    space: SpaceLimits,
) -> Result<Runtime, CliError> {
    let bar = ProgressBar::new("catching up");
    let options = Options { clock, space, ..Options::default() };
    let started = Runtime::start_telling(store.clone(), packs, options, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    Ok(started?)
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        Self { why: Styled::block(&error.to_string()), code: exit::UNREACHABLE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_of_the_system_clock_on_a_manual_time_is_described() {
        let response = |now, stands, ends| by_the_machine(Timestamp(now), Timestamp(stands), Timestamp(ends));
        let jumps = response(90_000, 60_000, 30_000);
        assert!(jumps.contains("jump to 1970-01-01T00:01:30Z") && jumps.contains("fire at once"), "{jumps}");
        let back = response(45_000, 60_000, 30_000);
        assert!(back.contains("go back to it") && back.contains("since 1970-01-01T00:00:30Z"), "{back}");
        let still = response(10_000, 60_000, 30_000);
        assert!(still.contains("continue from 1970-01-01T00:00:30Z"), "{still}");
        assert!(!still.contains("at once") && !back.contains("at once"));
    }
}
