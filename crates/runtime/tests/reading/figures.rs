//! Figures equal a recount of the journal.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use trackside_engine::refusal::Code;
use trackside_engine::{View, apply};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{Figures, Options, ProjectClock, Reads, Runtime, Throughput};
use trackside_store::projection_builder::{ProjectionBuilder, StateBefore};
use trackside_store::store::DwellTimes;

use crate::ground::*;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    figures_equal_a_recount_flushed_or_not
    throughput_equals_a_recount_of_the_journal
    an_hour_that_is_too_long_to_recount_says_since_when_it_is_counted
    refusals_are_counted_by_lifecycle_and_code
    notices_come_once_and_in_order_before_and_after_a_flush
}

type Recount = (BTreeMap<Name, u64>, BTreeMap<Name, DwellTimes>);

/// Recounts everything from the first entry on.
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
            let was = view.get(&entry.entity).map(StateBefore::of);
            builder.add(&entry, was.as_ref());
            apply(&mut view, &entry);
        }
    }
    let mut states = BTreeMap::new();
    for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == *lifecycle) {
        *states.entry(entity.state.clone()).or_default() += 1;
    }
    let mut stays: BTreeMap<Name, DwellTimes> = BTreeMap::new();
    for (of, state, ms) in builder.build().dwell_times {
        if of == *lifecycle {
            stays.entry(state).or_default().add(ms);
        }
    }
    (states, stays)
}

fn figures_equal_a_recount_flushed_or_not(stores: Stores) {
    for (behind, entries) in [(1, 1), (3_600_000, usize::MAX), (3_600_000, 25)] {
        let options = Options { behind: Duration::from_millis(behind), behind_entries: entries, ..manual() };
        let place = stores.place();
        let runtime = started(place.open(), options);
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
                accepted(&runtime, fire(ada(), &text, "block", why).with_reason("No disk"));
                plant(&runtime, &text, "INBOX", json!({ "title": "Anew" }));
            }
            let stats = reads.stats(&lifecycle).unwrap();
            assert_eq!((stats.states.clone(), stats.stays.clone()), recount(&reads, &lifecycle), "{n}");
            let mut surveyed = reads.survey().unwrap().entities.remove(&lifecycle).unwrap();
            assert!(surveyed.contains_key("CANCELED"), "empty states are listed, too");
            surveyed.retain(|_, count| *count > 0);
            assert_eq!(surveyed, stats.states, "{n}");
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

/// Transitions of a lifecycle: in the last 60 seconds, in the last 60 minutes, and in all after the entry `began`.
fn throughput(reads: &Reads, lifecycle: &Name, began: u64) -> Throughput {
    let mut counted = Throughput::default();
    let (mut after, now) = (0, reads.now().0);
    loop {
        let records = reads.journal(after, 200).unwrap();
        let Some(last) = records.last() else { return counted };
        after = last.seq;
        for entry in records.iter().map(|it| it.entry().unwrap()) {
            if entry.entity.lifecycle == *lifecycle && entry.event.kind().as_str() == "STATE_TRANSITION" {
                counted.since_start += u64::from(entry.seq > began);
                counted.last_minute += u64::from(now / 1_000 - entry.at.0 / 1_000 < 60);
                counted.last_hour += u64::from(now / 60_000 - entry.at.0 / 60_000 < 60);
            }
        }
    }
}

fn throughput_equals_a_recount_of_the_journal(stores: Stores) {
    let place = stores.place();
    let mut clock = manual();
    let lifecycle = Name::new("mission.task");
    let mut some = Throughput::default();
    // The second run counts only the last hour of the first one.
    for run in 0..2 {
        let runtime = started(place.open(), clock.clone());
        let (reads, began) = (runtime.reads().unwrap(), runtime.seq());
        if run == 0 {
            team(&runtime);
        } else {
            let counted = reads.stats(&lifecycle).unwrap().throughput;
            assert!(counted.last_hour > 0 && counted.since_start == 0, "{counted:?}");
        }
        for n in 0..40 {
            let text = format!("mission.task/T-{run}-{n}");
            assigned(&runtime, &format!("T-{run}-{n}"));
            accepted(&runtime, fire(ada(), &text, "start", plan()));
            if n % 3 == 0 {
                let why = json!({ "blockReason": "No disk" });
                accepted(&runtime, fire(ada(), &text, "block", why).with_reason("No disk"));
            }
            // Seconds at first, then minutes, so that both windows are left.
            let step = if n < 25 { 4_700 } else { 400_000 };
            let to = reads.now().plus(Span(step));
            let counted = reads.stats(&lifecycle).unwrap().throughput;
            assert_eq!(counted, throughput(&reads, &lifecycle, began), "{run} {n}");
            runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
            some = reads.stats(&lifecycle).unwrap().throughput;
            assert_eq!(some, throughput(&reads, &lifecycle, began), "{run} {n}, later");
        }
        assert!(some.last_minute < some.last_hour && some.last_hour < some.since_start, "{some:?}");
        assert_eq!(some.counted_from, None);
        clock = Options { clock: ProjectClock::manual(reads.now()), ..manual() };
        runtime.stop();
    }
}

fn an_hour_that_is_too_long_to_recount_says_since_when_it_is_counted(stores: Stores) {
    let place = stores.place();
    let lifecycle = Name::new("mission.task");
    let runtime = started(place.open(), manual());
    team(&runtime);
    for n in 0..30 {
        assigned(&runtime, &format!("T-{n}"));
        accepted(&runtime, fire(ada(), &format!("mission.task/T-{n}"), "start", plan()));
        let to = runtime.reads().unwrap().now().plus(Span(1_000));
        runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
    }
    let (now, all) = (runtime.reads().unwrap().now(), runtime.reads().unwrap().stats(&lifecycle).unwrap());
    runtime.stop();

    let runtime = started(place.open(), Options { clock: ProjectClock::manual(now), ..manual() });
    let reads = runtime.reads().unwrap();
    let told = reads.clone().with_budget(1).stats(&lifecycle).unwrap();
    assert!(told.throughput.last_hour < all.throughput.last_hour, "{told:?}");
    let from = told.throughput.counted_from.unwrap();
    let later =
        |it: &trackside_engine::event::Entry| it.at >= from && it.event.kind().as_str() == "STATE_TRANSITION";
    let entries: Vec<_> = {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let records = reads.journal(after, 200).unwrap();
            let Some(last) = records.last() else { break found };
            after = last.seq;
            found.extend(records.iter().map(|it| it.entry().unwrap()));
        }
    };
    let counted = entries.iter().filter(|it| it.entity.lifecycle == lifecycle && later(it)).count() as u64;
    assert!(counted > 0 && counted <= told.throughput.last_hour, "{counted} {told:?}");
    assert_eq!(told.started_at, Some(now));
    // An hour later nothing from before the start counts.
    runtime.gateway().unwrap().advance(now.plus(Span(3_660_000))).unwrap().wait().unwrap();
    let told = reads.stats(&lifecycle).unwrap().throughput;
    assert_eq!((told.last_hour, told.counted_from), (0, None));
}

