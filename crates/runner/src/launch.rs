//! Everything that a run needs before its process starts: folders, environment, arguments and sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trackside_shim::{ContainmentTier, SandboxSpec, has_landlock};

use crate::adapter::{AdapterDefinition, PromptPlace, RunUsage, SessionChooser, Transport};
use crate::environment::{EnvironmentError, EnvironmentRequest, RunEnvironment};
use crate::local_run::LaunchPlan;
use crate::private_home::PrivateHome;
use crate::program_lookup::{self, LookupError};
use crate::repository;
use crate::template::fill_string;

/// Folders and devices of the system that a sandboxed run may read. Of `/dev` only what programs need: a run of root could
/// read the disks there, and with them every file. Of `/etc` a run of root reads what every user may read.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts",
    "/run/systemd/resolve",
    "/nix/store",
    "/snap",
];

/// How the runs of one agent are started.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// The text of the adapter file.
    pub adapter_text: String,
    pub adapter: AdapterDefinition,
    /// Program and arguments in place of the adapter's program.
    pub command: Vec<String>,
    pub folder: PathBuf,
    pub sandbox: bool,
    /// Variables passed on with `--env`.
    pub variables: Vec<String>,
    /// Further paths that a sandboxed run may write.
    pub write: Vec<PathBuf>,
    /// Folders of git that an adapter with a sandbox of its own may write. None: those of the folder.
    pub git_folders: Option<Vec<PathBuf>>,
    /// Further paths that a sandboxed run may read.
    pub read: Vec<PathBuf>,
    pub model: Option<String>,
    /// Folders that a sandboxed run must not see: credentials, data and other runs.
    pub hidden: Vec<PathBuf>,
    pub user_home: PathBuf,
    /// The environment of the runner.
    pub caller: BTreeMap<String, String>,
    pub tier: ContainmentTier,
    /// The program `trackside`, for the agent's own requests.
    pub trackside: PathBuf,
    /// Seconds that a run may take.
    pub limit: Option<u64>,
}

impl LaunchSettings {
    /// Whether the sandbox keeps runs in folders of their own from writing this checkout. An adapter with a sandbox of its own
    /// decides for itself what it enforces.
    pub(crate) fn protects(&self, checkout: &Path) -> bool {
        let is_near = |it: &PathBuf| checkout.starts_with(it) || it.starts_with(checkout);
        self.sandbox && !self.adapter.own_sandbox && has_landlock() && !self.write.iter().any(is_near)
    }
}

/// The identity of a run and its entity.
#[derive(Clone, Debug)]
pub struct RunIdentity<'a> {
    pub run: &'a str,
    pub agent: &'a str,
    /// LIFECYCLE/ID; empty if the run has no entity.
    pub entity: &'a str,
    pub url: &'a str,
    pub token: &'a str,
}

/// The conversation that the run continues.
#[derive(Clone, Debug, Default)]
pub struct SessionToResume {
    pub id: Option<String>,
    pub total: RunUsage,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error(transparent)]
    Program(#[from] LookupError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Settings(String),
}

/// A run that is ready to start.
#[derive(Debug)]
pub struct PreparedRun {
    pub plan: LaunchPlan,
    pub environment: RunEnvironment,
    /// The session that the run must use, if the runner chooses it.
    pub session: Option<String>,
}

