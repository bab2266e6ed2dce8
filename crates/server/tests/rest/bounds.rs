//! Rate limits, request ids and early answers.

use serde_json::json;
use trackside_server::ServerLimits;

use crate::ground::{RestServer, refused, why};

#[test]
fn a_token_has_a_rate_of_its_own() {
    let ground = RestServer::with(ServerLimits { rate: 5, ..ServerLimits::default() });
    let pia = ground.person("pia");
    let refused = (0..40).filter(|_| pia.get("/v1/whoami").is_err()).count();
    assert!((20..40).contains(&refused), "{refused} of 40 were refused");
    assert_eq!(why(pia.get("/v1/whoami")), (429, "rate-limited".to_owned()));
    // Other callers are not affected.
    assert_eq!(ground.owner.get("/v1/whoami").unwrap().status, 200);

    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let asked = format!("GET /v1/whoami HTTP/1.1\r\nAuthorization: Bearer {}", token.trim());
    let answers: Vec<_> = (0..10).map(|_| ground.raw(&asked, b"")).collect();
    let last = answers.iter().find(|it| it.status == 429).expect("too many");
    assert_eq!(last.header("retry-after"), Some("1"));
}

#[test]
fn every_answer_has_a_request_id() {
    let ground = RestServer::new();
    let named = ground.raw("GET /healthz HTTP/1.1\r\nX-Request-Id: run-7.step_3", b"");
    assert_eq!((named.status, named.header("x-request-id")), (200, Some("run-7.step_3")));
    let mut seen = Vec::new();
    let long = format!("GET /nowhere HTTP/1.1\r\nX-Request-Id: {}", "a".repeat(129));
    for head in ["GET /v1/whoami HTTP/1.1", "GET /healthz HTTP/1.1\r\nX-Request-Id: <b>", &long] {
        let answer = ground.raw(head, b"");
        let id = answer.header("x-request-id").expect("a name").to_owned();
        assert_eq!(id.len(), 16, "{id}");
        seen.push(id);
    }
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn an_early_rejection_is_still_answered() {
    let ground = RestServer::new();
    let stranger = ground.client("ts_000000000000_0");
    // The server does not read this body: the connection must still work for the next request.
    let body = serde_json::json!({ "fields": { "title": "a".repeat(20_000) } });
    for _ in 0..200 {
        assert_eq!(why(stranger.post("/v1/entities/mission.task", &body)), (401, "unauthorized".to_owned()));
        assert_eq!(why(stranger.put("/v1/nowhere", &body)), (404, "unknown-route".to_owned()));
    }
}

#[test]
fn unreadable_requests_get_a_problem_document() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    for (head, status) in [
        (format!("GET /v1/entities/%FF HTTP/1.1\r\n{bearer}"), 400),
        (format!("GET /v1/entities/mission.task?limit=x HTTP/1.1\r\n{bearer}"), 400),
        (format!("DELETE /v1/whoami HTTP/1.1\r\n{bearer}"), 405),
        (format!("GET /v1/nowhere HTTP/1.1\r\n{bearer}"), 404),
        ("GET /sign-in?link HTTP/1.1".to_owned(), 401),
    ] {
        let answer = ground.raw(&head, b"");
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{head}");
        let problem: trackside_protocol::Problem = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(problem.status, status);
    }
}

#[test]
fn the_document_is_for_those_with_a_token() {
    let ground = RestServer::new();
    assert_eq!(ground.raw("GET /openapi.json HTTP/1.1", b"").status, 401);
    assert_eq!(ground.owner.get("/openapi.json").unwrap().body["openapi"], "3.1.0");
}

#[test]
fn the_clock_is_not_moved_through_centuries_by_a_slip() {
    let ground = RestServer::new();
    let advance = |how: serde_json::Value| ground.owner.post("/v1/clock/advance", &how);
    let now = || ground.owner.get("/v1/clock").unwrap().body["now"].clone();
    let before = now();
    for slip in [json!({ "by": "401d" }), json!({ "by": "544000d" }), json!({ "to": "3516-01-01T00:00:00Z" })]
    {
        let problem = refused(advance(slip));
        assert_eq!((problem.status, problem.code.as_str()), (422, "too-far"));
        assert!(problem.detail.contains("at most 400d at once, to 2027-02-05T00:00:00"), "{problem:?}");
    }
    assert_eq!(now(), before);
    advance(json!({ "by": "399d" })).unwrap();
    advance(json!({ "by": "2d" })).unwrap();
}

#[test]
fn a_key_that_is_there_twice_and_an_integer_that_loses_digits_are_refused() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json",
        token.trim()
    );
    for (body, words) in [
        (r#"{"fields":{"title":"a","title":"b"}}"#, r#"\"title\" is there twice in \"fields\""#),
        (r#"{"fields":{"title":"a","priority":9223372036854775808}}"#, "9223372036854775808 is outside"),
        (r#"{"fields":{"title":"a"},"id":"T-1","id":"T-2"}"#, "duplicate field"),
    ] {
        let answer = ground.raw(&head, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}");
        let said = String::from_utf8_lossy(&answer.body);
        assert!(said.contains(words), "{body}: {said}");
    }
}
