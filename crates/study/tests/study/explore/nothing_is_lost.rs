//! Worlds that must stay distinct: each case was once merged with another, so that a broken promise was
//! reported as held.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::explore::report::{ExplorationReport, ExploreOptions, PromiseOutcome, explore};
use trackside_study::explore::search::SearchBound;
use trackside_study::explore::stage::read_stage;
use trackside_study::explore::world::Reduce;

const HEAD: &str = "lifecycle: t.task\nabout: Work.\ncreate: { by: human, takes: [] }\n";
const NEVER: &str = "prove: [ { says: It never ends, never: 'state == \"END\"' } ]\n";

/// One task on a stage with two agents and a person, explored.
fn explore_task(task: &str, stage: &str) -> ExplorationReport {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\nsettings: { owner: nobody }\n");
    let lifecycles = vec![sources.add("task.yaml", format!("{HEAD}{task}"))];
    let law = match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    };
    let text = format!(
        "stage: s\npack: t\nactors: {{ hank: {{ human: [] }}, ada: {{ agent: [] }}, bob: {{ agent: [] }} }}\ngiven: [ {{ t.task/T: {{}} }} ]\n{stage}"
    );
    let file = sources.add("stage.yaml", text);
    let mut problems = Problems::default();
    let stage = read_stage(&law, &sources, file, &mut problems);
    let stage = stage.unwrap_or_else(|| panic!("{}", problems.render(&sources, false)));
    let bound = SearchBound { worlds: 5_000, depth: 12 };
    explore(&stage, &ExploreOptions { bound, threads: 2, reduce: Reduce::Mirrors, go_on: &|_| true })
}

fn finds_loss(task: &str, stage: &str) {
    let report = explore_task(&format!("{task}{NEVER}"), stage);
    let outcome = &report.verdicts[0].outcome;
    assert!(matches!(outcome, PromiseOutcome::Broken { .. }), "{outcome:?} {:?}", report.mirrors);
}

/// ada marks, and only bob may end it: the first actor makes the difference.
fn by(end: &str) -> String {
    format!(
        "states: {{ A: {{ initial: true }}, B: {{}}, END: {{ final: true, outcome: success }} }}\nfields: {{ who: {{ type: string, by: engine }} }}\ntransitions:\n  mark: {{ from: A, to: B, by: agent, set: {{ who: actor.id }} }}\n  end: {{ from: B, to: END, by: 'agent && actor.id == who && {end}' }}\n"
    )
}

#[test]
fn actors_named_in_a_rule_are_not_symmetric() {
    finds_loss(&by("actor.id == \"bob\""), "");
    finds_loss(&by("actor.id.startsWith(\"b\")"), "");
    finds_loss(&by("actor.id in project.people"), "people: [bob]\n");
    finds_loss(&by("actor.id == settings.owner"), "settings: { owner: bob }\n");
    // No particular actor: mirror images, and still found.
    finds_loss(&by("true"), "");
}

#[test]
fn time_that_a_rule_looks_at_keeps_worlds_apart() {
    let turn = |when: &str| {
        format!(
            "states: {{ A: {{ initial: true }}, B: {{}}, END: {{ final: true, outcome: success }} }}\ntimers: {{ tick: {{ every: 10m, runs: [A, B] }} }}\ntransitions:\n  go: {{ from: A, to: B, by: agent }}\n  back: {{ from: B, to: A, by: agent }}\n  end: {{ from: A, to: END, by: agent, when: '{when}' }}\n"
        )
    };
    finds_loss(&turn("timeByState[\"A\"] >= duration(\"20m\")"), "");
    finds_loss(&turn("now >= timestamp(\"2026-01-01T00:20:00Z\")"), "");
    finds_loss(&turn("totalTime >= duration(\"30m\")"), "");
    finds_loss(&turn("timeInState >= duration(\"20m\")"), "");
}

#[test]
fn a_time_of_day_keeps_worlds_apart() {
    // Started in the evening it is due the next day.
    let daily = "states: { A: { initial: true }, B: {}, END: { final: true, outcome: success } }\ntimers: { hour: { every: 6h, runs: [A] }, day: { every: 'daily 18:00', starts: [go], runs: [B], then: end }, short: { after: 1h, starts: [go], runs: [B], then: back } }\ntransitions:\n  go: { from: A, to: B, by: agent }\n  back: { from: B, to: A, by: engine }\n  end: { from: B, to: END, by: engine }\n";
    finds_loss(daily, "now: 2026-01-01T05:30:00Z\n");
}

