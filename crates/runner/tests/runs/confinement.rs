//! What a run cannot reach, and what does not outlive it.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Signal;
use trackside_runner::adapter::ExitClass;
use trackside_runner::launch::{self, LaunchSettings, RunIdentity, SessionToResume};
use trackside_runner::local_run::{LocalRun, RunEnd};
use trackside_shim::process_table::{ProcessTable, signal_exactly};
use trackside_shim::{ContainmentTier, RunFolder};

use crate::{class, command_adapter, poll_until, prints, run_name, says, scratch, shim, start_in};

pub(crate) fn a_killed_shim_is_a_lost_run() {
    for tier in ContainmentTier::ALL.into_iter().filter(|it| shim().supports(*it)) {
        let root = scratch();
        // It stays when its input ends.
        let mut run = start_in(&root, "stay", "", tier);
        poll_until(&mut run, |lines, _| says(lines, "heard stay"));
        let living = || ProcessTable::read().with_variable("TRACKSIDE_RUN", &run_name(&root)).len();
        assert!(living() > 0, "{tier}");
        let shim = run.running().unwrap().unwrap();
        assert!(signal_exactly(shim.pid, shim.start_time, Signal::KILL));
        let end = poll_until(&mut run, |_, end| end.is_some());
        let Some(RunEnd::Lost { left, .. }) = end else { panic!("{tier}: {end:?}") };
        // The next process of the task begins now.
        assert_eq!((left, living()), (Vec::new(), 0), "{tier}");
        fs::remove_dir_all(root).unwrap();
    }
}

/// A newer program may find the runs of an older one.
pub(crate) fn a_run_of_another_protocol_is_ended_and_says_so() {
    let root = scratch();
    let mut run = start_in(&root, "first", "", ContainmentTier::Tree);
    poll_until(&mut run, |lines, _| says(lines, "heard first"));
    let folder = RunFolder::new(root.join("run"));
    let mut running: serde_json::Value = folder.read("running").unwrap().unwrap();
    running["protocol"] = 99.into();
    folder.write("running", &running).unwrap();
    let mut run = LocalRun::adopt(&root.join("run")).unwrap();
    assert!(ProcessTable::read().with_variable("TRACKSIDE_RUN", &run_name(&root)).is_empty());
    let Some(RunEnd::Lost { why, .. }) = run.poll().unwrap().end else { panic!("it was adopted") };
    assert!(why.contains("protocol 99"), "{why}");
    fs::remove_dir_all(root).unwrap();
}

/// The server obeys control files in `.trackside` and `.liza` of the project, which can be the agent's folder.
pub(crate) fn an_agent_cannot_make_a_control_file() {
    let tier = ContainmentTier::Pidns;
    if !shim().supports(tier) {
        println!("skipped: this machine has no pid namespaces");
        return;
    }
    let root = scratch();
    let work = root.join("work");
    fs::create_dir(work.join(".trackside")).unwrap();
    let (adapter_text, adapter) = command_adapter();
    let script = "mkdir .liza; touch .liza/ABORT .trackside/PAUSE; mv .liza gone; mkdir .liza; touch .liza/PAUSE; \
        rmdir .trackside; echo own > own.txt";
    let settings = LaunchSettings {
        git_folders: None,
        adapter_text,
        adapter,
        command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
        folder: work.clone(),
        sandbox: true,
        variables: Vec::new(),
        write: Vec::new(),
        read: Vec::new(),
        model: None,
        hidden: [".trackside", ".liza"].map(|it| work.join(it)).to_vec(),
        user_home: root.join("user"),
        caller: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
        tier,
        trackside: std::env::current_exe().unwrap(),
        limit: Some(60),
    };
    let who = RunIdentity { run: "r", agent: "a", entity: "", url: "", token: "canary-token" };
    let nothing = SessionToResume::default();
    let (space, login) = (root.join("space"), root.join("login"));
    let prepared =
        launch::prepare(&settings, &who, &space, &login, &serde_json::Value::Null, &nothing).unwrap();
    let mut run = LocalRun::start(&shim(), &root.join("run"), prepared.plan, &prepared.environment).unwrap();
    poll_until(&mut run, |_, end| end.is_some());
    assert!(work.join("own.txt").exists());
    for file in [".liza/ABORT", ".liza/PAUSE", ".trackside/PAUSE", "gone"] {
        assert!(!work.join(file).exists(), "{file}");
    }
    assert!(work.join(".trackside").is_dir());
    fs::remove_dir_all(root).unwrap();
}

