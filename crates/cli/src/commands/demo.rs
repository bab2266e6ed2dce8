//! `trackside demo packs`: a small team uses every pack, on a server of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{Client, NewLink};
use trackside_runtime::{ProjectClock, Runtime, SpaceLimits};
use trackside_server::{OwnerTokenUse, ServeError, Server, ServerOptions};

use super::{demo_team, up};
use crate::args::{DemoArgs, DemoChoice};
use crate::demo::{self, DemoScene, DemoStory, Pacing, StoryEnd};
use crate::folder::{self, CliError};
use crate::pinned_servers::PinnedServer;
use crate::print::{self, Colour, painted_data};
use crate::time_format::{list, text};
use crate::url::ApiPath;
use crate::{builtin, exit, owner_credential, person};

/// The start of the story: a Monday morning.
const BEGIN: &str = "2026-01-05T09:00:00Z";
/// The longest time for requests under way at the end.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &DemoArgs) -> u8 {
    match demo(args) {
        Ok(code) => code,
        Err(stopped) => stopped.report(),
    }
}

fn demo(args: &DemoArgs) -> Result<u8, CliError> {
    let wrong = || CliError::usage(format!("--pace {}: write it as 1s, 500ms or 0, up to 60s", args.pace));
    let pace = Pacing::parse(&args.pace).ok_or_else(wrong)?;
    up::must_be_loopback(&args.listen, false)?;
    match args.story {
        DemoChoice::Team => demo_team::play(args, &pace),
        DemoChoice::Packs => play_packs(args, pace),
    }
}

fn play_packs(args: &DemoArgs, pace: Pacing) -> Result<u8, CliError> {
    let scenes = demo::scenes().map_err(CliError::unreachable)?;
    let threads = up::threads()?;
    // Listen for Ctrl-C before the folder exists, so that an early interrupt leaves nothing behind.
    let stop = {
        let _inside = threads.enter();
        up::stop()
    };
    let mut folder = DemoFolder::of(args)?;
    let clock = ProjectClock::manual(Timestamp::parse(BEGIN).unwrap_or_default());
    let options = ServerOptions::new(&folder.path);
    let running = RunningDemo::start(options, &args.listen, clock, &pace, threads, stop)?;
    folder.pinned.clone_from(&running.pinned);
    welcome(args, &running, &folder);
    let ended = match pace.rest(4) {
        true => {
            DemoStory::new(&running.url, &running.token, pace).map_err(CliError::unreachable)?.play(&scenes)
        }
        false => StoryEnd::Interrupted,
    };
    let code = match &ended {
        StoryEnd::Interrupted => exit::DONE,
        StoryEnd::Otherwise { place, why } => {
            print::message(styled!("this step did not go as scripted: {place}: {why}"));
            exit::REFUSED
        }
        StoryEnd::Played(tally) => {
            let answer = format!("{} steps, {} refused as expected", tally.steps, tally.refused);
            let code = verified(&running, &answer)?;
            further(args, &running, &folder, &scenes)?;
            code
        }
    };
    running.end(args.once || !matches!(ended, StoryEnd::Played(_)))?;
    Ok(code)
}

/// The folder of the project; a scratch folder is removed on drop.
#[derive(Debug)]
pub(super) struct DemoFolder {
    pub(super) path: PathBuf,
    pub(super) scratch: bool,
    /// The file of its server in the state directory.
    pub(super) pinned: Option<PinnedServer>,
}

impl DemoFolder {
    pub(super) fn of(args: &DemoArgs) -> Result<Self, CliError> {
        let Some(path) = &args.data else { return Self::scratch() };
        folder::must_be_free(path)?;
        Ok(Self { path: path.clone(), scratch: false, pinned: None })
    }

    /// A new folder that only its owner can read, because it holds the owner's token.
    fn scratch() -> Result<Self, CliError> {
        let path = std::env::temp_dir().join(format!("trackside-demo-{}", std::process::id()));
        let mut making = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut making, 0o700);
        making.create(&path).map_err(|error| {
            let shown = path.display();
            CliError::unreachable(format!("cannot make {shown}: {error}. Name a folder with --data"))
        })?;
        Ok(Self { path, scratch: true, pinned: None })
    }

    /// The option with which other commands find it.
    fn flag(&self) -> String {
        format!("--data {}", self.path.display())
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if self.scratch {
            let _ = std::fs::remove_dir_all(&self.path);
            self.pinned.iter().for_each(PinnedServer::remove);
        }
    }
}

/// A server that runs beside the story.
pub(super) struct RunningDemo {
    runtime: Arc<Runtime>,
    pub(super) url: String,
    /// The owner's.
    pub(super) token: String,
    pub(super) pinned: Option<PinnedServer>,
    threads: tokio::runtime::Runtime,
    served: JoinHandle<Result<(), ServeError>>,
    enough: Arc<Notify>,
}

