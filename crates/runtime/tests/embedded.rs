//! The example runs.

#[path = "../examples/embedded.rs"]
mod embedded;

#[test]
fn another_program_can_embed_the_runtime() {
    let folder = std::env::temp_dir().join(format!("trackside-embedded-test-{}", std::process::id()));
    let pack = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/mission");
    assert_eq!(embedded::create_a_task(&folder, &pack).ok().as_deref(), Some("INBOX"));
    // The second run finds the task.
    let again = embedded::create_a_task(&folder, &pack).unwrap_or_default();
    assert!(again.contains("exists already"), "{again}");
    std::fs::remove_dir_all(&folder).ok();
}