/// Prepares a run. `space` is a folder of its own, which the run may read; `login_before` keeps the user's login as it
/// was; `task` is the content of its task file.
pub fn prepare(
    settings: &LaunchSettings,
    who: &RunIdentity<'_>,
    space: &Path,
    login_before: &Path,
    task: &Value,
    resume: &SessionToResume,
) -> Result<PreparedRun, LaunchError> {
    let adapter = &settings.adapter;
    let private = |path: &Path| fs::DirBuilder::new().mode(0o700).recursive(true).create(path);
    let (home, tmp) = (space.join("home"), space.join("tmp"));
    private(&tmp)?;
    let task_file = space.join("task.json");
    write_private(&task_file, &serde_json::to_vec_pretty(task).unwrap_or_default())?;

    let request = EnvironmentRequest {
        named: &settings.variables,
        login: &adapter.login.variables,
        sandboxed: settings.sandbox,
    };
    let mut environment = RunEnvironment::choose(&settings.caller, &request)?;
    for name in &adapter.start.unset {
        environment.variables.remove(name);
    }
    if settings.sandbox {
        PrivateHome::create(&home, &settings.user_home, &adapter.login.files, login_before)?;
    }
    let shown = |path: &Path| path.display().to_string();
    if settings.sandbox {
        environment.set("HOME", shown(&home));
        environment.set("TMPDIR", shown(&tmp));
        if let Some(folder) = &adapter.login.folder {
            let config = home.join(&folder.path);
            private(&config)?;
            environment.set(&folder.variable, shown(&config));
        }
        for (name, value) in repository::author(&settings.folder, who.agent, &settings.caller) {
            environment.set(&name, value);
        }
    }
    for (name, value) in adapter.quiet_env.iter().chain(&adapter.start.env) {
        environment.set(name, value.clone());
    }
    let path = path_with(&settings.caller, settings.trackside.parent());
    environment.set("PATH", path.clone());
    environment.set("TRACKSIDE_URL", who.url);
    environment.add_secret("TRACKSIDE_TOKEN", who.token);
    environment.set("TRACKSIDE_RUN", who.run);
    environment.set("TRACKSIDE_ENTITY", who.entity);
    environment.set("TRACKSIDE_AGENT", who.agent);
    environment.set("TRACKSIDE_TASK_FILE", shown(&task_file));
    environment.set("TRACKSIDE_FOLDER", shown(&settings.folder));

    let (program, mut args) = program_of(settings, &path)?;
    let prompt = task.get("instructions").and_then(Value::as_str).unwrap_or_default().to_owned();
    let session = arguments(settings, who, resume, &prompt, &mut args);
    let sandbox = match settings.sandbox {
        true => Some(sandbox_of(settings, space, &program, &path)?),
        false => None,
    };
    let plan = LaunchPlan {
        run: who.run.to_owned(),
        adapter: settings.adapter_text.clone(),
        program,
        args,
        folder: settings.folder.clone(),
        prompt,
        tier: settings.tier,
        sandbox,
        earlier: resume.total,
        resume: resume.id.clone(),
        grace: adapter.stop.grace,
        limit: settings.limit,
    };
    Ok(PreparedRun { plan, environment, session })
}

/// The program and the arguments that come before the adapter's.
fn program_of(settings: &LaunchSettings, path: &str) -> Result<(PathBuf, Vec<String>), LaunchError> {
    match settings.command.split_first() {
        Some((name, rest)) => {
            let program = program_lookup::find_in_path(name, path).ok_or_else(|| {
                LaunchError::Settings(format!(
                    "{name} is not a program in PATH. Give its path, or install it"
                ))
            })?;
            let program =
                if program.is_relative() { std::env::current_dir()?.join(program) } else { program };
            Ok((program, rest.to_vec()))
        }
        None => Ok((program_lookup::find(&settings.adapter, path)?.path, Vec::new())),
    }
}

