//! Control files: a file in the project folder equals the command, in both directions.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, until};

/// A server with a project folder that has both folders of control files.
fn project() -> (RestServer, PathBuf) {
    let ground = RestServer::set_up(|options| {
        let root = options.data.join("project");
        fs::create_dir_all(root.join(".trackside")).unwrap();
        fs::create_dir_all(root.join(".liza")).unwrap();
        options.project = Some(root);
    });
    let root = ground.data.join("project");
    (ground, root)
}

fn goal(ground: &RestServer) {
    ground.owner.post("/v1/entities/coding.goal", &json!({ "id": "G" })).unwrap();
}

fn entity(ground: &RestServer, path: &str) -> Json {
    ground.owner.get(&format!("/v1/entities/{path}")).unwrap().body
}

fn is_paused(ground: &RestServer) -> bool {
    entity(ground, "coding.goal/G")["fields"]["paused"] == json!(true)
}

fn fire(ground: &RestServer, path: &str, event: &str) {
    ground.owner.post(&format!("/v1/entities/{path}/transitions"), &json!({ "event": event })).unwrap();
}

fn last_entry(ground: &RestServer, path: &str, trigger: &str) -> Json {
    let found = ground.owner.get(&format!("/v1/entities/{path}/history?limit=200")).unwrap().body;
    let items = found["items"].as_array().unwrap().clone();
    let of_trigger = items.into_iter().filter(|it| it["trigger"] == json!(trigger));
    of_trigger.max_by_key(|it| it["seq"].as_u64()).unwrap_or_else(|| panic!("no {trigger} in {found:#}"))
}

fn warnings(ground: &RestServer) -> String {
    ground.owner.get("/readyz").unwrap().body["warnings"].to_string()
}

/// Nothing changes while the files are looked at several times.
fn is_settled(ground: &RestServer) {
    let seq = || ground.owner.get("/readyz").unwrap().body["seq"].as_u64();
    let before = seq();
    std::thread::sleep(Duration::from_millis(1_300));
    assert_eq!(seq(), before, "the files and the entities are the same");
}

fn owner_name(file: &Path) -> String {
    let uid = fs::metadata(file).unwrap().uid().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let named = users.lines().map(|it| it.split(':').collect::<Vec<_>>()).find(|it| it[2] == uid);
    named.map_or_else(|| format!("uid-{uid}"), |it| it[0].to_owned())
}

#[test]
fn a_file_equals_the_command_in_both_folders() {
    let (ground, root) = project();
    goal(&ground);
    for (made_in, removed_in) in [(".trackside", ".trackside"), (".liza", ".liza"), (".liza", ".trackside")] {
        let (made, removed) = (root.join(made_in).join("PAUSE"), root.join(removed_in).join("PAUSE"));
        fs::write(&made, "").unwrap();
        until(|| is_paused(&ground));
        let entry = last_entry(&ground, "coding.goal/G", "pause");
        assert_eq!((&entry["actor"], &entry["actorKind"]), (&json!("control-file"), &json!("human")));
        assert_eq!(entry["onBehalfOf"], json!(owner_name(&made)));
        assert!(entry["reason"].as_str().unwrap().starts_with("The file PAUSE was created by"), "{entry}");
        until(|| root.join(".trackside/PAUSE").exists() && root.join(".liza/PAUSE").exists());
        until(|| entity(&ground, "mission.control/control")["state"] == json!("PAUSED"));
        is_settled(&ground);
        fs::remove_file(removed).unwrap();
        until(|| !is_paused(&ground));
        until(|| !root.join(".trackside/PAUSE").exists() && !root.join(".liza/PAUSE").exists());
        assert_eq!(last_entry(&ground, "coding.goal/G", "resume")["actor"], json!("control-file"));
        until(|| entity(&ground, "mission.control/control")["state"] == json!("NORMAL"));
        is_settled(&ground);
    }
}

#[test]
fn a_command_creates_and_removes_the_file() {
    let (ground, root) = project();
    goal(&ground);
    ground
        .owner
        .post("/v1/entities/coding.sprint", &json!({ "id": "S", "fields": { "goal_ref": "G" } }))
        .unwrap();
    for (path, name, on, off) in [
        ("coding.goal/G", "PAUSE", "pause", "resume"),
        ("coding.sprint/S", "CHECKPOINT", "checkpoint", "continue"),
        ("mission.control/control", "PAUSE", "pause", "resume"),
    ] {
        fire(&ground, path, on);
        until(|| root.join(".trackside").join(name).is_file() && root.join(".liza").join(name).is_file());
        fire(&ground, path, off);
        until(|| !root.join(".trackside").join(name).exists() && !root.join(".liza").join(name).exists());
        is_settled(&ground);
    }
    // Removing the file of a checkpoint continues the sprint.
    fire(&ground, "coding.sprint/S", "checkpoint");
    until(|| root.join(".liza/CHECKPOINT").is_file());
    fs::remove_file(root.join(".liza/CHECKPOINT")).unwrap();
    until(|| entity(&ground, "coding.sprint/S")["state"] == json!("IN_PROGRESS"));
    // An abort has no way back: its file may be removed.
    fs::write(root.join(".trackside/ABORT"), "").unwrap();
    until(|| entity(&ground, "coding.goal/G")["state"] == json!("ABORTED"));
    until(|| root.join(".liza/ABORT").is_file());
    fs::remove_file(root.join(".trackside/ABORT")).unwrap();
    is_settled(&ground);
    assert!(!root.join(".trackside/ABORT").exists());
}

