//! `trackside work` and `trackside supervise`: run agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;
use trackside_protocol::{Client, IdentityBody, NewToken, TokenMade};
use trackside_runner::adapter::{AdapterCatalogue, FoundAdapter};
use trackside_runner::agent_loop::{self, LoopEnd, LoopMode, LoopSettings};
use trackside_runner::launch::LaunchSettings;
use trackside_runner::server_api::ServerApi;
use trackside_runner::shim_program::shim_program;
use trackside_runner::work_rule::WorkRule;

use crate::args::{LaunchArgs, ReachArgs, SandboxMode, SuperviseArgs, WorkArgs};
use crate::folder::CliError;
use crate::pinned_servers::absolute;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::styled::BREAK;
use crate::time_format::{list, text};
use crate::url::ApiPath;
use crate::{exit, pinned_servers, print};

/// The actor of a runner without a token of its own.
const RUNNER: &str = "runner";
/// The role of every runner, in the pack that is always loaded.
const RUNNER_ROLE: &str = "fleet:agent_runner";
/// How long the token of a runner is valid that a person started.
const RUNNER_LIFETIME: &str = "30d";

pub(crate) fn run(args: &WorkArgs) -> u8 {
    let outcome = work(args);
    refused::finish(outcome, CommandSubject::lifecycle(&args.lifecycle), false)
}

pub(crate) fn supervise(args: &SuperviseArgs) -> u8 {
    refused::finish(supervised(args), CommandSubject::default(), false)
}

fn work(args: &WorkArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.reach)?;
    let lifecycle = server.get(&ApiPath::new(&["lifecycles", &args.lifecycle]))?;
    let roles = WorkRule::roles(&lifecycle);
    let role = match &args.role {
        Some(role) => role.rsplit(':').next().unwrap_or(role).to_owned(),
        None => roles.first().cloned().unwrap_or_default(),
    };
    let Some(rule) = WorkRule::read(&lifecycle, &role) else {
        return Err(no_work_rule(&args.lifecycle, &role, &roles).into());
    };
    let job = AgentJob {
        mode: LoopMode::Work { once: args.once },
        lifecycle: args.lifecycle.clone(),
        pack: pack_of(&args.lifecycle).to_owned(),
        agent: args.id.clone().unwrap_or_else(|| format!("{}-1", role.replace('_', "-"))),
        role,
        rule,
        adapter: args.agent.as_deref(),
        command: &args.command,
        launch: &args.launch,
    };
    start(&server, &args.reach, job)
}

fn supervised(args: &SuperviseArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.reach)?;
    let (pack, role) =
        args.role.split_once(':').map_or((None, args.role.as_str()), |(pack, role)| (Some(pack), role));
    let role = role.replace('-', "_");
    let mut found = Vec::new();
    let all = server.get(&ApiPath::new(&["lifecycles"]))?;
    for item in list(&all, "items") {
        let name = text(item, "lifecycle");
        let own = pack_of(name);
        if pack.is_some_and(|it| it != own) {
            continue;
        }
        let lifecycle = server.get(&ApiPath::new(&["lifecycles", name]))?;
        if let Some(rule) = WorkRule::read(&lifecycle, &role) {
            found.push((name.to_owned(), own.to_owned(), rule));
        }
    }
    let packs: std::collections::BTreeSet<&str> = found.iter().map(|(_, pack, _)| pack.as_str()).collect();
    if packs.len() > 1 {
        let names: Vec<String> = packs.iter().map(|it| format!("{it}:{role}")).collect();
        return Err(CliError::usage(format!(
            "several packs have work for {role}: name one of {}",
            names.join(", ")
        ))
        .into());
    }
    // The lifecycle with a claim is the one that the role works on.
    found.sort_by_key(|(_, _, rule)| rule.claim.is_none());
    let Some((lifecycle, pack, rule)) = found.into_iter().next() else {
        return Err(CliError::usage(format!(
            "no lifecycle has work for the role {role}. `work:` in a lifecycle declares it"
        ))
        .into());
    };
    let job = AgentJob {
        mode: LoopMode::Supervise,
        lifecycle,
        pack,
        agent: args.id.clone(),
        role,
        rule,
        adapter: args.agent.as_deref(),
        command: &args.command,
        launch: &args.launch,
    };
    start(&server, &args.reach, job)
}

