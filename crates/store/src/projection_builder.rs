//! Builds projections from entries. Pure: live processing and replay build the same.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use trackside_engine::decide::groups_of;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event, Shift};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::overdue::overdue_at;
use trackside_engine::view::Project;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::projection::Notice;
use crate::{EntityRow, GroupChange, Projection};

/// The kind under which open alerts are indexed.
pub const OPEN_ALERT: &str = "OPEN_ALERT";

/// The invariant that is violated if the stored rows of an entity differ from the journal.
pub const RECORD: &str = "record";

/// The parts of an entity before an entry that projections need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateBefore {
    pub state: Name,
    /// The time at which it entered that state.
    pub since: Timestamp,
    /// Its unique value, if it had one.
    pub same: Option<Name>,
}

impl StateBefore {
    pub fn of(entity: &Entity) -> Self {
        let Entity { state, state_entered_at, same, .. } = entity;
        Self { state: state.clone(), since: *state_entered_at, same: same.clone() }
    }
}

/// Collects the changes of entries until they are written.
///
/// Add entries in order, each with its entity before it; then add every changed entity in its final state.
#[derive(Clone, Debug, Default)]
pub struct ProjectionBuilder {
    projection: Projection,
    /// The index in `rows` of each changed entity. Rows are in the order of first change.
    touched: HashMap<EntityKey, usize, FixedState>,
    rows: Vec<Option<EntityRow>>,
    groups: HashMap<GroupKey, GroupChange, FixedState>,
    entries: usize,
    /// A list to reuse for the next projection.
    spare: Vec<EntityRow>,
}

/// Empty lists with more capacity than this are freed.
const ROOM: usize = 32_768;

impl ProjectionBuilder {
    /// Starts after the entry `position`.
    pub fn new(position: u64) -> Self {
        Self { projection: Projection { position, ..Projection::default() }, ..Self::default() }
    }

    /// Adds the next entry. `before` is its entity's previous state; none if it did not exist.
    pub fn add(&mut self, entry: &Entry, before: Option<&StateBefore>) {
        let all = &mut self.projection;
        (all.position, all.at) = (entry.seq, entry.at);
        self.entries += 1;
        if !self.touched.contains_key(&entry.entity) {
            self.touched.insert(entry.entity.clone(), self.rows.len());
            self.rows.push(None);
        }
        if let Some(changes) = entry.event.changes() {
            for shift in &changes.shifts {
                add_shift(&mut self.groups, &entry.entity, shift, entry.at);
            }
            if let Some(same) = &changes.same {
                let place = |it: &Name| (entry.entity.lifecycle.clone(), it.clone());
                if let Some(before) = before.and_then(|it| it.same.as_ref()) {
                    let (lifecycle, value) = place(before);
                    match all.unique_values.get_mut(&(lifecycle.clone(), value.clone())) {
                        None => {
                            all.freed.insert((lifecycle, value, entry.entity.id.clone()));
                        }
                        Some(holder) if holder.as_ref() == Some(&entry.entity) => *holder = None,
                        // Another entity has it: the release was redacted and shows only now.
                        Some(_) => {}
                    }
                }
                if let Some(after) = same.value() {
                    all.unique_values.insert(place(after), Some(entry.entity.clone()));
                }
            }
        }
        if let Some(before) = before.filter(|it| leaves(&entry.event, it)) {
            let stayed = entry.at.since(before.since).0;
            all.dwell_times.push((entry.entity.lifecycle.clone(), before.state.clone(), stayed));
        }
        all.reranked.extend(entry.reranked.iter().cloned());
        if let Some(key) = &entry.key {
            all.keys.push((entry.seq, entry.at, key.clone()));
        }
        let kind = entry.event.kind();
        if kind.is_indexed() {
            all.notices.push(Notice { seq: entry.seq, kind: kind.as_str(), entity: entry.entity.clone() });
        }
        match entry.event {
            Event::AlertRaised { .. } => {
                all.notices.push(Notice { seq: entry.seq, kind: OPEN_ALERT, entity: entry.entity.clone() });
            }
            Event::AlertResolved { alert } => all.settled.push((OPEN_ALERT, alert)),
            Event::ViolationFound { ref rule, .. } if *rule == *RECORD => {
                all.to_rebuild.insert(entry.entity.clone());
            }
            _ => {}
        }
    }

