//! Every class of findings: a definition that is broken in just this way, and the same one mended.

use super::common::{codes, pack};
use trackside_study::check::{Class, Finding};

/// A broken definition and its fix: a text that is replaced by another.
struct Case {
    class: Class,
    pack: &'static str,
    lives: &'static [&'static str],
    broken: &'static str,
    mended: &'static str,
}

const PACK: &str = "pack: t\nversion: 1\n";

fn case_findings(case: &Case, mended: bool) -> Vec<Finding> {
    let texts: Vec<String> = std::iter::once(&case.pack)
        .chain(case.lives)
        .map(|it| if mended { it.replace(case.broken, case.mended) } else { (*it).to_owned() })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    pack(&texts).findings()
}

/// Expects exactly this finding, and none after the fix.
fn only(case: Case) -> Finding {
    assert!(
        std::iter::once(&case.pack).chain(case.lives).any(|it| it.contains(case.broken)),
        "{} is nowhere",
        case.broken
    );
    let broken = case_findings(&case, false);
    assert_eq!(codes(&broken), [case.class.code()], "{broken:#?}");
    let mended = case_findings(&case, true);
    assert!(mended.is_empty(), "{mended:#?}");
    broken.into_iter().next().unwrap()
}

#[test]
fn unreachable_state() {
    let it = only(Case {
        class: Class::UnreachableState,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true }, GIVEN_UP: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
"],
        broken: "by: human } }\n",
        mended: "by: human }, give_up: { from: OPEN, to: GIVEN_UP, by: human } }\n",
    });
    assert_eq!(it.way.to_string(), "states.GIVEN_UP");
}

#[test]
fn trap_state() {
    let it = only(Case {
        class: Class::TrapState,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, BLOCKED: {}, DONE: { final: true } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent }
  finish: { from: WORK, to: DONE, by: agent }
  block:  { from: WORK, to: BLOCKED, by: agent }
"],
        broken: "  block:",
        mended: "  unblock: { from: BLOCKED, to: DONE, by: human || agent }\n  block:",
    });
    assert_eq!(it.route.to_string(), "create (OPEN) → start (WORK) → block (BLOCKED)");
}

/// A way out that no actor can take does not count.
#[test]
fn trap_state_with_a_closed_way_out() {
    let found = pack(&[
        PACK,
        "
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, BLOCKED: {}, DONE: { final: true } }
transitions:
  finish:  { from: OPEN, to: DONE, by: agent }
  block:   { from: OPEN, to: BLOCKED, by: agent }
  unblock: { from: BLOCKED, to: DONE, by: human && agent }
",
    ])
    .findings();
    assert_eq!(codes(&found), ["trap-state", "nobody-may"]);
    assert!(found[0].message.contains("no actor can take `unblock`"), "{found:#?}");
}

#[test]
fn no_way_to_the_end() {
    let it = only(Case {
        class: Class::NoWayToTheEnd,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, HELD: {}, TRIED: {}, DONE: { final: true } }
counters: { rounds: { limit: 9, warn: [100%] } }
transitions:
  finish: { from: OPEN, to: DONE, by: agent }
  hold:   { from: OPEN, to: HELD, by: agent }
  try:    { from: HELD, to: TRIED, by: agent, count: rounds }
  again:  { from: TRIED, to: HELD, by: agent }
"],
        broken: "  again:",
        mended: "  settle: { from: TRIED, to: DONE, by: agent }\n  again:",
    });
    assert!(it.message.starts_with("no final state can be reached from HELD and TRIED"), "{}", it.message);
}

#[test]
fn dead_consequence() {
    let it = only(Case {
        class: Class::DeadConsequence,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 1h, then: close } }, DONE: { final: true } }
transitions: { close: { from: OPEN, to: DONE, by: human } }
"],
        broken: "by: human } }\n",
        mended: "by: human || engine } }\n",
    });
    assert_eq!(it.way.to_string(), "states.OPEN.deadline.then");
    assert_eq!(
        it.message,
        "the deadline of OPEN fires `close`, which is never possible: `by` of `close` is `human`, which excludes the engine"
    );
}

