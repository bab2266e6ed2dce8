//! Describes the differences between two lists of items, one sentence each.

use trackside_lifecycle::name::Name;

use crate::compare::change::{Change, ChangeKind, Direction};
use crate::compare::expression::{Expression, Term};
use crate::compare::fits;
use crate::compare::item::{DefinitionItem, Facet, Leaf, Sense};
use crate::compare::pairs::pairs;

/// The name of the facet for `by`.
pub const WHO: &str = "who may";
/// The name of a target that is no move.
pub const STAY: &str = "the same state";

/// Collects the sentences.
#[derive(Debug)]
pub struct ChangeWriter {
    pub lifecycle: Option<Name>,
    pub changes: Vec<Change>,
}

/// The described item: its name, and its owner.
#[derive(Clone, Debug)]
struct About<'a> {
    subject: &'a str,
    words: String,
    /// The words between its name and its description.
    mark: &'static str,
    path: bool,
}

impl ChangeWriter {
    pub fn new(lifecycle: Option<Name>) -> Self {
        Self { lifecycle, changes: Vec::new() }
    }

    /// Things with names of their own.
    pub fn things(&mut self, old: &[DefinitionItem], new: &[DefinitionItem]) {
        let pairs = pairs(old, new);
        for it in pairs.gone {
            let sentence = match it.facet("edges").map(|it| &it.leaf) {
                Some(Leaf::Edges { from, to, .. }) => format!("no longer {}", edges(from, to, &it.id)),
                _ => format!("{} is gone", it.title),
            };
            let about = About { subject: &it.title, words: it.title.clone(), mark: "", path: it.path };
            self.say(&about, ChangeKind::Removed, presence(it.sense).opposite(), sentence);
        }
        for it in pairs.new {
            let sentence = match it.facet("edges").map(|it| &it.leaf) {
                Some(Leaf::Edges { from, to, who }) => {
                    format!("new {}, allowed for `{who}`", edges(from, to, &it.id))
                }
                _ => format!("new {}{}", it.title, summary(it)),
            };
            let about = About { subject: &it.title, words: it.title.clone(), mark: "", path: it.path };
            self.say(&about, ChangeKind::Added, presence(it.sense), sentence);
        }
        for (before, after) in pairs.both {
            let about =
                About { subject: &after.title, words: after.title.clone(), mark: "", path: after.path };
            self.facets(&about, before, after);
            self.parts(&about, &before.parts, &after.parts);
        }
    }

    /// Compares the parts of a thing, which have no identity of their own.
    fn parts(&mut self, owner: &About<'_>, old: &[DefinitionItem], new: &[DefinitionItem]) {
        let pairs = pairs(old, new);
        for it in pairs.gone {
            let sentence = format!("{}{} no longer {}", owner.words, owner.mark, it.title);
            self.say(owner, ChangeKind::Removed, presence(it.sense).opposite(), sentence);
        }
        for it in pairs.new {
            let sentence = format!("{}{} now {}{}", owner.words, owner.mark, it.title, summary(it));
            self.say(owner, ChangeKind::Added, presence(it.sense), sentence);
        }
        for (before, after) in pairs.both {
            let words = format!("{}, where it {}", owner.words, after.title);
            let about = About { subject: owner.subject, words, mark: ":", path: false };
            self.facets(&about, before, after);
            self.parts(&about, &before.parts, &after.parts);
        }
    }

    fn facets(&mut self, about: &About<'_>, before: &DefinitionItem, after: &DefinitionItem) {
        let flags = |of: &DefinitionItem| of.facets.iter().filter(|it| matches!(it.leaf, Leaf::Flag)).count();
        // A message is added and removed with the requirement it explains.
        let aside = |it: &Facet| {
            it.key.starts_with("order") || it.key.starts_with("message") && flags(before) != flags(after)
        };
        for facet in &before.facets {
            match after.facet(&facet.key) {
                None if aside(facet) => {}
                None => {
                    let direction = presence(facet.sense).opposite();
                    let sentence = format!("{}{} no longer {}", about.words, about.mark, had(facet));
                    self.note(about, ChangeKind::Removed, direction, sentence, facet);
                }
                Some(now) if !facet.leaf.same(&now.leaf) => self.differs(about, &after.id, facet, now),
                Some(_) => {}
            }
        }
        let new = after.facets.iter().filter(|it| before.facet(&it.key).is_none());
        for facet in new.filter(|it| !aside(it)) {
            let sentence = format!("{}{} now {}", about.words, about.mark, had(facet));
            self.note(about, ChangeKind::Added, presence(facet.sense), sentence, facet);
        }
    }

