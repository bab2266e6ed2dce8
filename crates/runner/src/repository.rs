//! What a run needs to know about the git repository that it works in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders in which git keeps a repository: a worktree has its own and that of the main checkout. None outside a
/// repository.
pub fn git_folders(folder: &Path) -> Vec<PathBuf> {
    let args = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"];
    let Some(said) = git(folder, &args, None) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = said.lines().map(PathBuf::from).filter(|it| it.is_absolute()).collect();
    folders.dedup();
    folders
}

/// The variables with which the agent's commits have an author, because it does not see the user's git settings: the
/// user's name and address, else the agent's id.
pub fn author(folder: &Path, agent: &str, caller: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let setting =
        |key: &str| git(folder, &["config", "--get", key], Some(caller)).filter(|it| !it.is_empty());
    let name = setting("user.name").unwrap_or_else(|| agent.to_owned());
    let address = setting("user.email").unwrap_or_else(|| format!("{agent}@trackside.invalid"));
    ["AUTHOR", "COMMITTER"]
        .iter()
        .flat_map(|it| {
            [(format!("GIT_{it}_NAME"), name.clone()), (format!("GIT_{it}_EMAIL"), address.clone())]
        })
        .collect()
}

/// Asks git, with the variables of the caller that lead to its settings.
fn git(folder: &Path, args: &[&str], caller: Option<&BTreeMap<String, String>>) -> Option<String> {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    for name in ["HOME", "XDG_CONFIG_HOME"] {
        if let Some(value) = caller.and_then(|it| it.get(name)) {
            command.env(name, value);
        }
    }
    let output = command.output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(said)
}
