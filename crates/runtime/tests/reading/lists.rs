//! Lists equal a plain recount.

use std::time::Duration;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::query::lets_through;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::read::{ListQuery, Listed, ReadError};
use trackside_runtime::{Options, Reads, Runtime};

use crate::ground::*;
use crate::stores::{StoreSite, Stores, on_every_store};

on_every_store! {
    a_list_equals_a_recount_flushed_or_not
    overdue_entities_are_listed_from_their_moment_on
    a_reader_may_demand_a_version_it_has_seen
    pages_are_50_unless_asked_and_200_at_most
    a_list_that_costs_too_much_suggests_another_request
    mistakes_are_reported_with_suggestions
    hidden_entities_are_not_listed
}

pub(crate) fn owner() -> Actor {
    Actor::new("owner", ActorKind::Human).with_roles(["admin"])
}

fn of(states: &[&str], condition: Option<&str>, reads: &Reads) -> ListQuery {
    let lifecycle = Name::new("mission.task");
    let filter = condition.map(|it| reads.condition(&lifecycle, it).unwrap());
    let states = states.iter().map(|it| Name::new(it)).collect();
    ListQuery { states, filter, ..ListQuery::of(lifecycle, owner()) }
}

fn ids(listed: &Listed) -> Vec<String> {
    listed.items.iter().map(|it| it.key.id.to_string()).collect()
}

/// All pages, one after the other.
pub(crate) fn all(reads: &Reads, query: &ListQuery) -> Vec<String> {
    let mut query = query.clone();
    let mut found = Vec::new();
    loop {
        let page = reads.list(&query).unwrap();
        found.extend(ids(&page));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return found;
        }
    }
}

fn busy(place: &StoreSite, options: Options) -> Runtime {
    let runtime = started(place.open(), options);
    team(&runtime);
    for n in 0..120 {
        let state = ["INBOX", "ASSIGNED", "BLOCKED"][n % 3];
        let kind = ["DOCS", "OPS"][n % 2];
        let task = json!({
            "title": format!("Task {n}"), "priority": 1 + n % 4, "type": kind,
            "assigneeIds": ["ada"], "reviewerId": format!("r-{}", n % 7),
        });
        plant(&runtime, &format!("mission.task/T-{n:03}"), state, task);
    }
    runtime
}

const CONDITIONS: &[&str] = &[
    "priority == 2",
    "3 == priority && type == 'OPS'",
    "reviewerId == 'r-3'",
    "reviewerId == 'r-3' && state == 'BLOCKED'",
    "state in ['INBOX', 'BLOCKED'] && priority == 1",
    "priority == 1 || reviewerId == 'r-5'",
    "!(reviewerId == 'r-5')",
    "reviewerId == null",
    "state == 'INBOX' && state == 'BLOCKED'",
    "priority == 2.0",
    "priority > 1 && 'ada' in assigneeIds",
    "id == 'T-007'",
];

fn a_list_equals_a_recount_flushed_or_not(stores: Stores) {
    // Never written, written at once, and half of it.
    for behind in [3_600_000, 1, 40] {
        let place = stores.place();
        let runtime = busy(&place, Options { behind: Duration::from_millis(behind), ..manual() });
        let reads = runtime.reads().unwrap();
        for n in (0..120).step_by(5) {
            let state = ["ASSIGNED", "BLOCKED", "INBOX"][n % 3];
            let task = json!({ "title": "Again", "priority": 2, "type": "DOCS", "reviewerId": "r-3" });
            plant(&runtime, &format!("mission.task/T-{n:03}"), state, task);
        }
        let everything: Vec<_> =
            (0..120).map(|n| entity(&runtime, &format!("mission.task/T-{n:03}"))).collect();
        let mut matched = 0;
        for states in [&[][..], &["INBOX"], &["BLOCKED", "ASSIGNED"]] {
            for condition in CONDITIONS.iter().copied().map(Some).chain([None]) {
                let mut query = of(states, condition, &reads);
                let fits = |state: &str| states.is_empty() || states.contains(&state);
                let passes = everything.iter().filter(|it| {
                    fits(&it.state) && query.filter.as_ref().is_none_or(|filter| lets_through(filter, it))
                });
                let expected: Vec<String> = passes.map(|it| it.key.id.to_string()).collect();
                matched += expected.len();
                for limit in [1, 7, 200] {
                    query.limit = limit;
                    assert_eq!(all(&reads, &query), expected, "{states:?} {condition:?} {limit}");
                }
            }
        }
        assert!(matched > 300, "the conditions let something through: {matched}");
    }
}

fn overdue_entities_are_listed_from_their_moment_on(stores: Stores) {
    let place = stores.place();
    let runtime = Runtime::start(place.open(), &[pack("build")], manual()).unwrap();
    let reads = runtime.reads().unwrap();
    for n in 0..6 {
        let state = if n % 2 == 0 { "planning" } else { "pending" };
        plant(&runtime, &format!("build.task/TASK-{n}"), state, json!({ "title": "It" }));
    }
    let late = || {
        let query = ListQuery { overdue: true, ..ListQuery::of("build.task", owner()) };
        let law = runtime.law();
        let life = law.newest(&Name::new("build.task")).unwrap();
        let now = reads.now();
        let expected: Vec<String> = (0..6)
            .map(|n| entity(&runtime, &format!("build.task/TASK-{n}")))
            .filter(|it| trackside_engine::overdue::is_overdue(life, it, now))
            .map(|it| it.key.id.to_string())
            .collect();
        assert_eq!(all(&reads, &query), expected);
        expected.len()
    };
    assert_eq!(late(), 0);
    let mut seen = 0;
    for _ in 0..40 {
        let to = reads.now().plus(Span(5 * 60 * 1_000));
        runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
        seen += late();
    }
    assert!(seen > 0, "something became late");
}

