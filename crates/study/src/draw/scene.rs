//! The contents of a drawing: boxes with their lines of text, and lines with their labels.
//!
//! Moves between the same two states share one line. If most states lead to one by the same transition, or
//! one leads to most, separate lines would hide the rest: such moves share one small box that names the
//! states.

mod fold;
mod label;
mod main_way;

use crate::draw::metrics;
use trackside_protocol::diagram::{Graph, RuleKind, StateNode, StateTimerKind};

pub(crate) use label::{LabelEntry, Row, Style, label_entries};
pub(crate) use main_way::Flow;

/// All drawn items, before they have positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiagramScene {
    pub boxes: Vec<SceneBox>,
    pub links: Vec<SceneLink>,
}

#[derive(Clone, Debug)]
pub(crate) struct SceneBox {
    pub shape: BoxShape,
    /// In the order of the flow, from zero.
    pub before: usize,
    pub rows: Vec<Row>,
    pub width: f64,
    pub height: f64,
    /// The tooltip.
    pub full: String,
    /// Ways from it to itself.
    pub around: Option<SceneLabel>,
    /// Boxes that it describes.
    pub near: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoxShape {
    /// The start of the lifecycle.
    Start,
    State {
        initial: bool,
        last: bool,
        outcome: Option<String>,
    },
    /// Several states, named together.
    Several,
}

#[derive(Clone, Debug)]
pub(crate) struct SceneLink {
    pub from: usize,
    pub to: usize,
    pub kind: RuleKind,
    pub label: SceneLabel,
    pub main: bool,
}

/// Rows of text beside a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct SceneLabel {
    pub rows: Vec<Row>,
    pub width: f64,
    pub height: f64,
    pub full: String,
}

/// Widest text in a box.
const TEXT: f64 = 190.0;
/// Around text in a box.
const PAD: (f64, f64) = (14.0, 10.0);

impl DiagramScene {
    pub fn of(graph: &Graph) -> Self {
        let flow = Flow::of(graph);
        let folded = fold::fold(graph, &flow.main);
        let mut scene = Self::default();
        for (n, node) in graph.nodes.iter().enumerate() {
            let before = (flow.place(n) + 1) * 3;
            let around = folded.self_loops(&node.name).map(|it| label::label(&it));
            scene.boxes.push(SceneBox { before, around, ..state(node) });
        }
        let place = |name: &str| graph.nodes.iter().position(|it| it.name == *name);
        for pair in &folded.pairs {
            let (Some(from), Some(to)) = (place(&pair.from), place(&pair.to)) else { continue };
            let label = label::label(&pair.rules());
            scene.links.push(SceneLink {
                from,
                to,
                kind: pair.kind(),
                label,
                main: flow.main.contains(&(from, to)),
            });
        }
        for group in &folded.groups {
            let Some(one) = place(&group.one) else { continue };
            let beside = scene.boxes.get(one).map_or(0, |it| it.before);
            let several = scene.boxes.len();
            // Its sources are above it, its targets below.
            let before = if group.inwards { beside - 1 } else { beside + 1 };
            let near = group.others.iter().filter_map(|it| place(it)).collect();
            scene.boxes.push(SceneBox { near, ..self::several(group, graph, before) });
            let (from, to) = if group.inwards { (several, one) } else { (one, several) };
            let label = label::combined_label(&group.edges, if group.inwards { &group.others } else { &[] });
            scene.links.push(SceneLink { from, to, kind: group.kind(), label, main: false });
        }
        scene.begin(graph);
        scene
    }

    /// The mark where things begin.
    fn begin(&mut self, graph: &Graph) {
        let Some(initial) = graph.nodes.iter().position(|it| it.initial) else { return };
        let from = self.boxes.len();
        self.boxes.push(SceneBox {
            shape: BoxShape::Start,
            before: 0,
            rows: Vec::new(),
            width: 16.0,
            height: 16.0,
            full: format!("Created by {}", graph.created_by),
            around: None,
            near: Vec::new(),
        });
        let label = label::created(&graph.created_by);
        self.links.push(SceneLink { from, to: initial, kind: RuleKind::Asked, label, main: true });
    }
}

