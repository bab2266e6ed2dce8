//! `?at=SEQ` and repeated requests show an entity as it was, with everything that was computed then.

use serde_json::{Value as Json, json};

use crate::ground::RestServer;

const CRATE: &str = "\
lifecycle: past.crate
about: A crate.
fields:
  label: { type: string }
  count: { type: integer, is: items.count }
  open: { type: integer, is: items.open }
  full: { type: boolean, is: items.open >= settings.most }
  lastMove: { type: time, is: items.movedAt }
  people: { type: integer, is: size(project.people) }
  stale: { type: boolean, is: 'timeInState >= duration(\"15m\")' }
create: { by: human, takes: [label] }
states: { OPEN: { initial: true }, SHUT: { final: true, outcome: success } }
transitions:
  shut: { from: OPEN, to: SHUT, by: human }
  relabel: { from: OPEN, by: human, takes: [label] }
";

const ITEM: &str = "\
lifecycle: past.item
about: An item.
refs: { crate: { to: past.crate, by: crateId, inverse: items } }
fields:
  crateId: { type: string }
  crateLabel: { type: string, is: crate.label }
  ageMinutes: { type: number, is: minutes(totalTime) }
create: { by: human, takes: [crateId] }
states: { IN: { initial: true }, OUT: { final: true, outcome: success } }
transitions:
  take: { from: IN, to: OUT, by: human }
  move: { from: IN, by: human, takes: [crateId] }
";

fn ground() -> RestServer {
    let ground = RestServer::new();
    let pack = "pack: past\nversion: 1\nabout: Crates.\nsettings: { most: { type: integer, default: 2 } }\n";
    let files = json!({ "pack.yaml": pack, "lifecycles/crate.yaml": CRATE, "lifecycles/item.yaml": ITEM });
    ground.owner.put("/v1/packs/past", &json!({ "files": files })).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

fn advance(ground: &RestServer) {
    ground.owner.post("/v1/clock/advance", &json!({ "by": "10m" })).unwrap();
}

/// Everything that exists: path and body.
fn everything(ground: &RestServer) -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for lifecycle in ["past.crate", "past.item"] {
        let page = ground.owner.get(&format!("/v1/entities/{lifecycle}")).unwrap().body;
        for entity in page["items"].as_array().unwrap() {
            all.push((
                format!("/v1/entities/{lifecycle}/{}", entity["id"].as_str().unwrap()),
                entity.clone(),
            ));
        }
    }
    all
}

#[test]
fn an_entity_is_shown_with_what_was_computed_at_that_entry() {
    let ground = ground();
    let owner = &ground.owner;
    let create = |kind: &str, id: &str, fields: Json| {
        owner.post(&format!("/v1/entities/past.{kind}"), &json!({ "id": id, "fields": fields })).unwrap();
    };
    let fire = |kind: &str, id: &str, event: &str, fields: Json| {
        let body = json!({ "event": event, "fields": fields });
        owner.post(&format!("/v1/entities/past.{kind}/{id}/transitions"), &body).unwrap();
    };
    let steps: Vec<Box<dyn Fn()>> = vec![
        Box::new(|| create("crate", "C", json!({ "label": "first" }))),
        Box::new(|| create("crate", "D", json!({ "label": "other" }))),
        Box::new(|| create("item", "A", json!({ "crateId": "C" }))),
        Box::new(|| create("item", "B", json!({ "crateId": "C" }))),
        Box::new(|| drop(owner.put("/v1/settings/past", &json!({ "most": 1 })).unwrap())),
        Box::new(|| fire("crate", "C", "relabel", json!({ "label": "second" }))),
        Box::new(|| fire("item", "A", "move", json!({ "crateId": "D" }))),
        Box::new(|| {
            ground.person("pia");
            // The server notes new people a moment later.
            let people = || owner.get("/v1/entities/past.crate/C").unwrap().body["fields"]["people"].clone();
            while people() != json!(2) {
                std::thread::yield_now();
            }
        }),
        Box::new(|| fire("item", "B", "take", json!({}))),
        Box::new(|| create("item", "E", json!({ "crateId": "C" }))),
        Box::new(|| drop(owner.put("/v1/settings/past", &json!({ "most": 5 })).unwrap())),
        Box::new(|| fire("item", "A", "move", json!({ "crateId": "C" }))),
        Box::new(|| fire("crate", "D", "shut", json!({}))),
        Box::new(|| fire("item", "E", "take", json!({}))),
    ];
    let mut seen = Vec::new();
    for step in &steps {
        step();
        let seq = owner.get("/readyz").unwrap().body["seq"].as_u64().unwrap();
        seen.push((seq, everything(&ground)));
        advance(&ground);
    }
    for (seq, entities) in &seen {
        for (path, then) in entities {
            let shown = owner.get(&format!("{path}?at={seq}")).unwrap_or_else(|it| panic!("{it:#?}")).body;
            assert_eq!(shown, *then, "{path} at {seq}");
            assert!(shown.get("unknown").is_none(), "{shown}");
        }
    }
    // The values differ between the moments, so the comparison means something.
    let of_crate = |field: &str| {
        let values: std::collections::BTreeSet<String> = seen
            .iter()
            .flat_map(|(_, all)| all.iter().filter(|(path, _)| path.ends_with("/C")))
            .map(|(_, it)| it["fields"][field].to_string())
            .collect();
        values.len()
    };
    for field in ["label", "count", "open", "full", "lastMove", "people", "stale"] {
        assert!(of_crate(field) > 1, "{field} never changed");
    }
}