/// Adds the adapter's arguments. Returns the session id that the runner chose.
fn arguments(
    settings: &LaunchSettings,
    who: &RunIdentity<'_>,
    resume: &SessionToResume,
    prompt: &str,
    args: &mut Vec<String>,
) -> Option<String> {
    let adapter = &settings.adapter;
    args.extend(adapter.start.args.iter().cloned());
    let folders = settings.git_folders.clone().unwrap_or_else(|| repository::git_folders(&settings.folder));
    let write = folders.into_iter().chain(settings.write.iter().cloned());
    let write: Vec<String> = write.map(|it| it.display().to_string()).collect();
    let mut option = |name: &str, value: &str| {
        let values = BTreeMap::from([("value", Value::from(value)), ("write", json!(write))]);
        args.extend(adapter.options.get(name).into_iter().flatten().map(|it| fill_string(it, &values)));
    };
    if let Some(model) = &settings.model {
        option("model", model);
    }
    // A tool call that needs a permission is asked about, and the pack's policy answers.
    let permission =
        if adapter.options.contains_key("permission.ask") { "permission.ask" } else { "permission.edits" };
    option(permission, "");
    let mut chosen = None;
    if let Some(rule) = &adapter.session {
        let (template, id) = match (&resume.id, rule.chosen_by) {
            (Some(id), _) => (&rule.resume, Some(id.clone())),
            (None, SessionChooser::Runner) => (&rule.start, Some(new_uuid())),
            (None, SessionChooser::Program) => (&rule.start, None),
        };
        let values = BTreeMap::from([("id", Value::from(id.clone().unwrap_or_default()))]);
        if id.is_some() {
            args.extend(template.iter().map(|it| fill_string(it, &values)));
        }
        chosen = id;
    }
    let command = settings.trackside.display().to_string();
    let server = json!({ "mcpServers": { "trackside": { "command": command, "args": ["mcp"] } } });
    let values = BTreeMap::from([
        ("json", Value::from(server.to_string())),
        ("command", Value::from(command)),
        ("args", Value::from(r#"["mcp"]"#)),
        ("run", Value::from(who.run)),
    ]);
    args.extend(adapter.mcp.iter().map(|it| fill_string(it, &values)));
    args.extend(adapter.quiet_args.iter().cloned());
    if adapter.start.prompt == PromptPlace::LastArgument {
        args.push(prompt.to_owned());
    }
    chosen
}

/// What a sandboxed run may reach: the system, its program and its folder to read; its folder, home and temporary files
/// to write.
fn sandbox_of(
    settings: &LaunchSettings,
    space: &Path,
    program: &Path,
    path: &str,
) -> Result<SandboxSpec, LaunchError> {
    let writable: Vec<PathBuf> = std::iter::once(settings.folder.clone())
        .chain([space.join("home"), space.join("tmp")])
        .chain(settings.write.iter().cloned())
        .collect();
    create_missing_hidden(&settings.hidden, &writable)?;
    let hidden: Vec<PathBuf> = settings.hidden.iter().filter(|it| it.exists()).cloned().collect();
    if settings.tier != ContainmentTier::Pidns
        && let Some((outer, inner)) =
            writable.iter().find_map(|it| Some((it, hidden.iter().find(|hidden| hidden.starts_with(it))?)))
    {
        return Err(LaunchError::Settings(format!(
            "{} contains {}, which the agent must not see, and this machine cannot hide it (containment tier {}). Let the agent work in another folder (--repo), or use --sandbox off",
            outer.display(),
            inner.display(),
            settings.tier
        )));
    }
    if settings.adapter.own_sandbox && settings.tier != ContainmentTier::Pidns {
        return Err(LaunchError::Settings(format!(
            "{} brings a sandbox of its own, and this machine cannot hide your credentials from it (containment tier {}). Use another adapter, or --sandbox off",
            settings.adapter.about, settings.tier
        )));
    }
    let is_safe = |it: &Path| {
        !settings.user_home.starts_with(it) && !hidden.iter().any(|hidden| hidden.starts_with(it))
    };
    let mut read: Vec<PathBuf> = Vec::new();
    for path in SYSTEM.iter().map(Path::new) {
        if path.ends_with("etc") && rustix::process::getuid().is_root() {
            read.extend(public_paths(path));
        } else {
            read.push(path.to_owned());
        }
    }
    read.push(space.to_owned());
    read.extend(settings.read.iter().cloned());
    read.extend(packages_of(program));
    read.extend(packages_of(&settings.trackside));
    for folder in std::env::split_paths(path).filter(|it| it.is_absolute()) {
        read.extend(beside(&folder, &settings.user_home));
        read.push(folder);
    }
    read.retain(|it| it.exists() && is_safe(it));
    read.sort();
    read.dedup();
    if settings.adapter.own_sandbox {
        return Ok(mask_of(settings, read, writable, hidden));
    }
    Ok(SandboxSpec { read, write: writable, hide: hidden, keep: Vec::new(), own_sandbox: false })
}

/// For a program that does not work inside Landlock: the same files as with it, by hiding every other folder.
fn mask_of(
    settings: &LaunchSettings,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
) -> SandboxSpec {
    let is_root = rustix::process::getuid().is_root();
    let folders = fs::read_dir("/").into_iter().flatten().flatten();
    let folders = folders.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path());
    let mut hide: Vec<PathBuf> =
        folders.filter(|it| !(read.contains(it) || is_root && it.ends_with("etc"))).collect();
    if is_root {
        hide.extend(private_paths(Path::new("/etc")));
    }
    let links = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/ptmx"].map(PathBuf::from);
    let mut keep: Vec<PathBuf> = read
        .iter()
        .chain(&write)
        .chain(settings.git_folders.iter().flatten())
        .cloned()
        .chain(links)
        .collect();
    keep.retain(|it| !hidden.iter().any(|hidden| it.starts_with(hidden)));
    keep.sort();
    keep.dedup();
    hide.extend(hidden);
    SandboxSpec { read, write, hide, keep, own_sandbox: true }
}

/// A hidden folder beside another one that exists must not be made by the agent: the server obeys control files in both of a
/// project. Only an existing folder can be hidden.
fn create_missing_hidden(hidden: &[PathBuf], writable: &[PathBuf]) -> io::Result<()> {
    for path in hidden.iter().filter(|it| !it.exists()) {
        let has_sibling = hidden.iter().any(|it| it != path && it.parent() == path.parent() && it.is_dir());
        if has_sibling && writable.iter().any(|it| path.starts_with(it)) {
            fs::create_dir(path)?;
        }
    }
    Ok(())
}

/// The parts of a folder that every user may read; the folder itself if it has no others.
fn public_paths(folder: &Path) -> Vec<PathBuf> {
    fn collect(path: &Path, depth: u32, found: &mut Vec<PathBuf>) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else { return false };
        if metadata.is_symlink() {
            // What it leads to has a rule of its own.
            return true;
        }
        let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
        if metadata.permissions().mode() & needed != needed {
            return false;
        }
        if metadata.is_dir() {
            let Some(entries) = (depth > 0).then(|| fs::read_dir(path).ok()).flatten() else { return false };
            let mut inside = Vec::new();
            let hidden = entries.flatten().filter(|it| !collect(&it.path(), depth - 1, &mut inside)).count();
            if hidden > 0 {
                found.append(&mut inside);
                return false;
            }
        }
        found.push(path.to_owned());
        true
    }
    let mut found = Vec::new();
    collect(folder, 16, &mut found);
    found
}

