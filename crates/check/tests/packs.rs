//! What is found in the five packs.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod common;

use common::{folder, root};

#[test]
fn the_packs() {
    for name in ["build", "coding", "mission", "research", "turns"] {
        let loaded = folder(&root().join("packs").join(name));
        let begun = std::time::Instant::now();
        let findings = loaded.findings();
        println!("=== {name} {} findings in {:?}", findings.len(), begun.elapsed());
        for it in &findings {
            println!(
                "{:8} {:24} {} {}\n      {}\n      via {}",
                it.severity.word(),
                it.class.code(),
                it.of,
                it.way,
                it.message,
                it.route
            );
        }
    }
}
