//! Maintenance: the audit, the export, backups, archives and redactions.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{RestServer, each, why};

fn journal(client: &Client) -> Vec<Json> {
    client.get("/v1/journal?limit=200").unwrap().body["items"].as_array().unwrap().clone()
}

fn export_lines(client: &Client) -> Vec<Json> {
    let bytes = client.get_bytes("/v1/export").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn task(ground: &RestServer, id: &str, title: &str) {
    let fields = json!({ "id": id, "fields": { "title": title } });
    ground.owner.post("/v1/entities/mission.task", &fields).unwrap_or_else(|it| panic!("{it:#?}"));
}

#[test]
fn the_audit_covers_the_whole_journal_and_is_for_people() {
    let ground = RestServer::new();
    task(&ground, "T-1", "Find the way");
    let told = ground.person("pia").get("/v1/audit/verify").unwrap().body;
    let last = journal(&ground.owner).last().unwrap()["seq"].clone();
    assert_eq!((&told["intact"], &told["to"]["seq"], &told["entries"]), (&json!(true), &last, &last));
    let agent = ground.agent("ada", "mission:specialist");
    assert_eq!(why(agent.get("/v1/audit/verify")), (403, "not-permitted".to_owned()));
}

#[test]
fn the_audit_compares_the_journal_with_noted_ends() {
    let ground = RestServer::new();
    let told = ground.owner.get("/v1/audit/verify").unwrap().body;
    let end = format!("{}:{}", told["to"]["seq"], told["to"]["hash"].as_str().unwrap());
    task(&ground, "T-1", "Find the way");
    let asked = |known: &str| ground.owner.get(&format!("/v1/audit/verify?known={known}"));
    assert_eq!(asked(&end).unwrap().body["intact"], json!(true));
    let other = format!("1:{}", "0".repeat(64));
    let told = asked(&format!("{end},{other}")).unwrap().body;
    assert_eq!((&told["intact"], &told["problems"][0]["seq"]), (&json!(false), &json!(1)), "{told:#}");
    let many = vec![other.as_str(); 17].join(",");
    for wrong in ["", "1", "1:", "x:00", &format!("{end},"), &many] {
        assert_eq!(why(asked(wrong)).0, 400, "{wrong}");
    }
}

#[test]
fn the_audit_reports_tampered_entries() {
    let ground = RestServer::new();
    task(&ground, "T-1", "Find the way");
    let file = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
    let sql = "UPDATE journal SET payload = replace(payload, 'Find the way', 'Lose the way') WHERE payload LIKE '%Find the way%'";
    assert_eq!(file.execute(sql, []).unwrap(), 1);
    let told = ground.owner.get("/v1/audit/verify").unwrap().body;
    assert_eq!(told["intact"], json!(false), "{told:#}");
    assert_eq!(told["problems"].as_array().unwrap().len(), 1, "{told:#}");
}

#[test]
fn the_audit_reports_altered_rules() {
    let ground = RestServer::new();
    assert_eq!(ground.owner.get("/v1/audit/verify").unwrap().body["intact"], json!(true));
    let file = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
    let sql = "UPDATE definition SET files = replace(files, 'human', 'agent') WHERE pack = 'mission'";
    assert_eq!(file.execute(sql, []).unwrap(), 1);
    let told = ground.owner.get("/v1/audit/verify").unwrap().body;
    assert_eq!((&told["intact"], &told["problems"][0]["code"]), (&json!(false), &json!("rules-changed")));
}

#[test]
fn an_export_contains_only_what_the_caller_may_see() {
    let ground = RestServer::new();
    task(&ground, "T-1", "Find the way");
    let agent = ground.agent("ada", "mission:specialist");
    let all = export_lines(&ground.owner);
    let last = journal(&ground.owner).len();
    assert_eq!(all[0]["export"]["last"], json!(last));
    let packs: Vec<&Json> =
        all.iter().filter_map(|it| it["definition"]["pack"].as_str().map(|_| it)).collect();
    assert_eq!(packs.len(), 4);
    assert!(packs.iter().any(|it| it["definition"]["files"]["pack.yaml"].is_string()));
    let records: Vec<u64> = all.iter().filter_map(|it| it["record"]["seq"].as_u64()).collect();
    assert_eq!(records, (1..=last as u64).collect::<Vec<_>>());
    assert!(
        all.iter().any(|it| it["record"]["payload"].as_str().is_some_and(|it| it.contains("Find the way")))
    );

    let seen = export_lines(&agent);
    assert!(seen.iter().all(|it| it.get("record").is_none()));
    let entries: Vec<&Json> = seen.iter().filter_map(|it| it.get("entry")).collect();
    let own = journal(&agent);
    assert_eq!(entries, own.iter().collect::<Vec<_>>(), "what the journal shows, neither more nor less");
    assert!(entries.iter().any(|it| it["id"] == "T-1"));
    let tokens = entries.iter().filter(|it| it["lifecycle"] == "access.token").count();
    assert_eq!(tokens, 1, "its own");
}

#[test]
fn a_backup_is_made_while_it_runs_and_can_be_opened() {
    let ground = RestServer::new();
    task(&ground, "T-1", "Find the way");
    let content = b"a report";
    let id = crate::artifacts::id(content);
    ground.owner.put_bytes(&format!("/v1/artifacts/{id}"), content).unwrap();

    let made = ground.owner.post("/v1/backup", &json!({})).unwrap().body;
    let to = std::path::PathBuf::from(made["to"].as_str().unwrap());
    assert!(to.starts_with(ground.data.join("backups")), "{made:#}");
    assert_eq!(made["artifacts"], json!(1));
    assert_eq!(std::fs::read(to.join("artifacts").join(&id[..2]).join(&id)).unwrap(), content);
    let mut reader = Sqlite::open_to_read(&to, SqliteOptions::default()).unwrap();
    assert_eq!(json!(reader.head().unwrap().chain.seq), made["end"]["seq"]);

    let named = ground.owner.post("/v1/backup", &json!({ "to": "before-the-move" })).unwrap().body;
    assert!(named["to"].as_str().unwrap().ends_with("backups/before-the-move"));
    let again = ground.owner.post("/v1/backup", &json!({ "to": "before-the-move" }));
    assert_eq!(why(again), (409, "already-exists".to_owned()));
    for out in ["../elsewhere", "a/../../b", ""] {
        let refused = ground.owner.post("/v1/backup", &json!({ "to": out }));
        assert_eq!(why(refused), (400, "invalid-body".to_owned()), "{out}");
    }
    assert_eq!(why(ground.person("pia").post("/v1/backup", &json!({}))), (403, "not-permitted".to_owned()));
}

#[test]
fn old_journal_is_archived_while_it_runs_and_is_read_as_before() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    task(&ground, "T-1", "Find the way");
    task(&ground, "T-2", "Mark it");
    owner.post("/v1/clock/advance", &json!({ "by": "40d" })).unwrap();
    task(&ground, "T-3", "Walk it");
    let seq = |it: &Json| it["seq"].as_u64().unwrap();
    let before = journal(owner);
    let asked = json!({ "olderThan": "30d" });
    let made = owner.post("/v1/archive", &asked).unwrap().body;
    let (first, last) = (&made["files"][0]["first"], made["files"][0]["last"].as_u64().unwrap());
    assert_eq!((first, last > 3), (&json!(1), true), "{made:#}");
    assert_eq!(owner.post("/v1/archive", &asked).unwrap().body["files"], json!([]), "nothing is left to do");
    assert_eq!(
        why(owner.post("/v1/archive", &json!({ "olderThan": "old" }))),
        (400, "invalid-body".to_owned())
    );

    assert_eq!(journal(owner), before, "it begins where it began");
    let created = before.iter().find(|it| it["id"] == "T-1").map(seq).unwrap();
    assert!(created < last);
    let at = format!("/v1/entities/mission.task/T-1?at={created}");
    assert_eq!(owner.get(&at).unwrap().body["fields"]["title"], "Find the way");
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let followed = |after: u64| {
        let head = format!(
            "GET /v1/events?after={after}&audience=all HTTP/1.1\r\nAuthorization: Bearer {}",
            token.trim()
        );
        let heard = ground.raw_begin(&head);
        let text = String::from_utf8(heard.body).unwrap();
        let numbers = text.lines().filter_map(|it| it.strip_prefix("id: ")?.parse::<u64>().ok());
        (heard.status, numbers.collect::<Vec<_>>())
    };
    let newest = seq(before.last().unwrap());
    assert_eq!(followed(1), (200, (2..=newest).collect()), "every number, without a gap");

    let (here, away) = (ground.data.join("archive"), ground.data.join("away"));
    std::fs::rename(&here, &away).unwrap();
    assert_eq!(why(owner.get("/v1/journal")), (410, "archived".to_owned()), "it is not begun later, unsaid");
    assert_eq!(why(owner.get(&at)), (410, "archived".to_owned()));
    assert_eq!(followed(1).0, 410);
    assert_eq!(followed(last), (200, (last + 1..=newest).collect()));
    let history = owner.get("/v1/entities/mission.task/T-1/history").unwrap().body;
    assert!(history["archivedBefore"].as_u64().is_some(), "{history:#}");
}

