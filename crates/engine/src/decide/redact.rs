//! Values and words of some entries of an entity are dropped from the journal for good.

use std::collections::BTreeSet;

use trackside_lifecycle::model::{Lifecycle, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::carry::shifts;
use super::configure::not_admin;
use super::fire::plain_scope;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::apply::evolve;
use crate::command::{Ask, Command, Redact};
use crate::entity::Entity;
use crate::event::{Changes, Entry, Event, UniqueClaim};
use crate::law::Law;
use crate::redact::{fields_to_clear, replay_without, tallies_to_correct};
use crate::refusal::{Code, ConditionCode, Refusal, Stage, Unmet};
use crate::view::Lookup;

impl DecisionBuilder<'_> {
    /// Only people with role admin, and always with a reason.
    pub fn redact(&mut self, redact: &Redact, request: &Request) -> Result<(), Stop> {
        let key = &redact.entity;
        let (life, entity) = self.existing_entity(key)?;
        let before = entity.clone();
        if !request.is_admin() {
            return Err(not_admin("redact the journal").into());
        }
        let mut unmet = Vec::new();
        if request.reason.as_ref().is_none_or(|it| it.trim().is_empty()) {
            unmet.push(
                Unmet::new(ConditionCode::Missing, "A redaction needs a reason, without what it drops")
                    .of("reason"),
            );
        }
        if redact.entries.is_empty() {
            unmet.push(Unmet::new(ConditionCode::Missing, "Say which entries").of("entries"));
        }
        let dropped: BTreeSet<u64> = redact.entries.iter().copied().collect();
        for seq in dropped.iter().filter(|seq| !redact.history.iter().any(|it| it.seq == **seq)) {
            unmet.push(
                Unmet::new(ConditionCode::UnknownEntry, format!("Entry {seq} does not belong to {key}"))
                    .of("entries"),
            );
        }
        let whole = redact.history.iter().all(|it| it.entity == *key)
            && replay_without(&redact.history, &BTreeSet::new()).as_ref() == Some(&before);
        let left = replay_without(&redact.history, &left_out(redact));
        let (Some(left), true) = (left, whole) else {
            let message = format!("The entries given are not the whole history of {key}: load it again");
            return Err(Refusal::one(Code::VersionMismatch, message).into());
        };
        let mut fields = fields_to_clear(&before, &left);
        check_replacements(&life, &before, redact, &mut fields, &mut unmet);
        let gone = Gone::of(redact, &dropped);
        // A replay may start from a stored entity that still has the dropped values: everything a dropped entry set
        // is written again.
        for name in gone.fields {
            if !fields.iter().any(|(it, _)| it == name) {
                fields.push((name.clone(), before.fields.value(name)));
            }
        }
        let keyed = |name: &Name| life.counter(name).is_some_and(|it| matches!(it.tally, TallyBy::ByKey(_)));
        let mut changes = Changes {
            fields,
            tallies: tallies_to_correct(&before, &left, &gone.counters, keyed),
            ..Changes::default()
        };
        let make = |changes: Changes| Event::Redacted { entries: dropped.iter().copied().collect(), changes };
        let mut next = before.clone();
        evolve(&mut next, &make(changes.clone()), self.now, before.version + 1);
        for (name, message) in life.state(&before.state).map(|it| it.require.as_slice()).unwrap_or_default() {
            if !before.fields.value(name).is_blank() && next.fields.value(name).is_blank() {
                let message = format!(
                    "{} needs {name} ({message}), and this would clear it: say what it becomes, or change it first",
                    before.state
                );
                unmet.push(Unmet::new(ConditionCode::Missing, message).of(name));
            }
        }
        if !unmet.is_empty() {
            return Err(Refusal::with(Code::CannotRedact, unmet).into());
        }
        {
            let around = self.surroundings();
            let scope = EntityScope { was: &before.fields, ..plain_scope(&around, &life, &next, request) };
            changes.timers = self.timer_changes(&scope, Some(&before), &Name::new("redact"), false)?;
            changes.shifts = shifts(&life, Some(&before), &next);
            changes.same = self.same_change(&scope, before.same.as_ref())?;
            if changes.same.is_none() && (gone.same || left.same != before.same) {
                changes.same = Some(UniqueClaim::new(before.same.clone()));
            }
        }
        self.count_move()?;
        let seq = self.record(key, request, &Name::new("redact"), make(changes));
        // The dropped entry may be the one that set its place.
        self.restated.push(key.clone());
        self.root.get_or_insert(seq);
        self.still_answered(&life, &before)
    }
}

/// The data that the dropped entries contain.
struct Gone<'a> {
    fields: BTreeSet<&'a Name>,
    counters: BTreeSet<&'a Name>,
    /// Whether they contain a unique value.
    same: bool,
}

impl<'a> Gone<'a> {
    fn of(redact: &'a Redact, dropped: &BTreeSet<u64>) -> Self {
        let mut gone = Self { fields: BTreeSet::new(), counters: BTreeSet::new(), same: false };
        for entry in redact.history.iter().filter(|it| dropped.contains(&it.seq)) {
            let Some(changes) = entry.event.changes() else { continue };
            gone.fields.extend(changes.fields.iter().map(|(name, _)| name));
            gone.counters.extend(changes.tallies.iter().map(|it| &it.counter));
            gone.same |= changes.same.is_some();
        }
        gone
    }
}

