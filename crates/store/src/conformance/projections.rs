//! Projections, written in several steps.

use std::collections::BTreeMap;

use trackside_engine::entity::{Lease, OpenEffect, Stay, Tallies, Tally};
use trackside_engine::fields::Fields;
use trackside_engine::view::Project;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::Make;
use super::sample::{group, key, key_record, name, projection, row, timer};
use crate::projection::{GroupChange, Notice};
use crate::projection_builder::OPEN_ALERT;
use crate::store::{AtPosition, Census, DueAt, DwellTimes, OpenEffectRow};
use crate::{EntityRow, Projection};

pub fn a_projection_goes_forward_or_is_refused(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    projector.project(&projection(3, vec![row("t.thing/A", "OKAY")])).unwrap();
    projector.project(&projection(3, Vec::new())).expect_err("it is written already");
    projector.project(&projection(2, Vec::new())).expect_err("more is written already");
    assert_eq!(projector.position().unwrap(), 3);
    projector.project(&projection(9, Vec::new())).unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!((projector.position().unwrap(), reader.position().unwrap()), (9, 9));
    let counts = reader.counts(&group("t.thing/A", "parts")).unwrap();
    assert_eq!(counts.position, 9, "every answer has its position");
    assert_eq!(reader.timers(None, 1).unwrap().position, 9);
    assert_eq!(reader.effects(0, 1).unwrap().position, 9);
    assert_eq!(reader.states(&name("t.thing")).unwrap().position, 9);
}

pub fn a_refused_projection_leaves_nothing(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    projector.project(&projection(5, vec![row("t.thing/A", "OKAY")])).unwrap();
    let change = GroupChange {
        counts: BTreeMap::from([(name("OKAY"), 1)]),
        members: BTreeMap::from([(key("t.thing/A"), true)]),
        moved_at: Some(Timestamp(1)),
    };
    let full = Projection {
        groups: BTreeMap::from([(group("t.thing/Z", "parts"), change)]),
        unique_values: BTreeMap::from([((name("t.thing"), name("x")), Some(key("t.thing/A")))]),
        keys: vec![(5, Timestamp(1), key_record("ada", "k"))],
        notices: vec![Notice { seq: 5, kind: "VIOLATION", entity: key("t.thing/A") }],
        dwell_times: vec![(name("t.thing"), name("OKAY"), 7)],
        project: Some(Project { zone: "Europe/Berlin".to_owned(), ..Project::default() }),
        ..projection(5, vec![row("t.thing/A", "SHUT"), row("t.thing/B", "OKAY")])
    };
    projector.project(&full).expect_err("not beyond the end");
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.entity(&key("t.thing/A")).unwrap(), Some(row("t.thing/A", "OKAY").entity));
    assert_eq!(reader.entity(&key("t.thing/B")).unwrap(), None);
    assert_eq!(reader.counts(&group("t.thing/Z", "parts")).unwrap().value.by_state.len(), 0);
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("x")).unwrap(), None);
    assert_eq!(reader.key(&name("ada"), &name("k")).unwrap(), None);
    assert!(reader.notices(&["VIOLATION"], 0, 9).unwrap().is_empty());
    assert_eq!(reader.dwell_times(&name("t.thing")).unwrap().value.len(), 0);
    assert_eq!(reader.project().unwrap(), None);
    projector.project(&Projection { position: 6, ..full }).expect("beyond it, all of it is written");
    assert_eq!(reader.entity(&key("t.thing/A")).unwrap(), Some(row("t.thing/A", "SHUT").entity));
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("x")).unwrap(), Some(key("t.thing/A")));
}

/// An entity with every kind of content.
fn rich(version: u64) -> EntityRow {
    row("t.thing/A@b:1", "OKAY").with(|it| {
        it.version = version;
        it.seq = version + 40;
        it.previous_state = Some(name("NEW"));
        it.fields = Fields::from_iter([
            ("empty", Value::text("")),
            ("float", Value::Float(0.1 + 0.2)),
            ("large", Value::Int(i64::MAX)),
            ("list", Value::list(vec![Value::Null, Value::Bool(true), Value::Int(-1)])),
            ("map", Value::map(BTreeMap::from([(name("\u{fc}"), Value::text("\u{201c}\n\0\u{1f600}"))]))),
            ("moment", Value::Time(Timestamp(-1))),
            ("while", Value::Span(Span(90_000))),
        ]);
        it.stays = vec![Stay { state: name("OKAY"), visits: 2, spent: Span(77) }];
        it.timers = vec![(name("wait"), timer(Some(9))), (name("still"), timer(None))];
        let tally = Tally { value: 1.5, marks: vec![(Timestamp(3), 0.1)], warned: 1 };
        it.tallies = vec![Tallies { counter: name("fails"), by_key: vec![(name("*"), tally)] }];
        let lease = Lease {
            holder: Some(name("ada")),
            fence: u64::MAX >> 1,
            expires_at: Timestamp(8),
            granted_at: None,
        };
        it.leases = vec![(name("work"), lease)];
        it.effects = vec![OpenEffect { id: 12, effect: name("print") }];
        it.same = Some(name("only"));
        it.broken = vec![name("rule")];
        it.kept = 2;
    })
}

