//! Real Claude Code and Codex, against a scripted model on loopback.
//!
//! Runs only if TRACKSIDE_AGENTS names the folder of npm packages that contains them (`.ci/run agents` installs it).
//! Without a test harness, because the program is also the shim.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise and prints its own results"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use trackside_runner::adapter::{
    AdapterDefinition, ExitClass, PendingApproval, PromptPlace, RunOutcome, RunUsage, TranscriptContent,
};
use trackside_runner::environment::RunEnvironment;
use trackside_runner::launch::{self, LaunchSettings, RunIdentity, SessionToResume};
use trackside_runner::local_run::{LaunchPlan, LocalRun, RunEnd};
use trackside_runner::program_lookup;
use trackside_runner::shim_program::ShimProgram;
use trackside_runner::transcript::{TranscriptEntry, TranscriptLine, read_after};
use trackside_scripted_model::{ModelScript, ScriptedModel};
use trackside_shim::{ContainmentTier, SandboxSpec};

#[path = "real_agents/faults.rs"]
mod faults;

const SCRIPTS: [&str; 7] = [
    r#"
script: write
steps:
  - text: I will write the file.
    tool: { write: { path: "FOLDER/hello.txt", content: "hello\n" } }
  - tool: { shell: { command: "cat hello.txt" } }
  - text: Written.
"#,
    "script: limit\nsteps: [ { error: usage_limit, resets_in: 9000, repeat: true } ]\n",
    "script: busy\nsteps: [ { error: overloaded, repeat: true } ]\n",
    "script: silent\nsteps: [ { hang: true, repeat: true } ]\n",
    // Asks for a permission twice.
    r#"
script: ask
steps:
  - tool: { shell: { command: "python3 -c \"open('denied.txt', 'w')\"", escalated: true } }
  - tool: { shell: { command: "python3 -c \"open('allowed.txt', 'w')\"", escalated: true } }
  - text: Tried both.
"#,
    r#"
script: slow
steps:
  - tool: { shell: { command: "python3 -c \"import time; time.sleep(3)\"" } }
  - text: Slept.
"#,
    "script: once-silent\nsteps: [ { hang: true }, { text: Back again. } ]\n",
];

const CLAUDE: &str = "claude";
const CODEX: &str = "codex";
const CODEX_EXEC: &str = "codex-exec";