#[test]
fn a_file_that_appears_or_goes_while_the_server_is_down_counts() {
    let (ground, root) = project();
    goal(&ground);
    is_settled(&ground);
    let file = root.join(".liza/PAUSE");
    let ground = ground.restarted_after(|_| fs::write(&file, "").unwrap());
    until(|| is_paused(&ground));
    until(|| root.join(".trackside/PAUSE").exists());
    is_settled(&ground);
    let ground = ground.restart();
    is_settled(&ground);
    assert!(is_paused(&ground) && file.exists(), "a restart changes nothing");
    let ground = ground.restarted_after(|_| fs::remove_file(&file).unwrap());
    until(|| !is_paused(&ground));
    until(|| !root.join(".trackside/PAUSE").exists());
}

#[test]
fn a_file_of_another_user_is_journalled_with_its_owner() {
    let (ground, root) = project();
    goal(&ground);
    let staged = root.join("staged");
    fs::write(&staged, "").unwrap();
    if chown(&staged, Some(54_321), None).is_err() {
        return; // Only root gives files away.
    }
    fs::rename(&staged, root.join(".liza/PAUSE")).unwrap();
    until(|| is_paused(&ground));
    assert_eq!(last_entry(&ground, "coding.goal/G", "pause")["onBehalfOf"], json!("uid-54321"));
}

#[test]
fn links_and_folders_are_left_alone() {
    let (ground, root) = project();
    goal(&ground);
    fs::write(root.join("target"), "").unwrap();
    symlink(root.join("target"), root.join(".liza/PAUSE")).unwrap();
    fs::create_dir(root.join(".trackside/ABORT")).unwrap();
    until(|| warnings(&ground).contains("PAUSE is no plain file"));
    until(|| warnings(&ground).contains("ABORT is no plain file"));
    is_settled(&ground);
    assert!(!is_paused(&ground));
    // A command still works, and does not write through the link.
    fire(&ground, "coding.goal/G", "pause");
    until(|| root.join(".trackside/PAUSE").is_file());
    assert_eq!(fs::read_to_string(root.join("target")).unwrap(), "");
    assert!(root.join(".trackside/ABORT").is_dir());
}

#[test]
fn a_file_that_cannot_apply_waits_with_a_warning() {
    let (ground, root) = project();
    let file = root.join(".trackside/CHECKPOINT");
    fs::write(&file, "by hand").unwrap();
    until(|| warnings(&ground).contains("coding has nothing that checkpoint could move"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "by hand");
    ground.owner.post("/v1/entities/coding.sprint", &json!({ "id": "S" })).unwrap();
    until(|| entity(&ground, "coding.sprint/S")["state"] == json!("CHECKPOINT"));
    until(|| !warnings(&ground).contains("CHECKPOINT"));
}

/// A file stands for every pack that declares it, and a command of one pack does not move another.
#[test]
fn a_file_of_two_packs_moves_both_and_a_command_only_its_own() {
    let (ground, root) = project();
    goal(&ground);
    let is_stopped = || entity(&ground, "mission.control/control")["state"] == json!("PAUSED");
    fire(&ground, "mission.control/control", "pause");
    until(|| root.join(".liza/PAUSE").is_file());
    is_settled(&ground);
    assert!(!is_paused(&ground), "the command was for the other pack");
    fs::remove_file(root.join(".liza/PAUSE")).unwrap();
    until(|| !is_stopped());
    fs::write(root.join(".liza/PAUSE"), "").unwrap();
    until(|| is_paused(&ground) && is_stopped());
    // The file stays while one of them stands for it.
    fire(&ground, "coding.goal/G", "resume");
    is_settled(&ground);
    assert!(root.join(".liza/PAUSE").is_file() && is_stopped());
    fs::remove_file(root.join(".liza/PAUSE")).unwrap();
    until(|| !is_stopped() && !root.join(".trackside/PAUSE").exists());
}
