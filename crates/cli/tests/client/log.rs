//! The log of a running server, and the data that stays out of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value as Json;

use crate::ground::{ClientServer, LIGHT, scratch, small};

/// Runs a server with this log format and some work. Returns the log after its end, and its secrets.
fn log_lines(name: &str, form: &str, level: &str) -> (String, Vec<String>) {
    let root = scratch(name);
    let pack = small(&root, 1, LIGHT);
    let mut ground = ClientServer::start_with(root.clone(), &pack, &["--log", form, "--log-level", level]);
    let mut secrets = vec![std::fs::read_to_string(root.join("data/token")).unwrap().trim().to_owned()];
    secrets.push(ground.token("ada", "agent", &[]));
    let link = ground.ask(&["sign-in"]).says(0, &[]).data.clone();
    let secret = link.split("link=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let address = std::fs::read_to_string(root.join("data/address")).unwrap();
    let mut stream = TcpStream::connect(address.trim()).unwrap();
    let request =
        format!("GET /sign-in?link={secret} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    secrets.push(secret);
    let cookie = answer.lines().find_map(|it| it.split_once("trackside_session_")).unwrap().1;
    secrets.push(cookie.split_once('=').unwrap().1.split(';').next().unwrap().to_owned());
    ground.ask(&["new", "small.light", "--id", "A", "place=behind the green door"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "smash"]).says(1, &[]);
    secrets.push("behind the green door".to_owned());
    ground.stop();
    (std::fs::read_to_string(root.join("up.log")).unwrap(), secrets)
}

#[test]
fn json_log_lines_are_objects_and_no_line_contains_a_secret() {
    let (log, secrets) = log_lines("log-json", "json", "info");
    let lines: Vec<Json> =
        log.lines().map(|it| serde_json::from_str(it).unwrap_or_else(|why| panic!("{why}: {it}"))).collect();
    let said: Vec<&str> = lines.iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert_eq!((said[0], said.last()), ("up", Some(&"stopped")), "{log}");
    let smashed = lines.iter().find(|it| it["route"] == "/v1/entities/{lifecycle}/{id}/transitions").unwrap();
    assert_eq!((smashed["level"].as_str(), smashed["actor"].as_str()), (Some("info"), Some("owner")));
    assert_eq!(
        (smashed["status"].as_u64(), smashed["code"].as_str()),
        (Some(422), Some("requirement-missing")),
        "{smashed}"
    );
    assert!(smashed["ms"].is_number() && smashed["requestId"].as_str().unwrap().len() == 16, "{smashed}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in\n{log}");
    }
}

#[test]
fn a_healthy_server_only_logs_that_it_is_up() {
    let (log, secrets) = log_lines("log-text", "text", "warn");
    assert_eq!(log.lines().count(), 6, "{log}");
    assert!(!log.contains("/sign-in?link="), "the link is only for a person at a terminal: {log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in\n{log}");
    }
    let (log, _) = log_lines("log-info", "text", "info");
    let line = log
        .lines()
        .find(|it| it.contains("answered") && it.contains("status=422"))
        .unwrap_or_else(|| panic!("{log}"));
    assert!(
        line.contains(" info  answered method=POST route=/v1/entities/{lifecycle}/{id}/transitions"),
        "{line}"
    );
}