/// What a curious agent tries. Each canary that it prints was stolen.
const THIEF: &str = r#"
echo begun
cat "$STATE/servers/owner.json"
find "$STATE" -type f -exec cat {} +
cat "$VICTIM/plan" "$VICTIM/spec" "$VICTIM/running" "$VICTIM"/out.* "$VICTIM"/in/*
find "$SPACE" -type f -exec cat {} +
for process in /proc/[0-9]*; do tr '\0' '\n' <"$process/environ"; tr '\0' ' ' <"$process/cmdline"; done
ln "$STATE/servers/owner.json" stolen && cat stolen
mkdir mnt && mount --bind "$STATE" mnt && find mnt -type f -exec cat {} +
unshare --user --map-root-user --mount sh -c "umount '$STATE'; find '$STATE' -type f -exec cat {} +"
nsenter --target 1 --mount find "$STATE" -type f -exec cat {} +
find .. -type f -exec cat {} +
cat /proc/1/cwd/../state/servers/owner.json "/proc/1/root$STATE/servers/owner.json"
echo '{"reason":"thief","grace":0}' >"$VICTIM/stop"
echo thief >"$VICTIM/in/9"
kill -TERM "$PID" && echo ended run $((40 + 2))
cat "$USER_HOME/.cargo/credentials.toml"
find "$USER_HOME" -type f -exec cat {} +
echo $TRACKSIDE_TOKEN
cat /etc/shadow /etc/gshadow
for secret in /dev/loop0 /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/fuse /dev/tty1; do
  (exec 3<"$secret") && echo "opened $secret"
done
echo gone >/dev/null && head -c 8 /dev/urandom >/dev/null && ls /etc/passwd && cat /dev/stdin && echo ended
"#;

/// A run that prints its pid and waits, and a thief in the same tier: once in our sandbox, and once as a program with a
/// sandbox of its own.
pub(crate) fn a_sandboxed_agent_steals_nothing() {
    let mut tried = 0;
    let ours = ContainmentTier::ALL.map(|it| (it, false));
    let cases = ours.into_iter().chain([(ContainmentTier::Pidns, true)]);
    for (tier, own_sandbox) in cases.filter(|(it, _)| shim().supports(*it)) {
        let root = scratch();
        let state = root.join("state");
        fs::create_dir_all(state.join("servers")).unwrap();
        fs::write(state.join("servers/owner.json"), "canary-owner").unwrap();
        let user = root.join("user");
        fs::create_dir_all(user.join(".cargo/bin")).unwrap();
        fs::create_dir_all(user.join(".claude")).unwrap();
        for (file, canary) in [
            (".cargo/credentials.toml", "canary-cargo"),
            (".claude/.credentials.json", "canary-login"),
            (".netrc", "canary-netrc"),
        ] {
            fs::write(user.join(file), canary).unwrap();
        }
        let path = format!("{}:{}", user.join(".cargo/bin").display(), std::env::var("PATH").unwrap());
        let start = |name: &str, script: &str, token: &str, more: &[(&str, String)]| {
            let space = root.join("spaces").join(name);
            let work = root.join(format!("work-{name}"));
            fs::create_dir_all(&work).unwrap();
            let (adapter_text, mut adapter) = command_adapter();
            adapter.own_sandbox = own_sandbox;
            let mut caller: BTreeMap<String, String> = [("PATH", path.clone())]
                .into_iter()
                .chain(more.iter().cloned())
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            caller.insert("HOME".to_owned(), "/root".to_owned());
            let settings = LaunchSettings {
                adapter_text,
                adapter,
                command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
                folder: work,
                sandbox: true,
                variables: more.iter().map(|(name, _)| (*name).to_owned()).collect(),
                write: Vec::new(),
                git_folders: None,
                read: Vec::new(),
                model: None,
                hidden: vec![state.clone()],
                user_home: user.clone(),
                caller,
                tier,
                trackside: std::env::current_exe().unwrap(),
                limit: Some(60),
            };
            let who = RunIdentity { run: name, agent: name, entity: "", url: "", token };
            let task = serde_json::json!({ "instructions": format!("canary-task-of-{name}") });
            let nothing = SessionToResume::default();
            let prepared =
                launch::prepare(&settings, &who, &space, &root.join("login"), &task, &nothing).unwrap();
            let folder = state.join("runs").join(name);
            LocalRun::start(&shim(), &folder, prepared.plan, &prepared.environment).unwrap()
        };
        let mut victim = start("victim", "echo waiting; exec sleep 300", "canary-other-token", &[]);
        poll_until(&mut victim, |lines, _| prints(lines, "waiting"));
        let running = victim.running().unwrap().unwrap();
        let pid = ProcessTable::read().descendants(running.pid).last().map(|it| it.pid).unwrap();
        let paths = [
            ("STATE", state.display().to_string()),
            ("VICTIM", state.join("runs/victim").display().to_string()),
            ("SPACE", root.join("spaces/victim").display().to_string()),
            ("USER_HOME", user.display().to_string()),
            ("PID", pid.to_string()),
        ];
        let mut thief = start("thief", THIEF, "canary-own-token", &paths);
        let end = poll_until(&mut thief, |_, end| end.is_some());
        assert_eq!(class(end), ExitClass::Ok, "{tier} {own_sandbox}");
        let folder = state.join("runs/thief");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let said = format!("{}{}", read("out.0"), read("err.0"));
        assert!(said.contains("begun") && said.contains("ended"), "{tier} {own_sandbox}: {said}");
        for canary in [
            "canary-owner",
            "canary-other-token",
            "canary-task-of-victim",
            "canary-own-token",
            "canary-cargo",
            "canary-login",
            "canary-netrc",
            "root:",
            "ended run 42",
        ] {
            assert!(!said.contains(canary), "{tier} {own_sandbox}: {canary} was stolen: {said}");
        }
        assert!(!said.contains("opened /"), "{tier} {own_sandbox}: {said}");
        assert!(victim.is_alive() && !state.join("runs/victim/stop").exists(), "{tier} {own_sandbox}");
        assert!(!state.join("runs/victim/in/9").exists(), "{tier} {own_sandbox}");
        assert!(victim.poll().unwrap().end.is_none(), "{tier} {own_sandbox}: the thief ended the other run");
        victim.stop("enough", Some(0)).unwrap();
        poll_until(&mut victim, |_, end| end.is_some());
        tried += 1;
        fs::remove_dir_all(root).unwrap();
    }
    assert!(tried > 0);
}
