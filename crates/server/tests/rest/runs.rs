//! Runs of agents, and their transcripts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, each, refused, until, why};

/// A runner that is registered, with its agent.
fn runner(ground: &RestServer, id: &str) -> Client {
    let runner = ground.actor(json!({
        "actor": id, "kind": "system", "roles": ["fleet:agent_runner", "coding:coder"], "for": ["coder-1"]
    }));
    runner.post("/v1/entities/fleet.runner", &json!({ "id": id, "fields": { "machine": "mars" } })).unwrap();
    runner
}

/// A run that has started.
fn start(runner: &Client, id: &str, host: &str, more: Json) {
    let mut fields =
        json!({ "agent": "coder-1", "role": "coding:coder", "runner": host, "adapter": "claude" });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    runner
        .post("/v1/entities/fleet.run", &json!({ "id": id, "fields": fields }))
        .unwrap_or_else(|it| panic!("{it:#?}"));
    fire(runner, id, "started", json!({}));
}

fn fire(client: &Client, id: &str, event: &str, fields: Json) -> Json {
    let asked = json!({ "event": event, "fields": fields });
    let path = format!("/v1/entities/fleet.run/{id}/transitions");
    client.post(&path, &asked).unwrap_or_else(|it| panic!("{it:#?}")).body
}

fn line(number: u64, text: &str) -> Json {
    json!({ "number": number, "at": 5, "kind": "message", "text": text })
}

fn lines(all: &[Json]) -> Json {
    json!({ "generation": 1, "lines": all })
}

fn texts(page: &Json) -> Vec<&str> {
    each(page, "text")
}

