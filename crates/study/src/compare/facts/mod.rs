//! Converts the model to items: one file per part of a definition. All of the model becomes facets of
//! items.

mod arms;
mod consequences;
mod definition;
mod pack;
mod questions;
mod rules;
mod states;
mod work;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, Pack, Read, Setting};
use trackside_lifecycle::name::Name;

use crate::compare::expression::Expression;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

/// The items of a lifecycle.
pub fn lifecycle(life: &Lifecycle, pack: &Pack) -> Vec<DefinitionItem> {
    let facts = ExpressionContext { reads: &life.reads, settings: &life.settings };
    let mut things = vec![facts.lifecycle_item(life)];
    things.extend(life.states.iter().map(|it| facts.state(life, it)));
    things.push(facts.create(&life.create));
    things.extend(life.arms().map(|it| facts.arm(it)));
    facts.definition(life, &mut things);
    facts.rules(life, &mut things);
    things.extend(facts.work(life, pack));
    let shared = |name: &Name| pack.settings.iter().any(|it| it.name == *name);
    things.extend(life.settings.iter().filter(|it| !shared(&it.name)).map(|it| facts.setting(it)));
    things
}

/// The items of a pack beside its lifecycles.
pub fn pack(pack: &Pack) -> Vec<DefinitionItem> {
    let facts = ExpressionContext { reads: &pack.reads, settings: &pack.settings };
    let mut things = facts.pack(pack);
    things.extend(facts.queries(pack));
    things.extend(facts.supervise(pack));
    things.extend(facts.control(pack));
    things
}

/// The reads of the expressions in one place.
pub(crate) struct ExpressionContext<'a> {
    pub reads: &'a [Read],
    pub settings: &'a [Setting],
}

impl ExpressionContext<'_> {
    pub fn expression(&self, guard: &Guard) -> Leaf {
        Leaf::Expression(Box::new(Expression::new(guard, self.reads, self.settings)))
    }

    pub fn some(&self, thing: &mut DefinitionItem, words: &str, sense: Sense, guard: Option<&Guard>) {
        thing.put_some(words, sense, guard.map(|it| self.expression(it)));
    }
}

pub(crate) fn quoted(names: &[Name]) -> String {
    names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}
