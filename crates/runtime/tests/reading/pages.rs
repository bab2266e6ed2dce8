//! Pages lose and repeat no entity that stays in place while others move.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use trackside_lifecycle::name::Name;
use trackside_runtime::Options;
use trackside_runtime::read::ListQuery;

use crate::ground::*;
use crate::lists::owner;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    pages_show_unmoved_entities_once_and_answered_changes
}

const STILL: usize = 150;
const MOVING: usize = 30;

fn pages_show_unmoved_entities_once_and_answered_changes(stores: Stores) {
    let options = Options { behind: Duration::from_millis(3), behind_entries: 40, ..manual() };
    let place = stores.place();
    let runtime = Arc::new(started(place.open(), options));
    team(&runtime);
    // Each moving entity has some neighbours that stay.
    for n in 0..STILL {
        plant(
            &runtime,
            &format!("mission.task/S-{n:03}"),
            "INBOX",
            json!({ "title": "Still", "priority": 1 }),
        );
    }
    let (done, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (runtime, done, rounds) = (runtime.clone(), done.clone(), rounds.clone());
            std::thread::spawn(move || {
                let reads = runtime.reads().unwrap();
                let mut round = 0_usize;
                while !done.load(Ordering::Relaxed) {
                    round += 1;
                    let n = (round * 7 + writer * 11) % MOVING * 3 + writer;
                    let text = format!("mission.task/S-{n:03}-m");
                    let state = ["INBOX", "ASSIGNED", "BLOCKED"][round % 3];
                    let task =
                        json!({ "title": "Moving", "assigneeIds": ["ada"], "priority": 1 + round % 4 });
                    plant(&runtime, &text, state, task);
                    // An answered change is visible in the list as well.
                    let seq = runtime.seq();
                    let id = text.split_once('/').unwrap().1;
                    let filter =
                        reads.condition(&Name::new("mission.task"), &format!("id == '{id}'")).unwrap();
                    let query = ListQuery {
                        states: vec![Name::new(state)],
                        filter: Some(filter),
                        after_seq: Some(seq),
                        ..ListQuery::of("mission.task", owner())
                    };
                    let found = reads.list(&query).unwrap().items;
                    assert_eq!(found.len(), 1, "{text} was answered as {state}");
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let reads = runtime.reads().unwrap();
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    let mut pass = 0;
    // On a slow machine, too, changes must happen meanwhile.
    while pass < 60 || rounds.load(Ordering::Relaxed) < 60 {
        let narrowed = pass % 2 == 0;
        let lifecycle = Name::new("mission.task");
        let filter = (pass % 3 == 0).then(|| reads.condition(&lifecycle, "priority == 1").unwrap());
        let states = if narrowed { vec![Name::new("INBOX")] } else { Vec::new() };
        let mut query =
            ListQuery { states, filter, limit: 1 + pass % 23, ..ListQuery::of(lifecycle, owner()) };
        let mut seen: Vec<String> = Vec::new();
        loop {
            let page = reads.list(&query).unwrap();
            for entity in &page.items {
                assert!(!narrowed || entity.state == *"INBOX");
                let last = newest.entry(entity.key.id.to_string()).or_default();
                assert!(entity.seq >= *last, "{} went back from {last} to {}", entity.key, entity.seq);
                *last = entity.seq;
                seen.push(entity.key.id.to_string());
            }
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        assert!(seen.windows(2).all(|two| two[0] < two[1]), "in order, each once: {seen:?}");
        let still = seen.iter().filter(|it| !it.ends_with("-m")).count();
        assert_eq!(still, STILL, "pass {pass}");
        pass += 1;
    }
    done.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|it| it.join().unwrap());
}
