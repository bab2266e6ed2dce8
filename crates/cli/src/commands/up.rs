//! `trackside up`: the server.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::{Clock, Options, PackSource, Runtime};
use trackside_server::{Bound, Level, Log, LogForm, ServeError, Server, ServerOptions, Tls};
use trackside_store::{Sqlite, Store as _};

use crate::args::{ClockKind, LogKind, LogLevel, UpArgs};
use crate::folder::{self, Stopped};
use crate::print::{self, Progress};
use crate::{builtin, exit, huge_pages, open_files, traces};

/// Where a manual clock stands at first.
const FIRST: &str = "2026-01-01T00:00:00Z";

pub(crate) fn run(args: &UpArgs) -> u8 {
    match up(args) {
        Ok(()) => exit::DONE,
        Err(stopped) => stopped.told(),
    }
}

fn up(args: &UpArgs) -> Result<(), Stopped> {
    huge_pages::avoid();
    must_be_loopback(&args.listen, args.public)?;
    if args.store != "sqlite" {
        return Err(Stopped::usage(format!(
            "{}: this release keeps projects in SQLite; say --store sqlite",
            args.store
        )));
    }
    let packs = packs(&args.packs)?;
    let runtime = open(&args.data.data, "up", &packs, |store| clock(args, store))?;
    open_files::raise();
    let tokio = threads()?;
    let server = server(args, runtime.clone())?;
    tokio.block_on(serve(args, server))?;
    tokio.shutdown_timeout(Duration::from_secs(1));
    if args.log == LogKind::Text {
        print::message("stopped; everything that was answered is on disk");
    }
    drop(runtime);
    Ok(())
}

/// Opens the folder of a project, which is made if it is not there, and starts the project.
pub(super) fn open(
    folder: &Path,
    doing: &str,
    packs: &[PackSource],
    clock: impl FnOnce(&Sqlite) -> Result<Clock, Stopped>,
) -> Result<Arc<Runtime>, Stopped> {
    let store = Arc::new(Sqlite::open(folder, folder::owned_by(doing))?);
    let clock = clock(&store)?;
    folder::note_clock(folder, &clock)?;
    Ok(Arc::new(start(&store, packs, clock)?))
}

/// Threads that answer, and those beside them that wait for the store; by name, so that one sees who is busy.
pub(super) fn threads() -> Result<tokio::runtime::Runtime, Stopped> {
    let answering = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let started = std::sync::atomic::AtomicUsize::new(0);
    let name = move || match started.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        nth if nth < answering => format!("http-{nth}"),
        nth => format!("reads-{nth}"),
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(answering).thread_name_fn(name).enable_all().build();
    built.map_err(|error| Stopped { why: format!("cannot start threads: {error}"), code: exit::UNREACHABLE })
}

fn server(args: &UpArgs, runtime: Arc<Runtime>) -> Result<Server, Stopped> {
    let mut options = ServerOptions::new(args.data.data.clone());
    options.hosts.clone_from(&args.host);
    options.open_metrics = args.open_metrics;
    options.webhooks.allow_private = args.allow_private_webhooks;
    if let Some(file) = &args.webhook_ca {
        options.webhooks.trust(file).map_err(Stopped::usage)?;
    }
    options.log = log(args);
    options.traces = traces::from(|name| std::env::var(name).ok()).map_err(Stopped::usage)?;
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        options.tls = Some(Tls::read(certificate, key).map_err(Stopped::usage)?);
    }
    Ok(Server::new(runtime, options)?)
}

async fn serve(args: &UpArgs, server: Server) -> Result<(), Stopped> {
    let bound = server.bind(&args.listen).await?;
    greet(args, &bound);
    bound.run(stop(), Duration::from_secs(args.stop_within)).await?;
    Ok(())
}

/// What is said first. A link that lets somebody in is for the eyes of who started it, not for what collects lines.
fn greet(args: &UpArgs, bound: &Bound) {
    if args.log == LogKind::Json {
        let more = [("url", bound.url.as_str().into()), ("version", env!("CARGO_PKG_VERSION").into())];
        let log = Log { level: Level::Info, ..log(args) };
        return log.say(Level::Info, "up", &more);
    }
    print::message(&format!("Trackside is up at {}", bound.url));
    print::message(&format!("  sign in    {}  (once, within 15 minutes)", bound.sign_in));
    print::message(&format!("  token      {}", args.data.data.join("token").display()));
    print::message("  stop       Ctrl-C");
}

fn log(args: &UpArgs) -> Log {
    let form = match args.log {
        LogKind::Text => LogForm::Text,
        LogKind::Json => LogForm::Json,
    };
    let level = match args.log_level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warn,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    };
    Log { form, level }
}

/// Until somebody wants it to end, from the moment of this call on. To be called where tokio is.
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

/// Until somebody wants it to end.
#[cfg(not(unix))]
pub(super) async fn stop() {
    tokio::signal::ctrl_c().await.ok();
}

