//! Large generated lifecycles.

use super::common::{of_class, pack};
use std::fmt::Write as _;
use trackside_study::check::{CheckBudget, Class, MOST_STEPS, check_within};

const STATES: usize = 100;
const EDGES: usize = 400;

/// A hundred states and four hundred edges: forward to the next, back, and across, under all kinds of conditions.
fn large() -> String {
    let mut text = String::from(
        "lifecycle: t.thing\nfields: { n: { type: integer }, owner: { type: string }, mood: { enum: [good, bad] } }\n\
         relations: { keeper: actor.id == owner }\ncreate: { by: human }\ncounters: { rounds: { limit: 9, then: close } }\nstates:\n",
    );
    for n in 0..STATES {
        match n {
            0 => writeln!(text, "  S0: {{ initial: true }}").unwrap(),
            98 => writeln!(text, "  S98: {{}}").unwrap(),
            99 => writeln!(text, "  S99: {{ final: true }}").unwrap(),
            n if n % 7 == 0 => {
                writeln!(text, "  S{n}: {{ deadline: {{ after: 1h, then: close }} }}").unwrap()
            }
            n => writeln!(text, "  S{n}: {{}}").unwrap(),
        }
    }
    writeln!(text, "transitions:\n  close: {{ from: any, to: S99, by: engine, when: state != 'S98' }}")
        .unwrap();
    let by = ["human", "agent && keeper", "lead || keeper", "human && !keeper"];
    let when = ["n > 3", "mood == 'good'", "owner != null && n < 9", "visits['S1'] < 5"];
    for edge in 0..EDGES {
        // No transition leaves S98, and none leads to S97.
        let from = edge % 97;
        let to = match edge / 97 {
            0 => (from + 1) % 97,
            1 => (from * 7 + 3) % 97,
            2 => (from + 13) % 97,
            3 if from == 5 => 98,
            _ => (from + 50) % 97,
        };
        let (by, when) = (by[edge % by.len()], when[edge / 3 % when.len()]);
        writeln!(
            text,
            "  t{edge}: {{ from: S{from}, to: S{to}, by: {by}, when: \"{when}\", count: rounds }}"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_hundred_states_and_four_hundred_edges() {
    let loaded = pack(&["pack: t\nversion: 1\nroles: { lead: {} }\n", &large()]);
    let begun = std::time::Instant::now();
    let found = loaded.findings();
    println!("{} findings in {:?}", found.len(), begun.elapsed());
    let places = |class| of_class(&found, class).iter().map(|it| it.way.to_string()).collect::<Vec<_>>();
    assert_eq!(places(Class::UnreachableState), ["states.S97"], "{found:#?}");
    assert_eq!(places(Class::TrapState), ["states.S98"]);
    let trap = of_class(&found, Class::TrapState)[0];
    assert!(trap.route.0.len() > 1 && trap.route.to_string().starts_with("create (S0) → "), "{}", trap.route);
}

/// Every state leads to every state: the square of the states in moves, in a text of a few kilobytes. Some arms count,
/// some reset, some have conditions.
fn dense(states: usize, kind: usize) -> String {
    let mut text = String::from(
        "lifecycle: t.thing\nfields: { n: { type: integer } }\ncreate: { by: human }\n\
         counters: { rounds: { limit: 9 }, again: { limit: 3, then: close } }\nstates:\n  S0: { initial: true }\n",
    );
    for n in 1..states {
        writeln!(text, "  S{n}: {{}}").unwrap();
    }
    text.push_str(
        "  END: { final: true }\ntransitions:\n  close: { from: any, to: END, by: human || engine }\n",
    );
    for n in 0..states {
        let more = match (kind, n % 3) {
            (0, _) => "",
            (1, 0) => ", count: rounds",
            (1, 1) => ", count: again, reset: [again]",
            (1, _) => ", when: n < 5",
            _ => ", by: agent && state != 'S1'",
        };
        let by = if kind == 2 { "" } else { ", by: agent" };
        writeln!(text, "  t{n}: {{ from: any, to: S{n}{by}{more} }}").unwrap();
    }
    text
}

/// The steps of all checks, or none if they were stopped.
fn steps(text: &str, stop: &dyn Fn() -> bool) -> Option<u64> {
    let loaded = pack(&["pack: t\nversion: 1\n", text]);
    let work = CheckBudget::new(MOST_STEPS, stop);
    check_within(&loaded.pack, &work).ok().map(|_| work.spent())
}

#[test]
fn the_work_of_the_checks_grows_with_the_moves_and_is_limited() {
    for kind in 0..3 {
        let [small, large] = [40, 80].map(|it| steps(&dense(it, kind), &|| false).unwrap());
        // Twice the states are four times the moves.
        assert!(large < small * 5, "kind {kind}: {small} steps for 40 states, {large} for 80");
    }
    let asked = std::cell::Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) > 2;
    assert_eq!(steps(&dense(80, 1), &stop), None, "stopped by the caller");
    let loaded = pack(&["pack: t\nversion: 1\n", &dense(40, 1)]);
    let stopped = check_within(&loaded.pack, &CheckBudget::new(10_000, &|| false)).unwrap_err();
    assert!(stopped.steps < 100_000, "{stopped}");
}
