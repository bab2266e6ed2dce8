//! The findings in the five packs.

use trackside_lifecycle::model::Notification;

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

/// People read every notification. An agent reads those that name it, and those of an audience that is its role.
#[test]
fn a_notification_without_recipients_goes_to_people_or_to_a_role() {
    let of_people = [
        "build humans",
        "coding operator",
        "mission operator",
        "research internal",
        "research user",
        "turns operator",
    ];
    let mut used = std::collections::BTreeSet::new();
    for name in ["build", "coding", "mission", "research", "turns"] {
        let pack = folder(&root().join("packs").join(name)).pack;
        for life in &pack.lifecycles {
            let of_rules = life.notify.iter().map(|it| &it.notification);
            let of_moves = life.consequences().into_iter().flat_map(|it| &it.notify);
            let read_by_few: Vec<&Notification> = of_rules
                .chain(of_moves)
                .filter(|it| it.to.is_none() && !pack.roles.contains_key(&it.audience))
                .collect();
            used.extend(read_by_few.iter().map(|it| format!("{name} {}", it.audience)));
        }
    }
    let unread: Vec<&String> = used.iter().filter(|it| !of_people.contains(&it.as_str())).collect();
    assert!(
        unread.is_empty(),
        "no agent reads the notifications of {unread:?}: name the audience like a role"
    );
}
