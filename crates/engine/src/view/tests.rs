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
