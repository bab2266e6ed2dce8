//! Narrows a listing by its condition: to states, and to a value that an index finds.

use trackside_engine::Law;
use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::{Outline, Type, VarSlot};
use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// The part of the entities to read. A superset: entities outside cannot match, entities inside may not.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ListFilter {
    /// Only these states; none means all.
    pub states: Option<Vec<Name>>,
    pub indexed: Option<(Name, Value)>,
}

/// The meaning of the names in a condition.
pub(super) struct ConditionNames<'a> {
    pub law: &'a Law,
    pub lifecycle: &'a Name,
    pub read: &'a dyn Fn(VarSlot) -> Option<Read>,
    pub params: &'a Fields,
}

impl ConditionNames<'_> {
    pub fn list_filter(&self, condition: &Outline) -> ListFilter {
        let mut filter = ListFilter::default();
        self.all_of(condition, &mut filter);
        filter
    }

    fn all_of(&self, condition: &Outline, filter: &mut ListFilter) {
        match condition {
            Outline::All(parts) => parts.iter().for_each(|it| self.all_of(it, filter)),
            Outline::Equal(both) => {
                let [a, b] = &**both;
                if let Some((read, value)) = self.comparison(a, b).or_else(|| self.comparison(b, a)) {
                    match read {
                        Read::State => filter.keep_states(std::slice::from_ref(&value)),
                        Read::Field(name) if filter.indexed.is_none() => {
                            filter.indexed = self.is_indexed(&name, &value).then_some((name, value));
                        }
                        _ => {}
                    }
                }
            }
            Outline::In(both) => {
                let [what, list] = &**both;
                if let (Some(Read::State), Some(values)) = (self.read_of(what), self.list(list)) {
                    filter.keep_states(&values);
                }
            }
            _ => {}
        }
    }

    fn comparison(&self, name: &Outline, value: &Outline) -> Option<(Read, Value)> {
        Some((self.read_of(name)?, self.value(value)?))
    }

    fn read_of(&self, it: &Outline) -> Option<Read> {
        match it {
            Outline::Read(slot, members) if members.is_empty() => (self.read)(*slot),
            _ => None,
        }
    }

    /// A value that is known beforehand.
    fn value(&self, it: &Outline) -> Option<Value> {
        match (it, self.read_of(it)) {
            (Outline::Constant(value), _) => Some(value.clone()),
            (_, Some(Read::Ask(name))) => Some(self.params.value(&name)),
            _ => None,
        }
    }

    fn list(&self, it: &Outline) -> Option<Vec<Value>> {
        match it {
            Outline::List(items) => items.iter().map(|it| self.value(it)).collect(),
            _ => match self.value(it)? {
                Value::List(items) => Some(items.to_vec()),
                _ => None,
            },
        }
    }

    /// Whether an index finds all entities with this value: every version of the lifecycle must declare the
    /// index and must write the value in the same way.
    fn is_indexed(&self, name: &Name, value: &Value) -> bool {
        let versions = self.law.definitions(self.lifecycle);
        !versions.is_empty()
            && versions.iter().all(|life| {
                let fits = life.field(name).filter(|it| it.is.is_none()).map(|it| &it.fits);
                let exact = |ty: &Type| match value {
                    Value::Text(_) | Value::Bool(_) => true,
                    // A field of any number may hold 1 and 1.0, which are equal and written differently.
                    Value::Int(_) => *ty == Type::Int,
                    _ => false,
                };
                let same =
                    fits.is_some_and(|it| exact(&it.ty()) && it.accept(name, value).as_ref() == Ok(value));
                life.indexes.contains(name) && same
            })
    }
}

impl ListFilter {
    fn keep_states(&mut self, values: &[Value]) {
        let names = values.iter().filter_map(|it| it.as_str().map(Name::new));
        self.states = Some(match &self.states {
            None => names.collect(),
            Some(known) => names.filter(|it| known.contains(it)).collect(),
        });
    }

    /// Whether no entity can fulfil the condition.
    pub fn is_empty(&self) -> bool {
        self.states.as_ref().is_some_and(Vec::is_empty)
    }
}
