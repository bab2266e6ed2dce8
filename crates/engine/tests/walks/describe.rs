//! Steps as people read them.

use trackside_engine::command::{Ask, Command, TransitionRef};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;

/// A command in a line.
pub(crate) fn describe_command(command: &Command) -> String {
    let shown = |fields: &Fields| {
        let all: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}: {}", value.to_json())).collect();
        if all.is_empty() { String::new() } else { format!(" with {{ {} }}", all.join(", ")) }
    };
    let what = match &command.ask {
        Ask::Create { entity, fields } => format!("create {entity}{}", shown(fields)),
        Ask::Fire(fire) => {
            let what = match &fire.what {
                TransitionRef::Event(name) => format!("{name} of {}", fire.entity),
                TransitionRef::To(state) => format!("{} to {state}", fire.entity),
            };
            let fence = fire.fence.map(|it| format!(" fence {it}")).unwrap_or_default();
            let version = fire.if_version.map(|it| format!(" at version {it}")).unwrap_or_default();
            format!("{what}{}{fence}{version}", shown(&fire.fields))
        }
        Ask::Claim(claim) => {
            let event = claim.event.as_deref().unwrap_or_default();
            format!("claim the next {} ({event}){}", claim.lifecycle, shown(&claim.fields))
        }
        Ask::Heartbeat { entity, slot, fence } => format!("heartbeat of {slot} of {entity}, fence {fence:?}"),
        Ask::Due { entity, timer } => format!("{timer} of {entity} is due"),
        Ask::EffectResult { entity, effect, ok, fields } => {
            format!("effect {effect} of {entity} {}{}", if *ok { "is done" } else { "failed" }, shown(fields))
        }
        Ask::Correct { entity, to, fields } => {
            format!("correct {entity} to {}{}", to.as_deref().unwrap_or("where it is"), shown(fields))
        }
        Ask::Inspect { entity } => format!("inspect {entity}"),
        Ask::Repair { entity, .. } => format!("repair {entity}"),
        Ask::HandleAlert { entity, alert, action } => {
            format!("{} alert {alert} of {entity}", action.as_str())
        }
        Ask::RaiseAlert { entity, .. } => format!("raise an alert of {entity}"),
        Ask::Seed(seed) => format!("seed {}", seed.entity),
        Ask::Import(entities) => {
            let all: Vec<String> = entities.iter().map(|it| it.entity.to_string()).collect();
            format!("import {}", all.join(", "))
        }
        Ask::Migrate(migrate) => format!("migrate {} to {}", migrate.entity, migrate.to),
        Ask::UndoMigration { entity, .. } => format!("take the migration of {entity} back"),
        Ask::Redact(redact) => format!("redact {:?} of {}", redact.entries, redact.entity),
        Ask::Configure(change) => format!("configure {change:?}"),
        Ask::Install(install) => format!("install {}", install.pack),
        Ask::Clock(news) => format!("{news:?}"),
        Ask::Space(_) => "report the space of the data folder".to_owned(),
        Ask::Rebase { entity, by } => format!("move the timers of {entity} back by {by}"),
    };
    let subject = command.on_behalf_of.as_ref().map(|it| format!(" for {it}")).unwrap_or_default();
    let reason = if command.reason.is_some() { ", with a reason" } else { "" };
    let key = command.idempotency_key.as_ref().map(|it| format!(", key {it}")).unwrap_or_default();
    format!("{}{subject} asks: {what}{reason}{key}", command.actor.id)
}

/// An entry in a line, if it is worth one.
pub(crate) fn describe_entry(entry: &Entry) -> Option<String> {
    let of = &entry.entity;
    Some(match &entry.event {
        Event::Created { state, .. } => format!("{of} is {state}"),
        Event::Transitioned { from, to, .. } => format!("{of} goes from {from} to {to} ({})", entry.trigger),
        Event::FieldsChanged { .. } => format!("{of}: {}", entry.trigger),
        Event::AlertRaised { kind, message, .. } => format!("alert {kind}: {message}"),
        Event::LeaseGranted { slot, lease, .. } => {
            format!(
                "{of} grants {slot} number {} to {}",
                lease.fence,
                lease.holder.as_deref().unwrap_or("nobody")
            )
        }
        Event::LeaseLost { slot, .. } => format!("{slot} of {of} is lost"),
        Event::Corrected { to, .. } => format!("{of} is corrected to {to}"),
        Event::ViolationFound { rule, .. } => format!("{of} breaks {rule}"),
        _ => return None,
    })
}