fn main() {
    if let Some(arguments) = trackside_shim::arguments_in_program(std::env::args_os()) {
        std::process::exit(trackside_shim::main(arguments).into());
    }
    let Some(agents) = std::env::var_os("TRACKSIDE_AGENTS") else {
        println!("\nrunning 0 tests (set TRACKSIDE_AGENTS to run the real agents)\n");
        println!("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        return;
    };
    let agents = PathBuf::from(agents);
    let filter = std::env::args().skip(1).find(|it| !it.starts_with('-')).unwrap_or_default();
    let (mut passed, mut failed) = (0, 0);
    for (test, adapters, run) in TESTS {
        for adapter in *adapters {
            let name = format!("{adapter}_{test}");
            if !name.contains(&filter) {
                continue;
            }
            let begun = Instant::now();
            let ok = std::panic::catch_unwind(|| run(&agents, adapter)).is_ok();
            println!(
                "test {name} ... {} ({} ms)",
                if ok { "ok" } else { "FAILED" },
                begun.elapsed().as_millis()
            );
            *(if ok { &mut passed } else { &mut failed }) += 1;
        }
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "test result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out"
    );
    std::process::exit(i32::from(failed > 0) * 101);
}

type RealTest = (&'static str, &'static [&'static str], fn(&Path, &str));

const TESTS: &[RealTest] = &[
    ("writes_a_file", &[CLAUDE, CODEX, CODEX_EXEC], writes_a_file),
    ("reports_a_usage_limit_with_its_reset", &[CLAUDE, CODEX, CODEX_EXEC], reports_a_usage_limit),
    ("reports_an_overloaded_model", &[CLAUDE, CODEX, CODEX_EXEC], reports_an_overloaded_model),
    ("is_stopped_when_its_model_is_silent", &[CLAUDE, CODEX, CODEX_EXEC], is_stopped),
    ("waits_for_approvals", &[CLAUDE, CODEX], waits_for_approvals),
    ("hears_a_message_in_the_middle_of_a_turn", &[CLAUDE, CODEX], hears_a_message),
    ("goes_on_after_an_interrupt", &[CLAUDE, CODEX], goes_on_after_an_interrupt),
    ("is_adopted_while_it_waits", &[CLAUDE, CODEX], is_adopted_while_it_waits),
    ("resumes_its_session", &[CLAUDE, CODEX, CODEX_EXEC], resumes_its_session),
    ("reports_an_unknown_session", &[CLAUDE, CODEX, CODEX_EXEC], reports_an_unknown_session),
    ("goes_on_after_a_broken_answer", &[CLAUDE, CODEX, CODEX_EXEC], faults::goes_on_after_a_broken_answer),
    ("asks_for_a_whole_answer_in_the_end", &[CLAUDE], faults::asks_for_a_whole_answer_in_the_end),
    ("waits_for_a_late_answer", &[CLAUDE, CODEX, CODEX_EXEC], faults::waits_for_a_late_answer),
    (
        "gives_every_error_of_its_model_a_class",
        &[CLAUDE, CODEX, CODEX_EXEC],
        faults::gives_every_error_of_its_model_a_class,
    ),
    ("has_no_network", &[CLAUDE, CODEX, CODEX_EXEC], faults::has_no_network),
    ("is_interrupted_by_a_signal", &[CLAUDE], faults::is_interrupted_by_a_signal),
    ("refuses_a_session_id_twice", &[CLAUDE], faults::refuses_a_session_id_twice),
    ("goes_on_after_a_hook_that_fails", &[CLAUDE], faults::goes_on_after_a_hook_that_fails),
    ("skips_a_hook_without_trust", &[CODEX_EXEC], faults::skips_a_hook_without_trust),
    ("finds_its_login_in_the_sandbox", &[CLAUDE, CODEX, CODEX_EXEC], finds_its_login),
    ("finds_its_login_as_an_ordinary_user", &[CLAUDE, CODEX, CODEX_EXEC], finds_its_login_as_ordinary_user),
];

/// How a run is started.
#[derive(Clone, Default)]
struct Choices {
    script: &'static str,
    permission: Option<&'static str>,
    session: Option<(SessionUse, String)>,
    /// Further arguments.
    more: Vec<String>,
    /// The address of the model, if it is not the scripted one.
    base: Option<&'static str>,
    /// Files of an earlier run.
    root: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq)]
enum SessionUse {
    Start,
    Resume,
}

struct Started {
    run: LocalRun,
    root: PathBuf,
    model: ScriptedModel,
    name: String,
    approvals: Vec<PendingApproval>,
}

fn script(script: &'static str) -> Choices {
    Choices { script, ..Choices::default() }
}

fn definition(name: &str) -> (String, AdapterDefinition) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../adapters/{name}.yaml"));
    let text = fs::read_to_string(path).unwrap();
    let adapter = AdapterDefinition::parse(&text).unwrap();
    (text, adapter)
}

fn start(agents: &Path, name: &str, choices: &Choices) -> Started {
    let root = choices.root.clone().unwrap_or_else(|| {
        let path = std::env::temp_dir().join(format!(
            "trackside-agents-{}-{name}-{}",
            std::process::id(),
            choices.script
        ));
        let _ = fs::remove_dir_all(&path);
        for folder in ["work", "home", "tmp"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        let path = path.canonicalize().unwrap();
        assert!(
            Command::new("git")
                .args(["init", "-q"])
                .current_dir(path.join("work"))
                .status()
                .unwrap()
                .success()
        );
        path
    });
    let work = root.join("work");
    let read = |it: &str| ModelScript::parse(&it.replace("FOLDER", work.to_str().unwrap())).unwrap();
    let model =
        ScriptedModel::start(SCRIPTS.iter().chain(&faults::SCRIPTS).map(|it| read(it)).collect()).unwrap();
    let (mut text, adapter) = definition(name);
    if choices.base.is_some() {
        // A program that waits for a network for ever is ended after this many seconds.
        text = text.replace("limits: {", "limits: { network: 2,");
    }
    let path = format!("{}:{}", agents.join(".bin").display(), std::env::var("PATH").unwrap());
    let program = program_lookup::find(&adapter, &path).unwrap();
    let test = adapter.test_model.clone().unwrap();
    let base = choices.base.map_or_else(|| model.base(choices.script, name), str::to_owned);
    let mut environment = RunEnvironment::default();
    environment.set("PATH", path);
    environment.set("HOME", root.join("home").to_str().unwrap());
    environment.set("TMPDIR", root.join("tmp").to_str().unwrap());
    if let Some(folder) = &adapter.login.folder {
        let config = root.join("home").join(&folder.path);
        fs::create_dir_all(&config).unwrap();
        environment.set(&folder.variable, config.to_str().unwrap());
    }
    for (name, value) in adapter.quiet_env.iter().chain(&test.env) {
        environment.set(name, value.replace("{base}", &base));
    }
    if name == CLAUDE && choices.script == "limit" {
        // The limit of a subscription is seen only with its kind of login.
        environment.variables.remove("ANTHROPIC_API_KEY");
        environment.set("CLAUDE_CODE_OAUTH_TOKEN", "dummy");
    }
    let prompt = "Write hello.txt.".to_owned();
    let mut args = adapter.start.args.clone();
    for option in ["model", choices.permission.unwrap_or("permission.edits")] {
        let of_option = adapter.options.get(option).unwrap();
        args.extend(of_option.iter().map(|it| it.replace("{value}", &test.model).replace("{write}", "[]")));
    }
    if let (Some((used, id)), Some(rule)) = (&choices.session, &adapter.session) {
        let template = if *used == SessionUse::Start { &rule.start } else { &rule.resume };
        args.extend(template.iter().map(|it| it.replace("{id}", id)));
    }
    args.extend(adapter.quiet_args.iter().cloned());
    args.extend(test.args.iter().map(|it| it.replace("{base}", &base)));
    args.extend(choices.more.iter().cloned());
    if name == CLAUDE && choices.permission.is_none() {
        args.extend(["--allowedTools".to_owned(), "Bash".to_owned()]);
    }
    if adapter.start.prompt == PromptPlace::LastArgument {
        args.push(prompt.clone());
    }
    let resume = choices.session.clone().filter(|it| it.0 == SessionUse::Resume).map(|it| it.1);
    let plan = LaunchPlan {
        run: format!("{name}-{}-{}", choices.script, std::process::id()),
        adapter: text,
        program: program.path,
        args,
        folder: work,
        prompt,
        tier: ContainmentTier::Pidns,
        sandbox: adapter.own_sandbox.then(|| SandboxSpec { own_sandbox: true, ..SandboxSpec::default() }),
        earlier: RunUsage::default(),
        resume,
        grace: 2,
        limit: Some(120),
    };
    let shim = ShimProgram::itself(std::env::current_exe().unwrap());
    let run_folder = (1..).map(|it| root.join(format!("run-{it}"))).find(|it| !it.exists()).unwrap();
    let run = LocalRun::start(&shim, &run_folder, plan, &environment).unwrap();
    Started { run, root, model, name: name.to_owned(), approvals: Vec::new() }
}

impl Started {
    /// Polls until the condition holds.
    fn until(
        &mut self,
        what: &str,
        mut wanted: impl FnMut(&Self, &[TranscriptLine]) -> bool,
    ) -> Option<RunEnd> {
        let limit = Instant::now() + Duration::from_secs(100);
        loop {
            let progress = self.run.poll().unwrap();
            self.approvals.extend(progress.approvals);
            if wanted(self, &progress.lines) || progress.end.is_some() {
                return progress.end;
            }
            assert!(
                Instant::now() < limit,
                "{}: {what} did not happen: {:?} {:#?}",
                self.name,
                self.run.error_tail(u64::MAX),
                self.lines()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Closes the input after the turn and waits for the end.
    fn finish(&mut self) -> RunOutcome {
        let mut turn_ended = false;
        let mut end = self.until("the end of the turn", |_, lines| {
            turn_ended |= LocalRun::has_ended_its_turn(lines);
            turn_ended
        });
        self.run.close_input().unwrap();
        if end.is_none() {
            end = self.until("the end", |_, _| false);
        }
        match end {
            Some(RunEnd::Reported { outcome, .. }) => outcome,
            other => panic!("{}: the run did not report its end: {other:?}", self.name),
        }
    }

    fn lines(&self) -> Vec<TranscriptLine> {
        read_after(&self.run.transcript_folder(), 0, 10_000).unwrap()
    }

    fn assert_class(&mut self, class: ExitClass) -> RunOutcome {
        let outcome = self.finish();
        assert_eq!(outcome.class, class, "{}: {outcome:?} {:#?}", self.name, self.lines());
        outcome
    }

    /// What the model was asked, as text.
    fn asked(&self) -> Vec<String> {
        self.model.requests(&self.name).iter().map(|it| it.body.to_string()).collect()
    }

    fn remove(self) {
        fs::remove_dir_all(&self.root).unwrap();
    }
}

fn writes_a_file(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("write"));
    started.assert_class(ExitClass::Ok);
    let written = fs::read_to_string(started.root.join("work/hello.txt")).unwrap();
    assert_eq!(written, "hello\n", "{name}");
    let usage = started.run.reader().usage();
    assert_eq!((usage.input, usage.cache_read), (if name == CLAUDE { 3000 } else { 3090 }, 600), "{usage:?}");
    assert!(started.run.reader().session().is_some());
    assert!(started.run.reader().context_percent().is_some() || name == CODEX_EXEC, "{name}");
    assert_eq!(started.asked().len(), 3, "{name}");
    let calls = started
        .lines()
        .iter()
        .filter(|it| matches!(it.content, TranscriptEntry::Agent(TranscriptContent::ToolCall { .. })))
        .count();
    assert_eq!(calls, 2, "{name}: {:#?}", started.lines());
    started.remove();
}

fn reports_a_usage_limit(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("limit"));
    let outcome = started.assert_class(ExitClass::Quota);
    assert!(outcome.resets_at.is_some(), "{name}: {outcome:?}");
    started.remove();
}

fn reports_an_overloaded_model(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("busy"));
    started.assert_class(ExitClass::Overloaded);
    started.remove();
}

fn is_stopped(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("silent"));
    started.until("a request to the model", |it, _| !it.asked().is_empty());
    started.run.stop("silent", None).unwrap();
    let outcome = started.finish();
    assert!(matches!(outcome.class, ExitClass::Killed | ExitClass::Interrupted), "{name}: {outcome:?}");
    started.remove();
}

fn waits_for_approvals(agents: &Path, name: &str) {
    let mut started = start(agents, name, &Choices { permission: Some("permission.ask"), ..script("ask") });
    for (number, file) in ["denied.txt", "allowed.txt"].iter().enumerate() {
        started.until("an approval", |it, _| it.approvals.len() > number);
        let asked =
            started.approvals.get(number).cloned().unwrap_or_else(|| panic!("{:#?}", started.lines()));
        assert_eq!(asked.tool, "Bash", "{asked:?}");
        assert!(asked.input.to_string().contains(file), "{asked:?}");
        assert_eq!(asked.leaves_sandbox, name == CODEX, "{asked:?}");
        assert!(!started.root.join("work").join(file).exists(), "{name} did not wait");
        let denied = (number == 0).then_some("the policy of the project says no");
        started.run.answer(&asked.id, &asked.input, denied).unwrap();
    }
    started.assert_class(ExitClass::Ok);
    assert!(started.root.join("work/allowed.txt").exists(), "{name}: {:#?}", started.lines());
    assert!(!started.root.join("work/denied.txt").exists(), "{name}");
    assert_eq!(started.approvals.len(), 2, "each is asked once");
    started.remove();
}

fn hears_a_message(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("slow"));
    let is_call = |it: &TranscriptLine| {
        matches!(it.content, TranscriptEntry::Agent(TranscriptContent::ToolCall { .. }))
    };
    started.until("a tool call", |_, lines| lines.iter().any(is_call));
    started.run.steer("remember the marmalade").unwrap();
    started.assert_class(ExitClass::Ok);
    assert!(started.asked()[1].contains("remember the marmalade"), "{name}: it came after the turn");
    let told = started.lines().iter().any(|it| {
        matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::User { text }) if text.contains("marmalade"))
    });
    assert!(told, "{name}: {:#?}", started.lines());
    started.remove();
}