/// Nobody else is let in by accident.
pub(super) fn must_be_loopback(listen: &str, public: bool) -> Result<(), Stopped> {
    let found = listen.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
    let addresses = found
        .map_err(|error| Stopped::usage(format!("--listen {listen}: {error}. Write it as 127.0.0.1:7420")))?;
    if public || addresses.iter().all(|it| it.ip().is_loopback()) {
        return Ok(());
    }
    Err(Stopped::usage(format!(
        "--listen {listen} can be reached from other machines. Say --public if that is meant, and --host NAME for the name it is reached by"
    )))
}

fn clock(args: &UpArgs, store: &Sqlite) -> Result<Clock, Stopped> {
    let last = folder::stands_at(&args.data.data, store)?;
    let kind = match (args.clock, last) {
        (Some(kind), _) => kind,
        (None, Some(last)) if Clock::is_manual_in(&args.data.data) => {
            return Err(not_by_the_machine(args, last, store.reader()?.head()?.at));
        }
        (None, _) => ClockKind::System,
    };
    if kind == ClockKind::System {
        if args.now.is_some() {
            return Err(Stopped::usage("--now is for the manual clock: add --clock manual"));
        }
        return Ok(Clock::System);
    }
    let text = args.now.as_deref().unwrap_or(FIRST);
    let now = Timestamp::parse(text)
        .ok_or_else(|| Stopped::usage(format!("--now {text}: write a time as in {FIRST}")))?;
    // Time never goes back.
    if let Some(last) = last.filter(|it| args.now.is_some() && *it > now) {
        say(
            args,
            &format!(
                "--now {text} is not heeded: the project is at {last} already, and time never goes back"
            ),
        );
    }
    Ok(Clock::manual(last.map_or(now, |it| it.max(now))))
}

/// A project whose time was moved by hand does not go by the machine's clock unless somebody says so.
fn not_by_the_machine(args: &UpArgs, stands: Timestamp, journal_ends: Option<Timestamp>) -> Stopped {
    let folder = args.data.data.display();
    let then = by_the_machine(Clock::System.now(), stands, journal_ends.unwrap_or(stands));
    Stopped::usage(format!(
        "The project in {folder} lives by a clock that is moved by hand, which stands at {stands}. Nothing was started. \
         Go on with that clock: trackside up --clock manual --data {folder}. \
         Or let it go by the machine's clock from now on: trackside up --clock system --data {folder}. {then}"
    ))
}

/// What becomes of the time of a project that goes by the machine's clock from now on: it is never before the last entry.
fn by_the_machine(now: Timestamp, stands: Timestamp, journal_ends: Timestamp) -> String {
    if now < journal_ends {
        return format!(
            "The machine's clock is behind, at {now}: the time of the project stands still at {journal_ends} then, nothing becomes due, \
             and it goes on when the machine has come to there"
        );
    }
    if now < stands {
        return format!(
            "The machine's clock is behind, at {now}: the time of the project goes back to there then, \
             which it can because nothing has happened in it since {journal_ends}"
        );
    }
    format!(
        "Its time jumps to {now} then, everything that is due until there fires at once, and it does not go back"
    )
}

/// A word to whoever started it, in the form in which it speaks.
fn say(args: &UpArgs, text: &str) {
    match args.log {
        LogKind::Text => print::message(text),
        LogKind::Json => log(args).say(Level::Warn, text, &[]),
    }
}

fn packs(asked: &[String]) -> Result<Vec<PackSource>, Stopped> {
    if asked.is_empty() {
        return Ok(builtin::all());
    }
    asked
        .iter()
        .map(|name| match builtin::pack(name) {
            Some(pack) => Ok(pack),
            None if Path::new(name).exists() => Ok(PackSource::read(Path::new(name))?),
            None => {
                let near = nearest(name, builtin::names()).map(|it| format!(". Did you mean {it}?"));
                let known = || format!(". There is {}", builtin::names().collect::<Vec<_>>().join(", "));
                let hint = near.unwrap_or_else(known);
                let why = format!("{name} is no pack that comes with the program, and no folder{hint}");
                Err(Stopped::usage(why))
            }
        })
        .collect()
}

fn start(store: &Arc<Sqlite>, packs: &[PackSource], clock: Clock) -> Result<Runtime, Stopped> {
    let bar = Progress::new("catching up");
    let options = Options { clock, ..Options::default() };
    let started = Runtime::start_telling(store.clone(), packs, options, &mut |done, all| {
        bar.show(folder::share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    Ok(started?)
}

impl From<ServeError> for Stopped {
    fn from(error: ServeError) -> Self {
        Self { why: error.to_string(), code: exit::UNREACHABLE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machines_clock_does_to_a_time_that_was_moved_by_hand_is_told_as_it_is() {
        let told = |now, stands, ends| by_the_machine(Timestamp(now), Timestamp(stands), Timestamp(ends));
        let jumps = told(90_000, 60_000, 30_000);
        assert!(
            jumps.contains("jumps to 1970-01-01T00:01:30Z") && jumps.contains("fires at once"),
            "{jumps}"
        );
        let back = told(45_000, 60_000, 30_000);
        assert!(back.contains("goes back to there") && back.contains("since 1970-01-01T00:00:30Z"), "{back}");
        let still = told(10_000, 60_000, 30_000);
        assert!(still.contains("stands still at 1970-01-01T00:00:30Z"), "{still}");
        assert!(!still.contains("fires") && !back.contains("fires"));
    }
}
