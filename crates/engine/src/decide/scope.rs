//! The values of names while a decision is made.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{self, Fault, Guard, VarSlot};
use trackside_lifecycle::model::{Count, Counter, EntityAttribute, Lifecycle, Read, SlotAttribute, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::draft::DecisionDraft;
use super::request::Request;
use super::rerank::within_id;
use super::{LISTED, LISTED_IN_STATE};
use crate::actor::{Actor, ActorKind};
use crate::entity::{Entity, Tally, ids_in};
use crate::event::TallyChange;
use crate::fields::Fields;
use crate::key::{EntityKey, GroupKey};
use crate::law::Law;
use crate::overdue::is_overdue;
use crate::policy;
use crate::ranking::RankingKey;
use crate::settings::effective;
use crate::view::{Found, Project};

/// The data that a decision reads.
pub(super) struct Surroundings<'a> {
    pub law: &'a Law,
    pub draft: &'a DecisionDraft<'a>,
    pub project: &'a Project,
    pub now: Timestamp,
}

/// The names of one entity, for one request.
pub(super) struct EntityScope<'a> {
    pub around: &'a Surroundings<'a>,
    pub life: &'a Lifecycle,
    pub entity: &'a Entity,
    /// Accepted values of the request.
    pub taken: &'a Fields,
    /// Stored fields that the request sent.
    pub base: &'a [(Name, Value)],
    /// The fields that rules have set so far; they override `base`.
    pub changed: &'a [(Name, Value)],
    /// Counter changes so far.
    pub counted: &'a [TallyChange],
    pub was: &'a Fields,
    pub request: &'a Request,
    /// Parameters of a query.
    pub ask: Option<&'a Fields>,
    /// The current element of a list.
    pub it: Option<&'a Value>,
}

impl guard::Scope for EntityScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(read) => self.read_value(read),
            None => Err(Fault::Failed("a name without a meaning".to_owned())),
        }
    }

    fn call(&self, _: u16, arguments: &[Value]) -> Result<Value, Fault> {
        let (Some(action), Some(with), Some(role), Some(rules)) =
            (arguments.first(), arguments.get(1), arguments.get(2), self.life.policy.as_ref())
        else {
            return Err(Fault::Failed("policy(action, arguments, role) needs three values".to_owned()));
        };
        let action = action.as_str().unwrap_or_default();
        policy::judge(rules, self.around.project, action, with, role.as_str()).map(|it| it.to_value())
    }
}