/// Consequences of every cause that can never happen.
#[test]
fn dead_consequences_of_every_kind() {
    let life = |rest: &str| {
        format!(
            "
lifecycle: t.thing
fields: {{ n: {{ type: integer }}, boss: {{ type: string }} }}
refs: {{ chief: {{ to: t.thing, by: boss }} }}
create: {{ by: human }}
states: {{ OPEN: {{ initial: true }}, WORK: {{}}, DONE: {{ final: true }} }}
{rest}"
        )
    };
    let base = "  start: { from: OPEN, to: WORK, by: agent LEASE }\n  finish: { from: WORK, to: DONE, by: agent }\n  shut: { from: [OPEN, WORK], to: DONE, by: human MORE }\n";
    let with = |lease: &str, more: &str, rest: &str| {
        life(&format!("transitions:\n{}{rest}", base.replace("LEASE", lease).replace("MORE", more)))
    };
    for (what, text, place) in [
        ("then", with(", then: shut", "", ""), "transitions.start[0].then"),
        ("also", with(", also: [ { on: chief, fire: shut } ]", "", ""), "transitions.start[0].also[0]"),
        (
            "a value that is not brought",
            with(", then: shut", " || engine, takes: { n: Say how many }", ""),
            "transitions.start[0].then",
        ),
        (
            "a timer without a reason",
            with("", " || engine, reason: Say why", "timers: { t: { after: 1h, then: shut } }\n"),
            "timers.t.then",
        ),
        ("a reaction", with("", "", "reactions: { r: { when: n == 3, fire: shut } }\n"), "reactions.r.fire"),
        (
            "a counter",
            with(", count: c", "", "counters: { c: { limit: 3, then: shut } }\n"),
            "counters.c.then",
        ),
        ("a lost lease", with(", lease: w", "", "slots: { w: { for: 1h, lost: shut } }\n"), "slots.w.lost"),
        (
            "a repair",
            with("", "", "invariants: { i: { holds: n != 3, says: no, repair: shut } }\n"),
            "invariants.i.repair",
        ),
        (
            "a condition that the engine never meets",
            with(", then: shut", " || engine, when: actor.kind == 'human'", ""),
            "transitions.start[0].then",
        ),
        (
            "a creation",
            with(", create: { lifecycle: t.thing, id: id + 'x' }", "", ""),
            "transitions.start[0].create[0]",
        ),
    ] {
        let found = pack(&[PACK, &text]).findings();
        assert_eq!(codes(&found), ["dead-consequence"], "{what}: {found:#?}");
        assert_eq!(found[0].way.to_string(), place, "{what}");
    }
}

/// Another entity in a state in which the engine may not move it refuses the whole move, unless a condition
/// excludes that state.
#[test]
fn dead_consequence_in_some_states_of_another() {
    let boss = "
lifecycle: t.boss
create: { by: human }
states: { FREE: { initial: true }, BUSY: {} }
transitions:
  call:
    - { from: FREE, to: BUSY, by: engine }
    - { from: BUSY, by: human }
  rest: { from: BUSY, to: FREE, by: human || agent }
";
    let thing = "
lifecycle: t.thing
fields: { boss: { type: string } }
refs: { chief: { to: t.boss, by: boss } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human, also: [ { on: chief, fire: call } ] } }
";
    let found = pack(&[PACK, boss, thing]).findings();
    assert_eq!(codes(&found), ["dead-consequence"], "{found:#?}");
    assert_eq!(found[0].severity.word(), "warning");
    let careful = thing.replace("fire: call }", "fire: call, when: chief.state == 'FREE' }");
    assert!(pack(&[PACK, boss, &careful]).findings().is_empty());
}

/// A supervisor is the system: the transition it fires must admit the system.
#[test]
fn dead_consequence_of_supervision() {
    only(Case {
        class: Class::DeadConsequence,
        pack: "
pack: t
version: 1
roles: { coder: {} }
supervise: { coder: { exits: { other: stop }, reruns: 3, gives_up: { on: t.thing, fire: block } } }
",
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: coder }
  block:  { from: OPEN, to: DONE, by: human }
"],
        broken: "to: DONE, by: human }",
        mended: "to: DONE, by: human || system }",
    });
}

#[test]
fn silent_deadline() {
    only(Case {
        class: Class::SilentDeadline,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 1h } }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
"],
        broken: "after: 1h",
        mended: "after: 1h, warn: [100%]",
    });
}

#[test]
fn nobody_may() {
    for (broken, mended) in [
        ("human && agent", "human || agent"),
        ("agent && admin", "human && admin"),
        ("coder && !senior && lead", "coder && !senior"),
        ("engine && lead", "engine || lead"),
        ("keeper && actor.id != owner", "keeper && actor.id == owner"),
    ] {
        let text = format!(
            "
lifecycle: t.thing
fields: {{ owner: {{ type: string }} }}
relations: {{ keeper: actor.id == owner }}
create: {{ by: coder || senior || lead }}
states: {{ OPEN: {{ initial: true }}, DONE: {{ final: true }} }}
timers: {{ t: {{ after: 1h, then: finish }} }}
transitions:
  touch: {{ from: OPEN, by: keeper }}
  finish: {{ from: OPEN, to: DONE, by: human || engine }}
  drop: {{ from: OPEN, to: DONE, by: {broken} }}
"
        );
        let roles = "pack: t\nversion: 1\nroles: { coder: {}, senior: { includes: [coder] }, lead: { includes: [senior] } }\n";
        let found = pack(&[roles, &text]).findings();
        assert_eq!(codes(&found), ["nobody-may"], "{broken}: {found:#?}");
        let found = pack(&[roles, &text.replace(broken, mended)]).findings();
        assert!(found.is_empty(), "{mended}: {found:#?}");
    }
}

#[test]
fn role_circle() {
    only(Case {
        class: Class::RoleCircle,
        pack: "pack: t\nversion: 1\nroles: { lead: { includes: [boss] }, boss: { includes: [lead] } }\n",
        lives: &["
lifecycle: t.thing
create: { by: lead }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: boss } }
"],
        broken: "lead: { includes: [boss] }",
        mended: "lead: {}",
    });
}

