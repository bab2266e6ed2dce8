//! SCXML, the state machines of the W3C.
//!
//! The engine decides which arm and choice an event took; `_event.data.taken` names it: `ARM.CHOICE`, followed by `.STATE`
//! where the caller or a field names the state. Who, when and how long are attributes of a namespace of ours;
//! none is named like one of SCXML, since some interpreters drop namespaces.

use super::ids::{IdentifierMap, is_word};
use super::moves::{EventMove, EventOutcomes, happenings};
use trackside_lifecycle::printable::is_printable;
use trackside_protocol::diagram::{Graph, StateNode};

/// Prefixes of events that have a meaning: an event of this name alone would match all of them.
const TAKEN: &[&str] = &["done", "error", "lease", "retain", "timer"];

/// A lifecycle as an SCXML document.
pub fn scxml(graph: &Graph) -> String {
    let all: Vec<(&StateNode, Vec<EventOutcomes<'_>>)> =
        graph.nodes.iter().map(|it| (it, happenings(graph, it))).collect();
    let events = all.iter().flat_map(|(_, it)| it).map(|it| it.event.as_str());
    let writer = Writer {
        states: IdentifierMap::new(graph.nodes.iter().map(|it| it.name.as_str()), "s_", is_word),
        events: IdentifierMap::new(events, "e_", is_event),
    };
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    text.push_str(
        "<scxml xmlns=\"http://www.w3.org/2005/07/scxml\" xmlns:ts=\"https://trackside.dev/scxml\"",
    );
    text.push_str(&attribute("version", "1.0"));
    text.push_str(&attribute("datamodel", "ecmascript"));
    text.push_str(&attribute("name", &graph.name));
    text.push_str(&attribute("initial", writer.states.get(&graph.initial)));
    text.push_str(&attribute("ts:pack-version", &graph.version.to_string()));
    text.push_str(&attribute("ts:about", &graph.about));
    text.push_str(&attribute("ts:created-by", &graph.created_by));
    text.push_str(">\n");
    for (node, happenings) in &all {
        text.push_str(&writer.state(node, happenings));
    }
    text.push_str("</scxml>\n");
    text
}

struct Writer {
    states: IdentifierMap,
    events: IdentifierMap,
}

impl Writer {
    fn state(&self, node: &StateNode, happenings: &[EventOutcomes<'_>]) -> String {
        let kind = if node.last { "final" } else { "state" };
        let id = self.states.get(&node.name);
        let mut text = format!("  <{kind}{}", attribute("id", id));
        if id != node.name.as_str() {
            text.push_str(&attribute("ts:called", &node.name));
        }
        text.push_str(&attribute("ts:about", &node.about));
        text.push_str(&attribute("ts:outcome", node.outcome.as_deref().unwrap_or_default()));
        let clocks: Vec<String> = node.clocks.iter().map(|it| format!("{}: {}", it.name, it.words)).collect();
        text.push_str(&attribute("ts:clocks", &clocks.join("; ")));
        if node.last {
            // A final entity can be created again, but a final state of SCXML has no transitions: it is only noted.
            text.push_str(&attribute("ts:again", &again(happenings)));
            text.push_str("/>\n");
            return text;
        }
        text.push_str(">\n");
        for happening in happenings {
            for it in &happening.moves {
                text.push_str(&self.transition(happening, it));
            }
        }
        text.push_str("  </state>\n");
        text
    }

    fn transition(&self, happening: &EventOutcomes<'_>, it: &EventMove<'_>) -> String {
        let event = self.events.get(&happening.event);
        let mut text = format!("    <transition{}", attribute("event", event));
        if happening.is_guarded() {
            let mut taken = format!("{}.{}", it.arm, it.choice);
            if let Some(to) = it.to.filter(|_| it.named) {
                taken.push_str(&format!(".{}", self.states.get(to)));
            }
            text.push_str(&attribute("cond", &format!("_event.data.taken == '{taken}'")));
        }
        text.push_str(&attribute("target", it.to.map_or("", |it| self.states.get(it))));
        if event != happening.event {
            text.push_str(&attribute("ts:called", &happening.event));
        }
        text.push_str(&attribute("ts:by", it.by().unwrap_or_default()));
        text.push_str(&attribute("ts:when", it.when().unwrap_or_default()));
        text.push_str(&attribute("ts:after", it.after().unwrap_or_default()));
        text.push_str(&attribute("ts:because", &it.because().join("; ")));
        text.push_str("/>\n");
        text
    }
}

fn again(happenings: &[EventOutcomes<'_>]) -> String {
    let told = happenings.iter().flat_map(|happening| {
        happening.moves.iter().filter_map(|it| it.to.map(|to| format!("{} to {to}", happening.event)))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// A unique event name: dots separate the kind of event from its subject.
fn is_event(name: &str) -> bool {
    match name.split_once('.') {
        Some((kind, of)) => TAKEN.contains(&kind) && is_word(of),
        None => is_word(name) && !TAKEN.contains(&name),
    }
}

/// An attribute; empty if the value is.
fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {name}=\"{}\"", escaped(value)) }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for it in text.chars() {
        match it {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push_str(&format!("&#{};", u32::from(it))),
            // XML has no way to write these.
            it if it.is_control() || matches!(it, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            it if !is_printable(it) => out.push_str(&format!("&#{};", u32::from(it))),
            it => out.push(it),
        }
    }
    out
}