fn goes_on_after_an_interrupt(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("once-silent"));
    started.until("a request to the model", |it, _| !it.asked().is_empty());
    started.run.interrupt().unwrap();
    started.run.steer("go on with the marmalade").unwrap();
    let mut said = false;
    started.until("an answer", |_, lines| {
        said |= lines.iter().any(|it| {
            matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Message { text }) if text == "Back again.")
        });
        said
    });
    assert!(said, "{name}: {:#?}", started.lines());
    assert!(started.asked()[1].contains("marmalade"), "{name}");
    started.run.close_input().unwrap();
    let end = started.until("the end", |_, _| false);
    let Some(RunEnd::Reported { outcome, .. }) = end else { panic!("{end:?}") };
    assert_eq!(outcome.class, ExitClass::Ok, "{name}: {:#?}", started.lines());
    started.remove();
}

/// The runner ends while the agent waits for an approval. The next one finds the question and answers it.
fn is_adopted_while_it_waits(agents: &Path, name: &str) {
    let mut started = start(agents, name, &Choices { permission: Some("permission.ask"), ..script("ask") });
    started.until("an approval", |it, _| !it.approvals.is_empty());
    started.run = LocalRun::adopt(&started.root.join("run-1")).unwrap();
    started.approvals.clear();
    for number in 0..2 {
        started.until("an approval", |it, _| it.approvals.len() > number);
        let asked = started.approvals[number].clone();
        started.run.answer(&asked.id, &asked.input, None).unwrap();
    }
    started.assert_class(ExitClass::Ok);
    for file in ["denied.txt", "allowed.txt"] {
        assert!(started.root.join("work").join(file).exists(), "{name}: {:#?}", started.lines());
    }
    assert_eq!(started.asked().len(), 3, "{name} was not asked anything twice");
    let sent = fs::read_dir(started.root.join("run-1/in"))
        .unwrap()
        .map(|it| fs::read_to_string(it.unwrap().path()).unwrap());
    let mut sent: Vec<String> = sent.collect();
    sent.sort();
    assert!(sent.windows(2).all(|it| it[0] != it[1]), "{name} was told something twice: {sent:#?}");
    started.remove();
}

