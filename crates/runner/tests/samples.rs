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
fn an_end_without_figures_takes_no_tokens_back() {
    let mut reader = AdapterReader::new(adapter("claude"), RunUsage::default());
    let step = r#"{"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":600,"output_tokens":10}}}"#;
    reader.read_line(step);
    reader.read_line(r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#);
    assert_eq!((reader.usage().input, reader.usage().output), (600, 10));
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
        ("codex-conn-refused-hangs", 1, Network),
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
    let mut reader = AdapterReader::new(adapter("command"), RunUsage::default());
    assert_eq!(RunOutcome::of(&reader, &exit(Some(0), None), "").text, "");
    ["working\n", "The result is in out.txt \n", "\n"].iter().for_each(|it| drop(reader.read_line(it)));
    let ended = RunOutcome::of(&reader, &exit(Some(0), None), "");
    assert_eq!((ended.class, ended.text.as_str()), (ExitClass::Ok, "The result is in out.txt"));
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

#[test]
fn an_adapter_file_with_hostile_data_is_refused() {
    let plain = "adapter: x\nabout: x\ntransport: plain\nprogram: { names: [] }\nend: {}\n";
    assert!(AdapterDefinition::parse(plain).is_ok());
    let refusal = |more: &str| AdapterDefinition::parse(&format!("{plain}{more}\n")).unwrap_err().to_string();
    for path in ["../.ssh/id", "/etc/shadow", "a/../../b", ".", "''"] {
        for more in [
            format!("login: {{ files: [{path}] }}"),
            format!("login: {{ folder: {{ variable: X, path: {path} }} }}"),
            format!("stop: {{ remove_if_empty: [{path}] }}"),
        ] {
            assert!(refusal(&more).contains("must be a path below its folder"), "{more}");
        }
    }
    assert!(refusal("stop: { grace: 18446744073709551615 }").contains("at most 3600"));
    assert!(refusal("end: { causes: [ { class: rate, text: '(a{1000}){1000}' } ] }").contains("end"));
    let pattern = "program: { names: [], version: { args: [], pattern: '((a{500}){500}){500}' } }";
    let huge = plain.replace("program: { names: [] }", pattern);
    assert!(AdapterDefinition::parse(&huge).unwrap_err().to_string().contains("no regular expression"));
    // Nested aliases that stand for a billion values.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let names = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{names}]\n"));
    }
    assert!(!refusal(&bomb).is_empty());
}

#[test]
fn hostile_numbers_and_names_of_a_program_do_not_reach_its_reports() {
    let mut reader = AdapterReader::new(adapter("claude"), RunUsage::default());
    let most = 1u64 << 50;
    for number in 0..3 {
        let tokens = u64::MAX;
        reader.read_line(&format!(
            r#"{{"type":"assistant","message":{{"id":"m{number}","content":[],"usage":{{"input_tokens":{tokens},"cache_read_input_tokens":{tokens}}}}}}}"#
        ));
    }
    assert_eq!(reader.context_percent(), Some(100));
    for cost in ["-5", "1e300"] {
        reader.read_line(&format!(
            r#"{{"type":"result","is_error":false,"total_cost_usd":{cost},"usage":{{"input_tokens":-3,"output_tokens":18446744073709551615}}}}"#
        ));
    }
    let usage = reader.usage();
    assert!(usage.input <= most && usage.output == most && usage.cache_read <= most, "{usage:?}");
    assert!((0.0..=1e9).contains(&usage.cost.unwrap()), "{usage:?}");

    // The next run would get the id of the session as an argument.
    let long = "x".repeat(201);
    for id in ["--settings=/tmp/x", "-p", "a b", "", "a\u{1b}[2J", long.as_str()] {
        let mut reader = AdapterReader::new(adapter("claude"), RunUsage::default());
        let event =
            serde_json::json!({ "type": "system", "subtype": "init", "session_id": id, "model": long });
        let lines = reader.read_line(&event.to_string());
        assert_eq!(reader.session(), None, "{id}");
        assert!(matches!(&lines[..], [TranscriptContent::Warning { .. }]), "{lines:?}");
    }
    let event =
        serde_json::json!({ "type": "system", "subtype": "init", "session_id": "s-1", "model": long });
    reader.read_line(&event.to_string());
    assert_eq!((reader.session(), reader.model().map(str::len)), (Some("s-1"), Some(200)));
}

/// The lines of a sample, changed.
fn changed(
    adapter_name: &str,
    sample: &str,
    earlier: RunUsage,
    change: impl Fn(&mut serde_json::Value),
) -> Sample {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/samples/{sample}.jsonl"));
    let mut reader = AdapterReader::new(adapter(adapter_name), earlier);
    let mut lines = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut event = serde_json::from_str(line).unwrap();
        change(&mut event);
        lines.extend(reader.read_line(&event.to_string()));
    }
    Sample { reader, lines }
}

