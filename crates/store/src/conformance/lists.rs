//! Lists of entities.

use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::Make;
use super::sample::{key, name, projection, row};
use crate::store::{Listing, Reader};
use crate::{EntityRow, Store};

fn ids(reader: &mut dyn Reader, listing: &Listing) -> Vec<String> {
    let found = reader.list(listing).unwrap();
    assert_eq!(found.position, 2);
    found.value.iter().map(|it| it.key.to_string()).collect()
}

fn of(lifecycle: &str) -> Listing {
    Listing { lifecycle: Some(name(lifecycle)), most: 100, ..Listing::default() }
}

/// Two lifecycles, the name of one the beginning of the other's.
fn filled(store: &dyn Store) {
    let found_by = |id: &str, state: &str, tag: Value, late: Option<i64>| EntityRow {
        indexed: vec![(name("tag"), tag), (name("size"), Value::Int(1))],
        overdue_at: late.map(Timestamp),
        ..row(id, state)
    };
    let rows = vec![
        found_by("t.thing/C", "OKAY", Value::Int(1), Some(50)),
        found_by("t.thing/A", "NEW", Value::text("red"), Some(9)),
        found_by("t.thing/B", "OKAY", Value::text("1"), None),
        found_by("t.thing/D", "SHUT", Value::text("red"), Some(100)),
        found_by("t.things/A", "OKAY", Value::text("red"), Some(1)),
        row("t.other/Z", "OKAY"),
    ];
    let mut projector = store.projector().unwrap();
    projector.project(&projection(1, rows)).unwrap();
    let moved = found_by("t.thing/A", "OKAY", Value::text("red"), Some(40));
    let bare = row("t.thing/E", "NEW");
    projector.project(&projection(2, vec![moved, bare])).unwrap();
}

pub fn all_of_a_lifecycle_in_the_order_of_ids(make: Make<'_>) {
    let place = make();
    let store = place.open();
    filled(&*store);
    let mut reader = store.reader().unwrap();
    let all = ["t.thing/A", "t.thing/B", "t.thing/C", "t.thing/D", "t.thing/E"];
    assert_eq!(ids(&mut *reader, &of("t.thing")), all);
    assert_eq!(ids(&mut *reader, &of("t.things")), ["t.things/A"]);
    assert_eq!(ids(&mut *reader, &of("t.thin")), [""; 0]);
    let every = Listing { most: 100, ..Listing::default() };
    assert_eq!(ids(&mut *reader, &every), [&["t.other/Z"], &all[..], &["t.things/A"]].concat());
}

pub fn those_in_a_state(make: Make<'_>) {
    let place = make();
    let store = place.open();
    filled(&*store);
    let mut reader = store.reader().unwrap();
    let in_states =
        |states: &[&str]| Listing { states: states.iter().map(|it| name(it)).collect(), ..of("t.thing") };
    assert_eq!(ids(&mut *reader, &in_states(&["OKAY"])), ["t.thing/A", "t.thing/B", "t.thing/C"]);
    assert_eq!(
        ids(&mut *reader, &in_states(&["SHUT", "NEW"])),
        ["t.thing/D", "t.thing/E"],
        "in the order of ids"
    );
    assert_eq!(ids(&mut *reader, &in_states(&["NOWHERE"])), [""; 0]);
    let anywhere = Listing { lifecycle: None, ..in_states(&["OKAY"]) };
    let open = ["t.other/Z", "t.thing/A", "t.thing/B", "t.thing/C", "t.things/A"];
    assert_eq!(ids(&mut *reader, &anywhere), open);
}

