//! Faults of a pack's rules: moves that could not be made, and queries without an answer.

use std::collections::BTreeMap;

use trackside_engine::event::{Entry, Event};
use trackside_engine::refusal::{Refusal, Stage};
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;

/// The promise that walks check for every pack.
pub(crate) const RULES: &str = "the rules of a pack have an answer and keep its invariants";

/// The faults that were found, in words that are the same for every entity, and how often.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Faults of a pack: expressions without a value, rules that break invariants.
    pub(crate) mistakes: BTreeMap<String, usize>,
    /// All other dropped moves, which may be intended.
    pub(crate) others: BTreeMap<String, usize>,
}

impl Findings {
    /// Checks an alert about a dropped move.
    pub(crate) fn look(&mut self, ground: &WalkPack, entry: &Entry) {
        let Event::AlertRaised { kind, message, .. } = &entry.event else { return };
        if kind != "dropped-move" {
            return;
        }
        let why = message.split_once("could not be done: ").map_or(&**message, |(_, it)| it);
        let condition = entry.condition.as_deref().unwrap_or_default();
        let line = format!("{} {condition} dropped: {}", entry.entity.lifecycle, plain(why));
        if unanswered(why) || breaks_invariant(ground, why) {
            self.add_mistake(ground, line);
        } else {
            *self.others.entry(line).or_default() += 1;
        }
    }

    /// Checks a refusal.
    pub(crate) fn refused(&mut self, ground: &WalkPack, refusal: &Refusal) {
        if is_mistake(refusal) {
            let unanswered = refusal.errors.iter().find(|it| it.code.as_str() == "evaluation-failed");
            let why = unanswered.map_or(&refusal.detail, |it| &it.message);
            self.add_mistake(ground, format!("refused, {}: {}", refusal.code.as_str(), plain(why)));
        }
    }

    /// A question of the pack that has no answer.
    pub(crate) fn describe_command(&mut self, ground: &WalkPack, query: &Name, why: &str) {
        self.add_mistake(ground, format!("query {query}: {}", plain(why)));
    }

    fn add_mistake(&mut self, ground: &WalkPack, line: String) {
        let known = ground.hints.known.iter().any(|(it, _)| line.contains(it));
        let found = if known { &mut self.others } else { &mut self.mistakes };
        *found.entry(line).or_default() += 1;
    }

    /// The first mistake, if there is one.
    pub(crate) fn mistake(&self) -> Result<(), BrokenPromise> {
        match self.mistakes.keys().next() {
            Some(what) => Err(BrokenPromise::new(RULES, what)),
            None => Ok(()),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (line, times) in other.mistakes {
            *self.mistakes.entry(line).or_default() += times;
        }
        for (line, times) in other.others {
            *self.others.entry(line).or_default() += times;
        }
    }
}

/// Whether a refusal is a fault of the pack: its rules cannot be evaluated, do not end, or would break an
/// invariant.
pub(crate) fn is_mistake(refusal: &Refusal) -> bool {
    let codes = ["evaluation-failed", "too-many-moves", "invariant-violated", "always-refused"];
    let has = |codes: &[&str]| refusal.errors.iter().any(|it| codes.contains(&it.code.as_str()));
    // An actor that may not ask learns of later stages only incidentally.
    let may = refusal.stage > Stage::Version || refusal.code.as_str() == "nothing-claimable";
    let unanswered = may && has(&["evaluation-failed"]) && !has(&["not-permitted", "gate-closed"]);
    codes.contains(&refusal.code.as_str()) || unanswered
}

/// Numbers and ids left out.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for it in text.chars() {
        match it {
            '0'..='9' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            it => plain.push(it),
        }
    }
    plain
}

fn unanswered(why: &str) -> bool {
    ["could not be answered", "could not be counted", "could not be computed"]
        .iter()
        .any(|it| why.contains(it))
}

/// Whether a text is the message of a broken invariant.
fn breaks_invariant(ground: &WalkPack, why: &str) -> bool {
    let rules = ground.pack.lifecycles.iter().flat_map(|it| &it.invariants);
    rules.map(|it| it.says.source()).any(|says| !says.is_empty() && is_rendered(says, why))
}

/// Whether a text can be the result of a template.
fn is_rendered(template: &str, text: &str) -> bool {
    let mut rest = text;
    let mut open = template;
    let mut first = true;
    loop {
        let (literal, after) = open.split_once('{').unwrap_or((open, ""));
        match rest.find(literal) {
            Some(0) => rest = &rest[literal.len()..],
            Some(place) if !first => rest = &rest[place + literal.len()..],
            _ => return false,
        }
        first = false;
        match after.split_once('}') {
            Some((_, next)) => open = next,
            None => return true,
        }
    }
}
