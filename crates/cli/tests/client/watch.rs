//! `trackside watch`: as lines, and as a view on a terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::ground::{ClientServer, scratch};
use crate::program::isolate;

/// The longest wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn without_a_terminal_events_are_lines() {
    let ground = ClientServer::small("lines");
    for (args, expected) in [
        (vec!["watch", "small.light"], "small.light/A1  CREATED OFF  create  by owner (human)"),
        (vec!["journal", "--follow", "--after", "0"], "PACK_INSTALLED"),
        (vec!["watch", "--json"], "\"id\":\"A3\""),
    ] {
        let mut child = ground.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, heard) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).all(|it| tell.send(it).is_ok()));
        // It follows from the moment of connection: repeat an event until it arrives.
        let begun = Instant::now();
        let mut at = 0;
        let found = loop {
            at += 1;
            let _ = ground.ask(&["new", "small.light", "--id", &format!("A{at}")]);
            match heard.recv_timeout(Duration::from_millis(300)) {
                Ok(line) if line.contains(expected) || at > 3 => break line,
                _ => assert!(begun.elapsed() < PATIENCE, "{args:?}"),
            }
        };
        assert!(found.contains("small.light") || found.contains(expected), "{found}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    ground.ask(&["watch", "small.lihgt"]).says(1, &["Did you mean small.light?"]);
    ground
        .ask(&["journal", "--follow", "--after", "100000"])
        .says(1, &["not-yet", "The journal is at entry"]);
}

#[test]
fn log_lines_of_packs_are_followed_and_written_to_a_file() {
    let root = scratch("pack-log");
    let file = root.join("pack.log");
    let mut ground = ClientServer::start_with(root, "build,mission", &["--pack-log", file.to_str().unwrap()]);
    let mut child = ground
        .command(&["journal", "--follow", "--after", "0", "--form", "pack"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let orchestrator = ground.token("orch", "agent", &["build:orchestrator"]);
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=It has no log line"]).says(0, &[]);
    ground.ask(&["new", "build.task", "--id", "TASK-1", "title=Add it"]).says(0, &[]);
    ground.ask_as(&orchestrator, &["fire", "build.task/TASK-1", "assign"]).says(0, &[]);
    let line = lines.next().unwrap().unwrap();
    assert!(line.starts_with("{\"timestamp\":\""), "{line}");
    let expected =
        r#","taskId":"TASK-1","event":"STATE_TRANSITION","from":"pending","to":"assigned","actor":"orch""#;
    assert!(line.contains(expected), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    // A clean stop writes the last lines.
    ground.stop();
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written.lines().next(), Some(line.as_str()), "{written}");
    assert!(!written.contains("T-1\""), "{written}");
}

/// A pseudo-terminal of 100 columns, by the program that every Debian has.
fn terminal(ground: &ClientServer, line: &str) -> Command {
    let mut command = Command::new("script");
    let line =
        format!("stty rows 30 cols 100; {} {line} --data {}", env!("CARGO_BIN_EXE_trackside"), ground.data());
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("TERM", "xterm");
    isolate(&mut command);
    command.env_remove("COLUMNS").env_remove("LINES").env_remove("NO_COLOR");
    command
}

/// Reads the output of a terminal in the background. The channel closes at the end of the output.
fn read_screen(mut out: ChildStdout) -> Receiver<Vec<u8>> {
    let (tell, screen) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = out.read(&mut bytes) {
            if tell.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    screen
}

/// Waits until the screen has shown this.
fn wait_for_words(screen: &Receiver<Vec<u8>>, seen: &mut String, words: &str) {
    let begun = Instant::now();
    while !seen.contains(words) {
        assert!(begun.elapsed() < PATIENCE, "never shown: {words}\n{seen}");
        if let Ok(bytes) = screen.recv_timeout(Duration::from_millis(100)) {
            seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn on_a_terminal_it_is_a_view_that_moves_and_ends_on_q() {
    let ground = ClientServer::small("view");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let mut child =
        terminal(&ground, "watch small.light").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let screen = read_screen(child.stdout.take().unwrap());
    // Blanks are not drawn, so the test searches for single words.
    let mut seen = String::new();
    for words in ["small.light", "things", "overdue", "latest", "FIXING", "quits"] {
        wait_for_words(&screen, &mut seen, words);
    }
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    wait_for_words(&screen, &mut seen, "switch_on");
    child.stdin.take().unwrap().write_all(b"q").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // The screen is given back. The channel closes at the end of the output.
    while let Ok(bytes) = screen.recv_timeout(PATIENCE) {
        seen.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(seen.contains("\u{1b}[?1049l"), "{seen}");
    // Colours are control sequences, never visible text.
    let drawn: String =
        seen.split('\u{1b}').map(|it| it.trim_start_matches(|c: char| "[?;0123456789".contains(c))).collect();
    assert!(!drawn.contains("[1m") && !drawn.contains("[0m"), "{drawn}");
}

/// Passes the bytes of a client on to the server. Holds back requests for events until `open` has received something.
fn pass_on(mut client: TcpStream, server: &str, arrived: &Sender<()>, open: &Mutex<Receiver<()>>) {
    let mut to_server = TcpStream::connect(server).unwrap();
    let (mut from_server, mut to_client) = (to_server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        if String::from_utf8_lossy(&bytes[..count]).contains("/v1/events") {
            let _ = arrived.send(());
            let _ = open.lock().unwrap().recv_timeout(PATIENCE);
        }
        if to_server.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to_server.shutdown(Shutdown::Both);
}

#[test]
fn an_event_before_the_feed_is_connected_is_shown() {
    let ground = ClientServer::small("before");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall"]).says(0, &[]);
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/{file}", ground.data())).unwrap().trim().to_owned();
    let (server, token) = (read("address").trim_start_matches("http://").to_owned(), read("token"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (arrived, arrivals) = channel();
    let (opener, open) = channel();
    let open = Arc::new(Mutex::new(open));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, arrived, open) = (server.clone(), arrived.clone(), open.clone());
            std::thread::spawn(move || pass_on(client, &server, &arrived, &open));
        }
    });
    let mut command = terminal(&ground, "watch small.light");
    command.env("TRACKSIDE_URL", url).env("TRACKSIDE_TOKEN", token);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let screen = read_screen(child.stdout.take().unwrap());
    let mut seen = String::new();
    wait_for_words(&screen, &mut seen, "quits");
    // The view is drawn, and its feed is not connected yet.
    arrivals.recv_timeout(PATIENCE).unwrap();
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    opener.send(()).unwrap();
    wait_for_words(&screen, &mut seen, "switch_on");
    child.stdin.take().unwrap().write_all(b"q").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
