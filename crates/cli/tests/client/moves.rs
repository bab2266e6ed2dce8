//! Commands that move things, and how refusals read.

use serde_json::json;

use crate::ground::ClientServer;

#[test]
fn an_entity_is_made_moved_and_refused() {
    let ground = ClientServer::small("moves");
    let made = ground.ask(&["new", "small.light", "--id", "A", "place=hall", "watts:=60"]);
    made.says(0, &["small.light/A created, OFF", "you can move it to: ON, BROKEN"]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &["small.light/A OFF → ON on switch_on"]);
    ground.ask(&["fire", "small.light/A", "--to", "OFF"]).says(0, &["ON → OFF on switch_off"]);
    // Without an id one is made, and it is printed.
    let json = ground.ask(&["new", "small.light", "--json"]).json();
    assert!(json["entity"]["id"].as_str().is_some_and(|it| !it.is_empty()), "{json:#}");
    // From a file.
    std::fs::write(ground.root.join("place.txt"), "the attic").unwrap();
    ground.ask(&["new", "small.light", "--id", "F", "place=@place.txt"]).says(0, &[]);
    assert_eq!(ground.ask(&["show", "small.light/F", "--json"]).json()["fields"]["place"], "the attic");
    // A dry run changes nothing.
    let trial = ground.ask(&["fire", "small.light/A", "switch_on", "--dry-run"]);
    trial.says(0, &["OFF → ON", "nothing was changed"]);
    assert_eq!(ground.ask(&["show", "small.light/A", "--json"]).json()["state"], "OFF");
    // A key counts once.
    let again = ["fire", "small.light/A", "switch_on", "--key", "k1"];
    ground.ask(&again).says(0, &["OFF → ON"]);
    ground.ask(&again).says(0, &["already executed"]);
    let other = ["fire", "small.light/A", "switch_off", "--key", "k1"];
    ground.ask(&other).says(1, &["idempotency-conflict", "another --key"]);
    // A version that has passed.
    let late = ["fire", "small.light/A", "switch_off", "--if-version", "1"];
    ground
        .ask(&late)
        .says(1, &["refused: version-mismatch", "next: read it again with trackside show small.light/A"]);
    // A correction without changes, and one of an unknown entity.
    let wrong = |more: &[&str], says: &[&str]| {
        let args = [&["correct", "small.light/A", "--reason", "a slip"], more].concat();
        ground.ask(&args).says(1, says);
    };
    wrong(&[], &["requirement-missing", "Nothing of small.light/A would change"]);
    wrong(&["watts:=60"], &["Nothing of small.light/A would change"]);
    wrong(&["--to", "ON"], &["Nothing of small.light/A would change: it is ON already"]);
    wrong(&["--to", "OF"], &["small.light has no state OF. Did you mean OFF?"]);
    wrong(&["wats:=20"], &["small.light has no field wats; did you mean watts?"]);
    let twice = ["correct", "small.light/A", "--reason", "a slip", "watts:=1", "watts:=2"];
    ground.ask(&twice).says(2, &["watts is given twice. Remove one of them"]);
    // A correction, which raises an alert.
    let right = ["correct", "small.light/A", "--to", "OFF", "watts:=20", "--reason", "a slip"];
    ground.ask(&right).says(0, &["an alert was raised"]);
    ground.ask(&["alerts"]).says(0, &["small.light/A"]);
    // A person acknowledges the alert, and resolves it.
    let alert = ground.ask(&["alerts", "--json"]).json()["items"][0]["alertId"].as_str().unwrap().to_owned();
    let seen = ["alerts", "acknowledge", &alert, "--note", "I am on it"];
    ground.ask(&seen).says(0, &["was acknowledged by owner"]);
    ground.ask(&seen).says(0, &["was acknowledged before by owner"]);
    ground.ask(&["alerts", "resolve", &alert, "--json"]).says(0, &["\"resolvedBy\": \"owner\""]);
    ground.ask(&["alerts"]).says(0, &["no open alerts"]);
    ground.ask(&["alerts", "--resolved"]).says(0, &["resolved by owner"]);
    ground.ask(&["alerts", "acknowledge", &alert]).says(1, &["alert-resolved", "owner resolved alert"]);
    ground.ask(&["alerts", "resolve", "0"]).says(1, &["unknown-alert"]);
    ground.ask(&["history", "small.light/A"]).says(0, &["STATE_CORRECTED", "a slip", "time in states: "]);
}