#[test]
fn unused_role() {
    only(Case {
        class: Class::UnusedRole,
        pack: "pack: t\nversion: 1\nroles: { lead: {}, clerk: {} }\n",
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: lead } }
"],
        broken: "by: lead",
        mended: "by: lead || clerk",
    });
}

#[test]
fn unmeetable_requirement() {
    let it = only(Case {
        class: Class::UnmeetableRequirement,
        pack: PACK,
        lives: &["
lifecycle: t.thing
fields: { note: { type: string } }
create: { by: human, takes: [] }
states: { OPEN: { initial: true }, DONE: { final: true, require: { note: Say how it went } }, GONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: human }
  drop:   { from: OPEN, to: GONE, by: human, takes: [note] }
"],
        broken: "to: DONE, by: human",
        mended: "to: DONE, by: human, takes: [note]",
    });
    assert_eq!(it.way.to_string(), "transitions.finish[0]");
}

/// If only the engine moves the entity, a rule must send the required fields, and their values must fit.
#[test]
fn unmeetable_requirement_of_a_rule() {
    let text = "
lifecycle: t.thing
fields: { why: { enum: [late, lost] }, n: { type: integer, maximum: 3, default: 0 } }
create: { by: human, takes: [] }
states: { OPEN: { initial: true, deadline: { after: 1h, then: { fire: drop, with: { why: \"'late'\" } } } }, GONE: { final: true, require: { why: Say why } } }
transitions: { drop: { from: OPEN, to: GONE, by: engine, takes: [why], set: { n: 3 } } }
";
    assert!(pack(&[PACK, text]).findings().is_empty());
    for (from, to) in [("with: { why: \"'late'\" }", ""), ("'late'", "'tired'"), ("n: 3 }", "n: 4 }")] {
        let found = pack(&[PACK, &text.replace(from, to)]).findings();
        assert_eq!(codes(&found), ["unmeetable-requirement"], "{to}: {found:#?}");
    }
}

#[test]
fn frozen_change() {
    only(Case {
        class: Class::FrozenChange,
        pack: PACK,
        lives: &["
lifecycle: t.thing
fields: { text: { type: string } }
create: { by: human }
states: { DRAFT: { initial: true }, SENT: { frozen: [text] }, READ: { final: true } }
transitions:
  send: { from: DRAFT, to: SENT, by: human }
  read: { from: SENT, to: READ, by: agent, set: { text: text + '.' } }
"],
        broken: ", set: { text: text + '.' }",
        mended: "",
    });
}

#[test]
fn never_granted() {
    only(Case {
        class: Class::NeverGranted,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
slots: { work: { for: 1h } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent }
  finish: { from: WORK, to: DONE, by: agent, holding: work, release: work }
  drop:   { from: WORK, to: DONE, by: human, release: work }
"],
        broken: "to: WORK, by: agent",
        mended: "to: WORK, by: agent, lease: work",
    });
}

#[test]
fn impossible_approval() {
    let it = only(Case {
        class: Class::ImpossibleApproval,
        pack: PACK,
        lives: &["
lifecycle: t.thing
fields: { owner: { type: string } }
relations: { keeper: actor.id == owner }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true, outcome: success } }
transitions:
  waive:   { from: OPEN, to: DONE, by: admin }
  approve: { from: OPEN, to: DONE, by: human && keeper, when: [ { check: actor.id != owner, says: Not your own } ] }
"],
        broken: "human && keeper",
        mended: "human && !keeper || agent",
    });
    assert!(it.message.contains("`human && keeper`"), "{}", it.message);
}

/// Only one vote is ever stored, so two never exist.
#[test]
fn impossible_approval_by_a_quorum() {
    let text = "
lifecycle: t.request
face: approval
fields: { approvers: { items: { type: string }, by: engine, default: [] } }
create: { by: agent }
states: { PENDING: { initial: true }, GRANTED: { final: true, outcome: success } }
transitions:
  waive:   { from: PENDING, to: GRANTED, by: admin }
  approve:
    from: PENDING
    by: human && !(actor.id in approvers)
    set: { approvers: '[actor.id]' }
    to: [ { when: size(approvers) >= 2, state: GRANTED }, { stay: true } ]
";
    let found = pack(&[PACK, text]).findings();
    assert_eq!(codes(&found), ["impossible-approval"], "{found:#?}");
    let mended = text.replace("'[actor.id]'", "'add(approvers, actor.id)'");
    assert!(pack(&[PACK, &mended]).findings().is_empty());
}

#[test]
fn waits_untold() {
    let it = only(Case {
        class: Class::WaitsUntold,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states:
  OPEN: { initial: true }
  BLOCKED: { about: Somebody has to look }
  DONE: { final: true }
transitions:
  finish:  { from: OPEN, to: DONE, by: agent }
  block:   { from: OPEN, to: BLOCKED, by: agent }
  unblock: { from: BLOCKED, to: DONE, by: human }
"],
        broken: "about: Somebody has to look",
        mended: "enter: { alert: { kind: blocked, severity: warning, message: '{id} is blocked' } }",
    });
    assert_eq!(
        it.message,
        "BLOCKED waits for people (`unblock`), but `block` leads there without a notification"
    );
}

/// If anybody may continue, the actor that brought the entity there knows of it. A move by time needs a
/// notification.
#[test]
fn waits_untold_for_any_actor() {
    let text = "
lifecycle: t.thing
fields: { owner: { type: string } }
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 1h, then: stall } }, STALLED: {}, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: agent }
  stall:  { from: OPEN, to: STALLED, by: engine }
  settle: { from: STALLED, to: DONE, by: human || agent }
";
    let found = pack(&[PACK, text]).findings();
    assert_eq!(codes(&found), ["waits-untold"], "{found:#?}");
    assert_eq!(found[0].severity.word(), "note");
    for (from, to) in [
        ("by: engine", "by: engine || agent"),
        ("human || agent", "human || actor.id == owner"),
        ("human || agent", "agent"),
        (
            "finish: { from: OPEN, to: DONE, by: agent }",
            "finish: { from: OPEN, to: DONE, by: agent }\n  poke: { from: OPEN, by: agent, then: stall }",
        ),
        ("by: engine", "by: engine, alert: { kind: stalled, severity: info, message: look }"),
        ("create:", "rankings: { next: { in: STALLED, by: createdAt, claims: settle } }\ncreate:"),
    ] {
        let found = pack(&[PACK, &text.replace(from, to)]).findings();
        assert!(found.is_empty(), "{to}: {found:#?}");
    }
}

#[test]
fn endless_loop() {
    let it = only(Case {
        class: Class::EndlessLoop,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, REVIEW: {}, DONE: { final: true } }
counters: { revisions: { limit: 3, then: give_up } }
transitions:
  start:   { from: OPEN, to: WORK, by: agent, count: revisions }
  submit:  { from: WORK, to: REVIEW, by: agent }
  revise:  { from: REVIEW, to: WORK, by: agent }
  accept:  { from: REVIEW, to: DONE, by: human }
  give_up: { from: [REVIEW, WORK], to: DONE, by: engine || human }
"],
        broken: "to: REVIEW, by: agent",
        mended: "to: REVIEW, by: agent, count: revisions",
    });
    assert_eq!(it.severity.word(), "warning");
    assert!(
        it.message.starts_with("the cycle WORK -submit→ REVIEW -revise→ WORK can repeat forever"),
        "{}",
        it.message
    );
}

/// A counter ends a loop only if it has a consequence, and if the loop does not reset it.
#[test]
fn endless_loop_with_a_counter_that_ends_nothing() {
    let text = |counter: &str, revise: &str, accept: &str| {
        format!(
            "
lifecycle: t.thing
create: {{ by: human }}
states: {{ WORK: {{ initial: true }}, REVIEW: {{}}, DONE: {{ final: true }} }}
counters: {{ tries: {{ limit: 3{counter} }} }}
transitions:
  submit:  {{ from: WORK, to: REVIEW, by: agent, count: tries }}
  revise:  {{ from: REVIEW, to: WORK, by: agent{revise} }}
  accept:  {{ from: REVIEW, to: DONE, by: human{accept} }}
  give_up: {{ from: [REVIEW, WORK], to: DONE, by: engine || human }}
"
        )
    };
    for (counter, revise, accept) in [
        (", then: give_up", "", ""),
        (", then: give_up", "", ", reset: tries"),
        (", then: give_up, reset: [accept]", "", ""),
        (", warn: [100%]", "", ""),
        ("", ", when: tries < 3", ""),
    ] {
        let found = pack(&[PACK, &text(counter, revise, accept)]).findings();
        assert!(found.is_empty(), "{counter} {revise} {accept}: {found:#?}");
    }
    // Its limit is reached before it is set back.
    let once = text(", then: give_up", ", reset: tries", "").replace("limit: 3", "limit: 1");
    assert!(pack(&[PACK, &once]).findings().is_empty());
    for (counter, revise, why) in [
        ("", "", "`tries` counts the rounds but has no consequence"),
        (", then: give_up", ", reset: tries", "`revise` resets `tries` in every round"),
        (", then: give_up, reset: [revise]", "", "`revise` resets `tries` in every round"),
        (", then: give_up", ", set: { tries: 0 }", "`revise` resets `tries` in every round"),
        (", then: give_up", ", when: tries < 3, reset: tries", "`revise` resets `tries` in every round"),
    ] {
        let found = pack(&[PACK, &text(counter, revise, "")]).findings();
        assert_eq!(codes(&found), ["endless-loop"], "{counter} {revise}: {found:#?}");
        assert_eq!(found[0].severity.word(), "warning");
        assert!(found[0].message.contains(why), "{}", found[0].message);
    }
}

/// A second creation starts a new life, so it is no loop.
#[test]
fn no_endless_loop_by_creating_again() {
    let text = "
lifecycle: t.thing
create: { by: agent, again: revive }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: agent }
  revive: { from: DONE, to: OPEN, by: agent }
";
    assert!(pack(&[PACK, text]).findings().is_empty());
}

/// If a person decides each time, it is only a note; a clock that runs through the loop ends it.
#[test]
fn endless_loop_with_people_or_a_clock() {
    let text = "
lifecycle: t.thing
create: { by: human }
states: { WORK: { initial: true }, REVIEW: { enter: { alert: { kind: review, severity: info, message: look } } }, DONE: { final: true } }
transitions:
  submit: { from: WORK, to: REVIEW, by: agent }
  revise: { from: REVIEW, to: WORK, by: human }
  accept: { from: REVIEW, to: DONE, by: human }
";
    let found = pack(&[PACK, text]).findings();
    assert_eq!(
        found.iter().map(|it| (it.class.code(), it.severity.word())).collect::<Vec<_>>(),
        [("endless-loop", "note")]
    );
    let timed = format!(
        "{text}  close: {{ from: any, to: DONE, by: engine }}\ntimers: {{ whole: {{ after: 30d, then: close }} }}\n"
    );
    assert!(pack(&[PACK, &timed]).findings().is_empty());
}

const CONDITIONS: &str = "
lifecycle: t.thing
fields: { n: { type: integer, minimum: 0 }, mood: { enum: [good, bad] } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: human, alert: { kind: odd, severity: info, message: odd, when: 'CONDITION' } }
";

fn condition(text: &str) -> Vec<&'static str> {
    codes(&pack(&[PACK, &CONDITIONS.replace("CONDITION", text)]).findings())
}