    /// Adds an entity in its current state, with its definition.
    pub fn entity(&mut self, entity: Arc<Entity>, life: &Lifecycle) {
        if self.projection.to_rebuild.contains(&entity.key) {
            // An entity without a row was in no group.
            let groups = groups_of(life, &entity);
            self.projection.regrouped.insert(entity.key.clone(), groups.clone());
            for group in groups {
                let change = self.groups.entry(group).or_default();
                change.members.insert(entity.key.clone(), true);
            }
        }
        self.row(EntityRow::new(entity, life));
    }

    /// Adds an entity's row, with its indexed values already computed.
    pub fn row(&mut self, row: EntityRow) {
        let place = self.touched.get(&row.entity.key).and_then(|it| self.rows.get_mut(*it));
        match place {
            Some(place) => *place = Some(row),
            None => {
                self.touched.insert(row.entity.key.clone(), self.rows.len());
                self.rows.push(Some(row));
            }
        }
    }

    /// Sets the current project.
    pub fn project(&mut self, project: Project) {
        self.projection.project = Some(project);
    }

    /// Entities that entries have touched, in no order.
    pub fn touched_entities(&self) -> impl Iterator<Item = &EntityKey> {
        self.touched.keys()
    }

    /// The last entry that was added.
    pub fn position(&self) -> u64 {
        self.projection.position
    }

    /// The number of entries that were added.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Returns the collected changes and starts over.
    pub fn build(&mut self) -> Projection {
        let next = Projection { position: self.projection.position, ..Projection::default() };
        let mut projection = std::mem::replace(&mut self.projection, next);
        projection.entities = std::mem::take(&mut self.spare);
        projection.entities.reserve(self.rows.len());
        projection.entities.extend(self.rows.drain(..).flatten());
        projection.groups = self.groups.drain().collect();
        self.entries = 0;
        self.touched.clear();
        self.rows = clear_list(std::mem::take(&mut self.rows));
        if self.touched.capacity() > ROOM {
            self.touched = HashMap::default();
        }
        projection
    }

    /// Reuses the lists of a written projection: under load, allocating new ones would cost more than filling them.
    pub fn reuse(&mut self, written: Projection) {
        let Projection { entities, keys, notices, dwell_times, .. } = written;
        self.spare = clear_list(entities);
        let next = &mut self.projection;
        if next.keys.is_empty() && next.notices.is_empty() && next.dwell_times.is_empty() {
            (next.keys, next.notices, next.dwell_times) =
                (clear_list(keys), clear_list(notices), clear_list(dwell_times));
        }
    }
}

/// The list without its items; its capacity is kept unless too large.
fn clear_list<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    if list.capacity() > ROOM { Vec::new() } else { list }
}

impl EntityRow {
    pub fn new(entity: Arc<Entity>, life: &Lifecycle) -> Self {
        let value = |name: &Name| Some((name.clone(), entity.fields.get(name)?.clone()));
        Self {
            last: life.state(&entity.state).is_some_and(|it| it.last),
            indexed: life.indexes.iter().filter_map(value).collect(),
            overdue_at: overdue_at(life, &entity),
            entity,
        }
    }
}

/// Whether an event makes its entity leave the state it was in.
fn leaves(event: &Event, before: &StateBefore) -> bool {
    match event {
        Event::Transitioned { .. } => true,
        Event::Corrected { from, to, .. } => from.is_some() && before.state != *to,
        _ => false,
    }
}

