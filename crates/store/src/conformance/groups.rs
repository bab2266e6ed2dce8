//! Groups: the counts per state, and the members.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::key::GroupKey;
use trackside_lifecycle::time::Timestamp;

use super::Make;
use super::sample::{group, key, name, projection, row};
use crate::projection::GroupChange;
use crate::store::{Counts, Members, Reader};
use crate::{EntityRow, Projection};

fn change(at: i64, counts: &[(&str, i64)], members: &[(&str, bool)]) -> GroupChange {
    GroupChange {
        counts: counts.iter().map(|(state, by)| (name(state), *by)).collect(),
        members: members.iter().map(|(id, joined)| (key(id), *joined)).collect(),
        moved_at: Some(Timestamp(at)),
    }
}

fn moved(position: u64, entities: Vec<EntityRow>, of: &GroupKey, change: GroupChange) -> Projection {
    Projection { groups: BTreeMap::from([(of.clone(), change)]), ..projection(position, entities) }
}

fn is(reader: &mut dyn Reader, of: &GroupKey, at: i64, members: &[(&str, &[&str])]) {
    let moved_at = Some(Timestamp(at));
    let by_state = members.iter().map(|(state, all)| (name(state), all.len() as u64)).collect();
    assert_eq!(reader.counts(of).unwrap().value, Counts { by_state, moved_at });
    let keys = |all: &[&str]| all.iter().map(|it| key(it)).collect::<BTreeSet<_>>();
    let by_state = members.iter().map(|(state, all)| (name(state), keys(all))).collect();
    assert_eq!(reader.members(of).unwrap().value, Members { by_state, moved_at });
}

pub fn members_join_move_and_leave(make: Make<'_>) {
    let place = make();
    let parts = group("t.thing/Z", "parts");
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let mut reader = store.reader().unwrap();
        assert_eq!(reader.counts(&parts).unwrap().value, Counts::default());
        assert_eq!(reader.members(&parts).unwrap().value, Members::default());
        let first = change(
            1,
            &[("NEW", 2), ("OKAY", 1)],
            &[("t.part/A", true), ("t.part/B", true), ("s.part/A", true)],
        );
        let rows = vec![row("t.part/A", "NEW"), row("t.part/B", "NEW"), row("s.part/A", "OKAY")];
        projector.project(&moved(1, rows, &parts, first)).unwrap();
        is(&mut *reader, &parts, 1, &[("NEW", &["t.part/A", "t.part/B"]), ("OKAY", &["s.part/A"])]);
        // One changes its state and stays.
        let second = change(2, &[("NEW", -1), ("OKAY", 1)], &[]);
        projector.project(&moved(2, vec![row("t.part/A", "OKAY")], &parts, second)).unwrap();
        is(&mut *reader, &parts, 2, &[("NEW", &["t.part/B"]), ("OKAY", &["s.part/A", "t.part/A"])]);
        // One leaves, another takes its place.
        let third = change(3, &[("NEW", 0)], &[("t.part/B", false), ("t.part/C", true)]);
        let rows = vec![row("t.part/B", "NEW"), row("t.part/C", "NEW")];
        projector.project(&moved(3, rows, &parts, third)).unwrap();
        is(&mut *reader, &parts, 3, &[("NEW", &["t.part/C"]), ("OKAY", &["s.part/A", "t.part/A"])]);
        let fourth = change(4, &[("OKAY", -2)], &[("s.part/A", false), ("t.part/A", false)]);
        projector.project(&moved(4, Vec::new(), &parts, fourth)).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    is(&mut *reader, &parts, 4, &[("NEW", &["t.part/C"])]);
    let last = change(5, &[("NEW", -1)], &[("t.part/C", false)]);
    store.projector().unwrap().project(&moved(5, Vec::new(), &parts, last)).unwrap();
    is(&mut *reader, &parts, 5, &[]);
    assert_eq!(reader.counts(&parts).unwrap().position, 5);
}

pub fn a_member_that_joins_and_leaves_in_one_projection_leaves_no_trace(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let parts = group("t.thing/Z", "parts");
    let brief = change(1, &[], &[("t.part/A", false)]);
    projector.project(&moved(1, vec![row("t.part/A", "NEW")], &parts, brief)).unwrap();
    let mut reader = store.reader().unwrap();
    is(&mut *reader, &parts, 1, &[]);
    // Joining twice is joining once.
    let joins = |at, by| change(at, &[("NEW", by)], &[("t.part/A", true)]);
    projector.project(&moved(2, Vec::new(), &parts, joins(2, 1))).unwrap();
    projector.project(&moved(3, Vec::new(), &parts, joins(3, 0))).unwrap();
    is(&mut *reader, &parts, 3, &[("NEW", &["t.part/A"])]);
}

pub fn groups_of_one_entity_are_separate(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let (parts, wholes) = (group("t.thing/Z", "parts"), group("t.thing/Z", "wholes"));
    let other = group("t.things/Z", "parts");
    let groups = BTreeMap::from([
        (parts.clone(), change(1, &[("NEW", 1)], &[("t.part/A", true)])),
        (wholes.clone(), change(2, &[("NEW", 1), ("OKAY", 1)], &[("t.part/A", true), ("t.part/B", true)])),
    ]);
    let rows = vec![row("t.part/A", "NEW"), row("t.part/B", "OKAY")];
    store.projector().unwrap().project(&Projection { groups, ..projection(1, rows) }).unwrap();
    let mut reader = store.reader().unwrap();
    is(&mut *reader, &parts, 1, &[("NEW", &["t.part/A"])]);
    is(&mut *reader, &wholes, 2, &[("NEW", &["t.part/A"]), ("OKAY", &["t.part/B"])]);
    assert_eq!(reader.members(&other).unwrap().value, Members::default());
}