pub fn an_entity_is_as_it_was_last_written(make: Make<'_>) {
    let place = make();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        projector
            .project(&projection(1, vec![row("t.thing/A@b:1", "NEW"), row("t.thing/C", "NEW")]))
            .unwrap();
        projector.project(&projection(2, vec![rich(2)])).unwrap();
        projector.project(&projection(3, vec![rich(3)])).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    let found = reader.entity(&key("t.thing/A@b:1")).unwrap().unwrap();
    let (found, written) =
        (serde_json::to_string(&found).unwrap(), serde_json::to_string(&rich(3).entity).unwrap());
    assert_eq!(found, written, "byte for byte");
    assert_eq!(reader.entity(&key("t.thing/C")).unwrap(), Some(row("t.thing/C", "NEW").entity));
    assert_eq!(reader.entity(&key("t.thing/c")).unwrap(), None, "ids are not folded");
    assert_eq!(reader.entity(&key("s.thing/C")).unwrap(), None);
}

pub fn states_are_counted(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let mut reader = store.reader().unwrap();
    let all = [("t.thing/A", "NEW"), ("t.thing/B", "NEW"), ("t.thing/C", "OKAY"), ("t.other/A", "NEW")];
    projector.project(&projection(1, all.map(|(id, state)| row(id, state)).into())).unwrap();
    let mut states = |of: &str| -> Vec<(String, u64)> {
        let found = reader.states(&name(of)).unwrap().value;
        found.into_iter().map(|(state, count)| (state.to_string(), count)).collect()
    };
    let counted = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
        all.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect()
    };
    assert_eq!(states("t.thing"), counted(&[("NEW", 2), ("OKAY", 1)]));
    projector.project(&projection(2, vec![row("t.thing/A", "OKAY"), row("t.thing/C", "SHUT")])).unwrap();
    projector.project(&projection(3, vec![row("t.thing/B", "SHUT"), row("t.thing/C", "SHUT")])).unwrap();
    assert_eq!(states("t.thing"), counted(&[("OKAY", 1), ("SHUT", 2)]), "none is in a state that was left");
    assert_eq!(states("t.other"), counted(&[("NEW", 1)]));
    assert_eq!(states("t.none"), []);
}

pub fn timers_come_in_the_order_in_which_they_are_due(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let timed = |id: &str, timers: &[(&str, Option<i64>)]| {
        let timers = timers.iter().map(|(it, due)| (name(it), timer(*due))).collect();
        row(id, "OKAY").with(|it| it.timers = timers)
    };
    let rows = vec![
        timed("t.thing/B", &[("late", Some(300)), ("early", Some(-5)), ("still", None)]),
        timed("t.thing/A", &[("late", Some(300)), ("b", Some(100)), ("a", Some(100))]),
        timed("s.thing/Z", &[("b", Some(100))]),
        timed("t.thing/C", &[("gone", Some(50))]),
    ];
    projector.project(&projection(1, rows)).unwrap();
    projector.project(&projection(2, vec![timed("t.thing/C", &[("moved", Some(200))])])).unwrap();
    let due = |due, id: &str, timer: &str| DueAt { due: Timestamp(due), entity: key(id), timer: name(timer) };
    let wanted = vec![
        due(-5, "t.thing/B", "early"),
        due(100, "s.thing/Z", "b"),
        due(100, "t.thing/A", "a"),
        due(100, "t.thing/A", "b"),
        due(200, "t.thing/C", "moved"),
        due(300, "t.thing/A", "late"),
        due(300, "t.thing/B", "late"),
    ];
    let mut sorted = wanted.clone();
    sorted.sort();
    assert_eq!(sorted, wanted, "as they are compared, so they fire");
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.timers(None, 100).unwrap().value, wanted);
    for most in 1..=7 {
        let mut found: Vec<DueAt> = Vec::new();
        while let some = reader.timers(found.last(), most).unwrap().value
            && !some.is_empty()
        {
            assert!(some.len() <= most);
            found.extend(some);
        }
        assert_eq!(found, wanted, "{most} at a time");
    }
    let between = due(250, "a.a/A", "a");
    assert_eq!(reader.timers(Some(&between), 1).unwrap().value, wanted[5..6]);
}

