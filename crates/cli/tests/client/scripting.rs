//! Commands for scripts and workers: waiting, effects, artifacts, batches and the policy.

use std::time::Duration;

use serde_json::json;

use crate::ground::{ClientServer, scratch};
use crate::program::{binary, run_command};

/// Jobs that ask the outside for something, spend money and are claimed.
const JOB: &str = "\
lifecycle: small.job
title: what
fields: { what: { type: string }, branch: { type: string } }
slots: { work: { for: 1h, lost: drop } }
rankings: { open: { in: [OPEN], by: [createdAt], claims: take } }
create: { by: human, takes: [what] }
states:
  OPEN:    { initial: true }
  TAKEN:   {}
  MERGING: {}
  DONE:    { final: true, outcome: success }
  FAILED:  { final: true, outcome: failure }
transitions:
  take:   { from: OPEN, to: TAKEN, by: human || agent, lease: work }
  drop:   { from: TAKEN, to: OPEN, by: engine }
  spend:  { from: TAKEN, by: human || agent, takes: { cost: { type: number } }, count: [spent] }
  submit: { from: TAKEN, to: MERGING, by: human || agent, effects: [merge] }
  merged: { from: MERGING, to: DONE, by: engine, takes: [branch] }
  broken: { from: MERGING, to: FAILED, by: engine, takes: [branch] }
counters: { spent: { add: cost, limit: '3.0' } }
effects: { merge: { with: { job: id }, ok: merged, failed: broken } }
";

fn small_jobs(name: &str) -> ClientServer {
    let root = scratch(name);
    let pack = root.join("small");
    std::fs::create_dir_all(pack.join("lifecycles")).unwrap();
    std::fs::write(pack.join("pack.yaml"), "pack: small\nversion: 1\n").unwrap();
    std::fs::write(pack.join("lifecycles/job.yaml"), JOB).unwrap();
    let pack = pack.to_str().unwrap().to_owned();
    ClientServer::start(root, &pack)
}

#[test]
fn budgets_are_shown_and_listed() {
    let ground = small_jobs("budgets");
    for id in ["J-1", "J-2"] {
        ground.ask(&["new", "small.job", "--id", id, "what=Paint"]).says(0, &[]);
    }
    ground.ask(&["claim", "small.job"]).says(0, &["small.job/J-1"]);
    ground.ask(&["fire", "small.job/J-1", "spend", "cost:=1.25"]).says(0, &[]);
    ground.ask(&["show", "small.job/J-1"]).says(0, &["counters", "spent  1.25 of 3"]);
    ground.ask(&["list", "small.job"]).says(0, &["spent: 1.25 of 3"]);
    let over = ground.ask(&["list", "small.job", "--where", "spent > 1"]);
    over.says(0, &["J-1"]);
    assert!(!over.data.contains("J-2"), "{over:?}");
    let all = ground.ask(&["list"]);
    all.says(0, &["small.job", "OPEN 1, TAKEN 1", "trackside list LIFECYCLE"]);
    let listed = ground.ask(&["list", "--json"]).json();
    let jobs = listed["items"].as_array().unwrap().iter().find(|it| it["lifecycle"] == "small.job");
    assert_eq!(jobs.unwrap()["states"]["TAKEN"], 1);
    ground.ask(&["list", "--state", "OPEN"]).says(2, &["LIFECYCLE"]);
}

#[test]
fn an_explanation_begins_with_its_headline() {
    let ground = small_jobs("headlines");
    ground.ask(&["new", "small.job", "--id", "J-1", "what=Paint"]).says(0, &[]);
    let first = |args: &[&str]| ground.ask(args).data.lines().next().unwrap_or_default().to_owned();
    let line = first(&["explain", "small.job/J-1"]);
    assert!(line.starts_with("Waiting for you: take. It waits to be claimed. Since "), "{line}");
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["claim", "small.job"]).says(0, &[]);
    let line = first(&["explain", "small.job/J-1"]);
    assert!(line.starts_with("Waiting for ada: work on it. ada holds the lease work. Since "), "{line}");
    assert!(line.contains(", until "), "{line}");
}

