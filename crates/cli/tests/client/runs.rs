//! Agents that run under Trackside: real processes, a real server. The names of the tests of peers' worst bugs begin with
//! their numbers.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::ground::{ClientServer, scratch};

/// Waits for a condition.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "it did not happen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server with the pack coding, and a git repository to work in.
pub(crate) struct RunGround {
    pub(crate) server: ClientServer,
    pub(crate) planner: String,
}

impl RunGround {
    pub(crate) fn new(name: &str, settings: &[&str]) -> Self {
        Self::of_coding(ClientServer::start_by(scratch(name), "coding", "system", &[]), settings)
    }

    /// A server with the pack coding, whose folder of control files is `.trackside` below its root.
    pub(crate) fn in_project(name: &str, settings: &[&str]) -> Self {
        let server = ClientServer::start_as(scratch(name), ".trackside", "coding", "system", &[], &[]);
        Self::of_coding(server, settings)
    }

    fn of_coding(server: ClientServer, settings: &[&str]) -> Self {
        let planner = server.token("planner-1", "agent", &["coding:planner"]);
        let ground = Self { server, planner };
        // Unless a test is about worktrees, the agents work in the repository itself.
        let mut args = vec!["settings", "coding"];
        if !settings.iter().any(|it| it.starts_with("isolation=")) {
            args.push("isolation=none");
        }
        args.extend(settings);
        ground.server.ask(&args).says(0, &[]);
        let repo = ground.repo();
        std::fs::create_dir_all(&repo).unwrap();
        let script = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
        assert!(Command::new("sh").args(["-c", script]).current_dir(&repo).status().unwrap().success());
        ground
    }

    /// A server with the pack build, and a git repository to work in.
    pub(crate) fn of_build(name: &str) -> Self {
        Self::of_pack(name, "build")
    }

    /// A server with another pack, and a git repository to work in.
    pub(crate) fn of_pack(name: &str, pack: &str) -> Self {
        Self::on(ClientServer::start_by(scratch(name), pack, "system", &[]))
    }

    /// A repository to work in beside a server.
    pub(crate) fn on(server: ClientServer) -> Self {
        let planner = server.token("planner-1", "agent", &[]);
        let ground = Self { server, planner };
        std::fs::create_dir_all(ground.checkout()).unwrap();
        let start = "git init -q && git config user.name t && git config user.email t@t && git commit -q --allow-empty -m start";
        let made = Command::new("sh").args(["-c", start]).current_dir(ground.checkout()).status().unwrap();
        assert!(made.success());
        ground
    }

    /// The main checkout.
    pub(crate) fn checkout(&self) -> std::path::PathBuf {
        self.server.root.join("repo")
    }

    /// The folder in which an agent works: the worktree of the task once it exists.
    pub(crate) fn repo(&self) -> std::path::PathBuf {
        let worktree = self.checkout().join(".worktrees/T-1");
        if worktree.exists() { worktree } else { self.checkout() }
    }

    pub(crate) fn task(&self, id: &str) {
        let made = ["new", "coding.task", "--id", id, "description=Write the file"];
        self.server.ask_as(&self.planner, &made).says(0, &[]);
        self.server.ask_as(&self.planner, &["fire", &format!("coding.task/{id}"), "finalize"]).says(0, &[]);
    }

    pub(crate) fn entity(&self, entity: &str) -> Json {
        self.server.ask(&["show", entity, "--json"]).json()
    }

    pub(crate) fn state(&self, entity: &str) -> String {
        self.entity(entity)["state"].as_str().unwrap().to_owned()
    }

    pub(crate) fn runs(&self) -> Vec<Json> {
        let listed = self.server.ask(&["list", "fleet.run", "--json"]).json();
        listed["items"].as_array().unwrap().clone()
    }

    /// A command of the runner, with its own state folder.
    pub(crate) fn runner(&self, args: &[&str], script: &str) -> Command {
        let mut command = self.server.command(args);
        command.arg("--repo").arg(self.checkout()).args(["--", "sh", "-c", script]);
        command.env("XDG_CACHE_HOME", self.server.root.join("cache")).stderr(Stdio::piped());
        command
    }

    pub(crate) fn spawn(&self, args: &[&str], script: &str) -> Runner {
        Runner(Some(self.runner(args, script).stdout(Stdio::null()).spawn().unwrap()))
    }

