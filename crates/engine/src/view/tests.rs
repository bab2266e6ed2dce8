//! Lists of members: updated in place, or read again.

use super::*;

fn name(text: &str) -> Name {
    Name::new(text)
}

fn group() -> GroupKey {
    GroupKey { of: EntityKey::new("t.team", "A"), name: name("things") }
}

fn member(n: u64) -> EntityKey {
    EntityKey::new("t.thing", format!("{n:05}"))
}

/// A partial view with one entity whose groups are known to be empty.
fn view() -> View {
    let mut view = View::partial(1);
    let owner = Entity::new(group().of, 1, name("OPEN"), Timestamp(0));
    view.load_whole(Arc::new(owner), []);
    view
}

fn join(view: &mut View, members: std::ops::Range<u64>) {
    for n in members {
        let shift = Shift { group: group(), from: None, to: Some(name("NEW")) };
        view.shift(&member(n), &shift, Timestamp(5));
    }
}

/// The counted members, and the listed ones if the list is complete.
fn known(view: &View) -> (u64, Option<usize>) {
    let counted = view.group(&group()).here().map_or(0, |it| it.counts.values().sum());
    let listed = match view.group_with_members(&group()) {
        Found::Here(it) => Some(it.members.values().map(BTreeSet::len).sum()),
        Found::Absent => Some(0),
        Found::Unknown => None,
    };
    (counted, listed)
}

#[test]
fn an_unused_member_list_is_kept_while_it_is_short() {
    let mut view = view();
    assert_eq!(known(&view), (0, Some(0)));
    join(&mut view, 0..SHORT);
    assert_eq!(known(&view), (SHORT, Some(SHORT as usize)));
    join(&mut view, SHORT..SHORT + 1);
    assert_eq!(known(&view), (SHORT + 1, None));
    let lookup = Lookup::new(&view);
    lookup.group_with_members(&group());
    let needs = lookup.finish(()).unwrap_err();
    assert_eq!(needs.into_iter().collect::<Vec<_>>(), [Need::Members(group())]);
    let shift = Shift { group: group(), from: Some(name("NEW")), to: None };
    view.shift(&member(3), &shift, Timestamp(6));
    assert_eq!(known(&view), (SHORT, None), "it does not come back with some of them missing");
}

#[test]
fn a_used_member_list_is_kept_while_a_rule_may_list_it() {
    let mut view = view();
    let all = (0..SHORT * 2).map(member).collect();
    view.load_members(group(), BTreeMap::from([(name("OLD"), all)]), None);
    join(&mut view, SHORT * 2..LONGEST);
    assert_eq!(known(&view), (LONGEST, Some(LONGEST as usize)));
    join(&mut view, LONGEST..LONGEST + 1);
    assert_eq!(known(&view), (LONGEST + 1, None));
}

fn thing(n: u64, title: &str) -> Arc<Entity> {
    let mut entity = Entity::new(member(n), 1, name("OPEN"), Timestamp(0));
    entity.seq = n;
    entity.fields.set(&name("title"), Value::text(title));
    Arc::new(entity)
}

fn things(many: u64, title: &str) -> View {
    let mut view = View::partial(many);
    (1..=many).for_each(|n| view.load(thing(n, title)));
    view
}

#[test]
fn eviction_visits_a_few_entities_at_a_time() {
    let mut view = things(1_000, "Write it");
    let most = CacheLimit { items: 100, bytes: usize::MAX };
    let mut rounds = 0;
    while view.evict(most, u64::MAX, 50) != EvictionProgress::Done {
        let left = view.len();
        rounds += 1;
        view.evict(most, u64::MAX, 0);
        assert_eq!(view.len(), left, "nothing is visited without a budget");
    }
    assert_eq!(view.len(), 100);
    // Each is visited twice before it is evicted: 1,900 visits in rounds of 50.
    assert_eq!(rounds, 38 - 1);
}

#[test]
fn entities_in_use_and_unflushed_ones_stay() {
    let mut view = things(100, "Write it");
    let most = CacheLimit { items: 50, bytes: usize::MAX };
    assert_eq!(view.evict(most, 0, 1_000), EvictionProgress::Stuck);
    assert_eq!(view.len(), 100);
    // The first round marks all as idle. Those that are used again stay.
    assert_eq!(view.evict(most, u64::MAX, 100), EvictionProgress::UnderWay);
    let used = |n: u64| n.is_multiple_of(2);
    (1..=100).filter(|n| used(*n)).for_each(|n| assert!(view.touch(&Need::Entity(member(n)))));
    assert_eq!(view.evict(most, u64::MAX, 1_000), EvictionProgress::Done);
    assert!((1..=100).all(|n| view.get(&member(n)).is_some() == used(n)));
}

#[test]
fn memory_is_measured_and_bounded() {
    let small = things(100, "a").bytes();
    let large = things(100, &"a".repeat(1_000)).bytes();
    assert!((100_000..110_000).contains(&(large - small)), "{small} and {large}");
    let mut view = things(100, &"a".repeat(1_000));
    let most = CacheLimit { items: usize::MAX, bytes: large / 4 };
    assert_eq!(view.evict(most, u64::MAX, 1_000), EvictionProgress::Done);
    assert!(view.bytes() <= large / 4 && view.len() >= 24, "{} of {}", view.bytes(), view.len());
    // A change in place counts once it is measured.
    let before = view.bytes();
    let key = view.entities()[0].key.clone();
    view.entity_mut(&key).unwrap().fields.set(&name("more"), Value::text(&"b".repeat(500)));
    view.measure(&key);
    assert!((500..700).contains(&(view.bytes() - before)));
    // An earlier version that is replaced no longer counts, and neither do evicted ones.
    (1..=100).for_each(|n| view.load(thing(n, "a")));
    assert_eq!(view.bytes(), small);
    view.evict(CacheLimit { items: 0, bytes: 0 }, u64::MAX, 1_000);
    assert_eq!((view.len(), view.bytes()), (0, 0));
}

#[test]
fn evicted_groups_are_measured_and_asked_for_again() {
    let mut view = view();
    join(&mut view, 0..10);
    let bytes = view.bytes();
    view.evict_groups(CacheLimit { items: 0, bytes: usize::MAX }, 10);
    assert!(view.bytes() < bytes);
    assert_eq!(view.group(&group()), Found::Unknown);
}
