//! Violations that the sweep found, and their ends.

use serde_json::json;
use trackside_engine::command::{Ask, Command};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{Options, PackSource, Runtime};

use crate::ground::*;
use crate::lists::owner;
use crate::stores::{StoreSite, Stores, on_every_store};

on_every_store! {
    a_violation_is_listed_until_it_is_cleared_and_then_with_the_cause
    archived_violations_are_listed_or_reported_as_missing
}

const LIGHT: &str = "\
lifecycle: small.light
fields: { watts: { type: integer, default: 40 } }
create: { by: human, takes: [watts] }
states: { OFF: { initial: true } }
transitions: { change: { from: OFF, to: OFF, by: human, takes: [watts] } }
invariants:
  modest: { holds: watts <= 100, says: '{watts} watts are too many' }
  some:   { holds: watts > 0, severity: warning, says: 'It is dark' }
";

fn lights(place: &StoreSite) -> Runtime {
    let files = [("pack.yaml", "pack: small\nversion: 1\n"), ("lifecycles/light.yaml", LIGHT)];
    let pack = PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() };
    Runtime::start(place.open(), &[pack], Options { sweep_every: None, ..manual() }).unwrap()
}

fn sweep(runtime: &Runtime) {
    runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
}

fn set(runtime: &Runtime, id: &str, watts: i64) {
    let ask = Ask::Correct {
        entity: key(&format!("small.light/{id}")),
        to: None,
        fields: fields(json!({ "watts": watts })),
    };
    accepted(runtime, Command::new(owner(), ask).with_reason("It was too bright"));
}

/// Entity, rule, and the entry that cleared it.
fn violations(runtime: &Runtime) -> Vec<(String, String, Option<u64>)> {
    let (found, next) = runtime.reads().unwrap().violations(0, 50).unwrap();
    assert_eq!(next, None);
    found.iter().map(|it| (it.entity.id.to_string(), it.rule.to_string(), it.cleared_by)).collect()
}

/// Entries that end a violation.
fn clear_violations(runtime: &Runtime) -> Vec<u64> {
    let journal = runtime.reads().unwrap().journal(0, 200).unwrap();
    let kind =
        |it: &trackside_store::Record| it.entry().unwrap().event.kind().as_str() == "VIOLATION_CLEARED";
    journal.iter().filter(|it| kind(it)).map(|it| it.seq).collect()
}

fn a_violation_is_listed_until_it_is_cleared_and_then_with_the_cause(stores: Stores) {
    let place = stores.place();
    let runtime = lights(&place);
    plant(&runtime, "small.light/A", "OFF", json!({ "watts": 200 }));
    plant(&runtime, "small.light/B", "OFF", json!({ "watts": 0 }));
    plant(&runtime, "small.light/C", "OFF", json!({ "watts": 60 }));
    assert_eq!(violations(&runtime), []);
    sweep(&runtime);
    let open = |it: &[(&str, &str)]| -> Vec<_> {
        it.iter().map(|(id, rule)| ((*id).to_owned(), (*rule).to_owned(), None)).collect()
    };
    assert_eq!(violations(&runtime), open(&[("A", "modest"), ("B", "some")]));
    let (found, _) = runtime.reads().unwrap().violations(0, 1).unwrap();
    assert!(format!("{:?}", found[0].record.entry().unwrap().event).contains("200"), "the evidence is kept");
    // Known already: it is reported once.
    sweep(&runtime);
    assert_eq!(violations(&runtime).len(), 2);
    set(&runtime, "A", 80);
    sweep(&runtime);
    let by = clear_violations(&runtime);
    assert_eq!(by.len(), 1);
    let expected = vec![("A".into(), "modest".into(), Some(by[0])), ("B".into(), "some".into(), None)];
    assert_eq!(violations(&runtime), expected);
    runtime.wait_until_written().unwrap();
    assert_eq!(violations(&runtime), expected, "written or not");
    // Broken again: a new violation, and the first one keeps its end.
    plant(&runtime, "small.light/A", "OFF", json!({ "watts": 300 }));
    sweep(&runtime);
    let mut expected = expected;
    expected.push(("A".into(), "modest".into(), None));
    assert_eq!(violations(&runtime), expected);
    runtime.stop();
    assert_eq!(violations(&lights(&place)), expected, "after a restart");
}

fn archived_violations_are_listed_or_reported_as_missing(stores: Stores) {
    let place = stores.place();
    let runtime = lights(&place);
    let plant_some = |runtime: &Runtime, from: usize| {
        for n in from..from + 5 {
            plant(runtime, &format!("small.light/L-{n:02}"), "OFF", json!({ "watts": 200 + n }));
        }
        sweep(runtime);
    };
    plant_some(&runtime, 0);
    let later = runtime.reads().unwrap().now().plus(Span(60_000));
    runtime.gateway().unwrap().advance(later).unwrap().wait().unwrap();
    runtime.stop();
    let _archived = place.archive(later);
    let runtime = lights(&place);
    let base = runtime.store().reader().unwrap().base().unwrap().seq;
    plant_some(&runtime, 5);
    let reads = runtime.reads().unwrap();
    let pages = |mut after: u64| {
        let mut found = Vec::new();
        loop {
            let (page, next) = reads.violations(after, 2)?;
            found.extend(page.into_iter().map(|it| (it.entity.id, it.record.payload.is_some())));
            match next {
                Some(next) => after = next,
                None => return Ok::<_, trackside_runtime::ReadError>(found),
            }
        }
    };
    let those = |from: usize| -> Vec<(Name, bool)> {
        (from..10).map(|it| (Name::new(&format!("L-{it:02}")), true)).collect()
    };
    match stores {
        Stores::Sqlite => assert_eq!(pages(0).unwrap(), those(0), "with their evidence"),
        Stores::Memory => assert_eq!(pages(0).unwrap_err().code(), "archived", "it is not passed over"),
    }
    // Pages after the archived part do not need it: all of these but the newest were archived.
    assert_eq!(pages(base + 1).unwrap(), those(5));
}
