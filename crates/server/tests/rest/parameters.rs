//! Query parameters, bodies and headers that a route does not have are refused, on every route.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use trackside_protocol::ProblemCode;

use crate::ground::{RestServer, refused};

fn bearer(ground: &RestServer) -> String {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    format!("Authorization: Bearer {}", token.trim())
}

/// Every operation of the document: method, path pattern, and its description.
fn operations(ground: &RestServer) -> Vec<(String, String, Json)> {
    let document = ground.owner.get("/openapi.json").unwrap().body;
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    assert!(all.len() > 60, "{}", all.len());
    all
}

/// The names of the query parameters of an operation.
fn parameters(operation: &Json) -> BTreeSet<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let query = all.filter(|it| it["in"] == "query");
    query.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// A path with values for its placeholders.
fn filled(path: &str) -> String {
    let words = [
        ("{lifecycle}", "mission.task"),
        ("{pack}", "coding"),
        ("{name}", "reviewable"),
        ("{sha256}", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
        ("{id}", "1"),
    ];
    words.iter().fold(path.to_owned(), |path, (from, to)| path.replace(from, to))
}

#[test]
fn every_route_refuses_parameters_that_it_does_not_have() {
    let ground = RestServer::new();
    let bearer = bearer(&ground);
    let last = || ground.owner.get("/readyz").unwrap().body["seq"].as_u64();
    let before = last();
    let mut dry = BTreeSet::new();
    for (method, path, operation) in operations(&ground) {
        let known = parameters(&operation);
        for (name, value) in [("nonsense", "1"), ("dryRun", "true"), ("dryrun", "true")] {
            if known.contains(name) {
                dry.insert(format!("{method} {path}"));
                continue;
            }
            let head = format!(
                "{method} {}?{name}={value} HTTP/1.1\r\nContent-Type: application/json\r\n{bearer}",
                filled(&path)
            );
            let answer = ground.raw(&head, b"");
            let problem: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
            assert_eq!(
                (answer.status, &problem["code"]),
                (400, &json!("invalid-parameter")),
                "{head}: {problem}"
            );
            assert_eq!(problem["errors"][0]["field"], name, "{head}");
            let detail = problem["detail"].as_str().unwrap();
            let is_listed = |it: &&String| *it != "parameters" && !detail.contains(it.as_str());
            assert_eq!(known.iter().find(is_listed), None, "{head}: {detail}");
            if name == "dryrun" && known.contains("dryRun") {
                assert!(detail.contains("Did you mean dryRun?"), "{detail}");
            }
        }
    }
    assert_eq!(last(), before, "a refused request changes nothing");
    let expected = [
        "POST /v1/approvals/{id}/decision",
        "POST /v1/batch",
        "POST /v1/entities/{lifecycle}",
        "POST /v1/entities/{lifecycle}/claim",
        "POST /v1/entities/{lifecycle}/{id}/correct",
        "POST /v1/entities/{lifecycle}/{id}/transitions",
        "POST /v1/import",
        "POST /v1/migrations",
        "POST /v1/redactions",
        "PUT /v1/settings",
        "PUT /v1/settings/{pack}",
    ];
    assert_eq!(dry.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    for page in ["/", "/openapi.json"] {
        assert_eq!(
            ground.raw(&format!("GET {page}?nonsense=1 HTTP/1.1\r\n{bearer}"), b"").status,
            400,
            "{page}"
        );
    }
    let stranger = ground.raw("GET /v1/whoami?nonsense=1 HTTP/1.1", b"");
    assert_eq!(stranger.status, 401, "without a token the parameters do not matter");
}

#[test]
fn a_route_without_a_body_refuses_one() {
    let ground = RestServer::new();
    let bearer = bearer(&ground);
    let mut seen = Vec::new();
    for (method, path, operation) in operations(&ground) {
        if method == "GET" || operation.get("requestBody").is_some() {
            continue;
        }
        let head =
            format!("{method} {} HTTP/1.1\r\nContent-Type: application/json\r\n{bearer}", filled(&path));
        let answer = ground.raw(&head, br#"{"deep":true}"#);
        let problem: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        assert_eq!((answer.status, &problem["code"]), (400, &json!("invalid-body")), "{head}: {problem}");
        seen.push(path);
    }
    assert!(seen.contains(&"/v1/sweep".to_owned()), "{seen:?}");
    for body in ["", "{}", " { } ", "null"] {
        let head = format!("POST /v1/sweep HTTP/1.1\r\nContent-Type: application/json\r\n{bearer}");
        assert_eq!(ground.raw(&head, body.as_bytes()).status, 200, "{body}");
    }
}

#[test]
fn a_dry_run_changes_nothing_and_shows_what_would_follow() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let last = || owner.get("/readyz").unwrap().body["seq"].as_u64();
    let task = json!({ "id": "T-1", "fields": { "title": "Find the way", "assigneeIds": ["ada"] } });
    owner.post("/v1/entities/mission.task", &task).unwrap();
    let before = last();
    let path = "/v1/entities/mission.task/T-1";
    let corrected = json!({ "fields": { "title": "Changed" }, "reason": "a trial" });
    let answer = owner.post(&format!("{path}/correct?dryRun=true"), &corrected).unwrap().body;
    assert_eq!(
        (&answer["dryRun"], &answer["transition"]["event"]),
        (&json!(true), &json!("STATE_CORRECTED"))
    );
    let follows: Vec<&str> =
        answer["consequences"].as_array().unwrap().iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert!(follows.contains(&"ALERT_RAISED"), "{follows:?}");
    let settings =
        owner.put("/v1/settings/coding?dryRun=true", &json!({ "lease_duration": "20m" })).unwrap().body;
    let shown =
        settings["items"].as_array().unwrap().iter().find(|it| it["name"] == "lease_duration").unwrap();
    assert_eq!((&shown["value"], &shown["origin"]), (&json!("20m"), &json!("project")));
    assert_eq!(
        refused(owner.put("/v1/settings/coding?dryRun=true", &json!({ "lease_duration": 1 }))).status,
        422
    );
    owner.put("/v1/settings?dryRun=true", &json!({ "zone": "Europe/Berlin" })).unwrap();
    assert_eq!(last(), before, "nothing was written");
    let ada = ground.agent("ada", "mission:specialist");
    let before = last();
    let claim = ada.post("/v1/entities/mission.task/claim?dryRun=true", &json!({})).unwrap().body;
    assert_eq!((&claim["dryRun"], &claim["entity"]["id"]), (&json!(true), &json!("T-1")), "{claim:#}");
    assert_eq!(owner.get(path).unwrap().body["state"], "INBOX");
    assert_eq!(owner.get(path).unwrap().body["fields"]["title"], "Find the way");
    assert_eq!(last(), before, "nothing was written");
    assert_eq!(owner.get("/v1/settings").unwrap().body["zone"], "");
}

#[test]
fn a_dry_run_of_a_batch_decides_each_command_on_top_of_those_before() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let last = || owner.get("/readyz").unwrap().body["seq"].as_u64();
    let before = last();
    let create = |id: &str| json!({ "lifecycle": "mission.task", "id": id, "fields": { "title": "Try it" } });
    let fire = |id: &str, event: &str, fields: Json| json!({ "lifecycle": "mission.task", "id": id, "event": event, "fields": fields });
    let commands = [
        create("T-1"),
        fire("T-1", "assign", json!({ "assigneeIds": ["ada"] })),
        create("T-1"),
        fire("T-1", "escalate", json!({ "justification": "A person decides" })),
        fire("T-9", "assign", json!({})),
        json!({ "lifecycle": "mission.task", "event": "assign" }),
    ];
    let each = json!({ "commands": commands });
    let tried = owner.post("/v1/batch?dryRun=true", &each).unwrap().body;
    let statuses = |it: &Json| {
        it["results"].as_array().unwrap().iter().map(|it| it["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(last(), before, "nothing was written");
    let real = owner.post("/v1/batch", &each).unwrap().body;
    assert_eq!(statuses(&tried), statuses(&real), "{tried:#}");
    assert_eq!(statuses(&tried), [201, 200, 409, 200, 404, 400]);
    let results = tried["results"].as_array().unwrap();
    assert_eq!(results[1]["dryRun"], json!(true));
    assert_eq!(results[1]["transition"]["to"], json!("ASSIGNED"), "{:#}", results[1]);
    let follows = results[3]["consequences"].as_array().unwrap();
    assert!(
        follows.iter().any(|it| it["lifecycle"] == "mission.approval" && it["to"] == "PENDING"),
        "{follows:#?}"
    );

    let after = last();
    let all = |commands: &[Json]| {
        owner.post("/v1/batch?dryRun=true", &json!({ "atomic": true, "commands": commands }))
    };
    let fine = all(&[create("T-2"), create("T-3")]).unwrap().body;
    assert_eq!(statuses(&fine), [201, 201]);
    let problem = refused(all(&[create("T-2"), create("T-2")]));
    assert_eq!((problem.status, problem.has_code(ProblemCode::BatchRefused)), (422, true));
    assert_eq!(last(), after, "nothing was written");
}

#[test]
fn a_page_is_1_to_200_items_everywhere() {
    let ground = RestServer::new();
    let mut seen = 0;
    for (method, path, operation) in operations(&ground) {
        if method != "GET" || !parameters(&operation).contains("limit") {
            continue;
        }
        for limit in ["0", "201", "1000"] {
            let problem = refused(ground.owner.get(&format!("{}?limit={limit}", filled(&path))));
            assert_eq!(
                (problem.status, problem.detail.as_str()),
                (400, "limit must be 1 to 200"),
                "{path} {limit}"
            );
        }
        let described =
            operation["parameters"].as_array().unwrap().iter().find(|it| it["name"] == "limit").unwrap();
        assert_eq!(described["schema"]["maximum"], 200, "{path}");
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn an_idempotency_key_has_no_blanks() {
    let ground = RestServer::new();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nContent-Type: application/json\r\nIdempotency-Key: a b\r\n{}",
        bearer(&ground)
    );
    let answer = ground.raw(&head, br#"{"fields":{"title":"A"}}"#);
    let problem: Json = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (answer.status, &problem["errors"][0]["field"]),
        (400, &json!("Idempotency-Key")),
        "{problem}"
    );
}

#[test]
fn an_unknown_query_is_404_and_the_nearest_is_named() {
    let ground = RestServer::new();
    let problem = refused(ground.owner.get("/v1/queries/coding/reviewble"));
    assert_eq!((problem.status, problem.code.as_str()), (404, "unknown-query"));
    assert!(problem.detail.contains("Did you mean reviewable?"), "{}", problem.detail);
    let problem = refused(ground.owner.get("/v1/queries/coding/nonsense"));
    assert!(problem.status == 404 && problem.detail.contains("reviewable"), "{}", problem.detail);
    assert_eq!(refused(ground.owner.get("/v1/queries/codin/reviewable")).status, 404);
}
