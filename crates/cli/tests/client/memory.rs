//! What a server takes of the machine while nobody asks.
#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::ground::{LIGHT, scratch, small};
use crate::program::binary;

#[test]
fn a_server_has_its_memory_in_small_pages() {
    let root = scratch("memory");
    let pack = small(&root, 1, LIGHT);
    let mut up = binary(&["up", "--listen", "127.0.0.1:0", "--packs", &pack]);
    let mut child = up.arg("--data").arg(root.join("data")).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !root.join("data/address").is_file() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // A kernel without huge pages does not speak of them.
    let huge = status.lines().find_map(|it| it.strip_prefix("THP_enabled:"));
    assert!(huge.is_none_or(|it| it.trim() == "0"), "{status}");
}