#[test]
fn a_wait_ends_with_the_state_or_with_the_time() {
    let ground = small_jobs("waits");
    for id in ["J-1", "J-2"] {
        ground.ask(&["new", "small.job", "--id", id, "what=Paint"]).says(0, &[]);
    }
    // What holds already needs no wait.
    ground.ask(&["wait", "small.job/J-1", "--state", "OPEN,DONE"]).says(0, &["small.job/J-1 is OPEN"]);
    ground.ask(&["wait", "small.job/J-1", "--timeout", "1s"]).says(1, &["is OPEN", "the time has run out"]);
    ground.ask(&["wait", "small.job/none"]).says(1, &["unknown-entity"]);
    ground.ask(&["wait", "small.job/J-1", "--timeout", "2d"]).says(2, &["at most 24h"]);
    // A change ends it, long before the time.
    let waiting = std::thread::scope(|scope| {
        let wait = scope.spawn(|| {
            ground.ask(&["wait", "small.job/J-1", "--state", "TAKEN", "--timeout", "10m", "--json"])
        });
        std::thread::sleep(Duration::from_millis(300));
        ground.ask(&["claim", "small.job"]).says(0, &[]);
        wait.join().unwrap()
    });
    assert_eq!((waiting.code, &waiting.json()["state"]), (0, &json!("TAKEN")), "{waiting:?}");
    // An entity that has ended elsewhere does not get there any more.
    ground.ask(&["correct", "small.job/J-2", "--to", "FAILED", "--reason", "broken"]).says(0, &[]);
    ground.ask(&["wait", "small.job/J-2", "--state", "DONE"]).says(1, &["is FAILED", "it has ended"]);
}

#[test]
fn a_claim_waits_for_work() {
    let ground = small_jobs("claims");
    ground.ask(&["claim", "small.job", "--wait", "1s"]).says(1, &["you cannot claim any small.job now"]);
    let claimed = std::thread::scope(|scope| {
        let claim = scope.spawn(|| ground.ask(&["claim", "small.job", "--wait", "10m"]));
        std::thread::sleep(Duration::from_millis(300));
        ground.ask(&["new", "small.job", "--id", "J-1", "what=Paint"]).says(0, &[]);
        claim.join().unwrap()
    });
    claimed.says(0, &["small.job/J-1 OPEN → TAKEN", "fence 1"]);
}

#[test]
fn effects_are_taken_and_answered() {
    let ground = small_jobs("effects");
    ground.ask(&["effects", "list"]).says(0, &["no open effects"]);
    ground.ask(&["effects", "take"]).says(1, &["no effect to take"]);
    for id in ["J-1", "J-2"] {
        ground.ask(&["new", "small.job", "--id", id, "what=Paint"]).says(0, &[]);
        ground.ask(&["claim", "small.job"]).says(0, &[id]);
        ground.ask(&["fire", &format!("small.job/{id}"), "submit"]).says(0, &["MERGING"]);
    }
    ground.ask(&["effects", "list", "--kind", "merge"]).says(0, &["small.job/J-1", "small.job/J-2"]);
    let taken =
        ground.ask(&["effects", "take", "--entity", "small.job/J-1", "--lease", "15m", "--json"]).json();
    let (id, fence) = (taken["items"][0]["id"].to_string(), taken["items"][0]["fence"].to_string());
    assert_eq!(taken["items"][0]["with"], json!({ "job": "J-1" }));
    ground.ask(&["effects", "list"]).says(0, &["owner until "]);
    ground.ask(&["effects", "answer", &id, "--fence", "99"]).says(1, &["stale-fence"]);
    let done = ["effects", "answer", &id, "--fence", &fence, "branch=main", "--key", "a-1"];
    ground.ask(&done).says(0, &["recorded that it succeeded"]);
    ground.ask(&done).says(0, &["recorded that it succeeded"]);
    let shown = ground.ask(&["show", "small.job/J-1", "--json"]).json();
    assert_eq!((&shown["state"], &shown["fields"]["branch"]), (&json!("DONE"), &json!("main")));
    let taken = ground.ask(&["effects", "take"]);
    taken.says(0, &["merge of small.job/J-2, fence ", "job: J-2", "trackside effects answer "]);
    let answer = taken.messages.split_once("answer with: trackside ").unwrap().1.trim().to_owned();
    let words: Vec<&str> = answer.split(' ').chain(["--failed", "branch=x"]).collect();
    ground.ask(&words).says(0, &["that it failed"]);
    ground.ask(&["show", "small.job/J-2"]).says(0, &["FAILED"]);
    // Agents carry out no effects.
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["effects", "take"]).says(4, &["Effects are for systems"]);
}