/// A lifecycle that only admins read, with an entity.
fn safe(ground: &RestServer) {
    let safe = "lifecycle: bank.safe\nabout: A safe.\nread: human && admin\ncreate: { by: human }\nstates: { SHUT: { initial: true }, OPEN: {} }\n\
        transitions: { open: { from: SHUT, to: OPEN, by: human }, shut: { from: OPEN, to: SHUT, by: human } }\n";
    let pack = json!({ "files": { "pack.yaml": "pack: bank\nversion: 1\nabout: A bank.\n", "lifecycles/safe.yaml": safe } });
    ground.owner.put("/v1/packs/bank", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground.owner.post("/v1/entities/bank.safe", &json!({ "id": "S-1" })).unwrap();
}

#[test]
fn runs_and_transcripts_are_for_those_who_may_see_the_entity() {
    let ground = RestServer::new();
    safe(&ground);
    let host = runner(&ground, "host-1");
    let (pia, other) = (ground.person("pia"), runner(&ground, "host-2"));
    let agent = ground.agent("coder-1", "coding:coder");
    let stranger = ground.agent("ada", "coding:coder");
    // The id of a runner is not enough.
    let namesake = ground.agent("host-1", "coding:coder");
    start(&host, "R1", "host-1", json!({ "entity": "bank.safe/S-1" }));
    start(&host, "R2", "host-1", json!({ "entity": "coding.task/T-9" }));
    let transcript = "/v1/runs/R1/transcript";
    host.post(transcript, &lines(&[line(1, "the code is 4711")])).unwrap();
    for client in [&ground.owner, &host, &agent] {
        let run = client.get("/v1/runs/R1").unwrap().body;
        assert_eq!((&run["entity"], &run["adapter"]), (&json!("bank.safe/S-1"), &json!("claude")));
        assert_eq!(texts(&client.get(transcript).unwrap().body), ["the code is 4711"]);
        assert_eq!(each(&client.get("/v1/runs?runner=host-1&state=open").unwrap().body, "id")[0], "R1");
    }
    for client in [&pia, &other, &stranger, &namesake] {
        for path in ["/v1/runs/R1", transcript, "/v1/runs/R1/verdict"] {
            assert_eq!(why(client.get(path)).0, 404, "{path}");
        }
        assert_eq!(why(client.post("/v1/runs/R1/steer", &json!({ "text": "x" }))).0, 404);
        assert_eq!(why(client.post("/v1/runs/R1/apply", &json!({ "action": "done" }))).0, 404);
        for path in ["/v1/runs/R1/stop", transcript] {
            assert_eq!(why(client.post(path, &lines(&[]))).0, if path == transcript { 404 } else { 400 });
        }
        assert_eq!(why(client.post("/v1/runs/R1/stop", &json!({}))).0, 404);
        assert!(!each(&client.get("/v1/runs?agent=coder-1").unwrap().body, "id").contains(&"R1"));
        // Nor through the routes of every entity.
        let record = "/v1/entities/fleet.run/R1";
        for path in [record.to_owned(), format!("{record}/explain"), format!("{record}/history")] {
            assert_eq!(why(client.get(&path)).0, 404, "{path}");
        }
        let stop = json!({ "event": "stop" });
        assert_eq!(why(client.post(&format!("{record}/transitions"), &stop)).0, 404);
        for list in ["fleet.run", "fleet.work"] {
            let listed = client.get(&format!("/v1/entities/{list}?limit=200")).unwrap().body;
            assert!(!listed.to_string().contains("bank.safe"), "{listed:#}");
        }
    }
    for client in [&ground.owner, &host, &agent] {
        assert_eq!(
            client.get("/v1/entities/fleet.run/R1").unwrap().body["fields"]["entity"],
            "bank.safe/S-1"
        );
    }
    let listed = pia.get("/v1/entities/fleet.run").unwrap().body;
    assert_eq!(each(&listed, "id"), ["R2"], "what she may see is listed");
    let journal = pia.get("/v1/journal?limit=200").unwrap().body;
    assert!(!journal.to_string().contains("bank.safe"), "{journal:#}");
    // Those who see a transcript do not write it.
    for client in [&ground.owner, &agent] {
        assert_eq!(why(client.post(transcript, &lines(&[line(2, "x")]))), (403, "not-permitted".to_owned()));
    }
    let stale = json!({ "generation": 7, "lines": [line(2, "x")] });
    assert_eq!(why(host.post(transcript, &stale)).0, 403);
    assert_eq!(texts(&host.get(transcript).unwrap().body), ["the code is 4711"]);
    assert_eq!(why(ground.owner.get("/v1/runs?entty=x")).0, 400);
    assert_eq!(why(ground.owner.get("/v1/runs/R1/transcript?from=1")).0, 400);
    assert_eq!(why(ground.owner.get("/v1/runs/R9")).0, 404);
    assert_eq!(each(&ground.owner.get("/v1/runs?entity=bank.safe/S-1").unwrap().body, "id"), ["R1"]);
    let page = ground.owner.get("/v1/runs?limit=1").unwrap().body;
    let next = page["nextCursor"].as_str().unwrap();
    let page = ground.owner.get(&format!("/v1/runs?limit=1&cursor={next}")).unwrap().body;
    assert_eq!((each(&page, "id"), &page["nextCursor"]), (vec!["R2"], &Json::Null));
}

#[test]
fn a_transcript_has_no_gaps_no_keys_and_survives_a_crash() {
    let ground = RestServer::new();
    let host = runner(&ground, "host-1");
    start(&host, "R1", "host-1", json!({}));
    let path = "/v1/runs/R1/transcript";
    let key = format!("sk-ant-{}", "a1".repeat(20));
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let sent = lines(&[line(1, "hello"), line(2, &format!("key {key}\n{} end", token.trim()))]);
    assert_eq!(host.post(path, &sent).unwrap().body, json!({ "next": 3 }));
    assert_eq!(host.post(path, &sent).unwrap().body, json!({ "next": 3 }));
    let gap = refused(host.post(path, &lines(&[line(5, "x")])));
    assert_eq!((gap.status, gap.code.as_str()), (409, "transcript-gap"));
    assert_eq!(gap.errors[0].saw["next"], json!(3));
    let long = "x".repeat(300 << 10);
    assert_eq!(why(host.post(path, &lines(&[line(3, &long)]))), (413, "too-large".to_owned()));

    let ground = ground.restarted_after(|data| {
        let file = data.join("transcripts/R1/000001.jsonl");
        let stored = std::fs::read_to_string(&file).unwrap();
        assert!(!stored.contains(&key) && !stored.contains(token.trim()), "{stored}");
        assert!(stored.contains("sk-ant-[redacted]") && stored.contains("ts_[redacted]"), "{stored}");
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        file.write_all(b"{\"number\":3,\"at\":5,\"kind\":\"mess").unwrap();
    });
    let host = ground.actor(json!({ "actor": "host-1", "kind": "system", "roles": ["fleet:agent_runner"] }));
    assert_eq!(host.post(path, &lines(&[line(3, "After the Crash")])).unwrap().body, json!({ "next": 4 }));
    let page = ground.owner.get(&format!("{path}?after=1&limit=1")).unwrap().body;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["nextCursor"]), (1, &json!("2")));
    assert_eq!(texts(&ground.owner.get(&format!("{path}?after=2")).unwrap().body), ["After the Crash"]);
    assert_eq!(texts(&ground.owner.get(&format!("{path}?q=the%20crash")).unwrap().body), ["After the Crash"]);

    // The settings bound one transcript.
    ground.owner.put("/v1/settings/fleet", &json!({ "transcriptBytes": 1_048_576 })).unwrap();
    let much = "y".repeat(250 << 10);
    let sent: Vec<Json> = (4..9).map(|number| line(number, &much)).collect();
    let full = refused(host.post(path, &lines(&sent)));
    assert!(full.status == 413 && full.detail.contains("transcriptBytes"), "{full:?}");

    // Retention follows project time.
    fire(&host, "R1", "ended", json!({ "exitClass": "ok", "lines": 3 }));
    let folder = ground.data.join("transcripts/R1");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "29d" })).unwrap();
    assert!(folder.exists());
    ground.owner.post("/v1/clock/advance", &json!({ "by": "2d" })).unwrap();
    until(|| !folder.exists());
    assert_eq!(ground.owner.get(path).unwrap().body["items"], json!([]));
}