#[test]
fn redacted_values_are_gone_from_every_file() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    task(&ground, "T-1", "sekrit-4711 in the title");
    task(&ground, "T-2", "Something else");
    assert!(bytes_hold(&ground, "sekrit-4711"));
    let asked = json!({ "lifecycle": "mission.task", "id": "T-1", "all": true, "becomes": { "title": "gone" }, "reason": "a secret" });
    assert_eq!(why(ground.person("pia").post("/v1/redactions", &asked)), (403, "not-permitted".to_owned()));
    // A dry run lists the values to drop, and drops nothing.
    let before = owner.get("/readyz").unwrap().body["seq"].as_u64();
    let tried = owner.post("/v1/redactions?dryRun=true", &asked).unwrap().body;
    assert_eq!((&tried["dryRun"], &tried["fields"]["title"]), (&json!(true), &json!("gone")), "{tried:#}");
    assert_eq!(tried.get("seq"), None);
    assert_eq!(owner.get("/readyz").unwrap().body["seq"].as_u64(), before);
    assert!(bytes_hold(&ground, "sekrit-4711"));
    let told = owner.post("/v1/redactions", &asked).unwrap().body;
    assert_eq!((&told["entries"], &told["fields"]), (&tried["entries"], &tried["fields"]));
    assert_eq!(told.get("dryRun"), None);
    assert_eq!(told["fields"]["title"], json!("gone"), "{told:#}");
    assert!(told["seq"].is_u64() && !told["entries"].as_array().unwrap().is_empty());
    assert_eq!(owner.get("/v1/entities/mission.task/T-1").unwrap().body["fields"]["title"], json!("gone"));
    assert!(!bytes_hold(&ground, "sekrit-4711"));
    assert_eq!(owner.get("/v1/audit/verify").unwrap().body["intact"], json!(true));
    assert!(export_lines(owner).iter().all(|it| !it.to_string().contains("sekrit-4711")));

    let neither = json!({ "lifecycle": "mission.task", "id": "T-2", "reason": "r" });
    assert_eq!(why(owner.post("/v1/redactions", &neither)), (400, "invalid-body".to_owned()));
    let unknown = json!({ "lifecycle": "mission.task", "id": "T-9", "all": true, "reason": "r" });
    assert_eq!(why(owner.post("/v1/redactions", &unknown)), (404, "unknown-entity".to_owned()));
    let nameless = json!({ "lifecycle": "mission.task", "id": "T-2", "all": true, "reason": " " });
    assert_eq!(why(owner.post("/v1/redactions", &nameless)), (400, "invalid-body".to_owned()));
    assert_eq!(each(&owner.get("/v1/entities/mission.task").unwrap().body, "id").len(), 2);
}

/// Whether some file of the store holds these bytes.
fn bytes_hold(ground: &RestServer, text: &str) -> bool {
    let files = std::fs::read_dir(&ground.data).unwrap().map(|it| it.unwrap().path());
    let mut files = files.filter(|it| it.file_name().unwrap().to_string_lossy().contains(".db"));
    files.any(|it| std::fs::read(it).unwrap().windows(text.len()).any(|it| it == text.as_bytes()))
}
