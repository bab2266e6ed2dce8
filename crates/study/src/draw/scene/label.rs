//! The text beside a line: transition, actors, time and condition.

use trackside_lifecycle::name::Name;

use super::SceneLabel;
use crate::draw::metrics;
use trackside_protocol::diagram::{DiagramRule, Edge, RuleKind};

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    State,
    About,
    Clock,
    Lease,
    Several,
    /// The name of a transition that callers request.
    Asked,
    Timed,
    Engine,
    Who,
    When,
    /// The mark of a clock.
    Mark,
}

impl Style {
    pub fn size(self) -> f64 {
        match self {
            Self::State => 14.0,
            Self::Asked | Self::Timed | Self::Engine => 12.0,
            Self::About | Self::Clock | Self::Lease | Self::Several | Self::Who => 11.0,
            Self::When => 10.5,
            Self::Mark => 12.0,
        }
    }

    pub fn bold(self) -> bool {
        matches!(self, Self::State | Self::Asked | Self::Timed)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub style: Style,
    pub text: String,
    pub width: f64,
}

/// One line of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub pieces: Vec<Piece>,
}

impl Row {
    pub fn of(style: Style, text: &str) -> Self {
        let mut row = Self::default();
        row.add(style, text);
        row
    }

    pub fn clock(text: &str) -> Self {
        let mut row = Self::default();
        row.mark();
        row.add(Style::Clock, text);
        row
    }

    fn add(&mut self, style: Style, text: &str) {
        let width = metrics::width(text, style.size(), style.bold());
        self.pieces.push(Piece { style, text: text.to_owned(), width });
    }

    fn mark(&mut self) {
        self.pieces.push(Piece { style: Style::Mark, text: String::new(), width: 13.0 });
    }

    pub fn width(&self) -> f64 {
        self.pieces.iter().map(|it| it.width).sum()
    }

    pub fn height(&self) -> f64 {
        self.pieces.iter().map(|it| it.style.size() * 1.3).fold(0.0, f64::max)
    }
}

/// Widest row of a label.
const WIDEST: f64 = 168.0;

/// One transition in a label, with its moves combined.
#[derive(Debug)]
pub(crate) struct LabelEntry {
    pub name: String,
    pub kind: RuleKind,
    pub who: Vec<String>,
    pub spans: Vec<String>,
    /// Its conditions, each once.
    pub when: Vec<String>,
    /// The causes for which the engine fires it.
    pub causes: Vec<String>,
}

/// The rules of one line, by transition, requests first.
pub(crate) fn label_entries(rules: &[&DiagramRule]) -> Vec<LabelEntry> {
    let mut all: Vec<LabelEntry> = Vec::new();
    for rule in rules {
        let at = match all.iter().position(|it| it.name == rule.label()) {
            Some(at) => at,
            None => {
                all.push(LabelEntry {
                    name: rule.label().to_owned(),
                    kind: rule.kind,
                    who: Vec::new(),
                    spans: Vec::new(),
                    when: Vec::new(),
                    causes: Vec::new(),
                });
                all.len() - 1
            }
        };
        let Some(it) = all.get_mut(at) else { continue };
        it.kind = it.kind.min(rule.kind);
        let add = |list: &mut Vec<String>, text: &String| {
            if !list.contains(text) {
                list.push(text.clone());
            }
        };
        match rule.kind {
            RuleKind::Asked => add(&mut it.who, &rule.who),
            RuleKind::Timed => rule.span.iter().for_each(|span| add(&mut it.spans, span)),
            RuleKind::Engine => {
                rule.triggers.iter().for_each(|trigger| add(&mut it.causes, &trigger.words()))
            }
        }
        rule.when.iter().for_each(|when| add(&mut it.when, when));
    }
    all.sort_by_key(|it| it.kind);
    all
}

pub(super) fn label(rules: &[&DiagramRule]) -> SceneLabel {
    let rows = label_entries(rules).iter().flat_map(rows_of).collect();
    sized(rows, sentences(rules))
}

