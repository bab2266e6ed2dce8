//! A process that serves many callers and prints its answers. It runs until it is killed.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use trackside_lifecycle::time::Span;
use trackside_runtime::{BatchAnswer, CommandAnswer, Gateway, Options, ProjectClock, Runtime};
use trackside_store::{Sqlite, SqliteOptions, Store};

use crate::load::{self, CommandKey, command};
use crate::packs::{packs, start_of_time};

const CALLERS: u64 = 8;

/// Small WAL files that restart often, so that a kill hits restarts, too.
pub fn sqlite() -> SqliteOptions {
    SqliteOptions::default().with_logs(16, 64)
}

/// Little memory, many writes, and a manual clock.
pub fn options(store: &dyn Store) -> Options {
    let last = store.reader().unwrap().head().unwrap().at;
    Options {
        clock: ProjectClock::manual(last.unwrap_or(start_of_time())),
        cached_entities: 40,
        cached_groups: 10,
        cached_timers: 20,
        cached_values: 5,
        cached_keys: 5,
        behind: Duration::from_millis(15),
        behind_entries: 60,
        sweep_every: None,
        // Years, so that every answered command can be looked up.
        keys_last: Span::seconds(10 * 365 * 24 * 60 * 60),
        ..Options::default()
    }
}

/// One line, in one write: it is read as a whole or not at all.
#[expect(clippy::disallowed_methods, reason = "a protocol with the test that started it")]
fn say(line: String) {
    std::io::stdout().write_all((line + "\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

/// Serves until it is killed: `> KEY` was sent, `+ KEY FIRST ENTRIES` was accepted, `- KEY` was refused.
pub fn serve(folder: &Path, round: u64) {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(folder, sqlite()).unwrap());
    let options = options(&*store);
    let runtime = Runtime::start(store, &packs(), options).unwrap();
    let gateway = runtime.gateway().unwrap();
    for command in load::agents() {
        gateway.ask(command).unwrap();
    }
    // On a line of its own, after the output of the test harness.
    say("\nready".to_owned());
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            scope.spawn(move || call(gateway, CommandKey { round, caller, step: 0 }));
        }
        scope.spawn(|| {
            let mut now = runtime.options().clock.now();
            for tick in 1_u64.. {
                std::thread::sleep(Duration::from_millis(7));
                // Mostly small steps; sometimes so large that everything is late.
                now = now.plus(Span::seconds(if tick % 16 == 0 { 2 * 60 * 60 } else { 5 }));
                gateway.advance(now).unwrap().wait().unwrap();
            }
        });
    });
}

fn call(gateway: &Gateway, mut key: CommandKey) {
    loop {
        say(format!("> {key}"));
        match key.together() {
            Some(other) => {
                say(format!("> {other}"));
                let both = gateway
                    .submit_atomic(vec![command(key), command(other)], Vec::new())
                    .unwrap()
                    .wait()
                    .unwrap();
                match both {
                    BatchAnswer::Done(both) => {
                        [key, other].into_iter().zip(both).for_each(|(key, it)| print_answer(key, it))
                    }
                    BatchAnswer::Refused(_) => [key, other].iter().for_each(|it| say(format!("- {it}"))),
                }
                key = other;
            }
            None => print_answer(key, gateway.ask(command(key)).unwrap()),
        }
        key = key.next();
    }
}

fn print_answer(key: CommandKey, answer: CommandAnswer) {
    match answer {
        CommandAnswer::Accepted(it) => say(match it.entries.first() {
            Some(first) => format!("+ {key} {} {}", first.seq, it.entries.len()),
            None => format!("- {key}"),
        }),
        CommandAnswer::Replayed { first, entries, .. } => say(format!("+ {key} {first} {entries}")),
        CommandAnswer::Refused(_) => say(format!("- {key}")),
    }
}
