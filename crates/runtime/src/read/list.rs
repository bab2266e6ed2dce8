//! Entities of a lifecycle, page by page.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_engine::query::matches_filter;
use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::guard::{Fault, GuardError, Outline, did_you_mean_or_all};
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_store::store::Listing;

use super::list_filter::{ConditionNames, ListFilter};
use super::read_view::ReadView;
use super::walk::{CHUNK, Walk};
use super::{ReadError, Reads, page};

/// A filter over the entities of a lifecycle.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub lifecycle: Name,
    /// Only entities in one of these states; empty means all.
    pub states: Vec<Name>,
    /// Only entities that match this; see [`Reads::condition`].
    pub filter: Option<Filter>,
    /// Only overdue entities.
    pub overdue: bool,
    /// Most items; 0 means the default.
    pub limit: usize,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// The actor who reads.
    pub reader: Actor,
    /// At least as new as this entry.
    pub after_seq: Option<u64>,
}

impl ListQuery {
    /// All entities of a lifecycle that the reader may see.
    pub fn of(lifecycle: impl Into<Name>, reader: Actor) -> Self {
        Self {
            lifecycle: lifecycle.into(),
            states: Vec::new(),
            filter: None,
            overdue: false,
            limit: 0,
            cursor: None,
            reader,
            after_seq: None,
        }
    }
}

/// A page, in the order of ids.
#[derive(Clone, Debug)]
pub struct Listed {
    pub items: Vec<Arc<Entity>>,
    /// The cursor of the next page; none if this is the last.
    pub next_cursor: Option<String>,
    /// The list is at least as new as this entry.
    pub seq: u64,
}

impl Reads {
    /// A condition over the fields of a lifecycle: comparisons, `&&`, `||`, `!` and `in`.
    pub fn condition(&self, lifecycle: &Name, source: &str) -> Result<Filter, ReadError> {
        let life = self.lifecycle(lifecycle)?;
        let filter = Filter::new(&life, source)
            .map_err(|all| ReadError::Where(all.iter().map(|it| in_words(&life, it)).collect()))?;
        let mut loops = false;
        filter.guard().outline().walk(&mut |it| loops |= matches!(it, Outline::Loop(..)));
        if loops {
            let message =
                "`where` compares fields: it cannot iterate over lists with all, exists, filter or map";
            return Err(ReadError::Where(vec![message.to_owned()]));
        }
        Ok(filter)
    }

    /// The entities that match and that the reader may see.
    pub fn list(&self, query: &ListQuery) -> Result<Listed, ReadError> {
        let life = self.lifecycle(&query.lifecycle)?;
        let seq = self.seq();
        if let Some(asked) = query.after_seq.filter(|it| *it > seq) {
            return Err(ReadError::NotYet { at: seq, asked });
        }
        let Some(listing) = self.listing(&life, query)? else {
            return Ok(Listed { items: Vec::new(), next_cursor: None, seq });
        };
        let limit = page(query.limit);
        let indexed = listing.indexed.is_some();
        let mut view = ReadView::new(self);
        let mut walk = Walk::new(self, &query.lifecycle, listing);
        let mut items: Vec<Arc<Entity>> = Vec::new();
        // One more than the page holds shows that there is a next one.
        let mut most = limit + 1;
        while items.len() <= limit
            && let Some(mut found) = walk.next(most)?
        {
            if let Some(filter) = &query.filter {
                let mut unanswered = Vec::new();
                found.retain(|it| match matches_filter(filter, it) {
                    Ok(wanted) => wanted,
                    Err(fault) => {
                        unanswered.push((it.clone(), fault));
                        false
                    }
                });
                self.must_be_answered(&mut view, filter, &unanswered, &query.reader)?;
            }
            let seen = view.may_read(&found, &query.reader)?;
            items.extend(found.into_iter().zip(seen).filter(|(_, seen)| *seen).map(|(it, _)| it));
            if items.len() <= limit && walk.is_over(self.budget) {
                let reached = walk.reached();
                if items.is_empty() {
                    let hint = hint(&life, indexed);
                    return Err(ReadError::TooExpensive { looked: walk.entities_read(), hint, reached });
                }
                // The page is shorter than asked for. There may be more: the next page shows it.
                return Ok(Listed { next_cursor: reached, items, seq });
            }
            most = (most * 2).min(CHUNK).min(self.budget.saturating_sub(walk.entities_read())).max(1);
        }
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Ok(Listed { items, next_cursor, seq })
    }

