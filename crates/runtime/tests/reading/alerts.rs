//! Alerts and people's answers to them, flushed and not yet flushed.

use serde_json::json;
use trackside_engine::command::{AlertAction, Ask, Command};
use trackside_runtime::read::Alert;
use trackside_runtime::{Options, PackSource, Runtime};

use crate::ground::*;
use crate::lists::owner;
use crate::stores::{StoreSite, Stores, on_every_store};

on_every_store! {
    an_alert_is_listed_until_it_is_resolved
    pages_of_open_alerts_leave_out_resolved_ones
}

const PUMP: &str = "\
lifecycle: small.pump
create: { by: human }
states: { ON: { initial: true } }
transitions:
  leak: { from: ON, by: human, alert: { kind: leak, severity: error, message: 'It leaks' } }
";

fn pumps(place: &StoreSite) -> Runtime {
    let files = [("pack.yaml", "pack: small\nversion: 1\n"), ("lifecycles/pump.yaml", PUMP)];
    let pack = PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() };
    Runtime::start(place.open(), &[pack], Options { sweep_every: None, ..manual() }).unwrap()
}

fn leak(runtime: &Runtime, id: &str) {
    accepted(runtime, Command::fire(owner(), key(&format!("small.pump/{id}")), "leak", fields(json!({}))));
}

fn attend(runtime: &Runtime, id: &str, alert: u64, action: AlertAction, note: &str) {
    let ask = Ask::HandleAlert { entity: key(&format!("small.pump/{id}")), alert, action };
    runtime.gateway().unwrap().ask(Command::new(owner(), ask).with_reason(note)).unwrap();
}

fn list_alerts(runtime: &Runtime, all: bool) -> Vec<Alert> {
    let (found, next) = runtime.reads().unwrap().alerts(0, 50, all).unwrap();
    assert_eq!(next, None);
    found
}

fn ids(alerts: &[Alert]) -> Vec<&str> {
    alerts.iter().map(|it| it.raised.entity.id.as_str()).collect()
}

fn an_alert_is_listed_until_it_is_resolved(stores: Stores) {
    let place = stores.place();
    let runtime = pumps(&place);
    for id in ["A", "B"] {
        accepted(
            &runtime,
            Command::new(
                owner(),
                Ask::Create { entity: key(&format!("small.pump/{id}")), fields: fields(json!({})) },
            ),
        );
        leak(&runtime, id);
    }
    let said = |alert: &Alert| {
        let note = |it: &Option<trackside_engine::event::Entry>| {
            it.as_ref().map(|it| it.reason.as_deref().unwrap_or_default().to_owned())
        };
        (alert.is_open, note(&alert.acknowledged), note(&alert.resolved))
    };
    let some = |it: &str| Some(it.to_owned());
    let first = list_alerts(&runtime, false);
    assert_eq!(ids(&first), ["A", "B"]);
    assert_eq!(said(&first[0]), (true, None, None));
    let alert = first[0].raised.seq;
    attend(&runtime, "A", alert, AlertAction::Acknowledge, "mine");
    attend(&runtime, "A", alert, AlertAction::Acknowledge, "no, mine");
    assert_eq!(said(&list_alerts(&runtime, false)[0]), (true, some("mine"), None));
    attend(&runtime, "A", alert, AlertAction::Resolve, "a new seal");
    let resolved = |runtime: &Runtime| {
        assert_eq!(ids(&list_alerts(runtime, false)), ["B"]);
        let all = list_alerts(runtime, true);
        assert_eq!(ids(&all), ["A", "B"]);
        assert_eq!(said(&all[0]), (false, some("mine"), some("a new seal")));
        let one = runtime.reads().unwrap().alert(alert).unwrap();
        assert_eq!(said(&one), said(&all[0]));
        // An entry that raised no alert is none.
        assert!(runtime.reads().unwrap().alert(alert + 100).is_err());
        assert!(runtime.reads().unwrap().alert(alert - 1).is_err());
    };
    resolved(&runtime);
    runtime.wait_until_written().unwrap();
    resolved(&runtime);
    drop(runtime);
    let runtime = pumps(&place);
    resolved(&runtime);
    // An alert that is raised again is a new one.
    leak(&runtime, "A");
    assert_eq!(ids(&list_alerts(&runtime, false)), ["B", "A"]);
    assert_eq!(ids(&list_alerts(&runtime, true)), ["A", "B", "A"]);
}

fn pages_of_open_alerts_leave_out_resolved_ones(stores: Stores) {
    let place = stores.place();
    let runtime = pumps(&place);
    accepted(
        &runtime,
        Command::new(owner(), Ask::Create { entity: key("small.pump/A"), fields: fields(json!({})) }),
    );
    for _ in 0..10 {
        leak(&runtime, "A");
    }
    let all: Vec<u64> = list_alerts(&runtime, false).iter().map(|it| it.raised.seq).collect();
    // The first eight, so that a page would be empty if they counted.
    for alert in &all[..8] {
        attend(&runtime, "A", *alert, AlertAction::Resolve, "so");
    }
    let (found, next) = runtime.reads().unwrap().alerts(0, 1, false).unwrap();
    assert_eq!(found.iter().map(|it| it.raised.seq).collect::<Vec<_>>(), [all[8]]);
    assert_eq!(next, Some(all[8]));
    let (found, next) = runtime.reads().unwrap().alerts(all[8], 1, false).unwrap();
    assert_eq!(found.iter().map(|it| it.raised.seq).collect::<Vec<_>>(), [all[9]]);
    assert_eq!(next, None);
}
