//! The server proves its identity, tokens name their issuer, and entries say how a person was authenticated.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value as Json, json};
use trackside_protocol::{Client, issuer_of};

use crate::ground::{RestServer, refused};

/// Forwards one connection after the other to a server, and returns the address.
fn relay_to(server: &RestServer) -> String {
    let (listener, to) = (TcpListener::bind("127.0.0.1:0").unwrap(), server.address);
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (mut client, mut server) = (client, TcpStream::connect(to).unwrap());
            let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
            std::thread::spawn(move || std::io::copy(&mut client, &mut server));
        }
    });
    address
}

#[test]
fn the_server_proves_its_identity_to_anybody() {
    let ground = RestServer::new();
    let proven = ground.client("").prove().unwrap();
    assert!(proven.is_direct && proven.fingerprint.len() == 64, "{proven:?}");
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    assert!(proven.fingerprint.starts_with(issuer_of(&token).unwrap()), "{proven:?}");
    // By name it is the same server at the same address.
    let by_name = Client::new(&format!("http://localhost:{}", ground.address.port()), "").prove().unwrap();
    assert_eq!(by_name, proven);
    // The key stays.
    let ground = ground.restart();
    assert_eq!(ground.client("").prove().unwrap().fingerprint, proven.fingerprint);
    ground.client(&token).get("/v1/whoami").unwrap();
    let nonces = [
        "",
        "?nonce=",
        "?nonce=00",
        "?nonce=zz112233445566778899aabbccddeeff",
        "?nonce=00112233445566778899aabbccddeeff&x=1",
    ];
    for query in nonces {
        assert_eq!(refused(ground.owner.get(&format!("/v1/identity{query}"))).status, 400, "{query}");
    }
    // Without its key it is another server. The token is still valid there, but no client sends it.
    let ground = ground.restarted_after(|data| std::fs::remove_file(data.join("server.key")).unwrap());
    assert_ne!(ground.client("").prove().unwrap().fingerprint, proven.fingerprint);
}

#[test]
fn only_the_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = RestServer::new();
    let mode = std::fs::metadata(ground.data.join("server.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_relay_is_recognised() {
    let ground = RestServer::new();
    let relay = Client::new(&format!("http://{}", relay_to(&ground)), "");
    // The host is the relay's, so the server may refuse it; a relay would change it.
    let proven = relay.prove().unwrap();
    assert!(!proven.is_direct, "{proven:?}");
    assert_eq!(proven.fingerprint, ground.client("").prove().unwrap().fingerprint);
}

/// A server that gives every request the same answer.
fn constant(answer: String) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let _ = client.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = client.write_all(format!("{head}{answer}").as_bytes());
        }
    });
    Client::new(&format!("http://{address}"), "")
}

#[test]
fn a_recorded_proof_does_not_pass() {
    let ground = RestServer::new();
    let nonce = "00112233445566778899aabbccddeeff";
    let proof = ground.owner.get(&format!("/v1/identity?nonce={nonce}")).unwrap().body;
    assert_eq!(proof["addresses"], json!([ground.address.to_string()]));
    let error = constant(proof.to_string()).prove().unwrap_err().to_string();
    assert!(error.contains("its signature is wrong"), "{error}");
    for other in ["", "{}", "x"] {
        let error = constant(other.to_owned()).prove().unwrap_err().to_string();
        assert!(error.contains("no Trackside server"), "{error}");
    }
}

#[test]
fn entries_say_how_the_person_was_authenticated() {
    let ground = RestServer::new();
    let new = |id: &str| json!({ "id": id, "fields": { "title": "Find the way" } });
    let via = |made: &Json| made["transition"]["via"].clone();
    let made = ground.owner.post("/v1/entities/mission.task", &new("T-1")).unwrap().body;
    assert_eq!(via(&made), "token");
    // The session of a browser.
    let path = ground.sign_in.split_once(&ground.address.to_string()).unwrap().1;
    let answer = ground.raw(&format!("GET {path} HTTP/1.1"), b"");
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nContent-Type: application/json\r\nCookie: {cookie}\r\nOrigin: http://{}",
        ground.address
    );
    let made = ground.raw(&head, new("T-2").to_string().as_bytes());
    assert_eq!(via(&serde_json::from_slice(&made.body).unwrap()), "page", "{made:?}");
    // Neither agents nor the engine have it.
    let assign = json!({ "event": "assign", "fields": { "assigneeIds": ["ada"] } });
    ground.owner.post("/v1/entities/mission.task/T-1/transitions", &assign).unwrap();
    let journal = ground.owner.get("/v1/journal?limit=200").unwrap().body;
    for entry in journal["items"].as_array().unwrap() {
        assert_eq!(entry.get("via").is_some(), entry["actorKind"] == "human", "{entry}");
    }
    // It is stored, and survives a restart.
    let ground = ground.restart();
    let history = ground.owner.get("/v1/entities/mission.task/T-2/history").unwrap().body;
    assert_eq!(history["items"][0]["via"], "page", "{history}");
}
