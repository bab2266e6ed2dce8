//! Each kind of promise: it holds, or the shortest story that breaks it is reported.

use super::common::{explored, explored_as, failure_lines, lines, nobody_wrote, outcome, stage, try_stage};
use trackside_study::explore::report::PromiseOutcome;
use trackside_study::explore::search::{SearchBound, Stopped};
use trackside_study::explore::world::Reduce;

#[test]
fn a_pack_that_keeps_its_promises_is_reported() {
    let report = explored(&stage(&[], &[]));
    assert_eq!(report.stopped, Stopped::Exhausted, "{:?}", report.progress);
    for verdict in &report.verdicts {
        assert!(
            matches!(verdict.outcome, PromiseOutcome::Held | PromiseOutcome::Reached { .. }),
            "{} {:?}",
            verdict.says,
            verdict.outcome
        );
    }
    assert!(report.surprises.is_empty(), "{:?}", report.surprises);
    assert!(matches!(outcome(&report, "can be done"), PromiseOutcome::Reached { steps: 3 }));
    let covered = &report.covered[0];
    assert_eq!((covered.states, covered.transitions), (5, 7), "{covered:?}");
    assert_eq!(report.mirrors, [["ada", "bob"].map(trackside_lifecycle::name::Name::new).to_vec()]);
}

#[test]
fn never_is_broken_by_the_shortest_story() {
    let report = explored(&stage(&[("takes: { note: Say why }", "takes: [note]")], &[]));
    let said = failure_lines(&report, "says why");
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(said[0], "ada fires claim of desk.task/T-1");
    assert!(said[2].ends_with("fires approve of desk.task/T-1"), "{said:?}");
    assert_eq!(said[3], "this holds now: state == \"DONE\" && note == null");
}

#[test]
fn always_is_broken_by_an_endless_run() {
    let report = explored(&stage(&[("tries > settings.mostTries", "tries > 3")], &[]));
    let said = failure_lines(&report, "Rejections end");
    // Claimed, submitted and rejected four times.
    assert_eq!(said.len(), 13, "{said:?}");
}

#[test]
fn an_unreachable_state_is_reported() {
    let never = [("by: human || (coder && actor.id != author), takes", "by: lead, takes")];
    let report = explored(&stage(&never, &[]));
    assert_eq!(report.stopped, Stopped::Exhausted);
    assert!(matches!(outcome(&report, "can be done"), PromiseOutcome::NotReached));
}

#[test]
fn eventually_needs_a_clock() {
    let report = explored(&stage(&[("lease: work, ", ""), ("holding: work, release: [work]", "")], &[]));
    let said = failure_lines(&report, "comes back");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("no timer runs"), "{said:?}");
    let report = explored(&stage(&[("within: 15m", "within: 5m")], &[]));
    assert!(failure_lines(&report, "comes back")[1].contains("within 5m: the timer at 10m is too late"));
}

#[test]
fn an_actor_acting_alone_is_found() {
    let own = [("by: human || (coder && actor.id != author), takes", "by: human || coder, takes")];
    let report = explored(&stage(&own, &[]));
    let said = failure_lines(&report, "finishes their own work");
    assert_eq!(
        said,
        [
            "ada fires claim of desk.task/T-1",
            "ada fires submit of desk.task/T-1 (fence 1)",
            "ada fires approve of desk.task/T-1 with {\"note\":\"x\"}",
            "ada alone brought desk.task/T-1 to `state == \"DONE\"`",
        ]
    );
    // The same, detected at the step itself.
    assert_eq!(failure_lines(&report, "approves their own work").len(), 4);
}

#[test]
fn time_and_the_engine_do_not_count_as_actors() {
    // The deadline finishes a review without an answer.
    let lazy = [(
        "reopen:  { from: REVIEW, to: OPEN, by: engine }",
        "reopen:  { from: REVIEW, to: DONE, by: engine, set: { note: \"'x'\" } }",
    )];
    let said = failure_lines(&explored(&stage(&lazy, &[])), "finishes their own work");
    assert!(said[2].starts_with("time 1d pass"), "{said:?}");
}

