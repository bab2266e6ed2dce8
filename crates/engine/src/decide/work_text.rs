//! The instructions of an agent as text.

use std::fmt::Write as _;

use trackside_lifecycle::model::{FieldType, Fit, Lifecycle, RoleWork, WorkEvent, WorkStep};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::work::{OfferedEvent, OfferedEvents, OfferedField};
use crate::entity::Entity;

/// Most levels of a value or a type that are described.
const LEVELS: u32 = 4;

/// The task, the feedback, the notes, the events, and what happens at the end.
pub(super) fn instructions(
    entity: &Entity,
    life: &Lifecycle,
    work: &RoleWork,
    ask: &str,
    feedback: &Value,
    handoff: &Value,
    events: &OfferedEvents,
) -> String {
    let mut text = ask.trim().to_owned();
    section(&mut text, "Feedback on the last attempt", feedback);
    section(&mut text, "Notes of the process before you", handoff);
    events_section(&mut text, entity, life, events);
    end_section(&mut text, entity, life, work);
    text
}

fn section(text: &mut String, title: &str, value: &Value) {
    if !value.is_blank() {
        let _ = write!(text, "\n\n## {title}\n\n{}", shown(value, 0).trim());
    }
}

/// A value for people: texts as they are, lists and maps as lines, maps in lists on one line.
fn shown(value: &Value, level: u32) -> String {
    let indent = "  ".repeat(level as usize);
    match value {
        Value::Null => String::new(),
        Value::Text(it) => it.to_string(),
        Value::List(items) if level < LEVELS => {
            let items = items.iter().filter(|it| !it.is_blank());
            items.map(|it| format!("\n{indent}- {}", on_one_line(it, level + 1))).collect()
        }
        Value::Map(members) if level < LEVELS => {
            let members = members.iter().filter(|(_, it)| !it.is_blank());
            let line = |name: &Name, it: &Value| {
                let shown = shown(it, level + 1);
                let blank = if shown.starts_with('\n') { "" } else { " " };
                format!("\n{indent}- {name}:{blank}{shown}")
            };
            members.map(|(name, it)| line(name, it)).collect()
        }
        Value::Bool(it) => it.to_string(),
        Value::Int(it) => it.to_string(),
        Value::Float(it) => it.to_string(),
        Value::Time(it) => it.to_string(),
        Value::Span(it) => it.to_string(),
        Value::List(_) | Value::Map(_) => value.to_json().to_string(),
    }
}

/// An element of a list: the members of a map are separated by semicolons.
fn on_one_line(value: &Value, level: u32) -> String {
    let Value::Map(members) = value else { return shown(value, level).trim_start().to_owned() };
    let members = members.iter().filter(|(_, it)| !it.is_blank());
    let member = |(name, it): (&Name, &Value)| format!("{name}: {}", shown(it, level).trim_start());
    members.map(member).collect::<Vec<_>>().join("; ")
}

fn events_section(text: &mut String, entity: &Entity, life: &Lifecycle, events: &OfferedEvents) {
    let Entity { key, state, .. } = entity;
    let first_sentence =
        |about: &str| about.split(". ").next().unwrap_or(about).trim_end_matches('.').to_owned();
    let about = life.state(state).map(|it| first_sentence(&it.about)).filter(|it| !it.is_empty());
    let about = about.map(|it| format!(" ({it})")).unwrap_or_default();
    let _ = write!(text, "\n\n## Report to Trackside\n\n{key} is in state {state}{about}.");
    if let Some(tools) = life.state(state).and_then(|it| it.tools.as_ref()) {
        let _ = write!(text, " In this state you may use {} (actions of the risk policy).", tools.in_words());
    }
    if events.now.is_empty() {
        text.push_str(" You cannot fire an event on it now.");
        if events.later.is_empty() {
            return;
        }
    } else {
        text.push_str(" You can fire these events on it. They are the only way to report:\n");
        events.now.iter().for_each(|it| event_lines(text, it, None));
    }
    if !events.later.is_empty() {
        text.push_str("\n\nYou can fire these in another state:\n");
        events.later.iter().for_each(|(it, from)| event_lines(text, it, Some(from)));
    }
    let _ = write!(
        text,
        "\n\nFire an event with the tool `fire` of the MCP server `trackside`, or with the shell command \
         `trackside fire {key} EVENT FIELD=TEXT`. Send other values as JSON: `FIELD:='[\"a\", \"b\"]'`. Give a reason \
         with `--reason TEXT`. Your token is set in the environment. A refusal says what is missing: correct the \
         request and repeat it."
    );
}

