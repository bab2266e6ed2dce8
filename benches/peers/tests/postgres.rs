//! A real PostgreSQL, where one is installed.

use std::time::Duration;

use bench_peers::control::postgres::{Installation, measure};
use bench_peers::scratch::Scratch;

#[test]
fn every_way_moves_entities_and_nothing_is_left_behind() {
    let Some(installation) = Installation::find() else {
        println!("skipped: PostgreSQL is not installed");
        return;
    };
    let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
    let folder = scratch.path().join("pg");
    // `measure` itself refuses scripts that move nothing.
    let measured = measure(&installation, &folder, 1_000, &[2], Duration::from_secs(1), &|_| ()).unwrap();
    assert_eq!(measured.tried.len(), 2);
    for it in &measured.tried {
        assert!(it.pace.commands > 0.0, "{it:?}");
        assert_eq!(
            it.pace.latency.count() as f64,
            it.pace.commands,
            "every transaction is in the log: {it:?}"
        );
    }
    assert_eq!(measured.elsewhere, None);
    assert!(!folder.exists());
    let left = std::fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(left, 0);
}
