//! Runs through real shims, with a scripted program in place of an agent.
//!
//! The program has no test harness, because it is also the shim.
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
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use trackside_runner::adapter::{
    AdapterCatalogue, AdapterDefinition, ExitClass, RunUsage, TranscriptContent,
};
use trackside_runner::adapter_trial;
use trackside_runner::environment::RunEnvironment;
use trackside_runner::launch::LaunchSettings;
use trackside_runner::local_run::{LaunchPlan, LocalRun, RunEnd};
use trackside_runner::shim_program::ShimProgram;
use trackside_runner::transcript::{TranscriptEntry, TranscriptLine, read_after};
use trackside_shim::ContainmentTier;

#[path = "runs/confinement.rs"]
mod confinement;

fn main() {
    if let Some(arguments) = trackside_shim::arguments_in_program(std::env::args_os()) {
        std::process::exit(trackside_shim::main(arguments).into());
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let tests: &[(&str, fn())] = &[
        ("a_steered_agent_answers_and_ends", a_steered_agent_answers_and_ends),
        ("an_adopted_run_has_every_line_once", an_adopted_run_has_every_line_once),
        (
            "an_agent_that_ends_without_its_runner_is_read_later",
            an_agent_that_ends_without_its_runner_is_read_later,
        ),
        (
            "a_run_of_another_protocol_is_ended_and_says_so",
            confinement::a_run_of_another_protocol_is_ended_and_says_so,
        ),
        ("a_killed_shim_is_a_lost_run", confinement::a_killed_shim_is_a_lost_run),
        ("an_approval_is_asked_and_answered", an_approval_is_asked_and_answered),
        ("an_approval_is_asked_again_after_an_adoption", an_approval_is_asked_again_after_an_adoption),
        ("a_withdrawn_approval_is_not_answered", a_withdrawn_approval_is_not_answered),
        ("a_sandboxed_agent_steals_nothing", confinement::a_sandboxed_agent_steals_nothing),
        ("an_adapter_is_tried_in_its_sandbox", an_adapter_is_tried_in_its_sandbox),
        ("an_agent_cannot_make_a_control_file", confinement::an_agent_cannot_make_a_control_file),
        (
            "an_agent_that_writes_without_pause_is_stopped_and_limited",
            an_agent_that_writes_without_pause_is_stopped_and_limited,
        ),
        ("a_huge_line_does_not_hide_later_ones", a_huge_line_does_not_hide_later_ones),
        (
            "a_program_that_is_silent_or_waits_for_the_network_is_ended",
            a_program_that_is_silent_or_waits_for_the_network_is_ended,
        ),
        ("an_agent_that_stays_after_its_answer_is_ended", an_agent_that_stays_after_its_answer_is_ended),
    ];
    let filter = arguments.iter().filter_map(|it| it.to_str()).find(|it| !it.starts_with('-'));
    let mut failed = 0;
    println!("\nrunning {} tests", tests.len());
    for (name, test) in tests.iter().filter(|(name, _)| filter.is_none_or(|it| name.contains(it))) {
        let ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        failed += usize::from(!ok);
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n",
        tests.len() - failed
    );
    std::process::exit(i32::from(failed > 0) * 101);
}

/// A program that speaks like Claude Code: it answers every message, asks for permission on `ask`, and ends with its
/// standard input.
const PROGRAM: &str = r#"
import json, sys, time
if "silent" in sys.argv:
    time.sleep(600)
def say(**event):
    print(json.dumps(event), flush=True)
say(type="system", subtype="init", session_id="s-1", model="m-1")
n, text = 0, ""
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "control_response":
        text = event["response"]["response"]["behavior"]
    elif event["type"] == "user":
        text = event["message"]["content"][0]["text"]
    else:
        continue
    n += 1
    if text == "ask and withdraw":
        say(type="control_request", request_id="q-1", request={"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}})
        say(type="control_cancel_request", request_id="q-1")
        text = "nothing"
    if text == "ask":
        say(type="control_request", request_id="q-1", request={"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}})
        continue
    while text == "offline":
        say(type="system", subtype="api_retry", error="waiting for network")
        time.sleep(0.1)
    while text == "flood":
        print("flooded\n" * 10000, end="")
    if text == "huge":
        write = {"type": "tool_use", "id": "t-1", "name": "Write", "input": {"content": "x" * (1 << 20)}}
        say(type="assistant", message={"id": "h", "content": [write]})
        print("z" * (17 << 20), flush=True)
    if text == "slow":
        for i in range(50):
            say(type="assistant", message={"id": f"s{i}", "content": [{"type": "text", "text": f"step {i}"}], "usage": {"input_tokens": 1, "output_tokens": 0}})
            time.sleep(0.02)
    say(type="assistant", message={"id": f"m{n}", "content": [{"type": "text", "text": "heard " + text}], "usage": {"input_tokens": 10, "output_tokens": 1}})
    say(type="result", is_error=False, result="heard " + text, total_cost_usd=0.01 * n, usage={"input_tokens": 10, "output_tokens": 5})
if text == "stay":
    time.sleep(600)
"#;

static COUNTER: AtomicU32 = AtomicU32::new(0);

fn scratch() -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("trackside-runs-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(path.join("work")).unwrap();
    path.canonicalize().unwrap()
}

fn shim() -> ShimProgram {
    ShimProgram::itself(std::env::current_exe().unwrap())
}

fn start(root: &Path, prompt: &str) -> LocalRun {
    start_with(root, prompt, "")
}

/// A run whose adapter has these limits. A prompt that begins with `--` is an argument, too.
fn start_with(root: &Path, prompt: &str, limits: &str) -> LocalRun {
    start_in(root, prompt, limits, ContainmentTier::Tree)
}

fn run_name(root: &Path) -> String {
    format!("run-{}", root.file_name().unwrap().to_str().unwrap())
}

fn start_in(root: &Path, prompt: &str, limits: &str, tier: ContainmentTier) -> LocalRun {
    let arguments = prompt.strip_prefix("--").into_iter();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/claude.yaml");
    let adapter = format!("{}\nlimits: {{ {limits} }}\n", fs::read_to_string(file).unwrap());
    let plan = LaunchPlan {
        run: run_name(root),
        adapter,
        program: "/usr/bin/env".into(),
        args: ["python3", "-c", PROGRAM].into_iter().chain(arguments).map(str::to_owned).collect(),
        folder: root.join("work"),
        prompt: prompt.to_owned(),
        tier,
        sandbox: None,
        earlier: RunUsage::default(),
        resume: None,
        grace: 2,
        limit: Some(60),
    };
    let mut environment = RunEnvironment::default();
    environment.set("PATH", std::env::var("PATH").unwrap());
    LocalRun::start(&shim(), &root.join("run"), plan, &environment).unwrap()
}

/// Polls until a line or the end fits.
fn poll_until(
    run: &mut LocalRun,
    wanted: impl Fn(&[TranscriptLine], Option<&RunEnd>) -> bool,
) -> Option<RunEnd> {
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        let progress = run.poll().unwrap();
        if wanted(&progress.lines, progress.end.as_ref()) {
            return progress.end;
        }
        assert!(Instant::now() < limit, "it did not happen: {:?}", run.error_tail(u64::MAX));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn says(lines: &[TranscriptLine], text: &str) -> bool {
    lines.iter().any(|it| matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Message { text: said }) if said == text))
}

fn class(end: Option<RunEnd>) -> ExitClass {
    match end {
        Some(RunEnd::Reported { outcome, .. }) => outcome.class,
        other => panic!("the run did not report its end: {other:?}"),
    }
}

fn a_steered_agent_answers_and_ends() {
    let root = scratch();
    let mut run = start(&root, "first");
    poll_until(&mut run, |lines, _| says(lines, "heard first"));
    run.steer("second").unwrap();
    poll_until(&mut run, |lines, _| LocalRun::has_ended_its_turn(lines));
    run.close_input().unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Ok);
    let usage = run.reader().usage();
    assert_eq!((usage.input, usage.output), (20, 10));
    assert!((usage.cost.unwrap() - 0.02).abs() < 1e-9);
    assert_eq!(run.reader().session(), Some("s-1"));
    fs::remove_dir_all(root).unwrap();
}

fn an_adopted_run_has_every_line_once() {
    let root = scratch();
    let mut run = start(&root, "slow");
    poll_until(&mut run, |lines, _| says(lines, "step 5"));
    drop(run);
    let mut run = LocalRun::adopt(&root.join("run")).unwrap();
    assert!(run.is_alive(), "the agent goes on without its runner");
    poll_until(&mut run, |lines, _| says(lines, "heard slow"));
    run.steer("after").unwrap();
    poll_until(&mut run, |lines, _| says(lines, "heard after"));
    run.close_input().unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Ok);
    let lines = read_after(&run.transcript_folder(), 0, 1_000).unwrap();
    let said: Vec<String> = lines
        .iter()
        .filter_map(|it| match &it.content {
            TranscriptEntry::Agent(TranscriptContent::Message { text }) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let mut wanted: Vec<String> = (0..50).map(|it| format!("step {it}")).collect();
    wanted.extend(["heard slow".to_owned(), "heard after".to_owned()]);
    assert_eq!(said, wanted);
    assert!(lines.windows(2).all(|it| it[1].number == it[0].number + 1));
    fs::remove_dir_all(root).unwrap();
}

fn an_agent_that_ends_without_its_runner_is_read_later() {
    let root = scratch();
    let mut run = start(&root, "first");
    run.close_input().unwrap();
    drop(run);
    let limit = Instant::now() + Duration::from_secs(300);
    while !root.join("run/exit").exists() {
        assert!(Instant::now() < limit);
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut run = LocalRun::adopt(&root.join("run")).unwrap();
    let progress = run.poll().unwrap();
    assert!(says(&progress.lines, "heard first"));
    assert_eq!(class(progress.end), ExitClass::Ok);
    fs::remove_dir_all(root).unwrap();
}

fn an_approval_is_asked_and_answered() {
    let root = scratch();
    let mut run = start(&root, "ask");
    let asked = |lines: &[TranscriptLine]| {
        lines.iter().any(|it| matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Approval { tool, .. }) if tool == "Bash"))
    };
    poll_until(&mut run, |lines, _| asked(lines));
    run.answer("q-1", &serde_json::Value::Null, Some("not now")).unwrap();
    poll_until(&mut run, |lines, _| says(lines, "heard deny"));
    run.stop("enough", Some(0)).unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Killed);
    fs::remove_dir_all(root).unwrap();
}

fn an_approval_is_asked_again_after_an_adoption() {
    let root = scratch();
    let mut run = start(&root, "ask");
    let first = |run: &mut LocalRun| {
        let limit = Instant::now() + Duration::from_secs(300);
        loop {
            if let Some(asked) = run.poll().unwrap().approvals.pop() {
                return asked;
            }
            assert!(Instant::now() < limit, "no approval was asked for");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let asked = first(&mut run);
    assert_eq!((asked.id.as_str(), asked.tool.as_str()), ("q-1", "Bash"));
    assert!(run.poll().unwrap().approvals.is_empty(), "it is returned once");
    let mut run = LocalRun::adopt(&root.join("run")).unwrap();
    let asked = first(&mut run);
    run.answer(&asked.id, &asked.input, None).unwrap();
    poll_until(&mut run, |lines, _| says(lines, "heard allow"));
    let mut run = LocalRun::adopt(&root.join("run")).unwrap();
    assert!(run.poll().unwrap().approvals.is_empty(), "an answered one is not asked again");
    run.stop("enough", Some(0)).unwrap();
    poll_until(&mut run, |_, end| end.is_some());
    fs::remove_dir_all(root).unwrap();
}

fn a_withdrawn_approval_is_not_answered() {
    let root = scratch();
    let mut run = start(&root, "ask and withdraw");
    poll_until(&mut run, |lines, _| says(lines, "heard nothing"));
    run.answer("q-1", &serde_json::Value::Null, None).unwrap();
    run.close_input().unwrap();
    poll_until(&mut run, |_, end| end.is_some());
    let lines = read_after(&run.transcript_folder(), 0, 1_000).unwrap();
    assert!(!says(&lines, "heard allow"), "{lines:#?}");
    fs::remove_dir_all(root).unwrap();
}

fn an_agent_that_writes_without_pause_is_stopped_and_limited() {
    let root = scratch();
    let mut run = start(&root, "flood");
    // A look at the output returns while it is written, so the run can be stopped.
    poll_until(&mut run, |lines, _| prints(lines, "flooded"));
    run.stop("enough", Some(0)).unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Killed);
    fs::remove_dir_all(&root).unwrap();

    let root = scratch();
    let mut run = start_with(&root, "flood", "output: 200000");
    let Some(RunEnd::Reported { exit, outcome }) = poll_until(&mut run, |_, end| end.is_some()) else {
        panic!("the shim died");
    };
    assert_eq!(outcome.class, ExitClass::Limit, "{outcome:?}");
    assert!(outcome.text.contains("200000 bytes"), "{outcome:?}");
    assert!(exit.out < 1 << 20, "{exit:?}");
    fs::remove_dir_all(root).unwrap();
}

/// Codex waits for a network for ever, and a program can hang before its first word.
fn a_program_that_is_silent_or_waits_for_the_network_is_ended() {
    for (prompt, limits, expected, says) in [
        ("--silent", "startup: 1", ExitClass::Killed, "said nothing in its first 1 s"),
        ("offline", "network: 1, network_wait: waiting", ExitClass::Network, "no network for 1 s"),
    ] {
        let root = scratch();
        let mut run = start_with(&root, prompt, limits);
        let Some(RunEnd::Reported { outcome, .. }) = poll_until(&mut run, |_, end| end.is_some()) else {
            panic!("the shim died");
        };
        assert_eq!(outcome.class, expected, "{outcome:?}");
        assert!(outcome.text.contains(says), "{outcome:?}");
        fs::remove_dir_all(root).unwrap();
    }
}

fn a_huge_line_does_not_hide_later_ones() {
    let root = scratch();
    let mut run = start(&root, "huge");
    poll_until(&mut run, |lines, _| says(lines, "heard huge"));
    let lines = read_after(&run.transcript_folder(), 0, 1_000).unwrap();
    // The server takes lines of at most 256 KiB.
    assert!(lines.iter().all(|it| serde_json::to_vec(it).unwrap().len() < 256 << 10));
    let is_call = |it: &&TranscriptLine| matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::ToolCall { name, .. }) if name == "Write");
    assert_eq!(lines.iter().filter(is_call).count(), 1);
    let says_so = |it: &TranscriptLine| matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Warning { text }) if text.contains("left out"));
    assert!(lines.iter().any(says_so), "{lines:#?}");
    run.close_input().unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Ok);
    fs::remove_dir_all(root).unwrap();
}

