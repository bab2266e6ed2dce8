//! `trackside demo`: scripted agents take the tasks of a small git repository from a draft to the merge.
//!
//! The server and the runners are threads of this process; only the agents are processes, and they end with their runners.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use trackside_protocol::{Client, NewLink, NewToken, TokenMade};
use trackside_runner::agent_loop;
use trackside_runner::server_api::ServerApi;
use trackside_runner::work_rule::WorkRule;
use trackside_runtime::ProjectClock;
use trackside_server::ServerOptions;
use trackside_worktree::Repository;

use super::demo::{DemoFolder, RunningDemo, heading, verified};
use super::{up, work};
use crate::args::DemoArgs;
use crate::demo::{Pacing, TeamStory};
use crate::folder::CliError;
use crate::print::{self, Colour, painted_data};
use crate::time_format::{is_true, list, text};
use crate::url::ApiPath;
use crate::{exit, files, person};

/// The data folder of the project.
const DATA: &str = ".trackside";
/// The scripts of the agents, with the records and logs of their runners.
const AGENTS: &str = ".agents";
/// The pause between two looks at the journal.
const LOOK: Duration = Duration::from_millis(200);
/// The story ends if nothing happens for this long.
const SILENCE: Duration = Duration::from_secs(180);
/// The shortest time between the steps of a person.
const PERSON: Duration = Duration::from_secs(2);
/// The pauses before a process is started again.
const RESTART: &str = "1s";

pub(super) fn play(args: &DemoArgs, pace: &Pacing) -> Result<u8, CliError> {
    let story = TeamStory::read().map_err(CliError::unreachable)?;
    let threads = up::threads()?;
    // Listen for Ctrl-C before the folder exists, so that an early interrupt leaves nothing behind.
    let stop = {
        let _inside = threads.enter();
        up::stop()
    };
    let mut folder = DemoFolder::of(args)?;
    make_repository(&folder.path, &story)?;
    // The server has to answer until the runners have ended.
    let runners_ended = Arc::new(Notify::new());
    let stop_server = {
        let (pace, runners_ended) = (pace.clone(), runners_ended.clone());
        async move {
            stop.await;
            pace.end();
            runners_ended.notified().await;
        }
    };
    let options =
        ServerOptions { project: Some(folder.path.clone()), ..ServerOptions::new(folder.path.join(DATA)) };
    let running =
        RunningDemo::start(options, &args.listen, ProjectClock::System, pace, threads, stop_server)?;
    folder.pinned.clone_from(&running.pinned);
    welcome(args, &running, &folder);
    let project = folder.path.clone();
    let mut play = TeamPlay {
        story: &story,
        folder: &project,
        owner: running.owner(),
        pace,
        heard: 0,
        counts: BTreeMap::new(),
        begun: Instant::now(),
        moved: Instant::now(),
        checkpoint: CheckpointProgress::ToCome,
    };
    let ended = play.run();
    runners_ended.notify_one();
    let code = match ended {
        Ok(TeamEnd::Interrupted) => exit::DONE,
        Ok(TeamEnd::Otherwise(why)) => {
            print::message(styled!("the story did not go as scripted: {why}"));
            // The logs are in it.
            folder.scratch = false;
            exit::REFUSED
        }
        Ok(TeamEnd::Played) => {
            play.summary();
            let code = match play.wrong_files()?.first() {
                None => {
                    let files = story.expected().len();
                    let branch = &story.branch;
                    verified(
                        &running,
                        &format!("{branch} has the {files} files that it must have, byte by byte"),
                    )?
                }
                Some(first) => {
                    print::message(styled!("the content of {} is wrong: {first}", story.branch));
                    exit::REFUSED
                }
            };
            further(args, &running, &folder, &story)?;
            running.end(args.once)?;
            return Ok(code);
        }
        Err(error) => {
            running.end(true)?;
            return Err(error);
        }
    };
    running.end(true)?;
    Ok(code)
}

/// How the story ended.
enum TeamEnd {
    Played,
    Interrupted,
    /// Something did not go as scripted.
    Otherwise(String),
}

