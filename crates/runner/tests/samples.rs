//! Recorded output of real programs, through the adapters.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use trackside_runner::adapter::{
    AdapterDefinition, AdapterReader, ExitClass, RetryAdvice, RunOutcome, RunUsage, TranscriptContent,
};
use trackside_shim::{ExitCause, ExitRecord, LivenessSample};

fn adapter(name: &str) -> AdapterDefinition {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../adapters/{name}.yaml"));
    AdapterDefinition::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn exit(code: Option<i32>, signal: Option<i32>) -> ExitRecord {
    ExitRecord {
        cause: ExitCause::Exit,
        code,
        signal,
        reason: String::new(),
        out: 0,
        err: 0,
        lost: 0,
        rounds: 0,
        unkillable: Vec::new(),
        sample: LivenessSample::default(),
    }
}

struct Sample {
    reader: AdapterReader,
    lines: Vec<TranscriptContent>,
}

fn read(adapter_name: &str, sample: &str, earlier: RunUsage) -> Sample {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/samples/{sample}.jsonl"));
    let mut reader = AdapterReader::new(adapter(adapter_name), earlier);
    let lines = std::fs::read_to_string(path).unwrap().lines().flat_map(|it| reader.read_line(it)).collect();
    Sample { reader, lines }
}

fn class(adapter: &str, sample: &str, code: i32) -> (ExitClass, RetryAdvice, Option<i64>) {
    let read = read(adapter, sample, RunUsage::default());
    let outcome = RunOutcome::of(&read.reader, &exit(Some(code), None), "");
    (outcome.class, outcome.retry, outcome.resets_at)
}

#[test]
fn every_end_of_claude_has_its_class_whatever_the_exit_code_says() {
    use ExitClass::*;
    let no = RetryAdvice::No;
    for (sample, code, expected, retry) in [
        ("claude-ok", 0, Ok, no),
        ("claude-resume", 0, Ok, no),
        ("claude-mcp", 0, Ok, no),
        ("claude-hook-exit2", 0, Ok, no),
        ("claude-ratelimit-warning", 0, Ok, no),
        ("claude-steer-midturn", 0, Ok, no),
        ("claude-steer-interrupt", 0, Ok, no),
        ("claude-trackside-mcp-hook", 0, Ok, no),
        ("claude-429-apikey", 1, Rate, RetryAdvice::Wait),
        ("claude-429-subscription-limit", 1, Quota, RetryAdvice::Later),
        ("claude-billing", 1, Billing, no),
        ("claude-401", 1, Auth, no),
        ("claude-529", 1, Overloaded, RetryAdvice::Wait),
        ("claude-conn-refused", 1, Network, RetryAdvice::Wait),
        ("claude-context-overflow", 1, Context, no),
        ("claude-context-overflow-compact-failed", 1, Context, no),
        ("claude-max-turns", 1, Limit, no),
        ("claude-max-budget", 1, Limit, no),
        // An interrupt exits with 0.
        ("claude-sigint", 0, Interrupted, no),
        ("claude-resume-unknown", 1, NoSession, no),
        // No end event.
        ("claude-sigterm", 143, Killed, no),
    ] {
        let (class, advice, _) = class("claude", sample, code);
        assert_eq!((class, advice), (expected, retry), "{sample}");
    }
    assert_eq!(
        class("claude", "claude-429-subscription-limit", 0).2,
        Some(1_794_999_999),
        "the reset of the limit"
    );
}

#[test]
fn every_end_of_codex_has_its_class() {
    use ExitClass::*;
    for (sample, code, expected) in [
        ("codex-ok", 0, Ok),
        ("codex-resume-cumulative-usage", 0, Ok),
        ("codex-mcp-approved", 0, Ok),
        ("codex-mcp-needs-approval", 0, Ok),
        ("codex-hook-exit2", 0, Ok),
        ("codex-denied-command-invisible", 0, Ok),
        ("codex-trackside-mcp-hook", 0, Ok),
        ("codex-429", 1, Rate),
        ("codex-usage-limit", 1, Quota),
        ("codex-insufficient-quota", 1, Billing),
        ("codex-overloaded", 1, Overloaded),
        ("codex-401", 1, Auth),
        ("codex-context-overflow", 1, Context),
        // It waits for the network for ever: no end event.
        ("codex-conn-refused-hangs", 1, Crash),
    ] {
        assert_eq!(class("codex-exec", sample, code).0, expected, "{sample}");
    }
    assert!(class("codex-exec", "codex-usage-limit", 1).2.is_some(), "the reset is read from the text");
    let app = class("codex", "codex-app-server-usage-limit", 0);
    assert_eq!(app, (Quota, RetryAdvice::Later, Some(1_794_999_999)));
}

#[test]
fn tokens_are_those_of_the_run_and_cost_is_not_counted_twice() {
    let first = read("claude", "claude-ok", RunUsage::default());
    let usage = first.reader.usage();
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (3500, 120, 1300, 90));
    assert_eq!(usage.cost, Some(0.013_027_500_000_000_001));
    assert_eq!(first.reader.context_percent(), Some(1));

    // The second run of a session: the program reports the cost of both.
    let earlier =
        RunUsage { input: 1000, output: 50, cache_read: 200, cache_write: 30, cost: Some(0.003_922_5) };
    let second = read("claude", "claude-resume", earlier).reader.usage();
    assert_eq!(second.input, 1000);
    assert!((second.cost.unwrap() - 0.003_922_5).abs() < 1e-9, "{second:?}");

    // Two turns of one process add up.
    let turns = read("claude", "claude-steer-interrupt", RunUsage::default()).reader.usage();
    assert_eq!((turns.input, turns.cache_read), (2000, 400));
    assert!((turns.cost.unwrap() - 0.007_845).abs() < 1e-9, "{turns:?}");

    // Codex counts the whole thread, cached tokens included.
    let earlier = RunUsage { input: 2200, output: 120, cache_read: 1300, cache_write: 0, cost: None };
    let resumed = read("codex-exec", "codex-resume-cumulative-usage", earlier).reader.usage();
    assert_eq!((resumed.input, resumed.output, resumed.cache_read, resumed.cost), (800, 50, 200, None));
}

