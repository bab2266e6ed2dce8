//! Drawings for the terminal: states as boxes in the order of the flow, each with its moves as a list.

use crate::draw::page::{TextPage, Tone, columns_of, wrapped};
use crate::draw::scene::{Flow, LabelEntry, label_entries};
use trackside_protocol::diagram::{DiagramRule, Edge, Graph, RuleKind, StateNode};

/// The least width that is respected.
pub const NARROWEST: usize = 40;
/// Moves are set in this far.
const INDENT: usize = 3;
/// The least space beside a target that is used.
const BESIDE: usize = 30;
/// The number of engine triggers shown.
const CAUSES: usize = 3;

/// A lifecycle in `width` columns.
pub fn terminal_drawing(graph: &Graph, width: usize) -> TextPage {
    let flow = Flow::of(graph);
    let order = order(&flow, graph);
    let mut drawing = Drawing { graph, flow, order, width: width.max(NARROWEST), page: TextPage::default() };
    drawing.draw();
    drawing.page
}

struct Drawing<'a> {
    graph: &'a Graph,
    flow: Flow,
    /// The states from top to bottom.
    order: Vec<usize>,
    width: usize,
    page: TextPage,
}

/// One line of a state's moves.
struct Move {
    entry: LabelEntry,
    targets: Vec<String>,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Main,
    Forward,
    Back,
    Around,
}

