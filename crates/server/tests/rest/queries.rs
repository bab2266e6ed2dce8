//! Named queries have pages, like every list.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, each, refused, why};

const ROW: &str = "\
lifecycle: shelf.book
about: A book.
fields: { place: { type: integer, default: 0 }, pages: { type: integer, default: 0 } }
create: { by: human, takes: [place] }
states: { HERE: { initial: true }, GONE: { final: true, outcome: success } }
transitions: { read_on: { from: HERE, by: human, takes: [pages] }, lose: { from: HERE, to: GONE, by: human } }
log:
  when: it.to != null
  line: { when: it.timestamp, what: it.event.lowerAscii(), book: id, was: it.from, is: it.to, page: pages }
";

fn ground() -> RestServer {
    let ground = RestServer::new();
    let pack = "pack: shelf\nversion: 1\nabout: A shelf.\nqueries:\n  \
        byPlace: { of: shelf.book, order: [-place] }\n  \
        story: { of: shelf.book, takes: { book: { type: string } }, history: ask.book }\n  \
        moves: { of: shelf.book, takes: { book: { type: string }, all: { type: boolean } }, history: ask.book, \
        where: 'ask.all == true || it.from != null' }\n  \
        steps: { of: shelf.book, takes: { book: { type: string } }, history: ask.book, where: 'it.to != null', \
        line: { toState: it.to, fromState: it.from, timestamp: it.timestamp, of: ask.book, page: pages } }\n";
    let pack = json!({ "files": { "pack.yaml": pack, "lifecycles/book.yaml": ROW } });
    ground.owner.put("/v1/packs/shelf", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

/// Every page of a list, in order.
fn pages(ground: &RestServer, path: &str, limit: usize) -> Vec<Json> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mark = if path.contains('?') { '&' } else { '?' };
        let from = cursor.map(|it| format!("&cursor={it}")).unwrap_or_default();
        let page = ground
            .owner
            .get(&format!("{path}{mark}limit={limit}{from}"))
            .unwrap_or_else(|it| panic!("{it:#?}"));
        let items = page.body["items"].as_array().unwrap();
        assert!(items.len() <= limit, "{} items of {limit}", items.len());
        all.extend(items.iter().cloned());
        match page.body["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return all,
        }
    }
}

#[test]
fn rows_of_a_query_come_page_by_page_in_its_order() {
    let ground = ground();
    let create = |place: u64| json!({ "lifecycle": "shelf.book", "id": format!("B-{place}"), "fields": { "place": place } });
    let commands: Vec<Json> = (0..260).map(create).collect();
    ground.owner.post("/v1/batch", &json!({ "commands": commands })).unwrap();
    let path = "/v1/queries/shelf/byPlace";
    let first = ground.owner.get(path).unwrap().body;
    assert_eq!((each(&first, "id").len(), first["nextCursor"].is_string()), (50, true));
    assert_eq!(each(&ground.owner.get(&format!("{path}?limit=200")).unwrap().body, "id").len(), 200);
    for limit in [7, 130, 200] {
        let ids: Vec<String> =
            pages(&ground, path, limit).iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
        let expected: Vec<String> = (0..260).rev().map(|it| format!("B-{it}")).collect();
        assert_eq!(ids, expected, "{limit} at a time");
    }
    for limit in ["0", "-1", "many", "201"] {
        let problem = refused(ground.owner.get(&format!("{path}?limit={limit}")));
        assert_eq!((problem.status, problem.errors[0].field.as_deref()), (400, Some("limit")), "{limit}");
        assert!(problem.detail.contains("1 to 200"), "{}", problem.detail);
    }
    assert_eq!(refused(ground.owner.get(&format!("{path}?cursor=nowhere"))).status, 400);
}