    /// Runs one task and returns the exit code and the messages.
    pub(crate) fn once(&self, script: &str) -> (i32, String) {
        let output = self.runner(&["work", "coding.task", "--once"], script).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A runner that is killed at the end of the test.
pub(crate) struct Runner(pub(crate) Option<Child>);

impl Runner {
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn end(mut self) -> (i32, String) {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Living processes whose command line contains a text.
pub(crate) fn processes(text: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<i32>().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_dead = state.rsplit(')').next().is_some_and(|it| it.trim_start().starts_with('Z'));
        let line = String::from_utf8_lossy(&line);
        // The runner has the script in its arguments, too.
        if !is_dead && line.contains(text) && !line.contains("\0--repo\0") {
            found.push(pid);
        }
    }
    found
}

pub(crate) fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().filter(|it| !it.is_empty())
}

#[test]
fn a_command_gets_its_task_and_its_result_is_submitted() {
    let ground = RunGround::new("runs-task", &[]);
    ground.task("T-1");
    let script = "env > env.txt; cp \"$TRACKSIDE_TASK_FILE\" task.json; echo hello; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work; git rev-parse HEAD > head.txt";
    let (code, messages) = ground.once(script);
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let head = read(&ground.repo().join("head.txt")).unwrap();
    assert_eq!(ground.entity("coding.task/T-1")["fields"]["review_commit"], head.trim());
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!((&run["state"], &run["fields"]["exitCode"]), (&Json::from("SUCCEEDED"), &Json::from(0)));
    assert_eq!(run["fields"]["entity"], "coding.task/T-1");
    // What holds is on record: the tier that the runner announced, and what its shim enforced.
    let tier = run["fields"]["tier"].as_str().unwrap();
    assert!(
        ["pidns", "cgroup", "tree"].contains(&tier) && messages.contains(&format!("containment: {tier}")),
        "{messages}"
    );
    assert_eq!(run["fields"]["sandbox"], "off: no capabilities, no new privileges");
    let host = ground.entity("fleet.runner/runner.coder-1");
    assert_eq!(
        (&host["fields"]["tier"], &host["fields"]["sandbox"]),
        (&run["fields"]["tier"], &"off".into())
    );

    let task: Json = serde_json::from_str(&read(&ground.repo().join("task.json")).unwrap()).unwrap();
    assert!(task["instructions"].as_str().unwrap().contains("Write the file"), "{task:#}");
    let environment = read(&ground.repo().join("env.txt")).unwrap();
    for name in ["URL", "TOKEN", "RUN", "ENTITY=coding.task/T-1", "TASK_FILE", "AGENT=coder-1", "FOLDER"] {
        assert!(environment.contains(&format!("TRACKSIDE_{name}")), "{name}: {environment}");
    }
    // Neither the fence nor a token is in the instructions.
    assert!(!task.to_string().contains(&ground.server.owner()), "{task:#}");
    assert!(!environment.contains(&ground.server.owner()), "the owner's token is not passed on");
    let transcript = ground.server.ask(&["logs", run["id"].as_str().unwrap()]);
    transcript.says(0, &["hello"]);
}

#[test]
fn s1_nothing_outlives_its_runner() {
    let ground =
        RunGround::new("runs-s1", &["lease_duration=10s", "lease_grace=1s", "heartbeat_interval=2s"]);
    ground.server.ask(&["settings", "fleet", "runnerLease=12s", "runnerGrace=1s"]).says(0, &[]);
    ground.task("T-1");
    let mark = format!("trackside-orphan-{}", std::process::id());
    let script = format!(
        "echo \"$TRACKSIDE_TOKEN\" > token.txt; trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; : {mark}; done' &) ; \
         sh -c ': {mark}; exec >/dev/null 2>&1; while :; do sleep 1; done' & wait; sleep 600"
    );
    let mut runner = ground.spawn(&["work", "coding.task", "--once"], &script);
    wait_for("the processes start", || (processes(&mark).len() >= 2).then_some(()));
    let run = format!("fleet.run/{}", ground.run_of("coder-1")["id"].as_str().unwrap());
    let token = read(&ground.repo().join("token.txt")).unwrap();
    let killed = Instant::now();
    runner.kill();
    wait_for("no process is left", || processes(&mark).is_empty().then_some(()));
    // The lease ends at most 10 seconds after its last renewal.
    assert!(killed.elapsed() < Duration::from_secs(10 + 10), "{:?}", killed.elapsed());
    // The token that its processes had is refused from then on, although nobody has revoked it.
    let runner = "fleet.runner/runner.coder-1";
    wait_for("the runner is missed", || (ground.state(runner) == "OFFLINE").then_some(()));
    let version = ground.entity("coding.task/T-1")["version"].clone();
    let thief = trackside_protocol::Client::new(&ground.server.url(), token.trim());
    for (event, fields) in [("submit", "review_commit"), ("handoff", "summary"), ("block", "blocked_reason")]
    {
        let body = serde_json::json!({ "event": event, "fields": { fields: "abc1234" } });
        match thief.post("/v1/entities/coding.task/T-1/transitions", &body) {
            Err(trackside_protocol::ClientError::Refused(problem)) => {
                assert_eq!(problem.status, 403, "{problem:?}")
            }
            other => panic!("{event}: {other:?}"),
        }
    }
    assert_eq!(ground.entity("coding.task/T-1")["version"], version);
    assert_eq!(ground.state(&run), "RUNNING", "nobody knows yet how it ended");
}

#[test]
fn s1_a_stop_ends_every_process_and_the_task_is_given_back() {
    let ground = RunGround::new("runs-stop", &[]);
    ground.task("T-1");
    let mark = format!("trackside-stopped-{}", std::process::id());
    let script = format!(
        "trap '' TERM; (setsid sh -c 'while :; do sleep 1; : {mark}; done' &); while :; do sleep 1; : {mark}; done"
    );
    let runner = ground.spawn(&["work", "coding.task", "--once"], &script);
    wait_for("the processes start", || (processes(&mark).len() >= 2).then_some(()));
    let run = wait_for("the run is known", || {
        let run = ground.runs().first()?.clone();
        (run["state"] == "RUNNING").then(|| run["id"].as_str().unwrap().to_owned())
    });
    ground.server.ask(&["stop", &run, "--reason", "wrong task"]).says(0, &[]);
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    assert!(processes(&mark).is_empty());
    let run = ground.entity(&format!("fleet.run/{run}"));
    assert_eq!(
        (&run["state"], &run["fields"]["stopReason"]),
        (&Json::from("STOPPED"), &Json::from("wrong task"))
    );
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{messages}");
    assert!(task["fields"]["blocked_reason"].as_str().unwrap().contains("wrong task"));
}

#[test]
fn s2_one_generation_of_an_identity() {
    let ground = RunGround::new("runs-s2", &[]);
    ground.task("T-1");
    let mark = format!("trackside-twice-{}", std::process::id());
    let script = format!("while :; do sleep 1; : {mark}; done");
    let _runner = ground.spawn(&["work", "coding.task", "--once"], &script);
    wait_for("the run is known", || ground.runs().first().map(|_| ()));
    // On the same machine the folder of the runner is locked; on another the server refuses.
    for state in ["state", "other-machine"] {
        let mut second = ground.runner(&["supervise", "--role", "coder", "--id", "coder-1"], "exit 0");
        if state == "other-machine" {
            second.env("XDG_STATE_HOME", ground.server.root.join(state));
        }
        let output = second.output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{state}: {messages}");
    }
    assert_eq!(ground.runs().len(), 1);
}

#[test]
fn s6_a_lifetime_cap_that_nothing_resets() {
    let ground = RunGround::new("runs-s6", &["crash_delay=1s"]);
    ground.server.ask(&["settings", "fleet", "maxRuns:=3"]).says(0, &[]);
    ground.task("T-1");
    let (code, messages) = ground.once("echo run >> runs.txt; exit 7");
    assert_eq!(code, 0, "{messages}");
    assert_eq!(read(&ground.repo().join("runs.txt")).unwrap().lines().count(), 3, "{messages}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{messages}");
    assert!(task["fields"]["blocked_reason"].as_str().unwrap().contains("3 runs"), "{task:#}");
}

#[test]
fn s11_a_restarted_runner_adopts_its_run() {
    let ground = RunGround::new("runs-s11", &[]);
    ground.task("T-1");
    let script = "echo start >> starts.txt; for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 1; done; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let mut runner = ground.spawn(&["work", "coding.task", "--once"], script);
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    wait_for("lines are read", || ground.server.ask(&["logs", &run]).data.contains("line 2").then_some(()));
    runner.kill();
    let (code, messages) = ground.once(script);
    assert_eq!(code, 0, "{messages}");
    assert_eq!(read(&ground.repo().join("starts.txt")).unwrap().lines().count(), 1, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!((&run["state"], &run["fields"]["exitCode"]), (&Json::from("SUCCEEDED"), &Json::from(0)));
    let transcript = ground.server.ask(&["logs", run["id"].as_str().unwrap()]).data;
    for line in 1..=8 {
        assert_eq!(transcript.matches(&format!("line {line}")).count(), 1, "{transcript}");
    }
}

#[test]
fn s12_a_fresh_process_reads_the_notes() {
    let ground = RunGround::new("runs-s12", &["restart_delay=1s"]);
    ground.task("T-1");
    let script = "if [ ! -e first.txt ]; then touch first.txt; \
        trackside fire \"$TRACKSIDE_ENTITY\" handoff summary='half of it is done' next_action='write the rest' || exit 9; exit 42; fi; \
        cp \"$TRACKSIDE_TASK_FILE\" second.json; git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let (code, messages) = ground.once(script);
    assert_eq!(code, 0, "{messages}");
    let task = read(&ground.repo().join("second.json")).unwrap_or_else(|| panic!("{messages}"));
    let task: Json = serde_json::from_str(&task).unwrap();
    let notes = &task["handoff"];
    assert_eq!(
        (&notes["summary"], &notes["next_action"]),
        (&"half of it is done".into(), &"write the rest".into()),
        "{task:#}"
    );
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(ground.entity("coding.task/T-1")["fields"]["handoff_pending"], false);
    assert_eq!(ground.runs().len(), 2);
}

/// A handoff ends the registration of the agent, and that of its runner stays. The next runner continues with it.
#[test]
fn s12_a_runner_killed_after_a_handoff_starts_again() {
    let ground = RunGround::new("runs-killed-after-handoff", &["restart_delay=3s"]);
    ground.task("T-1");
    let script = "if grep -q '^  \"handoff\": {' \"$TRACKSIDE_TASK_FILE\"; then exit 0; fi; \
        trackside fire \"$TRACKSIDE_ENTITY\" handoff summary='half of it is done' next_action='write the rest' || exit 9; exit 42";
    let args = ["work", "coding.task", "--once"];
    let mut first = ground.spawn(&args, script);
    wait_for("the first process has ended", || {
        ground.runs().first().filter(|it| it["final"] == true).map(|_| ())
    });
    first.kill();
    let (code, messages) = ground.once(script);
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.runs().len(), 2, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
}

#[test]
fn s12_a_crash_resumes_the_conversation_and_starts_cold_if_it_is_gone() {
    let ground = RunGround::new("runs-s12-session", &["crash_delay=1s"]);
    ground.task("T-1");
    let gone = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}"#;
    ground.claude(&format!(
        "echo \"$*\" > args.$TURN; case $TURN in 1) exit 3;; 2) echo '{gone}'; CODE=1;; *) good; CODE=0;; esac"
    ));
    let (code, messages) = ground.spawn_claude("coder-1", &["--once"]).end();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let args = |turn: u32| {
        let text = read(&ground.server.root.join("coder-1").join(format!("args.{turn}"))).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let value = |turn: u32, name: &str| {
        let args = args(turn);
        args.iter().position(|it| it == name).map(|it| args[it + 1].clone())
    };
    assert!(value(1, "--session-id").is_some());
    let session = Some("s-1".to_owned());
    assert_eq!(
        value(2, "--resume"),
        session,
        "the second process continues the conversation that the first named"
    );
    assert_eq!(value(3, "--resume"), None, "the third starts cold");
    let runs = ground.runs();
    let [first, second, third] = &runs[..] else { panic!("{messages}") };
    assert_eq!(first["fields"]["session"], "s-1", "{first:#}");
    assert_eq!(second["fields"]["exitClass"], "no-session", "{second:#}");
    assert_eq!((&second["fields"]["previous"], &third["fields"]["previous"]), (&first["id"], &second["id"]));
}

#[test]
fn s12_an_agent_whose_context_is_nearly_full_hands_off() {
    let ground = RunGround::new("runs-s12-context", &["restart_delay=1s"]);
    ground.task("T-1");
    let step = r#"{"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":185000,"output_tokens":9}}}"#;
    let notes = r#"{"type":"result","is_error":false,"result":"half of it is done\nwrite the rest","session_id":"s-1"}"#;
    ground.claude(&format!(
        "case $TURN in 1) echo '{step}'; read -r asked; echo \"$asked\" > asked.txt; echo '{notes}';; \
         *) cp \"$TRACKSIDE_TASK_FILE\" second.json; echo \"$*\" > args.txt; good;; esac; CODE=0"
    ));
    let (code, messages) = ground.spawn_claude("coder-1", &["--once"]).end();
    assert_eq!(code, 0, "{messages}");
    let file = |name: &str| read(&ground.server.root.join("coder-1").join(name)).unwrap_or_default();
    assert!(file("asked.txt").contains("handoff notes"), "{messages}");
    let task: Json = serde_json::from_str(&file("second.json")).unwrap();
    assert!(task["handoff"].to_string().contains("half of it is done"), "{task:#}");
    assert!(task["handoff"].to_string().contains("write the rest"), "{task:#}");
    assert!(!file("args.txt").contains("--resume"), "the second process starts with an empty context");
    let entity = ground.entity("coding.task/T-1");
    assert_eq!(
        (&entity["state"], &entity["fields"]["handoff_pending"]),
        (&"READY_FOR_REVIEW".into(), &false.into()),
        "{messages}"
    );
    let [first, second] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!(first["fields"]["exitClass"], "context", "{first:#}");
    assert_eq!(second["state"], "SUCCEEDED", "{second:#}");
}

#[test]
fn empty_folders_that_a_program_leaves_are_removed() {
    let ground = RunGround::new("runs-leftovers", &[]);
    ground.task("T-1");
    let adapter = ground.server.root.join("untidy.yaml");
    let text = "adapter: untidy\nabout: An untidy program\ntransport: plain\nprogram: { names: [] }\nend: {}\n\
                stop: { remove_if_empty: [.left, .used, .before] }\n";
    std::fs::write(&adapter, text).unwrap();
    std::fs::create_dir(ground.repo().join(".before")).unwrap();
    let args = ["work", "coding.task", "--once", "--sandbox", "off", "--agent", adapter.to_str().unwrap()];
    let script = "mkdir .left .used; touch .used/x; git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let output = ground.runner(&args, script).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let exists = [".left", ".used", ".before"].map(|it| ground.repo().join(it).exists());
    assert_eq!(exists, [false, true, true], "{messages}");
}

#[test]
fn a_huge_line_of_an_agent_does_not_hide_later_ones() {
    let ground = RunGround::new("runs-huge", &[]);
    ground.task("T-1");
    ground.claude(
        r#"big=$(printf '%*s' 400000 '' | tr ' ' x)
        echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Write","input":{"content":"'$big'"}}]}}'
        good; CODE=0"#,
    );
    let (code, messages) = ground.spawn_claude("coder-1", &["--once"]).end();
    assert_eq!(code, 0, "{messages}");
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    let lines = ground.server.ask(&["logs", run["id"].as_str().unwrap(), "--json"]).data;
    assert!(
        lines.contains("bytes more)") && lines.contains("\"end\""),
        "{}",
        &lines[..lines.len().min(3000)]
    );
}

#[test]
fn supervise_follows_the_exit_codes() {
    let ground =
        RunGround::new("runs-codes", &["restart_delay=1s", "crash_delay=1s", "coder_poll_interval=1s"]);
    let supervise = ["supervise", "--role", "coder", "--id", "coder-1"];
    let script = "n=$(cat n.txt 2>/dev/null || echo 0); n=$((n+1)); echo $n > n.txt; case $n in 1) exit 42;; 2) exit 3;; *) exit 0;; esac";
    let (code, messages) = ground.spawn(&supervise, script).end();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(read(&ground.repo().join("n.txt")).unwrap().trim(), "3", "{messages}");
    // A draft will become work: the supervisor waits for it.
    ground
        .server
        .ask_as(&ground.planner, &["new", "coding.task", "--id", "T-1", "description=x"])
        .says(0, &[]);
    let mut waiting = ground.spawn(&supervise, "echo again >> again.txt; exit 0");
    wait_for("it looks again", || read(&ground.repo().join("again.txt")).filter(|it| it.lines().count() > 1));
    assert!(waiting.0.as_mut().unwrap().try_wait().unwrap().is_none(), "it still waits");
}

/// A program that stands for Claude Code: the adapter is the real one, the answers come from a script. `TURN` is the
/// number of its start.
const CLAUDE: &str = r#"#!/bin/bash
[ "$1" = --version ] && { echo "2.1.326 (Claude Code)"; exit 0; }
read -r prompt
TURN=$(($(cat turns.txt 2>/dev/null || echo 0) + 1)); echo $TURN > turns.txt
init='{"type":"system","subtype":"init","session_id":"s-1","model":"m","claude_code_version":"2.1.326"}'
limit() {
    echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$1'}}'
    echo '{"type":"result","subtype":"success","is_error":'$2',"result":"You'"'"'ve hit your 5-hour limit · resets 9:20pm","session_id":"s-1"}'
}
good() {
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work
    echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}'
}
echo "$init"
"#;

impl RunGround {
    /// Puts a program called `claude` into a folder, which becomes the first of PATH.
    pub(crate) fn claude(&self, script: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.server.root.join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("claude");
        std::fs::write(&program, format!("{CLAUDE}{script}\ncat > /dev/null\nexit $CODE\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    /// A runner with the program `claude`, which works in a repository of its own.
    pub(crate) fn spawn_claude(&self, agent: &str, more: &[&str]) -> Runner {
        Runner(Some(self.claude_runner("coding.task", agent, more).spawn().unwrap()))
    }

    /// The command of a runner with the program `claude`.
    pub(crate) fn claude_runner(&self, lifecycle: &str, agent: &str, more: &[&str]) -> Command {
        let repo = self.repo_of(agent);
        let path = format!("{}:{}", self.server.root.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = self.server.command(&["work", lifecycle, "--as", agent, "--agent", "claude"]);
        command.args(["--sandbox", "off", "--repo"]).arg(repo).args(more).env("PATH", path);
        command.env("XDG_CACHE_HOME", self.server.root.join("cache"));
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        command
    }

    pub(crate) fn repo_of(&self, agent: &str) -> std::path::PathBuf {
        let repo = self.server.root.join(agent);
        std::fs::create_dir_all(&repo).unwrap();
        let script = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
        assert!(Command::new("sh").args(["-c", script]).current_dir(&repo).status().unwrap().success());
        repo
    }

    fn spawn_for(&self, agent: &str, script: &str) -> Runner {
        let mut command = self.server.command(&["work", "coding.task", "--as", agent]);
        command.arg("--repo").arg(self.repo_of(agent)).args(["--", "bash", "-c", script]);
        command.env("XDG_CACHE_HOME", self.server.root.join("cache"));
        Runner(Some(command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()))
    }

    /// The only run of an agent, once it runs.
    pub(crate) fn run_of(&self, agent: &str) -> Json {
        wait_for(&format!("a run of {agent}"), || {
            self.runs().into_iter().find(|it| it["fields"]["agent"] == agent && it["state"] == "RUNNING")
        })
    }

    fn stalls(&self) -> Vec<Json> {
        let alerts = self.server.ask(&["alerts", "--json"]).json();
        let all = alerts["items"].as_array().unwrap().iter();
        all.filter(|it| it["kind"] == "stalled_run").cloned().collect()
    }
}

#[test]
fn s3_alive_is_not_killed_and_frozen_is_found() {
    let ground = RunGround::new("runs-s3", &[]);
    ground.server.ask(&["settings", "fleet", "stallTime=6s"]).says(0, &[]);
    for id in 1..=5 {
        ground.task(&format!("T-{id}"));
    }
    // Alive without a line of output: an open tool call, a computation, and programs that come and go.
    let call = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]}}'"#;
    ground.claude(call);
    let mark = format!("trackside-drawn-{}", std::process::id());
    let alive = [
        ground.spawn_claude("coder-1", &[]),
        ground.spawn_for(
            "coder-2",
            "mkfifo f; exec 3<>f; while :; do for i in {1..60000}; do :; done; read -t 0.1 <&3; done",
        ),
        ground.spawn_for("coder-3", "while :; do sleep 0.3; done"),
    ];
    let alive_runs: Vec<Json> =
        ["coder-1", "coder-2", "coder-3"].map(|it| ground.run_of(it)["id"].clone()).to_vec();
    // A program that only redraws a line. The second one starts after the first was found.
    let draws = |word: &str| {
        format!(": {mark}; mkfifo f; exec 3<>f; while :; do printf '\\r{word} '; read -t 0.2 <&3; done")
    };
    for (agent, word) in [("coder-4", "polishing"), ("coder-5", "pondering")] {
        let _runner = ground.spawn_for(agent, &draws(word));
        let run = ground.run_of(agent)["id"].as_str().unwrap().to_owned();
        let alert = wait_for("the stalled run is found", || {
            ground.stalls().into_iter().find(|it| it["message"].as_str().unwrap().contains(&run))
        });
        assert!(alert["message"].as_str().unwrap().contains(word), "{alert:#}");
        // It is found, not killed, and its task is still its own.
        assert!(!processes(&mark).is_empty());
        let entity = format!("fleet.run/{run}");
        assert_eq!(ground.state(&entity), "RUNNING");
        let task = ground.entity(&entity)["fields"]["entity"].as_str().unwrap().to_owned();
        assert_eq!(ground.entity(&task)["leases"][0]["holder"], agent);
        // A person ends it.
        ground.server.ask(&["stop", &run, "--reason", "it only draws"]).says(0, &[]);
        wait_for("it is stopped", || (ground.state(&entity) == "STOPPED").then_some(()));
        assert!(processes(&mark).is_empty());
    }
    let stalls = ground.stalls();
    assert_eq!(stalls.len(), 2, "each silence is told once: {stalls:#?}");
    for run in alive_runs {
        let run = format!("fleet.run/{}", run.as_str().unwrap());
        assert_eq!(ground.state(&run), "RUNNING", "{run}");
    }
    drop(alive);
}

#[test]
fn s3_a_background_server_that_holds_the_pipe_ends_with_its_run() {
    let ground = RunGround::new("runs-s3-pipe", &[]);
    ground.task("T-1");
    let mark = format!("trackside-serves-{}", std::process::id());
    let script = format!(
        "(setsid sh -c 'while :; do sleep 1; : {mark}; done' &); echo listening; \
         git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work"
    );
    let (code, messages) = ground.once(&script);
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert!(processes(&mark).is_empty());
}

#[test]
fn s4_a_result_before_the_start_is_confirmed_and_after_a_stop_counts() {
    let ground = RunGround::new("runs-s4", &[]);
    // The agent is faster than the report of its start.
    ground.task("T-1");
    let host = ground.server.token("host-1", "agent", &["fleet:agent_runner"]);
    let coder = ground.server.token("coder-9", "agent", &["coding:coder"]);
    ground.server.ask_as(&coder, &["new", "coding.agent", "--id", "coder-9", "role=coder"]).says(0, &[]);
    ground.server.ask_as(&host, &["new", "fleet.runner", "--id", "host-1", "machine=mars"]).says(0, &[]);
    let run = ["new", "fleet.run", "--id", "R-1", "agent=coder-9", "runner=host-1", "adapter=command"];
    ground.server.ask_as(&host, &[&run[..], &["entity=coding.task/T-1"]].concat()).says(0, &[]);
    ground.server.ask_as(&coder, &["claim", "coding.task"]).says(0, &["T-1"]);
    assert_eq!(ground.state("fleet.run/R-1"), "STARTING");
    ground
        .server
        .ask_as(&coder, &["fire", "coding.task/T-1", "submit", "review_commit=abc1234"])
        .says(0, &[]);
    let ended = ["fire", "fleet.run/R-1", "ended", "exitClass=ok", "exitCode:=0", "commit=abc1234"];
    ground.server.ask_as(&host, &ended).says(0, &[]);
    assert_eq!(ground.state("fleet.run/R-1"), "SUCCEEDED");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW");

    // A stop that stops nothing: the agent finishes its work and reports it.
    ground.task("T-2");
    let script = "finish() { git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work; \
        trackside fire \"$TRACKSIDE_ENTITY\" submit review_commit=$(git rev-parse HEAD) > fired.txt 2>&1; exit 0; }; \
        trap finish TERM; touch ready.txt; while :; do sleep 0.2; done";
    let runner = ground.spawn(&["work", "coding.task", "--once", "--as", "coder-1"], script);
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    wait_for("it can be stopped", || ground.repo().join("ready.txt").exists().then_some(()));
    ground.server.ask(&["stop", &run]).says(0, &[]);
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    let task = ground.entity("coding.task/T-2");
    let fired = read(&ground.repo().join("fired.txt")).unwrap_or_default();
    assert_eq!(task["state"], "READY_FOR_REVIEW", "{messages}{fired}");
    let reported = &ground.entity(&format!("fleet.run/{run}"))["fields"]["commit"];
    assert_eq!((&task["fields"]["review_commit"], reported.is_string()), (reported, true), "{messages}");
}

#[test]
fn s4_a_late_result_is_kept_as_evidence_with_its_commit() {
    let ground =
        RunGround::new("runs-s4-late", &["lease_duration=10s", "lease_grace=1s", "heartbeat_interval=2s"]);
    ground.task("T-1");
    let script = "cp \"$TRACKSIDE_TASK_FILE\" task.json; echo \"$TRACKSIDE_TOKEN\" > token.txt; echo \"$0 $*\" > prompt.txt; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m late; git rev-parse HEAD > head.txt; exit 0";
    let gate = ground.repo().join("go.txt");
    let waits = format!("touch started.txt; while [ ! -e {} ]; do sleep 0.1; done; {script}", gate.display());
    let mut runner = ground.spawn(&["work", "coding.task", "--once"], &waits);
    ground.run_of("coder-1");
    wait_for("it works", || ground.repo().join("started.txt").exists().then_some(()));
    // The runner dies, its agent finishes, and the task goes to another coder.
    runner.kill();
    std::fs::write(&gate, "").unwrap();
    let commit = wait_for("the agent has finished", || read(&ground.repo().join("head.txt")));
    let commit = commit.trim();
    let second = ground.server.token("coder-2", "agent", &["coding:coder"]);
    ground.server.ask_as(&second, &["new", "coding.agent", "--id", "coder-2", "role=coder"]).says(0, &[]);
    wait_for("another coder has the task", || {
        ground.server.ask_as(&second, &["fire", "coding.task/T-1", "claim"]).code.eq(&0).then_some(())
    });
    let (_, messages) = ground.once("exit 9");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(
        (&task["state"], &task["fields"]["assigned_to"]),
        (&"CLAIMED".into(), &"coder-2".into()),
        "{messages}"
    );
    let run = ground.runs().into_iter().find(|it| it["fields"]["commit"] == commit).expect(&messages);
    assert_eq!(run["state"], "SUCCEEDED", "the run's own record has the commit: {run:#}");
    let history = ground.server.ask(&["history", "coding.task/T-1", "--json"]).json();
    let entries = history["items"].as_array().unwrap().iter().filter(|it| it["event"] == "EVIDENCE");
    let evidence: Vec<String> = entries.map(Json::to_string).collect();
    assert!(evidence.len() == 1 && evidence[0].contains(commit), "{history:#}{messages}");
    // The task is not stuck: the other coder can finish it, or a person settles it with the commit that was kept.
    ground
        .server
        .ask(&["fire", "coding.task/T-1", "release", "--reason", "coder-1 has done it"])
        .says(0, &[]);
    let fields = ["correct", "coding.task/T-1", "--to", "READY_FOR_REVIEW", "--reason", "coder-1 was late"];
    let field = format!("review_commit={commit}");
    ground.server.ask(&[&fields[..], &[&field]].concat()).says(0, &[]);
    assert_eq!(ground.entity("coding.task/T-1")["fields"]["review_commit"], commit);

    // The task file contains neither the fence nor the token.
    let told = read(&ground.repo().join("task.json")).unwrap();
    let token = read(&ground.repo().join("token.txt")).unwrap();
    assert!(!told.contains("fence"), "{told}");
    assert!(!token.trim().is_empty() && !told.contains(token.trim()), "{told}");
}

#[test]
fn s5_a_usage_limit_is_a_hold() {
    let ground = RunGround::new("runs-s5", &["max_restarts:=1", "crash_delay=1s"]);
    for id in ["T-1", "T-2"] {
        ground.task(id);
    }
    // Its first end looks like a failure, its second like a success.
    ground.claude(
        "case $TURN in 1) limit $(($(date +%s) + 3600)) true; CODE=1;; \
         2) limit $(($(date +%s) + 4)) false; CODE=0;; *) good; CODE=0;; esac",
    );
    let first = ground.spawn_claude("coder-1", &["--once"]);
    let account = "fleet.account/claude";
    wait_for("the account is held", || {
        let held = ground.server.ask(&["show", account, "--json"]);
        (held.code == 0 && held.json()["state"] == "HELD").then_some(())
    });
    // No other agent of the account starts, and the reason is shown.
    let mut second = ground.spawn_claude("coder-2", &["--once"]);
    wait_for("the second task is claimed", || (ground.state("coding.task/T-2") == "CLAIMED").then_some(()));
    let explained = ground.server.ask(&["explain", "coding.task/T-1"]).says(0, &[]).data.clone();
    assert!(explained.contains("5-hour limit") && explained.contains("it is held until"), "{explained}");
    let [held] = &ground.runs()[..] else { panic!("a run was started while the account is held") };
    assert_eq!(held["fields"]["exitClass"], "quota", "{held:#}");
    assert_eq!(ground.state("coding.task/T-1"), "CLAIMED");
    second.kill();

    // A person releases it. The next limit ends by itself.
    ground.server.ask(&["fire", account, "release"]).says(0, &[]);
    let (code, messages) = first.end();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let runs = ground.runs();
    let of_first: Vec<&Json> = runs.iter().filter(|it| it["fields"]["entity"] == "coding.task/T-1").collect();
    let [_, limited, good] = &of_first[..] else { panic!("{messages}") };
    assert_eq!(limited["fields"]["exitClass"], "quota", "an end without an error is no success: {limited:#}");
    let moment = |it: &Json| it.as_str().unwrap().chars().take(19).collect::<String>();
    assert!(moment(&good["fields"]["startedAt"]) >= moment(&limited["fields"]["resetsAt"]), "{messages}");
    for run in of_first {
        assert_eq!((&run["fields"]["restarts"], &run["fields"]["reruns"]), (&0.into(), &0.into()), "{run:#}");
    }
}

#[test]
fn s5_an_end_at_the_maximum_of_iterations_is_not_done() {
    let ground = RunGround::new("runs-s5-turns", &["max_restarts:=1", "crash_delay=1s"]);
    ground.task("T-1");
    ground.claude(
        r#"git -c user.name=t -c user.email=t@t commit -q --allow-empty -m half
        echo '{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (3)"],"session_id":"s-1"}'; CODE=0"#,
    );
    let (code, messages) = ground.spawn_claude("coder-1", &["--once"]).end();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "BLOCKED", "{messages}");
    for run in ground.runs() {
        assert_eq!(
            (&run["state"], &run["fields"]["exitClass"]),
            (&"FAILED".into(), &"limit".into()),
            "{run:#}"
        );
    }
}

#[test]
fn s11_a_process_whose_start_was_not_recorded_is_adopted() {
    let ground = RunGround::new("runs-s11-start", &[]);
    ground.task("T-1");
    let script = "echo start >> starts.txt; while [ ! -e go.txt ]; do sleep 0.1; done; echo one line; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let state = ground.server.root.join("own");
    let command = || {
        let mut command = ground.runner(&["work", "coding.task", "--once"], script);
        command.env("XDG_STATE_HOME", &state);
        command
    };
    let mut runner = Runner(Some(command().stdout(Stdio::null()).spawn().unwrap()));
    ground.run_of("coder-1");
    wait_for("the process starts", || read(&ground.repo().join("starts.txt")));
    runner.kill();
    // As if the runner had died between the start of the process and its record.
    let records = Command::new("find").arg(&state).args(["-name", "assignment"]).output().unwrap();
    let record = String::from_utf8(records.stdout).unwrap().trim().to_owned();
    let text = std::fs::read_to_string(&record).unwrap();
    let earlier =
        text.replace("\"is_started\":true", "\"is_started\":false").replace("\"starts\":1", "\"starts\":0");
    assert_ne!(text, earlier);
    std::fs::write(&record, earlier).unwrap();
    std::fs::write(ground.repo().join("go.txt"), "").unwrap();
    let run = ground.runs()[0]["id"].as_str().unwrap().to_owned();
    let exit = Path::new(&record).with_file_name("runs").join(run).join("exit");
    wait_for("the process has ended", || exit.exists().then_some(()));
    let output = command().output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert_eq!(read(&ground.repo().join("starts.txt")).unwrap().lines().count(), 1, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    let id = run["id"].as_str().unwrap();
    let transcript = ground.server.ask(&["logs", id]).data;
    assert_eq!(transcript.matches("one line").count(), 1, "{transcript}");
    // Its start is reported again, and counts once.
    let run = format!("fleet.run/{}", run["id"].as_str().unwrap());
    let history = ground.server.ask(&["history", &run, "--json"]).json();
    let starts = history["items"].as_array().unwrap().iter().filter(|it| it["trigger"] == "started");
    assert_eq!(starts.count(), 1, "{history:#}");
}

/// A registration whose answer was not stored is sent again, and the server answers as before.
#[test]
fn s11_a_registration_without_a_stored_answer_is_continued() {
    let ground = RunGround::new("runs-s11-registration", &[]);
    ground.task("T-1");
    let script = "echo start >> starts.txt; while [ ! -e go.txt ]; do sleep 0.1; done";
    let state = ground.server.root.join("own");
    let command = || {
        let mut command = ground.runner(&["work", "coding.task", "--once"], script);
        command.env("XDG_STATE_HOME", &state);
        command
    };
    let mut runner = Runner(Some(command().stdout(Stdio::null()).spawn().unwrap()));
    ground.run_of("coder-1");
    wait_for("the process starts", || read(&ground.repo().join("starts.txt")));
    runner.kill();
    // As if the runner had died between the request and its answer.
    let records = Command::new("find").arg(&state).args(["-name", "registration"]).output().unwrap();
    let record = String::from_utf8(records.stdout).unwrap().trim().to_owned();
    let mut text: Json = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    assert_eq!(text["unanswered"], Json::Object(serde_json::Map::new()), "{text}");
    text["leases"].as_array_mut().unwrap().pop().unwrap();
    let history = ground.server.ask(&["history", "coding.agent/coder-1", "--json"]).json();
    text["unanswered"]["coder-1"] = history["items"][0]["idempotencyKey"].clone();
    std::fs::write(&record, text.to_string()).unwrap();
    std::fs::write(ground.repo().join("go.txt"), "").unwrap();
    let output = command().output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(ground.entity("coding.agent/coder-1")["fields"]["generation"], 1);
}

/// Sends a signal to a process.
fn signal(pid: i32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

/// A process that is stopped until this ends.
pub(crate) struct Paused(i32);

impl Paused {
    pub(crate) fn new(pid: i32) -> Self {
        signal(pid, "STOP");
        Self(pid)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}

#[test]
fn reports_wait_for_the_server_and_arrive_in_order_and_once() {
    let ground = RunGround::new("runs-outage", &[]);
    ground.task("T-1");
    let script = "touch started.txt; while [ ! -e go.txt ]; do sleep 0.1; done; echo said in the outage; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work; git rev-parse HEAD > head.txt";
    let state = ground.server.root.join("own");
    let mut command = ground.runner(&["work", "coding.task", "--once"], script);
    let said = ground.server.root.join("runner.log");
    command.env("XDG_STATE_HOME", &state).stdout(Stdio::null()).stderr(std::fs::File::create(&said).unwrap());
    let runner = Runner(Some(command.spawn().unwrap()));
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    wait_for("it works", || ground.repo().join("started.txt").exists().then_some(()));
    // The server is paused while the agent ends.
    let is_server =
        |pid: &i32| read(Path::new(&format!("/proc/{pid}/comm"))).is_some_and(|it| it.trim() == "trackside");
    let servers = processes(&format!("\0up\0--data\0{}\0", ground.server.data()));
    let server = servers.into_iter().find(is_server).unwrap();
    let paused = Paused::new(server);
    std::fs::write(ground.repo().join("go.txt"), "").unwrap();
    let stored = || {
        let found =
            Command::new("find").arg(&state).args(["-path", "*/spool/*", "-type", "f"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    wait_for("the runner misses the server", || {
        read(&said).filter(|it| it.contains("waits until the server"))
    });
    assert!(ground.repo().join("head.txt").exists(), "the agent did not wait for the server");
    drop(paused);
    let (code, _) = runner.end();
    let messages = read(&said).unwrap();
    assert_eq!(code, 0, "{messages}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(ground.runs().len(), 1, "{messages}");
    assert_eq!(stored(), "");
    let history = ground.server.ask(&["history", &format!("fleet.run/{run}"), "--json"]).json();
    let all = history["items"].as_array().unwrap().iter();
    let steps: Vec<&str> =
        all.filter(|it| !it["to"].is_null()).map(|it| it["trigger"].as_str().unwrap()).collect();
    assert_eq!(steps.iter().filter(|it| ["started", "ended"].contains(it)).count(), 2, "{steps:?}");
    assert_eq!(steps.last(), Some(&"ended"), "{steps:?}");
    let transcript = ground.server.ask(&["logs", &run]).data;
    assert_eq!(transcript.matches("said in the outage").count(), 1, "{transcript}");
}

#[test]
fn s4_a_result_survives_a_runner_that_dies_before_it_is_submitted() {
    let ground = RunGround::new("runs-s4-crash", &[]);
    ground.task("T-1");
    let script = "echo start >> starts.txt; while [ ! -e go.txt ]; do sleep 0.1; done; git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let state = ground.server.root.join("own");
    let command = || {
        let mut command = ground.runner(&["work", "coding.task", "--once"], script);
        command.env("XDG_STATE_HOME", &state).stdout(Stdio::null());
        command
    };
    let mut runner = Runner(Some(command().spawn().unwrap()));
    ground.run_of("coder-1");
    std::fs::write(ground.repo().join("go.txt"), "").unwrap();
    let found = Command::new("find").arg(&state).args(["-name", "assignment"]).output().unwrap();
    let assignment = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    // The run has ended, and its consequences have not begun or are under way.
    wait_for("the run has ended", || match std::fs::read_to_string(&assignment) {
        Ok(text) => text.contains("\"ended\":{").then_some(()),
        Err(_) => Some(()),
    });
    runner.kill();
    let (_, messages) = Runner(Some(command().spawn().unwrap())).end();
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(read(&ground.repo().join("starts.txt")).unwrap().lines().count(), 1, "{messages}");
    assert_eq!(ground.runs().len(), 1, "{messages}");
}

#[test]
fn a_build_task_goes_through_every_role_and_to_the_cto_and_back() {
    let ground = RunGround::of_build("runs-build");
    let repo = ground.repo();
    ground.server.ask(&["settings", "build", "maxFailures:=1"]).says(0, &[]);
    ground.server.ask(&["new", "build.task", "--id", "T-1", "title=Close the file"]).says(0, &[]);
    let fire = |event: &str| format!("trackside fire \"$TRACKSIDE_ENTITY\" {event}");
    let checks = fire("request_review checks:='[{\"name\":\"tests\",\"passed\":true}]'");
    let commit =
        "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m 'fix: close (T-1)'".to_owned();
    // The state that each role leaves the task in, the agent's own event if there is one.
    let steps = [
        ("orchestrator", "true".to_owned(), "assigned"),
        ("solution_validator", fire("fail --reason 'No tests'"), "cto_intervention"),
        ("cto", fire("retry guidance='Test it'"), "planning"),
        ("solution_validator", fire("validate"), "validated"),
        ("fullstack_developer", "true".to_owned(), "testing"),
        ("fullstack_developer", checks, "quality_review"),
        ("quality_monitor", fire("pass"), "approved"),
        ("git_manager", commit, "completed"),
    ];
    for (role, script, state) in steps {
        let args = ["work", "build.task", "--once", "--role", role];
        let output = ground.runner(&args, &script).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(ground.state("build.task/T-1"), state, "{role}: {messages}");
    }
    let task = ground.entity("build.task/T-1");
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&repo).output().unwrap();
    assert_eq!(task["fields"]["commit"], String::from_utf8_lossy(&head.stdout).trim());
    assert_eq!(task["fields"]["ctoAttempts"], 1);
    assert_eq!(ground.runs().len(), 8, "one for each step");
}