/// Entries that a replay will find without their contents: those dropped now, and those dropped before,
/// whose bytes may still be in the file for a moment.
fn left_out(redact: &Redact) -> BTreeSet<u64> {
    let mut without: BTreeSet<u64> = redact.entries.iter().copied().collect();
    for entry in &redact.history {
        match &entry.event {
            Event::Redacted { entries, .. } => without.extend(entries),
            Event::Erased { .. } => {
                without.extend(redact.history.iter().map(|it| it.seq).filter(|it| *it < entry.seq));
            }
            _ => {}
        }
    }
    without
}

/// Whether a rule of the definition refused the redaction because it needs a value that would be cleared.
pub(super) fn is_of_a_rule(refusal: &Refusal) -> bool {
    refusal.stage >= Stage::Follow || refusal.code == Code::EvaluationFailed
}

/// Rewrites that refusal to help: the fields that a rule needs, the entry each came from, and the rule's
/// message.
pub(super) fn needed(
    law: &Law,
    lookup: &Lookup<'_>,
    command: &Command,
    redact: &Redact,
    now: Timestamp,
    refusal: &Refusal,
) -> Refusal {
    let dropped: BTreeSet<u64> = redact.entries.iter().copied().collect();
    let left = replay_without(&redact.history, &left_out(redact));
    let (Some(before), Some(left)) = (lookup.get(&redact.entity), left) else {
        return refusal.clone();
    };
    let gone: Vec<Name> = fields_to_clear(before, &left)
        .into_iter()
        .map(|(name, _)| name)
        .filter(|it| redact.becomes.get(it).is_none() && before.fields.get(it).is_some())
        .collect();
    // One alone, the others as they are: does the rule still object?
    let is_needed = |name: &&Name| {
        let mut becomes = redact.becomes.clone();
        for other in gone.iter().filter(|it| it != name) {
            becomes.put(other, before.fields.value(other).clone());
        }
        let redact = Redact { becomes, ..redact.clone() };
        let again = Command { ask: Ask::Redact(redact), ..command.clone() };
        let mut builder = DecisionBuilder::new(law, lookup, now, false);
        matches!(builder.run(&again).and_then(|()| builder.rerank()), Err(Stop::Refused(_)))
    };
    let mut needed: Vec<&Name> = gone.iter().filter(is_needed).collect();
    if needed.is_empty() {
        // No field is needed on its own: the rule needs one of several.
        needed = gone.iter().collect();
    }
    let sets = |entry: &Entry, name: &Name| {
        entry.event.changes().is_some_and(|it| it.fields.iter().any(|(it, _)| it == name))
    };
    let unmet = |name: &Name| {
        let from = redact.history.iter().rev().find(|it| dropped.contains(&it.seq) && sets(it, name));
        let (from, other) = match from {
            Some(entry) => {
                (format!(", which came with entry {}", entry.seq), format!("leave entry {} out", entry.seq))
            }
            None => (String::new(), "leave the entry out that it came with".to_owned()),
        };
        let message = format!(
            "A rule of {} needs {name}{from}, and this would clear it ({}): say what it becomes, or {other}",
            redact.entity.lifecycle, refusal.detail
        );
        Unmet::new(ConditionCode::Needed, message).of(name)
    };
    let errors: Vec<Unmet> = needed.into_iter().map(unmet).collect();
    if errors.is_empty() { refusal.clone() } else { Refusal::with(Code::CannotRedact, errors) }
}

/// The new values of cleared fields: the default, the fields that a lease sets, then those that the request
/// names.
fn check_replacements(
    life: &Lifecycle,
    before: &Entity,
    redact: &Redact,
    fields: &mut [(Name, Value)],
    unmet: &mut Vec<Unmet>,
) {
    // A field without a value gets its default.
    for (name, value) in fields.iter_mut().filter(|it| it.1.is_null()) {
        if let Some(field) = life.field(name) {
            *value = field.default.clone();
        }
    }
    let mut put = |name: &Name, value: Value| match fields.iter_mut().find(|(it, _)| it == name) {
        Some(slot) => {
            slot.1 = value;
            true
        }
        None => false,
    };
    for slot in &life.slots {
        let Some(lease) = before.lease(&slot.name).filter(|it| it.holder.is_some()) else { continue };
        if let Some(field) = &slot.until {
            put(field, Value::Time(lease.expires_at));
        }
        if let (Some(field), Some(holder)) = (&slot.holder, &lease.holder) {
            put(field, Value::from(holder));
        }
    }
    for (name, value) in redact.becomes.iter() {
        let Some(field) = life.field(name).filter(|it| it.is.is_none()) else {
            unmet.push(
                Unmet::new(ConditionCode::UnknownField, format!("{} has no field {name}", life.name))
                    .of(name),
            );
            continue;
        };
        match field.fits.accept(name, value) {
            Ok(value) if put(name, value.clone()) => {}
            Ok(_) => {
                let message = format!("{name} does not come from these entries, so nothing becomes of it");
                unmet.push(Unmet::new(Code::UnexpectedField, message).of(name));
            }
            Err(misfits) => {
                unmet.extend(misfits.into_iter().map(|it| Unmet::new(it.code, it.message).of(&it.path)));
            }
        }
    }
}