fn outcome(read: &Sample, code: Option<i32>, signal: Option<i32>, stderr: &str) -> ExitClass {
    RunOutcome::of(&read.reader, &exit(code, signal), stderr).class
}

#[test]
fn a_run_without_an_end_event_did_not_go_well_even_with_exit_code_0() {
    for name in ["claude", "codex", "codex-exec"] {
        let silent =
            Sample { reader: AdapterReader::new(adapter(name), RunUsage::default()), lines: Vec::new() };
        assert_eq!(outcome(&silent, Some(0), None, ""), ExitClass::Crash, "{name}");
        assert_eq!(outcome(&silent, None, Some(9), ""), ExitClass::Killed, "{name}");
    }
    // It began to work and then ended.
    let cut = changed("claude", "claude-ok", RunUsage::default(), |event| {
        if event["type"] == "result" {
            *event = serde_json::Value::Null;
        }
    });
    assert_eq!(outcome(&cut, Some(0), None, ""), ExitClass::Crash);
}

#[test]
fn what_a_program_says_only_on_standard_error_has_its_class() {
    for (name, code, stderr, class) in [
        ("claude", 1, "Error: Session ID 0c9f is already in use.", ExitClass::Usage),
        ("claude", 1, "error: unknown option '--modle'", ExitClass::Usage),
        (
            "claude",
            1,
            "--dangerously-skip-permissions cannot be used with root/sudo privileges",
            ExitClass::Usage,
        ),
        ("claude", 1, "No conversation found with session ID: 0c9f", ExitClass::NoSession),
        ("codex-exec", 2, "error: unexpected argument '--jsn' found", ExitClass::Usage),
        ("codex-exec", 1, "Error: thread/resume: no rollout found for thread id 0c9f", ExitClass::NoSession),
        ("codex-exec", 1, "Not inside a trusted directory", ExitClass::Crash),
        ("codex", 2, "error: unexpected argument", ExitClass::Usage),
    ] {
        let silent =
            Sample { reader: AdapterReader::new(adapter(name), RunUsage::default()), lines: Vec::new() };
        assert_eq!(outcome(&silent, Some(code), None, stderr), class, "{name}: {stderr}");
    }
}

#[test]
fn an_older_claude_that_says_less_about_an_error_has_the_same_classes() {
    use ExitClass::*;
    for (sample, class) in [
        ("claude-429-apikey", Rate),
        ("claude-429-subscription-limit", Quota),
        ("claude-billing", Billing),
        ("claude-401", Auth),
        ("claude-529", Overloaded),
        ("claude-context-overflow", Context),
    ] {
        // 2.1.197 has neither of these, and calls every end complete.
        let older = changed("claude", sample, RunUsage::default(), |event| {
            let Some(event) = event.as_object_mut() else { return };
            event.remove("api_error_type");
            event.remove("api_error");
            if event.contains_key("terminal_reason") {
                event.insert("terminal_reason".to_owned(), "completed".into());
            }
        });
        assert_eq!(outcome(&older, Some(1), None, ""), class, "{sample}");
    }
}