impl Drawing<'_> {
    fn draw(&mut self) {
        self.page.line().put(Tone::Strong, &self.graph.name);
        for line in wrapped(&self.graph.about, self.width) {
            self.page.line().put(Tone::Dim, &line);
        }
        self.page.line();
        let by = self.graph.created_by.clone();
        for (n, line) in wrapped(&by, self.width.saturating_sub(14)).iter().enumerate() {
            let head = if n == 0 { "   ● create   " } else { "   │          " };
            self.page.line().put(Tone::Main, head).put(Tone::Plain, line);
        }
        self.page.line().put(Tone::Main, "   ▼");
        let order = self.order.clone();
        for (at, n) in order.iter().enumerate() {
            let Some(node) = self.graph.nodes.get(*n) else { continue };
            let next = order.get(at + 1).copied();
            let onward = next.is_some_and(|it| self.flow.main.contains(&(*n, it)));
            self.state(node, *n);
            self.moves(node, *n, onward);
            if onward {
                self.page.line().put(Tone::Main, "   ▼");
            } else if next.is_some() {
                self.page.line();
            }
        }
    }

    /// The box of a state, with its notes beside it.
    fn state(&mut self, node: &StateNode, n: usize) {
        let tone = match node.outcome.as_deref() {
            Some("success") => Tone::Good,
            Some("failure") => Tone::Bad,
            Some(_) => Tone::Dim,
            None if self.flow.on_main(n) => Tone::Main,
            None => Tone::Plain,
        };
        let [corner, edge, end, side, low, stem, high] = match (node.last, self.has_moves(node)) {
            (true, true) => ["╔", "═", "╗", "║", "╚", "╤", "╝"],
            (true, false) => ["╔", "═", "╗", "║", "╚", "═", "╝"],
            (false, true) => ["╭", "─", "╮", "│", "╰", "┬", "╯"],
            (false, false) => ["╭", "─", "╮", "│", "╰", "─", "╯"],
        };
        let inside = columns_of(&node.name) + 2;
        let beside = self.beside(node, self.width.saturating_sub(inside + 5));
        let bar = edge.repeat(inside);
        let foot = format!("{}{stem}{}", edge.repeat(2), edge.repeat(inside.saturating_sub(3)));
        let mut beside = beside.into_iter();
        let mut next = || beside.next().unwrap_or((Tone::Plain, String::new()));
        let (first, second) = (next(), next());
        self.page.line().put(tone, &format!("{corner}{bar}{end}"));
        self.page
            .line()
            .put(tone, side)
            .put(Tone::Strong, &format!(" {} ", node.name))
            .put(tone, side)
            .put(first.0, &format!("  {}", first.1));
        self.page.line().put(tone, &format!("{low}{foot}{high}")).put(second.0, &format!("  {}", second.1));
        let stem = if self.has_moves(node) { "   │" } else { "    " };
        for (tone, text) in beside {
            self.page.line().pad(Tone::Plain, stem, inside + 4).put(tone, &text);
        }
    }

    /// The vertical position of a state.
    fn place(&self, state: usize) -> usize {
        self.order.iter().position(|it| *it == state).unwrap_or(state)
    }

    fn has_moves(&self, node: &StateNode) -> bool {
        !node.stays.is_empty() || self.graph.leaving(&node.name).next().is_some()
    }

    fn beside(&self, node: &StateNode, room: usize) -> Vec<(Tone, String)> {
        let mut lines = Vec::new();
        let mut add =
            |tone: Tone, text: &str| lines.extend(wrapped(text, room).into_iter().map(|it| (tone, it)));
        add(Tone::Plain, &node.about);
        if let (true, Some(outcome)) = (node.last, &node.outcome) {
            add(Tone::Dim, &format!("final: {outcome}"));
        }
        for clock in &node.clocks {
            add(Tone::Time, &format!("⏱ {}", clock.words));
        }
        for lease in &node.leases {
            let lost = lease.lost.as_ref().map(|it| format!(", then {it}")).unwrap_or_default();
            add(Tone::Dim, &format!("⚿ {} lease, {}{lost}", lease.slot, lease.span));
        }
        lines
    }

    fn moves(&mut self, node: &StateNode, n: usize, onward: bool) {
        let moves = self.moves_of(node, n);
        let most = |all: &mut dyn Iterator<Item = usize>, limit: usize| all.max().unwrap_or(0).min(limit);
        let narrow = self.width < 72;
        let name = most(&mut moves.iter().map(|it| columns_of(&it.entry.name)), if narrow { 16 } else { 24 });
        let single = moves.iter().filter(|it| it.targets.len() == 1).flat_map(|it| &it.targets);
        let target = most(&mut single.map(|it| columns_of(it)), if narrow { 14 } else { 22 });
        let quiet = quiet(node);
        for (at, it) in moves.iter().enumerate() {
            let last = at + 1 == moves.len() && quiet.is_empty() && !onward;
            self.one(it, name, target, last);
        }
        if !quiet.is_empty() {
            let room = self.width.saturating_sub(INDENT + 11);
            for (at, line) in wrapped(&quiet, room).iter().enumerate() {
                let stem = match (at, onward) {
                    (0, true) => "├╌ stays: ",
                    (0, false) => "╰╌ stays: ",
                    (_, true) => "│         ",
                    (_, false) => "          ",
                };
                self.page
                    .line()
                    .put(Tone::Plain, &" ".repeat(INDENT))
                    .put(Tone::Dim, stem)
                    .put(Tone::Dim, line);
            }
        }
    }

    fn one(&mut self, it: &Move, name: usize, target: usize, last: bool) {
        let main = it.way == Way::Main;
        let stem = match (main, last) {
            (true, _) => "┝━ ",
            (false, false) => "├─ ",
            (false, true) => "╰─ ",
        };
        let rest = if last { "    " } else { "│   " };
        let arrow = match it.way {
            Way::Main | Way::Forward => "→",
            Way::Back => "↩",
            Way::Around => "↻",
        };
        let line = if main { Tone::Main } else { Tone::Plain };
        let tone = if it.entry.kind == RuleKind::Engine { Tone::Dim } else { Tone::Move };
        let targets = it.targets.join(", ");
        let lead = INDENT + 3 + name.max(columns_of(&it.entry.name)) + 3;
        let after = lead + target.max(columns_of(&targets)) + 2;
        let words = label_text(&it.entry);
        let indent = " ".repeat(INDENT);
        // Beside the target if there is room, else below it.
        let beside = self.width.saturating_sub(after);
        let fits = beside >= BESIDE || columns_of(&words) <= beside;
        let room = if fits { beside } else { self.width.saturating_sub(lead) };
        let mut lines = wrapped(&words, room.max(12)).into_iter();
        let heads = wrapped(&targets, self.width.saturating_sub(lead).max(12));
        for (n, head) in heads.iter().enumerate() {
            let pen = self.page.line().put(Tone::Plain, &indent);
            let pen = if n == 0 {
                pen.put(line, stem).pad(tone, &it.entry.name, name).put(line, &format!(" {arrow} "))
            } else {
                pen.pad(line, rest, lead - INDENT)
            };
            let pen =
                pen.pad(if main { Tone::Main } else { Tone::Plain }, head, target.max(columns_of(head)) + 2);
            if fits && n == 0 {
                let said = lines.next().unwrap_or_default();
                let _ = pen.put(tone_of(&it.entry), &said);
            }
        }
        let column = if fits { after } else { lead };
        for said in lines {
            let pen = self.page.line().put(Tone::Plain, &indent);
            let _ = pen.pad(line, rest, column - INDENT).put(tone_of(&it.entry), &said);
        }
    }

    /// The moves that leave a state: the main path first, then as declared. Moves that differ only in the
    /// target are listed as one.
    fn moves_of(&self, node: &StateNode, n: usize) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        let mut pairs: Vec<(&str, Vec<&Edge>)> = Vec::new();
        for edge in self.graph.leaving(&node.name) {
            match pairs.iter_mut().find(|(to, _)| *to == edge.to.as_str()) {
                Some((_, edges)) => edges.push(edge),
                None => pairs.push((edge.to.as_str(), vec![edge])),
            }
        }
        for (to, edges) in pairs {
            let rules: Vec<&DiagramRule> = edges.iter().map(|it| &it.rule).collect();
            let place = self.graph.nodes.iter().position(|it| it.name == *to).unwrap_or(n);
            let way = if place == n {
                Way::Around
            } else if self.flow.main.contains(&(n, place)) {
                Way::Main
            } else if self.place(place) < self.place(n) {
                Way::Back
            } else {
                Way::Forward
            };
            for entry in label_entries(&rules) {
                let free = edges.iter().any(|it| it.free.is_some() && it.rule.label() == entry.name);
                let same = |it: &&mut Move| {
                    free && it.entry.name == entry.name && label_text(&it.entry) == label_text(&entry)
                };
                match moves.iter_mut().find(same) {
                    Some(it) => it.targets.push(to.to_owned()),
                    None => moves.push(Move { entry, targets: vec![to.to_owned()], way }),
                }
            }
        }
        moves.sort_by_key(|it| (it.way != Way::Main, it.entry.kind));
        moves
    }
}

