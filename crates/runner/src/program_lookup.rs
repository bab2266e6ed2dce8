//! Finds an agent program and its version.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::adapter::AdapterDefinition;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("{adapter}: none of {names} is in PATH. Install it, or write its path into the adapter")]
    NotFound { adapter: String, names: String },
}

/// An agent program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    pub path: PathBuf,
    /// `None` if the program did not say it.
    pub version: Option<String>,
    /// Why this version may not work.
    pub warning: Option<String>,
}

/// Looks for the adapter's program in the folders of a PATH.
pub fn find(adapter: &AdapterDefinition, path: &str) -> Result<FoundProgram, LookupError> {
    let names = &adapter.program.names;
    let found = names.iter().find_map(|name| find_in_path(name, path));
    let Some(found) = found else {
        return Err(LookupError::NotFound { adapter: adapter.adapter.clone(), names: names.join(", ") });
    };
    let program = adapter.program.native.as_deref().and_then(|it| native_behind(&found, it)).unwrap_or(found);
    let version = version_of(adapter, &program);
    let too_old = match (&version, &adapter.program.oldest) {
        (Some(version), Some(oldest)) => numbers(version) < numbers(oldest),
        _ => false,
    };
    let warning = too_old.then(|| {
        let oldest = adapter.program.oldest.as_deref().unwrap_or_default();
        format!(
            "{} {} is older than {oldest}, the oldest version that was tried",
            adapter.adapter,
            version.as_deref().unwrap_or_default()
        )
    });
    Ok(FoundProgram { path: program, version, warning })
}

/// The executable of this name in the folders of a PATH. A name with a slash is a path.
pub fn find_in_path(name: &str, path: &str) -> Option<PathBuf> {
    let is_program =
        |it: &PathBuf| fs::metadata(it).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    std::env::split_paths(path).filter(|it| it.is_absolute()).map(|it| it.join(name)).find(is_program)
}

/// Wrapper scripts of npm packages stay between us and the program: signals do not reach it. `pattern` is the
/// program's path below the folder of packages, with `*` inside the names.
fn native_behind(wrapper: &Path, pattern: &str) -> Option<PathBuf> {
    let real = wrapper.canonicalize().ok()?;
    let packages = real.ancestors().filter(|it| it.ends_with("node_modules"));
    packages.into_iter().find_map(|it| expand(it, pattern))
}

fn expand(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let (first, rest) = pattern.split_once('/').map_or((pattern, None), |(first, rest)| (first, Some(rest)));
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|it| it.path()).collect();
    entries.sort();
    let fits =
        |it: &PathBuf| it.file_name().and_then(|it| it.to_str()).is_some_and(|it| matches_star(it, first));
    entries.into_iter().filter(fits).find_map(|it| match rest {
        Some(rest) => expand(&it, rest),
        None => it.is_file().then_some(it),
    })
}

fn matches_star(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => name == pattern,
    }
}

fn version_of(adapter: &AdapterDefinition, program: &Path) -> Option<String> {
    let rule = adapter.program.version.as_ref()?;
    let output = Command::new(program).args(&rule.args).stdin(Stdio::null()).output().ok()?;
    rule.pattern.group(&String::from_utf8_lossy(&output.stdout)).map(str::to_owned)
}

/// The numbers of a version, for comparison.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_program_behind_a_wrapper_is_found() {
        let root = std::env::temp_dir().join(format!("trackside-lookup-{}", std::process::id()));
        let native = root.join("node_modules/@openai/codex-linux-x64/vendor/x86_64/bin/codex");
        fs::create_dir_all(native.parent().unwrap()).unwrap();
        fs::write(&native, "").unwrap();
        let wrapper = root.join("node_modules/@openai/codex/bin/codex.js");
        fs::create_dir_all(wrapper.parent().unwrap()).unwrap();
        fs::write(&wrapper, "").unwrap();
        let found = native_behind(&wrapper, "@openai/codex-linux-*/vendor/*/bin/codex");
        assert_eq!(found, Some(native.canonicalize().unwrap()));
        assert_eq!(native_behind(&wrapper, "@openai/other-*/codex"), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("2.1.197") < numbers("2.1.326"));
        assert!(numbers("0.169.0") > numbers("0.99.1"));
    }

    #[test]
    fn a_program_is_found_only_if_it_can_be_executed() {
        assert!(find_in_path("sh", "/no/such:/bin").is_some());
        assert_eq!(find_in_path("passwd", "/etc"), None);
        assert_eq!(find_in_path("sh", "bin"), None, "a relative folder of PATH is ignored");
    }
}