    fn differs(&mut self, about: &About<'_>, id: &str, before: &Facet, after: &Facet) {
        let (words, sense) = (&after.words, after.sense);
        match (&before.leaf, &after.leaf) {
            (Leaf::Edges { from: a, to: x, .. }, Leaf::Edges { from: b, to: y, who }) => {
                let without = |these: &[Name], those: &[Name]| {
                    these.iter().filter(|it| !those.contains(it)).cloned().collect::<Vec<_>>()
                };
                let about = About { path: true, ..about.clone() };
                let (gone, new) = (without(a, b), without(b, a));
                if !gone.is_empty() {
                    let sentence = format!("no longer {}", edges(&gone, x, id));
                    self.say(&about, ChangeKind::Removed, Direction::Tighter, sentence);
                }
                if !new.is_empty() {
                    let sentence = format!("new {}, allowed for `{who}`", edges(&new, y, id));
                    self.say(&about, ChangeKind::Added, Direction::Looser, sentence);
                }
                if x != y && gone.len() < a.len() {
                    let kept: Vec<Name> = a.iter().filter(|it| b.contains(it)).cloned().collect();
                    let from = Leaf::Names(kept).shown();
                    let sentence = format!("`{id}` from {from} leads to {y} instead of {x}");
                    self.say(&about, ChangeKind::Changed, Direction::Neutral, sentence);
                }
            }
            (Leaf::Expression(a), Leaf::Expression(b)) => self.expressions(about, words, sense, a, b),
            (Leaf::Names(a), Leaf::Names(b)) => self.names(about, words, sense, a, b),
            // Additions and removals have sentences of their own; this describes items that exist on both sides.
            (Leaf::Order(a), Leaf::Order(b)) if after.key.starts_with("order") => {
                let kept: Vec<&Name> = a.iter().filter(|it| b.contains(it)).collect();
                if kept != b.iter().filter(|it| a.contains(it)).collect::<Vec<_>>() {
                    let sentence = format!(
                        "{}: {words} was {}, is {}",
                        about.words,
                        before.leaf.shown(),
                        after.leaf.shown()
                    );
                    self.say(about, ChangeKind::Changed, Direction::Neutral, sentence);
                }
            }
            (Leaf::Type(a), Leaf::Type(b)) => {
                let (narrower, wider) = (fits::is_within(b, a), fits::is_within(a, b));
                let shown = (fits::type_text(a), fits::type_text(b));
                if shown.0 == shown.1 {
                    let sentence =
                        format!("{}: the message for an invalid value ({words}) changed", about.words);
                    self.note(about, ChangeKind::Changed, Direction::Neutral, sentence, &wording_of(after));
                    return;
                }
                let direction = match (narrower, wider) {
                    (true, false) => Direction::Tighter,
                    (false, true) => Direction::Looser,
                    _ => Direction::Neutral,
                };
                let how = match direction {
                    Direction::Tighter => " narrowed",
                    Direction::Looser => " widened",
                    _ => "",
                };
                let sentence = format!("{}: {words}{how} from {} to {}", about.words, shown.0, shown.1);
                self.say(about, ChangeKind::Changed, direction, sentence);
            }
            (a, b) => {
                let direction = match (a.amount(), b.amount()) {
                    (Some(a), Some(b)) => by_amount(sense, a, b),
                    _ => Direction::Neutral,
                };
                let sentence = format!("{}: {words} was {}, is {}", about.words, a.shown(), b.shown());
                self.note(about, ChangeKind::Changed, direction, sentence, after);
            }
        }
    }

    fn expressions(&mut self, about: &About<'_>, words: &str, sense: Sense, a: &Expression, b: &Expression) {
        let amounts = (amount_of(a), amount_of(b));
        let (narrower, wider) = (b.term.implies(&a.term), a.term.implies(&b.term));
        let conditional = matches!(sense, Sense::Admits | Sense::Binds);
        let mut direction = match (narrower, wider) {
            (true, false) if conditional => Direction::Tighter,
            (false, true) if conditional => Direction::Looser,
            _ => Direction::Neutral,
        };
        if sense == Sense::Binds {
            direction = direction.opposite();
        }
        if let (Some(x), Some(y), false) = (amounts.0, amounts.1, conditional) {
            direction = by_amount(sense, x, y);
        }
        let same = if narrower && wider { ", which means the same" } else { "" };
        let by = if words == WHO { " by" } else { "" };
        let told = direction != Direction::Neutral && conditional;
        let detail = if told { difference(&a.term, &b.term, by) } else { None };
        let whole = format!("was {}, is {}", shown(a), shown(b));
        let sentence = match detail {
            Some(detail) if words == WHO => format!("{}: {detail} ({whole})", about.words),
            Some(detail) => format!("{}: {words} {detail} ({whole})", about.words),
            None => format!("{}: {words} {whole}{same}", about.words),
        };
        self.say(about, ChangeKind::Changed, direction, sentence);
    }