    /// A condition that fails on a visible entity is an error: an answer without that entity would look complete.
    fn must_be_answered(
        &self,
        view: &mut ReadView,
        filter: &Filter,
        unanswered: &[(Arc<Entity>, Fault)],
        reader: &Actor,
    ) -> Result<(), ReadError> {
        let entities: Vec<Arc<Entity>> = unanswered.iter().map(|(it, _)| it.clone()).collect();
        let seen = view.may_read(&entities, reader)?;
        match unanswered.iter().zip(seen).find(|(_, seen)| *seen) {
            Some(((entity, fault), _)) => {
                let source = filter.guard().source();
                let why = format!("`{source}` could not be answered for {}: {fault}", entity.key);
                Err(ReadError::Where(vec![why]))
            }
            None => Ok(()),
        }
    }

    /// The rows to read; none if nothing can match.
    fn listing(&self, life: &Lifecycle, query: &ListQuery) -> Result<Option<Listing>, ReadError> {
        for name in &query.states {
            let law = self.shared.law();
            if !law.definitions(&life.name).iter().any(|it| it.state(name).is_some()) {
                let hint =
                    did_you_mean_or_all(name, "Its states", life.states.iter().map(|it| it.name.as_str()));
                return Err(ReadError::UnknownState {
                    lifecycle: life.name.clone(),
                    name: name.clone(),
                    hint,
                });
            }
        }
        let after = match &query.cursor {
            None => None,
            Some(id) if is_valid_id(id) => Some(EntityKey::new(query.lifecycle.clone(), id.as_str())),
            Some(other) => return Err(ReadError::Cursor(other.clone())),
        };
        let mut filtered =
            query.filter.as_ref().map(|it| self.list_filter(it, &query.lifecycle)).unwrap_or_default();
        if !query.states.is_empty() {
            let asked = query.states.iter();
            let known = filtered.states.take();
            filtered.states = Some(
                asked.filter(|it| known.as_ref().is_none_or(|known| known.contains(it))).cloned().collect(),
            );
        }
        if filtered.is_empty() {
            return Ok(None);
        }
        let overdue_at = query.overdue.then(|| self.now());
        let states = filtered.states.unwrap_or_default();
        Ok(Some(Listing { lifecycle: None, states, indexed: filtered.indexed, overdue_at, after, most: 0 }))
    }

    fn list_filter(&self, filter: &Filter, lifecycle: &Name) -> ListFilter {
        let law = self.shared.law();
        let read = |slot| filter.read(slot).cloned();
        let names = ConditionNames { law: &law, lifecycle, read: &read, params: &Fields::default() };
        names.list_filter(&filter.guard().outline())
    }
}

fn cursor(entity: &Arc<Entity>) -> String {
    entity.key.id.to_string()
}

/// Advice on a cheaper request.
pub(super) fn hint(life: &Lifecycle, indexed: bool) -> String {
    let states = "Ask for fewer states with `state`";
    match life.indexes.as_slice() {
        _ if indexed => format!("{states}."),
        [] => format!("{states}; {} declares no index.", life.name),
        indexes => {
            let names: Vec<&str> = indexes.iter().map(Name::as_str).collect();
            format!("{states}, or in `where` for one value of an indexed field: {}.", names.join(", "))
        }
    }
}

/// The problem of an expression, with a suggestion.
fn in_words(life: &Lifecycle, it: &GuardError) -> String {
    match &it.hint {
        Some(hint) => format!("{it}: {hint}"),
        None if it.is_unknown_name => format!("{it}: {}", names_of(life)),
        None => it.to_string(),
    }
}

/// Most fields that are named where one is not known.
const NAMED: usize = 30;

/// The fields that can be compared.
fn names_of(life: &Lifecycle) -> String {
    let counters: Vec<&str> = Filter::counters(life).map(|it| it.name.as_str()).collect();
    let all = life.fields.len() + counters.len();
    let mut names: Vec<&str> = life.fields.keys().map(Name::as_str).chain(counters).take(NAMED).collect();
    if all > NAMED {
        names.push("…");
    }
    format!("{} has the fields {}; every entity has `state`", life.name, names.join(", "))
}
