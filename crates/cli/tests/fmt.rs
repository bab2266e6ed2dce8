//! `trackside fmt` as people and editors run it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NEAT: &str = "# the pack\npack: small\nversion: 1\n";
const ROUGH: &str = "lifecycle: small.light   #a light\ncreate: {by: human}\nstates: { OFF: {initial: true}, ON: {} }\n\n\n\ntransitions:\n    # on\n    on: { from: OFF,to: ON, by: human }\n";
const SMOOTH: &str = "lifecycle: small.light   # a light\ncreate: { by: human }\nstates: { OFF: { initial: true }, ON: {} }\n\ntransitions:\n  # on\n  on: { from: OFF, to: ON, by: human }\n";

/// A pack in a folder of its own: `pack.yaml` is formatted, the lifecycle is not.
fn pack(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fmt").join(name);
    let _ = fs::remove_dir_all(&folder);
    for inner in ["lifecycles", "scenarios", "stages"] {
        fs::create_dir_all(folder.join(inner)).unwrap();
    }
    fs::write(folder.join("pack.yaml"), NEAT).unwrap();
    fs::write(folder.join("lifecycles/light.yaml"), ROUGH).unwrap();
    folder
}

fn fmt(args: &[&str], paths: &[&Path]) -> Output {
    let binary = env!("CARGO_BIN_EXE_trackside");
    Command::new(binary).arg("fmt").args(args).args(paths).env("NO_COLOR", "1").output().unwrap()
}

fn stdin(args: &[&str], text: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trackside"))
        .args(["fmt", "--stdin"])
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn both_streams(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn unformatted_files_are_rewritten_and_listed() {
    let folder = pack("rewrites");
    fs::write(folder.join("stages/alone.yaml"), "stage:   x").unwrap();
    let output = fmt(&[], &[&folder]);
    assert_eq!(code(&output), 0, "{}", both_streams(&output));
    let named: Vec<String> = data(&output).lines().map(str::to_owned).collect();
    let path = |it: &str| folder.join(it).display().to_string();
    assert_eq!(named, [path("lifecycles/light.yaml"), path("stages/alone.yaml")]);
    assert!(both_streams(&output).contains("2 of 3 files formatted"), "{}", both_streams(&output));
    assert_eq!(fs::read_to_string(folder.join("lifecycles/light.yaml")).unwrap(), SMOOTH);
    assert_eq!(fs::read_to_string(folder.join("stages/alone.yaml")).unwrap(), "stage: x\n");
    let inside: Vec<_> = fs::read_dir(folder.join("lifecycles")).unwrap().collect();
    assert_eq!(inside.len(), 1, "nothing is left beside it");

    let again = fmt(&["--check"], &[&folder]);
    assert_eq!((code(&again), data(&again)), (0, String::new()));
    assert!(both_streams(&again).contains("3 files formatted already"), "{}", both_streams(&again));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = pack("permissions");
    let real = folder.join("lifecycles/light.yaml");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.join("link.yaml");
    symlink(&real, &link).unwrap();
    assert_eq!(code(&fmt(&[], &[&link])), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), SMOOTH);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_check_shows_what_would_change_and_changes_nothing() {
    let folder = pack("checks");
    let output = fmt(&["--check"], &[&folder]);
    assert_eq!(code(&output), 1);
    let expected = "\
@@ line 1 @@
-lifecycle: small.light   #a light
+lifecycle: small.light   # a light
-create: {by: human}
+create: { by: human }
-states: { OFF: {initial: true}, ON: {} }
+states: { OFF: { initial: true }, ON: {} }
 
-
-
 transitions:
-    # on
+  # on
-    on: { from: OFF,to: ON, by: human }
+  on: { from: OFF, to: ON, by: human }
";
    assert_eq!(data(&output).split_once('\n').unwrap().1, expected);
    assert!(both_streams(&output).contains("1 of 2 files not formatted"), "{}", both_streams(&output));
    assert_eq!(fs::read_to_string(folder.join("lifecycles/light.yaml")).unwrap(), ROUGH);
}

#[test]
fn a_file_with_mistakes_is_left_alone_and_the_others_are_formatted() {
    let folder = pack("mistakes");
    fs::write(folder.join("lifecycles/broken.yaml"), "a:   {b\n").unwrap();
    fs::write(folder.join("lifecycles/latin.yaml"), b"a:   \xe9\n").unwrap();
    let output = fmt(&[], &[&folder]);
    assert_eq!(code(&output), 1);
    for words in ["broken.yaml:1:6", "is not closed", "latin.yaml: is not UTF-8 text", "2 left alone"] {
        assert!(both_streams(&output).contains(words), "expected {words:?} in\n{}", both_streams(&output));
    }
    assert_eq!(fs::read_to_string(folder.join("lifecycles/broken.yaml")).unwrap(), "a:   {b\n");
    assert_eq!(fs::read_to_string(folder.join("lifecycles/light.yaml")).unwrap(), SMOOTH);
}

#[test]
fn an_editor_sends_a_text_and_gets_it_back() {
    let output = stdin(&[], ROUGH);
    assert_eq!((code(&output), data(&output)), (0, SMOOTH.to_owned()));
    let broken = stdin(&[], "a: [\n");
    assert_eq!((code(&broken), data(&broken)), (1, String::new()));
    assert!(both_streams(&broken).contains("<stdin>:1:4"), "{}", both_streams(&broken));
    assert_eq!(code(&stdin(&["--check"], ROUGH)), 1);
    assert_eq!(code(&stdin(&["--check"], SMOOTH)), 0);
}

#[test]
fn programs_get_json() {
    let folder = pack("json");
    fs::write(folder.join("lifecycles/broken.yaml"), "a:   {b\n").unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&data(&fmt(&["--check", "--json"], &[&folder]))).unwrap();
    assert_eq!(json.pointer("/files/0/changed"), Some(&serde_json::json!(false)), "{json:#}");
    assert_eq!(json.pointer("/files/1/problems/0/line"), Some(&serde_json::json!(1)), "{json:#}");
    assert_eq!(json.pointer("/files/2/changed"), Some(&serde_json::json!(true)), "{json:#}");
    assert_eq!(json.pointer("/files/2/difference/0"), Some(&serde_json::json!("@@ line 1 @@")), "{json:#}");
    let json: serde_json::Value = serde_json::from_str(&data(&stdin(&["--json"], ROUGH))).unwrap();
    assert_eq!(json.pointer("/text"), Some(&serde_json::json!(SMOOTH)), "{json:#}");
}

#[test]
fn wrong_usage_is_reported() {
    let output = fmt(&[], &[Path::new("no-such-folder")]);
    assert_eq!(code(&output), 2);
    assert!(both_streams(&output).contains("no such file or folder"), "{}", both_streams(&output));
    assert_eq!(code(&fmt(&[], &[])), 2);
    assert_eq!(code(&fmt(&["--stdin"], &[Path::new("x.yaml")])), 2);
}
