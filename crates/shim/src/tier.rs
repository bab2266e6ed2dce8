//! How the processes of a run are kept together.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// Tiers of containment, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainmentTier {
    /// A pid namespace of its own. The kernel kills everything in it when the shim dies.
    Pidns,
    /// A cgroup of its own. It is killed as a whole, but only by a living runner or shim.
    Cgroup,
    /// The shim is the subreaper of all descendants, finds them in `/proc` and kills them.
    Tree,
}

impl ContainmentTier {
    pub const ALL: [Self; 3] = [Self::Pidns, Self::Cgroup, Self::Tree];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pidns => "pidns",
            Self::Cgroup => "cgroup",
            Self::Tree => "tree",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What the tier does not cover, for `doctor` and the run's record.
    pub fn limitation(self) -> Option<&'static str> {
        match self {
            Self::Pidns => None,
            Self::Cgroup => Some("a run outlives a SIGKILL of its shim until its runner kills its cgroup"),
            Self::Tree => Some(
                "a run outlives a SIGKILL of its shim until its runner finds its processes; it does not find one that emptied its environment in a session of its own",
            ),
        }
    }

    /// Whether this machine supports the tier: starts `/bin/true` in it.
    pub fn is_supported(self, shim: &Path, role: &[&str]) -> bool {
        Command::new(shim)
            .args(role)
            .args(["probe", self.name()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success())
    }

    /// The strongest tier that works on this machine.
    pub fn strongest(shim: &Path, role: &[&str]) -> Self {
        Self::ALL.into_iter().find(|it| it.is_supported(shim, role)).unwrap_or(Self::Tree)
    }
}

impl fmt::Display for ContainmentTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The cgroup (version 2) of this process, as a folder.
pub(crate) fn own_cgroup() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        (after.split(' ').next() == Some("cgroup2")).then(|| before.split(' ').nth(4).map(PathBuf::from))?
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|it| it.strip_prefix("0::"))?;
    Some(mount.join(path.trim_start_matches('/')))
}

/// Makes a cgroup for a run.
pub(crate) fn new_cgroup(run: &str) -> std::io::Result<PathBuf> {
    let own = own_cgroup().ok_or_else(|| std::io::Error::other("no cgroup of version 2"))?;
    let folder = own.join(format!("trackside-{run}"));
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if folder.join("cgroup.kill").exists() {
        Ok(folder)
    } else {
        Err(std::io::Error::other("no cgroup.kill"))
    }
}
