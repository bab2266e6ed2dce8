//! The findings in the five packs.

use super::common::{folder, root};

/// They have no errors; the notes are listed here.
#[test]
fn the_packs_have_no_errors() {
    let mut all = Vec::new();
    for name in ["build", "coding", "mission", "research", "turns"] {
        let loaded = folder(&root().join("packs").join(name));
        let begun = std::time::Instant::now();
        let findings = loaded.findings();
        println!("{name}: {} findings in {:?}", findings.len(), begun.elapsed());
        all.extend(
            findings
                .iter()
                .map(|it| format!("{} {} {} {}", it.severity.word(), it.class.code(), it.of, it.way)),
        );
    }
    assert_eq!(
        all,
        [
            "note unhandled-effect build.task effects.plan.write",
            "note unhandled-effect coding.task effects.worktree.remove"
        ]
    );
}
