//! The findings in the seed descriptions as written, without the decisions that mend them.

use super::common::{folder, root};
use trackside_study::check::Finding;

fn seed(name: &str) -> Vec<Finding> {
    folder(&root().join("crates/study/tests/study/check/seeds").join(name)).findings()
}

fn messages(findings: &[Finding], code: &str) -> Vec<String> {
    findings.iter().filter(|it| it.class.code() == code).map(|it| it.way.to_string()).collect()
}

/// Seed 003 says of human_escalation "Exit: Human resolution", but no row of its two tables of transitions leaves it.
/// (Its diagram ends there, against "Terminal state", which only `completed` is called.)
#[test]
fn build_never_leaves_human_escalation() {
    let found = seed("003-build");
    let trap = found.iter().find(|it| it.class.code() == "trap-state").unwrap();
    assert_eq!(trap.way.to_string(), "states.human_escalation");
    assert_eq!(
        trap.message,
        "an entity in human_escalation can never leave: no transition leads out, and the state is not final"
    );
    assert_eq!(
        trap.route.to_string(),
        "create (pending) → call_cto (cto_intervention) → escalate (human_escalation)"
    );
    assert_eq!(found.len(), 1, "{found:#?}");
}

/// Seed 000 gives rules for five moves of a session. By these, no session is ever completed, and a
/// terminating one never ends. Four states have a longest duration without a consequence.
#[test]
fn research_sessions_never_complete() {
    let found = seed("000-research");
    let session: Vec<Finding> = found.into_iter().filter(|it| it.of == "research.session").collect();
    assert_eq!(messages(&session, "trap-state"), ["states.TERMINATING"]);
    assert_eq!(
        messages(&session, "unreachable-state"),
        ["states.ARCHIVED", "states.COMPLETED", "states.EXPIRED", "states.FAILED"]
    );
    assert_eq!(
        messages(&session, "silent-deadline"),
        [
            "states.ACTIVE.deadline",
            "states.INITIALIZING.deadline",
            "states.PAUSED.deadline",
            "states.TERMINATING.deadline"
        ]
    );
}

/// Seed 000 names five states of a hypothesis only as targets, so no transition leaves them.
#[test]
fn research_hypotheses_end_where_nothing_is_said() {
    let found = seed("000-research");
    let hypothesis: Vec<Finding> = found.into_iter().filter(|it| it.of == "research.hypothesis").collect();
    assert_eq!(
        messages(&hypothesis, "trap-state"),
        [
            "states.ARCHIVED",
            "states.DELETED",
            "states.FAILED_EVOLUTION",
            "states.FAILED_REVIEW",
            "states.QUARANTINED"
        ]
    );
}

/// Seed 001 counts review cycles, but "Any → NEEDS_APPROVAL" (System or Agent) and "Any → BLOCKED" (System) send a task to and
/// fro between the two for ever, with no person and no count.
#[test]
fn mission_asks_and_blocks_without_end() {
    let found = seed("001-mission");
    let round = found.iter().find(|it| it.class.code() == "endless-loop").unwrap();
    assert_eq!(round.severity.word(), "warning");
    assert!(
        round
            .message
            .starts_with("the cycle NEEDS_APPROVAL -block→ BLOCKED -ask→ NEEDS_APPROVAL can repeat forever"),
        "{}",
        round.message
    );
}