#[test]
fn artifacts_are_stored_under_their_hash() {
    let ground = small_jobs("artifacts");
    let content = b"line\n\0\xff".as_slice();
    let file = ground.root.join("report.bin");
    std::fs::write(&file, content).unwrap();
    let stored = ground.ask(&["artifact", "put", file.to_str().unwrap()]);
    let id = stored.data.trim().to_owned();
    assert_eq!((stored.code, id.len()), (0, 64), "{stored:?}");
    let copy = ground.root.join("copy.bin");
    ground.ask(&["artifact", "get", &id, "--to", copy.to_str().unwrap()]).says(0, &["7 bytes written"]);
    assert_eq!(std::fs::read(&copy).unwrap(), content);
    ground.ask(&["artifact", "get", &id.replace(|_| true, "0"), "--to", "x"]).says(1, &["unknown-artifact"]);
    ground.ask(&["artifact", "put", "no-such-file"]).says(2, &["no such file"]);
}

#[test]
fn a_batch_prints_every_outcome() {
    let ground = small_jobs("batches");
    let file = ground.root.join("jobs.json");
    let commands = json!([
        { "lifecycle": "small.job", "id": "J-1", "fields": { "what": "Paint" } },
        { "lifecycle": "small.job", "id": "J-1", "event": "submit" },
        { "lifecycle": "small.job", "id": "J-1", "event": "take" },
    ]);
    std::fs::write(&file, commands.to_string()).unwrap();
    let file = file.to_str().unwrap();
    ground.ask(&["batch", file, "--atomic"]).says(1, &["batch-refused"]);
    ground.ask(&["show", "small.job/J-1"]).says(1, &["unknown-entity"]);
    ground.ask(&["batch", file, "--dry-run"]).says(1, &["nothing was changed"]);
    let done = ground.ask(&["batch", file]);
    done.says(1, &["small.job/J-1 created, OPEN", "2: refused: no-such-edge", "OPEN → TAKEN"]);
    std::fs::write(file, "{\"a\":1}").unwrap();
    ground.ask(&["batch", file]).says(2, &["write a list of commands"]);
    std::fs::write(file, "[").unwrap();
    ground.ask(&["batch", file]).says(2, &["this is not valid JSON"]);
}

#[test]
fn the_policy_answers_without_a_request() {
    let ground = ClientServer::start(scratch("policies"), "mission");
    let ask = |words: &[&str]| ground.ask(&[&["policy"], words, &["--role", "specialist"]].concat());
    ask(&["shell", "command=ls"]).says(0, &["allowed ("]);
    ask(&["shell", "command=sudo rm -rf /"]).says(1, &["("]);
    assert_eq!(ask(&["shell", "command=ls", "--json"]).json()["outcome"], "allow");
    ground.ask(&["approvals", "list"]).says(0, &["no open requests"]);
    ground.ask(&["alerts", "list", "--resolved"]).says(0, &["no alerts"]);
}

#[test]
fn a_refusal_says_how_to_get_the_role_and_which_shape_is_expected() {
    let ground = ClientServer::start(scratch("roles-and-shapes"), "mission");
    let ada = ground.token("ada", "agent", &["mission:specialist"]);
    let idle = ground.token("idle", "agent", &[]);
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=One"]).says(0, &[]);
    let assign = ["fire", "mission.task/T-1", "assign", "assigneeIds:=[\"ada\"]"];
    let refused = ground.ask_as(&idle, &assign);
    refused.says(4, &["not-permitted", "trackside token create idle --kind agent --role mission:"]);
    ground.ask(&assign).says(0, &[]);
    // A role alone would not help: the rule is about the entity.
    let refused = ground.ask_as(&ada, &["fire", "mission.task/T-1", "cancel"]);
    assert!(refused.code != 0, "{refused:?}");
    let refused =
        ground.ask_as(&ada, &["fire", "mission.task/T-1", "start", "workPlan:=[\"a\",\"b\",\"c\"]"]);
    refused.says(
        1,
        &[
            "Work plan needs 3 to 6 bullets: expected {\"bullets\": [text, … 3 to 6]",
            "for instance {\"bullets\": [\"text\", \"text\", \"text\"]}",
        ],
    );
    let refused =
        ground.ask_as(&ada, &["fire", "mission.task/T-1", "start", "workPlan:={\"bullets\":[\"a\"]}"]);
    refused.says(1, &["Work plan needs 3 to 6 bullets"]);
    assert!(!refused.messages.contains("expected {"), "a wrong number is no wrong shape: {refused:?}");
    let help = run_command(binary(&["approve"]));
    assert!(help.messages.contains("inbox approve"), "{help:?}");
}
