//! The end of a server: orderly within a set time, with notifications for systemd.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ground::{LIGHT, scratch, small};
use crate::program::binary;

/// The longest wait in these tests.
const LONG: Duration = Duration::from_secs(60);

/// The server's request for the rest of the body.
const GO_ON: [u8; 25] = *b"HTTP/1.1 100 Continue\r\n\r\n";

/// A server that is ours alone; killed if the test does not end it.
struct OwnServer {
    root: PathBuf,
    child: Child,
}

impl OwnServer {
    fn new(name: &str, more: &[&str], environment: &[(&str, &str)]) -> Self {
        let root = scratch(name);
        let pack = small(&root, 1, LIGHT);
        let mut command = binary(&["up", "--listen", "127.0.0.1:0", "--clock", "manual", "--packs", &pack]);
        command.arg("--data").arg(root.join("data")).args(more).envs(environment.iter().copied());
        command.arg("--token-file").arg(root.join("data/token"));
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let up = Self { root, child };
        until(|| up.root.join("data/address").is_file());
        up
    }

    fn address(&self) -> String {
        self.read("address")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root.join("data").join(name)).unwrap().trim().to_owned()
    }

    /// A request whose body is not complete, with the missing rest.
    fn begin_request(&self) -> (TcpStream, &'static [u8]) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let body: &[u8] = br#"{"id":"A","fields":{"place":"hall"}}"#;
        let (said, left) = body.split_at(10);
        let head = format!(
            "POST /v1/entities/small.light HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            self.address(),
            self.read("token"),
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // After `100 Continue`, the request is under way.
        let mut go_on = [0; GO_ON.len()];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(go_on, GO_ON, "{}", String::from_utf8_lossy(&go_on));
        stream.write_all(said).unwrap();
        (stream, left)
    }

    fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    fn exit_code(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it does not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn all_of(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn open_requests_are_answered_before_the_server_ends() {
    let mut up = OwnServer::new("stopping-well", &["--stop-within", "60"], &[]);
    let (mut stream, left) = up.begin_request();
    up.terminate();
    // It accepts no new connections, and still answers the open request.
    until(|| TcpStream::connect(up.address()).is_err());
    stream.write_all(left).unwrap();
    let answer = all_of(stream);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(up.exit_code(), 0);
    // The address was this server's, and another program may listen there now.
    assert!(!up.root.join("data/address").exists());
}

#[test]
fn the_server_ends_after_its_grace_period() {
    let mut up = OwnServer::new("stopping-late", &["--stop-within", "1"], &[]);
    let (stream, _) = up.begin_request();
    up.terminate();
    assert_eq!(up.exit_code(), 0);
    // It ended while the request was under way: had it waited, the request would have been answered as a
    // timeout.
    assert_eq!(all_of(stream), "");
}

#[cfg(target_os = "linux")]
mod told {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    fn next_datagram(socket: &UnixDatagram) -> String {
        let mut room = [0; 256];
        let length = socket.recv(&mut room).unwrap();
        String::from_utf8_lossy(&room[..length]).into_owned()
    }

    fn lives(socket: &UnixDatagram, name: &str, said: &str) {
        socket.set_read_timeout(Some(LONG)).unwrap();
        let mut up = OwnServer::new(name, &[], &[("NOTIFY_SOCKET", said), ("WATCHDOG_USEC", "100000")]);
        assert_eq!(next_datagram(socket), "READY=1");
        for _ in 0..3 {
            assert_eq!(next_datagram(socket), "WATCHDOG=1");
        }
        // A request is under way, so the server does not end at once.
        let (mut stream, left) = up.begin_request();
        up.terminate();
        // Watchdog messages that were under way come first.
        let mut last = next_datagram(socket);
        while last == "WATCHDOG=1" {
            last = next_datagram(socket);
        }
        assert_eq!(last, "STOPPING=1");
        // Ten times the interval of watchdog messages.
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        assert!(socket.recv(&mut [0; 8]).is_err(), "a sign of life while it stops");
        stream.write_all(left).unwrap();
        assert!(all_of(stream).starts_with("HTTP/1.1 201"));
        assert_eq!(up.exit_code(), 0);
        socket.set_nonblocking(true).unwrap();
        assert!(socket.recv(&mut [0; 8]).is_err(), "a sign of life after the end");
    }

    #[test]
    fn systemd_is_notified_of_ready_watchdog_and_stopping() {
        let path = std::env::temp_dir().join(format!("trackside-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        lives(&socket, "stopping-notify", path.to_str().unwrap());
        std::fs::remove_file(Path::new(&path)).unwrap();
        let name = format!("trackside-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        lives(&UnixDatagram::bind_addr(&address).unwrap(), "stopping-abstract", &format!("@{name}"));
    }

    #[test]
    fn a_project_that_cannot_be_written_sends_no_watchdog_message() {
        let name = format!("trackside-notify-sick-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        let said = format!("@{name}");
        let up =
            OwnServer::new("stopping-sick", &[], &[("NOTIFY_SOCKET", &said), ("WATCHDOG_USEC", "100000")]);
        assert_eq!(
            (next_datagram(&socket), next_datagram(&socket)),
            ("READY=1".to_owned(), "WATCHDOG=1".to_owned())
        );
        let (journal, away) = (up.root.join("data/journal.db"), up.root.join("data/away.db"));
        std::fs::rename(&journal, &away).unwrap();
        let (mut stream, left) = up.begin_request();
        stream.write_all(left).unwrap();
        let answer = all_of(stream);
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        // The notifications so far, and no further ones.
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut room = [0; 64];
        let mut signs = 0;
        while socket.recv(&mut room).is_ok() {
            signs += 1;
            assert!(signs < 200, "it says that it is well");
        }
        std::fs::rename(&away, &journal).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(next_datagram(&socket), "WATCHDOG=1", "it is well again");
    }
}