pub fn those_with_a_value(make: Make<'_>) {
    let place = make();
    let store = place.open();
    filled(&*store);
    let mut reader = store.reader().unwrap();
    let tagged = |field: &str, value: Value| Listing { indexed: Some((name(field), value)), ..of("t.thing") };
    assert_eq!(ids(&mut *reader, &tagged("tag", Value::text("red"))), ["t.thing/A", "t.thing/D"]);
    assert_eq!(ids(&mut *reader, &tagged("tag", Value::text("1"))), ["t.thing/B"], "text is no number");
    assert_eq!(ids(&mut *reader, &tagged("tag", Value::Int(1))), ["t.thing/C"], "a number is no text");
    assert_eq!(ids(&mut *reader, &tagged("size", Value::Int(1))).len(), 4);
    assert_eq!(ids(&mut *reader, &tagged("size", Value::text("red"))), [""; 0], "it is another's value");
    // A value that was changed is found no more under the old one.
    let bare = EntityRow { indexed: vec![(name("tag"), Value::text("blue"))], ..row("t.thing/A", "OKAY") };
    store.projector().unwrap().project(&projection(3, vec![bare])).unwrap();
    let red = reader.list(&tagged("tag", Value::text("red"))).unwrap();
    assert_eq!((red.position, red.value.len()), (3, 1));
    assert_eq!(reader.list(&tagged("tag", Value::text("blue"))).unwrap().value.len(), 1);
    assert_eq!(reader.list(&tagged("size", Value::Int(1))).unwrap().value.len(), 3);
}

pub fn those_that_are_overdue(make: Make<'_>) {
    let place = make();
    let store = place.open();
    filled(&*store);
    let mut reader = store.reader().unwrap();
    let late = |now| Listing { overdue_at: Some(Timestamp(now)), ..of("t.thing") };
    assert_eq!(ids(&mut *reader, &late(39)), [""; 0], "it moved, and has more time");
    assert_eq!(ids(&mut *reader, &late(40)), ["t.thing/A"]);
    assert_eq!(ids(&mut *reader, &late(99)), ["t.thing/A", "t.thing/C"]);
    assert_eq!(ids(&mut *reader, &late(100)), ["t.thing/A", "t.thing/C", "t.thing/D"]);
    let anywhere = Listing { lifecycle: None, ..late(40) };
    assert_eq!(ids(&mut *reader, &anywhere), ["t.thing/A", "t.things/A"]);
}

pub fn conditions_are_met_together(make: Make<'_>) {
    let place = make();
    let store = place.open();
    filled(&*store);
    let mut reader = store.reader().unwrap();
    let all = Listing {
        states: vec![name("OKAY"), name("NEW")],
        indexed: Some((name("tag"), Value::text("red"))),
        overdue_at: Some(Timestamp(100)),
        ..of("t.thing")
    };
    assert_eq!(ids(&mut *reader, &all), ["t.thing/A"]);
    let after = Listing { after: Some(key("t.thing/A")), states: Vec::new(), ..all };
    assert_eq!(ids(&mut *reader, &after), ["t.thing/D"]);
}

pub fn a_list_is_read_in_pages(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let rows = (0..25).map(|n| row(&format!("t.thing/{n:02}"), if n % 3 == 0 { "NEW" } else { "OKAY" }));
    let mut projector = store.projector().unwrap();
    projector.project(&projection(1, vec![row("t.a/Z", "OKAY"), row("t.z/A", "OKAY")])).unwrap();
    projector.project(&projection(2, rows.collect())).unwrap();
    let mut reader = store.reader().unwrap();
    for states in [Vec::new(), vec![name("OKAY")], vec![name("OKAY"), name("NEW")]] {
        let listing = Listing { states, ..of("t.thing") };
        let all = ids(&mut *reader, &listing);
        assert!(all.len() > 15);
        let mut found: Vec<String> = Vec::new();
        let page =
            |after: Option<&String>| Listing { after: after.map(|it| key(it)), most: 4, ..listing.clone() };
        while let some = ids(&mut *reader, &page(found.last()))
            && !some.is_empty()
        {
            assert!(some.len() <= 4);
            found.extend(some);
        }
        assert_eq!(found, all);
    }
    let before = Listing { after: Some(key("s.a/A")), most: 1, ..of("t.thing") };
    assert_eq!(ids(&mut *reader, &before), ["t.thing/00"], "a cursor before the lifecycle");
    let behind = Listing { after: Some(key("t.z/A")), ..of("t.thing") };
    assert_eq!(ids(&mut *reader, &behind), [""; 0]);
    assert_eq!(ids(&mut *reader, &Listing { most: 0, ..of("t.thing") }), [""; 0]);
}