fn an_agent_that_stays_after_its_answer_is_ended() {
    let root = scratch();
    let mut run = start_with(&root, "stay", "closing: 1");
    poll_until(&mut run, |lines, _| LocalRun::has_ended_its_turn(lines));
    run.close_input().unwrap();
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert_eq!(class(end), ExitClass::Ok, "its work is done");
    fs::remove_dir_all(root).unwrap();
}

fn prints(lines: &[TranscriptLine], text: &str) -> bool {
    lines.iter().any(|it| matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Output { text: said }) if said == text))
}

fn command_adapter() -> (String, AdapterDefinition) {
    let found = AdapterCatalogue::default().find("command").unwrap();
    (found.text, found.definition)
}

/// `trackside adapter check`: a sandbox that works, and a program that does not start.
fn an_adapter_is_tried_in_its_sandbox() {
    let root = scratch();
    for tier in ContainmentTier::ALL.into_iter().filter(|it| shim().supports(*it)) {
        let trial = adapter_trial::try_sandbox(&shim(), tier, &root.join(tier.name())).unwrap();
        assert!(trial.is_tight && trial.problem.is_none(), "{tier}: {trial:?}");
        assert!(trial.enforced.contains("no capabilities"), "{trial:?}");
    }
    let (adapter_text, adapter) = command_adapter();
    let settings = LaunchSettings {
        adapter_text,
        adapter,
        command: vec!["/bin/sh".to_owned(), "-c".to_owned(), "cat $TRACKSIDE_TASK_FILE; exit 3".to_owned()],
        folder: root.join("work"),
        sandbox: true,
        variables: Vec::new(),
        write: Vec::new(),
        git_folders: None,
        read: Vec::new(),
        model: None,
        hidden: Vec::new(),
        user_home: root.join("user"),
        caller: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
        tier: shim().strongest_tier(),
        trackside: std::env::current_exe().unwrap(),
        limit: Some(60),
    };
    let space = root.join("space");
    fs::create_dir_all(&space).unwrap();
    let trial = adapter_trial::try_program(&settings, &shim(), &space, Duration::from_secs(30)).unwrap();
    assert_eq!(trial.outcome.unwrap().class, ExitClass::Crash);
    fs::remove_dir_all(root).unwrap();
}