fn state(node: &StateNode) -> SceneBox {
    let mut rows = vec![Row::of(Style::State, &node.name)];
    for line in metrics::wrap(&node.about, Style::About.size(), TEXT, 2) {
        rows.push(Row::of(Style::About, &line));
    }
    const SHOWN: usize = 2;
    let mut clocks: Vec<_> = node.clocks.iter().collect();
    // A deadline of this state is more relevant than a timer that runs everywhere.
    clocks.sort_by_key(|it| it.kind == StateTimerKind::Timer);
    for clock in clocks.iter().take(SHOWN) {
        let then = clock.then.as_ref().map(|it| format!(", then {it}")).unwrap_or_default();
        let warns = if clock.then.is_none() && !clock.warn.is_empty() { ", warns" } else { "" };
        rows.push(Row::clock(&metrics::cut(
            &format!("{}{then}{warns}", clock.span),
            Style::Clock.size(),
            false,
            TEXT - 16.0,
        )));
    }
    if clocks.len() > SHOWN {
        let more = clocks.len() - SHOWN;
        let noun = if more == 1 { "timer" } else { "timers" };
        rows.push(Row::of(Style::Clock, &format!("and {more} more {noun}")));
    }
    for lease in &node.leases {
        rows.push(Row::of(
            Style::Lease,
            &metrics::cut(&format!("{} lease, {}", lease.slot, lease.span), Style::Lease.size(), false, TEXT),
        ));
    }
    let width = rows.iter().map(Row::width).fold(0.0, f64::max).max(60.0) + 2.0 * PAD.0;
    let height = rows.iter().map(Row::height).sum::<f64>() + 2.0 * PAD.1;
    let outcome = node.outcome.as_ref().map(|it| it.to_string());
    SceneBox {
        shape: BoxShape::State { initial: node.initial, last: node.last, outcome },
        before: 0,
        rows,
        width,
        height,
        full: in_full(node),
        around: None,
        near: Vec::new(),
    }
}

/// The full description of a state, for the tooltip.
fn in_full(node: &StateNode) -> String {
    let mut lines = vec![node.name.to_string()];
    if !node.about.is_empty() {
        lines.push(node.about.clone());
    }
    if node.last {
        lines.push(node.outcome.as_ref().map_or("Final".to_owned(), |it| format!("Final: {it}")));
    }
    lines.extend(node.clocks.iter().map(|it| format!("Timer {}: {}", it.name, it.words)));
    for lease in &node.leases {
        let lost = lease.lost.as_ref().map(|it| format!(", lost: {it}")).unwrap_or_default();
        lines.push(format!("Lease {}: {}{lost}", lease.slot, lease.span));
    }
    let mut events: Vec<&str> = node.stays.iter().map(|it| it.label()).collect();
    events.dedup();
    if !events.is_empty() {
        lines.push(format!("Without a move: {}", events.join(", ")));
    }
    lines.join("\n")
}

fn several(group: &fold::FoldedGroup, graph: &Graph, before: usize) -> SceneBox {
    let text = group.states_text(graph);
    let lines = metrics::wrap(&text, Style::Several.size(), TEXT - 10.0, 8);
    let rows: Vec<Row> = lines.iter().map(|it| Row::of(Style::Several, it)).collect();
    let width = rows.iter().map(Row::width).fold(0.0, f64::max) + 24.0;
    let height = rows.iter().map(Row::height).sum::<f64>() + 10.0;
    let all: Vec<&str> = group.others.iter().map(|it| it.as_str()).collect();
    SceneBox {
        shape: BoxShape::Several,
        before,
        rows,
        width,
        height,
        full: all.join(", "),
        around: None,
        near: Vec::new(),
    }
}
