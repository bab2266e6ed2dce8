//! The counters of an entity with their limits, as a reader sees them.

use trackside_lifecycle::guard::Fault;
use trackside_lifecycle::model::{Counter, Lifecycle, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::plan::sample_entity_scope;
use super::scope::{EntityScope, SINGLE};
use crate::actor::Actor;
use crate::entity::Entity;
use crate::law::Law;
use crate::view::{Needs, View};

/// The present values of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterValue {
    pub name: Name,
    /// Its value; none if it separates its tallies by keys. Of a counter per state, that of the present state.
    pub value: Option<Value>,
    /// Its limit; none if it has none, or if that depends on a request.
    pub limit: Option<Value>,
    /// The tallies that are not zero, by key or by state.
    pub by_key: Vec<(Name, Value)>,
}

/// The counters of an entity that its reader may see, in declared order: those that read a hidden field are left out,
/// and those that read another entity, whose fields may be hidden. A counter with keys that counted nothing is left out.
pub fn counter_values(
    law: &Law,
    view: &View,
    entity: &Entity,
    reader: &Actor,
    now: Timestamp,
    hidden: &[Name],
) -> Result<Vec<CounterValue>, Needs> {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    let Some(life) = life.filter(|it| !it.counters.is_empty()) else { return Ok(Vec::new()) };
    sample_entity_scope(law, view, life, entity, reader, now, None, |scope| {
        let seen = life.counters.iter().filter(|it| is_seen(life, it, hidden));
        seen.filter_map(|it| counter_value(scope, it).ok()).filter(CounterValue::is_shown).collect()
    })
}

fn is_seen(life: &Lifecycle, counter: &Counter, hidden: &[Name]) -> bool {
    let reads = life.counter_reads(counter);
    !reads.other_entities && !reads.fields.iter().any(|it| hidden.contains(it))
}

fn counter_value(scope: &EntityScope<'_>, counter: &Counter) -> Result<CounterValue, Fault> {
    let (key, keyed) = match &counter.tally {
        TallyBy::One => (Some(Name::new(SINGLE)), false),
        TallyBy::PerState => (Some(scope.entity.state.clone()), true),
        TallyBy::ByKey(_) => (None, true),
    };
    let value = key.map(|key| scope.tally_value(counter, &key)).transpose()?;
    let mut by_key = Vec::new();
    for (key, _) in
        scope.entity.tallies(&counter.name).filter(|_| keyed).into_iter().flat_map(|it| &it.by_key)
    {
        by_key.push((key.clone(), scope.tally_value(counter, key)?));
    }
    by_key.retain(|(_, value)| value.as_float().is_some_and(|it| it != 0.0));
    let limit = counter.limit.as_ref().filter(|_| value.is_some());
    let limit = limit.and_then(|it| it.eval(scope).ok()).filter(|it| it.as_float().is_some());
    Ok(CounterValue { name: counter.name.clone(), value, limit, by_key })
}

impl CounterValue {
    fn is_shown(&self) -> bool {
        self.value.is_some() || !self.by_key.is_empty()
    }
}