pub fn effects_are_there_until_they_are_settled(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let asked = |id: &str, effects: &[u64]| {
        let effects = effects.iter().map(|id| OpenEffect { id: *id, effect: name("print") }).collect();
        row(id, "OKAY").with(|it| it.effects = effects)
    };
    projector.project(&projection(20, vec![asked("t.thing/B", &[3, 17]), asked("t.thing/A", &[5])])).unwrap();
    let mut reader = store.reader().unwrap();
    let open = |id, entity: &str| OpenEffectRow { id, effect: name("print"), entity: key(entity) };
    let all = [open(3, "t.thing/B"), open(5, "t.thing/A"), open(17, "t.thing/B")];
    assert_eq!(reader.effects(0, 100).unwrap().value, all);
    assert_eq!(reader.effects(0, 2).unwrap().value, all[..2]);
    assert_eq!(reader.effects(3, 100).unwrap().value, all[1..]);
    projector.project(&projection(21, vec![asked("t.thing/B", &[17, 21])])).unwrap();
    let left = [all[1].clone(), all[2].clone(), open(21, "t.thing/B")];
    assert_eq!(reader.effects(0, 100).unwrap().value, left);
}

pub fn notices_are_found_by_their_kind(make: Make<'_>) {
    let place = make();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let notice = |seq, kind| Notice { seq, kind, entity: key("t.thing/A") };
        let some = vec![notice(2, "VIOLATION"), notice(3, "ALERT_RAISED"), notice(4, "NOTIFIED")];
        projector.project(&Projection { notices: some, ..projection(4, Vec::new()) }).unwrap();
        let more = vec![notice(6, "VIOLATION"), notice(9, "VIOLATION_CLEARED")];
        projector.project(&Projection { notices: more, ..projection(9, Vec::new()) }).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.notices(&["VIOLATION"], 0, 100).unwrap(), [2, 6]);
    assert_eq!(reader.notices(&["VIOLATION", "ALERT_RAISED"], 0, 100).unwrap(), [2, 3, 6]);
    assert_eq!(reader.notices(&["ALERT_RAISED", "VIOLATION"], 2, 1).unwrap(), [3]);
    assert!(reader.notices(&["VIOLATION"], 6, 100).unwrap().is_empty());
    assert!(reader.notices(&["EVIDENCE"], 0, 100).unwrap().is_empty());
    assert!(reader.notices(&[], 0, 100).unwrap().is_empty());
}

pub fn resolved_alerts_are_not_listed_as_open(make: Make<'_>) {
    let place = make();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let raised =
            |seq| ["ALERT_RAISED", OPEN_ALERT].map(|kind| Notice { seq, kind, entity: key("t.thing/A") });
        let notices = [raised(2), raised(3), raised(4)].concat();
        // An alert that was raised and resolved between two writes.
        let settled = vec![(OPEN_ALERT, 3)];
        projector.project(&Projection { notices, settled, ..projection(5, Vec::new()) }).unwrap();
        let settled = vec![(OPEN_ALERT, 2)];
        projector.project(&Projection { settled, ..projection(6, Vec::new()) }).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.notices(&[OPEN_ALERT], 0, 100).unwrap(), [4]);
    assert_eq!(reader.notices(&["ALERT_RAISED"], 0, 100).unwrap(), [2, 3, 4]);
}

pub fn stays_add_up(make: Make<'_>) {
    let place = make();
    let lengths: [&[i64]; 2] = [&[10, 10, 5_000], &[10, 86_400_000, 0]];
    let mut wanted = DwellTimes::default();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        for (n, some) in lengths.iter().enumerate() {
            let dwell_times: Vec<_> = some.iter().map(|ms| (name("t.thing"), name("OKAY"), *ms)).collect();
            let other = [(name("t.thing"), name("SHUT"), 1), (name("s.thing"), name("OKAY"), 1)];
            let dwell_times = [dwell_times.as_slice(), &other].concat();
            projector.project(&Projection { dwell_times, ..projection(n as u64 + 1, Vec::new()) }).unwrap();
            some.iter().for_each(|ms| wanted.add(*ms));
        }
    }
    let store = place.open();
    let found = store.reader().unwrap().dwell_times(&name("t.thing")).unwrap();
    assert_eq!(found.position, 2);
    assert_eq!(found.value.len(), 2);
    assert_eq!(found.value[&name("OKAY")], wanted);
    assert_eq!((wanted.count, wanted.total_ms), (6, 86_405_030));
    assert_eq!(found.value[&name("SHUT")].count, 2);
}

