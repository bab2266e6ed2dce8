//! A repeated command is answered with its own entries, or not at all.

use serde_json::json;
use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_lifecycle::time::Span;
use trackside_runtime::read::Reads;
use trackside_runtime::{CommandAnswer, Options, ProjectClock, Runtime};
use trackside_store::archive::{folder_of, move_out};

use crate::ground::*;
use crate::stores::{StoreSite, Stores, on_every_store};

on_every_store! {
    replayed_answers_are_read_from_the_archive_or_fail
}

fn comment(task: &str, words: &str) -> Command {
    let comment = fire(ada(), &format!("mission.task/{task}"), "comment", json!({ "text": words }));
    keyed(comment, &format!("key-{task}"))
}

fn again(runtime: &Runtime, reads: &Reads, task: &str, words: &str) -> Result<Vec<Entry>, String> {
    match runtime.gateway().unwrap().ask(comment(task, words)).unwrap() {
        CommandAnswer::Replayed { first, entries, .. } => {
            let found = reads.written_by(first, entries).map_err(|it| it.code().to_owned())?;
            Ok(found.iter().map(|it| it.entry().unwrap()).collect())
        }
        other => panic!("{other:?}"),
    }
}

fn replayed_answers_are_read_from_the_archive_or_fail(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    team(&runtime);
    for task in ["T-1", "T-2", "T-3"] {
        assigned(&runtime, task);
    }
    let first = accepted(&runtime, comment("T-1", "For everybody")).entries.to_vec();
    let second = accepted(&runtime, comment("T-2", "A secret")).entries.to_vec();
    let at = runtime.reads().unwrap().now().plus(Span(60_000));
    runtime.gateway().unwrap().advance(at).unwrap().wait().unwrap();
    let third = accepted(&runtime, comment("T-3", "Late")).entries.to_vec();
    assert_eq!(again(&runtime, &runtime.reads().unwrap(), "T-1", "For everybody").unwrap(), first);
    runtime.stop();

    let archive = match &place {
        StoreSite::Sqlite(folder) => folder_of(folder),
        StoreSite::Memory(_) => std::env::temp_dir().join(format!("trackside-again-{}", std::process::id())),
    };
    {
        let store = place.open();
        let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
        let moved = move_out(reader.as_mut(), journal.as_mut(), &archive, at).unwrap().unwrap();
        assert!(second[0].seq <= moved.last() && moved.last() < third[0].seq);
    }
    let runtime = started(place.open(), Options { clock: ProjectClock::manual(at), ..manual() });
    let reads = runtime.reads().unwrap();
    let archived = || Err("archived".to_owned());
    // A store without files has no archive.
    let (one, two) = match &place {
        StoreSite::Sqlite(_) => (Ok(first), Ok(second)),
        StoreSite::Memory(_) => (archived(), archived()),
    };
    assert_eq!(again(&runtime, &reads, "T-1", "For everybody"), one);
    assert_eq!(again(&runtime, &reads, "T-2", "A secret"), two);
    assert_eq!(again(&runtime, &reads, "T-3", "Late").unwrap(), third);
    std::fs::remove_dir_all(&archive).unwrap();
    assert_eq!(again(&runtime, &reads, "T-1", "For everybody"), archived());
    assert_eq!(again(&runtime, &reads, "T-2", "A secret"), archived());
    assert_eq!(again(&runtime, &reads, "T-3", "Late").unwrap(), third);
}
