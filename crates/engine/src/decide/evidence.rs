//! Refused requests that are journalled as evidence.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::time::Timestamp;

use super::DecisionBuilder;
use super::allowed::main_targets;
use super::fire::plain_scope;
use super::request::Request;
use crate::command::{Ask, Command, TransitionRef};
use crate::entity::Entity;
use crate::event::{Entry, Event};
use crate::fields::Fields;
use crate::law::Law;
use crate::refusal::Refusal;
use crate::view::{Found, Lookup};

/// The longest stored text, in bytes.
const LONGEST: usize = 16 * 1024;
/// Most entries per entity, so that refusals cannot fill the journal.
const MOST: u32 = 100;
/// Most entries per actor, so that one actor cannot use all of them.
const EACH: u32 = 20;
/// The same limits for actors whom no rule of the transition admits, such as one whose work was reassigned:
/// their requests are stored too, but fewer of them.
const MOST_OUTSIDE: u32 = 50;
const EACH_OUTSIDE: u32 = 5;

/// The entry that stores a refused request, if its lifecycle declares that.
pub(super) fn of(
    law: &Law,
    lookup: &Lookup<'_>,
    command: &Command,
    now: Timestamp,
    refusal: &Refusal,
) -> Option<Entry> {
    let Ask::Fire(fire) = &command.ask else { return None };
    if refusal.code.is_unknown_name() {
        return None;
    }
    let mut builder = DecisionBuilder::new(law, lookup, now, false);
    let Found::Here(entity) = lookup.entity(&fire.entity) else { return None };
    let life = law.definition(&fire.entity.lifecycle, entity.definition)?;
    let erased = life.state(&entity.state).is_some_and(|it| it.erase.is_some());
    if life.evidence.is_empty() || entity.kept >= MOST || erased {
        return None;
    }
    let request = Request::by(
        command.actor.clone(),
        command.on_behalf_of.clone(),
        Fields::default(),
        command.reason.clone(),
    );
    if !builder.may_read(life, entity, &request).unwrap_or(false) {
        return None;
    }
    let event = match &fire.what {
        TransitionRef::Event(name) => name.clone(),
        TransitionRef::To(state) => {
            let around = builder.surroundings();
            let scope = plain_scope(&around, life, entity, &request);
            // Prefers the arms that this actor could have meant in the present state.
            let meant = builder.candidates(life, entity, &fire.what, &request).unwrap_or_default();
            let meant = meant.into_iter().map(|it| &it.transition).find(|it| life.evidence.contains(it));
            let leads = life.transitions.iter().find(|it| {
                life.evidence.contains(&it.name)
                    && it.arms.iter().any(|arm| main_targets(&scope, arm).contains(state))
            });
            meant.or(leads.map(|it| &it.name))?.clone()
        }
    };
    if !life.evidence.contains(&event) {
        return None;
    }
    let mut arms = life.transition(&event)?.arms.iter();
    let admitted = arms.any(|arm| builder.permits(life, entity, &arm.by, &request).unwrap_or(false));
    if !has_room(life, entity, &request, admitted) {
        return None;
    }
    let kept = Event::EvidenceKept {
        code: refusal.code.as_str().into(),
        sent: fields_text(&fire.fields),
        fence: fire.fence,
        admitted: Some(admitted),
    };
    let mut entry = builder.entry(&fire.entity, &request, &event, kept);
    entry.request_id.clone_from(&command.request_id);
    Some(entry)
}

/// Whether the caller is below its limit.
fn has_room(life: &Lifecycle, entity: &Entity, request: &Request, admitted: bool) -> bool {
    let subject = request.subject_id();
    let of_them = entity.kept_of.iter().find(|it| it.actor == *subject);
    if admitted {
        return of_them.is_none_or(|it| it.admitted < EACH);
    }
    let outside: u32 = entity.kept_of.iter().map(|it| it.outside).sum();
    works_here(life, entity, request)
        && outside < MOST_OUTSIDE
        && of_them.is_none_or(|it| it.outside < EACH_OUTSIDE)
}

/// Whether the caller holds a lease on the entity, or has a role in the pack of its lifecycle.
fn works_here(life: &Lifecycle, entity: &Entity, request: &Request) -> bool {
    let holder = entity.leases.iter().any(|(_, it)| it.holder.as_ref() == Some(request.subject_id()));
    let pack = life.name.split_once('.').map_or(life.name.as_str(), |it| it.0);
    holder || request.actor.roles.iter().any(|it| it.split_once(':').is_none_or(|it| it.0 == pack))
}

/// The sent fields as text: unchecked values are not stored as values.
fn fields_text(fields: &Fields) -> Arc<str> {
    let map = fields.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
    let mut text = serde_json::Value::Object(map).to_string();
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    Arc::from(text)
}

#[cfg(test)]
mod tests {
    use trackside_lifecycle::name::Name;
    use trackside_lifecycle::value::Value;

    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let sent = |text: &str| {
            let mut fields = Fields::default();
            fields.put(&Name::new("text"), Value::text(text));
            fields_text(&fields)
        };
        assert_eq!(&*sent("short"), r#"{"text":"short"}"#);
        for shift in 0..4 {
            let long = format!("{}{}", "x".repeat(shift), "€".repeat(10_000));
            let kept = sent(&long);
            assert!(kept.len() <= LONGEST + "…".len() && kept.len() > LONGEST - 4, "{}", kept.len());
            assert!(kept.ends_with('…'));
        }
    }
}