impl EntityScope<'_> {
    /// The other entity that is read.
    pub fn referenced_entity(&self, read: &Read) -> Option<EntityKey> {
        match read {
            Read::Ref(name, _) => {
                let reference = self.life.reference(name)?;
                let id = match &reference.by {
                    Some(field) => match self.field(field) {
                        Value::Text(id) => id,
                        _ => return None,
                    },
                    None => kind_of(&reference.to),
                };
                Some(EntityKey { lifecycle: reference.to.clone(), id })
            }
            Read::Me(_) => {
                let lifecycle = self.life.me.clone()?;
                Some(EntityKey { lifecycle, id: self.request.subject_id().clone() })
            }
            _ => None,
        }
    }

    fn read_value(&self, read: &Read) -> Result<Value, Fault> {
        let entity = self.entity;
        let actor = &self.request.actor;
        let now = self.around.now;
        Ok(match read {
            Read::Field(name) => self.field(name),
            Read::Taken(name) => self.taken.value(name),
            Read::Was(name) => self.was.value(name),
            Read::Computed(guard) | Read::Relation(guard) => return guard.eval(self),
            Read::Id => Value::from(&entity.key.id),
            Read::State => Value::from(&entity.state),
            Read::PreviousState => entity.previous_state.as_ref().map_or(Value::Null, Value::from),
            Read::Version => int(entity.version),
            Read::CreatedAt => Value::Time(entity.created_at),
            Read::UpdatedAt => Value::Time(entity.updated_at),
            Read::StateEnteredAt => Value::Time(entity.state_entered_at),
            Read::TimeInState => Value::Span(now.since(entity.state_entered_at)),
            Read::TimeByState => self.time_by_state(),
            Read::TotalTime => {
                let end = if self.is_final() { entity.state_entered_at } else { now };
                Value::Span(end.since(entity.created_at))
            }
            Read::Visits => {
                let visits = |state: &Name| entity.stay(state).map_or(0, |it| i64::from(it.visits));
                Value::map(
                    self.life
                        .states
                        .iter()
                        .map(|it| (it.name.clone(), Value::Int(visits(&it.name))))
                        .collect(),
                )
            }
            Read::Overdue => Value::Bool(is_overdue(self.life, entity, now)),
            Read::Reason => {
                self.request.reason.as_ref().map_or(Value::Null, |it| Value::Text(Name::from(it.clone())))
            }
            Read::Fence => self.request.fence.map_or(Value::Null, int),
            Read::ActorId => Value::from(&actor.id),
            Read::ActorKind => Value::text(actor.kind.as_str()),
            Read::ActorRoles => Value::list(self.roles_of(actor)),
            Read::SubjectId => Value::from(self.request.subject_id()),
            Read::Human => Value::Bool(actor.kind == ActorKind::Human),
            Read::Agent => Value::Bool(actor.kind == ActorKind::Agent),
            Read::System => Value::Bool(matches!(actor.kind, ActorKind::System | ActorKind::Timeout)),
            Read::Engine => Value::Bool(self.request.engine),
            Read::Admin => Value::Bool(actor.has_role("admin")),
            Read::Role(holders) => Value::Bool(actor.roles.iter().any(|it| holders.contains(it))),
            Read::Setting(place) => return self.setting(*place),
            Read::Counter(name) => return self.counter(name),
            Read::Counters(name) => return self.counters(name),
            Read::Slot(name, look) => self.slot(name, look),
            Read::Ref(_, look) | Read::Me(look) => match self.referenced_entity(read) {
                Some(key) => return self.attribute_of(&key, look),
                None => Value::Null,
            },
            Read::Group(name, count) => return self.group(name, count),
            Read::Rank(name) => return self.rank(name, false),
            Read::RankSize(name) => return self.rank(name, true),
            Read::All(name) => return self.all(name),
            Read::Listed(name, state) => return self.listed(name, state),
            Read::MovedAt(name) => {
                let group = GroupKey { of: entity.key.clone(), name: name.clone() };
                match self.around.draft.moved_at(&group, now) {
                    Found::Here(at) => at.map_or(Value::Null, Value::Time),
                    Found::Absent => Value::Null,
                    Found::Unknown => return Err(Fault::NotLoaded),
                }
            }
            Read::It => self.it.cloned().unwrap_or_default(),
            Read::Rows(_) | Read::Given(_) => Value::Null,
            Read::People => Value::list(self.around.project.people.iter().map(Value::from).collect()),
            Read::Now => Value::Time(now),
            Read::JournalSequence => int(self.around.draft.base().seq),
            Read::Ask(name) => self.ask.map_or(Value::Null, |it| it.value(name)),
        })
    }

    /// The roles of an actor. Roles of this pack are listed with and without its name.
    fn roles_of(&self, actor: &Actor) -> Vec<Value> {
        let own = actor.roles.iter().filter_map(|it| it.split_once(':'));
        let own = own.filter(|(pack, _)| *self.life.pack == **pack).map(|(_, role)| Value::text(role));
        actor.roles.iter().map(Value::from).chain(own).collect()
    }

    /// A field, overlaid with sent and computed values.
    pub fn field(&self, name: &str) -> Value {
        for laid_over in [self.changed, self.base] {
            if let Some((_, value)) = laid_over.iter().rev().find(|(it, _)| it == name) {
                return value.clone();
            }
        }
        self.entity.fields.value(name)
    }

    fn is_final(&self) -> bool {
        self.life.state(&self.entity.state).is_some_and(|it| it.last)
    }

    fn time_by_state(&self) -> Value {
        let mut times: BTreeMap<Name, Value> = BTreeMap::new();
        for stay in &self.entity.stays {
            let mut spent = stay.spent;
            if stay.state == self.entity.state && !self.is_final() {
                spent.0 = spent.0.saturating_add(self.around.now.since(self.entity.state_entered_at).0);
            }
            times.insert(stay.state.clone(), Value::Span(spent));
        }
        Value::map(times)
    }

    /// The entity's own word, then the project's, then the pack's.
    fn setting(&self, place: usize) -> Result<Value, Fault> {
        let Some(setting) = self.life.settings.get(place) else { return Ok(Value::Null) };
        let mut own = None;
        for from in &setting.from {
            let value = from.eval(self)?;
            if !value.is_null() {
                own = Some(value);
                break;
            }
        }
        Ok(effective(setting, &self.life.pack, self.around.project, own))
    }

    fn slot(&self, name: &Name, look: &SlotAttribute) -> Value {
        let lease = self.entity.lease(name);
        let held = lease.is_some_and(|it| it.holder.is_some());
        match look {
            SlotAttribute::Held => Value::Bool(held),
            SlotAttribute::Holder => lease.and_then(|it| it.holder.as_ref()).map_or(Value::Null, Value::from),
            SlotAttribute::Fence => lease.map_or(Value::Null, |it| int(it.fence)),
            SlotAttribute::Until => {
                lease.filter(|_| held).map_or(Value::Null, |it| Value::Time(it.expires_at))
            }
        }
    }

    fn attribute_of(&self, key: &EntityKey, look: &EntityAttribute) -> Result<Value, Fault> {
        let other = match self.around.draft.entity(key) {
            Found::Here(it) => it,
            Found::Absent => return Ok(Value::Null),
            Found::Unknown => return Err(Fault::NotLoaded),
        };
        Ok(match look {
            EntityAttribute::Id => Value::from(&other.key.id),
            EntityAttribute::State => Value::from(&other.state),
            EntityAttribute::PreviousState => other.previous_state.as_ref().map_or(Value::Null, Value::from),
            EntityAttribute::Version => int(other.version),
            EntityAttribute::CreatedAt => Value::Time(other.created_at),
            EntityAttribute::StateEnteredAt => Value::Time(other.state_entered_at),
            EntityAttribute::Final => {
                let life = self.around.law.definition(&key.lifecycle, other.definition);
                Value::Bool(life.and_then(|it| it.state(&other.state)).is_some_and(|it| it.last))
            }
            EntityAttribute::Field(name) => other.fields.value(name),
            EntityAttribute::Group(name, count) => {
                let life = self.around.law.definition(&key.lifecycle, other.definition);
                let Some(inverse) = life.and_then(|it| it.inverse(name)) else { return Ok(Value::Int(0)) };
                let group = GroupKey { of: key.clone(), name: name.clone() };
                return self.group_count(&group, &inverse.from, count);
            }
            EntityAttribute::Counter(name) => {
                let Some(life) = self.around.law.definition(&key.lifecycle, other.definition) else {
                    return Ok(Value::Null);
                };
                let there = EntityScope {
                    life,
                    entity: other,
                    taken: NO_FIELDS.get(),
                    base: &[],
                    changed: &[],
                    counted: &[],
                    ..*self
                };
                return there.counter(name);
            }
        })
    }

    fn group(&self, name: &Name, count: &Count) -> Result<Value, Fault> {
        if let Some(reference) = self.life.reference(name) {
            let mut counts: BTreeMap<Name, u64> = BTreeMap::new();
            let mut all = 0;
            let field = reference.by.as_ref().map_or(Value::Null, |it| self.field(it));
            for id in ids_in(Some(&field)) {
                all += 1;
                let state = self.attribute_of(
                    &EntityKey { lifecycle: reference.to.clone(), id },
                    &EntityAttribute::State,
                )?;
                if let Value::Text(state) = state {
                    *counts.entry(state).or_default() += 1;
                }
            }
            match count {
                Count::All => return Ok(int(all)),
                Count::Missing => return Ok(int(all - counts.values().sum::<u64>())),
                _ => {}
            }
            return Ok(int(self.tally_of(&reference.to, &counts, count)));
        }
        let Some(inverse) = self.life.inverse(name) else { return Ok(Value::Int(0)) };
        let group = GroupKey { of: self.entity.key.clone(), name: name.clone() };
        self.group_count(&group, &inverse.from, count)
    }

    /// The number of entities in a group that match `count`.
    fn group_count(&self, group: &GroupKey, of: &Name, count: &Count) -> Result<Value, Fault> {
        match self.around.draft.counts(group) {
            Found::Here(counts) => Ok(int(self.tally_of(of, counts, count))),
            Found::Absent => Ok(Value::Int(0)),
            Found::Unknown => Err(Fault::NotLoaded),
        }
    }

    /// Its own place in a ranking, or the size of its order, as they were before the command.
    fn rank(&self, name: &Name, size: bool) -> Result<Value, Fault> {
        let index = RankingKey { lifecycle: self.entity.key.lifecycle.clone(), name: name.clone() };
        let ranking = match self.around.draft.base().ranking(&index) {
            Found::Here(ranking) => ranking,
            Found::Absent => return Ok(if size { Value::Int(0) } else { Value::Null }),
            Found::Unknown => return Err(Fault::NotLoaded),
        };
        let whole = |it: usize| int(it as u64);
        if !size {
            return Ok(ranking.rank(&self.entity.key.id).map_or(Value::Null, whole));
        }
        let refs = self.life.ranking(name).map(|it| it.within.as_slice()).unwrap_or_default();
        let within = refs.iter().map(|it| within_id(self.life, it, self.entity)).collect();
        Ok(whole(ranking.size(&within)))
    }

    /// The open ones of an inverse, in the order of their ids.
    fn all(&self, name: &Name) -> Result<Value, Fault> {
        let group = GroupKey { of: self.entity.key.clone(), name: name.clone() };
        let Some(inverse) = self.life.inverse(name) else { return Ok(Value::list(Vec::new())) };
        let life = self.around.law.newest(&inverse.from);
        let open = |state: &Name| {
            life.and_then(|it| it.state(state)).is_none_or(|it| !it.last && it.outcome.is_none())
        };
        let members = match self.around.draft.members(&group, LISTED, open) {
            Found::Here(members) => members,
            Found::Absent => Vec::new(),
            Found::Unknown => return Err(Fault::NotLoaded),
        };
        if members.len() > LISTED {
            return Err(Fault::Failed(format!("{name} has more than {LISTED} that are open")));
        }
        self.members_as_maps(members)
    }

    /// The first of an inverse that are in one state, in the order of their ids.
    fn listed(&self, name: &Name, state: &Name) -> Result<Value, Fault> {
        let group = GroupKey { of: self.entity.key.clone(), name: name.clone() };
        let mut members = match self.around.draft.members(&group, LISTED_IN_STATE, |it| it == state) {
            Found::Here(members) => members,
            Found::Absent => Vec::new(),
            Found::Unknown => return Err(Fault::NotLoaded),
        };
        members.truncate(LISTED_IN_STATE);
        self.members_as_maps(members)
    }

    fn members_as_maps(&self, members: Vec<EntityKey>) -> Result<Value, Fault> {
        let mut all = Vec::with_capacity(members.len());
        for key in members {
            let member = match self.around.draft.entity(&key) {
                Found::Here(it) => it,
                Found::Absent => continue,
                Found::Unknown => return Err(Fault::NotLoaded),
            };
            let mut map: BTreeMap<Name, Value> =
                member.fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            map.insert(Name::new("id"), Value::from(&member.key.id));
            map.insert(Name::new("state"), Value::from(&member.state));
            map.insert(Name::new("version"), int(member.version));
            all.push(Value::map(map));
        }
        Ok(Value::list(all))
    }

    fn tally_of(&self, lifecycle: &Name, counts: &BTreeMap<Name, u64>, count: &Count) -> u64 {
        let life = self.around.law.newest(lifecycle);
        let outcome = |state: &Name| life.and_then(|it| it.state(state)).and_then(|it| it.outcome.clone());
        let closed = |state: &Name| {
            life.and_then(|it| it.state(state)).is_some_and(|it| it.last || it.outcome.is_some())
        };
        let sum =
            |wanted: &dyn Fn(&Name) -> bool| counts.iter().filter(|(it, _)| wanted(it)).map(|(_, n)| n).sum();
        match count {
            Count::All => counts.values().sum(),
            Count::Missing => 0,
            Count::State(state) => counts.get(state).copied().unwrap_or(0),
            Count::Closed => sum(&closed),
            Count::Open => sum(&|it| !closed(it)),
            Count::Outcome(wanted) => sum(&|it| outcome(it).as_ref() == Some(wanted)),
        }
    }

    fn counter(&self, name: &Name) -> Result<Value, Fault> {
        let Some(counter) = self.life.counter(name) else { return Ok(Value::Null) };
        let counted = self.counted.iter().rev().find(|it| it.counter == *name);
        let key = match &counter.tally {
            TallyBy::One => Name::new(SINGLE),
            TallyBy::PerState => self.entity.state.clone(),
            TallyBy::ByKey(_) => match counted {
                Some(it) => it.key.clone(),
                None => {
                    let last = self.entity.tallies(name).and_then(|it| it.by_key.last());
                    last.map_or_else(|| Name::new(SINGLE), |(key, _)| key.clone())
                }
            },
        };
        self.tally_value(counter, &key)
    }

    /// A counter's value under one key, now.
    pub fn tally_value(&self, counter: &Counter, key: &Name) -> Result<Value, Fault> {
        let counted = self.counted.iter().rev().find(|it| it.counter == counter.name && it.key == *key);
        let tally = match counted {
            Some(it) => it.tally.as_ref(),
            None => self.entity.tally(&counter.name, key),
        };
        let value = match tally {
            Some(tally) => self.in_window(counter, tally)?,
            None => 0.0,
        };
        Ok(amount(counter, value))
    }

    pub fn in_window(&self, counter: &Counter, tally: &Tally) -> Result<f64, Fault> {
        if let Some(within) = &counter.within {
            let within = self.span(within)?;
            let now = self.around.now;
            let fresh = tally.marks.iter().filter(|(at, _)| at.plus(within) > now && *at <= now);
            return Ok(fresh.map(|(_, amount)| amount).sum());
        }
        Ok(tally.value)
    }

    fn counters(&self, name: &Name) -> Result<Value, Fault> {
        let Some(counter) = self.life.counter(name) else { return Ok(Value::Null) };
        let mut values: BTreeMap<Name, Value> = BTreeMap::new();
        if matches!(counter.tally, TallyBy::PerState) {
            for state in &self.life.states {
                values.insert(state.name.clone(), self.tally_value(counter, &state.name)?);
            }
        } else {
            let kept =
                self.entity.tallies(name).into_iter().flat_map(|it| it.by_key.iter().map(|(key, _)| key));
            let counted = self.counted.iter().filter(|it| it.counter == *name).map(|it| &it.key);
            for key in kept.chain(counted) {
                values.insert(key.clone(), self.tally_value(counter, key)?);
            }
        }
        Ok(Value::map(values))
    }

    /// An expression that gives a length of time.
    pub fn span(&self, guard: &Guard) -> Result<Span, Fault> {
        let value = guard.eval(self)?;
        value
            .as_span()
            .ok_or_else(|| Fault::Failed(format!("`{}` gives {}, not a span", guard.source(), value.kind())))
    }

    /// The values that an expression read, for the refused caller. Fields that only some may read are left out.
    pub fn values_read(&self, guard: &Guard) -> BTreeMap<Name, Value> {
        let reads = guard.reads().iter();
        reads
            .filter(|it| !self.is_restricted(it))
            .filter_map(|it| {
                guard::Scope::read(self, it.slot).ok().map(|value| (root_of(it, self.life), value))
            })
            .collect()
    }
}

