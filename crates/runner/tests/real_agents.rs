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
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trackside_runner::adapter::{
    AdapterDefinition, ExitClass, PromptPlace, RunOutcome, RunUsage, TranscriptContent,
};
use trackside_runner::environment::RunEnvironment;
use trackside_runner::local_run::{LaunchPlan, LocalRun, RunEnd};
use trackside_runner::program_lookup;
use trackside_runner::shim_program::ShimProgram;
use trackside_runner::transcript::{TranscriptEntry, TranscriptLine, read_after};
use trackside_scripted_model::{ModelScript, ScriptedModel};
use trackside_shim::{ContainmentTier, SandboxSpec};

const SCRIPTS: [&str; 4] = [
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
];

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
    for adapter in ["claude", "codex-exec"] {
        writes_a_file(&agents, adapter);
        ends(&agents, adapter, "limit", ExitClass::Quota);
        ends(&agents, adapter, "busy", ExitClass::Overloaded);
        a_silent_model_is_stopped(&agents, adapter);
    }
    println!("test result: ok. 8 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

struct Started {
    run: LocalRun,
    root: PathBuf,
    model: ScriptedModel,
    name: String,
}

fn start(agents: &Path, name: &str, script: &str) -> Started {
    let root = std::env::temp_dir().join(format!("trackside-agents-{}-{name}-{script}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("work")).unwrap();
    fs::create_dir_all(root.join("home")).unwrap();
    fs::create_dir_all(root.join("tmp")).unwrap();
    let root = root.canonicalize().unwrap();
    let work = root.join("work");
    assert!(
        std::process::Command::new("git").args(["init", "-q"]).current_dir(&work).status().unwrap().success()
    );
    let read = |it: &str| ModelScript::parse(&it.replace("FOLDER", work.to_str().unwrap())).unwrap();
    let model = ScriptedModel::start(SCRIPTS.iter().map(|it| read(it)).collect()).unwrap();
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../adapters/{name}.yaml")))
            .unwrap();
    let adapter = AdapterDefinition::parse(&text).unwrap();
    let path = format!("{}:{}", agents.join(".bin").display(), std::env::var("PATH").unwrap());
    let program = program_lookup::find(&adapter, &path).unwrap();
    let test = adapter.test_model.clone().unwrap();
    let base = model.base(script, name);
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
    if name == "claude" && script == "limit" {
        // The limit of a subscription is seen only with its kind of login.
        environment.variables.remove("ANTHROPIC_API_KEY");
        environment.set("CLAUDE_CODE_OAUTH_TOKEN", "dummy");
    }
    let prompt = "Write hello.txt.".to_owned();
    let values = BTreeMap::from([("value", test.model.clone())]);
    let mut args = adapter.start.args.clone();
    for option in ["model", "permission.edits"] {
        for argument in adapter.options.get(option).into_iter().flatten() {
            args.push(argument.replace("{value}", &values["value"]));
        }
    }
    args.extend(adapter.quiet_args.iter().cloned());
    args.extend(test.args.iter().map(|it| it.replace("{base}", &base)));
    if name == "claude" {
        args.extend(["--allowedTools".to_owned(), "Bash".to_owned()]);
    }
    if adapter.start.prompt == PromptPlace::LastArgument {
        args.push(prompt.clone());
    }
    let plan = LaunchPlan {
        run: format!("{name}-{script}-{}", std::process::id()),
        adapter: text,
        program: program.path,
        args,
        folder: work,
        prompt,
        tier: ContainmentTier::Pidns,
        sandbox: adapter.own_sandbox.then(|| SandboxSpec { own_sandbox: true, ..SandboxSpec::default() }),
        earlier: RunUsage::default(),
        grace: 2,
        limit: Some(120),
    };
    let shim = ShimProgram::itself(std::env::current_exe().unwrap());
    let run = LocalRun::start(&shim, &root.join("run"), plan, &environment).unwrap();
    Started { run, root, model, name: name.to_owned() }
}

fn finish(started: &mut Started) -> RunOutcome {
    let limit = Instant::now() + Duration::from_secs(100);
    let mut closed = false;
    loop {
        let progress = started.run.poll().unwrap();
        if LocalRun::has_ended_its_turn(&progress.lines) && !closed {
            started.run.close_input().unwrap();
            closed = true;
        }
        match progress.end {
            Some(RunEnd::Reported { outcome, .. }) => return outcome,
            Some(RunEnd::Lost) => panic!("the shim died"),
            None => {}
        }
        assert!(Instant::now() < limit, "it does not end: {:?}", started.run.error_tail(u64::MAX));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lines(started: &Started) -> Vec<TranscriptLine> {
    read_after(&started.run.transcript_folder(), 0, 10_000).unwrap()
}

fn writes_a_file(agents: &Path, name: &str) {
    let mut started = start(agents, name, "write");
    let outcome = finish(&mut started);
    assert_eq!(outcome.class, ExitClass::Ok, "{name}: {outcome:?} {:#?}", lines(&started));
    let written = fs::read_to_string(started.root.join("work/hello.txt")).unwrap();
    assert_eq!(written, "hello\n", "{name}");
    let usage = started.run.reader().usage();
    assert_eq!(
        (usage.input, usage.cache_read),
        (if name == "claude" { 3000 } else { 3090 }, 600),
        "{name}: {usage:?}"
    );
    assert!(started.run.reader().session().is_some());
    assert_eq!(started.model.requests(&started.name).len(), 3, "{name}");
    let calls = lines(&started)
        .iter()
        .filter(|it| matches!(it.content, TranscriptEntry::Agent(TranscriptContent::ToolCall { .. })))
        .count();
    assert_eq!(calls, 2, "{name}: {:#?}", lines(&started));
    println!("test {name}_writes_a_file ... ok");
    fs::remove_dir_all(&started.root).unwrap();
}

fn ends(agents: &Path, name: &str, script: &str, class: ExitClass) {
    let mut started = start(agents, name, script);
    let outcome = finish(&mut started);
    assert_eq!(outcome.class, class, "{name}: {outcome:?} {:#?}", lines(&started));
    if class == ExitClass::Quota {
        assert!(outcome.resets_at.is_some(), "{name}: {outcome:?}");
    }
    println!("test {name}_{script} ... ok");
    fs::remove_dir_all(&started.root).unwrap();
}

fn a_silent_model_is_stopped(agents: &Path, name: &str) {
    let mut started = start(agents, name, "silent");
    let limit = Instant::now() + Duration::from_secs(60);
    while started.model.requests(name).is_empty() {
        started.run.poll().unwrap();
        assert!(Instant::now() < limit, "{name} did not ask the model");
        std::thread::sleep(Duration::from_millis(50));
    }
    started.run.stop("silent", None).unwrap();
    let outcome = finish(&mut started);
    assert!(matches!(outcome.class, ExitClass::Killed | ExitClass::Interrupted), "{name}: {outcome:?}");
    println!("test {name}_silent ... ok");
    fs::remove_dir_all(&started.root).unwrap();
}
