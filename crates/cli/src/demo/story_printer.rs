//! Prints the story: requests with their interface, answers and consequences.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::request::{DemoAnswer, DemoRequest, EntityRef};
use super::script::DemoScene;
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::styled::Styled;
use crate::time_format::{list, moment, text, value};
use crate::{print_entry, print_transition, table};

/// Maximum number of consequences to print.
const MOST: usize = 6;
/// `hh:mm:ss` and the gap to the next column.
const CLOCK: usize = 10;
/// Width of the interface column.
const DOOR: usize = 7;

/// Kinds of entries that are printed.
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

/// Column widths and packs of a scene.
#[derive(Debug)]
pub(super) struct StoryPrinter {
    names: usize,
    columns: usize,
    /// Packs of the scene; entries of other packs are count_with_noun, not printed.
    packs: BTreeSet<String>,
}

/// The actor of a request.
#[derive(Debug)]
pub(super) struct DemoActor<'a> {
    pub now: &'a str,
    pub id: &'a str,
    pub through: &'a str,
}

impl StoryPrinter {
    pub fn of(scene: &DemoScene) -> Self {
        let names = scene.team.iter().map(|it| it.id.chars().count()).max().unwrap_or_default();
        let packs = scene.steps.iter().filter_map(|it| it.ask.lifecycle()).map(|it| pack(it).to_owned());
        Self { names: names + 2, columns: print::columns().max(60), packs: packs.collect() }
    }

    /// Width of the columns before the text.
    fn margin(&self) -> usize {
        CLOCK + self.names + DOOR
    }

    pub fn heading(&self, number: usize, of: usize, scene: &DemoScene) {
        print::line("");
        print::line(painted_data(styled!("{number} of {of}  {}", scene.title), Colour::Bold));
        for line in scene.about.iter().flat_map(|it| wrapped(it, self.columns)) {
            print::line(painted_data(&line, Colour::Dim));
        }
        print::line("");
    }

    /// A comment on the next step.
    pub fn aside(&self, says: &str) {
        for line in wrapped(says, self.columns.saturating_sub(CLOCK)) {
            print::line(styled!("{:CLOCK$}{}", "", painted_data(&line, Colour::Cyan)));
        }
    }

    /// Prints a request of an actor.
    pub fn print_request(&self, who: &DemoActor<'_>, words: &str) {
        let names = self.names;
        let before = format!("{:CLOCK$}{:names$}{:DOOR$}", clock(who.now), who.id, who.through);
        // Two lines are enough to recognise it.
        let room = self.columns.saturating_sub(self.margin());
        let (first, rest) = broken(words, room);
        print::line(styled!("{}{first}", painted_data(&before, Colour::Blue)));
        if !rest.is_empty() {
            self.at_margin(table::cut(rest, Some(room)));
        }
    }

    /// A step of the demo itself: the clock was advanced, or the sweep ran.
    pub fn passed(&self, ask: &DemoRequest, now: &str) {
        let words = match ask {
            DemoRequest::Advance { by } => format!("{by} pass: it is {}", moment(now)),
            _ => "the sweep checks every entity".to_owned(),
        };
        let names = self.names;
        let before = format!("{:CLOCK$}{:names$}{:DOOR$}", clock(now), "", "");
        print::line(painted_data(styled!("{before}{words}"), Colour::Blue));
    }

    pub fn answered(&self, ask: &DemoRequest, answer: &DemoAnswer) {
        match answer {
            DemoAnswer::Nothing => {
                self.at_margin(styled!("{}: no entity to claim", painted_data("nothing", Colour::Yellow)));
            }
            DemoAnswer::Refused(problem) => {
                let about = match ask.entity() {
                    Some(it) => CommandSubject::entity(&it.lifecycle, &it.id),
                    None => CommandSubject { lifecycle: ask.lifecycle(), ..CommandSubject::default() },
                };
                let response = refused::render_as(problem, about, &painted_data("refused", Colour::Red));
                for (at, line) in response.lines().iter().enumerate() {
                    if at == 0 { self.at_margin(line) } else { self.taught(&line.plain()) }
                }
            }
            DemoAnswer::Done(response) => {
                if let Some(words) = done(ask, response) {
                    self.at_margin(styled!("{} {words}", painted_data("done", Colour::Green)));
                }
                let leases = response.get("entity").map(|it| list(it, "leases")).unwrap_or_default();
                for lease in leases.iter().filter(|_| matches!(ask, DemoRequest::Claim { .. })) {
                    self.deeper(print_transition::lease_line(lease).trim_start());
                }
            }
        }
    }