#[test]
fn between_two_clocks_of_one_moment_there_is_a_world() {
    let two = "states: { A: { initial: true }, END: {}, C: {} }\ntimers: { one: { after: 1h, runs: [A], then: go }, two: { after: 1h, runs: [A, END], then: on } }\ntransitions:\n  go: { from: A, to: END, by: engine }\n  on: { from: [A, END], to: C, by: engine }\n";
    finds_loss(two, "");
}

#[test]
fn an_effect_result_counts_for_no_actor() {
    let build = "states: { A: { initial: true }, B: {}, C: {}, END: { final: true, outcome: success } }\neffects: { tests: { ok: passed, failed: back } }\ntransitions:\n  submit: { from: A, to: B, by: agent, effects: [tests] }\n  passed: { from: B, to: C, by: engine }\n  back: { from: B, to: A, by: engine }\n  end: { from: C, to: END, by: agent }\nprove: [ { says: Nobody alone, alone: agent, from: 'state == \"A\"', to: 'state == \"END\"' } ]\n";
    let report = explore_task(build, "");
    assert!(
        matches!(report.verdicts[0].outcome, PromiseOutcome::Broken { .. }),
        "{:?}",
        report.verdicts[0].outcome
    );
}

#[test]
fn an_unobserved_promise_is_not_reported_as_held() {
    let states = "states: { A: { initial: true }, END: {} }\nfields: { n: { type: string } }\ntransitions:\n  end: { from: A, to: END, by: agent, takes: { n: Say n } }\n";
    let vain = format!("{states}prove: [ {{ says: vain, never: agent, on: end }} ]\n");
    let report = explore_task(&vain, "without: [t.task.end]\n");
    assert!(
        matches!(report.verdicts[0].outcome, PromiseOutcome::NotLooked),
        "{:?}",
        report.verdicts[0].outcome
    );
    assert_eq!(report.left_out, ["t.task.end"]);
    for promise in [
        "reachable: 'int(n) > 1'",
        "eventually: 'int(n) > 1', when: 'state == \"END\"'",
        "alone: 'int(n) > 1', from: 'state == \"A\"', to: 'state == \"END\"'",
        "never: 'int(n) > 1', in: [END]",
    ] {
        let report = explore_task(&format!("{states}prove: [ {{ says: unanswered, {promise} }} ]\n"), "");
        let outcome = &report.verdicts[0].outcome;
        assert!(matches!(outcome, PromiseOutcome::NoAnswer { .. }), "{promise}: {outcome:?}");
    }
}

#[test]
fn many_alike_cost_no_more_than_few() {
    let ten: String = (0..12).map(|n| format!(", a{n}x: {{ agent: [] }}")).collect();
    let task = by("true");
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
    let lifecycles = vec![sources.add("task.yaml", format!("{HEAD}{task}"))];
    let Ok((pack, _)) = compile(&sources, &PackFiles { pack, lifecycles }) else {
        panic!("does not compile")
    };
    let text = format!(
        "stage: s\npack: t\nactors: {{ hank: {{ human: [] }}{ten} }}\ngiven: [ {{ t.task/T: {{}} }} ]\n"
    );
    let file = sources.add("stage.yaml", text);
    let stage = read_stage(&Arc::new(Law::new([pack])), &sources, file, &mut Problems::default()).unwrap();
    let bound = SearchBound { worlds: 500, depth: 4 };
    let report =
        explore(&stage, &ExploreOptions { bound, threads: 2, reduce: Reduce::Mirrors, go_on: &|_| true });
    assert!(report.progress.worlds > 10);
}

#[test]
fn a_distant_deadline_is_waited_for() {
    let slow = "states: { A: { initial: true }, END: {} }\ntimers: { tick: { every: 5m, runs: [A] }, late: { after: 1d, runs: [A], then: end } }\ntransitions: { end: { from: A, to: END, by: engine } }\nprove: [ { says: It ends, eventually: 'state == \"END\"', within: 2d } ]\n";
    let report = explore_task(slow, "");
    assert!(matches!(report.verdicts[0].outcome, PromiseOutcome::Held), "{:?}", report.verdicts[0].outcome);
}
