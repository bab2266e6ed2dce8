//! Openings of walks over a pack: with work under way, later steps get further.

use trackside_engine::command::{Ask, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::value::Value;

use crate::cast::WalkActors;
use crate::packs::WalkPack;

/// Actor, event, entity and fields (JSON).
type Line = (&'static str, &'static str, &'static str, &'static str);

const MISSION: &[Line] = &[
    ("lead-1", "create", "mission.agent/lead-1", r#"{"role":"lead"}"#),
    ("specialist-1", "create", "mission.agent/specialist-1", r#"{}"#),
    ("specialist-2", "create", "mission.agent/specialist-2", r#"{}"#),
    ("hank", "create", "mission.task/T-1", r#"{"title":"One","type":"DOCS","reviewerId":"lead-1"}"#),
    ("hank", "create", "mission.task/T-2", r#"{"title":"Two","type":"OPS"}"#),
    ("specialist-1", "claim", "mission.task/T-1", r#"{}"#),
    ("specialist-1", "start", "mission.task/T-1", r#"{"workPlan":{"bullets":["a","b","c"]}}"#),
];

const CODING: &[Line] = &[
    ("coder-1", "create", "coding.agent/coder-1", r#"{"role":"coder"}"#),
    ("coder-1", "ready", "coding.agent/coder-1", r#"{}"#),
    ("coder-2", "create", "coding.agent/coder-2", r#"{"role":"coder"}"#),
    ("coder-2", "ready", "coding.agent/coder-2", r#"{}"#),
    ("code-reviewer-1", "create", "coding.agent/code-reviewer-1", r#"{"role":"code_reviewer"}"#),
    ("code-reviewer-1", "ready", "coding.agent/code-reviewer-1", r#"{}"#),
    ("code-reviewer-2", "create", "coding.agent/code-reviewer-2", r#"{"role":"code_reviewer"}"#),
    ("code-reviewer-2", "ready", "coding.agent/code-reviewer-2", r#"{}"#),
    ("hank", "create", "coding.goal/G-1", r#"{}"#),
    ("planner-1", "create", "coding.sprint/S-1", r#"{"goal_ref":"G-1"}"#),
    (
        "planner-1",
        "create",
        "coding.task/T-1",
        r#"{"description":"One","spec_ref":"a","done_when":"b","scope":"c","sprint_id":"S-1"}"#,
    ),
    (
        "planner-1",
        "create",
        "coding.task/T-2",
        r#"{"description":"Two","spec_ref":"a","done_when":"b","scope":"c","sprint_id":"S-1","depends_on":["T-1"]}"#,
    ),
    (
        "planner-1",
        "create",
        "coding.task/T-3",
        r#"{"description":"Three","spec_ref":"a","done_when":"b","scope":"c"}"#,
    ),
    ("planner-1", "finalize", "coding.task/T-1", r#"{}"#),
    ("planner-1", "finalize", "coding.task/T-2", r#"{}"#),
    ("planner-1", "finalize", "coding.task/T-3", r#"{}"#),
    ("coder-1", "claim", "coding.task/T-1", r#"{}"#),
    ("coder-2", "claim", "coding.task/T-3", r#"{}"#),
    ("ada", "correct", "coding.task/T-1", r#"{"worktree_state":"ready"}"#),
    (
        "coder-1",
        "submit",
        "coding.task/T-1",
        r#"{"review_commit":"0123456789abcdef0123456789abcdef01234567"}"#,
    ),
    ("code-reviewer-1", "claim_review", "coding.task/T-1", r#"{}"#),
];

const TURNS: &[Line] = &[
    ("agent-1", "create", "turns.agent/agent-1", r#"{}"#),
    ("agent-2", "create", "turns.agent/agent-2", r#"{}"#),
    ("agent-3", "create", "turns.agent/agent-3", r#"{}"#),
    ("hank", "create", "turns.channel/C-1", r#"{}"#),
    ("hank", "create", "turns.channel/C-2", r#"{"mode":"single"}"#),
    ("agent-1", "create", "turns.member/C-1:agent-1", r#"{}"#),
    ("agent-2", "create", "turns.member/C-1:agent-2", r#"{}"#),
    ("agent-3", "create", "turns.member/C-2:agent-3", r#"{}"#),
];

const RESEARCH: &[Line] = &[
    ("hank", "create", "research.session/S-1", r#"{"goal":"Why?"}"#),
    ("supervisor-1", "parsed", "research.session/S-1", r#"{"plan":"Look."}"#),
    ("safety-1", "checked", "research.session/S-1", r#"{"safety":"SAFE"}"#),
    ("supervisor-1", "activate", "research.session/S-1", r#"{}"#),
    ("worker-1", "create", "research.worker/worker-1", r#"{}"#),
    ("worker-1", "ready", "research.worker/worker-1", r#"{}"#),
    ("worker-2", "create", "research.worker/worker-2", r#"{}"#),
    ("worker-2", "ready", "research.worker/worker-2", r#"{}"#),
    ("ranking-1", "create", "research.agent/ranking-1", r#"{"role":"ranking"}"#),
    (
        "generation-1",
        "create",
        "research.hypothesis/H-1",
        r#"{"session":"S-1","summary":"Because.","confidence":0.9}"#,
    ),
    (
        "generation-1",
        "create",
        "research.hypothesis/H-2",
        r#"{"session":"S-1","summary":"Why not?","confidence":0.9}"#,
    ),
    ("supervisor-1", "create", "research.task/T-1", r#"{"session":"S-1","type":"rank","agent":"ranking-1"}"#),
    ("supervisor-1", "create", "research.task/T-2", r#"{"session":"S-1","type":"reflect"}"#),
    ("reflection-1", "begin_review", "research.hypothesis/H-1", r#"{}"#),
    ("reflection-1", "pass_review", "research.hypothesis/H-1", r#"{}"#),
    ("ranking-1", "rank", "research.hypothesis/H-1", r#"{}"#),
    ("reflection-1", "begin_review", "research.hypothesis/H-2", r#"{}"#),
    ("worker-1", "assign", "research.task/T-1", r#"{}"#),
    ("worker-1", "start", "research.task/T-1", r#"{}"#),
    (
        "supervisor-1",
        "create",
        "research.task/T-3",
        r#"{"session":"S-1","type":"evolve","depends_on":["T-1"],"priority":"low"}"#,
    ),
    ("hank", "create", "research.resource/R-1", r#"{}"#),
    ("mia", "create", "research.session/S-2", r#"{"goal":"What?","resources":["R-1"],"capacity":2}"#),
    ("supervisor-1", "parsed", "research.session/S-2", r#"{"plan":"Think."}"#),
    ("safety-1", "checked", "research.session/S-2", r#"{"safety":"SAFE"}"#),
    ("supervisor-1", "activate", "research.session/S-2", r#"{}"#),
    (
        "generation-1",
        "create",
        "research.hypothesis/H-3",
        r#"{"session":"S-2","summary":"That.","confidence":0.9}"#,
    ),
];

/// The commands of a pack's opening, in order.
pub(crate) fn of(ground: &WalkPack, cast: &WalkActors) -> Vec<Command> {
    let lines = match ground.pack.name.as_str() {
        "mission" => MISSION,
        "coding" => CODING,
        "turns" => TURNS,
        "research" => RESEARCH,
        _ => &[],
    };
    lines.iter().map(|line| command(cast, line)).collect()
}

fn command(cast: &WalkActors, (who, what, of, with): &Line) -> Command {
    let actor = cast.find(&(*who).into()).unwrap_or_else(|| panic!("no actor is called {who}")).clone();
    let entity = EntityKey::parse(of).unwrap_or_else(|| panic!("{of} is no entity"));
    let json: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(with).expect("openings are JSON");
    let fields: Fields = json.iter().map(|(name, it)| (name.as_str(), Value::from_json(it))).collect();
    match *what {
        "create" => Command::new(actor, Ask::Create { entity, fields }),
        "correct" => Command::new(actor, Ask::Correct { entity, to: None, fields }).with_reason("It exists"),
        event => Command::fire(actor, entity, event, fields),
    }
}