fn a_reader_may_demand_a_version_it_has_seen(stores: Stores) {
    let place = stores.place();
    let runtime = busy(&place, Options { behind: Duration::from_secs(3_600), ..manual() });
    let reads = runtime.reads().unwrap();
    let done = accepted(&runtime, fire(ada(), "mission.task/T-001", "start", plan()));
    let seq = done.entry().unwrap().seq;
    let query = ListQuery { after_seq: Some(seq), ..of(&["IN_PROGRESS"], None, &reads) };
    assert_eq!(ids(&reads.list(&query).unwrap()), ["T-001"]);
    let future = ListQuery { after_seq: Some(runtime.seq() + 1), ..query };
    let error = reads.list(&future).unwrap_err();
    assert_eq!(error.code(), "not-yet");
}

fn pages_are_50_unless_asked_and_200_at_most(stores: Stores) {
    let place = stores.place();
    let runtime = busy(&place, manual());
    let reads = runtime.reads().unwrap();
    let first = reads.list(&of(&[], None, &reads)).unwrap();
    assert_eq!((first.items.len(), first.next_cursor.as_deref()), (50, Some("T-049")));
    let all_in_one = ListQuery { limit: 120, ..of(&[], None, &reads) };
    let page = reads.list(&all_in_one).unwrap();
    assert_eq!((page.items.len(), page.next_cursor), (120, None), "nothing comes after it");
    let wrong = ListQuery { cursor: Some("no/such cursor".to_owned()), ..of(&[], None, &reads) };
    assert_eq!(reads.list(&wrong).unwrap_err().code(), "invalid-cursor");
}

fn a_list_that_costs_too_much_suggests_another_request(stores: Stores) {
    let place = stores.place();
    let runtime = busy(&place, manual());
    while runtime.lag() > 0 {
        std::thread::yield_now();
    }
    let reads = runtime.reads().unwrap().with_budget(60);
    let error = reads.list(&of(&[], Some("title == 'Task 119'"), &reads)).unwrap_err();
    assert_eq!(error.code(), "too-expensive");
    assert!(error.to_string().contains("priority, type, reviewerId"), "{error}");
    // It can be continued where it ended, and a page with fewer items than asked for too.
    let ReadError::TooExpensive { reached, .. } = error else { panic!("{error}") };
    let rest = ListQuery { cursor: reached, ..of(&[], Some("title == 'Task 119'"), &reads) };
    assert_eq!(ids(&reads.list(&rest).unwrap()), ["T-119"]);
    let ends = of(&[], Some("title == 'Task 3' || title == 'Task 119'"), &reads);
    let first = reads.list(&ends).unwrap();
    assert_eq!((ids(&first), first.next_cursor.is_some()), (vec!["T-003".to_owned()], true));
    assert_eq!(all(&reads, &ends), ["T-003", "T-119"]);
    let found = reads.list(&of(&[], Some("title == 'Task 118' && reviewerId == 'r-6'"), &reads)).unwrap();
    assert_eq!(ids(&found), ["T-118"], "an index makes it cheap");
    let full = ListQuery { limit: 60, ..of(&[], None, &reads) };
    assert_eq!(all(&reads, &full).len(), 120, "a full page is an answer however much there is");
}

fn mistakes_are_reported_with_suggestions(stores: Stores) {
    let place = stores.place();
    let runtime = busy(&place, manual());
    let reads = runtime.reads().unwrap();
    let told = |query: ListQuery| reads.list(&query).unwrap_err().to_string();
    assert!(told(ListQuery::of("mission.tusk", owner())).contains("mission.task"));
    assert!(told(of(&["INBOXX"], None, &reads)).contains("INBOX?"));
    let lifecycle = Name::new("mission.task");
    let wrong = |source: &str| reads.condition(&lifecycle, source).unwrap_err();
    assert_eq!(wrong("prioritty == 1").code(), "invalid-where");
    assert!(wrong("assigneeIds.exists(it, it == 'ada')").to_string().contains("iterate over lists"));
}

fn hidden_entities_are_not_listed(stores: Stores) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/constructs");
    let place = stores.place();
    let runtime =
        Runtime::start(place.open(), &[trackside_runtime::PackSource::read(&folder).unwrap()], manual())
            .unwrap();
    let reads = runtime.reads().unwrap();
    for n in 0..40 {
        plant(&runtime, &format!("constructs.ticket/K-{n:02}"), "open", json!({ "secret": n % 4 != 0 }));
    }
    let agent = Actor::new("bot", ActorKind::Agent);
    let seen = |actor: Actor| {
        all(&reads, &ListQuery { limit: 3, ..ListQuery::of("constructs.ticket", actor) }).len()
    };
    assert_eq!((seen(owner()), seen(agent.clone())), (40, 10));
    let (secret, plain) = (key("constructs.ticket/K-01"), key("constructs.ticket/K-04"));
    assert_eq!(reads.readable(&secret, &agent).unwrap_err().code(), "unknown-entity");
    assert_eq!(reads.present(&secret, &agent).unwrap_err().code(), "unknown-entity");
    assert_eq!(reads.explain(&secret, &agent).unwrap_err().code(), "unknown-entity");
    assert_eq!(reads.present(&plain, &agent).unwrap().entity.key.id, "K-04");
}