    /// Other new journal entries, those of the given entities first.
    pub fn followed<'a>(&self, entries: impl Iterator<Item = &'a Json>, matter: &[&EntityRef]) {
        let (mut response, elsewhere): (Vec<&Json>, Vec<&Json>) = entries
            .filter(|it| TOLD.contains(&text(it, "event")))
            .partition(|it| self.packs.contains(pack(text(it, "lifecycle"))));
        response.sort_by_key(|it| {
            !matter.iter().any(|key| key.id == text(it, "id") && key.lifecycle == text(it, "lifecycle"))
        });
        let more = response.len().saturating_sub(MOST) + elsewhere.len();
        for it in response.iter().take(MOST) {
            let line = format!("{}/{} {}", text(it, "lifecycle"), text(it, "id"), happened(it));
            let line = table::cut(&line, Some(self.columns.saturating_sub(self.margin() + 2)));
            let colour = if text(it, "event") == "ALERT_RAISED" { Colour::Yellow } else { Colour::Dim };
            self.deeper(painted_data(&line, colour));
        }
        if more > 0 {
            self.deeper(painted_data(styled!("and {more} more"), Colour::Dim));
        }
    }

    /// The output of a command.
    pub fn shown(&self, response: &str) {
        for line in response.lines() {
            let line = table::cut(line, Some(self.columns.saturating_sub(CLOCK)));
            print::line(styled!("{:CLOCK$}{line}", ""));
        }
    }

    fn at_margin(&self, line: impl Into<Styled>) {
        let (margin, line) = (self.margin(), line.into());
        print::line(styled!("{:margin$}{line}", ""));
    }

    /// A line of a refusal, never cut.
    fn taught(&self, line: &str) {
        let indent = line.chars().take_while(|it| *it == ' ').count();
        let room = self.columns.saturating_sub(self.margin() + 4 + indent);
        for (at, part) in wrapped(line, room).iter().enumerate() {
            let indent = indent + if at == 0 { 0 } else { 2 };
            self.deeper(format!("{:indent$}{part}", ""));
        }
    }

    fn deeper(&self, line: impl Into<Styled>) {
        self.at_margin(styled!("  {}", line.into()));
    }
}

/// An entry as text.
fn happened(entry: &Json) -> String {
    let more = |name: &str| entry.get("metadata").and_then(|it| it.get(name)).map(value).unwrap_or_default();
    match text(entry, "event") {
        "MESSAGE_POSTED" => format!("says: {}", more("text")),
        "LEASE_LOST" => format!("{} has lost its lease ({})", more("holder"), more("slot")),
        "EFFECT_REQUESTED" => format!("requests the effect {}", more("effect")),
        "LIMIT_WARNING" => format!("{} % of {} used", more("percent"), more("counter")),
        "ALERT_RAISED" => format!("alert ({}): {}", more("severity"), more("message")),
        "STATE_CORRECTED" | "TIMEOUT_WARNING" => print_entry::short(entry),
        _ if text(entry, "actorKind") == "timeout" => {
            format!("{}, deadline passed", print_transition::describe(entry, None, &|to| to.into()).plain())
        }
        _ => print_transition::describe(entry, None, &|to| to.into()).plain(),
    }
}

/// The result in one line; none if it is printed elsewhere.
fn done(ask: &DemoRequest, response: &Json) -> Option<Styled> {
    let number = |name: &str| response.get(name).and_then(Json::as_u64).unwrap_or_default();
    match ask {
        DemoRequest::Heartbeat { .. } => Some(styled!("held until {}", moment(text(response, "expiresAt")))),
        DemoRequest::AnswerEffect { .. } => Some("the result is in".into()),
        DemoRequest::Advance { .. } | DemoRequest::Explain { .. } => None,
        DemoRequest::Sweep => {
            let (all, repaired) = (number("lookedAt"), number("repaired"));
            Some(styled!("{all} entities checked, {repaired} repaired"))
        }
        _ => {
            let (entry, entity) = (response.get("transition")?, response.get("entity"));
            let key = format!("{}/{}", text(entry, "lifecycle"), text(entry, "id"));
            Some(styled!("{key} {}", print_transition::describe(entry, entity, &print_transition::bold)))
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

/// Splits a text at a word boundary within a width.
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
    fn words_wrap_at_the_width() {
        assert_eq!(wrapped("a bc\n def g", 4), ["a bc", "def", "g"]);
        assert_eq!(wrapped("verylong a", 4), ["verylong", "a"]);
        assert_eq!(broken("ab cd,ef", 7), ("ab cd,", "ef"));
        assert_eq!(broken("abcdefgh", 7), ("abcdefg", "h"));
        assert_eq!(broken("ab", 7), ("ab", ""));
        assert_eq!(clock("2026-01-05T09:00:00Z"), "09:00:00");
    }
}