#[test]
fn a_transcript_is_followed_until_the_run_has_ended() {
    let ground = RestServer::new();
    let host = runner(&ground, "host-1");
    start(&host, "R1", "host-1", json!({}));
    let path = "/v1/runs/R1/transcript";
    host.post(path, &lines(&[line(1, "one"), line(2, "two")])).unwrap();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let mut stream = TcpStream::connect(ground.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(
        stream,
        "GET {path}?after=1 HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nAuthorization: Bearer {}\r\n\r\n",
        ground.address,
        token.trim()
    )
    .unwrap();
    let mut heard = BufReader::new(stream).lines().map_while(Result::ok);
    let mut next = |begin: &str| heard.find_map(|it| it.strip_prefix(begin).map(str::to_owned)).unwrap();
    assert_eq!(next("id: "), "2");
    host.post(path, &lines(&[line(3, "three")])).unwrap();
    assert_eq!(next("id: "), "3");
    host.post(path, &lines(&[line(4, "four")])).unwrap();
    fire(&host, "R1", "ended", json!({ "exitClass": "crash", "lines": 4 }));
    assert_eq!(next("id: "), "4");
    assert_eq!(next("event: "), "end");
    let end: Json = serde_json::from_str(&next("data: ")).unwrap();
    assert_eq!((&end["id"], &end["exitClass"]), (&json!("R1"), &json!("crash")));
    // A client that reconnects with any number gets an answer.
    let last = |number: &str| {
        let head = "Accept: text/event-stream\r\nLast-Event-ID";
        let head =
            format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {}\r\n{head}: {number}", token.trim());
        let answer = ground.raw(&head, b"");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let (status, heard) = last(&u64::MAX.to_string());
    assert!(status == 200 && heard.contains("event: end") && !heard.contains("id: "), "{status} {heard}");
    assert_eq!(last("four").0, 400);
}

#[test]
fn a_stream_of_a_transcript_ends_with_its_token() {
    let ground = RestServer::new();
    let host = runner(&ground, "host-1");
    start(&host, "R1", "host-1", json!({}));
    let path = "/v1/runs/R1/transcript";
    host.post(path, &lines(&[line(1, "one")])).unwrap();
    let body = json!({ "actor": "olga", "kind": "human", "roles": ["admin"] });
    let made = ground.owner.post("/v1/tokens", &body).unwrap().body;
    let olga = ground.client(made["token"].as_str().unwrap());
    let stream = olga.stream(path).unwrap();
    let (told, heard) = channel();
    std::thread::spawn(move || stream.lines().map_while(Result::ok).try_for_each(|it| told.send(it)));
    while heard.recv_timeout(Duration::from_secs(60)).unwrap() != "id: 1" {}
    ground.owner.delete(&format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap())).unwrap();
    host.post(path, &lines(&[line(2, "two")])).unwrap();
    let mut rest = String::new();
    while let Ok(line) = heard.recv_timeout(Duration::from_secs(60)) {
        rest.push_str(&line);
        assert!(!rest.contains("two"), "{rest}");
    }
    assert_eq!(heard.try_recv(), Err(TryRecvError::Disconnected), "the stream has ended: {rest}");
}

#[test]
fn a_run_is_stopped_steered_and_judged_by_its_pack() {
    let ground = RestServer::new();
    let (host, pia) = (runner(&ground, "host-1"), ground.person("pia"));
    let agent = ground.agent("coder-1", "coding:coder");
    start(&host, "R1", "host-1", json!({ "restarts": 1 }));
    let steer = json!({ "text": "Use the other branch", "mode": "interrupt" });
    pia.post("/v1/runs/R1/steer", &steer).unwrap();
    pia.post("/v1/runs/R1/steer", &json!({ "text": "And then test" })).unwrap();
    assert_eq!(why(agent.post("/v1/runs/R1/steer", &steer)), (403, "not-permitted".to_owned()));
    assert_eq!(why(pia.post("/v1/runs/R1/steer", &json!({ "text": "x", "mode": "shout" }))).0, 422);
    let messages = host.get("/v1/runs/R1").unwrap().body["messages"].clone();
    let brief = |it: &Json| (it["number"].as_u64(), it["mode"].as_str().map(str::to_owned));
    let brief: Vec<_> = messages.as_array().unwrap().iter().map(brief).collect();
    assert_eq!(brief, [(Some(1), Some("interrupt".to_owned())), (Some(2), Some("queue".to_owned()))]);
    fire(&host, "R1", "report", json!({ "delivered": 1 }));
    assert_eq!(host.get("/v1/runs/R1").unwrap().body["messages"][0]["number"], json!(2));

    assert_eq!(why(host.get("/v1/runs/R1/verdict")), (422, "not-yet".to_owned()));
    pia.post("/v1/runs/R1/stop", &json!({ "reason": "wrong branch" })).unwrap();
    assert_eq!(host.get("/v1/runs/R1").unwrap().body["stopReason"], json!("wrong branch"));
    fire(&host, "R1", "ended", json!({ "exitClass": "killed", "exitCode": 42 }));
    let verdict = |more: &str| host.get(&format!("/v1/runs/R1/verdict{more}")).unwrap().body;
    // The second restart, by the delays of the pack.
    let again = verdict("");
    assert_eq!((&again["act"], &again["why"]), (&json!("restart"), &json!("exit code 42")));
    assert!(again["after"].as_f64() >= Some(2.0), "{again}");
    assert_eq!(verdict("?code=0")["act"], json!("stop"));
    assert_eq!(why(host.get("/v1/runs/R1/verdict?waited=-1")).0, 400);
    ground.owner.put("/v1/settings/coding", &json!({ "max_reruns": 5 })).unwrap();
    start(&host, "R2", "host-1", json!({ "restarts": 1, "reruns": 5, "entity": "coding.task/T-1" }));
    fire(&host, "R2", "ended", json!({ "exitClass": "crash", "exitCode": 1 }));
    let gives_up = host.get("/v1/runs/R2/verdict").unwrap().body;
    assert_eq!(gives_up["act"], json!("giveUp"));
    assert_eq!(gives_up["fire"]["event"], json!("block"));
}

#[test]
fn runs_appear_in_explain_history_and_metrics() {
    let ground = RestServer::new();
    let host = runner(&ground, "host-1");
    let task = json!({ "id": "T-1", "fields": { "title": "A task" } });
    ground.owner.post("/v1/entities/mission.task", &task).unwrap();
    let of = json!({ "entity": "mission.task/T-1", "account": "claude-max" });
    start(&host, "R1", "host-1", of.clone());
    fire(&host, "R1", "ended", json!({ "exitClass": "quota", "input": 100, "output": 7, "cost": 0.5 }));
    start(&host, "R2", "host-1", of.clone());
    let until = "2026-01-01T05:00:00Z";
    let held = json!({ "id": "claude-max", "fields": { "heldUntil": until, "why": "5-hour limit" } });
    host.post("/v1/entities/fleet.account", &held).unwrap();
    let entity = "/v1/entities/mission.task/T-1";
    let told = ground.owner.get(&format!("{entity}/explain")).unwrap().body;
    assert_eq!(each(&json!({ "items": told["runs"] }), "id"), ["R2"]);
    assert_eq!(told["holds"], json!([{ "account": "claude-max", "until": until, "why": "5-hour limit" }]));
    assert!(told["summary"].as_str().unwrap().contains("Account claude-max is held until"), "{told}");
    let history = ground.owner.get(&format!("{entity}/history?runs=true")).unwrap().body;
    assert_eq!(each(&json!({ "items": history["runs"] }), "id"), ["R1", "R2"]);
    assert!(ground.owner.get(&format!("{entity}/history")).unwrap().body.get("runs").is_none());

    // A held account starts no run, and the refusal names the time.
    let asked = json!({ "id": "R3", "fields": { "agent": "coder-1", "runner": "host-1", "adapter": "claude", "account": "claude-max" } });
    let problem = refused(host.post("/v1/entities/fleet.run", &asked));
    assert_eq!(problem.errors[0].field.as_deref(), Some("account"));
    assert!(problem.errors[0].message.contains(until), "{problem:#?}");
    // Nor does an entity that has had too many.
    ground.owner.put("/v1/settings/fleet", &json!({ "maxRuns": 2 })).unwrap();
    let asked = json!({ "id": "R3", "fields": { "agent": "coder-1", "runner": "host-1", "adapter": "claude", "entity": "mission.task/T-1" } });
    let problem = refused(host.post("/v1/entities/fleet.run", &asked));
    assert_eq!(problem.errors[0].field.as_deref(), Some("entity"), "{problem:#?}");
    assert!(problem.errors[0].message.contains("has had 2 runs"), "{problem:#?}");

    let page = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    for wanted in [
        "trackside_runs_open 1",
        "trackside_runs_total{adapter=\"claude\",class=\"quota\"} 1",
        "trackside_run_tokens_total{adapter=\"claude\",kind=\"input\"} 100",
        "trackside_run_cost_dollars_total{adapter=\"claude\"} 0.5",
    ] {
        assert!(page.lines().any(|it| it == wanted), "{wanted}");
    }
    // The resources of open runs, as the runner sampled them.
    fire(&host, "R2", "report", json!({ "processor": 1_500, "memory": 64 << 20 }));
    let stats = ground.owner.get("/v1/stats?lifecycle=mission.task").unwrap().body;
    assert_eq!(stats["runs"], json!({ "open": 1, "processor": 1_500, "memory": 64 << 20 }));
    let stats = ground.owner.get("/v1/stats?lifecycle=fleet.run").unwrap().body;
    assert_eq!(stats["states"].as_object().unwrap().values().filter_map(Json::as_u64).sum::<u64>(), 2);
}

#[test]
fn a_batch_carries_heartbeats_and_acts_for_each_agent() {
    let ground = RestServer::new();
    let host = runner(&ground, "host-1");
    start(&host, "R1", "host-1", json!({}));
    let batch = json!({ "commands": [
        { "lifecycle": "fleet.runner", "id": "host-1", "heartbeat": { "fence": 1 } },
        { "lifecycle": "fleet.run", "id": "R1", "event": "report", "fields": { "output": 5 } },
        { "lifecycle": "fleet.run", "id": "R1", "event": "report", "fields": { "output": 6 }, "for": "coder-1" },
        { "lifecycle": "fleet.runner", "id": "host-1", "heartbeat": { "fence": 9 } },
        { "lifecycle": "fleet.runner", "id": "host-1", "heartbeat": {}, "for": "coder-2" },
        { "lifecycle": "fleet.runner", "heartbeat": {} },
    ] });
    let reply = host.post("/v1/batch", &batch).unwrap().body;
    let results = reply["results"].as_array().unwrap();
    assert_eq!(results[0]["fence"], json!(1), "{reply:#}");
    assert!(results[0]["expiresAt"].is_string());
    assert_eq!(results[1]["entity"]["fields"]["output"], json!(5));
    // For the agent, the runner is not the runner of the run.
    assert_eq!(results[2]["code"], json!("not-permitted"));
    assert_eq!(results[3]["code"], json!("stale-fence"));
    assert_eq!(results[4]["code"], json!("not-permitted"));
    assert_eq!(results[5]["code"], json!("invalid-body"));
}