#[test]
fn refusals_match_the_reviewed_snapshot() {
    let ground = ClientServer::small("refusals");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    let ada = ground.token("ada", "agent", &[]);
    let mut text = String::new();
    for args in [
        &["fire", "small.light/A", "switch_on"][..],
        &["fire", "small.light/A", "swich_on"],
        &["fire", "small.light/A", "--to", "ONN"],
        &["fire", "small.light/A", "switch_off"],
        &["fire", "small.light/A", "smash"],
        &["fire", "small.light/A", "switch_on", "place:=3"],
        &["fire", "small.light/A", "switch_on", "plaec=hall"],
        &["fire", "small.light/B", "switch_on"],
        &["fire", "smal.light/A", "switch_on"],
        &["fire", "small.light/A"],
        &["fire", "small.light/A", "switch_on", "--to", "ON"],
        &["fire", "small.light", "switch_on"],
        &["new", "small.light", "--id", "A"],
        &["new", "small.light", "--id", "a b"],
        &["new", "small.light", "watts:=200"],
        &["new", "small.light", "watts:=x"],
        &["list", "small.light", "--state", "OF"],
        &["list", "small.light", "--where", "wats > 3"],
        &["heartbeat", "small.light/A", "--fence", "1"],
        &["query", "smal"],
        &["settings", "watts=3"],
    ] {
        let told = ground.ask(args);
        assert!(told.data.is_empty(), "{told:?}");
        text.push_str(&format!("$ trackside {}\n{}[exit {}]\n\n", args.join(" "), told.messages, told.code));
    }
    let told = ground.ask_as(&ada, &["fire", "small.light/A", "switch_on", "place=hall"]);
    text.push_str(&format!(
        "as ada: $ trackside fire small.light/A switch_on place=hall\n{}[exit {}]\n\n",
        told.messages, told.code
    ));
    let told = ground.ask_as(&ada, &["clock", "advance", "1h"]);
    text.push_str(&format!("as ada: $ trackside clock advance 1h\n{}[exit {}]\n", told.messages, told.code));
    insta::assert_snapshot!("refusals", text);
}

#[test]
fn a_refusal_says_the_same_as_over_http() {
    let ground = ClientServer::small("same");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    let refused = ground.ask(&["fire", "small.light/A", "switch_on", "--json"]);
    let json = refused.says(1, &[]).json();
    assert_eq!(json["status"], 422);
    for unmet in json["errors"].as_array().unwrap() {
        assert!(refused.messages.contains(unmet["message"].as_str().unwrap()), "{refused:?}");
        assert!(refused.messages.contains(unmet["field"].as_str().unwrap()), "{refused:?}");
    }
    assert!(!json["errors"].as_array().unwrap().is_empty());
    for target in json["allowedTransitions"].as_array().unwrap() {
        assert!(refused.messages.contains(target.as_str().unwrap()), "{refused:?}");
    }
    assert_ne!(json["allowedTransitions"], json!([]));
}

#[test]
fn a_claimed_entity_is_held_until_its_lease_expires() {
    let ground = ClientServer::small("claims");
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["claim", "small.light"]).says(1, &["you cannot claim any small.light now"]);
    ground.ask(&["new", "small.light", "--id", "A", "watts:=60"]).says(0, &[]);
    // A caller that may claim nothing learns who may, with and without claimable entities.
    let mine = ["claim", "small.light"];
    ground.ask(&mine).says(4, &["not-permitted", "owner may not claim a small.light. Who may: agent"]);
    let far = ["claim", "small.light", "fix", "--where", "watts > 90"];
    ground.ask_as(&ada, &far).says(1, &["you cannot claim any small.light"]);
    let claimed = ground.ask_as(&ada, &["claim", "small.light", "fix", "--where", "watts > 50"]);
    claimed.says(
        0,
        &["small.light/A OFF → FIXING on fix", "work held by ada, fence 1, until 2026-01-01 01:00:00Z"],
    );
    ground.ask(&["clock", "advance", "50m"]).says(0, &["2026-01-01T00:50:00Z"]);
    let beat = ["heartbeat", "small.light/A", "--fence", "1"];
    ground.ask_as(&ada, &beat).says(0, &["small.light/A is yours until 2026-01-01 01:50:00Z, fence 1"]);
    ground
        .ask_as(&ada, &["heartbeat", "small.light/A", "--fence", "7"])
        .says(1, &["stale-fence", "trackside show"]);
    ground.ask(&["explain", "small.light/A"]).says(
        0,
        &["ada holds it (work) until 2026-01-01 01:50:00Z, in 1h", "the lease work expires, then drop → OFF"],
    );
    ground.ask(&["clock", "advance", "--to", "2026-01-01T02:00:00Z"]).says(0, &[]);
    ground.ask(&["show", "small.light/A"]).says(0, &["small.light/A  OFF"]);
    ground.ask_as(&ada, &beat).says(1, &["refused"]);
}
