//! `trackside demo`: a small team by itself, on a server of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{Client, NewLink};
use trackside_runtime::{Clock, Runtime};
use trackside_server::{ServeError, Server, ServerOptions};

use super::up;
use crate::args::DemoArgs;
use crate::demo::{self, Ended, Pace, Scene, Story};
use crate::folder::{self, Stopped};
use crate::moment::{list, text};
use crate::print::{self, Colour, painted_data};
use crate::route::Route;
use crate::{builtin, exit};

/// When the story begins: on a Monday morning.
const BEGIN: &str = "2026-01-05T09:00:00Z";
/// How long requests under way may take at the end.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &DemoArgs) -> u8 {
    match demo(args) {
        Ok(code) => code,
        Err(stopped) => stopped.told(),
    }
}

fn demo(args: &DemoArgs) -> Result<u8, Stopped> {
    let wrong = || Stopped::usage(format!("--pace {}: write it as 1s, 500ms or 0, up to 60s", args.pace));
    let pace = Pace::parse(&args.pace).ok_or_else(wrong)?;
    up::must_be_loopback(&args.listen, false)?;
    let scenes = demo::scenes().map_err(stopped)?;
    let threads = up::threads()?;
    // Before there is a folder: whoever interrupts early finds nothing left behind, too.
    let stop = {
        let _inside = threads.enter();
        up::stop()
    };
    let folder = Folder::of(args)?;
    let running = Running::start(&folder.path, &args.listen, &pace, threads, stop)?;
    welcome(args, &running, &folder);
    let ended = match pace.rest(4) {
        true => Story::new(&running.url, &running.token, pace).map_err(stopped)?.play(&scenes),
        false => Ended::Interrupted,
    };
    let code = match &ended {
        Ended::Interrupted => exit::DONE,
        Ended::Otherwise { place, why } => {
            print::message(&format!("this step did not go as scripted: {place}: {why}"));
            exit::REFUSED
        }
        Ended::Played(tally) => {
            let told = format!("{} steps, {} of them refused as they should be", tally.steps, tally.refused);
            let code = verified(&running, &told)?;
            further(args, &running, &folder, &scenes)?;
            code
        }
    };
    running.end(args.once || !matches!(ended, Ended::Played(_)))?;
    if let (Some(path), true) = (&args.data, args.once) {
        print::message(&format!("go on with: trackside up --clock manual --data {}", path.display()));
    }
    Ok(code)
}

fn stopped(why: String) -> Stopped {
    Stopped { why, code: exit::UNREACHABLE }
}

/// The folder of the project; a scratch one goes away with this.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    scratch: bool,
}

impl Folder {
    fn of(args: &DemoArgs) -> Result<Self, Stopped> {
        let Some(path) = &args.data else { return Self::scratch() };
        folder::must_be_free(path)?;
        Ok(Self { path: path.clone(), scratch: false })
    }