/// An event, what it does and what it takes. `from` is the state that it leaves if that is another one.
fn event_lines(text: &mut String, it: &OfferedEvent, from: Option<&Name>) {
    let _ = write!(text, "\n- `{}`", it.event);
    if let Some(from) = from {
        let _ = write!(text, " in the state {from}");
    }
    if !it.about.is_empty() {
        let _ = write!(text, ": {}", it.about.trim_end_matches('.'));
    }
    if !it.to.is_empty() {
        let _ = write!(text, ". New state: {}", it.to.join(" or "));
    }
    if it.needs_reason {
        text.push_str(". It needs a reason");
    }
    if it.needs_target {
        text.push_str(". Name the new state with `--to STATE`");
    }
    for line in it.fields.iter().map(field_line).chain(it.conditions.iter().cloned()) {
        let _ = write!(text, "\n  - {line}");
    }
}

fn field_line(field: &OfferedField) -> String {
    let need = if field.required { "required" } else { "optional" };
    let about = match field.about.trim_end_matches('.') {
        "" => String::new(),
        about => format!(": {about}"),
    };
    format!("`{}` ({}, {need}){about}", field.name, type_words(&field.fits, 0))
}

/// The type of a field in a few words.
fn type_words(ty: &FieldType, level: u32) -> String {
    match &ty.fit {
        Fit::Any => "any JSON".to_owned(),
        Fit::Bool => "true or false".to_owned(),
        Fit::Int { .. } => "whole number".to_owned(),
        Fit::Number { .. } => "number".to_owned(),
        Fit::Text { .. } => "text".to_owned(),
        Fit::Choice(values) => {
            format!("one of {}", values.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))
        }
        Fit::Time => "time".to_owned(),
        Fit::Span => "span such as 15m".to_owned(),
        Fit::List { items, min, max, .. } => {
            let count = match (min, max) {
                (Some(min), Some(max)) => format!("{min} to {max} "),
                (Some(min), None) => format!("at least {min} "),
                (None, Some(max)) => format!("at most {max} "),
                (None, None) => String::new(),
            };
            format!("list of {count}{}", type_words(items, level + 1))
        }
        Fit::Object { properties, required } if level < LEVELS => {
            let member = |(name, ty): (&Name, &FieldType)| {
                let optional = if required.contains(name) { "" } else { "?" };
                format!("{name}{optional}: {}", type_words(ty, level + 1))
            };
            format!("object {{{}}}", properties.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Fit::Object { .. } | Fit::Map(_) => "object".to_owned(),
    }
}

/// What happens if the agent only ends.
fn end_section(text: &mut String, entity: &Entity, life: &Lifecycle, work: &RoleWork) {
    let possible = |event: &WorkEvent| {
        let transition = life.transition(&event.fire);
        transition.is_some_and(|it| it.arms.iter().any(|arm| arm.from.has(&entity.state)))
    };
    text.push_str("\n\n## The end of your work\n\n");
    match work.event(WorkStep::Done) {
        Some(event) if possible(event) => {
            let _ = write!(
                text,
                "When you end without having fired an event that moves it, Trackside fires `{}` for you",
                event.fire
            );
            text.push_str(match event.with.iter().any(|(_, it)| it.source().contains("run.exitText")) {
                true => ", and your last message is the result.",
                false => ".",
            });
        }
        Some(event) => {
            let _ = write!(
                text,
                "When you end, Trackside fires `{}` for you if it is possible then. It is not possible in the state {}: \
                 move it first.",
                event.fire, entity.state
            );
        }
        None => text.push_str(
            "Fire the event that fits before you end. When you end without one, nothing changes, and another process \
             is asked to do the same work.",
        ),
    }
    if let Some(event) = work.event(WorkStep::Failed).filter(|it| possible(it)) {
        let _ = write!(text, " When your process fails for good, it fires `{}`.", event.fire);
    }
    text.push('\n');
}