impl RunningDemo {
    pub(super) fn start(
        options: ServerOptions,
        listen: &str,
        clock: ProjectClock,
        pace: &Pacing,
        threads: tokio::runtime::Runtime,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Self, CliError> {
        let folder = options.data.clone();
        let limits = SpaceLimits::default();
        let runtime = up::open(&folder, "demo", &builtin::all(), limits, |_| Ok(clock))?;
        let server = Server::new(runtime.clone(), options)?;
        let bound = threads.block_on(server.bind(listen))?;
        let token = threads.block_on(bound.owner_token(OwnerTokenUse::Script, None))?;
        // Commands in other terminals act as the owner, too.
        let pinned = threads.block_on(owner_credential::pin(&bound, &folder, None, print::message))?;
        let (url, enough, pace) = (bound.url.clone(), Arc::new(Notify::new()), pace.clone());
        let answer = enough.clone();
        let enough_or_stop = async move {
            tokio::select! {
                () = stop => {}
                () = answer.notified() => {}
            }
            pace.end();
        };
        let served = threads.spawn(bound.run(enough_or_stop, PATIENCE));
        Ok(Self { runtime, url, token, pinned, threads, served, enough })
    }

    pub(super) fn owner(&self) -> Client {
        Client::new(&self.url, &self.token)
    }

    /// Ends at once, or on Ctrl-C.
    pub(super) fn end(self, now: bool) -> Result<(), CliError> {
        if now {
            self.enough.notify_one();
        }
        let served = self.threads.block_on(self.served);
        self.threads.shutdown_timeout(Duration::from_secs(1));
        drop(self.runtime);
        served.map_err(|error| CliError::unreachable(error.to_string()))??;
        Ok(())
    }
}

pub(super) fn heading(title: &str) {
    print::line("");
    print::line(painted_data(title, Colour::Bold));
}

fn welcome(args: &DemoArgs, running: &RunningDemo, folder: &DemoFolder) {
    print::line(painted_data("A scripted team at work", Colour::Bold));
    print::line(styled!("  server     {}", running.url));
    let kept = if folder.scratch { "removed at the end" } else { "kept" };
    print::line(styled!("  folder     {}  ({kept})", folder.path.display()));
    print::line(styled!("  watch      trackside watch {}  (in another terminal)", folder.flag()));
    print::line("  clock      is advanced manually, so deadlines and leases expire while you watch");
    let stop = if args.once { "when done, or with Ctrl-C" } else { "with Ctrl-C" };
    print::line(styled!("  stop       {stop}"));
}

/// Verifies the whole journal.
pub(super) fn verified(running: &RunningDemo, answer: &str) -> Result<u8, CliError> {
    let audit = running.owner().get(ApiPath::new(&["audit", "verify"]).as_str());
    let audit = audit.map_err(|error| CliError::unreachable(error.to_string()))?.body;
    heading("That was it");
    print::line(styled!("  {answer}"));
    match list(&audit, "problems").first() {
        None => {
            let count = audit.get("entries").and_then(serde_json::Value::as_u64).unwrap_or_default();
            print::line(styled!("  the journal has {count} entries, and its hash chain verifies"));
            Ok(exit::DONE)
        }
        Some(first) => {
            print::message(styled!("the journal does not verify: {}", text(first, "message")));
            Ok(exit::REFUSED)
        }
    }
}

/// The next commands to try.
fn further(
    args: &DemoArgs,
    running: &RunningDemo,
    folder: &DemoFolder,
    scenes: &[DemoScene],
) -> Result<(), CliError> {
    if args.once && folder.scratch {
        print::line("  without --once the server keeps running, so you can look around");
        return Ok(());
    }
    if args.once {
        heading("The server stops now");
        let start = format!("trackside up --clock manual {}", folder.flag());
        print::line(styled!("  {}", person::start_server(&start)));
    }
    heading(if args.once { "Then try in another terminal" } else { "Try in another terminal" });
    let own =
        scenes.iter().flat_map(|it| &it.next).map(|(command, shows)| (command.as_str(), shows.as_str()));
    let all: Vec<(&str, &str)> = own
        .chain([
            ("alerts", "open alerts"),
            ("journal --all", "every entry, in order"),
            ("audit verify", "whether the journal is intact"),
            ("clock advance 24h", "advances one day; due timers fire"),
        ])
        .collect();
    let width = all.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    for (command, shows) in all {
        let room = " ".repeat(width.saturating_sub(command.chars().count()));
        let shows = painted_data(shows, Colour::Dim);
        print::line(styled!("  trackside {command} {}{room}  {shows}", folder.flag()));
    }
    if !args.once {
        let link = running.owner().post(ApiPath::new(&["sign-in-links"]).as_str(), &NewLink::default());
        let link = link.map_err(|error| CliError::unreachable(error.to_string()))?.body;
        print::line(styled!("  {}  signs you in, once", text(&link, "url")));
        print::line("");
        print::line("The server stays up until Ctrl-C.");
    }
    Ok(())
}
