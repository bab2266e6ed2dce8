//! Agents that run under Trackside: real processes, a real server. The names of the tests of peers' worst bugs begin with
//! their numbers.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::ground::{ClientServer, scratch};

/// Waits for a condition.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "it did not happen: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server with the pack coding, and a git repository to work in.
struct RunGround {
    server: ClientServer,
    planner: String,
}

impl RunGround {
    fn new(name: &str, settings: &[&str]) -> Self {
        let root = scratch(name);
        let server = ClientServer::start_by(root, "coding", "system", &[]);
        let planner = server.token("planner-1", "agent", &["coding:planner"]);
        let ground = Self { server, planner };
        // The agents work in the repository itself.
        let mut args = vec!["settings", "coding", "isolation=none"];
        args.extend(settings);
        ground.server.ask(&args).says(0, &[]);
        let repo = ground.repo();
        std::fs::create_dir_all(&repo).unwrap();
        let script = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
        assert!(Command::new("sh").args(["-c", script]).current_dir(&repo).status().unwrap().success());
        ground
    }

    fn repo(&self) -> std::path::PathBuf {
        self.server.root.join("repo")
    }

    fn task(&self, id: &str) {
        let made = ["new", "coding.task", "--id", id, "description=Write the file"];
        self.server.ask_as(&self.planner, &made).says(0, &[]);
        self.server.ask_as(&self.planner, &["fire", &format!("coding.task/{id}"), "finalize"]).says(0, &[]);
    }

    fn entity(&self, entity: &str) -> Json {
        self.server.ask(&["show", entity, "--json"]).json()
    }

    fn state(&self, entity: &str) -> String {
        self.entity(entity)["state"].as_str().unwrap().to_owned()
    }

    fn runs(&self) -> Vec<Json> {
        let listed = self.server.ask(&["list", "fleet.run", "--json"]).json();
        listed["items"].as_array().unwrap().clone()
    }

    /// A command of the runner, with its own state folder.
    fn runner(&self, args: &[&str], script: &str) -> Command {
        let mut command = self.server.command(args);
        command.arg("--repo").arg(self.repo()).args(["--", "sh", "-c", script]);
        command.env("XDG_CACHE_HOME", self.server.root.join("cache")).stderr(Stdio::piped());
        command
    }

    fn spawn(&self, args: &[&str], script: &str) -> Runner {
        Runner(Some(self.runner(args, script).stdout(Stdio::null()).spawn().unwrap()))
    }

    /// Runs one task and returns the exit code and the messages.
    fn once(&self, script: &str) -> (i32, String) {
        let output = self.runner(&["work", "coding.task", "--once"], script).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A runner that is killed at the end of the test.
struct Runner(Option<Child>);

impl Runner {
    fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn end(mut self) -> (i32, String) {
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
fn processes(text: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<i32>().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_dead = state.rsplit(')').next().is_some_and(|it| it.trim_start().starts_with('Z'));
        if !is_dead && String::from_utf8_lossy(&line).contains(text) {
            found.push(pid);
        }
    }
    found
}

fn read(path: &Path) -> Option<String> {
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
    ground.task("T-1");
    let mark = format!("trackside-orphan-{}", std::process::id());
    let script = format!(
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; : {mark}; done' &) ; \
         sh -c ': {mark}; exec >/dev/null 2>&1; while :; do sleep 1; done' & wait; sleep 600"
    );
    let mut runner = ground.spawn(&["work", "coding.task", "--once"], &script);
    wait_for("the processes start", || (processes(&mark).len() >= 2).then_some(()));
    let run = wait_for("the run is known", || Some(ground.runs().first()?["id"].as_str()?.to_owned()));
    // Its own token no longer works once its runner is gone for good.
    runner.kill();
    wait_for("no process is left", || processes(&mark).is_empty().then_some(()));
    assert!(!run.is_empty());
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
    wait_for("the process starts", || (!processes(&mark).is_empty()).then_some(()));
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
    let script = "echo start >> starts.txt; for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.5; done; \
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work";
    let mut runner = ground.spawn(&["work", "coding.task", "--once"], script);
    wait_for("the process starts", || read(&ground.repo().join("starts.txt")));
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
    assert!(task.contains("half of it is done") && task.contains("write the rest"), "{task}");
    assert_eq!(ground.state("coding.task/T-1"), "READY_FOR_REVIEW", "{messages}");
    assert_eq!(ground.entity("coding.task/T-1")["fields"]["handoff_pending"], false);
    assert_eq!(ground.runs().len(), 2);
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

#[test]
fn a_build_task_goes_through_every_role_and_to_the_cto_and_back() {
    let server = ClientServer::start_by(scratch("runs-build"), "build", "system", &[]);
    let planner = server.token("planner-1", "agent", &[]);
    let ground = RunGround { server, planner };
    let repo = ground.repo();
    std::fs::create_dir_all(&repo).unwrap();
    let start = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
    assert!(Command::new("sh").args(["-c", start]).current_dir(&repo).status().unwrap().success());
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
