//! The memory of an idle server.
#![cfg(target_os = "linux")]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::ground::{LIGHT, scratch, small};
use crate::program::binary;

/// A server that ends with the test, however that ends.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_uses_no_huge_pages() {
    let root = scratch("memory");
    let pack = small(&root, 1, LIGHT);
    let mut up = binary(&["up", "--listen", "127.0.0.1:0", "--packs", &pack]);
    let child = KillOnDrop(up.arg("--data").arg(root.join("data")).stderr(Stdio::null()).spawn().unwrap());
    let begun = Instant::now();
    while !root.join("data/address").is_file() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).unwrap();
    // Kernels before 5.0 do not tell.
    let huge = status.lines().find_map(|it| it.strip_prefix("THP_enabled:"));
    assert!(huge.is_none_or(|it| it.trim() == "0"), "{status}");
}
