//! Rankings among entities, and which lifecycles to evaluate again after a move.

use std::sync::Arc;

use super::arms::syntax_list;
use super::context::{CompileContext, needs_now};
use super::dependencies::refs_read;
use crate::guard::{Guard, Type};
use crate::model::{Closing, EntityAttribute, Lifecycle, Order, Ranking, Read, StateSet, Watcher};
use crate::name::Name;
use crate::source::{At, Named};
use crate::syntax::{Expr, RankingDecl};

impl CompileContext<'_> {
    pub fn rankings(&mut self, from: &Named<RankingDecl>) -> Vec<Ranking> {
        let mut claimed: Vec<&Name> = Vec::new();
        for claims in from.iter().filter_map(|(_, it)| it.claims.as_ref()) {
            if claimed.contains(&&claims.it) {
                self.error(
                    "claimed-twice",
                    claims.at,
                    format!("`{}` already claims from another ranking", claims.it),
                );
            }
            claimed.push(&claims.it);
        }
        from.iter().filter_map(|(name, it)| self.ranking(name, it)).collect()
    }

    fn ranking(&mut self, name: &At<Name>, from: &RankingDecl) -> Option<Ranking> {
        let shape = self.shape;
        let within_states = match &from.r#in {
            Some(names) => self.states(names),
            None => StateSet(shape.states.iter().filter(|it| !shape.finals.contains(it)).cloned().collect()),
        };
        if let Some(state) = within_states.0.iter().find(|it| shape.erasing.contains(it)) {
            self.error("ranks-erased", name.at, format!("{state} erases the fields that the ranking reads"));
        }
        let within: Vec<At<Name>> = syntax_list(&from.within);
        for (n, it) in within.iter().enumerate() {
            if within.iter().take(n).any(|earlier| earlier.it == it.it) {
                self.error("name-taken", it.at, format!("`{}` is named twice", it.it));
            }
            match shape.refs.get(&it.it) {
                None => {
                    let known: Vec<&str> = shape.refs.keys().map(Name::as_str).collect();
                    self.unknown_in(Some("`refs`"), "unknown-ref", "ref", it, &known);
                }
                Some(one) if one.many => {
                    let message = format!("`{}` names many entities; an order is kept within one", it.it);
                    self.error("within-many", it.at, message);
                }
                Some(_) => {}
            }
        }
        let when = from.when.as_ref().and_then(|it| self.ranking_guard(it, &Type::Bool));
        let meant_for = from.r#for.as_ref().and_then(|it| self.ranking_guard(it, &Type::Text));
        let mut by = Vec::new();
        for source in from.by.iter().flat_map(|it| it.iter()) {
            let (descending, plain) = match source.text.strip_prefix('-') {
                Some(rest) => (true, Expr::within(rest, source.at)),
                None => (false, source.clone()),
            };
            if let Some(by_what) = self.ranking_guard(&plain, &Type::Any) {
                by.push(Order { by: by_what, descending });
            }
        }
        let open = from.open.as_ref().and_then(|it| {
            let guard = self.guard(it, &Type::Bool)?;
            self.of_the_group(&guard, it, &within);
            Some(guard)
        });
        if let (Some(open), true) = (&from.open, within.is_empty()) {
            self.error(
                "open-without-within",
                open.at,
                "`open` needs `within`: it is a condition on the entities that `within` names",
            )
            .hint("without `within`, use `when`");
        }
        if let Some(claims) = &from.claims {
            self.can_leave(claims, &within_states, "claiming");
        }
        Some(Ranking {
            name: name.it.clone(),
            about: from.about.clone().unwrap_or_default(),
            within_states,
            when,
            by,
            within: within.into_iter().map(|it| it.it).collect(),
            open,
            meant_for,
            claims: from.claims.as_ref().map(|it| self.transition(it)),
        })
    }

    /// An expression whose value changes only with events that reach the entity.
    fn ranking_guard(&mut self, source: &Expr, expected: &Type) -> Option<Guard> {
        let guard = self.guard(source, expected)?;
        if needs_now(&guard, &self.table.reads) {
            self.timeless(&guard, source, "a ranking");
            return Some(guard);
        }
        if self.depends(&guard, speaks_of_a_request) {
            self.error(
                "ranking-reads-request",
                source.at,
                "a ranking cannot read the caller: it is the same for every caller",
            )
            .hint("use `for` to reserve an entity for an actor, and `by` of the transition for permissions");
        }
        let shape = self.shape;
        let lifecycles = &self.pack.lifecycles;
        let fades = |read: &Read| match read {
            Read::Counter(name) | Read::Counters(name) => shape.windowed.contains(name),
            Read::Ref(reference, EntityAttribute::Counter(name)) => {
                let other = shape.refs.get(reference).and_then(|it| lifecycles.get(&it.to));
                other.is_some_and(|it| it.windowed.contains(name))
            }
            _ => false,
        };
        if self.depends(&guard, fades) {
            self.error("fading-counter", source.at, "a counter with `within` changes without an event")
                .hint("use one without it, or let a timer move the entity");
        }
        let refs = &self.shape.refs;
        let deaf = |read: &Read| match read {
            Read::Ref(name, _) => refs.get(name).is_some_and(|it| it.inverse.is_none()),
            Read::Group(name, _) => refs.get(name).is_some_and(|it| it.inverse.is_none()),
            _ => false,
        };
        if self.depends(&guard, deaf) {
            self.error(
                "deaf-ranking",
                source.at,
                "it reads another entity, but is not updated when that entity moves",
            )
            .hint("give the ref an `inverse`");
        }
        Some(guard)
    }

    /// Checks `open`, which is evaluated once for a whole order.
    fn of_the_group(&mut self, guard: &Guard, source: &Expr, within: &[At<Name>]) {
        let own = |read: &Read| match read {
            Read::Ref(_, EntityAttribute::Counter(_)) => true,
            Read::Ref(name, _) => !within.iter().any(|it| it.it == *name),
            Read::Setting(_) | Read::Computed(_) => false,
            _ => true,
        };
        if self.depends(guard, own) {
            self.error(
                "open-reads-entity",
                source.at,
                "`open` may read only the refs in `within`, and settings",
            )
            .hint("put conditions on the ranked entity in `when`");
        }
    }
}

