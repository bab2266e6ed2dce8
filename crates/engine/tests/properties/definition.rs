//! Generated definitions, and the facts about them that need no engine.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::Sources;

#[derive(Clone, Debug)]
pub(crate) struct RandomDefinition {
    pub(crate) states: usize,
    pub(crate) last_is_final: bool,
    pub(crate) arms: Vec<RandomArm>,
    pub(crate) limit: i64,
    pub(crate) ceiling: i64,
    pub(crate) deadlines: Vec<(usize, u32, Option<usize>)>,
    pub(crate) reaction: Option<(i64, usize)>,
    pub(crate) counter: CounterForm,
    pub(crate) always: Option<(usize, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct RandomArm {
    pub(crate) from: Vec<usize>,
    pub(crate) to: RandomTarget,
    pub(crate) by: usize,
    pub(crate) sets: Vec<usize>,
    pub(crate) counts: bool,
    pub(crate) takes_note: bool,
    pub(crate) leases: u8,
    pub(crate) moves_kids: Option<usize>,
    pub(crate) births: bool,
    pub(crate) then: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum RandomTarget {
    Stay,
    State(usize),
    Choice(i64, usize, usize),
    Back,
    Ask(Vec<usize>),
    Next,
}

#[derive(Clone, Debug)]
pub(crate) enum CounterForm {
    Plain,
    PerState,
    ByActor,
    Window,
    Last,
}

const BY: &[&str] = &[
    "true",
    "human",
    "agent || engine",
    "lead || engine",
    "owner || engine",
    "engine",
    "human && !owner",
    "system || human",
];
const SETS: &[&str] = &[
    "n: n + 1",
    "back: state",
    "owner_id: actor.id",
    "tags: \"add(tags, state)\"",
    "n: \"max(n - 2, 0)\"",
    "note: \"'x' + string(n)\"",
    "due: now + duration(\"10m\")",
];

pub(crate) fn state(n: usize) -> String {
    format!("S{n}")
}

pub(crate) fn verb(n: usize) -> String {
    format!("t{n}")
}

impl RandomDefinition {
    /// Every move that the text of the definition allows: verb, from, to.
    pub(crate) fn edges(&self) -> BTreeSet<(String, String, String)> {
        let mut edges = BTreeSet::new();
        for (n, arm) in self.arms.iter().enumerate() {
            for from in self.leaves(arm) {
                let targets: Vec<usize> = match &arm.to {
                    RandomTarget::Stay => Vec::new(),
                    RandomTarget::State(to) => vec![*to],
                    RandomTarget::Choice(_, a, b) => vec![*a, *b],
                    RandomTarget::Back => (0..self.states).collect(),
                    RandomTarget::Ask(among) => among.clone(),
                    RandomTarget::Next => vec![from + 1],
                };
                for to in targets {
                    edges.insert((verb(n), state(from), state(to)));
                }
            }
        }
        if let Some((from, to)) = self.always {
            edges.insert(("always".to_owned(), state(from), state(to)));
        }
        edges
    }

    /// The states an arm leaves: never the final one.
    fn leaves(&self, arm: &RandomArm) -> Vec<usize> {
        let live = |it: &usize| !(self.last_is_final && *it == self.states - 1);
        let from: Vec<usize> = arm.from.iter().copied().filter(live).collect();
        if from.is_empty() { vec![0] } else { from }
    }

    pub(crate) fn yaml(&self) -> String {
        let mut y = String::new();
        let names = |list: &[usize]| list.iter().map(|it| state(*it)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(y, "lifecycle: made.thing\nassignee: owner_id");
        let _ = writeln!(
            y,
            "fields:\n  n: {{ type: integer, default: 0 }}\n  back: {{ type: state }}\n  owner_id: {{ type: string }}"
        );
        let _ = writeln!(
            y,
            "  tags: {{ type: array, items: {{ type: string }}, default: [] }}\n  note: {{ type: string, maxLength: 40 }}"
        );
        let _ = writeln!(
            y,
            "  parent_id: {{ type: string }}\n  holder: {{ type: string, by: engine }}\n  twice: {{ is: n * 2 }}\n  due: {{ type: time }}\ntimers: {{ moment: {{ at: due }}, rhythm: {{ every: 45m, runs: [S0] }} }}"
        );
        let _ = writeln!(y, "relations: {{ owner: actor.id == owner_id }}");
        let _ = writeln!(y, "refs: {{ parent: {{ to: made.thing, by: parent_id, inverse: kids }} }}");
        let _ = writeln!(y, "path: [{}]", names(&(0..self.states).collect::<Vec<_>>()));
        let _ = writeln!(y, "slots: {{ work: {{ for: 10m, grace: 1m, holder: holder }} }}");
        let kind = match self.counter {
            CounterForm::Plain => "",
            CounterForm::PerState => "per: state, reset: forward, ",
            CounterForm::ByActor => "key: [actor.id], reset: [t0], ",
            CounterForm::Window => "within: 30m, ",
            CounterForm::Last => "last: 3, if: n % 2 == 0, ",
        };
        let _ =
            writeln!(y, "counters: {{ c: {{ {kind}failure: true, limit: {}, warn: [50%] }} }}", self.limit);
        let _ = writeln!(y, "create: {{ by: human || engine, takes: [n, parent_id, owner_id] }}");
        let _ = writeln!(y, "states:");
        for n in 0..self.states {
            let last = self.last_is_final && n == self.states - 1;
            let mut parts = Vec::new();
            if n == 0 {
                parts.push("initial: true".to_owned());
            }
            if last {
                parts.push("final: true, outcome: success".to_owned());
            }
            if let Some((_, minutes, then)) = self.deadlines.iter().find(|(at, _, _)| *at == n && !last) {
                // A deadline whose transition does not leave its state is refused when the file is loaded.
                let then = then.filter(|it| self.leaves(&self.arms[*it]).contains(&n));
                let then = then.map(|it| format!(", then: {}", verb(it))).unwrap_or_default();
                let warn = "warn: { 80%: { set: { note: \"'late'\" } }, 100%: {}, 150%: { severity: none } }";
                parts.push(format!("deadline: {{ after: {minutes}m, {warn}{then} }}"));
            }
            if let Some((_, to)) = self.always.filter(|(from, _)| *from == n && !last) {
                parts.push(format!(
                    "always: [ {{ when: n % 3 == 1, state: {} }}, {{ stay: true }} ]",
                    state(to)
                ));
            }
            let _ = writeln!(y, "  {}: {{ {} }}", state(n), parts.join(", "));
        }
        let _ = writeln!(y, "transitions:");
        for (n, arm) in self.arms.iter().enumerate() {
            let from = names(&self.leaves(arm));
            let _ = writeln!(y, "  {}:\n    from: [{from}]\n    by: {}", verb(n), BY[arm.by % BY.len()]);
            match &arm.to {
                RandomTarget::Stay => {}
                RandomTarget::State(to) => drop(writeln!(y, "    to: {}", state(*to))),
                RandomTarget::Choice(k, a, b) => {
                    let _ = writeln!(
                        y,
                        "    to: [ {{ when: n > {k}, state: {} }}, {{ state: {} }} ]",
                        state(*a),
                        state(*b)
                    );
                }
                RandomTarget::Back => drop(writeln!(y, "    to: {{ field: back }}")),
                RandomTarget::Ask(among) => drop(writeln!(y, "    to: {{ ask: [{}] }}", names(among))),
                RandomTarget::Next => drop(writeln!(y, "    to: {{ next: true }}")),
            }
            if arm.takes_note {
                let _ = writeln!(y, "    takes: {{ note: Say something }}");
            }
            if arm.counts {
                let _ = writeln!(y, "    count: [c]");
            }
            match arm.leases {
                1 => drop(writeln!(y, "    lease: work")),
                2 => drop(writeln!(y, "    release: [work]")),
                3 => drop(writeln!(y, "    holding: work")),
                _ => {}
            }
            let sets: BTreeSet<&str> = arm.sets.iter().map(|it| SETS[it % SETS.len()]).collect();
            let mut seen = BTreeSet::new();
            let sets: Vec<&str> = sets.into_iter().filter(|it| seen.insert(it.split(':').next())).collect();
            if !sets.is_empty() {
                let _ = writeln!(y, "    set: {{ {} }}", sets.join(", "));
            }
            if let Some(kid) = arm.moves_kids {
                let _ = writeln!(
                    y,
                    "    also: [ {{ each: kids, fire: {}, soft: true }} ]",
                    verb(kid % self.arms.len())
                );
            }
            if arm.births {
                let _ = writeln!(
                    y,
                    "    create: {{ lifecycle: made.thing, id: \"id + '.' + string(version)\", fields: {{ parent_id: id }}, when: n < 3 && parent_id == null }}"
                );
            }
            if let Some(then) = arm.then {
                let _ = writeln!(y, "    then: {{ fire: {}, when: n > 1000 }}", verb(then % self.arms.len()));
            }
        }
        if let Some((k, fire)) = &self.reaction {
            let _ = writeln!(
                y,
                "reactions: {{ r: {{ when: n == {k} && kids.count >= 0, fire: {} }} }}",
                verb(fire % self.arms.len())
            );
        }
        let _ = writeln!(y, "invariants:\n  ceiling: {{ holds: n <= {}, says: Too high }}", self.ceiling);
        let _ = writeln!(y, "  tagged: {{ holds: size(tags) < 4, severity: warning, says: Many tags }}");
        y
    }

    pub(crate) fn law(&self) -> Law {
        let yaml = self.yaml();
        let mut sources = Sources::default();
        let pack = sources.add("pack.yaml", "pack: made\nversion: 1\nroles: { lead: {} }\n");
        let life = sources.add("thing.yaml", yaml.clone());
        match compile(&sources, &PackFiles { pack, lifecycles: vec![life] }) {
            Ok((pack, _)) => Law::new([pack]),
            Err(problems) => panic!("{}\n{yaml}", problems.render(&sources, false)),
        }
    }
}

pub(crate) fn definitions() -> impl Strategy<Value = RandomDefinition> {
    (2..6_usize).prop_flat_map(|states| {
        let some_states = prop::collection::vec(0..states, 1..=states);
        let to = prop_oneof![
            2 => Just(RandomTarget::Stay),
            5 => (0..states).prop_map(RandomTarget::State),
            2 => (0..4_i64, 0..states, 0..states).prop_map(|(k, a, b)| RandomTarget::Choice(k, a, b)),
            1 => Just(RandomTarget::Back),
            1 => prop::collection::vec(0..states, 1..=states).prop_map(RandomTarget::Ask),
            1 => Just(RandomTarget::Next),
        ];
        let arm = (
            some_states,
            to,
            0..BY.len(),
            prop::collection::vec(0..SETS.len(), 0..3),
            any::<bool>(),
            prop::bool::weighted(0.2),
            0..8_u8,
            prop::option::weighted(0.2, 0..8_usize),
            prop::bool::weighted(0.15),
            prop::option::weighted(0.2, 0..8_usize),
        )
            .prop_map(
                |(from, to, by, sets, counts, takes_note, leases, moves_kids, births, then)| RandomArm {
                    from,
                    to,
                    by,
                    sets,
                    counts,
                    takes_note,
                    leases,
                    moves_kids,
                    births,
                    then,
                },
            );
        let counter = prop_oneof![
            Just(CounterForm::Plain),
            Just(CounterForm::PerState),
            Just(CounterForm::ByActor),
            Just(CounterForm::Window),
            Just(CounterForm::Last)
        ];
        prop::collection::vec(arm, 1..7).prop_flat_map(move |arms| {
            let verbs = arms.len();
            (
                Just(arms),
                any::<bool>(),
                1..4_i64,
                2..9_i64,
                prop::collection::vec((0..states, 1..90_u32, prop::option::of(0..verbs)), 0..3),
                prop::option::of((0..5_i64, 0..verbs)),
                counter.clone(),
                prop::option::weighted(0.3, (0..states, 0..states)),
            )
                .prop_map(
                    move |(arms, last_is_final, limit, ceiling, deadlines, reaction, counter, always)| {
                        RandomDefinition {
                            states,
                            last_is_final,
                            arms,
                            limit,
                            ceiling,
                            deadlines,
                            reaction,
                            counter,
                            always,
                        }
                    },
                )
        })
    })
}