/// A repository with its first commit.
fn make_repository(folder: &Path, story: &TeamStory) -> Result<(), CliError> {
    let unwritten =
        |path: &Path, error: &std::io::Error| CliError::unreachable(files::unwritten(path, error));
    fs::create_dir_all(folder).map_err(|it| unwritten(folder, &it))?;
    git(folder, &["init", "--quiet", "--initial-branch", "main"])?;
    let scripts = TeamStory::scripts()
        .iter()
        .map(|(name, content)| (format!("{AGENTS}/{name}"), (*content).to_owned()));
    let exclude = (".git/info/exclude".to_owned(), format!("/{DATA}/\n/{AGENTS}/\n"));
    let own = story.files().into_iter().map(|(name, content)| (name.to_owned(), content));
    for (name, content) in own.chain(scripts).chain([exclude]) {
        let path = folder.join(name);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
        written.map_err(|it| unwritten(&path, &it))?;
    }
    let author = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
    git(folder, &["add", "--all"])?;
    git(folder, &[&author[..], &["commit", "--quiet", "--message", "Begin the cookbook"]].concat())?;
    Repository::open(folder).map(|_| ()).map_err(|it| CliError::refused(it.to_string()))
}

/// The output of a git command, without the settings of the user.
fn git(folder: &Path, args: &[&str]) -> Result<Vec<u8>, CliError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::refused(
            "This demo needs git 2.38 or newer, and there is no git in PATH. Install it, or run `trackside demo packs`, which needs nothing",
        ),
        _ => CliError::refused(format!("git cannot be started: {error}")),
    })?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(CliError::refused(format!("git {}: {why}", args.join(" "))))
        }
    }
}

/// The agents of the team: each has a runner in a thread. All end on drop.
struct ScriptedTeam {
    stop: Arc<AtomicBool>,
    runners: Vec<(String, JoinHandle<()>)>,
}

impl ScriptedTeam {
    /// The first agent whose runner has ended by itself.
    fn ended(&self) -> Option<&str> {
        self.runners.iter().find(|(_, thread)| thread.is_finished()).map(|(agent, _)| agent.as_str())
    }
}

impl Drop for ScriptedTeam {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (_, thread) in self.runners.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What the person has done.
enum CheckpointProgress {
    ToCome,
    /// Everything stands still since then.
    Open(Instant),
    Over,
}

struct TeamPlay<'a> {
    story: &'a TeamStory,
    folder: &'a Path,
    owner: Client,
    pace: &'a Pacing,
    /// The last journal entry that was read.
    heard: u64,
    /// How often what the story counts has happened.
    counts: BTreeMap<String, usize>,
    begun: Instant,
    /// When something happened last.
    moved: Instant,
    checkpoint: CheckpointProgress,
}