#[test]
fn never_true() {
    for text in [
        "n > 5 && n < 3",
        "n < 0",
        "mood == \"good\" && mood == \"bad\"",
        "human && agent && n > 2",
        "state == \"OPEN\"",
        "!(human || agent || system)",
        "n == 2 && !(n >= 2)",
        "mood == null && mood in [\"good\"]",
    ] {
        assert_eq!(condition(text), ["never-true"], "{text}");
    }
    for text in [
        "n > 3 && n < 5",
        "n == 0",
        "mood == \"good\" || mood == \"bad\"",
        "human && n > 2",
        "n + 1 < 0",
        "string(n) == \"x\"",
    ] {
        assert!(condition(text).is_empty(), "{text}");
    }
}

#[test]
fn always_true() {
    for text in [
        "state == \"DONE\"",
        "mood == \"good\" || mood != \"good\"",
        "n == null || n >= 0",
        "!(human && agent)",
    ] {
        assert_eq!(condition(text), ["always-true"], "{text}");
    }
    for text in ["n == null || n >= 1", "mood != null", "!human"] {
        assert!(condition(text).is_empty(), "{text}");
    }
}

#[test]
fn unhandled_effect() {
    let text = "
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, SENDING: { DEADLINE }, DONE: { final: true } }
effects: { mail: { ok: sent, failed: give_up } }
transitions:
  send:    { from: OPEN, to: SENDING, by: agent, effects: mail }
  sent:    { from: SENDING, to: DONE, by: engine }
  give_up: { from: SENDING, to: DONE, by: engine }