#[test]
fn ends_of_claude_that_differ_from_a_sample_in_a_word_have_their_class() {
    for (sample, said, instead, status, class) in [
        ("claude-401", "authentication_failed", "model_not_found", 404, ExitClass::Model),
        ("claude-401", "authentication_failed", "authentication_failed", 403, ExitClass::Auth),
        ("claude-529", "overloaded_error", "api_error", 500, ExitClass::Overloaded),
    ] {
        let other = changed("claude", sample, RunUsage::default(), |event| {
            *event = serde_json::from_str(&event.to_string().replace(said, instead)).unwrap();
            for name in ["api_error_status", "error_status"] {
                if event.get(name).is_some_and(serde_json::Value::is_number) {
                    event[name] = status.into();
                }
            }
        });
        assert_eq!(outcome(&other, Some(1), None, ""), class, "{status}");
    }
}

#[test]
fn steps_of_a_message_count_once_and_those_of_an_error_not_at_all() {
    // Two events of one message, each with its tokens.
    let usage = read("claude", "claude-sigterm", RunUsage::default()).reader.usage();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write), (1000, 200, 30));
    let usage = read("claude", "claude-401", RunUsage::default()).reader.usage();
    assert_eq!((usage.input, usage.output), (0, 0));
}

#[test]
fn a_cost_that_the_program_invents_is_left_out() {
    let known = read("claude", "claude-ok", RunUsage::default());
    assert!(known.reader.usage().cost.is_some());
    let invented = changed("claude", "claude-ok", RunUsage::default(), |event| {
        for model in event["modelUsage"].as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
            model["costBasis"] = "unknown".into();
        }
    });
    assert_eq!(invented.reader.usage().cost, None);
    assert_eq!(invented.reader.usage().input, known.reader.usage().input);
}

