//! The number of waiting timers does not change the cost of a command (counted, not timed). Also: many
//! timers of one moment, and timers without an entity.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trackside_engine::View;
use trackside_engine::actor::ActorKind;
use trackside_engine::entity::TimerState;
use trackside_engine::event::{Changes, KeyRecord};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::time::Span;
use trackside_store::rules::Installed;
use trackside_store::store::{
    AtPosition, Census, Counts, DwellTimes, Head, Listing, MemberRow, Members, OpenEffectRow, OrderRow,
};
use trackside_store::{Chain, Definition, MemoryStore, Reader, Record, Store as _};

use super::*;
use crate::memory::Limits;

/// One timer is due every ten seconds.
const EVERY: i64 = 10_000;

/// A store with many waiting timers that counts the reads.
struct Waiting {
    inner: Box<dyn Reader>,
    pending: i64,
    asked: Arc<AtomicUsize>,
    rows: Arc<AtomicUsize>,
}

macro_rules! as_it_is {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $found:ty;)*) => {
        $(fn $name(&mut self, $($argument: $kind),*) -> Result<$found, StoreError> {
            self.inner.$name($($argument),*)
        })*
    };
}

impl Reader for Waiting {
    as_it_is! {
        head() -> Head;
        records(after: u64, most: usize) -> Vec<Record>;
        record(seq: u64) -> Option<Record>;
        stayed(of: &EntityKey) -> Vec<u64>;
        trail(from: u64, most: usize) -> Vec<Record>;
        base() -> Chain;
        definitions() -> Vec<Definition>;
        installed() -> Vec<Installed>;
        position() -> u64;
        project() -> Option<Project>;
        entity(key: &EntityKey) -> Option<Arc<Entity>>;
        counts(group: &GroupKey) -> AtPosition<Counts>;
        groups(of: &EntityKey) -> AtPosition<Vec<(Name, Counts)>>;
        members(group: &GroupKey) -> AtPosition<Members>;
        ranking(key: &RankingKey) -> AtPosition<RankingIndex>;
        unique_holder(lifecycle: &Name, value: &Name) -> Option<EntityKey>;
        key(actor: &Name, key: &Name) -> Option<(u64, KeyRecord)>;
        list(listing: &Listing) -> AtPosition<Vec<Arc<Entity>>>;
        states(lifecycle: &Name) -> AtPosition<BTreeMap<Name, u64>>;
        dwell_times(lifecycle: &Name) -> AtPosition<BTreeMap<Name, DwellTimes>>;
        notices(kinds: &[&str], after: u64, most: usize) -> Vec<u64>;
        effects(after: u64, most: usize) -> AtPosition<Vec<OpenEffectRow>>;
        groups_after(after: u64, most: usize) -> AtPosition<Vec<(u64, GroupKey)>>;
        members_after(group: &GroupKey, after: u64, most: usize) -> AtPosition<Vec<MemberRow>>;
        is_member(group: &GroupKey, of: &EntityKey) -> bool;
        place(ranking: &RankingKey, id: &Name) -> AtPosition<Option<RankPlace>>;
        places_after(after: Option<&(RankingKey, Name)>, most: usize) -> AtPosition<Vec<(RankingKey, Name)>>;
        order(ranking: &RankingKey, within: &Within) -> AtPosition<Option<OrderRow>>;
        orders_after(after: Option<&(RankingKey, Within)>, most: usize) -> AtPosition<Vec<OrderRow>>;
        census() -> AtPosition<Census>;
    }

    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> Result<AtPosition<Vec<DueAt>>, StoreError> {
        let first = after.map_or(1, |it| it.due.0 / EVERY + 1);
        let value: Vec<DueAt> = (first..=self.pending).take(most).map(waits).collect();
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(value.len(), Ordering::Relaxed);
        Ok(AtPosition { position: 0, value })
    }
}

fn waits(nth: i64) -> DueAt {
    due_at(Timestamp(nth * EVERY), &EntityKey::new("t.thing", format!("T-{nth}")), &Name::new("stale"))
}

