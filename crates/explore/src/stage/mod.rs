//! Stages: what is explored. Written in a pack's `stages` folder, or made up for a pack that has none.

mod made_up;
mod read;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Lifecycle, Pack, Read};
use trackside_lifecycle::name::Name;

pub use made_up::made_up;
pub use read::read_stage;
pub use syntax::StageFile;

use crate::search::Bound;
use crate::world::Scene;
use crate::world::mirror::{Ids, Renaming, Written};
use crate::world::rules;

/// The JSON Schema of a stage file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(StageFile).to_value()
}

/// How far `check` goes on a stage that does not say so itself.
pub const WORLDS: usize = 400;
pub const DEPTH: u32 = 40;

/// Who plays, what there is at the start, what may be sent.
#[derive(Clone, Debug)]
pub struct Stage {
    pub name: Name,
    pub about: String,
    pub law: Arc<Law>,
    pub pack: Arc<Pack>,
    pub start: Scene,
    pub actors: Vec<Actor>,
    pub bound: Bound,
    creates: Vec<(EntityKey, Fields)>,
    /// By lifecycle and transition.
    asks: BTreeMap<Name, BTreeMap<Name, Vec<Fields>>>,
    /// Transitions of which nobody could think of what to send.
    pub unasked: Vec<(Name, Name)>,
    only: Vec<Name>,
    without: Vec<Name>,
}

impl Stage {
    /// The lifecycles of its pack.
    pub fn lives(&self) -> impl Iterator<Item = &Arc<Lifecycle>> {
        self.pack.lifecycles.iter()
    }

    pub fn life(&self, name: &Name) -> Option<&Arc<Lifecycle>> {
        self.law.newest(name)
    }

    pub(crate) fn creates(&self) -> &[(EntityKey, Fields)] {
        &self.creates
    }

    pub(crate) fn actor(&self, id: &Name) -> Option<&Actor> {
        self.actors.iter().find(|it| it.id == *id)
    }

    /// What may be sent with a transition; nothing if it is not asked for here.
    pub(crate) fn samples(&self, life: &Name, transition: &Name) -> &[Fields] {
        self.asks.get(life).and_then(|it| it.get(transition)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a transition is asked for here.
    pub(crate) fn is_asked(&self, life: &Name, transition: &str) -> bool {
        let full = format!("{life}.{transition}");
        let names = |list: &[Name]| list.iter().any(|it| it == life || **it == *full);
        (self.only.is_empty() || names(&self.only)) && !names(&self.without)
    }

    /// Transitions that somebody could ask for, and that are not asked for here.
    pub fn left_out(&self) -> Vec<String> {
        let mut all = Vec::new();
        for life in self.lives() {
            for transition in &life.transitions {
                let askable = transition.arms.iter().any(|it| it.by.source() != "engine");
                if askable && !self.is_asked(&life.name, &transition.name) {
                    all.push(format!("{}.{}", life.name, transition.name));
                }
            }
        }
        all
    }

    /// Ids of one kind each, among which some may be exchanged: actors alike, entities of one lifecycle.
    pub(crate) fn interchangeable(&self) -> Vec<Vec<Name>> {
        let mut kinds: BTreeMap<String, Vec<Name>> = BTreeMap::new();
        let given = self.start.entities().into_iter().map(|it| it.key.clone());
        let all: BTreeSet<EntityKey> = given.chain(self.creates.iter().map(|(key, _)| key.clone())).collect();
        let in_order = |key: &EntityKey| self.life(&key.lifecycle).is_some_and(|it| self.goes_by_id(it));
        for actor in &self.actors {
            // Whoever has a record that is gone through in the order of ids is not like another.
            if all.iter().any(|key| key.id.contains(actor.id.as_str()) && in_order(key)) {
                continue;
            }
            let kind = format!("actor {} {:?}", actor.kind.as_str(), actor.roles);
            kinds.entry(kind).or_default().push(actor.id.clone());
        }
        for key in all {
            let ordered = in_order(&key);
            let named = self.actors.iter().any(|it| key.id.contains(it.id.as_str()));
            if !ordered && !named && self.life(&key.lifecycle).is_some_and(|it| !takes_ids_apart(it)) {
                kinds.entry(format!("of {}", key.lifecycle)).or_default().push(key.id);
            }
        }
        kinds.into_values().collect()
    }

    /// Whether entities of a lifecycle are taken one after the other in the order of their ids, so that it makes a
    /// difference what they are called: in a ranking, by `each`, as a list, or because several react at once.
    fn goes_by_id(&self, life: &Lifecycle) -> bool {
        let listed = |it: &Lifecycle| {
            let reads = it.reads.iter().any(|read| match read {
                Read::All(name) => it.inverse(name).is_some_and(|it| it.from == life.name),
                _ => false,
            });
            reads
                || rules::consequences(it)
                    .iter()
                    .any(|it| it.also.iter().any(|it| it.each && it.to == life.name))
        };
        !life.rankings.is_empty() || !life.reactions.is_empty() || self.lives().any(|it| listed(it))
    }

    /// Whether what may be sent is the same after a renaming.
    pub(crate) fn sends_the_same(&self, ids: &Ids, renaming: &Renaming) -> bool {
        let sent = self.sent(ids);
        let mut image = sent.clone();
        image.iter_mut().for_each(|it| renaming.apply(it));
        image.sort();
        sent == image
    }

    fn sent(&self, ids: &Ids) -> Vec<Written> {
        let mut all = Vec::new();
        let mut add = |texts: &[&str], fields: &Fields| {
            let mut written = Written::default();
            let fields = serde_json::to_string(fields).unwrap_or_default();
            for text in texts.iter().copied().chain([fields.as_str()]) {
                ids.write(text, &mut written.text, &mut written.ids);
                written.text.push(0);
            }
            all.push(written);
        };
        for (key, fields) in &self.creates {
            add(&[&key.lifecycle, &key.id], fields);
        }
        for (life, transitions) in &self.asks {
            for (transition, samples) in transitions {
                samples.iter().for_each(|it| add(&[life, transition], it));
            }
        }
        all.sort();
        all
    }
}

/// Whether an expression looks into an id, so that one cannot stand for another.
fn takes_ids_apart(life: &Lifecycle) -> bool {
    let is_id = |it: &Outline| matches!(it, Outline::Read(slot, _) if matches!(life.reads.get(slot.0 as usize), Some(Read::Id)));
    rules::of(life).into_iter().any(|(guard, _)| {
        let mut found = false;
        guard.outline().walk(&mut |part| {
            if let Outline::Call(_, parts) = part {
                found |= parts.iter().any(is_id);
            }
            if let Outline::Matches(of, _) = part {
                found |= is_id(of);
            }
        });
        found
    })
}
