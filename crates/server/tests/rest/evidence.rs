//! Evidence that leaves the house and holds without it.

use serde_json::json;
use trackside_lifecycle::hex;
use trackside_store::Chain;
use trackside_store::evidence::{EvidenceJudgement, verify};

use crate::ground::{RestServer, why};

const ROUTE: &str = "/v1/audit/export/mission.task/T-1";

#[test]
fn evidence_contains_the_entity_its_approvals_and_artifacts_only() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let task = |id: &str, title: &str| {
        let body = json!({ "id": id, "fields": { "title": title } });
        owner.post("/v1/entities/mission.task", &body).unwrap_or_else(|it| panic!("{it:#?}"));
    };
    task("T-0", "before it, and nobody's business");
    task("T-1", "Find the way");
    let report = crate::artifacts::id(b"a report");
    owner.put_bytes(&format!("/v1/artifacts/{report}"), b"a report").unwrap();
    let lost = crate::artifacts::id(b"never kept");
    let words = json!({ "event": "comment", "fields": { "text": format!("see {report} and {lost}") } });
    owner.post("/v1/entities/mission.task/T-1/transitions", &words).unwrap();
    let asked = json!({ "id": "A-1", "fields": { "taskId": "T-1", "action": "deploy", "summary": "Deploy it", "justification": "It is due" } });
    owner.post("/v1/entities/mission.approval", &asked).unwrap();
    let other = json!({ "id": "A-2", "fields": { "taskId": "T-0", "action": "deploy", "summary": "Another", "justification": "It is due" } });
    owner.post("/v1/entities/mission.approval", &other).unwrap();
    task("T-2", "after it, and nobody's business");

    let bytes = owner.get_bytes(ROUTE).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains("Find the way") && text.contains("Deploy it"), "{text}");
    assert!(!text.contains("nobody's business") && !text.contains("T-2") && !text.contains("A-2"), "{text}");
    let audit = owner.get("/v1/audit/verify").unwrap().body;
    let end = Chain {
        seq: audit["to"]["seq"].as_u64().unwrap(),
        hash: hex::decode(audit["to"]["hash"].as_str().unwrap()).unwrap(),
    };
    let verdict = verify(bytes.as_slice(), &[end]).unwrap();
    assert_eq!(
        verdict.judgement(),
        EvidenceJudgement::Intact,
        "{:#?} {:#?}",
        verdict.audit.problems,
        verdict.flaws
    );
    assert_eq!((verdict.outside.as_slice(), verdict.audit.to), (&[][..], end));
    assert_eq!((verdict.about.entity.as_str(), verdict.about.by.as_str()), ("mission.task/T-1", "owner"));
    assert_eq!(verdict.about.approvals, ["mission.approval/A-1"]);
    assert_eq!(verdict.artifacts.keys().collect::<Vec<_>>(), [&report]);
    assert_eq!(verdict.absent.iter().collect::<Vec<_>>(), [&lost]);

    // The verdict matches the server's own data.
    let told = verdict.entities.iter().find(|it| it.id == "T-1").unwrap();
    let live = owner.get("/v1/entities/mission.task/T-1").unwrap().body;
    assert_eq!((json!(told.state), json!(told.version)), (live["state"].clone(), live["version"].clone()));
    for (name, value) in &told.fields {
        assert_eq!(*value, live["fields"][name], "{name}");
    }
    let history = owner.get("/v1/entities/mission.task/T-1/history?all=true&limit=200").unwrap().body;
    assert_eq!(told.entries, history["items"].as_array().unwrap().len() as u64);
}

#[test]
fn evidence_with_redacted_entries_verifies() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let body = json!({ "id": "T-1", "fields": { "title": "sekrit-4711" } });
    owner.post("/v1/entities/mission.task", &body).unwrap();
    let asked = json!({ "lifecycle": "mission.task", "id": "T-1", "all": true, "becomes": { "title": "gone" }, "reason": "a secret" });
    owner.post("/v1/redactions", &asked).unwrap();
    let bytes = owner.get_bytes(ROUTE).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("sekrit-4711"));
    let verdict = verify(bytes.as_slice(), &[]).unwrap();
    assert_eq!(
        verdict.judgement(),
        EvidenceJudgement::Intact,
        "{:#?} {:#?}",
        verdict.audit.problems,
        verdict.flaws
    );
    assert!(verdict.entities[0].redacted > 0 && !verdict.audit.dropped.is_empty(), "{verdict:#?}");
    assert_eq!(verdict.entities[0].fields["title"], json!("gone"));
}

#[test]
fn evidence_is_for_admins_and_existing_entities() {
    let ground = RestServer::new();
    assert_eq!(why(ground.owner.get(ROUTE)), (404, "unknown-entity".to_owned()));
    assert_eq!(
        why(ground.owner.get("/v1/audit/export/mission.task/%22%20%7C%7C%20true")),
        (404, "unknown-entity".to_owned())
    );
    assert_eq!(why(ground.person("pia").get(ROUTE)), (403, "not-permitted".to_owned()));
    assert_eq!(why(ground.agent("ada", "mission:lead").get(ROUTE)), (403, "not-permitted".to_owned()));
}
