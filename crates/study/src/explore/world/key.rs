//! Worlds that behave the same have the same key.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use trackside_engine::entity::Entity;
use trackside_engine::key::GroupKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::cone::{Cone, Interest, ObservedReads};
use super::state::{Acted, WorldState};
use super::symmetry::{Mirrors, SymmetricIds, Written};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The key of a world: the smallest key among its symmetric images.
pub(crate) fn key(cone: &Cone, scene: &WorldState, mirrors: &Mirrors) -> u128 {
    let written = render(cone, scene, &mirrors.ids);
    let clock = [cone.moment.then_some(scene.now.0), cone.daily.then_some(scene.now.0.rem_euclid(DAY))];
    // The parts have no order among images: their hashes are added.
    let (fixed, moving): (Vec<&Written>, Vec<&Written>) = written.iter().partition(|it| it.ids.is_empty());
    let same = fixed.into_iter().fold(hash_clock(clock), |sum, it| sum.wrapping_add(hash_part(&it.text)));
    let mut image = Written::default();
    let keys = mirrors.renamings.iter().map(|renaming| {
        moving.iter().fold(same, |sum, it| {
            image.text.clone_from(&it.text);
            image.ids.clone_from(&it.ids);
            renaming.apply(&mut image);
            sum.wrapping_add(hash_part(&image.text))
        })
    });
    keys.min().unwrap_or_default()
}

/// A key of the complete world.
pub(crate) fn complete_key(scene: &WorldState) -> u128 {
    let text = format!("{:?} {:?} {:?}", scene.now, scene.entities(), scene.alone);
    hash_part(text.as_bytes())
}

