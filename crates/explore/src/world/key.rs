//! Worlds that go on in the same way have the same key.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::cone::{Cone, Interest, Looked};
use super::mirror::Renaming;
use super::scene::{Acted, Scene};

/// The key of a world under a renaming of ids.
pub(crate) fn key(cone: &Cone, scene: &Scene, renaming: &Renaming) -> u128 {
    let text = render(cone, scene, renaming);
    let half = |seed: u64| {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        hasher.write(&text);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

/// Everything that can make a difference, in an order that does not depend on names.
pub(crate) fn render(cone: &Cone, scene: &Scene, renaming: &Renaming) -> Vec<u8> {
    let entities = scene.entities();
    let mut parts: Vec<Vec<u8>> = Vec::with_capacity(entities.len());
    for entity in &entities {
        let mut page = Page { out: Vec::with_capacity(256), now: scene.now, renaming };
        page.text(&entity.key.lifecycle);
        page.text(&entity.key.id);
        if let Some(looked) = cone.by_lifecycle.get(&entity.key.lifecycle) {
            page.entity(looked, entity);
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
        parts.push(page.out);
    }
    parts.sort();
    parts.concat()
}

struct Page<'a> {
    out: Vec<u8>,
    now: Timestamp,
    renaming: &'a Renaming,
}

impl Page<'_> {
    fn entity(&mut self, looked: &Looked, entity: &Entity) {
        self.text(&entity.state);
        self.number(i64::from(entity.definition));
        for (field, interest) in &looked.fields {
            let Some(value) = entity.fields.get(field) else { continue };
            self.text(field);
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
            self.text(&stay.state);
            self.number(i64::from(stay.visits));
            self.number(if looked.spent { stay.spent.0 } else { 0 });
        }
        self.clocks(entity);
        for tallies in &entity.tallies {
            self.text(&tallies.counter);
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
            self.text(slot);
            self.maybe(lease.holder.as_ref());
            if lease.holder.is_some() {
                self.moment(lease.expires_at);
            }
            if looked.fences {
                self.number(i64::try_from(lease.fence).unwrap_or(i64::MAX));
            }
        }
        for open in &entity.effects {
            self.text(&open.effect);
        }
        entity.broken.iter().for_each(|it| self.text(it));
    }

    fn clocks(&mut self, entity: &Entity) {
        for (name, timer) in &entity.timers {
            self.text(name);
            self.number(i64::from(timer.step));
            match timer.due {
                Some(due) => self.moment(due),
                None => self.mark(b'-'),
            }
            match timer.ends_at() {
                Some(ends) => self.moment(ends),
                None => self.number(timer.length.0.saturating_sub(timer.spent.0)),
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

    fn text(&mut self, text: &str) {
        self.renaming.write(text, &mut self.out);
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
