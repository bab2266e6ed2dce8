//! An entry in two parts: a skeleton that must stay, and the values and texts that may be dropped.
//!
//! The skeleton replays like an entry that has been forgotten ([`Entry::forget`]): who did what to which
//! entity when, states, clocks and groups.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::event::{Changes, Entry, Event, TallyChange, UniqueClaim};
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;
use crate::ranking::Reranked;

/// The values and words of an entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<ImportOrigin>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(Name, Value)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<TallyChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<UniqueClaim>,
    /// The text of a message, an alert or a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Arc<str>>,
    /// The remaining fields of an erased entity, the input of an effect, or the values that a violation
    /// read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Fields>,
    /// The old and the new value of an assignee field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<(Value, Value)>,
    /// The changes that undo a migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<Changes>>,
    /// Changes of the entity's own places, each with its position among the changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(usize, Reranked)>,
}

impl Content {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Entry {
    /// Takes its values and words out of it.
    pub fn part(&mut self) -> Content {
        let mut content =
            Content { reason: self.reason.take(), origin: self.origin.take(), ..Content::default() };
        if let Some(changes) = self.event.changes_mut() {
            let Changes { fields, tallies, same, .. } = changes;
            (content.fields, content.tallies) = (std::mem::take(fields), std::mem::take(tallies));
            content.same = same.take();
        }
        if let Some(words) = words(&mut self.event) {
            content.words = Some(std::mem::replace(words, Arc::from("")));
        }
        if let Some(with) = with(&mut self.event) {
            content.with = Some(std::mem::take(with));
        }
        if let Event::Assigned { before, after, .. } = &mut self.event {
            content.values = Some((std::mem::take(before), std::mem::take(after)));
        }
        if let Event::Migrated { undo, .. } = &mut self.event {
            content.undo = undo.take();
        }
        let own = |it: &Reranked| matches!(it, Reranked::Placed { entity, place: Some(_), .. } if *entity == self.entity);
        if self.reranked.iter().any(own) {
            let all = std::mem::take(&mut self.reranked);
            for (n, change) in all.into_iter().enumerate() {
                let places = matches!(&change, Reranked::Placed { entity, place: Some(_), .. } if *entity == self.entity);
                if places {
                    content.places.push((n, change));
                } else {
                    self.reranked.push(change);
                }
            }
        }
        content
    }

    /// Puts them back.
    pub fn rejoin(&mut self, content: Content) {
        let Content {
            reason,
            origin,
            fields,
            tallies,
            same,
            words: said,
            with: given,
            values,
            undo: back,
            places,
        } = content;
        (self.reason, self.origin) = (reason, origin);
        if let Some(changes) = self.event.changes_mut() {
            (changes.fields, changes.tallies, changes.same) = (fields, tallies, same);
        }
        if let (Some(words), Some(said)) = (words(&mut self.event), said) {
            *words = said;
        }
        if let (Some(with), Some(given)) = (with(&mut self.event), given) {
            *with = given;
        }
        if let (Event::Assigned { before, after, .. }, Some(values)) = (&mut self.event, values) {
            (*before, *after) = values;
        }
        if let Event::Migrated { undo, .. } = &mut self.event {
            *undo = back;
        }
        for (n, change) in places {
            self.reranked.insert(n.min(self.reranked.len()), change);
        }
    }
}

fn words(event: &mut Event) -> Option<&mut Arc<str>> {
    match event {
        Event::MessagePosted { text, .. } => Some(text),
        Event::Notified { message, .. }
        | Event::AlertRaised { message, .. }
        | Event::ViolationFound { message, .. } => Some(message),
        Event::EvidenceKept { sent, .. } => Some(sent),
        _ => None,
    }
}

fn with(event: &mut Event) -> Option<&mut Fields> {
    match event {
        Event::Erased { kept } => Some(kept),
        Event::EffectRequested { with, .. } => Some(with),
        Event::ViolationFound { evidence, .. } => Some(evidence),
        _ => None,
    }
}