fn speaks_of_a_request(read: &Read) -> bool {
    let asked = matches!(
        read,
        Read::Reason
            | Read::Taken(_)
            | Read::Was(_)
            | Read::People
            | Read::Rank(_)
            | Read::RankSize(_)
            | Read::MovedAt(_)
    );
    asked || read.is_of_caller()
}

/// Records in each lifecycle which others read it.
pub(super) fn connect(lifecycles: &mut [Arc<Lifecycle>]) {
    let mut watchers: Vec<(Name, Watcher)> = Vec::new();
    let mut closings: Vec<(Name, Closing)> = Vec::new();
    for life in lifecycles.iter() {
        let mut watch = |guard: &Guard, ranking: bool, states: &StateSet| {
            for name in refs_read(guard, &life.reads, &life.settings) {
                let Some(reference) = life.reference(&name) else { continue };
                let Some(inverse) = &reference.inverse else { continue };
                let same = |(to, it): &&mut (Name, Watcher)| {
                    *to == reference.to && it.inverse == *inverse && it.ranking == ranking
                };
                match watchers.iter_mut().find(same) {
                    Some((_, known)) => {
                        let more = states.0.iter().filter(|it| !known.states.has(it)).cloned();
                        let more: Vec<Name> = more.collect();
                        known.states.0.extend(more);
                    }
                    None => {
                        let states = states.clone();
                        let watcher = Watcher { inverse: inverse.clone(), ranking, states };
                        watchers.push((reference.to.clone(), watcher));
                    }
                }
            }
        };
        for ranking in &life.rankings {
            for guard in
                ranking.when.iter().chain(&ranking.meant_for).chain(ranking.by.iter().map(|it| &it.by))
            {
                watch(guard, true, &ranking.within_states);
            }
            for (place, name) in ranking.within.iter().enumerate().filter(|_| ranking.open.is_some()) {
                let Some(reference) = life.reference(name) else { continue };
                let closing = Closing { lifecycle: life.name.clone(), ranking: ranking.name.clone(), place };
                closings.push((reference.to.clone(), closing));
            }
        }
        for reaction in &life.reactions {
            let leaves = life.transition(&reaction.fire).into_iter().flat_map(|it| &it.arms);
            let leaves = leaves.flat_map(|it| &it.from.0);
            let within = |state: &&Name| reaction.within.as_ref().is_none_or(|it| it.has(state));
            watch(&reaction.when, false, &StateSet(leaves.filter(within).cloned().collect()));
        }
    }
    for life in lifecycles.iter_mut().filter_map(Arc::get_mut) {
        life.watchers =
            watchers.iter().filter(|(to, _)| *to == life.name).map(|(_, it)| it.clone()).collect();
        life.closes = closings.iter().filter(|(to, _)| *to == life.name).map(|(_, it)| it.clone()).collect();
    }
}