impl EntityScope<'_> {
    /// Whether a path reads a field that only some readers may see, here or in another entity.
    fn is_restricted(&self, read: &guard::VariableUse) -> bool {
        let restricted = |life: &Lifecycle, name: &str| life.field(name).is_some_and(|it| it.read.is_some());
        let there = |lifecycle: &Name, look: &EntityAttribute| match look {
            EntityAttribute::Field(name) => {
                self.around.law.newest(lifecycle).is_some_and(|it| restricted(it, name))
            }
            _ => false,
        };
        match self.life.reads.get(read.slot.0 as usize) {
            Some(Read::Field(name) | Read::Was(name)) => restricted(self.life, name),
            Some(Read::Ref(name, look)) => self.life.reference(name).is_some_and(|it| there(&it.to, look)),
            Some(Read::Me(look)) => self.life.me.as_ref().is_some_and(|it| there(it, look)),
            Some(Read::Computed(_)) => restricted(self.life, read.path.split('.').next().unwrap_or_default()),
            _ => false,
        }
    }
}

/// The part of a path that the slot covers.
fn root_of(read: &guard::VariableUse, life: &Lifecycle) -> Name {
    let segments = match life.reads.get(read.slot.0 as usize) {
        Some(
            Read::Was(_)
            | Read::Setting(_)
            | Read::Slot(..)
            | Read::Group(..)
            | Read::Rank(_)
            | Read::RankSize(_)
            | Read::MovedAt(_)
            | Read::All(_)
            | Read::People
            | Read::Ask(_)
            | Read::ActorId
            | Read::ActorKind
            | Read::ActorRoles
            | Read::SubjectId,
        ) => 2,
        Some(
            Read::Listed(..)
            | Read::Ref(_, EntityAttribute::Group(..))
            | Read::Me(EntityAttribute::Group(..)),
        ) => 3,
        Some(Read::Ref(_, look) | Read::Me(look)) if *look != EntityAttribute::Id => 2,
        _ => 1,
    };
    Name::from(read.path.split('.').take(segments).collect::<Vec<_>>().join("."))
}

/// The key of a counter's only tally.
pub(crate) const SINGLE: &str = "*";

/// An empty set of fields with a long enough lifetime.
pub(super) struct NoFields(std::sync::OnceLock<Fields>);
pub(super) static NO_FIELDS: NoFields = NoFields(std::sync::OnceLock::new());

impl NoFields {
    pub fn get(&self) -> &Fields {
        self.0.get_or_init(Fields::default)
    }
}

fn int(it: u64) -> Value {
    Value::Int(i64::try_from(it).unwrap_or(i64::MAX))
}

/// Whole numbers where whole things are counted.
pub(super) fn amount(counter: &Counter, value: f64) -> Value {
    if counter.add.is_some() { Value::Float(value) } else { Value::Int(value as i64) }
}

/// `control` of `mission.control`: the id of a lifecycle's only entity.
pub(crate) fn kind_of(lifecycle: &Name) -> Name {
    Name::new(lifecycle.split_once('.').map_or(lifecycle.as_str(), |(_, kind)| kind))
}