fn hash_part(text: &[u8]) -> u128 {
    let half = |seed: u64| {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        hasher.write(text);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

fn hash_clock(clock: [Option<i64>; 2]) -> u128 {
    if clock == [None, None] {
        return 0;
    }
    let numbers = clock.map(|it| it.unwrap_or_default().to_le_bytes());
    hash_part(numbers.as_flattened())
}

/// All parts that can affect a decision, in an order that does not depend on names.
pub(crate) fn render(cone: &Cone, scene: &WorldState, ids: &SymmetricIds) -> Vec<Written> {
    let entities = scene.entities();
    let mut parts: Vec<Written> = Vec::with_capacity(entities.len());
    for entity in &entities {
        let mut page = Page { out: Vec::with_capacity(256), at: Vec::new(), now: scene.now, ids };
        page.word(&entity.key.lifecycle);
        page.text(&entity.key.id);
        if let Some(looked) = cone.by_lifecycle.get(&entity.key.lifecycle) {
            page.entity(looked, entity);
            for name in &looked.moved {
                let group = GroupKey { of: entity.key.clone(), name: name.clone() };
                match scene.view.group(&group).here().and_then(|it| it.moved_at) {
                    Some(at) => page.moment(at),
                    None => page.mark(b'-'),
                }
            }
            if looked.age {
                let older = entities.iter().filter(|it| {
                    it.key.lifecycle == entity.key.lifecycle && it.created_at < entity.created_at
                });
                page.number(older.count() as i64);
            }
        }
        for (property, _, acted) in scene.alone.iter().filter(|(_, key, _)| *key == entity.key) {
            page.number(i64::from(*property));
            match acted {
                Acted::Nobody => page.mark(b'0'),
                Acted::Only(actor) => page.text(&actor.id),
                Acted::Several => page.mark(b'2'),
            }
        }
        parts.push(Written { text: page.out, ids: page.at });
    }
    parts.sort();
    parts
}

/// A number for the values that a cone reads. Times count only by their presence.
pub(crate) fn values_read(cone: &Cone, entities: &[&Entity], now: Timestamp) -> u64 {
    let ids = SymmetricIds::default();
    let mut page = Page { out: Vec::with_capacity(128), at: Vec::new(), now, ids: &ids };
    for entity in entities {
        let Some(looked) = cone.by_lifecycle.get(&entity.key.lifecycle) else { continue };
        page.word(&entity.state);
        for (field, interest) in &looked.fields {
            match (entity.fields.get(field), interest) {
                (None, _) => page.mark(0),
                (Some(value), Interest::There) => page.mark(1 + u8::from(value.is_blank())),
                (Some(Value::Time(_)), Interest::Value) => page.mark(3),
                (Some(value), Interest::Value) => page.value(value),
            }
        }
        for tallies in entity.tallies.iter().filter(|it| looked.counters.contains(&it.counter)) {
            tallies.by_key.iter().for_each(|(_, it)| page.out.extend(it.value.to_le_bytes()));
            page.mark(0xff);
        }
        entity.leases.iter().for_each(|(_, it)| page.mark(u8::from(it.holder.is_some())));
    }
    let mut hasher = FixedState::with_seed(5).build_hasher();
    hasher.write(&page.out);
    hasher.finish()
}

struct Page<'a> {
    out: Vec<u8>,
    at: Vec<usize>,
    now: Timestamp,
    ids: &'a SymmetricIds,
}

impl Page<'_> {
    fn entity(&mut self, looked: &ObservedReads, entity: &Entity) {
        self.word(&entity.state);
        self.number(i64::from(entity.definition));
        for (field, interest) in &looked.fields {
            let Some(value) = entity.fields.get(field) else { continue };
            self.word(field);
            match interest {
                Interest::There => self.mark(u8::from(!value.is_blank())),
                Interest::Value => self.value(value),
            }
        }
        if looked.previous {
            self.maybe(entity.previous_state.as_ref());
        }
        if looked.version {
            self.number(i64::try_from(entity.version).unwrap_or(i64::MAX));
        }
        for (wanted, moment) in [
            (looked.created, entity.created_at),
            (looked.updated, entity.updated_at),
            (looked.entered, entity.state_entered_at),
        ] {
            if wanted {
                self.moment(moment);
            }
        }
        for stay in entity.stays.iter().filter(|_| looked.spent || looked.visits) {
            self.word(&stay.state);
            self.number(i64::from(stay.visits));
            self.number(if looked.spent { stay.spent.0 } else { 0 });
        }
        self.clocks(entity);
        for tallies in entity.tallies.iter().filter(|it| looked.counters.contains(&it.counter)) {
            self.word(&tallies.counter);
            for (key, tally) in &tallies.by_key {
                self.text(key);
                self.out.extend(tally.value.to_le_bytes());
                self.number(i64::from(tally.warned));
                for (at, weight) in &tally.marks {
                    self.moment(*at);
                    self.out.extend(weight.to_le_bytes());
                }
            }
        }
        for (slot, lease) in &entity.leases {
            self.word(slot);
            self.maybe(lease.holder.as_ref());
            if lease.holder.is_some() {
                self.moment(lease.expires_at);
            }
            // The first grant and a later one differ: only then is there an earlier holder.
            let fence = i64::try_from(lease.fence).unwrap_or(i64::MAX);
            self.number(if looked.fences { fence } else { fence.min(2) });
        }
        self.number(entity.effects.len() as i64);
        for open in &entity.effects {
            self.word(&open.effect);
        }
        self.maybe(entity.same.as_ref());
        entity.broken.iter().for_each(|it| self.word(it));
    }

    fn clocks(&mut self, entity: &Entity) {
        for (name, timer) in &entity.timers {
            self.word(name);
            self.number(i64::from(timer.step));
            match timer.due {
                Some(due) => self.moment(due),
                None => self.mark(b'-'),
            }
            match timer.ends_at() {
                Some(ends) => self.moment(ends),
                None => {
                    self.number(timer.length.0);
                    self.number(timer.spent.0);
                }
            }
        }
    }

    fn mark(&mut self, byte: u8) {
        self.out.push(byte);
    }

    fn number(&mut self, number: i64) {
        self.out.extend(number.to_le_bytes());
    }

    fn moment(&mut self, at: Timestamp) {
        self.number(at.0.saturating_sub(self.now.0));
    }

    fn maybe(&mut self, name: Option<&Name>) {
        match name {
            Some(name) => self.text(name),
            None => self.mark(0),
        }
    }

    /// A text that may be, or hold, an id.
    fn text(&mut self, text: &str) {
        self.ids.write(text, &mut self.out, &mut self.at);
        self.out.push(0xff);
    }

    /// A text of the definition.
    fn word(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0xff);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.mark(b'n'),
            Value::Bool(it) => self.mark(if *it { b't' } else { b'f' }),
            Value::Int(it) => {
                self.mark(b'i');
                self.number(*it);
            }
            Value::Float(it) => {
                self.mark(b'd');
                self.out.extend(it.to_le_bytes());
            }
            Value::Text(it) => self.text(it),
            Value::Time(it) => {
                self.mark(b'@');
                self.moment(*it);
            }
            Value::Span(it) => {
                self.mark(b's');
                self.number(it.0);
            }
            Value::List(items) => {
                self.mark(b'[');
                items.iter().for_each(|it| self.value(it));
                self.mark(b']');
            }
            Value::Map(members) => {
                self.mark(b'{');
                for (name, it) in members.iter() {
                    self.text(name);
                    self.value(it);
                }
                self.mark(b'}');
            }
        }
    }
}
