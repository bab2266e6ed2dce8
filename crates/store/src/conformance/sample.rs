//! Sample entries, records and rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::actor::ActorKind;
use trackside_engine::entity::{Entity, TimerState};
use trackside_engine::event::{Changes, Entry, Event, KeyRecord};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::project::project_key;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use crate::rules::digest_of;
use crate::{Batch, Chain, Definition, EntityRow, Projection, Record};

pub(crate) fn key(text: &str) -> EntityKey {
    EntityKey::parse(text).unwrap()
}

pub(crate) fn group(of: &str, name: &str) -> GroupKey {
    GroupKey { of: key(of), name: Name::new(name) }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text)
}

/// Entry number `seq`, a second after the one before, which sets the field `n`.
pub(crate) fn entry(seq: u64, entity: &str) -> Entry {
    let changes = Changes { fields: vec![(name("n"), Value::Int(seq as i64))], ..Changes::default() };
    Entry {
        seq,
        at: Timestamp(seq as i64 * 1_000),
        entity: key(entity),
        version: seq,
        actor: name("ada"),
        actor_kind: ActorKind::Human,
        on_behalf_of: None,
        via: None,
        trigger: name("change"),
        reason: Some(Arc::from(format!("the {seq}th \u{201c}reason\u{201d}\n"))),
        origin: None,
        cause: None,
        condition: None,
        key: None,
        request_id: None,
        event: Event::FieldsChanged { changes },
        reranked: Vec::new(),
    }
}

/// A version of a pack.
pub(crate) fn definition(pack: &str, version: u32) -> Definition {
    let files = vec![
        ("lifecycles/thing.yaml".to_owned(), "states: { \u{201c}A\u{201d}: {} }\n".to_owned()),
        ("pack.yaml".to_owned(), format!("pack: {pack}\nversion: {version}\n")),
    ];
    Definition { pack: name(pack), version, digest: digest_of(&files), files }
}

/// Entry number `seq`, which installs a version.
pub(crate) fn installation(seq: u64, definition: &Definition) -> Entry {
    let Definition { pack, version, digest, .. } = definition.clone();
    let event = Event::PackInstalled { pack, version, digest: digest.into() };
    Entry { entity: project_key().clone(), version: 0, event, ..entry(seq, "t.thing/A") }
}

/// Entries as records, each with the way back to the one of its entity before it.
#[derive(Default)]
pub(crate) struct Press {
    pub chain: Chain,
    last: BTreeMap<EntityKey, u64>,
}

impl Press {
    pub fn seal(&mut self, entry: &Entry) -> Record {
        let prev = self.last.insert(entry.entity.clone(), entry.seq).unwrap_or(0);
        self.chain.seal(entry.clone(), prev).unwrap()
    }

    pub fn batch(&mut self, entries: &[Entry]) -> Batch {
        Batch { records: entries.iter().map(|it| self.seal(it)).collect(), definitions: Vec::new() }
    }
}

/// `count` entries, one entity after the other.
pub(crate) fn entries(count: u64, entities: &[&str]) -> Vec<Entry> {
    (1..=count).map(|seq| entry(seq, entities[(seq as usize - 1) % entities.len()])).collect()
}

pub(crate) fn row(text: &str, state: &str) -> EntityRow {
    let mut entity = Entity::new(key(text), 1, name(state), Timestamp(5));
    entity.version = 3;
    EntityRow { entity: Arc::new(entity), last: false, indexed: Vec::new(), overdue_at: None }
}

impl EntityRow {
    /// A changed copy.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Entity)) -> Self {
        change(Arc::make_mut(&mut self.entity));
        self
    }
}

pub(crate) fn timer(due: Option<i64>) -> TimerState {
    TimerState {
        started_at: Timestamp(0),
        length: Span(9),
        spent: Span(0),
        running_since: Some(Timestamp(0)),
        step: 1,
        due: due.map(Timestamp),
    }
}

/// A projection with these entities and nothing else.
pub(crate) fn projection(position: u64, entities: Vec<EntityRow>) -> Projection {
    Projection { position, at: Timestamp(position as i64 * 1_000), entities, ..Projection::default() }
}

pub(crate) fn key_record(by: &str, key: &str) -> KeyRecord {
    let fingerprint = format!("{by} said {key}");
    KeyRecord { key: name(key), by: name(by), fingerprint, entries: 2, root: 1, ignored: Vec::new() }
}
