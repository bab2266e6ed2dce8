//! A server whose disk or quota is used up: it reads, refuses new data, and resumes by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::ground::{ClientServer, LIGHT, scratch, small};
use crate::program::{binary, run_command};

/// A small file system, unmounted at the end; none if this user may not mount.
struct MountedFolder(PathBuf);

impl MountedFolder {
    fn mount(folder: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder);
        let done = mount.stderr(Stdio::null()).status();
        done.is_ok_and(|it| it.success()).then(|| Self(folder.to_owned()))
    }

    fn fill(&self) {
        // dd exits with an error when the disk is full.
        let to = format!("of={}", self.0.join("fill").display());
        Command::new("dd").args(["if=/dev/zero", &to, "bs=4096"]).stderr(Stdio::null()).status().unwrap();
    }
}

impl Drop for MountedFolder {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn readyz(ground: &ClientServer) -> (u16, String) {
    let url = format!("{}/readyz", ground.url());
    let told = Command::new("curl").args(["-s", "-w", " %{http_code}", &url]).output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    let (body, code) = text.rsplit_once(' ').unwrap();
    (code.parse().unwrap(), body.to_owned())
}

fn until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_on_a_full_disk_starts_reads_and_resumes() {
    let root = scratch("full-disk");
    // The log and the token are on another disk.
    let Some(disk) = MountedFolder::mount(&root.join("disk"), "16m") else { return };
    let pack = small(&root, 1, LIGHT);
    let start = || ClientServer::start_in(root.clone(), "disk/data", &pack);
    let mut ground = start();
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    ground.stop();
    disk.fill();
    let ground = start();
    let log = std::fs::read_to_string(root.join("up.log")).unwrap();
    assert!(log.contains("can be read, but commands are refused: the disk of the data folder has"), "{log}");
    ground.ask(&["show", "small.light/A"]).says(0, &["hall"]);
    ground.ask(&["list", "small.light"]).says(0, &["A"]);
    let refused = ground.ask(&["new", "small.light", "--id", "B", "place=attic"]);
    refused.says(1, &["no-space", "Free some space", "Reading and redaction work"]);
    let (code, body) = readyz(&ground);
    assert!(code == 503 && body.contains("Degraded: reads work"), "{code} {body}");
    std::fs::remove_file(root.join("disk/fill")).unwrap();
    until(|| readyz(&ground).0 == 200);
    ground.ask(&["new", "small.light", "--id", "B", "place=attic"]).says(0, &[]);
    // Low, and not out: the alert says so until there is space again.
    let df = Command::new("df").args(["--output=avail", "-k"]).arg(root.join("disk")).output().unwrap();
    let free: usize = String::from_utf8(df.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap();
    std::fs::write(root.join("disk/fill"), vec![1; (free - 1200) << 10]).unwrap();
    until(|| ground.ask(&["alerts"]).data.contains("Space is low: the disk of the data folder has"));
    std::fs::remove_file(root.join("disk/fill")).unwrap();
    until(|| !ground.ask(&["alerts"]).data.contains("Space is low"));
    let told = ground.ask(&["journal", "--json"]).says(0, &["There is enough space again"]).data.clone();
    assert_eq!(told.matches("ALERT_RAISED").count(), 1, "{told}");
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
}

#[test]
fn above_the_quota_only_recovery_work_is_done() {
    let root = scratch("quota");
    let pack = small(&root, 1, LIGHT);
    let mut ground = ClientServer::start(root.clone(), &pack);
    ground.ask(&["new", "small.light", "--id", "A", "place=the secret place"]).says(0, &[]);
    let token = ground.token("ada", "agent", &[]);
    ground.stop();
    let mut ground = ClientServer::start_with(root.clone(), &pack, &["--quota", "64KiB"]);
    ground.ask(&["show", "small.light/A"]).says(0, &["the secret place"]);
    let refused = ground.ask(&["new", "small.light", "--id", "B"]);
    refused.says(1, &["no-space", "of the 64.0 KiB it may have", "raise --quota"]);
    let artifact = Command::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-T", "-"])
        .args(["-H", &format!("Authorization: Bearer {}", ground.owner())])
        .arg(format!(
            "{}/v1/artifacts/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ground.url()
        ))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(artifact.stdout).unwrap(), "507");
    // Values are redacted, and tokens revoked.
    let redact =
        ["redact", "small.light/A", "--set", "place=[gone]", "--set", "watts:=40", "--reason", "secret"];
    ground.ask(&redact).says(0, &["erased the values"]);
    let tokens = ground.ask(&["token", "list"]).says(0, &["ada"]).data.clone();
    let id = tokens.lines().find(|it| it.contains("ada")).and_then(|it| it.split_whitespace().next());
    ground.ask(&["token", "revoke", id.unwrap()]).says(0, &[]);
    ground.ask_as(&token, &["show", "small.light/A"]).says(4, &[]);
    ground.stop();
    let ground = ClientServer::start(root, &pack);
    ground.ask(&["new", "small.light", "--id", "B"]).says(0, &[]);
}

#[test]
fn a_nearly_used_quota_is_a_warning() {
    let root = scratch("quota-low");
    let pack = small(&root, 1, LIGHT);
    let mut ground = ClientServer::start(root.clone(), &pack);
    ground.stop();
    // Far more than the databases have, so that what they write meanwhile does not matter.
    let others = root.join("data/artifacts");
    std::fs::create_dir_all(&others).unwrap();
    std::fs::write(others.join("content"), vec![0; 20 << 20]).unwrap();
    let ground = ClientServer::start_with(root.clone(), &pack, &["--quota", "24MiB"]);
    let (code, body) = readyz(&ground);
    assert!(code == 200 && body.contains("\"degraded\""), "{code} {body}");
    assert!(body.contains("space is low: the data folder has 2"), "{body}");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    until(|| ground.ask(&["alerts"]).data.contains("Space is low: the data folder has 2"));
    let mut ground = ground;
    ground.stop();
    // The alert is open in the journal, and closes when the quota is raised.
    let ground = ClientServer::start(root, &pack);
    until(|| ground.ask(&["alerts"]).data.is_empty());
    let told = ground.ask(&["journal", "--json"]).data.clone();
    assert_eq!(told.matches("ALERT_RAISED").count(), 1, "{told}");
    assert_eq!(told.matches("ALERT_RESOLVED").count(), 1, "{told}");
}

#[test]
fn the_server_makes_backups_by_itself_and_keeps_the_newest() {
    let root = scratch("scheduled");
    let (pack, place) = (small(&root, 1, LIGHT), root.join("backups"));
    // Files that a kill left, and a file of another program.
    std::fs::create_dir_all(place.join("20260101T000000Z-3")).unwrap();
    std::fs::write(place.join("20260101T000000Z-3/state.db.part"), "half").unwrap();
    std::fs::create_dir_all(place.join("mine")).unwrap();
    let to = place.to_str().unwrap();
    let more = ["--backup-to", to, "--backup-every", "3s", "--backup-increment", "1s", "--backup-keep", "2"];
    let mut ground = ClientServer::start_with(root.clone(), &pack, &more);
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let sets = || -> Vec<PathBuf> {
        let all = std::fs::read_dir(&place).unwrap().map(|it| it.unwrap().path());
        all.filter(|it| it.join("journal.db").is_file()).collect()
    };
    until(|| sets().iter().any(|it| it.join("increments").is_dir()));
    let first = sets()[0].clone();
    assert!(!place.join("20260101T000000Z-3").exists(), "the unfinished one is gone");
    until(|| sets().len() >= 2 && !first.exists());
    ground.stop();
    assert!(sets().len() <= 2 && place.join("mine").is_dir(), "{:?}", sets());
    run_command(binary(&["backup", "list", to])).says(0, &["entries 1 to", "increment"]);
    let back = root.join("back");
    let newest = sets().into_iter().max().unwrap();
    let restore = ["restore", newest.to_str().unwrap(), "--data", back.to_str().unwrap()];
    run_command(binary(&restore)).says(0, &["restored"]);
    run_command(binary(&["audit", "verify", "--data", back.to_str().unwrap()])).says(0, &["intact"]);
}
