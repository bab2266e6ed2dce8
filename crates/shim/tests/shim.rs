//! Real runs through real shims, in every tier that this machine has.
//!
//! The program has no test harness, because it is also the shim: `shim __shim run FOLDER`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise and prints its own results"
)]

mod common;

use std::fs;
use std::time::Duration;

use common::{Run, TempFolder, tiers, until};
use rustix::process::Signal;
use trackside_shim::process_table::{ProcessTable, signal_exactly};
use trackside_shim::{ContainmentTier, ExitCause, SandboxSpec, StopRequest, boot_time, end_leftovers};

fn main() {
    if let Some(arguments) = trackside_shim::arguments_in_program(std::env::args_os()) {
        std::process::exit(trackside_shim::main(arguments).into());
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let tests: &[(&str, fn())] = &[
        (
            "an_agent_ends_by_itself_with_its_code_and_output",
            an_agent_ends_by_itself_with_its_code_and_output,
        ),
        ("a_signal_is_told_from_an_exit_code", a_signal_is_told_from_an_exit_code),
        ("nothing_outlives_a_lapsed_lease", nothing_outlives_a_lapsed_lease),
        ("nothing_outlives_a_stop", nothing_outlives_a_stop),
        ("an_end_that_is_seen_after_the_lease_is_no_kill", an_end_that_is_seen_after_the_lease_is_no_kill),
        ("nothing_outlives_a_time_limit", nothing_outlives_a_time_limit),
        ("an_agent_that_writes_without_end_is_ended", an_agent_that_writes_without_end_is_ended),
        ("nothing_outlives_a_killed_shim", nothing_outlives_a_killed_shim),
        ("background_children_end_with_the_agent", background_children_end_with_the_agent),
        ("term_gives_the_agent_its_grace", term_gives_the_agent_its_grace),
        ("messages_arrive_in_order_and_once", messages_arrive_in_order_and_once),
        ("a_renewed_lease_keeps_the_run", a_renewed_lease_keeps_the_run),
        ("output_is_cut_into_segments_without_loss", output_is_cut_into_segments_without_loss),
        ("secrets_never_reach_the_disk", secrets_never_reach_the_disk),
        ("the_sandbox_hides_what_is_not_allowed", the_sandbox_hides_what_is_not_allowed),
        ("a_program_that_does_not_exist_is_reported", a_program_that_does_not_exist_is_reported),
        ("a_run_of_another_protocol_is_not_started", a_run_of_another_protocol_is_not_started),
        ("a_second_shim_of_a_run_is_refused", a_second_shim_of_a_run_is_refused),
        ("an_agent_has_no_capabilities", an_agent_has_no_capabilities),
    ];
    common::run(tests, &arguments);
}

/// Children that a careless agent leaves: one that ignores TERM, daemons in sessions of their own, one with an empty
/// environment, one that closed its output, and one that forks without pause.
const WILD: &str = r#"
trap '' TERM
(setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &)
(setsid env -i sh -c 'exec >/dev/null 2>&1; while :; do sleep 1; done' &)
(setsid sh -c 'for i in $(seq 40); do setsid sleep 300 & done; sleep 300' &)
(n=0; while [ $n -lt 300 ]; do setsid sleep 300 & n=$((n+1)); done; sleep 300) &
echo started
while :; do sleep 1; done
"#;

fn an_agent_ends_by_itself_with_its_code_and_output() {
    for tier in tiers() {
        let run = Run::shell(tier, "cat; echo hello; echo oops >&2; pwd; exit 7").start();
        let exit = run.exit();
        assert_eq!((exit.cause, exit.code, exit.signal), (ExitCause::Exit, Some(7), None), "{tier}");
        assert_eq!(run.out(), format!("hello\n{}\n", run.work().display()), "{tier}");
        assert_eq!(run.err(), "oops\n", "{tier}");
        assert_eq!(exit.out, run.out().len() as u64);
    }
}

fn a_signal_is_told_from_an_exit_code() {
    for tier in tiers() {
        let exit = Run::shell(tier, "kill -SEGV $$").start().exit();
        assert_eq!((exit.code, exit.signal), (None, Some(11)), "{tier}");
        let exit = Run::shell(tier, "exit 139").start().exit();
        assert_eq!((exit.code, exit.signal), (Some(139), None), "{tier}");
    }
}

fn nothing_outlives_a_lapsed_lease() {
    for tier in tiers() {
        let run =
            Run::shell(tier, WILD).lease(Duration::from_secs(2)).grace(Duration::from_millis(300)).start();
        run.wait_for_output("started");
        let exit = run.exit();
        assert_eq!(exit.cause, ExitCause::Lease, "{tier}");
        run.assert_nothing_left();
    }
}

fn an_end_that_is_seen_after_the_lease_is_no_kill() {
    let tier = ContainmentTier::Pidns;
    if !tiers().contains(&tier) {
        return common::skip("this machine has no pid namespaces");
    }
    let script = "echo started; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let run = Run::shell(tier, script).lease(Duration::from_secs(4)).start();
    run.wait_for_output("started");
    // The process between shim and namespace stands still, as on a busy machine.
    let table = ProcessTable::read();
    let stage = table.children(run.running().pid).next().unwrap();
    assert!(signal_exactly(stage.pid, stage.start_time, Signal::STOP));
    fs::write(run.work().join("go"), "").unwrap();
    let exit = run.exit();
    assert_eq!((exit.cause, exit.code), (ExitCause::Exit, Some(7)), "{exit:?}");
    run.assert_nothing_left();
}

fn nothing_outlives_a_stop() {
    for tier in tiers() {
        let run = Run::shell(tier, WILD).grace(Duration::from_millis(300)).start();
        run.wait_for_output("started");
        run.folder.write("stop", &StopRequest { reason: "fenced".to_owned(), grace: Some(0) }).unwrap();
        let exit = run.exit();
        assert_eq!((exit.cause, exit.reason.as_str()), (ExitCause::Stop, "fenced"), "{tier}");
        run.assert_nothing_left();
    }
}

fn nothing_outlives_a_time_limit() {
    for tier in tiers() {
        let run =
            Run::shell(tier, WILD).limit(Duration::from_secs(1)).grace(Duration::from_millis(100)).start();
        assert_eq!(run.exit().cause, ExitCause::Timeout, "{tier}");
        run.assert_nothing_left();
    }
}

fn an_agent_that_writes_without_end_is_ended() {
    for tier in tiers() {
        let most = 3 << 20;
        let run = Run::shell(tier, "yes >&2 & yes").most_output(most).start();
        let exit = run.exit();
        assert_eq!(exit.cause, ExitCause::Output, "{tier}: {exit:?}");
        assert!(exit.reason.contains("3145728 bytes"), "{exit:?}");
        // One read of a stream can go beyond the limit.
        assert!(exit.out.max(exit.err) <= most + 64 * 1024, "{tier}: {exit:?}");
        run.assert_nothing_left();
    }
}

fn nothing_outlives_a_killed_shim() {
    for tier in tiers() {
        let bystander = Run::shell(tier, "echo started; exec sleep 300").start();
        bystander.wait_for_output("started");
        // Without a cgroup, only this one is not found: it has neither the variable nor the session.
        let script = match tier {
            ContainmentTier::Tree => WILD.replace("setsid env -i", "env -i"),
            ContainmentTier::Pidns | ContainmentTier::Cgroup => WILD.to_owned(),
        };
        let run = Run::shell(tier, &script).start();
        run.wait_for_output("started");
        assert_eq!(end_leftovers(&run.folder).unwrap(), Vec::<String>::new());
        assert!(run.folder.is_alive(), "{tier}: a living run is left alone");
        let running = run.running();
        assert!(signal_exactly(running.pid, running.start_time, Signal::KILL));
        assert!(until(|| !run.folder.is_alive()), "the lock is released");
        // In a namespace the kernel does it.
        if tier != ContainmentTier::Pidns {
            assert_eq!(end_leftovers(&run.folder).unwrap(), Vec::<String>::new(), "{tier}");
        }
        run.assert_nothing_left();
        assert!(!run.folder.has("exit"), "a killed shim reports nothing");
        assert!(bystander.folder.is_alive() && !bystander.folder.has("exit"), "{tier}");
        bystander.folder.write("stop", &StopRequest { reason: String::new(), grace: Some(0) }).unwrap();
        assert_eq!(bystander.exit().cause, ExitCause::Stop, "{tier}: the other run went on");
    }
}

fn background_children_end_with_the_agent() {
    for tier in tiers() {
        let run = Run::shell(tier, "(setsid sleep 300 &) ; sleep 300 & echo done").start();
        let exit = run.exit();
        assert_eq!((exit.cause, exit.code), (ExitCause::Exit, Some(0)), "{tier}");
        assert_eq!(run.out(), "done\n");
        run.assert_nothing_left();
    }
}

fn term_gives_the_agent_its_grace() {
    for tier in tiers() {
        let script = "trap 'echo saved; exit 42' TERM; echo ready; while :; do sleep 0.05; done";
        let run = Run::shell(tier, script).grace(Duration::from_secs(20)).start();
        run.wait_for_output("ready");
        run.folder.write("stop", &StopRequest { reason: "pause".to_owned(), grace: None }).unwrap();
        let exit = run.exit();
        assert_eq!((exit.cause, exit.code), (ExitCause::Stop, Some(42)), "{tier}");
        assert_eq!(run.out(), "ready\nsaved\n", "{tier}");
    }
}

fn messages_arrive_in_order_and_once() {
    for tier in tiers() {
        let run =
            Run::shell(tier, "while read line; do echo \"got $line\"; done; echo end").steered().start();
        for number in 1..=20 {
            run.folder
                .write_bytes(&format!("in/{number}"), format!("message {number}\n").as_bytes())
                .unwrap();
        }
        run.wait_for_output("got message 20");
        run.folder.write_bytes("in/close", b"").unwrap();
        assert_eq!(run.exit().code, Some(0), "{tier}");
        let wanted: String = (1..=20).map(|it| format!("got message {it}\n")).collect();
        assert_eq!(run.out(), wanted + "end\n", "{tier}");
        assert!(run.folder.has("in/20.done"));
    }
}

fn a_renewed_lease_keeps_the_run() {
    let run = Run::shell(ContainmentTier::Tree, "sleep 3; echo end").lease(Duration::from_secs(1)).start();
    for _ in 0..8 {
        run.folder.write("lease", &(boot_time::now() + 1_500_000_000)).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    let exit = run.exit();
    assert_eq!((exit.cause, exit.code), (ExitCause::Exit, Some(0)));
}

fn output_is_cut_into_segments_without_loss() {
    use trackside_shim::folder::OutputStream;
    let run = Run::shell(ContainmentTier::Tree, "seq 200000").segment(64 * 1024).start();
    assert_eq!(run.exit().lost, 0);
    assert!(run.folder.segments(OutputStream::Out).unwrap().len() > 10);
    let wanted: String = (1..=200_000).map(|it| format!("{it}\n")).collect();
    assert_eq!(run.out(), wanted);
}

fn secrets_never_reach_the_disk() {
    for tier in tiers() {
        let canary = "canary-0123456789";
        let script = "echo $SECRET_CANARY; echo $SECRET_CANARY >&2; printf 'no line end '$SECRET_CANARY";
        let run = Run::shell(tier, script).env("SECRET_CANARY", canary).start();
        run.exit();
        assert_eq!(run.out(), "[redacted]\nno line end [redacted]", "{tier}");
        assert_eq!(run.err(), "[redacted]\n", "{tier}");
        for entry in fs::read_dir(run.folder.path()).unwrap().flatten().filter(|it| it.path().is_file()) {
            let bytes = fs::read(entry.path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(canary), "{:?} in {tier}", entry.path());
        }
    }
}

fn the_sandbox_hides_what_is_not_allowed() {
    for tier in tiers() {
        let outside = TempFolder::new("outside");
        fs::write(outside.path().join("token"), "stolen").unwrap();
        let state = outside.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("credential"), "stolen").unwrap();
        let script = format!(
            "cat {0}/token {0}/state/credential 2>/dev/null; echo x > {0}/new 2>/dev/null && echo wrote; \
             cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '^OUTER=stolen'; \
             echo own > own.txt && cat own.txt; ls /usr >/dev/null && echo system",
            outside.path().display()
        );
        let system = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev"].map(Into::into).to_vec();
        let run = Run::shell(tier, &script)
            .sandbox(|work| SandboxSpec {
                read: system.clone(),
                write: vec![work.to_owned()],
                hide: vec![state.clone()],
                keep: Vec::new(),
                own_sandbox: false,
            })
            .start();
        let exit = run.exit();
        assert_eq!(run.out(), "0\nown\nsystem\n", "{tier}: {exit:?} {}", run.err());
        assert!(!outside.path().join("new").exists());
        assert!(run.running().sandbox.contains("Landlock"), "{tier}: {}", run.running().sandbox);
    }
}

fn a_program_that_does_not_exist_is_reported() {
    for tier in tiers() {
        let run = Run::program(tier, "/no/such/program", &[]).start();
        let exit = run.exit();
        assert_eq!((exit.cause, exit.code), (ExitCause::Exit, Some(125)), "{tier}");
        assert!(run.err().contains("/no/such/program cannot be started"), "{tier}: {}", run.err());
    }
}

fn a_run_of_another_protocol_is_not_started() {
    let run = Run::shell(ContainmentTier::Tree, "echo started").protocol(99).start();
    let exit = run.exit();
    assert_eq!(exit.cause, ExitCause::Start);
    assert!(exit.reason.contains("protocol 99"), "{exit:?}");
    assert_eq!(run.out(), "");
}

fn a_second_shim_of_a_run_is_refused() {
    let run = Run::shell(ContainmentTier::Tree, "echo started; sleep 30").start();
    run.wait_for_output("started");
    let second = run.start_again().wait_with_output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("another shim holds this run"));
    assert!(run.folder.is_alive());
    run.folder.write("stop", &StopRequest { reason: String::new(), grace: Some(0) }).unwrap();
    run.exit();
}

fn an_agent_has_no_capabilities() {
    for tier in tiers() {
        let run = Run::shell(tier, "grep -E '^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs)' /proc/self/status").start();
        run.exit();
        for line in run.out().lines() {
            let value = line.split_whitespace().last().unwrap();
            let wanted = if line.starts_with("NoNew") { "1" } else { "0000000000000000" };
            assert_eq!(value, wanted, "{tier}: {line}");
        }
        assert_eq!(run.out().lines().count(), 5);
    }
}
