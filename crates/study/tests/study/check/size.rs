//! Large generated lifecycles.

use super::common::{of_class, pack};
use std::fmt::Write as _;
use trackside_study::check::Class;

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
