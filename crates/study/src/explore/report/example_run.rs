//! A run for readers: each step with its actor, time and changes.

use serde::Serialize;
use trackside_engine::command::{Ask, Command, TransitionRef};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::explore::search::SearchStep;
use crate::explore::world::{MoveKind, StageModel, WorldMove, WorldState};

/// The shortest run that shows something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExampleRun {
    /// The setup.
    pub given: Vec<String>,
    pub steps: Vec<RunStep>,
    /// The result of the run.
    pub ending: String,
}

/// One step of a story.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunStep {
    pub at: String,
    /// The actor of the step: an actor's id, `time`, `sweep` or `outside`.
    pub who: String,
    /// The step as text: `asks approve of mission.task/T-1`.
    pub what: String,
    /// The entity that it is about, if one is.
    pub of: Option<String>,
    pub kind: RunStepKind,
    /// The results of the step, one line for each change.
    pub then: Vec<EntityChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStepKind {
    Ask,
    Time,
    Sweep,
    /// It was refused, or should have been.
    Surprise,
}

/// A change of an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntityChange {
    pub entity: String,
    pub what: String,
}

/// Describes a run.
pub(super) fn describe_run(
    start: &WorldState,
    steps: &[SearchStep<StageModel<'_>>],
    ending: String,
) -> ExampleRun {
    let given = start.entities().into_iter().map(|it| format!("{} is {}", it.key, it.state)).collect();
    let mut now = start.now;
    let mut told = Vec::new();
    for step in steps {
        told.push(one(now, &step.by, step.world.now));
        now = step.world.now;
    }
    ExampleRun { given, steps: told, ending }
}

fn one(before: Timestamp, by: &WorldMove, after: Timestamp) -> RunStep {
    let then = by.entries.iter().filter_map(entity_change).collect();
    match &by.what {
        MoveKind::Ask(command) => RunStep {
            at: before.to_string(),
            who: command.actor.id.to_string(),
            what: command_text(command),
            of: entity(command, &by.entries),
            kind: RunStepKind::Ask,
            then,
        },
        MoveKind::Wait(span) => RunStep {
            at: after.to_string(),
            who: "time".to_owned(),
            what: if span.0 == 0 {
                "the next timer is due".to_owned()
            } else {
                format!("{span} pass without requests")
            },
            of: by.entries.first().map(|it| it.entity.to_string()),
            kind: RunStepKind::Time,
            then,
        },
        MoveKind::Sweep => RunStep {
            at: before.to_string(),
            who: "sweep".to_owned(),
            what: "checks every entity".to_owned(),
            of: by.entries.first().map(|it| it.entity.to_string()),
            kind: RunStepKind::Sweep,
            then,
        },
        MoveKind::Surprise(kind, command, why) => RunStep {
            at: before.to_string(),
            who: command.actor.id.to_string(),
            what: command_text(command),
            of: entity(command, &[]),
            kind: RunStepKind::Surprise,
            then: vec![EntityChange {
                entity: entity(command, &[]).unwrap_or_default(),
                what: format!("{}: {why}", kind.says()),
            }],
        },
    }
}

fn entity(command: &Command, entries: &[Entry]) -> Option<String> {
    command.entity().map(ToString::to_string).or_else(|| entries.first().map(|it| it.entity.to_string()))
}

fn command_text(command: &Command) -> String {
    let with = |fields: &Fields| {
        if fields.is_empty() {
            return String::new();
        }
        let map = fields.iter().map(|(name, value)| (name.to_string(), value.to_json()));
        format!(" with {}", serde_json::Value::Object(map.collect()))
    };
    match &command.ask {
        Ask::Create { entity, fields } => format!("creates {entity}{}", with(fields)),
        Ask::Fire(fire) => {
            let name: &Name = match &fire.what {
                TransitionRef::Event(name) | TransitionRef::To(name) => name,
            };
            let late = match fire.fence {
                Some(fence) => format!(" (fence {fence})"),
                None => String::new(),
            };
            format!("fires {name} of {}{}{late}", fire.entity, with(&fire.fields))
        }
        Ask::Claim(claim) => {
            let event = claim.event.as_deref().unwrap_or("claim");
            format!("claims the next {} ({event})", claim.lifecycle)
        }
        Ask::Heartbeat { entity, slot, .. } => format!("renews the lease {slot} of {entity}"),
        Ask::EffectResult { entity, effect, ok, fields } => {
            let action = if *ok { "was done" } else { "failed" };
            format!("reports that effect {effect} of {entity} {action}{}", with(fields))
        }
        Ask::Due { entity, timer } => format!("timer {timer} of {entity} is due"),
        Ask::Correct { entity, .. } => format!("corrects {entity}"),
        Ask::Inspect { entity } => format!("inspects {entity}"),
        Ask::Repair { entity, .. } => format!("repairs the record of {entity}"),
        Ask::HandleAlert { entity, alert, action } => {
            format!("{}s alert {alert} of {entity}", action.as_str())
        }
        Ask::RaiseAlert { entity, .. } => format!("raises an alert of {entity}"),
        Ask::Seed(seed) => format!("puts {} in place", seed.entity),
        Ask::Import(entities) => format!("imports {} entities", entities.len()),
        Ask::Migrate(migrate) => format!("moves {} to version {}", migrate.entity, migrate.to),
        Ask::UndoMigration { entity, .. } => format!("undoes the migration of {entity}"),
        Ask::Redact(redact) => format!("redacts entries of {}", redact.entity),
        Ask::Configure(_) => "changes the project".to_owned(),
        Ask::Install(install) => format!("installs {}", install.pack),
        Ask::Space(_) => "watches the space of the data folder".to_owned(),
        Ask::Clock(_) => "corrects the clock".to_owned(),
        Ask::Rebase { entity, by } => format!("moves the timers of {entity} back by {by}"),
    }
}

fn entity_change(entry: &Entry) -> Option<EntityChange> {
    let what = match &entry.event {
        Event::Created { state, .. } => format!("is created: {state}"),
        Event::Transitioned { from, to, .. } => format!("{from} → {to} ({})", entry.trigger),
        Event::LeaseGranted { slot, lease, .. } => {
            let holder = lease.holder.as_deref().unwrap_or("nobody");
            format!("{holder} holds {slot} until {}", lease.expires_at)
        }
        Event::LeaseLost { slot, holder, .. } => {
            format!("{} has lost {slot}", holder.as_deref().unwrap_or("nobody"))
        }
        Event::TimerFired { timer, .. } => format!("timer {timer} is due"),
        Event::TimeoutWarned { timer, percent, .. } => format!("{percent} % of {timer} have passed"),
        Event::FailureCounted { counter, tally, .. } => format!("{counter} is {}", tally.value),
        Event::EffectRequested { effect, .. } => format!("effect {effect} is requested"),
        Event::ViolationFound { rule, message, .. } => format!("breaks {rule}: {message}"),
        Event::AlertRaised { kind, message, .. } if *kind == "dropped-move" => format!("alert: {message}"),
        Event::FieldsChanged { .. } => format!("{} is recorded", entry.trigger),
        _ => return None,
    };
    Some(EntityChange { entity: entry.entity.to_string(), what })
}