/// A command that starts a timer due in four hours.
fn started(now: Timestamp) -> (Entity, Entry) {
    let (name, due) = (Name::new("stale"), now.plus(Span::seconds(4 * 60 * 60)));
    let state = TimerState {
        started_at: now,
        length: Span::seconds(4 * 60 * 60),
        spent: Span(0),
        running_since: Some(now),
        step: 0,
        due: Some(due),
    };
    let key = EntityKey::new("t.thing", "mine");
    let mut entity = Entity::new(key.clone(), 1, Name::new("OPEN"), now);
    entity.timers = vec![(name.clone(), state)];
    let changes = Changes { timers: vec![(name, Some(state))], ..Changes::default() };
    let entry = Entry {
        seq: 1,
        at: now,
        entity: key,
        version: 1,
        actor: Name::new("ada"),
        actor_kind: ActorKind::Human,
        on_behalf_of: None,
        via: None,
        trigger: Name::new("go"),
        reason: None,
        origin: None,
        cause: None,
        condition: None,
        key: None,
        request_id: None,
        event: Event::FieldsChanged { changes },
        reranked: Vec::new(),
    };
    (entity, entry)
}

/// The cost of 2,000 commands, one a second: store queries, rows read, most timers in memory at a time, and
/// the number of timers that fired meanwhile.
fn cost(pending: i64) -> (usize, usize, usize, usize) {
    let inner = MemoryStore::new().reader().unwrap();
    let (asked, rows) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let reader = Box::new(Waiting { inner, pending, asked: asked.clone(), rows: rows.clone() });
    let limits = Limits {
        entities: 100,
        groups: 100,
        bytes: usize::MAX,
        timers: 100,
        unique_values: 100,
        keys: 100,
        keys_last: Span(0),
        behind: 100,
    };
    let mut memory = DeciderMemory::new(Arc::default(), View::partial(0), reader, limits);
    let mut timers = Timers::new(100);
    let (mut most, mut struck) = (0, 0);
    let mut mine: Option<Entity> = None;
    for second in 1..=2_000 {
        let now = Timestamp(second * 1_000);
        while let Some(due) = timers.due(now, &mut memory).unwrap() {
            assert_eq!(due, waits(struck as i64 + 1), "in due order, each once");
            timers.drop(&due);
            struck += 1;
        }
        let (entity, entry) = started(now);
        timers.remove_changed(mine.as_ref(), &entry);
        timers.after(Some(&entity), &entry);
        mine = Some(entity);
        most = most.max(timers.count_in_memory());
    }
    (asked.load(Ordering::Relaxed), rows.load(Ordering::Relaxed), most, struck)
}

#[test]
fn a_command_costs_the_same_with_a_million_timers() {
    let few = cost(250);
    let many = cost(1_000_000);
    assert_eq!(many, few);
    let (asked, rows, most, struck) = many;
    assert_eq!(struck, 200);
    assert!(asked <= 2 * struck && rows <= 2 * struck + 20 && most <= 100, "{many:?}");
}

fn timer(due: i64, number: u32) -> DueAt {
    due_at(Timestamp(due), &EntityKey::new("t.thing", format!("T-{number:06}").as_str()), &Name::new("t"))
}

fn with_most(most: usize) -> Timers {
    Timers { horizon: Timestamp(i64::MAX), ..Timers::new(most) }
}

#[test]
fn many_timers_of_one_moment_are_not_rescanned_for_each() {
    let mut timers = with_most(10);
    let mut tries = 0;
    for number in 0..10_000 {
        timers.near.insert(timer(5, number));
        tries += u32::from(timers.keep_within());
    }
    assert_eq!(timers.near.len(), 10_000, "a moment stays together");
    assert!(tries <= 12, "{tries} times");
    // Once they are over it is as before.
    timers.near.clear();
    for number in 0..100 {
        timers.near.insert(timer(6 + i64::from(number), number));
        timers.keep_within();
        assert!(timers.near.len() <= 10);
    }
}

#[test]
fn timers_set_aside_are_reported_and_return() {
    let mut timers = with_most(10);
    timers.near.extend([timer(1, 1), timer(2, 2), timer(3, 3)]);
    timers.set_aside(timer(1, 1), "it makes no sense".to_owned());
    assert_eq!(timers.problem().unwrap(), "the timer t of t.thing/T-000001 does not fire: it makes no sense");
    timers.set_aside(timer(2, 2), "nor does it".to_owned());
    assert!(timers.problem().unwrap().contains("does not fire, and 1 more do not: it makes no sense"));
    assert_eq!(timers.near.first(), Some(&timer(3, 3)));
    timers.bring_back();
    assert_eq!((timers.problem(), timers.near.len()), (None, 3));
}