/// The label of moves from several states, with the source of each unless it leaves all of them.
pub(super) fn combined_label(edges: &[&Edge], others: &[Name]) -> SceneLabel {
    let rules: Vec<&DiagramRule> = edges.iter().map(|it| &it.rule).collect();
    let mut rows = Vec::new();
    for it in label_entries(&rules) {
        let from = |name: &Name| edges.iter().any(|e| e.from == *name && e.rule.label() == it.name);
        let sources: Vec<&str> = others.iter().filter(|name| from(name)).map(|name| name.as_str()).collect();
        rows.extend(rows_of(&it));
        if sources.len() < others.len() && edges.iter().any(|e| others.contains(&e.from)) {
            let text = format!("from {}", sources.join(", "));
            let lines = metrics::wrap(&text, Style::When.size(), WIDEST, 3);
            rows.extend(lines.iter().map(|it| Row::of(Style::When, it)));
        }
    }
    sized(rows, sentences(&rules))
}

/// All texts of the rules, each once.
fn sentences(rules: &[&DiagramRule]) -> String {
    let full: Vec<String> = rules.iter().map(|it| sentence(it)).fold(Vec::new(), |mut all, it| {
        if !all.contains(&it) {
            all.push(it);
        }
        all
    });
    full.join("\n")
}

/// The label of the line into the initial state.
pub(super) fn created(by: &str) -> SceneLabel {
    let entry = LabelEntry {
        name: "create".to_owned(),
        kind: RuleKind::Asked,
        who: vec![by.to_owned()],
        spans: Vec::new(),
        when: Vec::new(),
        causes: Vec::new(),
    };
    sized(rows_of(&entry), format!("create, by {by}"))
}

fn sized(rows: Vec<Row>, full: String) -> SceneLabel {
    let width = rows.iter().map(Row::width).fold(0.0, f64::max) + 12.0;
    let height = rows.iter().map(Row::height).sum::<f64>() + 6.0;
    SceneLabel { rows, width, height, full }
}

fn rows_of(it: &LabelEntry) -> Vec<Row> {
    let style = match it.kind {
        RuleKind::Asked => Style::Asked,
        RuleKind::Timed => Style::Timed,
        RuleKind::Engine => Style::Engine,
    };
    let mut first = Row::of(style, &metrics::cut(&it.name, style.size(), style.bold(), WIDEST));
    if !it.spans.is_empty() {
        first.add(Style::Clock, " ");
        first.mark();
        let room = (WIDEST - first.width()).max(40.0);
        first.add(Style::Clock, &metrics::cut(&it.spans.join(", "), Style::Clock.size(), false, room));
    }
    let mut rows = Vec::new();
    let who = it.who.join("; ");
    let beside = format!(" · {who}");
    let size = Style::Who.size();
    if who.is_empty() {
        rows.push(first);
    } else if first.width() + metrics::width(&beside, size, false) <= WIDEST {
        first.add(Style::Who, &beside);
        rows.push(first);
    } else {
        rows.push(first);
        let lines = metrics::wrap(&who, size, WIDEST, 2);
        rows.extend(lines.iter().map(|it| Row::of(Style::Who, it)));
    }
    let when: Vec<&str> = it.when.iter().map(String::as_str).filter(|it| *it != "otherwise").collect();
    if let [when] = when.as_slice()
        && it.when.len() == 1
    {
        let text = format!("if {when}");
        rows.push(Row::of(Style::When, &metrics::cut(&text, Style::When.size(), false, WIDEST)));
    } else if when.is_empty() && !it.when.is_empty() && it.kind == RuleKind::Engine {
        rows.push(Row::of(Style::When, "otherwise"));
    }
    rows
}

/// The full description of a rule, for the tooltip.
pub(crate) fn sentence(rule: &DiagramRule) -> String {
    let mut text = rule.label().to_owned();
    match (rule.kind, &rule.span) {
        (RuleKind::Timed, Some(span)) => text.push_str(&format!(", after {span}")),
        (RuleKind::Engine | RuleKind::Timed, _) => {
            text.push_str(", by the engine");
            let causes: Vec<String> = rule.triggers.iter().map(|it| it.words()).collect();
            if !causes.is_empty() {
                text.push_str(&format!(" ({})", causes.join("; ")));
            }
        }
        (RuleKind::Asked, _) => text.push_str(&format!(", by {}", rule.who)),
    }
    if let Some(when) = &rule.when {
        text.push_str(&if when == "otherwise" { ", otherwise".to_owned() } else { format!(", if {when}") });
    }
    text
}
