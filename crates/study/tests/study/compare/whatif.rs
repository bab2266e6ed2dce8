//! Journals of the shipped packs' scenarios, run against changed definitions.

use std::sync::Arc;

use super::definition::{PACKS, Texts, shipped_pack, yaml_in};
use trackside_engine::Law;
use trackside_engine::journal::Journal;
use trackside_engine::trace::Trace;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::compare::whatif::{Actors, WhatIf, read_actors, what_if};
use trackside_study::scenario;

fn law(texts: &Texts) -> Arc<Law> {
    Arc::new(Law::new([texts.compiled().unwrap_or_else(|it| panic!("{it}"))]))
}

/// The journals of a pack's scenarios whose names contain a text.
fn journals(name: &str, only: &str) -> Vec<Journal> {
    let law = law(&Texts::shipped_pack(name));
    let (mut sources, mut problems) = (Sources::default(), Problems::default());
    let mut journals = Vec::new();
    for path in yaml_in(&shipped_pack(name).join("scenarios")) {
        let file = sources.add(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        let mut scenarios = scenario::read_file(&sources, file, &mut problems).unwrap();
        scenarios.matrix = None;
        if let Some(list) = &mut scenarios.scenarios {
            list.retain(|it| {
                it.0.get("scenario").and_then(|it| it.text()).is_some_and(|it| it.contains(only))
            });
        }
        scenario::run_watched(&law, &scenarios, &Arc::new(Trace::default()), &mut problems, &mut |ended| {
            journals.push(ended.journal());
        });
    }
    assert!(!journals.is_empty(), "{only}");
    journals
}

fn whatif_lines(answer: &WhatIf) -> Vec<String> {
    let lines = answer.differences.iter().map(|it| it.line());
    lines.chain(answer.ends.iter().map(|it| it.line())).collect()
}

#[test]
fn the_same_definition_gives_the_same_past() {
    for name in PACKS {
        let law = law(&Texts::shipped_pack(name));
        let (mut commands, mut lost, mut wrong) = (0, 0, Vec::new());
        let most: usize = std::env::var("JOURNALS").ok().and_then(|it| it.parse().ok()).unwrap_or(10);
        let all = journals(name, "");
        for journal in all.iter().step_by((all.len() / most).max(1)) {
            let journal = Journal::read(&journal.to_lines()).unwrap();
            let answer = what_if(&law, &law, &journal, &Actors::default());
            commands += answer.commands;
            lost += answer.not_run.len();
            let title = journal.about.scenario.clone().unwrap_or_default();
            wrong.extend(whatif_lines(&answer).into_iter().map(|it| format!("{title}: {it}")));
        }
        assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
        assert!(commands > 5 && commands > lost, "{name}: {commands} commands replayed, {lost} not");
    }
}

/// A pack with one text put for another, everywhere.
fn mutated_law(name: &str, from: &str, to: &str) -> Arc<Law> {
    let mut texts = Texts::shipped_pack(name);
    let found: usize = texts.lifecycles.iter().chain([&texts.pack]).map(|it| it.matches(from).count()).sum();
    assert!(found > 0, "`{from}` must be there");
    for text in texts.lifecycles.iter_mut().chain([&mut texts.pack]) {
        *text = text.replace(from, to);
    }
    law(&texts)
}

#[test]
fn a_tighter_rule_refuses_recorded_commands() {
    let old = law(&Texts::shipped_pack("mission"));
    let new = mutated_law(
        "mission",
        "require: { title: A title is required }",
        "require: { title: A title is required, description: Say more }",
    );
    let mut lines = Vec::new();
    for journal in journals("mission", "") {
        let answer = what_if(&old, &new, &journal, &Actors::default());
        lines.extend(answer.first_hand().map(|it| it.line()));
        if !answer.differences.is_empty() {
            assert!(!answer.ends.is_empty());
        }
    }
    assert!(!lines.is_empty());
    assert!(
        lines
            .iter()
            .all(|it| it.contains("create mission.task/") && it.contains("would be refused: Say more")),
        "{lines:#?}"
    );
}

#[test]
fn a_shorter_time_strikes_earlier() {
    let old = law(&Texts::shipped_pack("coding"));
    let new = mutated_law("coding", "after: settings.draft_alarm", "after: 1m");
    let mut lines = Vec::new();
    for journal in journals("coding", "raft") {
        let answer = what_if(&old, &new, &journal, &Actors::default());
        lines.extend(answer.first_hand().map(|it| it.line()));
    }
    assert!(lines.iter().any(|it| it.contains("timer DRAFT") && it.contains("would fire")), "{lines:#?}");
}

#[test]
fn a_tighter_role_refuses_and_later_differences_are_marked_as_consequences() {
    let old = law(&Texts::shipped_pack("coding"));
    let new = mutated_law("coding", "by: (coder || supervisor) && author", "by: supervisor && author");
    let (mut lines, mut follow_ups) = (Vec::new(), 0);
    for journal in journals("coding", "").iter().step_by(7) {
        let answer = what_if(&old, &new, journal, &Actors::default());
        lines.extend(answer.first_hand().map(|it| it.line()));
        follow_ups += answer.follow_ups();
    }
    assert!(
        lines.iter().any(|it| it.contains("would be refused") && it.contains("(not-permitted)")),
        "{lines:#?}"
    );
    assert!(follow_ups > 0, "{lines:#?}");
}

#[test]
fn unknown_roles_are_inferred_as_the_fewest_that_the_old_rules_accept() {
    let old = law(&Texts::shipped_pack("build"));
    let mut inferred = Vec::new();
    for journal in journals("build", "").iter().step_by(4) {
        let mut silent = journal.clone();
        silent.about.actors.clear();
        let answer = what_if(&old, &old, &silent, &Actors::default());
        assert_eq!(whatif_lines(&answer), [""; 0], "{:?}", journal.about.scenario);
        inferred.extend(answer.inferred);
    }
    assert!(inferred.iter().any(|(_, roles)| !roles.is_empty()));
    // No actor is given more roles than it is known to have, but for those that the rules require.
    assert!(inferred.iter().all(|(_, roles)| !roles.iter().any(|it| it == "admin")), "{inferred:?}");
}

#[test]
fn actors_are_read_as_scenarios_write_them() {
    let read = read_actors("ada: { agent: [lead] }\nhank: { human: [] }\n").unwrap();
    assert_eq!(
        read,
        read_actors("{\"actors\": {\"ada\": {\"agent\": [\"lead\"]}, \"hank\": {\"human\": []}}}").unwrap()
    );
    assert!(read_actors("ada: { robot: [lead] }").unwrap_err().contains("`robot` is not an actor kind"));
    assert!(read_actors("- ada").is_err());
}
