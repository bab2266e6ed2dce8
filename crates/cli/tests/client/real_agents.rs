//! Real Claude Code and Codex under `trackside work`, against a scripted model on loopback, from the data of the built-in
//! packs alone.
//!
//! They run only on request: `.ci/run agents` installs the programs and sets TRACKSIDE_AGENTS to the folder of their npm
//! packages. With TRACKSIDE_TRANSCRIPTS, the transcript of every run is written to that folder.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use trackside_scripted_model::{ModelScript, RecordedRequest, ScriptedModel};

use crate::ground::{ClientServer, scratch};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    Claude,
    Codex,
}

use Program::{Claude, Codex};

impl Program {
    fn adapter(self) -> &'static str {
        if self == Claude { "claude" } else { "codex" }
    }
}

/// A server with two packs, a git repository, and a user who has logged in to both programs.
struct AgentGround {
    server: ClientServer,
    name: &'static str,
    model: ScriptedModel,
}

impl AgentGround {
    /// FOLDER in a script is the folder of the agent.
    fn new(name: &'static str, packs: &str, scripts: &[&str]) -> Self {
        let root = scratch(name);
        for folder in ["repo/docs", "home/.codex", "home/.claude"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let repo = root.join("repo").to_str().unwrap().to_owned();
        let script = "git init -q && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m start";
        assert!(Command::new("sh").args(["-c", script]).current_dir(&repo).status().unwrap().success());
        // The pack coding has a worktree for each task.
        let folder = if packs == "coding" { format!("{repo}/{WORKTREE}") } else { repo };
        let read = |it: &&str| ModelScript::parse(&it.replace("FOLDER", &folder)).unwrap();
        let model = ScriptedModel::start(scripts.iter().map(read).collect()).unwrap();
        let server = ClientServer::start_by(root, packs, "system", &[]);
        server.ask(&["settings", "fleet", "maxRuns:=2"]).says(0, &[]);
        Self { server, name, model }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.server.root.join(name)
    }

    /// `trackside work`, with the model that follows this script.
    fn work(&self, program: Program, script: &str, args: &[&str]) -> Command {
        let mut command = self.server.command(&["work"]);
        command
            .args(args)
            .args(["--once", "--agent", program.adapter()])
            .arg("--repo")
            .arg(self.path("repo"));
        self.configure(&mut command, script, script);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// The user's settings of both programs: they lead to the model that follows this script.
    fn configure(&self, command: &mut Command, script: &str, run: &str) {
        let base = self.model.base(script, run);
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{base}/v1\"\nwire_api = \"responses\"\nrequires_openai_auth = true\n\
             request_max_retries = 1\nstream_max_retries = 1\n"
        );
        std::fs::write(self.path("home/.codex/config.toml"), config).unwrap();
        std::fs::write(self.path("home/.codex/auth.json"), r#"{"OPENAI_API_KEY":"dummy"}"#).unwrap();
        let agents = PathBuf::from(std::env::var_os("TRACKSIDE_AGENTS").unwrap());
        command.env("PATH", format!("{}:{}", agents.join(".bin").display(), std::env::var("PATH").unwrap()));
        command.env("HOME", self.path("home")).env("XDG_CACHE_HOME", self.path("cache"));
        command.env("ANTHROPIC_BASE_URL", base).env("ANTHROPIC_API_KEY", "dummy");
    }

    /// Runs one task to its end and returns the record of the run and its transcript.
    fn once(&self, program: Program, script: &str, args: &[&str]) -> (Json, String) {
        let output = self.work(program, script, args).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let (run, transcript) = self.last_run(script);
        assert_eq!(output.status.code(), Some(0), "{messages}\n{transcript}");
        assert_eq!(run["state"], "SUCCEEDED", "{messages}\n{transcript}\n{run:#}");
        (run, format!("{messages}\n{transcript}"))
    }

    fn last_run(&self, script: &str) -> (Json, String) {
        let listed = self.server.ask(&["list", "fleet.run", "--json"]).json();
        let run = listed["items"].as_array().unwrap().last().unwrap().clone();
        let transcript = self.server.ask(&["logs", run["id"].as_str().unwrap()]).data;
        if let Some(folder) = std::env::var_os("TRACKSIDE_TRANSCRIPTS") {
            std::fs::create_dir_all(&folder).unwrap();
            let file = PathBuf::from(folder).join(format!("{}-{script}.txt", self.name));
            std::fs::write(file, &transcript).unwrap();
        }
        (run, transcript)
    }

    fn entity(&self, entity: &str) -> Json {
        self.server.ask(&["show", entity, "--json"]).json()
    }

    fn asked(&self, script: &str) -> Vec<RecordedRequest> {
        self.model.requests(script)
    }
}

/// The worktree of the task in the repository.
const WORKTREE: &str = ".worktrees/T-1";

const WRITES: &str = r#"
script: writes
steps:
  - text: I will write the file.
    tool: { write: { path: FOLDER/hello.txt, content: "hello\n" } }
  - tool: { shell: { command: "git add hello.txt && git commit -q -m 'Add hello.txt' && git log --oneline" } }
  - text: hello.txt is committed.
"#;

/// The reviewer gives its verdict over MCP.
const APPROVES: &str = r#"
script: approves
steps:
  - tool: { shell: { command: "git show --stat HEAD && cat hello.txt" } }
  - tool: { mcp: { name: fire, arguments: { lifecycle: coding.task, id: T-1, event: approve } } }
  - text: The commit does what the task asks.
"#;

fn finishes_a_coding_task(name: &'static str, coder: Program, reviewer: Program) {
    let ground = AgentGround::new(name, "coding", &[WRITES, APPROVES]);
    let planner = ground.server.token("planner-1", "agent", &["coding:planner"]);
    let made = ["new", "coding.task", "--id", "T-1", "description=Write hello to hello.txt"];
    ground.server.ask_as(&planner, &made).says(0, &[]);
    ground.server.ask_as(&planner, &["fire", "coding.task/T-1", "finalize"]).says(0, &[]);

    let (run, log) = ground.once(coder, "writes", &["coding.task"]);
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "READY_FOR_REVIEW", "{log}\n{task:#}");
    let worktree = ground.path("repo").join(WORKTREE);
    let head = Command::new("git").args(["log", "-1", "--format=%H %s"]).current_dir(&worktree).output();
    let head = String::from_utf8(head.unwrap().stdout).unwrap();
    assert!(head.ends_with("Add hello.txt\n"), "{head}{log}");
    assert!(head.starts_with(task["fields"]["review_commit"].as_str().unwrap()), "{head}{log}");
    assert_eq!(std::fs::read_to_string(worktree.join("hello.txt")).unwrap(), "hello\n");
    assert!(run["fields"]["input"].as_u64().unwrap() >= 3000, "{run:#}");
    assert!(run["fields"]["session"].is_string() && run["fields"]["model"].is_string(), "{run:#}");
    let prompt = ground.asked("writes")[0].body.to_string();
    assert!(prompt.contains("Write hello to hello.txt") && prompt.contains("Commit your work"), "{prompt}");

    let (_, log) = ground.once(reviewer, "approves", &["coding.task", "--role", "code_reviewer"]);
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["fields"]["approved_by"], "code-reviewer-1", "{log}\n{task:#}");
    // The runner that approved may have merged it, too.
    assert!(["APPROVED", "MERGED"].map(Json::from).contains(&task["state"]), "{log}\n{task:#}");
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn claude_finishes_a_coding_task_and_codex_reviews_it() {
    finishes_a_coding_task("claude-coding", Claude, Codex);
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn codex_finishes_a_coding_task_and_claude_reviews_it() {
    finishes_a_coding_task("codex-coding", Codex, Claude);
}

const DELIVERS: &str = r#"
script: delivers
steps:
  - tool:
      mcp:
        name: fire
        arguments:
          lifecycle: mission.task
          id: T-1
          event: start
          fields: { workPlan: { bullets: [Read the task, Write the greeting, Check it] } }
  - tool: { write: { path: FOLDER/docs/greeting.txt, content: "Good morning\n" } }
  - tool:
      mcp:
        name: fire
        arguments:
          lifecycle: mission.task
          id: T-1
          event: submit
          fields:
            deliverable: { content: The greeting is in greeting.txt, artifacts: [ { name: docs/greeting.txt } ] }
            reviewChecklist: { items: [ { label: It does what was asked, checked: true } ] }
  - text: Submitted.
"#;

const COMMENTS: &str = r#"
script: comments
steps:
  - tool: { shell: { command: "cat docs/greeting.txt" } }
  - tool: { mcp: { name: fire, arguments: { lifecycle: mission.task, id: T-1, event: comment, fields: { text: "The greeting is right." } } } }
  - text: Reviewed.
"#;

fn finishes_a_mission_task(name: &'static str, specialist: Program, lead: Program) {
    let ground = AgentGround::new(name, "mission", &[DELIVERS, COMMENTS]);
    let made = ["new", "mission.task", "--id", "T-1", "title=Greet", "description=Write a greeting"];
    ground.server.ask(&made).says(0, &[]);
    let (_, log) = ground.once(specialist, "delivers", &["mission.task", "--role", "specialist"]);
    let task = ground.entity("mission.task/T-1");
    assert_eq!(task["state"], "REVIEW", "{log}\n{task:#}");
    assert_eq!(
        task["fields"]["deliverable"]["content"], "The greeting is in greeting.txt",
        "{log}\n{task:#}"
    );
    assert_eq!(task["fields"]["workPlan"]["bullets"][1], "Write the greeting");
    // Codex does not say what it costs: its tokens are charged, and `maxTokens` of the pack `fleet` limits them.
    let summary = &task["fields"]["costSummary"];
    assert!(summary["tokenCount"].as_u64().unwrap() > 0, "{log}\n{task:#}");
    assert_eq!(summary["totalCost"].as_f64().unwrap() > 0.0, specialist == Claude, "{log}\n{task:#}");
    let used = ground.entity("fleet.work/mission.task-T-1")["fields"]["tokens"].clone();
    assert!(used.as_u64().unwrap() > 0, "{used}");

    let (_, log) = ground.once(lead, "comments", &["mission.task", "--role", "lead"]);
    let history = ground.server.ask(&["history", "mission.task/T-1", "--json"]).data;
    assert!(history.contains("The greeting is right."), "{log}\n{history}");
    ground.server.ask(&["fire", "mission.task/T-1", "approve", "decisionNote=Good"]).says(0, &["DONE"]);
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn claude_finishes_a_mission_task_and_codex_reviews_it() {
    finishes_a_mission_task("claude-mission", Claude, Codex);
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn codex_finishes_a_mission_task_and_claude_reviews_it() {
    finishes_a_mission_task("codex-mission", Codex, Claude);
}

/// Claude Code asks before every change; Codex asks when a command is to leave its sandbox.
const ASKS: &str = r#"
script: asks
steps:
  - tool:
      mcp:
        name: fire
        arguments:
          lifecycle: mission.task
          id: T-1
          event: start
          fields: { workPlan: { bullets: [Read the task, Write the files, Check them] } }
  - tool: { shell: { command: "python3 -c \"open('approved.txt', 'w')\"", escalated: true } }
  - tool: { shell: { command: "python3 -c \"open('denied.txt', 'w')\"", escalated: true } }
  - text: One of the two files is written.
"#;

/// The pack's policy sends shell commands that are not on its list to a person. The agent waits for the decision.
fn waits_for_a_person(name: &'static str, program: Program) {
    let ground = AgentGround::new(name, "mission", &[ASKS]);
    ground.server.ask(&["new", "mission.task", "--id", "T-1", "title=Write two files"]).says(0, &[]);
    let mut work = ground.work(program, "asks", &["mission.task", "--role", "specialist"]);
    let runner = work.spawn().unwrap();
    let pending = |not: &str| {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            let listed = ground.server.ask(&["list", "mission.approval", "--json"]).json();
            let items = listed["items"].as_array().unwrap();
            let open = items.iter().find(|it| it["state"] == "PENDING" && it["id"] != not);
            if let Some(open) = open {
                return open.clone();
            }
            assert!(Instant::now() < limit, "no approval was requested: {}", ground.last_run("asks").1);
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let first = pending("");
    assert_eq!(
        (&first["fields"]["requestedBy"], &first["fields"]["risk"]),
        (&"specialist-1".into(), &"RED".into())
    );
    assert!(first["fields"]["payload"]["arguments"].to_string().contains("approved.txt"), "{first:#}");
    let asked = ground.asked("asks").len();
    // It waits: no file, no further request to the model, and the run continues.
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(ground.asked("asks").len(), asked);
    assert!(!ground.path("repo/approved.txt").exists());
    assert_eq!(ground.last_run("asks").0["state"], "RUNNING");
    let id = first["id"].as_str().unwrap().to_owned();
    let first = format!("mission.approval/{id}");
    ground.server.ask(&["fire", &first, "approve"]).says(0, &[]);
    // A risky action takes two people where there are two.
    assert_eq!(ground.entity(&first)["state"], "PENDING");
    let hank = ground.server.token("hank", "human", &[]);
    ground.server.ask_as(&hank, &["fire", &first, "approve"]).says(0, &["APPROVED"]);
    let second = format!("mission.approval/{}", pending(&id)["id"].as_str().unwrap());
    assert!(ground.path("repo/approved.txt").exists());
    ground.server.ask(&["fire", &second, "deny", "note=Not this file"]).says(0, &[]);
    let output = runner.wait_with_output().unwrap();
    let (run, log) = ground.last_run("asks");
    let log = format!("{}\n{log}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &run["state"]), (Some(0), &"SUCCEEDED".into()), "{log}");
    assert!(!ground.path("repo/denied.txt").exists(), "{log}");
    assert!(log.contains("Not this file"), "{log}");
    if program == Claude {
        let heard = ground.asked("asks").last().unwrap().body.to_string();
        assert!(heard.contains("Not this file"), "the agent hears why: {log}");
    }
    // A denial blocks the task: the rules of the pack.
    let task = ground.entity("mission.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{log}");
    assert!(task["fields"]["blockReason"].as_str().unwrap().contains("Not this file"), "{task:#}");
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn claude_waits_for_a_person() {
    waits_for_a_person("claude-asks", Claude);
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn codex_waits_for_a_person() {
    waits_for_a_person("codex-asks", Codex);
}

#[test]
#[ignore = "needs Claude Code and Codex: .ci/run agents"]
fn adapter_check_tries_both_programs_with_a_small_task() {
    let ready = "script: ready\nsteps: [ { text: ready } ]\n";
    let busy = "script: busy\nsteps: [ { error: overloaded, repeat: true } ]\n";
    let ground = AgentGround::new("adapter-check", "coding", &[ready, busy]);
    for program in [Claude, Codex] {
        for (script, code, says) in [("ready", 0, "ok: ready"), ("busy", 1, "overloaded: ")] {
            let model = if program == Claude { "claude-sonnet-4-5" } else { "gpt-5.5" };
            let mut check =
                ground.server.command(&["adapter", "check", program.adapter(), "--run", "--model", model]);
            ground.configure(&mut check, script, &format!("{script}-{}", program.adapter()));
            // `--data` is no option of this command.
            let output = without_data(&check).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let all = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(code), "{program:?} {script}: {all}");
            assert!(said.contains(says), "{program:?} {script}: {all}");
        }
    }
}

fn without_data(command: &Command) -> Command {
    let mut plain = Command::new(command.get_program());
    let args: Vec<_> = command.get_args().take_while(|it| *it != "--data").collect();
    plain.args(args);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => plain.env(name, value),
            None => plain.env_remove(name),
        };
    }
    plain
}