    fn names(&mut self, about: &About<'_>, words: &str, sense: Sense, a: &[Name], b: &[Name]) {
        let list = |names: Vec<&Name>| names.into_iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        let gone: Vec<&Name> = a.iter().filter(|it| !b.contains(it)).collect();
        let new: Vec<&Name> = b.iter().filter(|it| !a.contains(it)).collect();
        let direction = match (gone.is_empty(), new.is_empty()) {
            (true, false) => presence(sense),
            (false, true) => presence(sense).opposite(),
            _ => Direction::Neutral,
        };
        let mut said = Vec::new();
        if !gone.is_empty() {
            said.push(format!("no longer {}", list(gone)));
        }
        if !new.is_empty() {
            said.push(format!("now also {}", list(new)));
        }
        let sentence = format!("{}: {words} {}", about.words, said.join(", "));
        self.say(about, ChangeKind::Changed, direction, sentence);
    }

    fn say(&mut self, about: &About<'_>, kind: ChangeKind, direction: Direction, sentence: String) {
        self.changes.push(Change {
            kind,
            direction,
            lifecycle: self.lifecycle.clone(),
            subject: about.subject.to_owned(),
            sentence,
            wording: false,
            path: about.path,
        });
    }

    fn note(
        &mut self,
        about: &About<'_>,
        kind: ChangeKind,
        direction: Direction,
        sentence: String,
        of: &Facet,
    ) {
        let about = About { path: false, ..about.clone() };
        self.say(&about, kind, direction, sentence);
        if let (Some(last), Leaf::Wording(_)) = (self.changes.last_mut(), &of.leaf) {
            last.wording = true;
        }
    }
}

fn amount_of(of: &Expression) -> Option<f64> {
    Leaf::Expression(Box::new(of.clone())).amount()
}

fn shown(of: &Expression) -> String {
    Leaf::Expression(Box::new(of.clone())).shown()
}

fn wording_of(facet: &Facet) -> Facet {
    Facet { leaf: Leaf::Wording(String::new()), ..facet.clone() }
}

/// The direction of an addition.
fn presence(sense: Sense) -> Direction {
    match sense {
        Sense::Admits | Sense::Binds | Sense::Demands | Sense::Limits => Direction::Tighter,
        Sense::Allows => Direction::Looser,
        Sense::Plain | Sense::Lasts => Direction::Neutral,
    }
}

fn by_amount(sense: Sense, before: f64, after: f64) -> Direction {
    if after == before {
        return Direction::Neutral;
    }
    let (less, more) = match sense {
        Sense::Lasts => (Direction::Shorter, Direction::Longer),
        Sense::Limits | Sense::Allows => (Direction::Tighter, Direction::Looser),
        Sense::Demands => (Direction::Looser, Direction::Tighter),
        Sense::Plain | Sense::Admits | Sense::Binds => (Direction::Neutral, Direction::Neutral),
    };
    if after < before { less } else { more }
}

fn edges(from: &[Name], to: &str, by: &str) -> String {
    let word = if from.len() == 1 { "edge" } else { "edges" };
    let from = Leaf::Names(from.to_vec()).shown();
    if to == STAY { format!("event `{by}` in {from}") } else { format!("{word} {from} → {to} by `{by}`") }
}

fn had(facet: &Facet) -> String {
    match &facet.leaf {
        Leaf::Flag => facet.words.clone(),
        leaf => format!("has {} {}", facet.words, leaf.shown()),
    }
}

/// The most important fact about a new item.
fn summary(of: &DefinitionItem) -> String {
    let telling = |it: &&Facet| !matches!(it.leaf, Leaf::Wording(_));
    let said = of.facets.iter().filter(telling).take(4).map(|it| match &it.leaf {
        Leaf::Flag => it.words.clone(),
        leaf => format!("{} {}", it.words, leaf.shown()),
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}

/// The added and removed parts, where both are lists of alternatives or of requirements.
fn difference(a: &Term, b: &Term, by: &str) -> Option<String> {
    let lists = |a: &[Term], b: &[Term], verb: &str| {
        let only = |these: &[Term], those: &[Term]| -> Vec<String> {
            these.iter().filter(|it| !those.contains(it)).map(|it| format!("`{it}`")).collect()
        };
        if !a.iter().any(|it| b.contains(it)) {
            return None;
        }
        let (gone, new) = (only(a, b), only(b, a));
        match (gone.as_slice(), new.as_slice()) {
            ([], []) => None,
            ([gone], [new]) => Some(format!("now{verb} {new} instead of {gone}")),
            (gone, []) => Some(format!("no longer{verb} {}", gone.join(", "))),
            ([], new) => Some(format!("now also{verb} {}", new.join(", "))),
            (gone, new) => {
                Some(format!("no longer{verb} {}, now also{verb} {}", gone.join(", "), new.join(", ")))
            }
        }
    };
    let any = matches!(a, Term::Any(_)) || matches!(b, Term::Any(_));
    let alternatives = lists(a.alternatives(), b.alternatives(), by);
    let demands = lists(a.demands(), b.demands(), " needs");
    if any { alternatives.or(demands) } else { demands.or(alternatives) }
}