impl TeamPlay<'_> {
    fn run(&mut self) -> Result<TeamEnd, CliError> {
        let delays = json!({ "restart_delay": RESTART, "crash_delay": RESTART });
        let mut settings = self.story.settings.clone();
        settings.extend(delays.as_object().cloned().unwrap_or_default());
        self.asked(self.owner.put(path(&["settings", &self.story.pack]).as_str(), &settings))?;
        let person = self.person()?;
        for it in &self.story.created {
            let body = json!({ "id": it.id, "fields": it.fields });
            self.asked(person.post(path(&["entities", &it.of]).as_str(), &body))?;
        }
        let team = self.start_team()?;
        loop {
            self.hear()?;
            self.act(&person)?;
            if self.pace.is_ended() || !print::is_read() {
                return Ok(TeamEnd::Interrupted);
            }
            if self.is_over()? {
                drop(team);
                self.hear()?;
                return Ok(TeamEnd::Played);
            }
            let logs = self.folder.join(AGENTS).display().to_string();
            if let Some(agent) = team.ended() {
                return Ok(TeamEnd::Otherwise(format!(
                    "the runner of {agent} has ended. See the logs in {logs}"
                )));
            }
            if self.moved.elapsed() > SILENCE {
                let seconds = SILENCE.as_secs();
                return Ok(TeamEnd::Otherwise(format!(
                    "nothing happened for {seconds} s. See the logs in {logs}"
                )));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn asked<T, E: std::fmt::Display>(&self, answer: Result<T, E>) -> Result<T, CliError> {
        answer.map_err(|it| CliError::unreachable(it.to_string()))
    }

    /// The person of the story.
    fn person(&self) -> Result<Client, CliError> {
        let person = &self.story.person;
        let wanted = NewToken {
            actor: person.actor.clone(),
            kind: person.kind.clone(),
            roles: person.roles.clone(),
            ..NewToken::default()
        };
        Ok(Client::new(self.owner.url(), &self.token(&wanted)?))
    }

    fn token(&self, wanted: &NewToken) -> Result<String, CliError> {
        let made = self.asked(self.owner.post(path(&["tokens"]).as_str(), wanted))?;
        let made: TokenMade = self.asked(serde_json::from_value(made.body))?;
        Ok(made.token)
    }

    /// Starts a runner for each agent.
    fn start_team(&self) -> Result<ScriptedTeam, CliError> {
        let lifecycle = self.asked(self.owner.get(path(&["lifecycles", &self.story.work]).as_str()))?.body;
        let agents = self.folder.join(AGENTS);
        let seconds = self.pace.whole().as_secs_f64().to_string();
        let mut team = ScriptedTeam { stop: Arc::default(), runners: Vec::new() };
        for member in &self.story.team {
            let (agent, role) = (member.agent.as_str(), member.role.as_str());
            let none = || CliError::unreachable(format!("{} has no work for {role}", self.story.work));
            let rule = WorkRule::read(&lifecycle, role).ok_or_else(none)?;
            let role_name = WorkRule::role_name(&self.story.pack, role);
            let client = Client::new(self.owner.url(), &self.token(&work::runner_token(agent, role_name))?);
            let script = agents.join(&member.script).display().to_string();
            let command = ["sh".to_owned(), script, seconds.clone()];
            let records = agents.join(agent);
            let settings = work::settings_for_command(
                &self.story.work,
                (agent, role),
                rule,
                &command,
                self.folder,
                &records,
            )?;
            let log = log_file(&agents.join(format!("{agent}.log")))?;
            let stop = team.stop.clone();
            let run = move || {
                let say = |words: &str| {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = writeln!(log, "{words}");
                };
                let api = ServerApi::new(&client, &settings.agent.clone());
                let end = agent_loop::run(settings, api, &stop, &say);
                say(&format!("{end:?}"));
            };
            let thread = std::thread::Builder::new().name(agent.to_owned()).spawn(run);
            team.runners.push((agent.to_owned(), self.asked(thread)?));
        }
        Ok(team)
    }

    /// Prints the news since the last look.
    fn hear(&mut self) -> Result<(), CliError> {
        loop {
            let route = path(&["journal"]).with("after", self.heard).with("limit", 200);
            let page = self.asked(self.owner.get(route.as_str()))?.body;
            let entries = list(&page, "items");
            let last = entries.last().and_then(|it| it.get("seq")).and_then(Json::as_u64);
            let Some(last) = last else { return Ok(()) };
            self.heard = last;
            for entry in entries {
                self.tell(entry)?;
            }
        }
    }

    fn tell(&mut self, entry: &Json) -> Result<(), CliError> {
        if !self.story.may_tell(entry) {
            return Ok(());
        }
        let route = path(&["entities", text(entry, "lifecycle"), text(entry, "id")]);
        let entity = self.asked(self.owner.get(route.as_str()))?.body;
        let Some(told) = self.story.telling(entry, &entity) else { return Ok(()) };
        self.moved = Instant::now();
        if let Some(count) = &told.count {
            *self.counts.entry(count.clone()).or_default() += 1;
        }
        let (seconds, sentence) = (self.begun.elapsed().as_secs(), told.sentence(entry, &entity));
        let shown = match told.colour() {
            Some(colour) => painted_data(sentence.as_str(), colour),
            None => styled!("{sentence}"),
        };
        print::line(styled!("{seconds:>4} s  {shown}"));
        Ok(())
    }

    /// The person stops the team once, and lets it continue.
    fn act(&mut self, person: &Client) -> Result<(), CliError> {
        let rule = &self.story.checkpoint;
        let route = path(&["entities", &rule.of, &rule.id, "transitions"]);
        match self.checkpoint {
            CheckpointProgress::ToCome
                if self.counts.get(&rule.counted).is_some_and(|it| *it >= rule.after) =>
            {
                let body = json!({ "event": rule.fire, "reason": rule.reason });
                self.asked(person.post(route.as_str(), &body))?;
                self.checkpoint = CheckpointProgress::Open(Instant::now());
            }
            CheckpointProgress::Open(since) if since.elapsed() > PERSON.max(self.pace.whole() * 4) => {
                self.asked(person.post(route.as_str(), &json!({ "event": rule.then })))?;
                self.checkpoint = CheckpointProgress::Over;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether every task is closed.
    fn is_over(&self) -> Result<bool, CliError> {
        let route = path(&["entities", &self.story.work]).with("limit", 200);
        let page = self.asked(self.owner.get(route.as_str()))?.body;
        Ok(list(&page, "items").iter().all(|it| is_true(it, "final")))
    }

    fn summary(&self) {
        heading(&format!("What happened in {} s", self.begun.elapsed().as_secs()));
        for told in &self.story.told {
            if let (Some(count), Some(counted)) = (&told.count, &told.counted) {
                let number = self.counts.get(count).copied().unwrap_or_default();
                print::line(styled!("  {number:>3}  {counted}"));
            }
        }
    }

    /// The files on the branch that are not as they must be.
    fn wrong_files(&self) -> Result<Vec<String>, CliError> {
        let branch = self.story.branch.as_str();
        let listed = git(self.folder, &["ls-tree", "-r", "-z", "--name-only", branch])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let expected = self.story.expected();
        let found: Vec<&str> = listed.split('\0').filter(|it| !it.is_empty()).collect();
        let mut wrong: Vec<String> = found
            .iter()
            .filter(|it| !expected.contains_key(*it))
            .map(|it| format!("{it} is not asked for"))
            .collect();
        for (name, content) in expected {
            if !found.contains(&name) {
                wrong.push(format!("{name} is missing"));
            } else if git(self.folder, &["cat-file", "blob", &format!("{branch}:{name}")])?
                != content.as_bytes()
            {
                wrong.push(format!("{name} has other lines"));
            }
        }
        Ok(wrong)
    }
}

fn path(parts: &[&str]) -> ApiPath {
    ApiPath::new(parts)
}

fn log_file(path: &PathBuf) -> Result<Mutex<fs::File>, CliError> {
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(Mutex::new).map_err(|it| CliError::unreachable(files::unwritten(path, &it)))
}

fn welcome(args: &DemoArgs, running: &RunningDemo, folder: &DemoFolder) {
    print::line(painted_data("Two coders, two reviewers and a planner work on ten tasks", Colour::Bold));
    print::line(
        "  The agents are shell scripts. Everything else is real: the server, the runners, git and the merges.",
    );
    print::line(styled!("  server     {}", running.url));
    let kept = if folder.scratch { "removed at the end" } else { "kept" };
    print::line(styled!("  folder     {}  ({kept})", folder.path.display()));
    let data = folder.path.join(DATA);
    print::line(styled!("  watch      trackside watch --data {}  (in another terminal)", data.display()));
    let stop = if args.once { "when done, or with Ctrl-C" } else { "with Ctrl-C" };
    print::line(styled!("  stop       {stop}"));
    print::line("");
}

/// Where to look, and how to clean up.
fn further(
    args: &DemoArgs,
    running: &RunningDemo,
    folder: &DemoFolder,
    story: &TeamStory,
) -> Result<(), CliError> {
    let shown = folder.path.display();
    if args.once && folder.scratch {
        print::line(
            "  without --once the server and the repository stay until Ctrl-C, so you can look around",
        );
        return Ok(());
    }
    heading("Look around in another terminal");
    print::line(styled!("  cd {shown}"));
    if args.once {
        print::line(styled!("  The server of the demo stops now. {}", person::start_server("trackside up")));
    }
    let width = story.next.iter().map(|it| it.command.chars().count()).max().unwrap_or_default();
    for next in &story.next {
        let room = " ".repeat(width.saturating_sub(next.command.chars().count()));
        print::line(styled!("  {}{room}  {}", next.command, painted_data(next.shows.as_str(), Colour::Dim)));
    }
    if !args.once {
        let link = running.owner().post(path(&["sign-in-links"]).as_str(), &NewLink::default());
        let link = link.map_err(|error| CliError::unreachable(error.to_string()))?.body;
        print::line(styled!("  {}  signs you in, once", text(&link, "url")));
    }
    print::line("");
    match (folder.scratch, args.once) {
        (true, _) => print::line("The server stays up until Ctrl-C, which also removes the folder."),
        (false, true) => print::line(styled!("Nothing is left to run. To clean up: rm -rf {shown}")),
        (false, false) => {
            print::line(styled!("The server stays up until Ctrl-C. To clean up after that: rm -rf {shown}"));
        }
    }
    Ok(())
}