#[test]
fn a_repeated_request_gets_the_first_answer_after_everything_has_changed() {
    let ground = ground();
    let owner = &ground.owner;
    owner.post("/v1/entities/past.crate", &json!({ "id": "C", "fields": { "label": "first" } })).unwrap();
    let item = |id: &str| json!({ "id": id, "fields": { "crateId": "C" } });
    owner.post("/v1/entities/past.item", &item("A")).unwrap();
    advance(&ground);
    let relabel = json!({ "event": "relabel", "fields": { "label": "second" } });
    let batch = json!({ "atomic": true, "commands": [
        { "lifecycle": "past.item", "id": "F", "fields": { "crateId": "C" } },
        { "lifecycle": "past.crate", "id": "C", "event": "relabel", "fields": { "label": "third" } },
        { "lifecycle": "past.item", "id": "G", "fields": { "crateId": "C" } },
    ] });
    let single = json!({ "commands": batch["commands"].as_array().unwrap().iter().map(|it| {
        let mut it = it.clone();
        if it["id"] == "C" {
            it["fields"]["label"] = json!("fourth");
        } else {
            it["id"] = json!(format!("{}-2", it["id"].as_str().unwrap()));
        }
        it
    }).collect::<Vec<_>>() });
    let requests = [
        ("/v1/entities/past.crate/C/transitions", relabel),
        ("/v1/entities/past.item", item("B")),
        ("/v1/batch", batch),
        ("/v1/batch", single),
    ];
    let post = |(place, (path, body)): (usize, &(&str, Json))| {
        let key = format!("key-{place}");
        owner.post_with(path, body, &[("idempotency-key", &key)]).unwrap_or_else(|it| panic!("{it:#?}")).body
    };
    let first: Vec<Json> = requests.iter().enumerate().map(post).collect();
    advance(&ground);
    owner.put("/v1/settings/past", &json!({ "most": 1 })).unwrap();
    ground.person("pia");
    owner.post("/v1/entities/past.item/A/transitions", &json!({ "event": "take" })).unwrap();
    owner.post("/v1/entities/past.item", &item("Z")).unwrap();
    advance(&ground);
    let strip = |mut body: Json| {
        match body["results"].as_array_mut() {
            Some(results) => results.iter_mut().for_each(|it| it["replayed"] = json!(null)),
            None => body["replayed"] = json!(null),
        }
        body
    };
    for (request, first) in requests.iter().enumerate().zip(first) {
        let again = post(request);
        let text = again.to_string();
        assert!(text.contains("\"replayed\":true"), "{text}");
        assert_eq!(strip(again), strip(first));
    }
}
