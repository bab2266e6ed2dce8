//! Rebuilds commands from their journal entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind, ENGINE};
use trackside_engine::command::{AlertAction, Ask, Command, Fire, ImportedEntity, Seed, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Changes, Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::import_origin::ImportOrigin;
use trackside_engine::journal::Journal;
use trackside_engine::key::EntityKey;
use trackside_engine::project::{ProjectChange, project_key};
use trackside_engine::refusal::Stage;
use trackside_engine::{Decision, Law, View, apply, decide};
use trackside_lifecycle::model::{Aim, Arm, Take, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::actors::Actors;
use super::steps::DecisionStep;

/// The reconstruction of one decision.
#[derive(Clone, Debug)]
pub(super) enum Rebuilt {
    /// The command has the recorded result; `exact` means in every value.
    Command { command: Box<Command>, exact: bool },
    /// A timer that was due: time does it again.
    Clock,
    /// The single entity of a lifecycle, made when a project begins.
    Founding,
    /// It cannot be reconstructed.
    Lost(String),
}

pub(super) struct Rebuilder<'a> {
    law: &'a Law,
    known: Actors,
    /// Roles that the old rules require, by actor.
    learned: BTreeMap<Name, Vec<Name>>,
}

impl<'a> Rebuilder<'a> {
    pub fn new(law: &'a Law, known: Actors) -> Self {
        Self { law, known, learned: BTreeMap::new() }
    }

    /// Roles that were not given: the fewest that the old rules accept.
    pub fn inferred_roles(&self) -> Vec<(Name, Vec<Name>)> {
        self.learned.iter().map(|(id, roles)| (id.clone(), roles.clone())).collect()
    }

    /// Rebuilds every command of a journal and tries it against the state at that moment.
    pub fn rebuild_all(&mut self, journal: &Journal, steps: &[DecisionStep]) -> Vec<Rebuilt> {
        let mut view = View::default();
        view.project = journal.about.project();
        let mut all = Vec::new();
        for step in steps {
            let group = journal.entries.get(step.entries.clone()).unwrap_or_default();
            if let Some(root) = journal.entries.get(step.root) {
                all.push(self.rebuild_command(&view, root, group));
            }
            for entry in group {
                apply(&mut view, entry);
            }
        }
        all
    }

    fn rebuild_command(&mut self, view: &View, root: &Entry, group: &[Entry]) -> Rebuilt {
        if root.actor_kind == ActorKind::Timeout {
            return Rebuilt::Clock;
        }
        let founding =
            |key: &EntityKey| self.law.newest(&key.lifecycle).is_some_and(|it| it.one && it.kind == key.id);
        if root.actor == *ENGINE
            && matches!(root.trigger.as_str(), "create" | "given")
            && founding(&root.entity)
        {
            return Rebuilt::Founding;
        }
        let asks = asks(self.law, view, root, group);
        let mut refused = None;
        let mut rough = None;
        let roles = self.known.0.get(&root.actor).or_else(|| self.learned.get(&root.actor)).cloned();
        let roles = roles.unwrap_or_default();
        let mut sets = vec![roles.clone()];
        if !self.known.0.contains_key(&root.actor) {
            let more = self.roles().into_iter().filter(|it| !roles.contains(it));
            sets.extend(more.map(|it| roles.iter().cloned().chain([it]).collect()));
        }
        for roles in sets {
            for (ask, reason) in &asks {
                let actor = Actor::new(root.actor.clone(), root.actor_kind).with_roles(roles.clone());
                let mut command = Command::new(actor, ask.clone());
                command.on_behalf_of.clone_from(&root.on_behalf_of);
                command.reason.clone_from(reason);
                match decide(self.law, view, &command, root.at) {
                    Ok(Decision::Accepted(it)) if same(&it.entries, group) => {
                        self.learn(&root.actor, &roles);
                        return Rebuilt::Command { command: Box::new(command), exact: true };
                    }
                    Ok(Decision::Accepted(it)) if same(&facts(&it.entries), &facts(group)) => {
                        rough.get_or_insert((command, roles.clone()));
                    }
                    Ok(Decision::Accepted(_)) => {
                        refused.get_or_insert((false, "its result would differ".to_owned()));
                    }
                    Ok(Decision::Refused(it)) => {
                        let by_role = it.stage <= Stage::Who || it.code.is_unknown_name();
                        refused.get_or_insert((by_role, it.detail.clone()));
                    }
                    _ => {}
                }
            }
            // Other roles help only if the refusal was about roles.
            if rough.is_some() || !refused.as_ref().is_some_and(|(by_role, _)| *by_role) {
                break;
            }
        }
        if let Some((command, roles)) = rough {
            self.learn(&root.actor, &roles);
            return Rebuilt::Command { command: Box::new(command), exact: false };
        }
        let lost = lost_values(self.law, view, root);
        Rebuilt::Lost(match (refused, lost.as_slice()) {
            (_, [first, ..]) => format!("value `{first}` was sent but not stored"),
            (Some((_, why)), _) => format!("the old definition refuses the rebuilt command: {why}"),
            (None, _) => format!("{} is not a command", root.event.kind()),
        })
    }

    fn learn(&mut self, actor: &Name, roles: &[Name]) {
        if !self.known.0.contains_key(actor) && !roles.is_empty() {
            self.learned.insert(actor.clone(), roles.to_vec());
        }
    }

    /// Every role, those that include the fewest first.
    fn roles(&self) -> Vec<Name> {
        let mut all: Vec<(usize, Name)> = Vec::new();
        for pack in self.law.packs() {
            all.extend(pack.roles.iter().map(|(name, includes)| (includes.len(), name.clone())));
        }
        all.sort();
        all.into_iter().map(|(_, name)| name).chain([Name::new("admin")]).collect()
    }
}

/// Every request that may have caused it, the one with the most fields first.
fn asks(law: &Law, view: &View, root: &Entry, group: &[Entry]) -> Vec<(Ask, Option<Arc<str>>)> {
    let entity = root.entity.clone();
    let none = Changes::default();
    let changes = root.event.changes().unwrap_or(&none);
    let all: Fields = changes.fields.iter().cloned().collect();
    let plain = |ask: Ask| vec![(ask, root.reason.clone())];
    match &root.event {
        Event::Corrected { to, .. } if root.trigger == "given" || root.trigger == "import" => {
            let tallies = changes.tallies.iter().filter_map(|it| {
                it.tally.as_ref().map(|tally| (it.counter.clone(), it.key.clone(), tally.value))
            });
            let leases = group.iter().filter_map(|it| match &it.event {
                Event::LeaseGranted { slot, lease, .. } => Some((slot.clone(), lease.holder.clone()?)),
                _ => None,
            });
            let leases: Vec<(Name, Name)> = leases.collect();
            let (state, tallies) = (Some(to.clone()), tallies.collect());
            if root.trigger == "given" {
                return plain(Ask::Seed(Seed { entity, state, fields: all, tallies, leases }));
            }
            let none = || ImportOrigin { name: Arc::from(""), file: None };
            let origin = ImportOrigin::of(root).unwrap_or_else(none);
            let it = ImportedEntity { entity, state, fields: all, tallies, leases, origin, place: 0 };
            plain(Ask::Import(vec![it]))
        }
        Event::Corrected { to, .. } if root.trigger == "correct" => {
            plain(Ask::Correct { entity, to: Some(to.clone()), fields: all })
        }
        Event::ProjectChanged { change } => plain(Ask::Configure(ProjectChange::clone(change))),
        // Renewed by the engine after a server outage, without a request.
        Event::LeaseRenewed { slot, lease, .. } if root.actor_kind != ActorKind::Timeout => {
            plain(Ask::Heartbeat { entity, slot: slot.clone(), fence: Some(lease.fence) })
        }
        Event::EffectSettled { id, ok, .. } => {
            let move_of = group.iter().find(|it| it.entity == entity && it.event.changes().is_some());
            let fields =
                move_of.and_then(|it| it.event.changes()).map(|it| it.fields.iter().cloned().collect());
            plain(Ask::EffectResult { entity, effect: *id, ok: *ok, fields: fields.unwrap_or_default() })
        }
        Event::ViolationFound { .. } | Event::ViolationCleared { .. } => plain(Ask::Inspect { entity }),
        Event::AlertAcknowledged { alert } => {
            plain(Ask::HandleAlert { entity, alert: *alert, action: AlertAction::Acknowledge })
        }
        // The alert about the clock belongs to no entity, and the server's own news are no requests.
        Event::AlertResolved { alert } if entity != *project_key() && root.actor != *ENGINE => {
            plain(Ask::HandleAlert { entity, alert: *alert, action: AlertAction::Resolve })
        }
        Event::Created { .. } => creations(law, &entity, changes, root),
        Event::Transitioned { .. } | Event::FieldsChanged { .. } => fires(law, view, &entity, changes, root),
        _ => Vec::new(),
    }
}

fn creations(law: &Law, entity: &EntityKey, changes: &Changes, root: &Entry) -> Vec<(Ask, Option<Arc<str>>)> {
    let Some(life) = law.newest(&entity.lifecycle) else { return Vec::new() };
    let taken = sent_fields(&life.create.takes, changes, None);
    let default = |name: &Name, value: &Value| life.field(name).is_some_and(|it| it.default == *value);
    let meant: Fields =
        taken.iter().filter(|(name, it)| !default(name, it)).map(|(a, b)| (a.clone(), b.clone())).collect();
    let ask = |fields: Fields| (Ask::Create { entity: entity.clone(), fields }, root.reason.clone());
    vec![ask(meant), ask(taken)]
}

fn fires(
    law: &Law,
    view: &View,
    entity: &EntityKey,
    changes: &Changes,
    root: &Entry,
) -> Vec<(Ask, Option<Arc<str>>)> {
    let Some(before) = view.get(entity) else { return Vec::new() };
    let Some(life) = law.definition(&entity.lifecycle, before.definition) else { return Vec::new() };
    let arms = life.transition(&root.trigger).map(|it| it.arms.as_slice()).unwrap_or_default();
    let mut asks = Vec::new();
    for arm in arms.iter().filter(|it| it.from.has(&before.state)) {
        let reason = root.reason.clone();
        let gates =
            life.gates.iter().filter(|it| it.binds(&root.trigger)).flat_map(|it| it.takes.iter().cloned());
        let takes: Vec<Take> = arm.takes.iter().cloned().chain(gates).collect();
        for fields in [
            sent_fields(&takes, changes, Some(before)),
            required_fields(&takes, changes, before),
            Fields::default(),
        ] {
            let mut fields = fields;
            if let (true, (_, Some(to))) = (asks_for_target(arm), root.edge()) {
                fields.put(&Name::new("to"), Value::from(to));
            }
            let fire = Fire {
                entity: entity.clone(),
                what: TransitionRef::Event(root.trigger.clone()),
                fields: fields.clone(),
                fence: None,
                if_version: None,
            };
            asks.push((Ask::Fire(fire), reason.clone()));
            if life.create.again.as_ref() == Some(&root.trigger) {
                asks.push((Ask::Create { entity: entity.clone(), fields }, reason.clone()));
            }
        }
    }
    asks
}

/// The changes that the request may have sent.
fn sent_fields(takes: &[Take], changes: &Changes, before: Option<&Entity>) -> Fields {
    let mut fields = Fields::default();
    for take in takes.iter().filter(|it| it.stored) {
        let changed =
            changes.fields.iter().find(|(name, _)| *name == take.name).map(|(_, value)| value.clone());
        let kept =
            before.and_then(|it| it.fields.get(&take.name).cloned()).filter(|_| take.required.is_some());
        if let Some(value) = changed.filter(|it| !it.is_null()).or(kept) {
            fields.put(&take.name, value);
        }
    }
    fields
}

/// Only the fields that the request must have sent.
fn required_fields(takes: &[Take], changes: &Changes, before: &Entity) -> Fields {
    let needed: Vec<Take> = takes.iter().filter(|it| it.required.is_some()).cloned().collect();
    sent_fields(&needed, changes, Some(before))
}

fn asks_for_target(arm: &Arm) -> bool {
    let ask = |aim: &Aim| matches!(aim, Aim::Ask { .. });
    match &arm.target {
        Target::One(aim) => ask(aim),
        Target::Choices(choices) => choices.iter().any(|it| ask(&it.aim)),
    }
}

/// Values that the transition takes but does not store.
fn lost_values(law: &Law, view: &View, root: &Entry) -> Vec<Name> {
    let Some(life) = law.newest(&root.entity.lifecycle) else { return Vec::new() };
    let state = view.get(&root.entity).map(|it| it.state.clone());
    let arms = life.transition(&root.trigger).map(|it| it.arms.as_slice()).unwrap_or_default();
    let leaving = arms.iter().filter(|it| state.as_ref().is_some_and(|state| it.from.has(state)));
    let creating = matches!(root.event, Event::Created { .. });
    let takes = leaving.flat_map(|it| &it.takes).chain(life.create.takes.iter().filter(|_| creating));
    takes.filter(|it| !it.stored).map(|it| it.name.clone()).collect()
}

/// Whether a decision wrote the recorded entries, ignoring numbers, keys and places.
fn same<E: std::borrow::Borrow<Entry>>(decided: &[E], written: &[E]) -> bool {
    let alike = |(a, b): (&E, &E)| {
        let (a, b): (&Entry, &Entry) = (a.borrow(), b.borrow());
        a.entity == b.entity && a.trigger == b.trigger && equal(&a.event, &b.event)
    };
    decided.len() == written.len() && decided.iter().zip(written).all(alike)
}

/// Equal regardless of field order.
fn equal(a: &Event, b: &Event) -> bool {
    let (Some(x), Some(y)) = (a.changes(), b.changes()) else { return a == b };
    let fields = x.fields.len() == y.fields.len() && x.fields.iter().all(|it| y.fields.contains(it));
    fields && a.kind() == b.kind() && x.tallies == y.tallies && x.timers == y.timers && x.same == y.same
}

/// The parts that later decisions depend on, without texts for people.
fn facts(entries: &[Entry]) -> Vec<&Entry> {
    let said = |event: &Event| {
        matches!(event, Event::MessagePosted { .. } | Event::Notified { .. } | Event::AlertRaised { .. })
    };
    entries.iter().filter(|it| !said(&it.event)).collect()
}
