//! The data that a counter's value and limit depend on.

use super::lifecycle::Lifecycle;
use super::read::{EntityAttribute, Read};
use super::rule::{Counter, TallyBy};
use crate::guard::Guard;
use crate::name::Name;

/// What the expressions of a counter read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterReads {
    /// The entity's own fields, stored and computed.
    pub fields: Vec<Name>,
    /// Whether they read a field of another entity.
    pub other_entities: bool,
}

impl Counter {
    /// The expressions that its value or its limit depends on.
    fn guards(&self) -> impl Iterator<Item = &Guard> {
        let keys = match &self.tally {
            TallyBy::ByKey(keys) => keys.as_slice(),
            TallyBy::One | TallyBy::PerState => &[],
        };
        let own = [&self.add, &self.only_if, &self.within, &self.last, &self.limit];
        own.into_iter().flatten().chain(keys)
    }
}

impl Lifecycle {
    /// What a counter reads, also through computed fields, relations and settings.
    pub fn counter_reads(&self, counter: &Counter) -> CounterReads {
        let mut found = CounterReads::default();
        let mut seen = Vec::new();
        let mut todo: Vec<&Guard> = counter.guards().collect();
        while let Some(guard) = todo.pop() {
            for used in guard.reads().iter() {
                if seen.contains(&used.slot) {
                    continue;
                }
                seen.push(used.slot);
                match self.reads.get(used.slot.0 as usize) {
                    Some(Read::Field(name) | Read::Was(name)) => found.fields.push(name.clone()),
                    Some(Read::Computed(inner)) => {
                        found.fields.push(Name::new(used.path.split('.').next().unwrap_or_default()));
                        todo.push(inner);
                    }
                    Some(Read::Relation(inner)) => todo.push(inner),
                    Some(Read::Setting(place)) => {
                        todo.extend(self.settings.get(*place).into_iter().flat_map(|it| &it.from));
                    }
                    Some(Read::Counter(name) | Read::Counters(name)) => {
                        todo.extend(self.counter(name).into_iter().flat_map(Counter::guards));
                    }
                    Some(
                        Read::Ref(_, EntityAttribute::Field(_) | EntityAttribute::Counter(_))
                        | Read::Me(EntityAttribute::Field(_) | EntityAttribute::Counter(_)),
                    ) => found.other_entities = true,
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether every reader of an entity may see a counter: it reads no restricted field, and no other entity.
    pub fn is_open_counter(&self, counter: &Counter) -> bool {
        let reads = self.counter_reads(counter);
        let is_restricted = |name: &Name| self.field(name).is_some_and(|it| it.read.is_some());
        !reads.other_entities && !reads.fields.iter().any(is_restricted)
    }
}