/// The name of the pack of a lifecycle.
fn pack_of(lifecycle: &str) -> &str {
    lifecycle.split('.').next().unwrap_or_default()
}

fn no_work_rule(lifecycle: &str, role: &str, roles: &[String]) -> CliError {
    if roles.is_empty() {
        return CliError::usage(format!(
            "{lifecycle} does not say what an agent is asked to do: it has no `work:` block"
        ));
    }
    CliError::usage(format!("{lifecycle} has no work for the role {role}, only for {}", roles.join(", ")))
}

/// The job that the command line describes.
struct AgentJob<'a> {
    mode: LoopMode,
    lifecycle: String,
    pack: String,
    role: String,
    agent: String,
    rule: WorkRule,
    adapter: Option<&'a str>,
    command: &'a [String],
    launch: &'a LaunchArgs,
}

fn start(server: &ServerConnection, reach: &ReachArgs, job: AgentJob<'_>) -> Result<u8, RequestError> {
    let data = server.folder().map(Path::to_owned).or_else(|| reach.data.clone());
    let adapter = find_adapter(&job, data.as_deref())?;
    let (client, runner, made) = runner_identity(server, &job)?;
    let settings = match settings(&job, adapter, runner, data.as_deref(), &server.file_name()) {
        Ok(settings) => settings,
        Err(error) => {
            revoke(server, made.as_deref());
            return Err(error.into());
        }
    };
    let api = ServerApi::new(&client, &job.agent);
    print::message(styled!(
        "{} runs as {} in {} (containment: {}, sandbox: {})",
        settings.launch.adapter.about,
        settings.agent,
        settings.launch.folder.display(),
        settings.launch.tier,
        if settings.launch.sandbox { "on" } else { "off" }
    ));
    let stop = stop_signal()?;
    let end = agent_loop::run(settings, api, &stop, &|text| print::message(text));
    // Ends the tokens of its runs, too. All runs have been reported by then.
    revoke(server, made.as_deref());
    Ok(match end {
        LoopEnd::Complete(why) => {
            print::message(styled!("{}: {why}", job.role));
            exit::DONE
        }
        LoopEnd::Once { had_work: true } => exit::DONE,
        LoopEnd::Once { had_work: false } => {
            print::message(styled!("{} cannot claim any {} now", job.agent, job.lifecycle));
            exit::REFUSED
        }
        LoopEnd::Stopped => {
            print::message("stopped. Work that was not finished goes on at the next start");
            exit::DONE
        }
        LoopEnd::Collision(why) => {
            print::message(styled!(
                "error: {why}{BREAK}Another process runs this agent, or ran it until a moment ago. Stop it, wait until its lease ends, or use another id"
            ));
            exit::FORBIDDEN
        }
        LoopEnd::Failed(why) => {
            print::message(styled!("error: {why}"));
            exit::REFUSED
        }
    })
}

fn revoke(server: &ServerConnection, token: Option<&str>) {
    if let Some(id) = token {
        let _ = server.delete(&ApiPath::new(&["tokens", id]));
    }
}

fn find_adapter(job: &AgentJob<'_>, data: Option<&Path>) -> Result<FoundAdapter, CliError> {
    let name = match (job.adapter, job.command) {
        (Some(name), _) => name,
        (None, []) => {
            return Err(CliError::usage(
                "name the agent program with --agent, such as --agent claude, or give a command after --",
            ));
        }
        (None, _) => "command",
    };
    let found = catalogue(data).find(name).map_err(|it| CliError::usage(it.to_string()))?;
    if found.definition.program.names.is_empty() && job.command.is_empty() {
        return Err(CliError::usage(format!("the adapter {name} needs a command after --")));
    }
    Ok(found)
}

