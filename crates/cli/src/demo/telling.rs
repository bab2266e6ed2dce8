//! The story as it is shown: who asks for what through which door, what came of it, and what followed.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::ask::{Answer, Ask, Key};
use super::script::Scene;
use crate::moment::{list, moment, text, value};
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, About};
use crate::{entry, moved, table};

/// How much of what followed is shown.
const MOST: usize = 6;
/// `hh:mm:ss` and what is between it and the next column.
const CLOCK: usize = 10;
/// The same of the door.
const DOOR: usize = 7;

/// What happened that is worth a line.
const TOLD: &[&str] = &[
    "CREATED",
    "STATE_TRANSITION",
    "STATE_CORRECTED",
    "ALERT_RAISED",
    "LIMIT_WARNING",
    "TIMEOUT_WARNING",
    "LEASE_LOST",
    "MESSAGE_POSTED",
    "EFFECT_REQUESTED",
];

/// How wide the columns of a scene are, and what it is about.
#[derive(Debug)]
pub(super) struct Telling {
    names: usize,
    columns: usize,
    /// Packs that play in it; what happens in others is counted, not told.
    packs: BTreeSet<String>,
}

/// Somebody who asks.
#[derive(Debug)]
pub(super) struct Who<'a> {
    pub now: &'a str,
    pub id: &'a str,
    pub through: &'a str,
}

impl Telling {
    pub fn of(scene: &Scene) -> Self {
        let names = scene.team.iter().map(|it| it.id.chars().count()).max().unwrap_or_default();
        let packs = scene.steps.iter().filter_map(|it| it.ask.lifecycle()).map(|it| pack(it).to_owned());
        Self { names: names + 2, columns: print::columns().max(60), packs: packs.collect() }
    }

    /// The columns before what is told.
    fn margin(&self) -> usize {
        CLOCK + self.names + DOOR
    }

    pub fn heading(&self, number: usize, of: usize, scene: &Scene) {
        print::line("");
        print::line(&painted_data(&format!("{number} of {of}  {}", scene.title), Colour::Bold));
        for line in scene.about.iter().flat_map(|it| wrapped(it, self.columns)) {
            print::line(&painted_data(&line, Colour::Dim));
        }
        print::line("");
    }

    /// What to make of the next step.
    pub fn aside(&self, says: &str) {
        for line in wrapped(says, self.columns.saturating_sub(CLOCK)) {
            print::line(&format!("{:CLOCK$}{}", "", painted_data(&line, Colour::Cyan)));
        }
    }

    pub fn asked(&self, who: &Who<'_>, words: &str) {
        let names = self.names;
        let before = format!("{:CLOCK$}{:names$}{:DOOR$}", clock(who.now), who.id, who.through);
        // Two lines are enough to see what it is.
        let room = self.columns.saturating_sub(self.margin());
        let (first, rest) = broken(words, room);
        print::line(&format!("{}{first}", painted_data(&before, Colour::Blue)));
        if !rest.is_empty() {
            self.at_margin(&table::cut(rest, Some(room)));
        }
    }

    /// Nobody asked: time went by, or everything was looked at.
    pub fn passed(&self, ask: &Ask, now: &str) {
        let words = match ask {
            Ask::Advance { by } => format!("{by} go by: it is {}", moment(now)),
            _ => "everything is looked at".to_owned(),
        };
        let names = self.names;
        let before = format!("{:CLOCK$}{:names$}{:DOOR$}", clock(now), "", "");
        print::line(&painted_data(&format!("{before}{words}"), Colour::Blue));
    }

    pub fn answered(&self, ask: &Ask, answer: &Answer) {
        match answer {
            Answer::Nothing => {
                self.at_margin(&format!(
                    "{}: there is none to claim",
                    painted_data("nothing", Colour::Yellow)
                ));
            }
            Answer::Refused(problem) => {
                let about = match ask.entity() {
                    Some(it) => About::entity(&it.lifecycle, &it.id),
                    None => About { lifecycle: ask.lifecycle(), ..About::default() },
                };
                let told = refused::told(problem, about, &painted_data("refused", Colour::Red));
                for (at, line) in told.lines().enumerate() {
                    if at == 0 { self.at_margin(line) } else { self.taught(line) }
                }
            }
            Answer::Done(told) => {
                if let Some(words) = done(ask, told) {
                    self.at_margin(&format!("{} {words}", painted_data("done", Colour::Green)));
                }
                let leases = told.get("entity").map(|it| list(it, "leases")).unwrap_or_default();
                for lease in leases.iter().filter(|_| matches!(ask, Ask::Claim { .. })) {
                    self.deeper(moved::lease_line(lease).trim_start());
                }
            }
        }
    }