#[test]
fn a_history_continues_with_its_cursor() {
    let ground = ground();
    ground.owner.post("/v1/entities/shelf.book", &json!({ "id": "B" })).unwrap();
    for pages in 1..=60 {
        let asked = json!({ "event": "read_on", "fields": { "pages": pages } });
        ground.owner.post("/v1/entities/shelf.book/B/transitions", &asked).unwrap();
    }
    let all = pages(&ground, "/v1/queries/shelf/story?book=B", 25);
    let versions: Vec<u64> = all.iter().map(|it| it["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, (1..=61).collect::<Vec<u64>>());
}

#[test]
fn a_parameter_that_is_wrong_is_named() {
    let ground = ground();
    let problem = refused(ground.owner.get("/v1/entities/shelf.book?limit=-1"));
    assert_eq!((problem.status, problem.errors[0].field.as_deref()), (400, Some("limit")));
    assert_eq!(problem.detail, "limit must be 1 to 200");
    let problem = refused(ground.owner.get("/v1/journal?after=x"));
    assert_eq!((problem.status, problem.errors[0].field.as_deref()), (400, Some("after")));
    let problem = refused(ground.owner.get("/v1/entities/shelf.book?lmit=5"));
    assert_eq!((problem.status, problem.errors[0].field.as_deref()), (400, Some("lmit")));
    assert!(problem.detail.contains("Did you mean limit?"), "{}", problem.detail);
}

#[test]
fn unknown_names_get_suggestions() {
    let ground = ground();
    for path in
        ["/v1/entities/shelf.bok/B", "/v1/entities/shelf.bok/B/explain", "/v1/entities/shelf.bok/B/history"]
    {
        let problem = refused(ground.owner.get(path));
        assert_eq!((problem.status, problem.code.as_str()), (404, "unknown-lifecycle"), "{path}");
        assert!(problem.detail.contains("Did you mean shelf.book?"), "{}", problem.detail);
    }
    assert_eq!(refused(ground.owner.get("/v1/entities/shelf.book/B")).code, "unknown-entity");
    let problem = refused(ground.owner.get("/v1/entities/shelf.book?where=zzz%20==%201"));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-where"));
    assert!(problem.detail.contains("pages, place"), "{}", problem.detail);
}

/// A book that was read twice and then lost.
fn lost_book(ground: &RestServer) {
    ground.owner.post("/v1/entities/shelf.book", &json!({ "id": "B" })).unwrap();
    for pages in [3, 5] {
        let read = json!({ "event": "read_on", "fields": { "pages": pages } });
        ground.owner.post("/v1/entities/shelf.book/B/transitions", &read).unwrap();
    }
    ground.owner.post("/v1/entities/shelf.book/B/transitions", &json!({ "event": "lose" })).unwrap();
}

#[test]
fn a_history_query_selects_entries() {
    let ground = ground();
    lost_book(&ground);
    let events = |query: &str| {
        let found = pages(&ground, &format!("/v1/queries/shelf/moves?book=B{query}"), 2);
        found.iter().map(|it| it["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(events(""), ["STATE_TRANSITION"]);
    let all = ["CREATED", "FIELDS_CHANGED", "FIELDS_CHANGED", "STATE_TRANSITION"];
    assert_eq!(events("&all=true"), all);
    assert_eq!(events("&all=false"), ["STATE_TRANSITION"]);
}

#[test]
fn rows_of_a_history_have_the_form_that_the_query_declares() {
    let ground = ground();
    lost_book(&ground);
    let entries = ground.owner.get("/v1/queries/shelf/story?book=B").unwrap().body;
    let at = |n: usize| entries["items"][n]["timestamp"].as_str().unwrap();
    let rows = [
        format!(r#"{{"toState":"HERE","timestamp":"{}","of":"B","page":5}}"#, at(0)),
        format!(r#"{{"toState":"GONE","fromState":"HERE","timestamp":"{}","of":"B","page":5}}"#, at(3)),
    ];
    let text = |path: &str| String::from_utf8(ground.owner.get_bytes(path).unwrap()).unwrap();
    let steps = "/v1/queries/shelf/steps?book=B";
    assert_eq!(text(steps), format!(r#"{{"items":[{}],"nextCursor":null}}"#, rows.join(",")));
    // Pages count rows.
    let paged = pages(&ground, steps, 1);
    assert_eq!(paged.iter().map(|it| it["toState"].as_str().unwrap()).collect::<Vec<_>>(), ["HERE", "GONE"]);
}

#[test]
fn log_lines_have_the_form_that_the_pack_declares() {
    let ground = ground();
    lost_book(&ground);
    let history = "/v1/entities/shelf.book/B/history";
    let entries = ground.owner.get(history).unwrap().body;
    let text = |path: &str| String::from_utf8(ground.owner.get_bytes(path).unwrap()).unwrap();
    let at = |n: usize| entries["items"][n]["timestamp"].as_str().unwrap();
    let created = format!(r#"{{"when":"{}","what":"created","book":"B","is":"HERE","page":5}}"#, at(0));
    let lost = format!(
        r#"{{"when":"{}","what":"state_transition","book":"B","was":"HERE","is":"GONE","page":5}}"#,
        at(3)
    );
    let lines = format!(r#""items":[{created},{lost}]"#);
    let answer = text(&format!("{history}?form=pack"));
    assert!(answer.contains(&lines), "{answer}");
    let answer = text("/v1/journal?form=pack&limit=200");
    assert!(answer.contains(&lines), "{answer}");
    assert_eq!(ground.owner.get(&format!("{history}?form=entry")).unwrap().body, entries);
}

#[test]
fn a_log_line_has_no_field_that_its_reader_may_not_see() {
    let ground = RestServer::new();
    let book = ROW
        .replace("pages: { type: integer, default: 0 }", "pages: { type: integer, default: 0, read: human }, double: { type: integer, is: pages * 2, read: human }")
        .replace("page: pages }", "page: pages, twice: double, changed: it.metadata }");
    let shop = "\
lifecycle: shelf.shop
fields: { book: { type: string } }
refs: { best: { to: shelf.book, by: book } }
create: { by: human, takes: [book] }
states: { OPEN: { initial: true } }
transitions: { sell: { from: OPEN, by: human } }
log: { line: { shop: id, state: best.state, secret: best.pages } }
";
    let queries = "queries: { steps: { of: shelf.book, takes: { book: { type: string } }, history: ask.book, \
        line: { book: id, page: pages, twice: double, changed: it.metadata } } }\n";
    let pack = format!("pack: shelf\nversion: 1\nabout: A shelf.\n{queries}");
    let pack =
        json!({ "files": { "pack.yaml": pack, "lifecycles/book.yaml": book, "lifecycles/shop.yaml": shop } });
    ground.owner.put("/v1/packs/shelf", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    lost_book(&ground);
    ground.owner.post("/v1/entities/shelf.shop", &json!({ "id": "S", "fields": { "book": "B" } })).unwrap();
    let ada = ground.agent("ada", "mission:specialist");
    let forms = [
        "/v1/entities/shelf.book/B/history?form=pack",
        "/v1/journal?form=pack&limit=200",
        "/v1/queries/shelf/steps?book=B",
    ];
    for path in forms {
        let seen = ground.owner.get(path).unwrap().body.to_string();
        assert!(seen.contains(r#""page":5"#) && seen.contains(r#""twice":10"#), "{seen}");
        let seen = ada.get(path).unwrap().body.to_string();
        assert!(seen.contains(r#""book":"B""#), "{seen}");
        assert!(!seen.contains("page") && !seen.contains("twice"), "{seen}");
    }
    // Restricted fields of other entities are in no line.
    let seen = ground.owner.get("/v1/entities/shelf.shop/S/history?form=pack").unwrap().body.to_string();
    assert!(seen.contains(r#""state":"GONE""#) && !seen.contains("secret"), "{seen}");
}

#[test]
fn a_wrong_form_and_a_lifecycle_without_log_lines_are_refused() {
    let ground = ground();
    lost_book(&ground);
    assert_eq!(why(ground.owner.get("/v1/entities/shelf.book/B/history?form=nice")).0, 400);
    assert_eq!(why(ground.owner.get("/v1/journal?form=nice")).0, 400);
    ground
        .owner
        .post("/v1/entities/mission.task", &json!({ "id": "T", "fields": { "title": "x" } }))
        .unwrap();
    let problem = refused(ground.owner.get("/v1/entities/mission.task/T/history?form=pack"));
    assert_eq!((problem.status, problem.code.as_str()), (400, "invalid-parameter"));
    assert!(problem.detail.contains("mission.task declares no log line"), "{}", problem.detail);
}