/// Adapters of the project and of the user come before the built-in ones.
pub(crate) fn catalogue(data: Option<&Path>) -> AdapterCatalogue {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|it| it.join(".config")));
    let folders = data.map(|it| it.join("adapters")).into_iter();
    AdapterCatalogue { folders: folders.chain(config.map(|it| it.join("trackside/adapters"))).collect() }
}

/// The token of the runner: the caller's own if it may act for the agent, else a new one, which only an admin can make.
/// Returns the client, the runner's id, and the id of a new token.
fn runner_identity(
    server: &ServerConnection,
    job: &AgentJob<'_>,
) -> Result<(Client, String, Option<String>), RequestError> {
    let read = |it: Json| {
        serde_json::from_value::<IdentityBody>(it).map_err(|it| CliError::unreachable(it.to_string()))
    };
    let caller = read(server.get(&ApiPath::new(&["whoami"]))?)?;
    let role = WorkRule::role_name(&job.pack, &job.role);
    let matches = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => job.agent.starts_with(start),
        None => *pattern == job.agent,
    };
    if caller.on_behalf.iter().any(matches) {
        let missing: Vec<&str> = [RUNNER_ROLE]
            .into_iter()
            .chain(role.as_deref())
            .filter(|needed| !caller.roles.iter().any(|it| it == needed))
            .collect();
        if missing.is_empty() {
            return Ok((server.client().clone(), format!("{}.{}", caller.actor, job.agent), None));
        }
        return Err(CliError::forbidden(styled!(
            "the token of {} lacks the role {}.{BREAK}{}",
            caller.actor,
            missing.join(" and "),
            how_to_get_token(job, role.as_deref())
        ))
        .into());
    }
    if !caller.roles.iter().any(|it| it == "admin") {
        return Err(CliError::forbidden(styled!(
            "{} may not act for the agent {}.{BREAK}{}",
            caller.actor,
            job.agent,
            how_to_get_token(job, role.as_deref())
        ))
        .into());
    }
    let body = runner_token(&job.agent, role);
    let made = server.post(&ApiPath::new(&["tokens"]), &body)?;
    let made: TokenMade = serde_json::from_value(made).map_err(|it| CliError::unreachable(it.to_string()))?;
    let client = server.with_token(&made.token)?.client().clone();
    Ok((client, runner_of(&job.agent), Some(made.details.id)))
}

/// The token of a runner that may act for one agent.
pub(super) fn runner_token(agent: &str, role: Option<String>) -> NewToken {
    NewToken {
        actor: RUNNER.to_owned(),
        kind: "agent".to_owned(),
        roles: [RUNNER_ROLE.to_owned()].into_iter().chain(role).collect(),
        on_behalf: vec![agent.to_owned()],
        lifetime: Some(RUNNER_LIFETIME.to_owned()),
        note: Some(format!("trackside runs {agent}")),
        ..NewToken::default()
    }
}

/// The id of the runner of an agent.
fn runner_of(agent: &str) -> String {
    format!("{RUNNER}.{agent}")
}

fn how_to_get_token(job: &AgentJob<'_>, role: Option<&str>) -> String {
    let role = role.map(|it| format!(" --role {it}")).unwrap_or_default();
    format!(
        "A person with role admin creates a token for it: trackside token create runner --kind agent --role {RUNNER_ROLE}{role} --for {}",
        job.agent
    )
}

/// The settings of a loop that runs a command for one agent in a repository. All its records are in `records`.
pub(super) fn settings_for_command(
    lifecycle: &str,
    (agent, role): (&str, &str),
    rule: WorkRule,
    command: &[String],
    repository: &Path,
    records: &Path,
) -> Result<LoopSettings, CliError> {
    let launch = LaunchArgs { repo: Some(repository.to_owned()), ..LaunchArgs::default() };
    let job = AgentJob {
        mode: LoopMode::Work { once: false },
        lifecycle: lifecycle.to_owned(),
        pack: pack_of(lifecycle).to_owned(),
        role: role.to_owned(),
        agent: agent.to_owned(),
        rule,
        adapter: None,
        command,
        launch: &launch,
    };
    let adapter = find_adapter(&job, None)?;
    let settings = settings(&job, adapter, runner_of(agent), None, "demo")?;
    Ok(LoopSettings { state: records.join("runner"), space: records.join("runs"), ..settings })
}

