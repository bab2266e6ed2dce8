//! History, and past states of entities.

use std::time::Duration;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::read::ReadError;
use trackside_runtime::{AcceptedCommand, Options, ProjectClock, Runtime};

use crate::ground::*;
use crate::lists::owner;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    an_entity_is_shown_as_it_was_after_each_entry
    history_is_oldest_first_and_comes_in_pages
    renewals_of_leases_are_shown_on_request
    dropped_payloads_are_shown_as_dropped
    a_history_whose_beginning_was_archived_says_where_it_begins
}

fn wait(runtime: &Runtime, seconds: i64) {
    let to = runtime.reads().unwrap().now().plus(Span(seconds * 1_000));
    runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
}

fn on(runtime: &Runtime, event: &str, fields: serde_json::Value) -> AcceptedCommand {
    accepted(runtime, fire(ada(), "mission.task/T-1", event, fields).with_reason("so that it goes on"))
}

fn an_entity_is_shown_as_it_was_after_each_entry(stores: Stores) {
    for behind in [1, 3_600_000] {
        let options = Options { behind: Duration::from_millis(behind), ..manual() };
        let place = stores.place();
        let runtime = started(place.open(), options);
        let reads = runtime.reads().unwrap();
        team(&runtime);
        assigned(&runtime, "T-1");
        let mut known = vec![entity(&runtime, "mission.task/T-1")];
        for round in 0..4 {
            known.extend(on(&runtime, "comment", json!({ "text": format!("No. {round}") })).entity);
            assigned(&runtime, &format!("T-{}", round + 2));
            wait(&runtime, 60);
        }
        known.extend(on(&runtime, "start", plan()).entity);
        wait(&runtime, 600);
        known.extend(on(&runtime, "block", json!({ "blockReason": "No disk" })).entity);
        let task = key("mission.task/T-1");
        for before in &known {
            let past = reads.entity_at(&task, before.seq).unwrap();
            assert_eq!((&past.entity, past.redacted), (before, false));
            // An entry about another entity changes nothing of it.
            if reads.entry(before.seq + 1).unwrap().is_some_and(|it| it.entity != task) {
                assert_eq!(reads.entity_at(&task, before.seq + 1).unwrap().entity, *before);
            }
        }
        assert!(matches!(reads.entity_at(&task, known[0].seq - 1), Err(ReadError::UnknownEntity(_))));
        assert_eq!(reads.entity_at(&task, runtime.seq() + 1).unwrap_err().code(), "not-yet");

        let stays = reads.stays(&task).unwrap();
        let spent = |state: &str| stays.iter().find(|it| it.state == *state).map(|it| it.spent.0 / 1_000);
        assert_eq!(
            (spent("ASSIGNED"), spent("IN_PROGRESS"), spent("BLOCKED")),
            (Some(240), Some(600), Some(0))
        );
        wait(&runtime, 5);
        let present = reads.stays(&task).unwrap().into_iter().find(|it| it.present).unwrap();
        assert_eq!((present.state.as_str(), present.spent.0), ("BLOCKED", 5_000));
    }
}