fn refusals_are_counted_by_lifecycle_and_code(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    let gateway = runtime.gateway().unwrap();
    let bare = |id: &str| fire(ada(), &format!("mission.task/{id}"), "start", json!({}));
    for _ in 0..3 {
        refused(&runtime, bare("T-1"));
    }
    refused(&runtime, bare("T-9"));
    for n in 0..50 {
        // Any caller can invent lifecycle names: they are counted together.
        refused(&runtime, fire(ada(), &format!("made.up{n}/X-1"), "start", json!({})));
    }
    let both = vec![fire(ada(), "mission.task/T-1", "start", plan()), bare("T-1")];
    gateway.submit_atomic(both, Vec::new()).unwrap().wait().unwrap();
    // Dry runs are not counted.
    gateway.dry_run(bare("T-1")).unwrap().wait().unwrap();
    let counted = reads.stats(&Name::new("mission.task")).unwrap().refusals;
    let expected = [(Code::NoSuchEdge, 1), (Code::RequirementMissing, 3), (Code::UnknownEntity, 1)];
    assert_eq!(counted, BTreeMap::from(expected));
    assert_eq!(reads.stray_refusals(), BTreeMap::from([(Code::UnknownLifecycle, 50)]));
    assert_eq!(reads.stats(&Name::new("coding.task")).unwrap().refusals, BTreeMap::new());
    assert_eq!(Figures::get(&runtime.figures().refused), 55);
    let since = runtime.since_start();
    assert_eq!(since.refusals.values().sum::<u64>(), 55);
    assert_eq!(
        since.refusals.get(&(None, Code::UnknownLifecycle)),
        Some(&50),
        "names that were made up are one"
    );
    assert_eq!((runtime.figures().waiting(), Figures::get(&runtime.figures().failed)), (0, 0));
}

fn write_entries(runtime: &Runtime) {
    while runtime.lag() > 0 {
        std::thread::yield_now();
    }
}

fn notices_come_once_and_in_order_before_and_after_a_flush(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    let mut posted = Vec::new();
    for n in 0..12 {
        let done =
            accepted(&runtime, fire(ada(), "mission.task/T-1", "comment", json!({ "text": format!("{n}") })));
        let mine = done.entries.iter().filter(|it| it.event.kind().as_str() == "MESSAGE_POSTED");
        posted.extend(mine.map(|it| it.seq));
        if n == 5 {
            write_entries(&runtime);
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