#[test]
fn a_killed_run_keeps_the_tokens_of_its_steps() {
    let killed = read("claude", "claude-sigterm", RunUsage::default());
    let usage = killed.reader.usage();
    assert!(usage.input > 0 && usage.cache_read > 0, "{usage:?}");
}

#[test]
fn a_transcript_has_messages_tool_calls_and_results_in_order() {
    let lines = read("claude", "claude-ok", RunUsage::default()).lines;
    let kinds: Vec<String> = lines
        .iter()
        .map(|it| serde_json::to_value(it).unwrap().get("kind").unwrap().as_str().unwrap().to_owned())
        .collect();
    let expected =
        ["session", "message", "toolCall", "toolResult", "toolCall", "toolResult", "message", "end"];
    assert_eq!(kinds, expected);
    let codex = read("codex-exec", "codex-ok", RunUsage::default()).lines;
    assert!(codex.iter().any(
        |it| matches!(it, TranscriptContent::ToolResult { text, failed: false, .. } if text == "hello")
    ));
    assert!(
        matches!(codex.last(), Some(TranscriptContent::End { ok: true, text, .. }) if text == "Done: files written.")
    );
}

#[test]
fn a_steered_run_shows_what_it_was_told() {
    let lines = read("claude", "claude-steer-midturn", RunUsage::default()).lines;
    assert!(lines.iter().any(|it| matches!(it, TranscriptContent::User { .. })), "{lines:?}");
}

#[test]
fn text_that_is_no_event_is_kept() {
    let mut reader = AdapterReader::new(adapter("claude"), RunUsage::default());
    assert_eq!(
        reader.read_line("warning: x\n"),
        [TranscriptContent::Output { text: "warning: x".to_owned() }]
    );
    assert!(reader.read_line("\n").is_empty());
}

#[test]
fn a_plain_command_is_judged_by_its_exit_code() {
    let reader = AdapterReader::new(adapter("command"), RunUsage::default());
    for (code, class) in [(0, ExitClass::Ok), (42, ExitClass::Context), (1, ExitClass::Crash)] {
        assert_eq!(RunOutcome::of(&reader, &exit(Some(code), None), "").class, class);
    }
    assert_eq!(RunOutcome::of(&reader, &exit(None, Some(9)), "").class, ExitClass::Killed);
}

#[test]
fn a_bad_adapter_file_is_refused_with_the_reason() {
    let parse = |text: &str| AdapterDefinition::parse(text).unwrap_err().to_string();
    assert!(
        parse("adapter: x\nabout: x\ntransport: lines\nprogram: { names: [x] }\nend: {}\n")
            .contains("no event is the end")
    );
    assert!(
        parse("adapter: X y\nabout: x\ntransport: plain\nprogram: { names: [] }\nend: {}\n")
            .contains("lower case")
    );
    assert!(parse("adapter: x\nabout: x\nspeed: 3\n").contains("speed"));
}
