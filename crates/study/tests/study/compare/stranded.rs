//! Every way to be stranded: a definition, a change of it, and an entity that is caught.

use super::definition::Texts;
use trackside_engine::Law;
use trackside_engine::entity::{Entity, OpenEffect, Tallies, Tally};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_study::compare::stranded::{Stranding, find_stranded, read_entities};

const PARCEL: &str = "\
lifecycle: post.parcel
fields: { label: { type: string }, weight: { type: integer }, note: { type: string } }
create: { by: human }
states:
  HERE: { initial: true }
  AWAY: { deadline: { after: 4h, then: lose } }
  DONE: { final: true }
transitions:
  send: { from: HERE, to: AWAY, by: human, lease: van, effects: [print] }
  lose: { from: AWAY, to: HERE, by: engine || human, count: [losses] }
  end: { from: AWAY, to: DONE, by: human }
counters: { losses: { limit: 5, then: end } }
slots: { van: { for: 1h } }
effects: { print: { ok: lose } }
";

fn law(lifecycle: &str) -> Law {
    let texts = Texts { pack: "pack: post\nversion: 1\n".to_owned(), lifecycles: vec![lifecycle.to_owned()] };
    Law::new([texts.compiled().unwrap_or_else(|it| panic!("{it}"))])
}

/// A parcel in state AWAY with every kind of content.
fn away(old: &Law) -> Entity {
    let shown = r#"[{ "lifecycle": "post.parcel", "id": "P-1", "state": "AWAY", "previousState": "HERE",
        "fields": { "label": "fragile", "weight": 12 }, "createdAt": "2026-01-01T00:00:00Z",
        "timers": [{ "name": "AWAY", "dueAt": "2026-01-01T04:00:00Z" }],
        "leases": [{ "slot": "van", "holder": "ada", "fence": 1, "expiresAt": "2026-01-01T01:00:00Z" }] }]"#;
    let mut entity = read_entities(shown, old).unwrap().remove(0);
    let tally = Tally { value: 3.0, ..Tally::default() };
    entity.tallies.push(Tallies { counter: Name::new("losses"), by_key: vec![(Name::new("*"), tally)] });
    entity.effects.push(OpenEffect { id: 7, effect: Name::new("print") });
    entity
}

fn caught(from: &str, to: &str) -> Vec<String> {
    assert_eq!(PARCEL.matches(from).count(), 1, "`{from}` must be there once");
    let (old, new) = (law(PARCEL), law(&PARCEL.replace(from, to)));
    let entity = away(&old);
    let found = find_stranded(
        &old,
        &new,
        &[entity],
        &Project::default(),
        Timestamp::parse("2026-01-01T00:30:00Z").unwrap(),
    );
    stranding_lines(&found)
}

fn stranding_lines(found: &Stranding) -> Vec<String> {
    found.groups.iter().map(|it| format!("{} {}: {}", it.trouble.as_str(), it.ids_text(3), it.why)).collect()
}

#[test]
fn an_unchanged_definition_strands_no_entity() {
    assert_eq!(caught("HERE: { initial: true }", "HERE: { initial: true, about: Home. }"), [""; 0]);
}

#[test]
fn every_way_to_be_stranded_is_reported() {
    let renamed = PARCEL.replace("AWAY", "OUT");
    let (old, new) = (law(PARCEL), law(&renamed));
    let gone = find_stranded(&old, &new, &[away(&old)], &Project::default(), Timestamp::default());
    let mut lines = stranding_lines(&gone);
    for (from, to) in [
        ("  end: { from: AWAY, to: DONE, by: human }\n", ""),
        ("weight: { type: integer }", "weight: { type: integer, maximum: 10 }"),
        (", weight: { type: integer }", ""),
        ("AWAY: { deadline: { after: 4h, then: lose } }", "AWAY: { require: { note: Say where } }"),
        (
            "AWAY: { deadline: { after: 4h, then: lose } }",
            "AWAY: { deadline: { after: 4h, then: lose }, holds: weight < 12 }",
        ),
        ("slots: { van: { for: 1h } }", "slots: { truck: { for: 1h } }"),
        ("limit: 5", "limit: 3"),
        ("effects: { print: { ok: lose } }", "effects: { paint: { ok: lose } }"),
        ("effects: { print: { ok: lose } }", "effects: { print: { ok: send } }"),
    ] {
        // References to a removed item are removed with it.
        let to = to.to_owned();
        let text = PARCEL.replace(from, &to);
        let text = if to.contains("truck") { text.replace("lease: van", "lease: truck") } else { text };
        let text = if to.contains("paint") { text.replace("[print]", "[paint]") } else { text };
        let text = if from.contains("end: {") { text.replace(", then: end", "") } else { text };
        let new = law(&text);
        let now = Timestamp::parse("2026-01-01T00:30:00Z").unwrap();
        lines.push(format!("-- {from} -> {to}"));
        lines.extend(stranding_lines(&find_stranded(&old, &new, &[away(&old)], &Project::default(), now)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_state_that_can_no_longer_be_left_is_a_trap() {
    let (old, text) = (law(PARCEL), PARCEL.replace("by: engine || human, count", "by: \"false\", count"));
    let text = text.replace("to: DONE, by: human", "to: DONE, by: \"false\"");
    let new = law(&text);
    let found = find_stranded(&old, &new, &[away(&old)], &Project::default(), Timestamp::default());
    assert!(
        stranding_lines(&found)
            .iter()
            .any(|it| it
                .starts_with("no-way-out P-1: no actor can take the transitions out of AWAY: lose, end")),
        "{:?}",
        stranding_lines(&found)
    );
}

#[test]
fn long_lists_are_cut() {
    let (old, new) = (law(PARCEL), law(&PARCEL.replace("AWAY", "OUT")));
    let many: Vec<Entity> = (1..=9)
        .map(|n| {
            let mut it = away(&old);
            it.key.id = Name::from(format!("P-{n}"));
            it
        })
        .collect();
    let found = find_stranded(&old, &new, &many, &Project::default(), Timestamp::default());
    assert!(
        stranding_lines(&found).iter().any(|it| it.contains("P-1, P-2, P-3 and 6 more")),
        "{:?}",
        stranding_lines(&found)
    );
    assert_eq!((found.count(), found.looked_at), (9, 9));
    let stored = serde_json::to_string(&many).unwrap();
    assert_eq!(read_entities(&stored, &old).unwrap(), many);
}