fn resumes_its_session(agents: &Path, name: &str) {
    let chosen = "0c9f4c3e-3f0e-4b52-9b1e-0d8a2f7c6a11".to_owned();
    let session = (name == CLAUDE).then_some((SessionUse::Start, chosen));
    let mut first = start(agents, name, &Choices { session, ..script("write") });
    first.assert_class(ExitClass::Ok);
    let id = first.run.reader().session().unwrap().to_owned();
    let again = Choices {
        session: Some((SessionUse::Resume, id.clone())),
        root: Some(first.root.clone()),
        ..script("write")
    };
    let mut second = start(agents, name, &again);
    second.until("a request to the model", |it, _| !it.asked().is_empty());
    assert_eq!(second.run.reader().session(), Some(id.as_str()), "{name}");
    assert!(second.asked()[0].contains("Written."), "{name}: the history of the first run is sent");
    second.run.stop("enough", Some(0)).unwrap();
    second.until("the end", |_, _| false);
    second.remove();
}

fn reports_an_unknown_session(agents: &Path, name: &str) {
    let id = "0c9f4c3e-3f0e-4b52-9b1e-000000000000".to_owned();
    let mut started =
        start(agents, name, &Choices { session: Some((SessionUse::Resume, id)), ..script("write") });
    started.assert_class(ExitClass::NoSession);
    started.remove();
}