    /// What else the journal got, that of the entities that matter first.
    pub fn followed<'a>(&self, entries: impl Iterator<Item = &'a Json>, matter: &[&Key]) {
        let (mut told, elsewhere): (Vec<&Json>, Vec<&Json>) = entries
            .filter(|it| TOLD.contains(&text(it, "event")))
            .partition(|it| self.packs.contains(pack(text(it, "lifecycle"))));
        told.sort_by_key(|it| {
            !matter.iter().any(|key| key.id == text(it, "id") && key.lifecycle == text(it, "lifecycle"))
        });
        let more = told.len().saturating_sub(MOST) + elsewhere.len();
        for it in told.iter().take(MOST) {
            let line = format!("{}/{} {}", text(it, "lifecycle"), text(it, "id"), happened(it));
            let line = table::cut(&line, Some(self.columns.saturating_sub(self.margin() + 2)));
            let colour = if text(it, "event") == "ALERT_RAISED" { Colour::Yellow } else { Colour::Dim };
            self.deeper(&painted_data(&line, colour));
        }
        if more > 0 {
            self.deeper(&painted_data(&format!("and {more} more"), Colour::Dim));
        }
    }

    /// What the command line told.
    pub fn shown(&self, told: &str) {
        for line in told.lines() {
            let line = table::cut(line, Some(self.columns.saturating_sub(CLOCK)));
            print::line(&format!("{:CLOCK$}{line}", ""));
        }
    }

    fn at_margin(&self, line: &str) {
        let margin = self.margin();
        print::line(&format!("{:margin$}{line}", ""));
    }

    /// A line of a refusal: all of it, however long it is.
    fn taught(&self, line: &str) {
        let indent = line.chars().take_while(|it| *it == ' ').count();
        let room = self.columns.saturating_sub(self.margin() + 4 + indent);
        for (at, part) in wrapped(line, room).iter().enumerate() {
            let indent = indent + if at == 0 { 0 } else { 2 };
            self.deeper(&format!("{:indent$}{part}", ""));
        }
    }

    fn deeper(&self, line: &str) {
        self.at_margin(&format!("  {line}"));
    }
}

/// An entry in words.
fn happened(entry: &Json) -> String {
    let more = |name: &str| entry.get("metadata").and_then(|it| it.get(name)).map(value).unwrap_or_default();
    match text(entry, "event") {
        "MESSAGE_POSTED" => format!("says: {}", more("text")),
        "LEASE_LOST" => format!("{} has lost its lease ({})", more("holder"), more("slot")),
        "EFFECT_REQUESTED" => format!("asks the outside for {}", more("effect")),
        "LIMIT_WARNING" => format!("{} % of {} are used up", more("percent"), more("counter")),
        "ALERT_RAISED" => format!("alert ({}): {}", more("severity"), more("message")),
        "STATE_CORRECTED" | "TIMEOUT_WARNING" => entry::short(entry),
        _ if text(entry, "actorKind") == "timeout" => {
            format!("{}, its time is over", moved::way(entry, None, &str::to_owned))
        }
        _ => moved::way(entry, None, &str::to_owned),
    }
}

/// What came of it, in a line; none where it is shown otherwise.
fn done(ask: &Ask, told: &Json) -> Option<String> {
    let number = |name: &str| told.get(name).and_then(Json::as_u64).unwrap_or_default();
    match ask {
        Ask::Heartbeat { .. } => Some(format!("held until {}", moment(text(told, "expiresAt")))),
        Ask::Settle { .. } => Some("the result is in".to_owned()),
        Ask::Advance { .. } | Ask::Explain { .. } => None,
        Ask::Sweep => {
            let (all, repaired) = (number("lookedAt"), number("repaired"));
            Some(format!("{all} entities looked at, {repaired} repaired"))
        }
        _ => {
            let (entry, entity) = (told.get("transition")?, told.get("entity"));
            let key = format!("{}/{}", text(entry, "lifecycle"), text(entry, "id"));
            Some(format!("{key} {}", moved::way(entry, entity, &moved::bold)))
        }
    }
}

/// The pack of a lifecycle.
fn pack(lifecycle: &str) -> &str {
    lifecycle.split('.').next().unwrap_or_default()
}

/// The time of day.
fn clock(now: &str) -> String {
    moment(now).split(' ').nth(1).unwrap_or_default().trim_end_matches('Z').to_owned()
}

/// What has room, up to the end of a word where one is near, and the rest.
fn broken(text: &str, most: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(most) else { return (text, "") };
    let (first, rest) = text.split_at(end);
    let near = first.char_indices().rev().take(most / 3).find(|(_, it)| matches!(it, ' ' | ','));
    match near {
        Some((at, it)) => text.split_at(at + it.len_utf8()),
        None => (first, rest),
    }
}

/// In lines that have room.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_where_there_is_room() {
        assert_eq!(wrapped("a bc\n def g", 4), ["a bc", "def", "g"]);
        assert_eq!(wrapped("verylong a", 4), ["verylong", "a"]);
        assert_eq!(broken("ab cd,ef", 7), ("ab cd,", "ef"));
        assert_eq!(broken("abcdefgh", 7), ("abcdefg", "h"));
        assert_eq!(broken("ab", 7), ("ab", ""));
        assert_eq!(clock("2026-01-05T09:00:00Z"), "09:00:00");
    }
}
