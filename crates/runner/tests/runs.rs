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

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use trackside_runner::adapter::{ExitClass, RunUsage, TranscriptContent};
use trackside_runner::environment::RunEnvironment;
use trackside_runner::local_run::{LaunchPlan, LocalRun, RunEnd};
use trackside_runner::shim_program::ShimProgram;
use trackside_runner::transcript::{TranscriptEntry, TranscriptLine, read_after};
use trackside_shim::ContainmentTier;

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
        ("a_killed_shim_is_a_lost_run", a_killed_shim_is_a_lost_run),
        ("an_approval_is_asked_and_answered", an_approval_is_asked_and_answered),
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
def say(**event):
    print(json.dumps(event), flush=True)
say(type="system", subtype="init", session_id="s-1", model="m-1")
n = 0
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "control_response":
        text = event["response"]["response"]["behavior"]
    elif event["type"] == "user":
        text = event["message"]["content"][0]["text"]
    else:
        continue
    n += 1
    if text == "ask":
        say(type="control_request", request_id="q-1", request={"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}})
        continue
    if text == "slow":
        for i in range(50):
            say(type="assistant", message={"id": f"s{i}", "content": [{"type": "text", "text": f"step {i}"}], "usage": {"input_tokens": 1, "output_tokens": 0}})
            time.sleep(0.02)
    say(type="assistant", message={"id": f"m{n}", "content": [{"type": "text", "text": "heard " + text}], "usage": {"input_tokens": 10, "output_tokens": 1}})
    say(type="result", is_error=False, result="heard " + text, total_cost_usd=0.01 * n, usage={"input_tokens": 10, "output_tokens": 5})
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
    let adapter =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/claude.yaml")).unwrap();
    let plan = LaunchPlan {
        run: format!("run-{}", root.file_name().unwrap().to_str().unwrap()),
        adapter,
        program: "/usr/bin/env".into(),
        args: vec!["python3".to_owned(), "-c".to_owned(), PROGRAM.to_owned()],
        folder: root.join("work"),
        prompt: prompt.to_owned(),
        tier: ContainmentTier::Tree,
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
    let limit = Instant::now() + Duration::from_secs(30);
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
    let limit = Instant::now() + Duration::from_secs(30);
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

fn a_killed_shim_is_a_lost_run() {
    let root = scratch();
    let mut run = start(&root, "first");
    poll_until(&mut run, |lines, _| says(lines, "heard first"));
    let shim = run.running().unwrap().unwrap();
    assert!(trackside_shim::process_table::signal_exactly(
        shim.pid,
        shim.start_time,
        rustix::process::Signal::KILL
    ));
    let end = poll_until(&mut run, |_, end| end.is_some());
    assert!(matches!(end, Some(RunEnd::Lost)));
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