#[test]
fn a_session_is_told_once_though_the_program_repeats_it_and_is_not_always_first() {
    let steered = read("claude", "claude-steer-interrupt", RunUsage::default());
    let sessions = |lines: &[TranscriptContent]| {
        lines.iter().filter(|it| matches!(it, TranscriptContent::Session { .. })).count()
    };
    assert_eq!(sessions(&steered.lines), 1);
    // Events of hooks come before it.
    let mut reader = AdapterReader::new(adapter("claude"), RunUsage::default());
    reader.read_line(r#"{"type":"system","subtype":"hook_started","hook_event":"SessionStart"}"#);
    assert_eq!(reader.session(), None);
    reader.read_line(r#"{"session_id":"0c9f","model":"m","subtype":"init","type":"system"}"#);
    assert_eq!((reader.session(), reader.model()), (Some("0c9f"), Some("m")), "the order of keys varies");
}

#[test]
fn a_program_that_begins_another_session_than_asked_says_so_and_counts_from_nothing() {
    let earlier = RunUsage { input: 5000, output: 500, ..RunUsage::default() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/codex-ok.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let usage_of = |session: &str| {
        let mut reader = AdapterReader::new(adapter("codex-exec"), earlier).resuming(Some(session));
        let lines: Vec<TranscriptContent> = text.lines().flat_map(|it| reader.read_line(it)).collect();
        let warned = lines.iter().any(|it| {
            matches!(it, TranscriptContent::Warning { text } if text.contains("did not continue the session no-uuid"))
        });
        (reader.usage(), warned)
    };
    let (usage, warned) = usage_of("no-uuid");
    assert!(warned && usage.input > 0, "{usage:?}");
    let plain = read("codex-exec", "codex-ok", RunUsage::default());
    assert_eq!(usage, plain.reader.usage());
    let (continued, warned) = usage_of(plain.reader.session().unwrap());
    assert!(!warned && continued.input < usage.input, "{continued:?}");
}

#[test]
fn a_retry_and_a_warning_are_no_end() {
    let waiting = read("codex-exec", "codex-conn-refused-hangs", RunUsage::default());
    assert!(waiting.lines.iter().any(|it| matches!(it, TranscriptContent::Retry { .. })));
    assert!(waiting.reader.waits_for_network() && waiting.reader.retries() > 1);
    // The runner ends it after a while, which is a lack of network and not a crash.
    let mut stopped = exit(None, Some(15));
    stopped.cause = ExitCause::Stop;
    let ended = RunOutcome::of(&waiting.reader, &stopped, "");
    assert_eq!((ended.class, ended.retry), (ExitClass::Network, RetryAdvice::Wait));
    // An error item is a warning: the run continues.
    let warned = read("codex-exec", "codex-hook-exit2", RunUsage::default());
    assert!(warned.lines.iter().any(|it| matches!(it, TranscriptContent::Warning { .. })));
    assert_eq!(outcome(&warned, Some(0), None, ""), ExitClass::Ok);
    let near = read("claude", "claude-ratelimit-warning", RunUsage::default());
    assert!(near.reader.quota().is_some() && outcome(&near, Some(0), None, "") == ExitClass::Ok);
}

#[test]
fn a_denied_tool_call_is_a_failed_result_or_no_call_at_all() {
    let denied = read("codex-exec", "codex-mcp-needs-approval", RunUsage::default());
    let result = denied.lines.iter().find_map(|it| match it {
        TranscriptContent::ToolResult { text, failed: true, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(result.unwrap().contains("requires approval"), "the reason is in the transcript");
    // What its sandbox denies leaves no trace, so the result of a run is judged by its commit.
    let invisible = read("codex-exec", "codex-denied-command-invisible", RunUsage::default());
    let calls = invisible.lines.iter().filter(|it| matches!(it, TranscriptContent::ToolCall { .. })).count();
    assert_eq!((calls, outcome(&invisible, Some(0), None, "")), (2, ExitClass::Ok));
}

#[test]
fn programs_are_started_with_what_keeps_them_from_misleading_us() {
    let claude = adapter("claude");
    assert!(claude.start.args.iter().any(|it| it == "--verbose"), "without it, there is no stream");
    // The system prompt of a resumed session is that of its first run otherwise.
    assert!(claude.options["system"].join(" ").contains("--system-prompt-snapshot off"));
    assert!(claude.mcp.iter().any(|it| it == "mcp__trackside"), "its own tools need no permission");
    for name in ["codex", "codex-exec"] {
        let codex = adapter(name);
        let mcp = codex.mcp.join(" ");
        assert!(mcp.contains("required=true"), "a broken server is left out silently otherwise");
        assert!(mcp.contains(r#"default_tools_approval_mode="approve""#), "every call fails otherwise");
        assert!(mcp.contains(r#""TRACKSIDE_TOKEN""#), "a server gets only named variables");
        assert_eq!(codex.stop.remove_if_empty, [".codex", ".agents", ".aws"]);
        assert!(codex.program.native.is_some(), "its npm wrapper outlives it otherwise");
        assert!(codex.quiet_args.iter().any(|it| it == "analytics.enabled=false"));
    }
    for option in ["DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] {
        assert!(claude.quiet_env.contains_key(option));
    }
}

#[test]
fn the_schema_of_adapters_knows_every_key() {
    let schema = AdapterDefinition::schema();
    assert_eq!(schema["additionalProperties"], false);
    for name in ["claude", "codex", "codex-exec", "command"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../adapters/{name}.yaml"));
        let file: serde_json::Value =
            serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for key in file.as_object().unwrap().keys() {
            assert!(schema["properties"].get(key).is_some(), "{name}: {key}");
        }
    }
    let required = schema["required"].as_array().unwrap();
    assert!(
        required.iter().any(|it| it == "program") && required.iter().all(|it| it != "steer"),
        "{required:?}"
    );
}

/// The table in `samples/README.md` names tests that exist.
#[test]
fn what_misleads_in_a_program_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = [
        "crates/runner/tests/samples.rs",
        "crates/runner/tests/runs.rs",
        "crates/runner/tests/real_agents.rs",
        "crates/shim/tests/shim.rs",
        "crates/cli/tests/client/runs.rs",
    ];
    let tests: String = files.map(|it| std::fs::read_to_string(root.join(it)).unwrap()).concat();
    let table = std::fs::read_to_string(root.join("crates/runner/tests/samples/README.md")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|it| it.starts_with("| ") && it.contains('`')).collect();
    assert!(rows.len() > 20, "{rows:#?}");
    for row in rows {
        for name in row.split('`').skip(1).step_by(2) {
            let exists = tests.contains(&format!("fn {name}(")) || tests.contains(&format!("(\"{name}\", "));
            assert!(exists || tests.contains(&format!("\"{name}\",\n")), "no test is called {name}");
        }
    }
}
