//! Values that only one has, and commands that count once.

use std::collections::BTreeMap;

use trackside_lifecycle::time::Timestamp;

use super::Make;
use super::sample::{key, key_record, name, projection};
use crate::Projection;

pub fn a_value_belongs_to_one_until_it_is_free(make: Make<'_>) {
    let place = make();
    let unique_values = |position, all: &[(&str, Option<&str>)]| {
        let all = all.iter().map(|(value, holder)| ((name("t.thing"), name(value)), holder.map(key)));
        Projection { unique_values: all.collect(), ..projection(position, Vec::new()) }
    };
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let mut reader = store.reader().unwrap();
        projector
            .project(&unique_values(1, &[("red", Some("t.thing/A")), ("blue", Some("t.thing/B"))]))
            .unwrap();
        assert_eq!(reader.unique_holder(&name("t.thing"), &name("red")).unwrap(), Some(key("t.thing/A")));
        assert_eq!(reader.unique_holder(&name("t.things"), &name("red")).unwrap(), None);
        assert_eq!(reader.unique_holder(&name("t.thing"), &name("Red")).unwrap(), None);
        projector
            .project(&unique_values(2, &[("red", Some("t.thing/C")), ("blue", None), ("grey", None)]))
            .unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("red")).unwrap(), Some(key("t.thing/C")));
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("blue")).unwrap(), None);
    assert_eq!(reader.unique_holder(&name("t.thing"), &name("grey")).unwrap(), None);
}

pub fn a_key_is_known_by_who_used_it(make: Make<'_>) {
    let place = make();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let keys = vec![
            (3, Timestamp(30), key_record("ada", "k")),
            (5, Timestamp(50), key_record("bob", "k")),
            (6, Timestamp(60), key_record("ada", "")),
        ];
        projector.project(&Projection { keys, ..projection(6, Vec::new()) }).unwrap();
        // A key that was used before and after it expired: the journal has both.
        let keys =
            vec![(7, Timestamp(70), key_record("eve", "j")), (9, Timestamp(90), key_record("bob", "k"))];
        projector.project(&Projection { keys, ..projection(9, Vec::new()) }).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.key(&name("ada"), &name("k")).unwrap(), Some((3, key_record("ada", "k"))));
    assert_eq!(reader.key(&name("bob"), &name("k")).unwrap(), Some((9, key_record("bob", "k"))));
    assert_eq!(reader.key(&name("eve"), &name("j")).unwrap(), Some((7, key_record("eve", "j"))));
    assert_eq!(reader.key(&name("ada"), &name("")).unwrap(), Some((6, key_record("ada", ""))));
    assert_eq!(reader.key(&name("ada"), &name("j")).unwrap(), None);
    assert_eq!(reader.key(&name("eve"), &name("k")).unwrap(), None);
}

pub fn keys_expire_the_oldest_first(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut projector = store.projector().unwrap();
    let keys = (1..=6).map(|n| (n, Timestamp(n as i64 * 10), key_record("ada", &format!("k{n}")))).collect();
    projector.project(&Projection { keys, ..projection(6, Vec::new()) }).unwrap();
    let mut reader = store.reader().unwrap();
    let mut left = || -> Vec<u64> {
        (1..=6).filter(|n| reader.key(&name("ada"), &name(&format!("k{n}"))).unwrap().is_some()).collect()
    };
    assert_eq!(projector.expire_keys(Timestamp(10), 100).unwrap(), 0, "none came before the first");
    assert_eq!(projector.expire_keys(Timestamp(50), 2).unwrap(), 2);
    assert_eq!(left(), [3, 4, 5, 6]);
    assert_eq!(projector.expire_keys(Timestamp(50), 100).unwrap(), 2, "5 came at that time, not before it");
    assert_eq!(left(), [5, 6]);
    assert_eq!(projector.position().unwrap(), 6, "the journal has not moved");
    // An expired key may be used again, and then lasts as long as a new one.
    let keys = vec![(7, Timestamp(70), key_record("ada", "k1"))];
    let again = Projection { keys, unique_values: BTreeMap::new(), ..projection(7, Vec::new()) };
    projector.project(&again).unwrap();
    assert_eq!(projector.expire_keys(Timestamp(70), 100).unwrap(), 2);
    assert_eq!(left(), [1]);
}