";
    let calm = text.replace("DEADLINE", "deadline: { after: 1h, warn: [100%] }");
    assert!(pack(&[PACK, &calm]).findings().is_empty(), "{:#?}", pack(&[PACK, &calm]).findings());
    for (what, broken, severity) in [
        ("nothing ends the waiting", text.replace("DEADLINE", ""), "warning"),
        ("no home", calm.replace("ok: sent, failed: give_up", "").replace("by: engine", "by: human"), "note"),
        (
            "a home that does not leave",
            calm.replace("ok: sent, failed: give_up", "ok: sent, failed: lost")
                .replace("  sent:", "  lost: { from: OPEN, to: DONE, by: human || engine }\n  sent:")
                .replace(
                    "give_up: { from: SENDING, to: DONE, by: engine",
                    "give_up: { from: SENDING, to: DONE, by: human",
                ),
            "error",
        ),
        (
            "a home that is not for the engine",
            calm.replace(
                "give_up: { from: SENDING, to: DONE, by: engine",
                "give_up: { from: SENDING, to: DONE, by: human",
            ),
            "error",
        ),
    ] {
        let found = pack(&[PACK, &broken]).findings();
        assert_eq!(codes(&found), ["unhandled-effect"], "{what}: {found:#?}");
        assert_eq!(found[0].severity.word(), severity, "{what}: {found:#?}");
    }
}