#[test]
fn surprises_are_reported_without_a_promise() {
    let report = explored(&stage(&[("tries > settings.mostTries", "int(title) > 2")], &[]));
    let surprise = report.surprises.iter().find(|it| it.code == "no-answer").unwrap();
    assert!(lines(&surprise.story).iter().any(|it| it.contains("fires reject")), "{surprise:?}");
    // A move that the engine should make is refused.
    let report = explored(&stage(
        &[(
            "lose:    { from: DOING, to: OPEN, by: engine }",
            "lose:    { from: DOING, to: OPEN, by: engine, when: 'title == \"Two\"' }",
        )],
        &[],
    ));
    assert!(report.surprises.iter().any(|it| it.code == "dropped-move"), "{:?}", report.surprises);
}

#[test]
fn reducing_the_worlds_changes_no_result() {
    let worlds = |reduce| {
        let report = explored_as(&stage(&[], &[]), reduce, SearchBound { worlds: 100_000, depth: 6 }, 2);
        let verdicts: Vec<String> =
            report.verdicts.iter().map(|it| format!("{:?}", std::mem::discriminant(&it.outcome))).collect();
        let seen = format!("{:?}", report.covered);
        (report.progress.worlds, verdicts, seen)
    };
    let (all, verdicts, seen) = worlds(Reduce::Nothing);
    let (cone, same, seen_too) = worlds(Reduce::Cone);
    let (mirrors, same_too, seen_also) = worlds(Reduce::Mirrors);
    assert_eq!((&verdicts, &seen), (&same, &seen_too));
    assert_eq!((&verdicts, &seen), (&same_too, &seen_also));
    assert!(mirrors < cone && cone < all, "{mirrors} {cone} {all}");
}

#[test]
fn the_number_of_cores_makes_no_difference() {
    let own = [("by: human || (coder && actor.id != author), takes", "by: human || coder, takes")];
    let on = |threads| {
        let report =
            explored_as(&stage(&own, &[]), Reduce::Mirrors, SearchBound { worlds: 500, depth: 12 }, threads);
        serde_json::to_string(&report).unwrap()
    };
    assert_eq!(on(1), on(2));
    assert_eq!(on(1), on(3));
}

#[test]
fn a_pack_without_a_stage_gets_one() {
    let report = explored(&nobody_wrote(&[]));
    assert!(matches!(outcome(&report, "can be done"), PromiseOutcome::Reached { .. }));
    let own = [("by: human || (coder && actor.id != author), takes", "by: human || coder, takes")];
    assert!(matches!(
        outcome(&explored(&nobody_wrote(&own)), "finishes their own"),
        PromiseOutcome::Broken { .. }
    ));
}

#[test]
fn a_stage_that_cannot_be_set_says_why() {
    let wrong = |from: &str, to: &str, said: &str| {
        let problems = try_stage(&[], &[(from, to)]).unwrap_err();
        assert!(problems.contains(said), "{problems}");
    };
    wrong("pack: desk", "pack: table", "no pack called `table`");
    wrong("given:", "asks: { desk.task.clam: {} }\ngiven:", "did you mean `claim`?");
    wrong("given:", "asks: { desk.task.approve: { not: x } }\ngiven:", "did you mean `note`?");
    wrong("given:", "asks: { desk.task.approve: { note: 5 } }\ngiven:", "note");
    wrong("given:", "creates: { desk.task/T-2: { titel: x } }\ngiven:", "did you mean `title`?");
    wrong("given:", "only: [desk.tusk]\ngiven:", "is not LIFECYCLE.TRANSITION");
    wrong("given:", "creates: { desk.tusk/1: {} }\ngiven:", "is not LIFECYCLE/ID");
    wrong("desk.task/T-1: {", "desk.task/T-1: { state: NOWHERE,", "NOWHERE");
    wrong("{ human: [] }", "{ human: [], agent: [] }", "exactly one of");
    wrong("given:", "giben:", "giben");
}

#[test]
fn only_requests_that_the_stage_allows_are_sent() {
    let report = explored(&stage(&[], &[("given:", "without: [desk.task.approve]\ngiven:")]));
    assert!(matches!(outcome(&report, "can be done"), PromiseOutcome::NotReached));
    let report = explored(&stage(&[], &[("given:", "only: [desk.task.claim]\ngiven:")]));
    assert_eq!(report.covered[0].states, 2);
}
