//! The git hook of the guide, in a repository of its own.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GUIDE: &str = include_str!("../../../docs/guides/check-before-you-merge.md");

const LIGHT: &str = "\
lifecycle: small.light
create: { by: human }
states: { OFF: { initial: true }, ON: {} }
transitions:
  switch_on:  { from: OFF, to: ON, by: human }
  switch_off: { from: ON, to: OFF, by: human }
";

const SCENARIOS: &str = "\
pack: small
actors: { hank: { human: [] } }
scenarios:
  - scenario: People switch the light
    steps:
      - { as: hank, create: small.light/L }
      - { as: hank, fire: switch_on, of: small.light/L, then: { state: ON } }
";

/// The hook that the guide writes.
fn hook() -> String {
    let script = GUIDE.split("cat > .githooks/pre-commit <<'END'\n").nth(1).unwrap();
    let script = script.split("END\n").next().unwrap();
    let is_known = |it: &&str| {
        let Some(command) = it.strip_prefix("trackside ").and_then(|it| it.split(' ').next()) else {
            return true;
        };
        let output = Command::new(env!("CARGO_BIN_EXE_trackside")).args([command, "--help"]).output();
        output.unwrap().status.success()
    };
    let lines: Vec<&str> = script.lines().filter(is_known).collect();
    assert!(lines.iter().filter(|it| it.starts_with("trackside ")).count() > 1, "{script}");
    lines.join("\n") + "\n"
}

struct Repository {
    folder: PathBuf,
    programs: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hook");
        let _ = fs::remove_dir_all(&folder);
        let repository = Self { programs: folder.join("programs"), folder: folder.join("repository") };
        fs::create_dir_all(repository.folder.join("packs/small/lifecycles")).unwrap();
        fs::create_dir_all(repository.folder.join("packs/small/scenarios")).unwrap();
        fs::create_dir_all(&repository.programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trackside"), repository.programs.join("trackside"))
            .unwrap();
        repository.write("packs/small/pack.yaml", "pack: small\nversion: 1\n");
        repository.write("packs/small/lifecycles/light.yaml", LIGHT);
        repository.write("packs/small/scenarios/light.yaml", SCENARIOS);
        repository.write(".githooks/pre-commit", &hook());
        let hook = repository.folder.join(".githooks/pre-commit");
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
        repository.git(&["init", "--quiet"]);
        repository.git(&["config", "core.hooksPath", ".githooks"]);
        repository
    }

    fn write(&self, path: &str, text: &str) {
        let path: &Path = &self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, args: &[&str]) -> Output {
        let path = format!("{}:{}", self.programs.display(), std::env::var("PATH").unwrap());
        Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .unwrap()
    }

    /// Commits everything, or returns the error output.
    fn commit(&self) -> Result<(), String> {
        self.git(&["add", "--all"]);
        let output = self.git(&["commit", "--quiet", "--message", "x"]);
        let told = [output.stdout, output.stderr].concat();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&told).into_owned()) }
    }
}

#[test]
fn a_commit_needs_packs_that_are_formatted_right_and_tested() {
    let repository = Repository::new();
    repository.commit().unwrap();

    repository.write("packs/small/lifecycles/light.yaml", &LIGHT.replace("{ by: human }", "{by: human}"));
    let told = repository.commit().unwrap_err();
    assert!(told.contains("+create: { by: human }") && told.contains("trackside fmt packs"), "{told}");

    repository.write("packs/small/lifecycles/light.yaml", &LIGHT.replace("to: ON,", "to: ONN,"));
    let told = repository.commit().unwrap_err();
    assert!(told.contains("ONN"), "{told}");

    repository.write("packs/small/lifecycles/light.yaml", LIGHT);
    repository.write("packs/small/scenarios/light.yaml", &SCENARIOS.replace("state: ON ", "state: \"OFF\" "));
    let told = repository.commit().unwrap_err();
    assert!(told.contains("expected small.light/L is OFF"), "{told}");

    // Unstaged changes do not count.
    repository.write("packs/small/scenarios/light.yaml", &format!("# The light.\n{SCENARIOS}"));
    repository.git(&["add", "--all"]);
    repository.write("packs/small/lifecycles/light.yaml", "lifecycle:   [");
    assert!(repository.git(&["commit", "--quiet", "--message", "x"]).status.success());

    // Files outside packs are not checked.
    let told = repository.commit().unwrap_err();
    assert!(told.contains("is not closed"), "{told}");
    repository.git(&["reset", "--quiet"]);
    repository.write("notes.md", "Words");
    repository.git(&["add", "notes.md"]);
    assert!(repository.git(&["commit", "--quiet", "--message", "x"]).status.success());
}