fn settings(
    job: &AgentJob<'_>,
    adapter: FoundAdapter,
    runner: String,
    data: Option<&Path>,
    server: &str,
) -> Result<LoopSettings, CliError> {
    let shim = shim_program().map_err(|it| CliError::refused(format!("the shim was not found: {it}")))?;
    let tier = match job.launch.containment {
        Some(tier) if !shim.supports(tier) => {
            return Err(CliError::usage(format!(
                "this machine does not support the containment tier {tier}"
            )));
        }
        Some(tier) => tier,
        None => shim.strongest_tier(),
    };
    let folder = job.launch.repo.clone().unwrap_or_else(|| PathBuf::from("."));
    let folder = folder
        .canonicalize()
        .map_err(|it| CliError::usage(format!("the agent cannot work in {}: {it}", folder.display())))?;
    let is_command = job.adapter.is_none_or(|it| it == "command");
    let sandbox = job.launch.sandbox.map_or(!is_command, |it| it == SandboxMode::On);
    let state = pinned_servers::directory()
        .and_then(|it| it.parent().map(Path::to_owned))
        .ok_or_else(|| CliError::usage("set HOME or XDG_STATE_HOME: the runner keeps its records there"))?;
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let home = variable("HOME").unwrap_or_else(|| PathBuf::from("/"));
    let cache = variable("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"));
    let mut hidden = vec![state.clone()];
    hidden.extend(data.map(absolute));
    for root in [Some(folder.as_path()), data.and_then(Path::parent)].into_iter().flatten() {
        hidden.extend([".trackside", ".liza"].map(|it| absolute(&root.join(it))));
    }
    hidden.extend([".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config"].map(|it| home.join(it)));
    let own = std::env::current_exe().map_err(|it| CliError::refused(it.to_string()))?;
    let write = job.launch.write.iter().map(|it| absolute(it)).collect();
    let account = job.launch.account.clone().unwrap_or_else(|| adapter.definition.adapter.clone());
    let launch = LaunchSettings {
        adapter_text: adapter.text,
        adapter: adapter.definition,
        command: job.command.to_vec(),
        folder,
        sandbox,
        variables: job.launch.variables.clone(),
        write,
        git_folders: None,
        read: Vec::new(),
        model: job.launch.model.clone(),
        hidden,
        user_home: home,
        caller: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        tier,
        trackside: own,
        limit: job.launch.limit.map(|it| it.as_secs().max(1)),
    };
    let repository = trackside_worktree::Repository::open(&launch.folder).ok();
    launch.check_program().map_err(|it| CliError::usage(it.to_string()))?;
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Ok(LoopSettings {
        mode: job.mode,
        lifecycle: job.lifecycle.clone(),
        pack: job.pack.clone(),
        role: job.role.clone(),
        agent: job.agent.clone(),
        state: state.join("runners").join(server).join(&runner),
        space: cache.join("trackside/runs"),
        actor: runner.split('.').next().unwrap_or_default().to_owned(),
        repository,
        server: server.to_owned(),
        runner,
        machine: machine.trim().to_owned(),
        rule: job.rule.clone(),
        launch,
        shim,
        account,
    })
}

/// Set by the first interrupt or termination signal: the runner ends its run. A hangup ends this process at once, as a
/// crash does, and its run goes on. Every step is stored before it is taken, so the next process continues.
fn stop_signal() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let failed = |it: std::io::Error| CliError::refused(format!("cannot listen for signals: {it}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let ignores_hangup = ignores_hangup();
    let listen = move || {
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            // With `nohup`, the user has chosen that a hangup does nothing.
            let mut hangup = (!ignores_hangup).then(|| signal(SignalKind::hangup()).ok()).flatten();
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hung_up => {
                    print::message("left. A run that is under way goes on for up to a minute. Start this command again to continue it");
                    std::process::exit(exit::DONE.into());
                }
            }
            flag.store(true, Ordering::Relaxed);
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
    Ok(stop)
}

/// Whether this process was started with the hangup signal ignored.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}
