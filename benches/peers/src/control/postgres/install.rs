//! Finds PostgreSQL, if it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BenchError;

/// All of these are needed.
const PROGRAMS: [&str; 5] = ["postgres", "initdb", "psql", "pgbench", "pg_isready"];

/// The programs of one PostgreSQL, and the user that may run them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    bin: PathBuf,
    /// The user to become: PostgreSQL does not run as root.
    user: Option<&'static str>,
}

impl Installation {
    /// The one that `pg_config` names, else the newest in the usual place, else one on the path.
    pub fn find() -> Option<Self> {
        let told = output(Command::new("pg_config").arg("--bindir")).ok().map(PathBuf::from);
        let usual = versions(Path::new("/usr/lib/postgresql"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let bin =
            told.into_iter().chain(usual).chain(std::env::split_paths(&path)).find(|it| complete(it))?;
        let root = output(Command::new("id").arg("-u")).is_ok_and(|it| it == "0");
        Some(Self { bin, user: root.then_some("postgres") })
    }

    pub(super) fn bin(&self) -> &Path {
        &self.bin
    }

    /// One of its programs, run by that user.
    pub(super) fn program(&self, name: &str) -> Command {
        self.as_user(self.bin.join(name))
    }

    /// Any program, run by that user.
    pub(super) fn as_user(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--"]).arg(program);
                command
            }
        }
    }

    /// Gives a folder to that user.
    pub(super) fn hand_over(&self, folder: &Path) -> Result<(), BenchError> {
        match self.user {
            None => Ok(()),
            Some(user) => output(Command::new("chown").arg(user).arg(folder)).map(drop),
        }
    }
}

/// Folders of programs, newest version first.
fn versions(under: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(under).into_iter().flatten().flatten();
    let number = |it: &std::fs::DirEntry| it.file_name().to_str().and_then(|it| it.parse::<u32>().ok());
    let mut found: Vec<(u32, PathBuf)> =
        folders.filter_map(|it| Some((number(&it)?, it.path().join("bin")))).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn complete(bin: &Path) -> bool {
    PROGRAMS.iter().all(|it| bin.join(it).is_file())
}

/// The output of a program, if it succeeds.
pub(super) fn output(command: &mut Command) -> Result<String, BenchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |said: String| BenchError::Program { program: program.clone(), said };
    let output = command.output().map_err(|it| failed(it.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(said.lines().take(5).collect::<Vec<_>>().join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_newest_version_comes_first_and_other_folders_do_not_count() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        for name in ["9", "15", "common", "16"] {
            std::fs::create_dir_all(scratch.path().join(name).join("bin")).unwrap();
        }
        let found: Vec<String> = versions(scratch.path())
            .iter()
            .map(|it| it.strip_prefix(scratch.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(found, ["16/bin", "15/bin", "9/bin"]);
        assert!(!complete(&scratch.path().join("16/bin")), "an empty folder is no installation");
    }
}
