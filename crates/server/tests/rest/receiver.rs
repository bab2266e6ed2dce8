//! A receiver of webhooks: records every message, and answers as configured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value as Json;

/// A received message.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedMessage {
    /// The method and the path.
    pub line: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl ReceivedMessage {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }

    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The id of the entity it is about.
    pub fn entity(&self) -> String {
        self.json()["data"]["id"].as_str().unwrap().to_owned()
    }
}

/// The answer to a message: a status and further header lines.
pub(crate) type WebhookReply = (u16, String);
type Answers = Arc<Mutex<Box<dyn FnMut(&ReceivedMessage) -> WebhookReply + Send>>>;

/// A receiver that listens until the test ends.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub url: String,
    heard: Arc<(Mutex<Vec<ReceivedMessage>>, Condvar)>,
    answers: Answers,
}

impl Receiver {
    /// A receiver with this answer.
    pub fn new(answers: impl FnMut(&ReceivedMessage) -> WebhookReply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hooks?of=ours", listener.local_addr().unwrap());
        let it = Self { url, heard: Arc::default(), answers: Arc::new(Mutex::new(Box::new(answers))) };
        let own = it.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        it
    }

    /// A receiver that accepts everything.
    pub fn willing() -> Self {
        Self::new(|_| (200, String::new()))
    }

    /// Answers so from now on.
    pub fn answer(&self, answers: impl FnMut(&ReceivedMessage) -> WebhookReply + Send + 'static) {
        *self.answers.lock().unwrap() = Box::new(answers);
    }

    /// Waits for this many messages, and returns them.
    pub fn wait(&self, count: usize) -> Vec<ReceivedMessage> {
        let (heard, changed) = &*self.heard;
        let patience = Duration::from_secs(60);
        let (heard, late) =
            changed.wait_timeout_while(heard.lock().unwrap(), patience, |it| it.len() < count).unwrap();
        assert!(!late.timed_out(), "{} of {count} messages came", heard.len());
        heard.clone()
    }

    /// All messages so far.
    pub fn messages(&self) -> Vec<ReceivedMessage> {
        self.heard.0.lock().unwrap().clone()
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let mut headers = HeaderMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let length: usize = headers.get("content-length")?.to_str().ok()?.parse().ok()?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let heard = ReceivedMessage { line, headers, body };
        // The answer comes first, so that a waiting test sees it.
        let (status, more) = (self.answers.lock().unwrap())(&heard);
        self.heard.0.lock().unwrap().push(heard);
        self.heard.1.notify_all();
        let mut stream = stream;
        write!(stream, "HTTP/1.1 {status} So\r\nContent-Length: 0\r\n{more}\r\n").ok()
    }
}