/// First the main way, then the others in the order of the flow.
fn order(flow: &Flow, graph: &Graph) -> Vec<usize> {
    let first = graph.nodes.iter().position(|it| it.initial);
    let mut order: Vec<usize> = first.into_iter().collect();
    while let Some(here) = order.last().copied()
        && let Some((_, next)) =
            flow.main.range((here, 0)..=(here, usize::MAX)).find(|(_, to)| !order.contains(to))
    {
        order.push(*next);
    }
    let rest: Vec<usize> = flow.order.iter().filter(|it| !order.contains(it)).copied().collect();
    order.extend(rest);
    order
}

/// The rules that apply without a move, by name.
fn quiet(node: &StateNode) -> String {
    let mut names: Vec<&str> = Vec::new();
    for rule in &node.stays {
        if !names.contains(&rule.label()) {
            names.push(rule.label());
        }
    }
    names.join(", ")
}

fn tone_of(entry: &LabelEntry) -> Tone {
    match entry.kind {
        RuleKind::Asked => Tone::Plain,
        RuleKind::Timed => Tone::Time,
        RuleKind::Engine => Tone::Dim,
    }
}

/// The actors, the time and the condition of a label.
fn label_text(entry: &LabelEntry) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !entry.spans.is_empty() {
        parts.push(format!("⏱ {}", entry.spans.join(", ")));
    }
    if !entry.who.is_empty() {
        parts.push(entry.who.join("; "));
    }
    if parts.is_empty() {
        let mut causes: Vec<String> = entry.causes.iter().take(CAUSES).cloned().collect();
        if entry.causes.len() > CAUSES {
            causes.push(format!("{} more", entry.causes.len() - CAUSES));
        }
        let causes = causes.join(", ");
        parts.push(if causes.is_empty() { "engine".to_owned() } else { format!("engine: {causes}") });
    }
    let mut text = parts.join(" · ");
    match entry.when.as_slice() {
        [when] if when == "otherwise" => text.push_str(", otherwise"),
        [when] => text.push_str(&format!(", if {when}")),
        _ => {}
    }
    text
}
