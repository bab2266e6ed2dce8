//! Figures are those that a recount of the journal gives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trackside_engine::{View, apply};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{Options, Reads, Runtime};
use trackside_store::memory::Memory;
use trackside_store::project::{ProjectionBuilder, Was};
use trackside_store::store::Stays;

use crate::ground::*;

type Recount = (BTreeMap<Name, u64>, BTreeMap<Name, Stays>);

/// Everything from the first entry on.
fn recount(reads: &Reads, lifecycle: &Name) -> Recount {
    let mut view = View::default();
    let mut builder = ProjectionBuilder::new(0);
    let mut after = 0;
    loop {
        let records = reads.journal(after, 200).unwrap();
        let Some(last) = records.last() else { break };
        after = last.seq;
        for record in &records {
            let entry = record.entry().unwrap();
            let was = view.get(&entry.entity).map(Was::of);
            builder.add(&entry, was.as_ref());
            apply(&mut view, &entry);
        }
    }
    let mut states = BTreeMap::new();
    for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == *lifecycle) {
        *states.entry(entity.state.clone()).or_default() += 1;
    }
    let mut stays: BTreeMap<Name, Stays> = BTreeMap::new();
    for (of, state, ms) in builder.build().stays {
        if of == *lifecycle {
            stays.entry(state).or_default().add(ms);
        }
    }
    (states, stays)
}

#[test]
fn figures_equal_a_recount_whatever_is_written() {
    for (behind, entries) in [(1, 1), (3_600_000, usize::MAX), (3_600_000, 25)] {
        let options = Options { behind: Duration::from_millis(behind), behind_entries: entries, ..manual() };
        let runtime = started(Arc::new(Memory::new()), options);
        let reads = runtime.reads().unwrap();
        team(&runtime);
        let lifecycle = Name::new("mission.task");
        for n in 0..24 {
            assigned(&runtime, &format!("T-{n}"));
            let text = format!("mission.task/T-{n}");
            let to = reads.now().plus(Span(n * 7_000));
            runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
            if n % 2 == 0 {
                accepted(&runtime, fire(ada(), &text, "start", plan()));
            }
            if n % 4 == 0 {
                let why = json!({ "blockReason": "No disk" });
                accepted(&runtime, fire(ada(), &text, "block", why).because("No disk"));
                plant(&runtime, &text, "INBOX", json!({ "title": "Anew" }));
            }
            let stats = reads.stats(&lifecycle).unwrap();
            assert_eq!((stats.states.clone(), stats.stays.clone()), recount(&reads, &lifecycle), "{n}");
        }
        let stats = reads.stats(&lifecycle).unwrap();
        assert_eq!(stats.states.values().sum::<u64>(), 24);
        let lengths = stats.lengths("ASSIGNED").unwrap();
        assert_eq!(lengths.count, 12);
        assert!(lengths.p50 > 0 && lengths.p50 <= lengths.p90 && lengths.p90 <= lengths.p99, "{lengths:?}");
        assert_eq!(reads.stats(&Name::new("mission.tusk")).unwrap_err().code(), "unknown-lifecycle");
        runtime.stop();
    }
}

fn written(runtime: &Runtime) {
    while runtime.lag() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn notices_come_once_and_in_order_before_and_after_they_are_written() {
    let runtime = started(Arc::new(Memory::new()), manual());
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    let mut posted = Vec::new();
    for n in 0..12 {
        let done =
            accepted(&runtime, fire(ada(), "mission.task/T-1", "comment", json!({ "text": format!("{n}") })));
        let mine = done.entries.iter().filter(|it| it.event.kind() == "MESSAGE_POSTED");
        posted.extend(mine.map(|it| it.seq));
        if n == 5 {
            written(&runtime);
        }
        let found = reads.messages(0, 200).unwrap();
        assert_eq!(found.records.iter().map(|it| it.seq).collect::<Vec<_>>(), posted);
    }
    assert_eq!(posted.len(), 12);
    let (mut paged, mut after) = (Vec::new(), 0);
    loop {
        let page = reads.messages(after, 5).unwrap();
        paged.extend(page.records.iter().map(|it| it.seq));
        match page.next_cursor {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(paged, posted);
}
