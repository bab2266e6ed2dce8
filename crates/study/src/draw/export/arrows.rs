//! Merges the moves from one state to another into one arrow, for pictures.

use trackside_lifecycle::name::Name;
use trackside_protocol::diagram::{DiagramRule, Edge, Graph, RuleKind, StateNode, StateTimerKind};

/// A timer that runs in other states too is shown where it moves the entity, not in each state.
const FEW: usize = 3;

/// All moves from one state to another.
#[derive(Debug)]
pub(super) struct Arrow<'a> {
    pub from: &'a Name,
    pub to: &'a Name,
    /// The most important kind: people and agents before time, time before the engine.
    pub kind: RuleKind,
    /// Out of a state that is final.
    pub again: bool,
    /// The rules behind it, each with callers and condition.
    pub labels: Vec<ArrowLabel>,
}

/// A transition, its condition, and its actors and causes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArrowLabel {
    what: String,
    who: Vec<String>,
}

impl ArrowLabel {
    /// The label in lines of about `width` characters.
    pub fn lines(&self, width: usize) -> Vec<String> {
        wrapped(&format!("{} · {}", self.what, self.who.join("; ")), width)
    }
}

/// The arrows of a graph, in the order of its edges.
pub(super) fn arrows(graph: &Graph) -> Vec<Arrow<'_>> {
    let mut found: Vec<Arrow<'_>> = Vec::new();
    for edge in &graph.edges {
        let Edge { from, to, rule, .. } = edge;
        let place = found.iter().position(|it| it.from == from && it.to == to).unwrap_or_else(|| {
            let again = graph.node(from).is_some_and(|it| it.last);
            found.push(Arrow { from, to, kind: rule.kind, again, labels: Vec::new() });
            found.len() - 1
        });
        let Some(arrow) = found.get_mut(place) else { continue };
        arrow.kind = arrow.kind.min(rule.kind);
        let what = match &rule.when {
            Some(when) => format!("{} [{when}]", rule.label()),
            None => rule.label().to_owned(),
        };
        let who = who(rule, arrow.again);
        match arrow.labels.iter_mut().find(|it| it.what == what) {
            Some(label) if label.who.contains(&who) => {}
            Some(label) => label.who.push(who),
            None => arrow.labels.push(ArrowLabel { what, who: vec![who] }),
        }
    }
    found
}

/// The label of the creation.
pub(super) fn created(graph: &Graph) -> ArrowLabel {
    ArrowLabel { what: "create".to_owned(), who: vec![graph.created_by.clone()] }
}

/// The clocks of a state, in lines of about `width` characters.
pub(super) fn clocks(graph: &Graph, node: &StateNode, width: usize) -> Vec<String> {
    let runs =
        |name: &Name| graph.nodes.iter().filter(|it| it.clocks.iter().any(|it| it.name == *name)).count();
    let shown = node.clocks.iter().filter(|it| it.kind != StateTimerKind::Timer || runs(&it.name) <= FEW);
    let told = shown.map(|it| match it.kind {
        StateTimerKind::Deadline => format!("deadline {}", it.words),
        StateTimerKind::Retain => format!("kept {}", it.words),
        StateTimerKind::Timer => format!("{} {}", it.name, it.words),
    });
    told.flat_map(|it| wrapped(&it, width)).collect()
}

/// The callers or triggers.
fn who(rule: &DiagramRule, again: bool) -> String {
    match (rule.kind, &rule.span) {
        (RuleKind::Timed, Some(span))
            if ["at ", "daily ", "every "].iter().any(|it| span.starts_with(it)) =>
        {
            span.clone()
        }
        (RuleKind::Timed, Some(span)) => format!("after {span}"),
        _ if again => "created again".to_owned(),
        _ => rule.who.clone(),
    }
}

/// Wraps between words; no line ends with a word that belongs to the next one.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.replace("· ", "·\u{a0}").replace(" %", "\u{a0}%").split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|it| it.replace('\u{a0}', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_short_ones_together() {
        let label = ArrowLabel {
            what: "request_review_of_the_whole".to_owned(),
            who: vec!["human or lead".to_owned()],
        };
        assert_eq!(label.lines(34), ["request_review_of_the_whole", "· human or lead"]);
        assert_eq!(
            wrapped("deadline 4h, then escalate, at 80 %", 34),
            ["deadline 4h, then escalate, at", "80 %"]
        );
    }
}
