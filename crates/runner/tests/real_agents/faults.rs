//! Real programs whose model, connection or hooks misbehave.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use trackside_runner::adapter::{ExitClass, TranscriptContent};
use trackside_runner::transcript::{TranscriptEntry, TranscriptLine};
use trackside_shim::process_table::{ProcessTable, signal_exactly};

use crate::{Choices, SessionUse, script, start};

pub(crate) const SCRIPTS: [&str; 10] = [
    "script: cut\nsteps: [ { text: Cut off., cut: 3 }, { text: Back again. } ]\n",
    "script: always-cut\nsteps: [ { text: Whole at last., cut: 3, repeat: true } ]\n",
    "script: drop\nsteps: [ { drop: true }, { text: Back again. } ]\n",
    "script: late\nsteps: [ { text: Late., delay: 2000, event_delay: 100 } ]\n",
    "script: rate_limit\nsteps: [ { error: rate_limit, repeat: true } ]\n",
    "script: billing\nsteps: [ { error: billing, repeat: true } ]\n",
    "script: auth\nsteps: [ { error: auth, repeat: true } ]\n",
    "script: model\nsteps: [ { error: model, repeat: true } ]\n",
    "script: context\nsteps: [ { error: context, repeat: true } ]\n",
    "script: server\nsteps: [ { error: server, repeat: true } ]\n",
];

fn says(lines: &[TranscriptLine], text: &str) -> bool {
    lines.iter().any(|it| {
        matches!(&it.content, TranscriptEntry::Agent(TranscriptContent::Message { text: said }) if said == text)
    })
}

pub(crate) fn goes_on_after_a_broken_answer(agents: &Path, name: &str) {
    for fault in ["cut", "drop"] {
        let mut started = start(agents, name, &script(fault));
        started.assert_class(ExitClass::Ok);
        assert!(says(&started.lines(), "Back again."), "{name} {fault}: {:#?}", started.lines());
        let asked = started.model.requests(name);
        assert_eq!(asked.len(), 2, "{name} {fault}");
        started.remove();
    }
}

/// Broken streams make it ask for an answer without one.
pub(crate) fn asks_for_a_whole_answer_in_the_end(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("always-cut"));
    started.assert_class(ExitClass::Ok);
    assert!(says(&started.lines(), "Whole at last."), "{name}: {:#?}", started.lines());
    let asked = started.model.requests(name);
    assert_eq!(asked[0].body["stream"], true);
    assert_ne!(asked.last().unwrap().body["stream"], true, "{name}: {} requests", asked.len());
    started.remove();
}

pub(crate) fn waits_for_a_late_answer(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("late"));
    started.assert_class(ExitClass::Ok);
    assert!(says(&started.lines(), "Late."), "{name}: {:#?}", started.lines());
    started.remove();
}

pub(crate) fn gives_every_error_of_its_model_a_class(agents: &Path, name: &str) {
    for (error, class) in [
        ("rate_limit", ExitClass::Rate),
        ("billing", ExitClass::Billing),
        ("auth", ExitClass::Auth),
        ("model", ExitClass::Model),
        ("context", ExitClass::Context),
        ("server", ExitClass::Overloaded),
    ] {
        let mut started = start(agents, name, &script(error));
        started.assert_class(class);
        started.remove();
    }
}

pub(crate) fn has_no_network(agents: &Path, name: &str) {
    // A port of loopback on which nothing listens.
    let mut started = start(agents, name, &Choices { base: Some("http://127.0.0.1:9"), ..script("write") });
    started.assert_class(ExitClass::Network);
    started.remove();
}

/// Its end event names the interrupt, or is missing. That it exits with 0 means nothing.
pub(crate) fn is_interrupted_by_a_signal(agents: &Path, name: &str) {
    let mut started = start(agents, name, &script("slow"));
    let is_call = |it: &TranscriptLine| {
        matches!(it.content, TranscriptEntry::Agent(TranscriptContent::ToolCall { .. }))
    };
    started.until("a tool call", |_, lines| lines.iter().any(is_call));
    let shim = started.run.running().unwrap().unwrap();
    let table = ProcessTable::read();
    let is_program = |pid: i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').next().is_some_and(|it| it.ends_with("claude"))
    };
    let program = table.descendants(shim.pid).into_iter().find(|it| is_program(it.pid)).unwrap();
    assert!(signal_exactly(program.pid, program.start_time, Signal::INT));
    let outcome = started.finish();
    assert!(matches!(outcome.class, ExitClass::Interrupted | ExitClass::Crash), "{outcome:?}");
    started.remove();
}

pub(crate) fn refuses_a_session_id_twice(agents: &Path, name: &str) {
    let id = "0c9f4c3e-3f0e-4b52-9b1e-0d8a2f7c6a12".to_owned();
    let session = Some((SessionUse::Start, id));
    let mut first = start(agents, name, &Choices { session: session.clone(), ..script("late") });
    first.assert_class(ExitClass::Ok);
    let root = Some(first.root.clone());
    let mut second = start(agents, name, &Choices { session, root, ..script("late") });
    second.assert_class(ExitClass::Usage);
    second.remove();
}

/// A hook protects only with exit code 2. With any other, the tool call goes on.
pub(crate) fn goes_on_after_a_hook_that_fails(agents: &Path, name: &str) {
    for (code, is_written) in [(1, true), (2, false)] {
        let hook = format!(
            r#"{{"hooks":{{"PreToolUse":[{{"matcher":"*","hooks":[{{"type":"command","command":"exit {code}"}}]}}]}}}}"#
        );
        let more = vec!["--settings".to_owned(), hook];
        let mut started = start(agents, name, &Choices { more, ..script("write") });
        started.assert_class(ExitClass::Ok);
        assert_eq!(started.root.join("work/hello.txt").exists(), is_written, "exit {code}");
        started.remove();
    }
}

/// A hook that the user has not trusted is skipped without a word.
pub(crate) fn skips_a_hook_without_trust(agents: &Path, name: &str) {
    let hook = r#"hooks.PreToolUse=[{ matcher="*", hooks=[{ type="command", command="sh -c 'echo no >&2; exit 2'", timeout=5 }] }]"#;
    for (trust, is_written) in [(None, true), (Some("--dangerously-bypass-hook-trust"), false)] {
        let mut more = vec!["-c".to_owned(), hook.to_owned()];
        more.extend(trust.map(str::to_owned));
        let mut started = start(agents, name, &Choices { more, ..script("write") });
        started.assert_class(ExitClass::Ok);
        assert_eq!(started.root.join("work/hello.txt").exists(), is_written, "{trust:?}");
        started.remove();
    }
}