#[test]
fn engine_loop() {
    let it = only(Case {
        class: Class::EngineLoop,
        pack: PACK,
        lives: &["
lifecycle: t.thing
fields: { n: { type: integer, default: 0 } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: human }
  ping:   { from: OPEN, by: human || engine, set: { n: n + 1 }, then: { fire: pong } }
  pong:   { from: OPEN, by: engine, then: { fire: ping } }
"],
        broken: "fire: ping",
        mended: "fire: ping, when: n < 3",
    });
    assert_eq!(it.severity.word(), "error");
    assert!(it.message.starts_with("`ping` in OPEN → `pong` in OPEN → `ping` in OPEN"), "{}", it.message);
}

/// `always` that moves in a circle, reactions that undo each other, and entities that move each other.
#[test]
fn engine_loops_of_every_kind() {
    let always = "
lifecycle: t.thing
create: { by: human }
states:
  OPEN: { initial: true }
  LEFT: { always: [ { state: RIGHT } ] }
  RIGHT: { always: [ { state: LEFT } ] }
transitions: { go: { from: OPEN, to: LEFT, by: human } }
";
    let reactions = "
lifecycle: t.thing
fields: { busy: { type: boolean, default: false } }
create: { by: human }
states: { LEFT: { initial: true }, RIGHT: {} }
transitions:
  note: { from: any, by: human, takes: [busy] }
  go:   { from: LEFT, to: RIGHT, by: engine }
  back: { from: RIGHT, to: LEFT, by: engine }
reactions:
  there: { when: busy, in: LEFT, fire: go }
  back:  { when: busy, in: RIGHT, fire: back }
";
    let others = "
lifecycle: t.thing
fields: { peer: { type: string } }
refs: { other: { to: t.thing, by: peer } }
create: { by: human }
states: { OPEN: { initial: true } }
transitions:
  link: { from: OPEN, by: human, takes: [peer] }
  poke: { from: OPEN, by: human || engine, also: [ { on: other, fire: poke } ] }
";
    for (text, severity) in [(always, "error"), (reactions, "warning"), (others, "note")] {
        let found = pack(&[PACK, text]).findings();
        assert_eq!(codes(&found), ["engine-loop"], "{found:#?}");
        assert_eq!(found[0].severity.word(), severity, "{found:#?}");
    }
    let calm = reactions.replace("{ when: busy, in: RIGHT", "{ when: '!busy', in: RIGHT");
    assert!(pack(&[PACK, &calm]).findings().is_empty());
}

#[test]
fn short_lease() {
    let it = only(Case {
        class: Class::ShortLease,
        pack: "pack: t\nversion: 1\nsettings: { heartbeatEvery: 10m }\n",
        lives: &["
lifecycle: t.thing
fields: { until: { type: time }, due: { type: time, is: 'until == null ? null : until + settings.heartbeatEvery' } }
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
slots: { work: { for: 5m, grace: 1m, until: until, lost: drop } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent, lease: work }
  finish: { from: WORK, to: DONE, by: agent, holding: work, release: work }
  drop:   { from: WORK, to: DONE, by: engine }
"],
        broken: "for: 5m",
        mended: "for: 30m",
    });
    assert_eq!(it.severity.word(), "warning");
}

/// A lease of zero length is an error; a setting with a similar name does not matter.
#[test]
fn short_lease_by_more_than_a_name() {
    let text = "
lifecycle: t.thing
fields: { kept: { type: span, is: settings.heartbeatLogKept } }
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
slots: { work: { for: settings.lasts, lost: drop } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent, lease: work }
  finish: { from: WORK, to: DONE, by: agent, holding: work, release: work }
  drop:   { from: WORK, to: DONE, by: engine }
";
    let settings = "pack: t\nversion: 1\nsettings: { heartbeatLogKept: 30d, lasts: 5m }\n";
    assert!(pack(&[settings, text]).findings().is_empty());
    let found = pack(&[&settings.replace("5m", "0s"), text]).findings();
    assert_eq!((codes(&found), found[0].severity.word()), (vec!["short-lease"], "error"));
}

#[test]
fn unwatched_lease() {
    only(Case {
        class: Class::UnwatchedLease,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
slots: { work: { for: 5m } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent, lease: work }
  finish: { from: WORK, to: DONE, by: agent || human }
"],
        broken: "agent || human",
        mended: "agent || human, release: work",
    });
}

/// One way into an end gives the lease back, another forgets to.
#[test]
fn unwatched_lease_at_an_end() {
    let it = only(Case {
        class: Class::UnwatchedLease,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
slots: { work: { for: 5m, lost: lose } }
transitions:
  start:  { from: OPEN, to: WORK, by: agent, lease: work }
  finish: { from: WORK, to: DONE, by: agent, holding: work, release: work }
  drop:   { from: [OPEN, WORK], to: DONE, by: human }
  lose:   { from: WORK, to: DONE, by: engine }
"],
        broken: "by: human }\n  lose",
        mended: "by: human, release: work }\n  lose",
    });
    assert_eq!(it.way.to_string(), "transitions.drop[0]");
}

/// The holder of the lease is gone, and no other actor is admitted.
#[test]
fn trap_state_after_a_lost_lease() {
    for (slot, more, found) in [
        ("", "", 1),
        ("", "  again: { from: WORK, by: agent, holding: work, lease: work }\n", 1),
        ("", "  again: { from: WORK, by: agent, lease: work }\n", 0),
        ("", "  drop: { from: WORK, to: DONE, by: human, release: work }\n", 0),
        (", lost: drop", "  drop: { from: WORK, to: DONE, by: engine }\n", 0),
        (", lost: drop", "  drop: { from: WORK, by: engine }\n", 1),
        ("", "timers: { late: { after: 1h, runs: [WORK], then: finish } }\n", 0),
    ] {
        let text = format!(
            "
lifecycle: t.thing
create: {{ by: human }}
states: {{ OPEN: {{ initial: true }}, WORK: {{}}, DONE: {{ final: true }} }}
slots: {{ work: {{ for: 5m{slot} }} }}
transitions:
  start:  {{ from: OPEN, to: WORK, by: agent, lease: work }}
  finish: {{ from: WORK, to: DONE, by: agent || engine, holding: work, release: work }}
{more}"
        );
        let all = pack(&[PACK, &text]).findings();
        assert_eq!(codes(&all), vec!["trap-state"; found], "{slot} {more}: {all:#?}");
        assert!(all.iter().all(|it| it.severity.word() == "warning"));
    }
}

#[test]
fn setting_out_of_range() {
    let text = "
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: settings.patience, then: close } }, DONE: { final: true } }
counters: { tries: { limit: settings.mostTries, then: close } }
fields: { share: { type: number, is: tries * settings.warnPercent / 100 }, alarm: { type: number, is: settings.alarmPercent } }
transitions:
  try:   { from: OPEN, by: agent, count: tries }
  close: { from: OPEN, to: DONE, by: human || engine }