/// The parts of a folder that not every user may read.
fn private_paths(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
        let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
        if metadata.is_symlink() {
            continue;
        }
        if metadata.permissions().mode() & needed != needed {
            found.push(path);
        } else if metadata.is_dir() {
            found.extend(private_paths(&path));
        }
    }
    found
}

/// What the programs of a folder `bin` need beside it: they are often links into another folder. In the user's home only
/// folders with programs: `~/.local` and `~/.cargo` also contain keys.
fn beside(folder: &Path, user_home: &Path) -> Vec<PathBuf> {
    let Some(parent) = folder.parent() else { return Vec::new() };
    if folder.starts_with(user_home) {
        return ["lib", "lib64", "libexec", "versions"].iter().map(|it| parent.join(it)).collect();
    }
    if folder.ends_with("bin") { vec![parent.to_owned()] } else { Vec::new() }
}

/// The folders that contain a program: as named, and where its links lead. For an npm package all packages beside it.
fn packages_of(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let packages = real.ancestors().find(|it| it.ends_with("node_modules")).map(Path::to_owned);
    [packages, program.parent().map(Path::to_owned), real.parent().map(Path::to_owned)]
        .into_iter()
        .flatten()
        .collect()
}

/// The caller's PATH, with the folder of `trackside` at its end.
fn path_with(caller: &BTreeMap<String, String>, folder: Option<&Path>) -> String {
    let path = caller.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    match folder {
        Some(folder) if !std::env::split_paths(path).any(|it| it == folder) => {
            format!("{path}:{}", folder.display())
        }
        _ => path.to_owned(),
    }
}

fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}

/// A random UUID of version 4.
pub(crate) fn new_uuid() -> String {
    let mut bytes = [0u8; 16];
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

impl LaunchSettings {
    /// Checks that the program can be found and can work in its folder, before any work is taken for it.
    pub fn check_program(&self) -> Result<(), LaunchError> {
        let path = path_with(&self.caller, self.trackside.parent());
        program_of(self, &path)?;
        if self.adapter.start.needs_git && repository::git_folders(&self.folder).is_empty() {
            return Err(LaunchError::Settings(format!(
                "{} works only in a git repository, and {} is none. Run `git init` there, or name another folder with --repo",
                self.adapter.about,
                self.folder.display()
            )));
        }
        Ok(())
    }

    /// What the sandbox of the runner's agents enforces on this machine, in words.
    pub fn sandbox_words(&self) -> String {
        let own = match (self.sandbox, self.adapter.own_sandbox) {
            (false, _) => return "off".to_owned(),
            (true, true) => "the agent's own sandbox",
            (true, false) if has_landlock() => "Landlock",
            (true, false) => "no Landlock: this kernel does not have it",
        };
        match self.tier {
            ContainmentTier::Pidns => format!("hidden folders, {own}"),
            ContainmentTier::Cgroup | ContainmentTier::Tree => own.to_owned(),
        }
    }

    /// Whether messages can be sent to a running agent.
    pub fn is_steerable(&self) -> bool {
        self.adapter.steer.is_some()
            && matches!(self.adapter.transport, Transport::DuplexLines | Transport::AppServer)
    }
}
