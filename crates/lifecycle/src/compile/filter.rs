//! A caller's condition over the fields and the envelope of an entity.

use crate::guard::{Guard, GuardError, HostFunction, Names, Resolved, Type, Unknown, VarSlot};
use crate::model::{Counter, Field, Lifecycle, Read, TallyBy};
use crate::name::Name;

/// A condition, and the source of each of its slots.
#[derive(Clone, Debug)]
pub struct Filter {
    guard: Guard,
    reads: Vec<Read>,
    counters: Vec<FilterCounter>,
}

/// A counter that a condition may read.
#[derive(Clone, Debug)]
pub struct FilterCounter {
    pub name: Name,
    /// Whether it has a tally for each state; the condition reads that of the present one.
    pub per_state: bool,
    /// Whether it counts whole things.
    pub is_whole: bool,
}

impl FilterCounter {
    fn of(counter: &Counter) -> Self {
        let per_state = matches!(counter.tally, TallyBy::PerState);
        Self { name: counter.name.clone(), per_state, is_whole: counter.add.is_none() }
    }
}

impl Filter {
    /// Compiles a condition over entities of a lifecycle.
    pub fn new(life: &Lifecycle, source: &str) -> Result<Self, Vec<GuardError>> {
        let mut names = FilterNames { life, reads: Vec::new() };
        let guard = Guard::compile_as(source, &mut names, &Type::Bool)?;
        let counters = Self::counters(life).map(FilterCounter::of).collect();
        Ok(Self { guard, reads: names.reads, counters })
    }

    /// The counters that a condition may read: one value that does not change with time and that every reader of the
    /// entity may see.
    pub fn counters(life: &Lifecycle) -> impl Iterator<Item = &Counter> {
        let is_one_value = |it: &&Counter| !matches!(it.tally, TallyBy::ByKey(_)) && it.within.is_none();
        life.counters.iter().filter(is_one_value).filter(|it| life.is_open_counter(it))
    }

    pub fn counter(&self, name: &Name) -> Option<&FilterCounter> {
        self.counters.iter().find(|it| it.name == *name)
    }

    pub fn source(&self) -> &str {
        self.guard.source()
    }

    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    pub fn read(&self, slot: VarSlot) -> Option<&Read> {
        self.reads.get(slot.0 as usize)
    }
}

struct FilterNames<'a> {
    life: &'a Lifecycle,
    reads: Vec<Read>,
}

impl Names for FilterNames<'_> {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        let root = path.first().copied().unwrap_or_default();
        let states =
            || Type::Choice(self.life.states.iter().map(|it| it.name.clone()).collect::<Vec<_>>().into());
        // A filter over a field that some readers may not see would show them its value.
        let is_usable = |it: &&Field| it.is.is_none() && it.read.is_none();
        let counter = || {
            let found = Filter::counters(self.life).find(|it| it.name == *root)?;
            let ty = if found.add.is_some() { Type::Float } else { Type::Int };
            Some((Read::Counter(found.name.clone()), ty))
        };
        let found = match self.life.fields.get(root).filter(is_usable) {
            Some(field) => Some((Read::Field(field.name.clone()), field.fits.ty())),
            None => counter().or_else(|| match root {
                "id" => Some((Read::Id, Type::Text)),
                "state" => Some((Read::State, states())),
                "previousState" => Some((Read::PreviousState, states())),
                "version" => Some((Read::Version, Type::Int)),
                "createdAt" => Some((Read::CreatedAt, Type::Time)),
                "updatedAt" => Some((Read::UpdatedAt, Type::Time)),
                "stateEnteredAt" => Some((Read::StateEnteredAt, Type::Time)),
                _ => None,
            }),
        };
        let Some((read, ty)) = found else {
            let envelope =
                ["id", "state", "previousState", "version", "createdAt", "updatedAt", "stateEnteredAt"];
            let stored = self.life.fields.values().filter(is_usable).map(|it| it.name.to_string());
            let counters = Filter::counters(self.life).map(|it| it.name.to_string());
            let known = stored.chain(counters).chain(envelope.iter().map(|it| (*it).to_owned())).collect();
            return Err(Unknown { name: root.to_owned(), known });
        };
        let slot = VarSlot(u32::try_from(self.reads.len()).unwrap_or(u32::MAX));
        self.reads.push(read);
        Ok(Resolved { slot, ty, used: 1 })
    }

    fn indexed(&mut self, _: &str) -> Option<Resolved> {
        None
    }

    fn function(&self, _: &str) -> Option<HostFunction> {
        None
    }
}
