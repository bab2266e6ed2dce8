//! Artifacts are stored under their hash, complete or not at all.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use trackside_server::ServerLimits;

use crate::ground::{RestServer, why};

pub(crate) fn id(content: &[u8]) -> String {
    trackside_lifecycle::hex::encode(Sha256::digest(content))
}

#[test]
fn content_comes_back_as_it_was_also_after_a_restart() {
    let ground = RestServer::new();
    let agent = ground.agent("ada", "mission:specialist");
    let content: Vec<u8> = (0..100_000_u32).map(|it| (it * 7 % 251) as u8).collect();
    let path = format!("/v1/artifacts/{}", id(&content));
    assert_eq!(why(agent.get(&path)), (404, "unknown-artifact".to_owned()));
    let kept = agent.put_bytes(&path, &content).unwrap();
    assert_eq!((kept.status, &kept.body["stored"], &kept.body["size"]), (201, &json!(true), &json!(100_000)));
    let again = agent.put_bytes(&path, &content).unwrap();
    assert_eq!((again.status, &again.body["stored"]), (200, &json!(false)));

    let file = ground.data.join("artifacts").join(&id(&content)[..2]).join(id(&content));
    assert_eq!(std::fs::read(file).unwrap(), content);
    let parts = std::fs::read_dir(ground.data.join("artifacts")).unwrap();
    assert_eq!(parts.count(), 1, "nothing but the folder is left");

    let ground = ground.restart();
    assert_eq!(ground.owner.get_bytes(&path).unwrap(), content);
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let raw = ground.raw(&format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {}", token.trim()), b"");
    assert_eq!(raw.header("content-type"), Some("application/octet-stream"));
    assert_eq!(raw.header("content-disposition"), Some("attachment"));
    assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn damaged_content_is_not_served_and_is_replaced_when_it_is_sent_again() {
    let ground = RestServer::new();
    let (content, path) = (b"a page", format!("/v1/artifacts/{}", id(b"a page")));
    assert_eq!(ground.owner.put_bytes(&path, content).unwrap().status, 201);
    let file = ground.data.join("artifacts").join(&id(content)[..2]).join(id(content));
    for damage in [b"b page".as_slice(), b"a pag", b""] {
        std::fs::write(&file, damage).unwrap();
        assert_eq!(why(ground.owner.get(&path)), (500, "artifact-damaged".to_owned()));
        let healed = ground.owner.put_bytes(&path, content).unwrap();
        assert_eq!((healed.status, &healed.body["stored"]), (201, &json!(true)));
        assert_eq!(ground.owner.get_bytes(&path).unwrap(), content);
    }
}

#[test]
fn the_scrub_finds_damaged_content_that_nobody_reads() {
    let ground = RestServer::new();
    let path = format!("/v1/artifacts/{}", id(b"a page"));
    assert_eq!(ground.owner.put_bytes(&path, b"a page").unwrap().status, 201);
    std::fs::write(ground.data.join("artifacts").join(&id(b"a page")[..2]).join(id(b"a page")), b"b")
        .unwrap();
    let found = || {
        let metrics = ground.owner.get_bytes("/metrics").unwrap();
        let text = String::from_utf8(metrics).unwrap();
        text.lines().any(|it| it == "trackside_scrub_damaged 1")
    };
    for _ in 0..300 {
        if found() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the scrub found nothing");
}

#[test]
fn content_that_does_not_match_its_hash_is_not_stored() {
    let limits = ServerLimits { artifact: 1_000, ..ServerLimits::default() };
    let ground = RestServer::with(limits);
    let owner = &ground.owner;
    let path = format!("/v1/artifacts/{}", id(b"one"));
    assert_eq!(why(owner.put_bytes(&path, b"two")), (422, "hash-mismatch".to_owned()));
    assert_eq!(why(owner.get(&path)), (404, "unknown-artifact".to_owned()));
    let large = vec![7_u8; 1_001];
    assert_eq!(
        why(owner.put_bytes(&format!("/v1/artifacts/{}", id(&large)), &large)),
        (413, "too-large".to_owned())
    );
    let most = vec![7_u8; 1_000];
    assert_eq!(owner.put_bytes(&format!("/v1/artifacts/{}", id(&most)), &most).unwrap().status, 201);
    let upper = id(b"one").to_uppercase();
    for wrong in ["..%2F..%2Ftoken", "abc", upper.as_str(), &"g".repeat(64)] {
        let path = format!("/v1/artifacts/{wrong}");
        assert_eq!(why(owner.put_bytes(&path, b"one")), (400, "invalid-parameter".to_owned()), "{wrong}");
        assert_eq!(why(owner.get(&path)), (400, "invalid-parameter".to_owned()), "{wrong}");
    }
}

#[test]
fn an_artifact_may_be_larger_than_other_bodies() {
    let ground = RestServer::new();
    let content = vec![1_u8; 3 * 1024 * 1024];
    let path = format!("/v1/artifacts/{}", id(&content));
    assert_eq!(ground.owner.put_bytes(&path, &content).unwrap().status, 201);
    assert_eq!(ground.owner.get_bytes(&path).unwrap().len(), content.len());
}