";
    let good =
        "pack: t\nversion: 1\nsettings: { patience: 1h, mostTries: 3, warnPercent: 80, alarmPercent: 150 }\n";
    assert!(pack(&[good, text]).findings().is_empty());
    for (from, to, place, severity) in [
        ("patience: 1h", "patience: 0s", "states.OPEN.deadline.after", "error"),
        ("mostTries: 3", "mostTries: 0", "counters.tries.limit", "error"),
        ("warnPercent: 80", "warnPercent: 800", "settings.warnPercent", "warning"),
    ] {
        let found = pack(&[&good.replace(from, to), text]).findings();
        assert_eq!(codes(&found), ["setting-out-of-range"], "{to}: {found:#?}");
        assert_eq!(found[0].severity.word(), severity);
        assert_eq!(found[0].way.to_string(), place);
    }
}

#[test]
fn unused_setting() {
    only(Case {
        class: Class::UnusedSetting,
        pack: "pack: t\nversion: 1\nsettings: { patience: 1h }\n",
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 2h, warn: [100%] } }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
"],
        broken: "after: 2h",
        mended: "after: settings.patience",
    });
}

#[test]
fn shared_claim() {
    only(Case {
        class: Class::SharedClaim,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, WORK: {}, DONE: { final: true } }
rankings: { next: { in: OPEN, by: createdAt, claims: claim } }
transitions:
  start:  { from: OPEN, to: WORK, by: human }
  claim:  { from: OPEN, by: agent }
  finish: { from: WORK, to: DONE, by: agent }
"],
        broken: "claim:  { from: OPEN,",
        mended: "claim:  { from: OPEN, to: WORK,",
    });
}

#[test]
fn share_of_nobody() {
    let of = "
lifecycle: t.pool
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  pick:   { from: OPEN, by: human, also: [ { each: things, ranked: order, PART, fire: take, willing: true } ] }
  finish: { from: OPEN, to: DONE, by: human }
";
    let thing = "
lifecycle: t.thing
fields: { pool: { type: string }, score: { type: number } }
refs: { owner: { to: t.pool, by: pool, inverse: things } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
rankings: { order: { in: OPEN, by: score, within: owner } }
transitions: { take: { from: OPEN, to: DONE, by: human || engine } }
";
    for good in ["first: 10%", "last: 3", "below: 1.5"] {
        assert!(pack(&[PACK, &of.replace("PART", good), thing]).findings().is_empty(), "{good}");
    }
    for bad in ["first: 0.1", "last: -3", "below: \"'high'\""] {
        let found = pack(&[PACK, &of.replace("PART", bad), thing]).findings();
        assert_eq!(codes(&found), ["share-of-nobody"], "{bad}: {found:#?}");
    }
}

#[test]
fn shadowed_arm() {
    let it = only(Case {
        class: Class::ShadowedArm,
        pack: "pack: t\nversion: 1\nroles: { lead: {}, boss: { includes: [lead] } }\n",
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true }, GONE: { final: true } }
transitions:
  drop: { from: OPEN, to: GONE, by: boss }
  finish:
    - { from: OPEN, to: DONE, by: lead }
    - { from: OPEN, to: GONE, by: boss && human }
"],
        broken: "by: boss && human",
        mended: "by: agent",
    });
    assert_eq!(it.way.to_string(), "transitions.finish[1]");
}

#[test]
fn nobody_fires() {
    only(Case {
        class: Class::NobodyFires,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 1h, warn: [100%] } }, DONE: { final: true } }
transitions:
  finish: { from: OPEN, to: DONE, by: human }
  expire: { from: OPEN, to: DONE, by: engine }
"],
        broken: "warn: [100%]",
        mended: "then: expire",
    });
}