pub fn open_work_is_counted(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let (mut projector, mut reader) = (store.projector().unwrap(), store.reader().unwrap());
    assert_eq!(reader.census().unwrap().value, Census::default());
    let leased = row("t.thing/L", "OKAY").with(|it| {
        it.timers = vec![(name("lease.work"), timer(Some(5))), (name("leaseless"), timer(Some(6)))];
    });
    let notice = |seq, kind| Notice { seq, kind, entity: key("t.thing/L") };
    let notices = vec![notice(1, "VIOLATION"), notice(2, "VIOLATION"), notice(3, "ALERT_RAISED")];
    projector.project(&Projection { notices, ..projection(3, vec![rich(1), leased]) }).unwrap();
    let all = Census { timers: 3, leases: 1, effects: 1, violations: 2 };
    assert_eq!(reader.census().unwrap(), AtPosition { position: 3, value: all });
    let notices = vec![notice(4, "VIOLATION_CLEARED")];
    projector.project(&Projection { notices, ..projection(4, vec![row("t.thing/L", "OKAY")]) }).unwrap();
    let fewer = Census { timers: 1, leases: 0, effects: 1, violations: 1 };
    assert_eq!(reader.census().unwrap(), AtPosition { position: 4, value: fewer });
}

pub fn the_project_is_kept_until_it_changes(make: Make<'_>) {
    let place = make();
    let project = |zone: &str| Project {
        settings: BTreeMap::from([(
            name("t"),
            BTreeMap::from([(name("wait"), Value::Span(Span(5))), (name("most"), Value::Int(2))]),
        )]),
        zone: zone.to_owned(),
        people: vec![name("zoe"), name("ada")],
    };
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let mut reader = store.reader().unwrap();
    let first = Projection { project: Some(project("Europe/Berlin")), ..projection(1, Vec::new()) };
    projector.project(&first).unwrap();
    projector.project(&projection(2, Vec::new())).unwrap();
    assert_eq!(reader.project().unwrap(), Some(project("Europe/Berlin")));
    let second = Projection { project: Some(project("")), ..projection(3, Vec::new()) };
    projector.project(&second).unwrap();
    drop((projector, reader, store));
    assert_eq!(place.open().reader().unwrap().project().unwrap(), Some(project("")));
}

pub fn cleared_it_can_be_filled_again(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let full = |position, state: &str| Projection {
        unique_values: BTreeMap::from([((name("t.thing"), name("x")), Some(key("t.thing/A")))]),
        keys: vec![(1, Timestamp(1), key_record("ada", "k"))],
        dwell_times: vec![(name("t.thing"), name("NEW"), 7)],
        notices: vec![Notice { seq: 1, kind: "VIOLATION", entity: key("t.thing/A") }],
        groups: BTreeMap::from([(
            group("t.thing/Z", "parts"),
            GroupChange {
                counts: BTreeMap::from([(name(state), 1)]),
                moved_at: Some(Timestamp(1)),
                ..GroupChange::default()
            },
        )]),
        ..projection(position, vec![rich(1), row("t.thing/A", state)])
    };
    projector.project(&full(7, "OKAY")).unwrap();
    projector.clear().unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!((projector.position().unwrap(), reader.position().unwrap()), (0, 0));
    assert_eq!(reader.entity(&key("t.thing/A")).unwrap(), None);
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("x")).unwrap(), None);
    assert_eq!(reader.key(&name("ada"), &name("k")).unwrap(), None);
    assert_eq!(reader.timers(None, 9).unwrap().value, []);
    assert_eq!(reader.effects(0, 9).unwrap().value, []);
    assert!(reader.notices(&["VIOLATION"], 0, 9).unwrap().is_empty());
    assert_eq!(reader.states(&name("t.thing")).unwrap().value, BTreeMap::new());
    assert_eq!(reader.dwell_times(&name("t.thing")).unwrap().value, BTreeMap::new());
    assert_eq!(reader.counts(&group("t.thing/Z", "parts")).unwrap().value.by_state, BTreeMap::new());
    projector.project(&full(3, "SHUT")).unwrap();
    assert_eq!(reader.position().unwrap(), 3);
    assert_eq!(reader.dwell_times(&name("t.thing")).unwrap().value[&name("NEW")].count, 1);
    let counts = reader.counts(&group("t.thing/Z", "parts")).unwrap().value.by_state;
    assert_eq!(counts, BTreeMap::from([(name("SHUT"), 1)]));
}
