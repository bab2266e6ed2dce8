//! The tool `explain`: a short answer, or everything.

use axum::extract::{Path, State};
use serde::Serialize;
use trackside_protocol::{ExplainBody, ExplainBrief, MoveBrief, TransitionOptionBody};

use super::args::ExplainInput;
use super::tool_answer::ToolAnswer;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::explain;

/// Most moves of a short answer.
const MOST: usize = 12;
/// Most bytes that the moves of a short answer take, as data and as text.
const BUDGET: usize = 2_000;
/// The longest text of others in a short answer, in characters.
const LONGEST: usize = 160;

pub(super) async fn explained(app: &App, caller: &Caller, one: ExplainInput) -> Result<ToolAnswer, Refused> {
    let key = format!("{}/{}", one.lifecycle, one.id);
    let body = explain::explain(State(app.clone()), caller.clone(), Path((one.lifecycle, one.id))).await?.0;
    if one.full {
        return Ok(ToolAnswer::new(body.summary.clone(), &body));
    }
    let brief = brief(&key, &body);
    Ok(ToolAnswer::in_words(in_words(&key, &brief), &brief))
}

fn brief(key: &str, body: &ExplainBody) -> ExplainBrief {
    let mut headline = body.headline.clone();
    headline.reason = cut(&headline.reason);
    let mut moves: Vec<MoveBrief> = Vec::new();
    let (mut spent, mut left_out) = (0, 0);
    for way in in_order(body) {
        let it = move_brief(body, way);
        if moves.iter().any(|known| known.event == it.event && known.to == it.to) {
            continue;
        }
        let cost = size(&it) + line(&it).len();
        if moves.len() == MOST || spent + cost > BUDGET {
            left_out += 1;
            continue;
        }
        spent += cost;
        moves.push(it);
    }
    ExplainBrief {
        entity: key.to_owned(),
        state: body.entity.as_ref().map(|it| it.state.to_string()).unwrap_or_default(),
        headline,
        moves,
        left_out,
        next: body.next.as_ref().map(|it| cut(&format!("{} at {}", it.timer, it.next_step_at))),
    }
}

/// Your moves first, then your reports, then what is only open to others. Moves of the engine are left out.
fn in_order(body: &ExplainBody) -> Vec<&TransitionOptionBody> {
    let rank = |it: &&TransitionOptionBody| match (it.permitted && it.heard, it.to.is_empty()) {
        (true, false) if it.missing.is_some() => 0,
        (true, false) => 1,
        (true, true) => 2,
        (false, _) => 3,
    };
    let mut ways: Vec<&TransitionOptionBody> =
        body.transitions.iter().filter(|it| it.who != "engine").collect();
    ways.sort_by_key(rank);
    ways
}

fn move_brief(body: &ExplainBody, way: &TransitionOptionBody) -> MoveBrief {
    let yours = way.permitted && way.heard;
    let needs: Vec<String> = way.missing.iter().flatten().map(ToString::to_string).collect();
    let failed = way.checks.iter().find(|it| !it.passed).filter(|_| yours && way.missing.is_none());
    let unmet = failed.map(|it| it.message.clone().unwrap_or_else(|| it.rule.to_string()));
    MoveBrief {
        event: way.event.to_string(),
        to: way.to.iter().map(ToString::to_string).collect(),
        ready: yours && body.ready.contains(&way.event),
        needs,
        unmet: unmet.map(|it| cut(&it)),
        who: (!yours).then(|| cut(&way.who)),
    }
}

fn in_words(key: &str, brief: &ExplainBrief) -> String {
    let mut text = format!("{key} is {}. {}", brief.state, brief.headline.in_words());
    for it in &brief.moves {
        text.push_str(&line(it));
    }
    if let Some(next) = &brief.next {
        text.push_str(&format!("\nNext by itself: {next}"));
    }
    if brief.left_out > 0 {
        text.push_str(&format!("\n{} more: call explain with full: true", brief.left_out));
    }
    text
}

fn line(it: &MoveBrief) -> String {
    let to = if it.to.is_empty() { "stays".to_owned() } else { it.to.join(" or ") };
    let state = match (&it.who, &it.unmet, it.needs.as_slice()) {
        (Some(who), ..) => format!("not you, but {who}"),
        (None, Some(unmet), _) => format!("not now: {unmet}"),
        (None, None, []) => "you can, now".to_owned(),
        (None, None, needs) => format!("you can, with {}", needs.join(", ")),
    };
    format!("\n- {} ({to}): {state}", it.event)
}

fn size(it: &impl Serialize) -> usize {
    serde_json::to_string(it).map_or(0, |it| it.len())
}

/// Text of others, cut to one short line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