fn add_shift(
    groups: &mut HashMap<GroupKey, GroupChange, FixedState>,
    member: &EntityKey,
    shift: &Shift,
    at: Timestamp,
) {
    if !groups.contains_key(&shift.group) {
        groups.insert(shift.group.clone(), GroupChange::default());
    }
    let Some(group) = groups.get_mut(&shift.group) else { return };
    group.moved_at = Some(at);
    let mut count = |state: &Name, by: i64| {
        let more = group.counts.entry(state.clone()).or_default();
        *more += by;
        if *more == 0 {
            group.counts.remove(state);
        }
    };
    if let Some(from) = &shift.from {
        count(from, -1);
    }
    if let Some(to) = &shift.to {
        count(to, 1);
    }
    match (&shift.from, &shift.to) {
        (None, Some(_)) => {
            group.members.insert(member.clone(), true);
        }
        (Some(_), None) => {
            group.members.insert(member.clone(), false);
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use trackside_engine::event::{Changes, UniqueClaim};

    use super::*;
    use crate::conformance::sample::{entry, key, key_record, name, row};

    fn was(state: &str, since: i64, same: Option<&str>) -> StateBefore {
        StateBefore { state: name(state), since: Timestamp(since), same: same.map(name) }
    }

    #[test]
    fn a_stay_is_counted_when_the_state_is_left() {
        let mut builder = ProjectionBuilder::new(0);
        let event = |it: Event, seq| Entry { event: it, ..entry(seq, "t.thing/A") };
        let moves = Event::Transitioned { from: name("NEW"), to: name("OPEN"), changes: Changes::default() };
        builder.add(&event(moves, 1), Some(&was("NEW", 400, None)));
        builder.add(&entry(2, "t.thing/A"), Some(&was("OPEN", 1_000, None)));
        let corrected = |to: &str, from: Option<&str>| Event::Corrected {
            from: from.map(name),
            to: name(to),
            definition: 1,
            changes: Changes::default(),
        };
        builder.add(&event(corrected("OPEN", Some("OPEN")), 3), Some(&was("OPEN", 1_000, None)));
        builder.add(&event(corrected("SHUT", Some("OPEN")), 4), Some(&was("OPEN", 1_000, None)));
        builder.add(&event(corrected("SHUT", None), 5), None);
        let built = builder.build();
        let stay = |state: &str, ms| (name("t.thing"), name(state), ms);
        assert_eq!(built.dwell_times, [stay("NEW", 600), stay("OPEN", 3_000)]);
        assert_eq!((built.position, built.at), (5, Timestamp(5_000)));
    }

    #[test]
    fn a_builder_is_reusable_after_a_write() {
        let collect = |builder: &mut ProjectionBuilder, from: u64, many: u64| {
            for seq in from..from + many {
                let id = format!("t.thing/{seq}");
                let moves =
                    Event::Transitioned { from: name("NEW"), to: name("OPEN"), changes: Changes::default() };
                let moved = Entry { event: moves, key: Some(key_record("ada", &id)), ..entry(seq, &id) };
                builder.add(&moved, Some(&was("NEW", 0, None)));
                builder.row(row(&id, "OPEN"));
            }
        };
        let mut again = ProjectionBuilder::new(0);
        let few = |it: &Projection| {
            let ids: Vec<_> = it.entities.iter().map(|it| it.entity.key.id.clone()).collect();
            (
                it.position,
                it.at,
                ids,
                it.keys.clone(),
                it.dwell_times.clone(),
                it.notices.clone(),
                it.groups.clone(),
            )
        };
        for (from, many) in [(1, 3), (4, 50_000), (50_004, 1), (50_005, 2)] {
            let mut alone = ProjectionBuilder::new(from - 1);
            collect(&mut alone, from, many);
            collect(&mut again, from, many);
            assert_eq!((again.entries(), again.position()), (alone.entries(), alone.position()));
            let built = again.build();
            assert_eq!(few(&built), few(&alone.build()));
            assert_eq!(
                (again.entries(), again.position(), again.touched_entities().count()),
                (0, built.position, 0)
            );
            again.reuse(built);
            let room = [again.spare.capacity(), again.rows.capacity(), again.touched.capacity()];
            assert!(room.iter().all(|it| *it <= ROOM), "{room:?}");
            assert!(again.projection.keys.capacity() <= ROOM);
        }
        assert!(again.projection.keys.capacity() > 0 && again.spare.capacity() > 0);
    }

    #[test]
    fn a_value_is_free_when_its_holder_takes_another() {
        let same = |seq, entity: &str, same: UniqueClaim| {
            let changes = Changes { same: Some(same), ..Changes::default() };
            Entry { event: Event::FieldsChanged { changes }, ..entry(seq, entity) }
        };
        let mut builder = ProjectionBuilder::new(0);
        builder
            .add(&same(1, "t.thing/A", UniqueClaim::Taken(name("blue"))), Some(&was("OPEN", 0, Some("red"))));
        builder.add(&same(2, "t.thing/B", UniqueClaim::Taken(name("red"))), Some(&was("OPEN", 0, None)));
        builder.add(&same(3, "t.thing/C", UniqueClaim::Free), Some(&was("OPEN", 0, Some("grey"))));
        let place = |value: &str| (name("t.thing"), name(value));
        // D released the value earlier, without an entry: its release does not take the value from B, which
        // holds it now.
        builder.add(&same(4, "t.thing/D", UniqueClaim::Free), Some(&was("OPEN", 0, Some("red"))));
        builder.add(&same(5, "t.thing/A", UniqueClaim::Free), Some(&was("OPEN", 0, Some("blue"))));
        let wanted = BTreeMap::from([(place("blue"), None), (place("red"), Some(key("t.thing/B")))]);
        let built = builder.build();
        assert_eq!(built.unique_values, wanted);
        let freed = |value: &str, id: &str| (name("t.thing"), name(value), name(id));
        assert_eq!(built.freed, BTreeSet::from([freed("grey", "C"), freed("red", "A")]));
    }
}
