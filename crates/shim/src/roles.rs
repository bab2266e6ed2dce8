//! The processes between the shim and the agent.
//!
//! ```text
//! shim ─► stage (new namespaces) ─► init (pid 1, mounts, no capabilities) ─► enter (sandbox) = agent
//! shim ─► enter (joins the cgroup, sandbox) = agent
//! ```
//!
//! Each role sets things on itself and then starts or becomes the next one, so no code runs between fork and exec.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    Signal, WaitOptions, getgid, getppid, getuid, set_parent_process_death_signal, waitpid,
};
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};
use serde::{Deserialize, Serialize};

use crate::folder::RunFolder;
use crate::records::SandboxSpec;
use crate::tier::{self, ContainmentTier};
use crate::{HIDDEN_COMMAND, mount_mask, sandbox, shim};

/// Exit codes of our own, for a run that did not begin.
pub(crate) const NOT_STARTED: u8 = 125;

/// The instructions for the processes between shim and agent, as one argument. Contains no secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StartPlan {
    pub(crate) tier: ContainmentTier,
    /// The process that starts the next one. If it is gone, the run must not begin.
    pub(crate) parent: i32,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) sandbox: Option<SandboxSpec>,
    pub(crate) cgroup: Option<PathBuf>,
    /// Where `init` writes how the agent ended.
    pub(crate) status: Option<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "the runner reads the shim's messages from its log file")]
pub(crate) fn main(arguments: Vec<OsString>) -> u8 {
    let mut arguments = arguments.into_iter();
    let role = arguments.next().unwrap_or_default();
    let argument = arguments.next().unwrap_or_default();
    let plan = || serde_json::from_slice(argument.as_encoded_bytes()).map_err(io::Error::other);
    let result = match role.to_str() {
        Some("run") => shim::run(&RunFolder::new(PathBuf::from(&argument))),
        Some("stage") => plan().and_then(stage),
        Some("init") => plan().and_then(init),
        Some("enter") => plan().and_then(enter),
        Some("probe") => Ok(u8::from(!argument.to_str().and_then(ContainmentTier::parse).is_some_and(probe))),
        _ => Err(io::Error::other("trackside-shim is started by `trackside work` and `trackside supervise`")),
    };
    result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "trackside-shim: {}: {error}", role.display());
        NOT_STARTED
    })
}

/// This program in another role.
pub(crate) fn own_command(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    let name = std::env::current_exe().ok().and_then(|it| Some(it.file_name()?.to_owned()));
    if !name.is_some_and(|it| it.to_string_lossy().starts_with("trackside-shim")) {
        command.arg(HIDDEN_COMMAND);
    }
    command.arg(role);
    command
}

/// The command that starts the agent in its tier. The caller adds environment, folder and pipes.
pub(crate) fn command(plan: &StartPlan) -> io::Result<Command> {
    let role = if plan.tier == ContainmentTier::Pidns { "stage" } else { "enter" };
    let mut command = own_command(role);
    command.arg(serde_json::to_string(plan)?);
    Ok(command)
}

/// The kernel kills this process when the thread that started it ends.
fn die_with(parent: i32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the call.
    let current = getppid().map(|it| it.as_raw_nonzero().get());
    if current == Some(parent) { Ok(()) } else { Err(io::Error::other("the shim has ended")) }
}

fn stage(mut plan: StartPlan) -> io::Result<u8> {
    die_with(plan.parent)?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    // A process that is not root loses its capabilities when it becomes another program. `init` needs this one to mount.
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    plan.parent = 0;
    let mut init = own_command("init").arg(serde_json::to_string(&plan)?).spawn()?;
    Ok(code(init.wait()?))
}

fn init(plan: StartPlan) -> io::Result<u8> {
    // Inside the namespace the parent's pid cannot be read; the stage waits for this process, so it is there.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut status = match &plan.status {
        Some(path) => {
            Some(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?)
        }
        None => None,
    };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // A container may forbid this mount. The agent then sees the pids of the machine, and is still contained.
    let own_processes =
        mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    if let Some(sandbox) = &plan.sandbox {
        if sandbox.own_sandbox && own_processes.is_err() {
            // Through another run's folder in /proc the agent would see every file.
            return Err(io::Error::other("this machine does not let a run have a /proc of its own"));
        }
        mount_mask::apply(sandbox)?;
    }
    let agent = own_command("enter").arg(serde_json::to_string(&plan)?).spawn()?;
    sandbox::drop_capabilities(CapabilitySet::empty())?;
    let ended = reap_until(agent)?;
    if let Some(file) = &mut status {
        let line = ended
            .signal()
            .map_or_else(|| format!("exit {}", ended.code().unwrap_or(0)), |it| format!("signal {it}"));
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
    }
    // The kernel kills what the agent left behind.
    Ok(code(ended))
}

/// Waits for every child until the agent has ended.
fn reap_until(agent: Child) -> io::Result<ExitStatus> {
    let pid = i32::try_from(agent.id()).unwrap_or(0);
    loop {
        match waitpid(None, WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get() == pid => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) => {}
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn enter(plan: StartPlan) -> io::Result<u8> {
    if plan.parent != 0 {
        die_with(plan.parent)?;
    }
    if let Some(cgroup) = &plan.cgroup {
        fs::write(cgroup.join("cgroup.procs"), "0")?;
    }
    let own_sandbox = plan.sandbox.as_ref().is_some_and(|it| it.own_sandbox);
    sandbox::drop_capabilities(if own_sandbox { sandbox::FOR_OWN_SANDBOX } else { CapabilitySet::empty() })?;
    sandbox::limit_privileges()?;
    if let Some(spec) = plan.sandbox.as_ref().filter(|it| !it.own_sandbox)
        && sandbox::has_landlock()
    {
        sandbox::restrict_files(spec)?;
    }
    let error = Command::new(&plan.program).args(&plan.args).exec();
    Err(io::Error::new(error.kind(), format!("{} cannot be started: {error}", plan.program.display())))
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(255)
}

/// Starts `/bin/true` in a tier.
fn probe(tier: ContainmentTier) -> bool {
    let cgroup = match tier {
        ContainmentTier::Cgroup => match tier::new_cgroup(&format!("probe-{}", std::process::id())) {
            Ok(folder) => Some(folder),
            Err(_) => return false,
        },
        _ => None,
    };
    let plan = StartPlan {
        tier,
        parent: i32::try_from(std::process::id()).unwrap_or(0),
        program: PathBuf::from("/bin/true"),
        args: Vec::new(),
        sandbox: None,
        cgroup: cgroup.clone(),
        status: None,
    };
    let started = command(&plan).and_then(|mut it| it.status()).is_ok_and(|it| it.success());
    if let Some(folder) = cgroup {
        let _ = fs::remove_dir(folder);
    }
    started
}

/// Reads the file that `init` wrote: exit code or signal.
pub(crate) fn read_status(path: &Path) -> Option<(Option<i32>, Option<i32>)> {
    let text = fs::read_to_string(path).ok()?;
    let (kind, number) = text.split_once(' ')?;
    let number = number.trim().parse().ok()?;
    Some(if kind == "signal" { (None, Some(number)) } else { (Some(number), None) })
}