fn history_is_oldest_first_and_comes_in_pages(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    for round in 0..30 {
        on(&runtime, "comment", json!({ "text": format!("No. {round}") }));
        assigned(&runtime, "T-2");
    }
    let task = key("mission.task/T-1");
    let all: Vec<u64> = reads.history(&task, 0, 200, true).unwrap().records.iter().map(|it| it.seq).collect();
    let journal = reads.journal(0, 200).unwrap();
    let own = journal.iter().filter(|it| it.entry().unwrap().entity == task);
    assert_eq!(all, own.map(|it| it.seq).collect::<Vec<_>>());
    assert!(all.len() > 30, "{}", all.len());
    let (mut paged, mut after) = (Vec::new(), 0);
    loop {
        let page = reads.history(&task, after, 7, true).unwrap();
        paged.extend(page.records.iter().map(|it| it.seq));
        match page.next_cursor {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(paged, all);
    let record = &reads.history(&task, 0, 1, true).unwrap().records[0];
    assert_eq!((record.seq, record.is_redacted()), (all[0], false));
}

fn renewals_of_leases_are_shown_on_request(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    let bo = Actor::new("bo", ActorKind::Agent).with_roles(["coder"]);
    plant(&runtime, "coding.agent/bo", "STARTING", json!({ "role": "coder", "registered": true }));
    let agent = key("coding.agent/bo");
    let law = runtime.law();
    let slot = law.newest(&agent.lifecycle).unwrap().slots[0].name.clone();
    let plant = trackside_engine::command::Seed {
        leases: vec![(slot.clone(), Name::new("bo"))],
        ..trackside_engine::command::Seed::new(agent.clone())
    };
    accepted(&runtime, Command::new(owner(), Ask::Seed(plant)));
    let fence = entity(&runtime, "coding.agent/bo").lease(&slot).unwrap().fence;
    for _ in 0..5 {
        wait(&runtime, 1);
        let ask = Ask::Heartbeat { entity: agent.clone(), slot: slot.clone(), fence: Some(fence) };
        accepted(&runtime, Command::new(bo.clone(), ask));
    }
    let kinds = |all: bool| -> Vec<&'static str> {
        let found = reads.history(&agent, 0, 200, all).unwrap().records;
        found.iter().map(|it| it.entry().unwrap().event.kind().as_str()).collect()
    };
    let renewed = |all| kinds(all).iter().filter(|it| **it == "LEASE_RENEWED").count();
    assert_eq!((renewed(true), renewed(false)), (5, 0));
    assert_eq!(kinds(true).len(), kinds(false).len() + 5);
}

fn dropped_payloads_are_shown_as_dropped(stores: Stores) {
    let place = stores.place();
    let runtime = Runtime::start(place.open(), &[pack("research")], manual()).unwrap();
    let reads = runtime.reads().unwrap();
    plant(&runtime, "research.hypothesis/H-1", "DISCARDED", json!({ "summary": "Secret", "session": "S-1" }));
    let hypothesis = key("research.hypothesis/H-1");
    let planted = entity(&runtime, "research.hypothesis/H-1").seq;
    wait(&runtime, 2 * 60 * 60);
    assert_eq!(entity(&runtime, "research.hypothesis/H-1").state, *"DELETED");
    while runtime.lag() > 0 {
        std::thread::yield_now();
    }
    let history = reads.history(&hypothesis, 0, 50, true).unwrap();
    let first = &history.records[0];
    assert!(first.is_redacted() && !format!("{first:?}").contains("Secret"), "{first:?}");
    let past = reads.entity_at(&hypothesis, planted).unwrap();
    assert!(past.redacted && past.entity.fields.get("summary").is_none());
}

fn a_history_whose_beginning_was_archived_says_where_it_begins(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    team(&runtime);
    assigned(&runtime, "T-1");
    assigned(&runtime, "T-2");
    for round in 0..5 {
        on(&runtime, "comment", json!({ "text": format!("No. {round}") }));
    }
    wait(&runtime, 60);
    let (task, silent) = (key("mission.task/T-1"), key("mission.task/T-2"));
    let early = runtime.reads().unwrap().history(&task, 0, 200, true).unwrap();
    assert_eq!(early.archived_before, None);
    let at = runtime.reads().unwrap().now();
    runtime.stop();
    let archived = place.archive(at);
    if let Stores::Sqlite = stores {
        archived.put_away();
    }
    let later = Options { clock: ProjectClock::manual(at), ..manual() };
    let runtime = started(place.open(), later);
    let reads = runtime.reads().unwrap();
    let mut late: Vec<u64> = Vec::new();
    for round in 5..8 {
        let done = on(&runtime, "comment", json!({ "text": format!("No. {round}") }));
        late.extend(done.entries.iter().filter(|it| it.entity == task).map(|it| it.seq));
    }
    let base = runtime.store().reader().unwrap().base().unwrap().seq;
    assert_eq!(
        reads.journal(0, 1).unwrap_err().code(),
        "archived",
        "the journal does not begin later, unsaid"
    );
    assert_eq!(reads.journal(base, 1).unwrap()[0].seq, base + 1);
    let mut expected: Vec<u64> = early.records.iter().map(|it| it.seq).filter(|it| *it > base).collect();
    expected.extend(&late);
    let seqs = |after: u64, limit: usize| {
        let history = reads.history(&task, after, limit, true).unwrap();
        let seqs: Vec<u64> = history.records.iter().map(|it| it.seq).collect();
        (seqs, history.next_cursor, history.archived_before)
    };
    let first = Some(expected[0]);
    assert_eq!(seqs(0, 200), (expected.clone(), None, first));
    assert_eq!(seqs(0, 2), (expected[..2].to_vec(), Some(expected[1]), first));
    // A page without archived entries does not mention the archive.
    assert_eq!(seqs(expected[0], 200), (expected[1..].to_vec(), None, None));
    // An entity that has not moved since: only the note that its entries were archived.
    let quiet = reads.history(&silent, 0, 200, true).unwrap();
    assert_eq!(
        (quiet.records.len(), quiet.archived_before),
        (0, Some(entity(&runtime, "mission.task/T-2").seq))
    );
    assert_eq!(reads.entity_at(&task, late[0]).unwrap_err().code(), "archived");
    assert_eq!(
        reads.entity(&task).unwrap().unwrap().seq,
        *late.last().unwrap(),
        "its present state is known"
    );
    if let Stores::Sqlite = stores {
        archived.put_back();
        let mut whole: Vec<u64> = early.records.iter().map(|it| it.seq).collect();
        whole.extend(&late);
        assert_eq!(seqs(0, 200), (whole.clone(), None, None), "with its file it is whole again");
        assert_eq!(seqs(0, 3), (whole[..3].to_vec(), Some(whole[2]), None));
        for (seq, before) in whole.iter().zip([&whole[..1], &whole[..]].concat()) {
            assert_eq!(reads.entity_at(&task, *seq).unwrap().entity.seq, *seq);
            assert!(before <= *seq);
        }
    }
}
