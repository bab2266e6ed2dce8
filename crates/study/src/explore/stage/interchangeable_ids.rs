//! Finds interchangeable ids: ids that no rule of the definition or stage distinguishes.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Lifecycle, Read, SlotAttribute};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::ExploreStage;
use crate::explore::world::{actor_fields, rules};

/// Functions that read parts of a text, or transform it.
const INTO: [&str; 9] =
    ["Contains", "StartsWith", "EndsWith", "LowerAscii", "UpperAscii", "Trim", "Digest", "Size", "Join"];

impl ExploreStage {
    /// Ids of one kind each, among which some may be exchanged: actors alike, entities of one lifecycle.
    pub(crate) fn interchangeable(&self) -> Vec<Vec<Name>> {
        let given = self.start.entities().into_iter().map(|it| it.key.clone());
        let all: BTreeSet<EntityKey> = given.chain(self.creates.iter().map(|(key, _)| key.clone())).collect();
        let known = self.known_by_name();
        let is_known = |id: &Name| known.iter().any(|it| it.contains(id.as_str()));
        let in_order = |key: &EntityKey| self.life(&key.lifecycle).is_some_and(|it| self.goes_by_id(it));
        let mut kinds: BTreeMap<String, Vec<Name>> = BTreeMap::new();
        if !self.lives().any(|it| looks_into(it, &is_actor_id)) {
            for actor in &self.actors {
                // An actor with a record that is iterated in id order is not interchangeable.
                let ordered = all.iter().any(|key| key.id.contains(actor.id.as_str()) && in_order(key));
                if ordered || is_known(&actor.id) {
                    continue;
                }
                let listed = self.start.view.project.people.contains(&actor.id);
                let kind = format!("actor {} {:?} {listed}", actor.kind.as_str(), actor.roles);
                kinds.entry(kind).or_default().push(actor.id.clone());
            }
        }
        for key in all {
            let Some(life) = self.life(&key.lifecycle) else { continue };
            let named = self.actors.iter().any(|it| key.id.contains(it.id.as_str()));
            if !named && !in_order(&key) && !is_known(&key.id) && !looks_into(life, &is_id) {
                kinds.entry(format!("of {}", key.lifecycle)).or_default().push(key.id);
            }
        }
        kinds.into_values().collect()
    }

    /// Texts that rules and settings compare with.
    fn known_by_name(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for life in self.lives() {
            for guard in everything(life) {
                guard.outline().walk(&mut |part| {
                    if let Outline::Constant(value) = part {
                        gather(value, &mut texts);
                    }
                });
            }
        }
        let overrides = self.start.view.project.settings.values().flat_map(BTreeMap::values);
        let defaults = self.lives().flat_map(|it| &it.settings).map(|it| &it.default);
        overrides.chain(defaults).for_each(|it| gather(it, &mut texts));
        texts
    }

    /// Whether rules process entities of a lifecycle in id order, so that their ids matter: in a ranking, by `each`,
    /// as a list, or because several react at once.
    fn goes_by_id(&self, life: &Lifecycle) -> bool {
        let listed = |it: &Lifecycle| {
            let reads = it.reads.iter().any(|read| match read {
                Read::All(name) | Read::Listed(name, _) => {
                    it.inverse(name).is_some_and(|it| it.from == life.name)
                }
                _ => false,
            });
            let each = |it: &&trackside_lifecycle::model::Consequences| {
                it.also.iter().any(|it| it.each && it.to == life.name)
            };
            reads || it.consequences().iter().any(each)
        };
        !life.rankings.is_empty() || !life.reactions.is_empty() || self.lives().any(|it| listed(it))
    }
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Text(text) => texts.push(text.to_string()),
        Value::List(items) => items.iter().for_each(|it| gather(it, texts)),
        Value::Map(members) => {
            for (name, it) in members.iter() {
                texts.push(name.to_string());
                gather(it, texts);
            }
        }
        _ => {}
    }
}

/// Every expression that can decide about a move, including those behind names.
fn everything(life: &Lifecycle) -> Vec<&Guard> {
    let behind = life.reads.iter().filter_map(|it| match it {
        Read::Computed(guard) | Read::Relation(guard) => Some(guard),
        _ => None,
    });
    rules::of(life).into_iter().map(|(guard, _)| guard).chain(behind).collect()
}

fn is_actor_id(life: &Lifecycle, read: &Read) -> bool {
    match read {
        Read::ActorId | Read::SubjectId | Read::Slot(_, SlotAttribute::Holder) => true,
        Read::Field(name) | Read::Taken(name) | Read::Was(name) => actor_fields(life).contains(name),
        _ => false,
    }
}

fn is_id(life: &Lifecycle, read: &Read) -> bool {
    matches!(read, Read::Id) || is_actor_id(life, read)
}

/// Whether an expression reads parts of an id, or the order of two ids.
fn looks_into(life: &Lifecycle, which: &dyn Fn(&Lifecycle, &Read) -> bool) -> bool {
    let reads = |part: &Outline| {
        let mut found = false;
        part.walk(&mut |it| {
            if let Outline::Read(slot, _) = it {
                found |= life.reads.get(slot.0 as usize).is_some_and(|it| which(life, it));
            }
        });
        found
    };
    everything(life).into_iter().any(|guard| {
        let mut found = false;
        guard.outline().walk(&mut |part| {
            found |= match part {
                Outline::Less(both)
                | Outline::AtMost(both)
                | Outline::More(both)
                | Outline::AtLeast(both) => {
                    both.iter().any(|it| matches!(it, Outline::Read(..)) && reads(it))
                }
                Outline::Matches(of, _) => reads(of),
                Outline::Call(name, parts) if INTO.contains(&name.as_str()) => {
                    // The size of a list does not depend on the ids in it.
                    let direct = |it: &Outline| !matches!(it, Outline::Read(..)) || name != "Size";
                    parts.iter().any(|it| direct(it) && reads(it))
                }
                _ => false,
            };
        });
        found
    })
}