    /// A new one that nobody else can look into: the owner's token is in it.
    fn scratch() -> Result<Self, Stopped> {
        let path = std::env::temp_dir().join(format!("trackside-demo-{}", std::process::id()));
        let mut making = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut making, 0o700);
        making.create(&path).map_err(|error| {
            let shown = path.display();
            stopped(format!("cannot make {shown}: {error}. Name a folder with --data"))
        })?;
        Ok(Self { path, scratch: true })
    }

    /// How other commands find it.
    fn flag(&self) -> String {
        format!("--data {}", self.path.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.scratch {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A server that runs beside the story.
struct Running {
    runtime: Arc<Runtime>,
    url: String,
    /// The owner's.
    token: String,
    threads: tokio::runtime::Runtime,
    served: JoinHandle<Result<(), ServeError>>,
    enough: Arc<Notify>,
}

impl Running {
    fn start(
        folder: &Path,
        listen: &str,
        pace: &Pace,
        threads: tokio::runtime::Runtime,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Self, Stopped> {
        let begin = Timestamp::parse(BEGIN).unwrap_or_default();
        let runtime = up::open(folder, "demo", &builtin::all(), |_| Ok(Clock::manual(begin)))?;
        let server = Server::new(runtime.clone(), ServerOptions::new(folder))?;
        let bound = threads.block_on(server.bind(listen))?;
        let token = std::fs::read_to_string(folder.join("token"));
        let token = token.map_err(|error| stopped(format!("cannot read the token: {error}")))?;
        let (url, enough, pace) = (bound.url.clone(), Arc::new(Notify::new()), pace.clone());
        let told = enough.clone();
        let enough_or_stop = async move {
            tokio::select! {
                () = stop => {}
                () = told.notified() => {}
            }
            pace.end();
        };
        let served = threads.spawn(bound.run(enough_or_stop, PATIENCE));
        Ok(Self { runtime, url, token: token.trim().to_owned(), threads, served, enough })
    }

    fn owner(&self) -> Client {
        Client::new(&self.url, &self.token)
    }

    /// Ends, at once or when somebody wants it to.
    fn end(self, now: bool) -> Result<(), Stopped> {
        if now {
            self.enough.notify_one();
        }
        let served = self.threads.block_on(self.served);
        self.threads.shutdown_timeout(Duration::from_secs(1));
        drop(self.runtime);
        served.map_err(|error| stopped(error.to_string()))??;
        Ok(())
    }
}

fn heading(title: &str) {
    print::line("");
    print::line(&painted_data(title, Colour::Bold));
}

fn welcome(args: &DemoArgs, running: &Running, folder: &Folder) {
    print::line(&painted_data("A small team works by itself", Colour::Bold));
    print::line(&format!("  server     {}", running.url));
    let kept = if folder.scratch { "removed at the end" } else { "kept" };
    print::line(&format!("  folder     {}  ({kept})", folder.path.display()));
    print::line(&format!("  watch      trackside watch {}  (in another terminal)", folder.flag()));
    print::line("  time       is moved by hand, so that deadlines and leases run out while you watch");
    let stop = if args.once { "by itself, or with Ctrl-C" } else { "with Ctrl-C" };
    print::line(&format!("  it ends    {stop}"));
}

/// Looks at the journal as a whole.
fn verified(running: &Running, told: &str) -> Result<u8, Stopped> {
    let audit = running.owner().get(Route::new(&["audit", "verify"]).as_str());
    let audit = audit.map_err(|error| stopped(error.to_string()))?.body;
    heading("That was it");
    print::line(&format!("  {told}"));
    match list(&audit, "problems").first() {
        None => {
            let count = audit.get("entries").and_then(serde_json::Value::as_u64).unwrap_or_default();
            print::line(&format!("  the journal has {count} entries, and its hash chain verifies"));
            Ok(exit::DONE)
        }
        Some(first) => {
            print::message(&format!("the journal does not verify: {}", text(first, "message")));
            Ok(exit::REFUSED)
        }
    }
}

/// What to look at next.
fn further(args: &DemoArgs, running: &Running, folder: &Folder, scenes: &[Scene]) -> Result<(), Stopped> {
    if args.once && folder.scratch {
        print::line("  without --once it stays up, to be looked at");
        return Ok(());
    }
    heading("What to look at next, in another terminal");
    let own =
        scenes.iter().flat_map(|it| &it.next).map(|(command, shows)| (command.as_str(), shows.as_str()));
    let all: Vec<(&str, &str)> = own
        .chain([
            ("alerts", "what was raised for people"),
            ("journal --all", "everything that happened, in order"),
            ("audit verify", "whether the journal is what was written"),
            ("clock advance 24h", "lets a day go by, and what is due happens"),
        ])
        .collect();
    let width = all.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    for (command, shows) in all {
        let room = " ".repeat(width.saturating_sub(command.chars().count()));
        let shows = painted_data(shows, Colour::Dim);
        print::line(&format!("  trackside {command} {}{room}  {shows}", folder.flag()));
    }
    if !args.once {
        let link = running.owner().post(Route::new(&["sign-in-links"]).as_str(), &NewLink::default());
        let link = link.map_err(|error| stopped(error.to_string()))?.body;
        print::line(&format!("  {}  signs you in, once", text(&link, "url")));
        print::line("");
        print::line("The server stays up until Ctrl-C.");
    }
    Ok(())
}