/// The user's own login and settings, in the sandbox that every run has.
fn finds_its_login(agents: &Path, name: &str) {
    let root = std::env::temp_dir().join(format!("trackside-agents-{}-{name}-login", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for folder in ["work", "user/.claude", "user/.codex", "state/servers"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let root = root.canonicalize().unwrap();
    fs::write(root.join("state/servers/owner.json"), "canary-owner").unwrap();
    let work = root.join("work");
    assert!(Command::new("git").args(["init", "-q"]).current_dir(&work).status().unwrap().success());
    let text = SCRIPTS[0].replace("FOLDER", work.to_str().unwrap());
    let model = ScriptedModel::start(vec![ModelScript::parse(&text).unwrap()]).unwrap();
    let base = model.base("write", name);
    let login = serde_json::json!({ "claudeAiOauth": {
        "accessToken": "canary-login", "refreshToken": "canary-refresh", "expiresAt": 4_102_444_800_000_u64,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "max",
    } });
    fs::write(root.join("user/.claude/.credentials.json"), login.to_string()).unwrap();
    fs::write(root.join("user/.codex/auth.json"), r#"{"OPENAI_API_KEY":"canary-login"}"#).unwrap();
    let config = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
         base_url = \"{base}/v1\"\nwire_api = \"responses\"\nrequires_openai_auth = true\n"
    );
    fs::write(root.join("user/.codex/config.toml"), config).unwrap();
    let (adapter_text, adapter) = definition(name);
    let path = format!("{}:{}", agents.join(".bin").display(), std::env::var("PATH").unwrap());
    let shim = ShimProgram::itself(std::env::current_exe().unwrap());
    let settings = LaunchSettings {
        adapter_text,
        adapter,
        command: Vec::new(),
        folder: work.clone(),
        sandbox: true,
        variables: Vec::new(),
        write: Vec::new(),
        git_folders: None,
        read: Vec::new(),
        model: Some(if name == CLAUDE { "claude-sonnet-4-5" } else { "gpt-5.5" }.to_owned()),
        hidden: vec![root.join("state")],
        user_home: root.join("user"),
        caller: BTreeMap::from([("PATH".to_owned(), path), ("ANTHROPIC_BASE_URL".to_owned(), base)]),
        tier: shim.strongest_tier(),
        trackside: std::env::current_exe().unwrap(),
        limit: Some(100),
    };
    // Without the server of `trackside mcp`, which this test does not have.
    let settings = LaunchSettings {
        git_folders: None,
        adapter: AdapterDefinition { mcp: Vec::new(), ..settings.adapter.clone() },
        ..settings
    };
    let who = RunIdentity { run: name, agent: name, entity: "", url: "", token: "canary-token" };
    let task = serde_json::json!({ "instructions": "Write hello.txt." });
    let nothing = SessionToResume::default();
    let prepared =
        launch::prepare(&settings, &who, &root.join("space"), &root.join("login"), &task, &nothing).unwrap();
    let run =
        LocalRun::start(&shim, &root.join("state/run-1"), prepared.plan, &prepared.environment).unwrap();
    let mut started = Started { run, root, model, name: name.to_owned(), approvals: Vec::new() };
    let mut answered = 0;
    let mut end = started.until("the end of the turn", |it, lines| {
        LocalRun::has_ended_its_turn(lines) || it.approvals.len() > answered
    });
    while end.is_none() && started.approvals.len() > answered {
        let asked = started.approvals[answered].clone();
        answered += 1;
        started.run.answer(&asked.id, &asked.input, None).unwrap();
        end = started.until("the end of the turn", |it, lines| {
            LocalRun::has_ended_its_turn(lines) || it.approvals.len() > answered
        });
    }
    started.run.close_input().unwrap();
    if end.is_none() {
        end = started.until("the end", |_, _| false);
    }
    let Some(RunEnd::Reported { outcome, .. }) = end else { panic!("{end:?}") };
    let errors = started.run.error_tail(u64::MAX);
    assert_eq!(outcome.class, ExitClass::Ok, "{name}: {outcome:?} {errors:?} {:#?}", started.lines());
    assert_eq!(fs::read_to_string(work.join("hello.txt")).unwrap(), "hello\n", "{name}");
    for request in started.model.requests(name) {
        let shown = request.headers.get("authorization").cloned().unwrap_or_default();
        assert_eq!(shown, "Bearer canary-login", "{name} has another login");
    }
    let user = started.root.join("user");
    assert!(
        !user.join(".claude/projects").exists() && !user.join(".codex/sessions").exists(),
        "{name} wrote to the user's home"
    );
    started.remove();
}

/// The same test in a process without root's rights.
fn finds_its_login_as_ordinary_user(agents: &Path, name: &str) {
    if !rustix::process::geteuid().is_root() {
        return finds_its_login(agents, name);
    }
    let folder = std::env::temp_dir().join(format!("trackside-agents-{}-{name}-user", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("real_agents");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .arg(format!("{name}_finds_its_login_in_the_sandbox"))
        .env("TMPDIR", &folder)
        .env("HOME", &folder)
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    fs::remove_dir_all(&folder).unwrap();
}
