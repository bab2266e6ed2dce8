//! An entity with all facts that the rules derive for a reader.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::Actor;
use crate::decide::{CounterValue, allowed, computed_field, computed_fields, counter_values};
use crate::entity::{Entity, Lease, TimerState};
use crate::law::Law;
use crate::observe::EntryAccess;
use crate::view::{Needs, View};

/// Stands for the allowed targets among unknown facts.
const ALLOWED: &str = "allowedTransitions";

/// Facts that the rules derive from an entity: computed fields, and the targets that the reader may move it to.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityFacts {
    pub computed: Vec<(Name, Value)>,
    /// The counters that the reader may see.
    pub counters: Vec<CounterValue>,
    /// The percentages at which its timers warn, by timer.
    pub warnings: Vec<(Name, Vec<u32>)>,
    /// Whether no transition leaves its state.
    pub is_final: bool,
    /// The target states that the rules permit the reader. Required fields are not considered.
    pub allowed: Vec<Name>,
    /// Computed fields and counters that are left out because the data they need cannot be found out; `allowedTransitions` stands
    /// for the allowed targets. Only the past has such gaps.
    pub unknown: Vec<Name>,
    /// Fields that the reader may not see.
    pub hidden: Vec<Name>,
}

impl EntityFacts {
    pub fn derive(
        law: &Law,
        view: &View,
        entity: &Entity,
        reader: &Actor,
        now: Timestamp,
    ) -> Result<Self, Needs> {
        let life = law.definition(&entity.key.lifecycle, entity.definition).map(|it| &**it);
        let is_final = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.last);
        let computed = computed_fields(law, view, entity, reader, now)?;
        let allowed = allowed(law, view, entity, reader, now)?;
        let hidden = EntryAccess::of(law, view, entity, reader, now)?.hidden;
        let counters = counter_values(law, view, entity, reader, now, &hidden)?;
        let warnings = warnings(life, entity);
        Ok(Self { computed, counters, warnings, is_final, allowed, unknown: Vec::new(), hidden })
    }

    /// Names every fact that depends on the view as unknown.
    pub fn forget(&mut self) {
        self.unknown.extend(self.computed.drain(..).map(|(name, _)| name));
        self.unknown.extend(self.counters.drain(..).map(|it| it.name));
        if self.unknown.iter().all(|it| it.as_str() != ALLOWED) {
            self.unknown.push(Name::new(ALLOWED));
        }
        self.allowed = Vec::new();
    }

    /// The facts that the view is enough for; the others are named in `unknown`.
    pub fn derive_known(law: &Law, view: &View, entity: &Entity, reader: &Actor, now: Timestamp) -> Self {
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let is_final = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.last);
        // Rights that cannot be found out hide every restricted field.
        let hidden = match EntryAccess::of(law, view, entity, reader, now) {
            Ok(access) => access.hidden,
            Err(_) => life
                .into_iter()
                .flat_map(|it| it.restricted_fields())
                .map(|(it, _)| it.name.clone())
                .collect(),
        };
        let mut facts = Self {
            computed: Vec::new(),
            counters: Vec::new(),
            warnings: warnings(life.map(|it| &**it), entity),
            is_final,
            allowed: Vec::new(),
            unknown: Vec::new(),
            hidden,
        };
        let names = life.into_iter().flat_map(|it| it.fields.values()).filter(|it| it.is.is_some());
        for name in names.map(|it| &it.name) {
            match computed_field(law, view, entity, reader, now, name) {
                Ok(value) => facts.computed.push((name.clone(), value)),
                Err(_) => facts.unknown.push(name.clone()),
            }
        }
        match counter_values(law, view, entity, reader, now, &facts.hidden) {
            Ok(counters) => facts.counters = counters,
            Err(_) => {
                let declared = life.into_iter().flat_map(|it| &it.counters);
                facts.unknown.extend(declared.map(|it| it.name.clone()));
            }
        }
        match allowed(law, view, entity, reader, now) {
            Ok(allowed) => facts.allowed = allowed,
            Err(_) => facts.unknown.push(Name::new(ALLOWED)),
        }
        facts
    }
}

/// The percentages at which the timers of an entity warn.
fn warnings(life: Option<&Lifecycle>, entity: &Entity) -> Vec<(Name, Vec<u32>)> {
    let declared = entity.timers.iter().filter_map(|(name, _)| life?.timer(name));
    let warning = declared.filter(|it| !it.warn.is_empty());
    warning.map(|it| (it.name.clone(), it.warn.iter().map(|it| it.percent).collect())).collect()
}

/// An entity as one reader sees it at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentedEntity {
    pub entity: Arc<Entity>,
    pub facts: EntityFacts,
    pub now: Timestamp,
}

impl PresentedEntity {
    pub fn new(
        law: &Law,
        view: &View,
        entity: &Arc<Entity>,
        reader: &Actor,
        now: Timestamp,
    ) -> Result<Self, Needs> {
        let facts = EntityFacts::derive(law, view, entity, reader, now)?;
        Ok(Self { entity: entity.clone(), facts, now })
    }

    /// Its own fields and the computed ones that the reader may see, by name.
    pub fn fields(&self) -> Vec<(&Name, &Value)> {
        let computed = self.facts.computed.iter().map(|(name, value)| (name, value));
        // A field that is computed now may have been stored by an earlier definition.
        let mut pairs: Vec<(&Name, &Value)> = computed.chain(self.entity.fields.iter()).collect();
        pairs.sort_by(|a, b| a.0.cmp(b.0));
        pairs.dedup_by(|a, b| a.0 == b.0);
        pairs.retain(|(name, _)| !self.facts.hidden.contains(name));
        pairs
    }

    /// Running and paused timers. In a final state, only timers that will still fire.
    pub fn timers(&self) -> impl Iterator<Item = &(Name, TimerState)> {
        self.entity.timers.iter().filter(|(_, timer)| !self.facts.is_final || timer.due.is_some())
    }

    /// The percentages at which a timer warns.
    pub fn warnings(&self, timer: &Name) -> &[u32] {
        self.facts.warnings.iter().find(|(name, _)| name == timer).map_or(&[], |(_, it)| it)
    }

    /// Leases with their slot and holder.
    pub fn leases(&self) -> impl Iterator<Item = (&Name, &Name, &Lease)> {
        self.entity.leases.iter().filter_map(|(slot, lease)| Some((slot, lease.holder.as_ref()?, lease)))
    }
}
