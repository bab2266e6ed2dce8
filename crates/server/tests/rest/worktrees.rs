//! Worktrees of entities and their changes, as runners report them.

use serde_json::json;
use trackside_protocol::Client;

use crate::artifacts::id;
use crate::ground::{RestServer, each, refused, why};

/// The artifact of a change in one file, stored.
pub(crate) fn stored_change(client: &Client, from: &str, to: &str) -> String {
    let lines = json!([{ "kind": "delete", "text": "old" }, { "kind": "add", "text": "new\u{1b}[2J" }]);
    let hunk = json!({ "oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "header": "fn main", "lines": lines });
    let file = json!({ "path": "src/main.rs", "status": "modified", "additions": 1, "deletions": 1, "hunks": [hunk] });
    let stats = json!({ "files": 1, "additions": 1, "deletions": 1 });
    let change = json!({ "base": from, "head": to, "truncated": false, "stats": stats, "files": [file] });
    let content = change.to_string().into_bytes();
    client.put_bytes(&format!("/v1/artifacts/{}", id(&content)), &content).unwrap();
    id(&content)
}

/// Reports a change of the first task.
fn report(client: &Client, path: &str, from: &str, to: &str) {
    let artifact = stored_change(client, from, to);
    let body =
        json!({ "from": from, "to": to, "artifact": artifact, "files": 1, "additions": 1, "deletions": 1 });
    client.post(path, &body).unwrap_or_else(|it| panic!("{it:#?}"));
}

/// A lifecycle that only admins and systems read, with an entity.
fn safe(ground: &RestServer) {
    let safe = "lifecycle: bank.safe\nabout: A safe.\nread: (human && admin) || system\ncreate: { by: human }\nstates: { SHUT: { initial: true }, OPEN: {} }\n\
        transitions: { open: { from: SHUT, to: OPEN, by: human }, shut: { from: OPEN, to: SHUT, by: human } }\n";
    let pack = json!({ "files": { "pack.yaml": "pack: bank\nversion: 1\nabout: A bank.\n", "lifecycles/safe.yaml": safe } });
    ground.owner.put("/v1/packs/bank", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground.owner.post("/v1/entities/bank.safe", &json!({ "id": "S-1" })).unwrap();
}

#[test]
fn a_diff_is_what_a_runner_reported_for_those_who_see_the_entity() {
    let ground = RestServer::new();
    safe(&ground);
    let host = ground.actor(json!({ "actor": "host-1", "kind": "system" }));
    let (pia, agent) = (ground.person("pia"), ground.agent("coder-1", "coding:coder"));
    let (changes, diff) = ("/v1/entities/bank.safe/S-1/changes", "/v1/entities/bank.safe/S-1/diff");
    let none = refused(ground.owner.get(diff));
    assert_eq!((none.status, none.code.as_str()), (404, "unknown-change"));
    assert!(none.detail.starts_with("No change was reported for bank.safe/S-1"), "{}", none.detail);

    report(&host, changes, "base-0000", "one-1111");
    report(&host, changes, "base-0000", "two-2222");
    report(&host, changes, "one-1111", "two-2222");
    let found = ground.owner.get(diff).unwrap().body;
    assert_eq!((&found["change"]["from"], &found["change"]["to"]), (&json!("base-0000"), &json!("two-2222")));
    assert_eq!(found["files"][0]["hunks"][0]["lines"][1], json!({ "kind": "add", "text": "new\u{1b}[2J" }));
    assert_eq!((&found["stats"]["files"], found["changes"].as_array().unwrap().len()), (&json!(1), 3));
    let rounds = ground.owner.get(&format!("{diff}?from=one-1&to=two-2222")).unwrap().body;
    assert_eq!(rounds["change"]["from"], json!("one-1111"));
    let missing = refused(host.get(&format!("{diff}?from=two-2222")));
    assert!(
        missing.code == "unknown-change" && missing.detail.contains("base-0000..one-1111"),
        "{missing:#?}"
    );
    assert_eq!(why(ground.owner.get(&format!("{diff}?from=one"))).0, 400);

    for client in [&pia, &agent] {
        assert_eq!(why(client.get(diff)), (404, "unknown-entity".to_owned()));
        assert_eq!(why(client.get("/v1/entities/bank.safe/S-1/worktree")).0, 404);
        // The record itself is no way around.
        assert!(each(&client.get("/v1/entities/fleet.change").unwrap().body, "id").is_empty());
    }
    // A runner that may not see the entity.
    let roles = json!(["fleet:agent_runner", "fleet:steer"]);
    let runner = ground.actor(json!({ "actor": "host-2", "kind": "agent", "roles": roles }));
    host.post("/v1/entities/bank.safe/S-1/worktree", &json!({ "state": "ready", "path": "/vault" })).unwrap();
    for client in [&pia, &agent, &runner] {
        for record in ["fleet.change", "fleet.worktree"] {
            let listed = client.get(&format!("/v1/entities/{record}")).unwrap().body;
            assert!(each(&listed, "id").is_empty(), "{listed:#}");
            let journal = client.get("/v1/journal?limit=200").unwrap().body.to_string();
            assert!(!journal.contains("/vault") && !journal.contains("base-0000"), "{journal}");
        }
        assert_eq!(why(client.get(diff)).0, 404);
        assert_eq!(why(client.get("/v1/entities/fleet.worktree/bank.safe-S-1")).0, 404);
    }
    let report = json!({ "from": "a-000", "to": "b-000", "artifact": "0".repeat(64) });
    assert_eq!(why(runner.post(changes, &report)).0, 404);
    let body = json!({ "from": "a-000", "to": "b-000", "artifact": "0".repeat(64) });
    for client in [&pia, &agent] {
        assert_eq!(why(client.post(changes, &body)).0, 403);
    }
    assert_eq!(why(host.post(changes, &body)), (404, "unknown-artifact".to_owned()));
    let artifact = stored_change(&host, "c-000", "d-000");
    let wrong = json!({ "from": "a-000", "to": "b-000", "artifact": artifact });
    assert_eq!(why(host.post(changes, &wrong)).0, 400);
}

#[test]
fn a_worktree_is_as_it_was_reported_last() {
    let ground = RestServer::new();
    let host = ground.actor(json!({ "actor": "host-1", "kind": "system" }));
    ground
        .agent("planner-1", "coding:planner")
        .post("/v1/entities/coding.task", &json!({ "id": "T-1" }))
        .unwrap();
    let path = "/v1/entities/coding.task/T-1/worktree";
    assert_eq!(why(ground.owner.get(path)), (404, "unknown-worktree".to_owned()));
    let first =
        json!({ "state": "making", "path": "/src/.worktrees/T-1", "branch": "task/T-1", "kind": "worktree" });
    host.post(path, &first).unwrap();
    assert_eq!(ground.owner.get(path).unwrap().body["state"], json!("making"));
    let second = json!({ "state": "ready", "base": "b4b4b4b", "head": "c0ffee1", "unmerged": 2, "dirty": 3, "additions": 10 });
    host.post(path, &second).unwrap();
    let found = ground.agent("coder-9", "coding:coder").get(path).unwrap().body;
    let shown = ["state", "branch", "unmerged", "dirty", "additions", "runner"].map(|it| found[it].clone());
    assert_eq!(json!(shown), json!(["ready", "task/T-1", 2, true, 10, "host-1"]));
    host.post(path, &json!({ "state": "vanished" })).unwrap();
    assert_eq!(ground.owner.get(path).unwrap().body["state"], json!("vanished"));
    assert_eq!(why(host.post(path, &json!({ "state": "lost" }))).0, 422);
    assert_eq!(why(ground.agent("coder-1", "coding:coder").post(path, &second)).0, 403);
    let history = ground.owner.get("/v1/entities/fleet.worktree/coding.task-T-1/history").unwrap().body;
    assert_eq!(history["items"].as_array().unwrap().len(), 3, "{history:#}");
    // One that was ready when it was reported first.
    ground
        .agent("planner-1", "coding:planner")
        .post("/v1/entities/coding.task", &json!({ "id": "T-2" }))
        .unwrap();
    host.post("/v1/entities/coding.task/T-2/worktree", &second).unwrap();
    assert_eq!(
        ground.owner.get("/v1/entities/coding.task/T-2/worktree").unwrap().body["state"],
        json!("ready")
    );
}

#[test]
fn a_claimed_task_waits_for_its_worktree_and_a_vanished_one_stops_the_agent() {
    let ground = RestServer::new();
    let host = ground.actor(json!({
        "actor": "host-1", "kind": "system", "roles": ["fleet:agent_runner", "coding:coder"], "for": ["coder-1"]
    }));
    let planner = ground.agent("planner-1", "coding:planner");
    planner.post("/v1/entities/coding.task", &json!({ "id": "T-1" })).unwrap();
    let task = "/v1/entities/coding.task/T-1";
    let event = |client: &Client, event: &str, fields: serde_json::Value| {
        client.post(&format!("{task}/transitions"), &json!({ "event": event, "fields": fields }))
    };
    event(&planner, "finalize", json!({})).unwrap();
    let coder = ground.agent("coder-1", "coding:coder");
    let claimed = event(&coder, "claim", json!({})).unwrap().body;
    let fence = claimed["entity"]["leases"][0]["fence"].clone();
    let work = coder.get(&format!("{task}/work?role=coder")).unwrap().body;
    assert_eq!(work["waits"], json!(["T-1 waits for its worktree .worktrees/T-1"]));
    let explained = ground.owner.get(&format!("{task}/explain")).unwrap().body;
    assert_eq!(explained["notReady"]["coder"], work["waits"]);
    let sentence = explained["summary"].as_str().unwrap();
    assert!(sentence.contains("It waits for worktree.create since"), "{sentence}");
    assert!(sentence.contains("no worker has taken it"), "{sentence}");
    assert!(sentence.contains("No coder starts yet: T-1 waits for its worktree"), "{sentence}");
    assert_eq!(why(event(&coder, "submit", json!({ "review_commit": "c0ffee1" }))).0, 422);

    let asked = json!({ "kind": "worktree.create", "entity": "coding.task/T-1" });
    let taken = host.post("/v1/effects/take", &asked).unwrap().body["items"][0].clone();
    assert_eq!((&taken["with"]["kind"], &taken["with"]["reset"]), (&json!("worktree"), &json!(true)));
    let explained = ground.owner.get(&format!("{task}/explain")).unwrap().body;
    assert!(explained["summary"].as_str().unwrap().contains("host-1 has taken it until"), "{explained:#}");
    let result = json!({ "ok": true, "fence": taken["fence"], "detail": { "commit": "b4b4b4b", "grant": taken["with"]["grant"] } });
    host.post(&format!("/v1/effects/{}/result", taken["id"]), &result).unwrap();
    let base = json!({ "state": "ready", "base": "b4b4b4b", "head": "c0ffee1", "branch": "task/T-1" });
    host.post(&format!("{task}/worktree"), &base).unwrap();
    report(&host, &format!("{task}/changes"), "b4b4b4b", "c0ffee1");
    let work = coder.get(&format!("{task}/work?role=coder")).unwrap().body;
    assert_eq!((&work["waits"], &work["worktree"]["branch"]), (&json!([]), &json!("task/T-1")));
    assert_eq!(
        (&work["change"]["to"], &work["change"]["command"]),
        (&json!("c0ffee1"), &json!("trackside changes coding.task/T-1"))
    );

    // The report and the event of the task are one commit.
    let before = ground.owner.get(task).unwrap().body["version"].as_u64().unwrap();
    host.post(&format!("{task}/worktree"), &json!({ "state": "vanished" })).unwrap();
    let found = ground.owner.get(task).unwrap().body;
    assert_eq!(
        (&found["fields"]["worktree_state"], &found["version"]),
        (&json!("vanished"), &json!(before + 1))
    );
    let beat =
        coder.post(&format!("{task}/heartbeat"), &json!({ "slot": "work", "fence": fence })).unwrap().body;
    assert!(beat["stop"]["why"].as_str().unwrap().contains("is gone: stop"), "{beat:#}");
    let violations = ground.owner.get("/v1/violations").unwrap().body;
    assert_eq!(each(&violations, "rule"), ["worktree_exists"]);
    // Reported again, it changes nothing that the task does not know.
    host.post(&format!("{task}/worktree"), &json!({ "state": "ready" })).unwrap();
    host.post(&format!("{task}/worktree"), &json!({ "state": "ready" })).unwrap();
    assert_eq!(ground.owner.get(task).unwrap().body["fields"]["worktree_state"], json!("ready"));
}

#[test]
fn a_request_of_an_earlier_claim_is_not_handed_out_and_leaves_the_new_claim_alone() {
    let ground = RestServer::new();
    let host = ground.actor(json!({ "actor": "host-1", "kind": "system" }));
    let planner = ground.agent("planner-1", "coding:planner");
    planner.post("/v1/entities/coding.task", &json!({ "id": "T-1" })).unwrap();
    let path = "/v1/entities/coding.task/T-1/transitions";
    planner.post(path, &json!({ "event": "finalize" })).unwrap();
    ground.agent("coder-1", "coding:coder").post(path, &json!({ "event": "claim" })).unwrap();
    ground.owner.post(path, &json!({ "event": "release" })).unwrap();
    ground.agent("coder-2", "coding:coder").post(path, &json!({ "event": "claim" })).unwrap();
    let asked = json!({ "kind": "worktree.create", "limit": 9 });
    let taken = host.post("/v1/effects/take", &asked).unwrap().body;
    assert_eq!(taken["items"].as_array().unwrap().len(), 1, "{taken:#}");
    assert_eq!(taken["items"][0]["with"]["grant"], json!(2));
    let task = ground.owner.get("/v1/entities/coding.task/T-1").unwrap().body;
    assert_eq!((&task["state"], &task["fields"]["assigned_to"]), (&json!("CLAIMED"), &json!("coder-2")));
}

/// Runners do not read the records of worktrees and changes, and report them again and again.
#[test]
fn a_runner_reports_again_on_records_that_it_does_not_read() {
    let ground = RestServer::new();
    let runner =
        |id: &str| ground.actor(json!({ "actor": id, "kind": "agent", "roles": ["fleet:agent_runner"] }));
    let (one, other) = (runner("host-1"), runner("host-2"));
    ground
        .agent("planner-1", "coding:planner")
        .post("/v1/entities/coding.task", &json!({ "id": "T-1" }))
        .unwrap();
    let task = "/v1/entities/coding.task/T-1";
    for (runner, state, who) in
        [(&one, "making", "host-1"), (&one, "ready", "host-1"), (&other, "vanished", "host-2")]
    {
        let body = json!({ "state": state, "slot": "work", "integration": "main" });
        runner.post(&format!("{task}/worktree"), &body).unwrap_or_else(|it| panic!("{state}: {it:#?}"));
        let found = runner.get(&format!("{task}/worktree")).unwrap().body;
        let shown = ["state", "runner", "slot", "integration"].map(|it| found[it].clone());
        assert_eq!(json!(shown), json!([state, who, "work", "main"]));
    }
    for runner in [&one, &other] {
        report(runner, &format!("{task}/changes"), "b4b4b4b", "c0ffee1");
        assert_eq!(why(runner.get("/v1/entities/fleet.worktree/coding.task-T-1")).0, 404);
    }
}

/// A task that could be claimed waits, because the repository of every runner that is online is unusable.
#[test]
fn a_task_without_a_fit_runner_says_why() {
    let ground = RestServer::new();
    let planner = ground.agent("planner-1", "coding:planner");
    planner.post("/v1/entities/coding.task", &json!({ "id": "T-1" })).unwrap();
    let task = "/v1/entities/coding.task/T-1";
    planner.post(&format!("{task}/transitions"), &json!({ "event": "finalize" })).unwrap();
    let mut fences = Vec::new();
    let runners = ["host-1", "host-2"].map(|id| {
        let runner = ground.actor(json!({ "actor": id, "kind": "agent", "roles": ["fleet:agent_runner"] }));
        let fields = json!({ "id": id, "fields": { "machine": "mars" } });
        let made = runner.post("/v1/entities/fleet.runner", &fields).unwrap().body;
        fences.push(made["entity"]["leases"][0]["fence"].clone());
        runner
    });
    let describe = |number: usize, why: serde_json::Value| {
        let body = json!({ "event": "describe", "fields": { "unfit": why }, "fence": fences[number] });
        let path = format!("/v1/entities/fleet.runner/host-{}/transitions", number + 1);
        runners[number].post(&path, &body).unwrap_or_else(|it| panic!("{it:#?}"));
    };
    let explained = || ground.owner.get(&format!("{task}/explain")).unwrap().body;
    assert_eq!(explained()["notReady"], json!({}));
    describe(0, json!("it has no commit"));
    assert_eq!(explained()["notReady"], json!({}), "the other one is fit");
    describe(1, json!("it is bare"));
    let why = "runner host-1 on mars cannot start agents: it has no commit";
    assert_eq!(explained()["notReady"]["coder"][0], json!(why), "{:#}", explained());
    assert!(explained()["summary"].as_str().unwrap().contains(&format!("No coder starts yet: {why}")));
    describe(1, json!(null));
    assert_eq!(explained()["notReady"], json!({}), "it is fit again");
}
