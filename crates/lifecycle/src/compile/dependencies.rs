//! The transitive dependencies of an expression.

use std::collections::BTreeSet;

use super::context::CompileContext;
use crate::guard::Guard;
use crate::model::{EntityAttribute, Read, Setting};
use crate::name::Name;
use crate::source::Place;
use crate::syntax::Expr;

/// Whether it reads something of this kind: itself, or through computed fields, relations and settings.
pub(super) fn depends(
    guard: &Guard,
    reads: &[Read],
    settings: &[Setting],
    wanted: impl Fn(&Read) -> bool,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut todo = vec![guard];
    while let Some(guard) = todo.pop() {
        for slot in guard.reads().iter().map(|it| it.slot) {
            let Some(read) = reads.get(slot.0 as usize).filter(|_| seen.insert(slot)) else { continue };
            if wanted(read) {
                return true;
            }
            match read {
                Read::Computed(inner) | Read::Relation(inner) => todo.push(inner),
                Read::Setting(place) => todo.extend(settings.get(*place).iter().flat_map(|it| &it.from)),
                _ => {}
            }
        }
    }
    false
}

/// The refs it looks through.
pub(super) fn refs_read(guard: &Guard, reads: &[Read], settings: &[Setting]) -> BTreeSet<Name> {
    let found = std::cell::RefCell::new(BTreeSet::new());
    depends(guard, reads, settings, |read| {
        if let Read::Ref(name, _) | Read::Group(name, _) = read {
            found.borrow_mut().insert(name.clone());
        }
        false
    });
    found.into_inner()
}

/// The most reads that one computed field, relation or setting may cost.
const DEAREST: u64 = 200;

impl CompileContext<'_> {
    pub(super) fn depends(&self, guard: &Guard, wanted: impl Fn(&Read) -> bool) -> bool {
        depends(guard, &self.table.reads, &self.settings, wanted)
    }

    /// A counter's value is only known once its window is: the window cannot depend on a counter.
    pub fn window(&mut self, guard: Option<Guard>, source: &Option<Expr>, key: &str) -> Option<Guard> {
        let (guard, source) = (guard?, source.as_ref()?);
        if self.depends(&guard, reads_counter) {
            self.error("counter-reads-counter", source.at, format!("`{key}` cannot depend on a counter"))
                .hint("use a fixed value, a setting or a field");
        }
        Some(guard)
    }

    /// A counter's limit cannot depend on the counter itself.
    pub fn limit(&mut self, guard: Option<Guard>, source: &Option<Expr>, counter: &Name) -> Option<Guard> {
        let (guard, source) = (guard?, source.as_ref()?);
        let own = |read: &Read| matches!(read, Read::Counter(name) | Read::Counters(name) if name == counter);
        if self.depends(&guard, own) {
            self.error(
                "counter-reads-counter",
                source.at,
                format!("the limit of `{counter}` depends on `{counter}` itself"),
            )
            .hint("use a fixed value, a setting, a field or another counter");
        }
        Some(guard)
    }

    /// A reaction is evaluated again after a move of another entity only if its ref has an inverse.
    pub fn wakes(&mut self, guard: &Guard, source: &Expr) {
        let refs = &self.shape.refs;
        let deaf = |read: &Read| match read {
            Read::Group(name, _) => refs.get(name).is_some_and(|it| it.many && it.inverse.is_none()),
            _ => false,
        };
        if self.depends(guard, deaf) {
            self.error(
                    "deaf-reaction",
                    source.at,
                    "a reaction cannot count the entities that a field names, because it does not run when they move",
                )
                .hint("give the ref an `inverse`; the reaction then runs when they move");
        }
    }

    /// Runs `work` and records under `key` how many reads the expressions it compiled cost.
    pub fn with_cost<T>(
        &mut self,
        key: String,
        name: &str,
        at: Place,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.table.spent;
        let result = work(self);
        let mut cost = self.table.spent.saturating_sub(before);
        if cost > DEAREST {
            self.error(
                "too-costly",
                at,
                format!("reading `{name}` once means {cost} reads, counting everything it refers to"),
            )
            .hint(format!("at most {DEAREST}: store an intermediate value in a field with `set`"));
            // Reported once, not again for everything that refers to it.
            cost = 0;
        }
        self.table.costs.insert(key, cost);
        result
    }
}

fn reads_counter(read: &Read) -> bool {
    matches!(
        read,
        Read::Counter(_)
            | Read::Counters(_)
            | Read::Ref(_, EntityAttribute::Counter(_))
            | Read::Me(EntityAttribute::Counter(_))
    )
}
