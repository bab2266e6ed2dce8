//! Commands that read: for people, and as JSON.

use serde_json::json;

use crate::ground::ClientServer;

#[test]
fn reads_match_the_reviewed_snapshot() {
    let ground = ClientServer::small("reads");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall", "watts:=60"]).says(0, &[]);
    ground.ask(&["new", "small.light", "--id", "B"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "switch_on", "--reason", "it is dark"]).says(0, &[]);
    ground.ask(&["clock", "advance", "2h5m"]).says(0, &[]);
    ground.ask(&["fire", "small.light/B", "switch_on"]).says(1, &[]);
    let mut text = String::new();
    for args in [
        &["show", "small.light/A"][..],
        &["show", "small.light/B"],
        &["show", "small.light/A", "--at", "10"],
        &["list", "small.light"],
        &["list", "small.light", "--state", "BROKEN"],
        &["history", "small.light/A"],
        &["explain", "small.light/A"],
        &["explain", "small.light/B"],
        &["stats", "small.light"],
        &["lifecycles"],
        &["lifecycles", "small.light"],
        &["query", "small"],
        &["alerts"],
        &["violations"],
        &["clock"],
    ] {
        let told = ground.ask(args);
        text.push_str(&format!("$ trackside {}\n{}{}\n", args.join(" "), told.data, told.messages));
        assert_eq!(told.code, 0, "{told:?}");
    }
    insta::assert_snapshot!("readings", text);
}

#[test]
fn every_read_supports_json() {
    let ground = ClientServer::small("json");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    for args in [
        &["show", "small.light/A"][..],
        &["list", "small.light"],
        &["history", "small.light/A"],
        &["explain", "small.light/A"],
        &["stats"],
        &["lifecycles"],
        &["query", "small"],
        &["alerts"],
        &["approvals"],
        &["messages", "small.light/A"],
        &["notifications"],
        &["violations"],
        &["clock"],
        &["whoami"],
        &["token", "list"],
        &["pack", "list"],
        &["settings", "small"],
        &["settings"],
    ] {
        let mut args = args.to_vec();
        args.push("--json");
        let told = ground.ask(&args);
        assert!(told.says(0, &[]).json().is_object(), "{args:?}");
    }
    // Entries are lines.
    let told = ground.ask(&["journal", "--all", "--json"]);
    let lines: Vec<serde_json::Value> =
        told.data.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
}

#[test]
fn long_lists_are_read_page_by_page() {
    let ground = ClientServer::small("pages");
    for at in 0..12 {
        ground.ask(&["new", "small.light", "--id", &format!("L-{at:02}")]).says(0, &[]);
    }
    let ids = |args: &[&str]| {
        let json = ground.ask(args).json();
        json["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = ids(&["list", "small.light", "--all", "--json"]);
    assert_eq!(all.len(), 12);
    assert_eq!(ids(&["list", "small.light", "--limit", "5", "--json"]), all[..5]);
    ground.ask(&["list", "small.light", "--limit", "5"]).says(0, &["Showing the first 5", "--all"]);
    let first = ground.ask(&["journal", "--limit", "3", "--json"]);
    assert_eq!(first.data.lines().count(), 3);
    first.says(0, &["trackside journal --after 3"]);
    let next = ground.ask(&["journal", "--after", "3", "--limit", "1", "--json"]).json();
    assert_eq!(next["seq"], json!(4));
}

#[test]
fn a_query_prints_rows_in_the_form_it_declares_and_says_when_there_are_more() {
    let ground = ClientServer::with_all_packs();
    for id in ["LINES-1", "LINES-2"] {
        ground.ask(&["new", "build.task", "--id", id, "title=One"]).says(0, &[]);
    }
    let orchestrator = ["token", "create", "lines-orch", "--kind", "agent", "--role", "build:orchestrator"];
    let token = ground.ask(&orchestrator).says(0, &[]).data.trim().to_owned();
    let assign = ["fire", "build.task/LINES-1", "assign", "--reason", "Next in the plan"];
    ground.ask_as(&token, &assign).says(0, &[]);
    let told = ground.ask(&["query", "build", "taskStateHistory", "taskId=LINES-1"]);
    let rows: Vec<Vec<&str>> = told
        .says(0, &[])
        .data
        .lines()
        .map(|it| it.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["fromState", "toState", "timestamp", "reason", "actor"]);
    assert_eq!(
        (rows[1][0], rows[1][1], &rows[1][3..]),
        ("pending", "assigned", &["Next in the plan", "lines-orch"][..])
    );
    assert_eq!(rows.len(), 2);
    let pending = ["query", "build", "tasksByState", "state=pending", "--limit", "1"];
    ground.ask(&["new", "build.task", "--id", "LINES-3", "title=One"]).says(0, &[]);
    let told = ground.ask(&pending);
    assert_eq!(told.says(0, &["Showing the first 1", "--all"]).data.lines().count(), 2, "{told:?}");
    let all = ground.ask(&["query", "build", "tasksByState", "state=pending", "--all", "--json"]).json();
    assert!(all["items"].as_array().is_some_and(|it| it.len() > 1) && all["nextCursor"].is_null(), "{all}");
}

#[test]
fn overdue_entities_are_listed() {
    let ground = ClientServer::small("overdue");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    ground.ask(&["new", "small.light", "--id", "B", "place=hall"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    ground.ask(&["list", "small.light", "--overdue"]).says(0, &["no small.light found"]);
    // Its deadline switches it off; nothing is overdue afterwards, and the journal says why.
    ground.ask(&["clock", "advance", "9h"]).says(0, &[]);
    ground.ask(&["history", "small.light/A"]).says(0, &["TIMEOUT_WARNING", "ON → OFF  switch_off"]);
}

#[test]
fn a_supervisor_reads_as_its_agent() {
    let ground = ClientServer::small("reads-for");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let boss = ["token", "create", "boss", "--kind", "agent", "--for", "ada"];
    let boss = ground.ask(&boss).says(0, &[]).data.trim().to_owned();
    for args in [&["show", "small.light/A"][..], &["list", "small.light"], &["explain", "small.light/A"]] {
        let as_agent = |agent: &str| ground.ask_as(&boss, &[args, &["--for", agent]].concat());
        as_agent("ada").says(0, &["OFF"]);
        as_agent("kim").says(4, &["may not act for kim"]);
    }
}
