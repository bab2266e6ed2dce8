//! A view as one question reads it.

use std::cell::RefCell;
use std::ops::Deref;

use trackside_lifecycle::name::Name;

use super::{Found, Group, Need, Needs, View};
use crate::entity::Entity;
use crate::event::KeyRecord;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::{RankingIndex, RankingKey};

/// Reads a view for one question and collects what the view does not hold. An answer counts only if nothing was
/// missing: see [`Lookup::finish`].
#[derive(Debug)]
pub struct Lookup<'a> {
    view: &'a View,
    missing: RefCell<Vec<Need>>,
}

impl<'a> Lookup<'a> {
    pub fn new(view: &'a View) -> Self {
        Self { view, missing: RefCell::default() }
    }

    pub fn view(&self) -> &'a View {
        self.view
    }

    pub fn entity(&self, key: &EntityKey) -> Found<&'a Entity> {
        self.note(self.view.entity(key), || Need::Entity(key.clone()))
    }

    /// An entity that is followed through a field of ids. If it is not loaded, all that it reaches is needed too.
    pub fn reached(&self, key: &EntityKey, by: &Name) -> Found<&'a Entity> {
        self.note(self.view.entity(key), || Need::Reachable { from: key.clone(), by: by.clone() })
    }

    pub fn group(&self, key: &GroupKey) -> Found<&'a Group> {
        self.note(self.view.group(key), || Need::Counts(key.clone()))
    }

    /// A group with its list of members.
    pub fn group_with_members(&self, key: &GroupKey) -> Found<&'a Group> {
        self.note(self.view.group_with_members(key), || Need::Members(key.clone()))
    }

    pub fn ranking(&self, key: &RankingKey) -> Found<&'a RankingIndex> {
        self.note(self.view.ranking(key), || Need::Ranking(key.clone()))
    }

    /// The open entity of a lifecycle that has this unique value.
    pub fn unique_holder(&self, lifecycle: &Name, value: &Name) -> Found<&'a EntityKey> {
        let need = || Need::UniqueValue { lifecycle: lifecycle.clone(), value: value.clone() };
        self.note(self.view.unique_holder(lifecycle, value), need)
    }

    /// The record of an idempotency key, and the number of its first entry.
    pub fn key(&self, actor: &Name, key: &Name) -> Found<&'a (u64, KeyRecord)> {
        self.note(self.view.key(actor, key), || Need::Key { actor: actor.clone(), key: key.clone() })
    }

    /// The answer, or the needs if something was missing.
    pub fn finish<T>(&self, answer: T) -> Result<T, Needs> {
        let missing = self.missing.take();
        if missing.is_empty() { Ok(answer) } else { Err(Needs::new(missing)) }
    }

    fn note<T>(&self, found: Found<T>, need: impl FnOnce() -> Need) -> Found<T> {
        if matches!(found, Found::Unknown) {
            self.missing.borrow_mut().push(need());
        }
        found
    }
}

/// For the project and other parts that every view holds.
impl Deref for Lookup<'_> {
    type Target = View;
    fn deref(&self) -> &View {
        self.view
    }
}