#[test]
fn late_timer() {
    only(Case {
        class: Class::LateTimer,
        pack: PACK,
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true, deadline: { after: 2d, warn: [80%] }, retain: { for: 1d, then: expire } }, DONE: { final: true } }
transitions:
  expire: { from: OPEN, to: DONE, by: engine || human }
"],
        broken: "after: 2d",
        mended: "after: 20h",
    });
}

/// A timer on a field that no rule sets never fires; if it was the only way out, there is none.
#[test]
fn late_timer_that_waits_for_nothing() {
    let text = "
lifecycle: t.thing
fields: { due: { type: time, by: engine } }
create: { by: human }
states: { OPEN: { initial: true }, WAITING: {}, DONE: { final: true } }
timers: { wake: { at: due, runs: [WAITING], then: wake } }
transitions:
  wait: { from: OPEN, to: WAITING, by: human }
  drop: { from: OPEN, to: DONE, by: human }
  wake: { from: WAITING, to: DONE, by: engine }
";
    let found = pack(&[PACK, text]).findings();
    assert_eq!(codes(&found), ["unused-field", "trap-state", "late-timer"], "{found:#?}");
    let other = text.replace("drop: { from: OPEN,", "drop: { from: [OPEN, WAITING],");
    assert_eq!(
        codes(
            &pack(&[
                PACK,
                &other.replace(
                    "to: WAITING, by: human",
                    "to: WAITING, by: human, alert: { kind: waits, severity: info, message: look }"
                )
            ])
            .findings()
        ),
        ["unused-field", "late-timer"]
    );
    let mended = text.replace("to: WAITING, by: human", "to: WAITING, by: human, set: { due: now }");
    assert!(pack(&[PACK, &mended]).findings().is_empty());
    let taken = text.replace(", by: engine } }\ncreate", " } }\ncreate");
    assert!(pack(&[PACK, &taken]).findings().is_empty());
}

#[test]
fn unused_field() {
    only(Case {
        class: Class::UnusedField,
        pack: PACK,
        lives: &["
lifecycle: t.thing
fields: { closedAt: { type: time, by: engine } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
"],
        broken: "DONE: { final: true }",
        mended: "DONE: { final: true, enter: { set: { closedAt: now } } }",
    });
}

#[test]
fn unused_name() {
    only(Case {
        class: Class::UnusedName,
        pack: "pack: t\nversion: 1\naudiences: { ops: Those who watch }\n",
        lives: &["
lifecycle: t.thing
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
"],
        broken: "DONE: { final: true }",
        mended: "DONE: { final: true, enter: { notify: { audience: ops, message: '{id} is done' } } }",
    });
    let text = "
lifecycle: t.thing
relations: { owner: actor.id == id }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true } }
counters: { tries: {} }
slots: { work: { for: 1h } }
effects: { mail: {} }
transitions: { finish: { from: OPEN, to: DONE, by: human } }
";
    let found = pack(&[PACK, text]).findings();
    assert_eq!(codes(&found), ["unused-name"; 4], "{found:#?}");
}

#[test]
fn dead_work() {
    let pack = "pack: t\nversion: 1\nroles: { coder: {}, critic: {} }\n";
    let life = "
lifecycle: t.thing
fields: { commit: { type: string } }
create: { by: human }
states: { OPEN: { initial: true }, TAKEN: {}, DONE: { final: true } }
rankings: { open: { in: [OPEN], claims: take } }
transitions:
  take:   { from: OPEN, to: TAKEN, by: coder }
  finish: { from: TAKEN, to: DONE, by: CODER, takes: { commit: Which }, REASON }
  judge:  { from: TAKEN, by: critic }
work:
  coder: { claim: take, ask: Do it, done: { fire: finish, WITH } }
";
    let findings = |by: &str, reason: &str, with: &str| {
        let life = life.replace("CODER", by).replace("REASON", reason).replace("WITH", with);
        pack_findings(pack, &life)
    };
    let fine = "with: { commit: run.commit }";
    assert!(findings("coder", "about: End", fine).is_empty());
    for (by, reason, with, told) in [
        ("critic", "about: End", fine, "can never fire `finish`"),
        ("system || critic", "about: End", fine, "can never fire `finish`"),
        ("coder", "about: End", "with: {}", "sends no commit"),
        ("coder", "reason: Say why", fine, "sends no reason"),
    ] {
        let found = findings(by, reason, with);
        assert_eq!(codes(&found), [Class::DeadWork.code()], "{found:#?}");
        assert!(found.iter().all(|it| it.message.contains(told)), "{found:#?}");
    }
    let of_critic = life.replace("CODER", "coder").replace("REASON", "about: End").replace("WITH", fine);
    let offered = pack_findings(pack, &of_critic.replace("ask: Do it", "ask: Do it, offers: [judge]"));
    assert_eq!(codes(&offered), [Class::DeadWork.code()], "{offered:#?}");
    let claimed = pack_findings(pack, &of_critic.replace("to: TAKEN, by: coder", "to: TAKEN, by: critic"));
    assert_eq!(codes(&claimed), [Class::DeadWork.code()], "{claimed:#?}");
}

fn pack_findings(pack_text: &str, life: &str) -> Vec<Finding> {
    pack(&[pack_text, life]).findings()
}
