//! "Never" and "always" are certain: conditions that are hard to meet, and can be met.

use super::common::{codes, pack};

const PACK: &str = "
pack: t
version: 1
settings: { least: 3, low: 0.5 }
roles: { a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {} }
";

const LIFE: &str = r#"
lifecycle: t.thing
fields:
  confidence: { type: number, minimum: 0, maximum: 1 }
  n: { type: integer }
  m: { type: integer }
  o: { type: integer }
  x: { type: number }
  approvers: { type: array, items: { type: string } }
  labels: { items: { enum: [red, green] } }
  author: { type: string }
  tester: { type: string }
  reviewer: { type: string }
  mood: { enum: [good, bad] }
  one: { type: time }
  two: { type: time }
  three: { type: time }
  short: { type: span }
  long: { type: span }
  things: { type: object }
relations: { stranger: '!(actor.id in [author, tester, reviewer])' }
create: { by: a || b || c || d || e || f || g }
states: { OPEN: { initial: true }, DONE: { final: true } }
transitions:
  touch: { from: OPEN, by: stranger }
  finish: { from: OPEN, to: DONE, by: human && n > settings.least && x > settings.low }
  drop: { from: OPEN, to: DONE, by: 'BY', when: [ { check: 'CHECK', says: no } ] }
"#;

fn finding_codes(by: &str, check: &str) -> Vec<&'static str> {
    codes(&pack(&[PACK, &LIFE.replace("BY", by).replace("CHECK", check)]).findings())
}

#[test]
fn a_satisfiable_condition_is_not_reported() {
    for (by, check) in [
        // Between two numbers, and several in a row.
        ("human", "confidence > 0.7 && confidence < 0.9"),
        ("human", "confidence > 0.7 && confidence < 0.70001"),
        ("human", "x > 1.0 && x < 1.001"),
        ("human", "n < m && m < o && o < 100 && n > 96"),
        ("human", "n < x && x < m && m < n + 2"),
        ("human", "n > 2 && x > 2.0 && n < x && x < m && m < 5"),
        ("human", "x < settings.low && x > 0.0 && settings.low < 0.25"),
        // A day, and an order of days.
        ("human", "now > timestamp(\"2026-01-01T00:00:00Z\")"),
        ("human", "now < timestamp(\"2026-01-01T00:00:00Z\")"),
        ("human", "now > timestamp(\"2026-01-01T00:00:00Z\") && now < timestamp(\"2026-01-02T00:00:00Z\")"),
        ("human", "createdAt < one && one < two && two < three && three < now"),
        ("human", "short < long && long < timeInState && short > duration(\"1h\")"),
        // Pairwise different people.
        (
            "human",
            "author != \"\" && tester != \"\" && reviewer != \"\" && author != null && tester != null && reviewer != null \
             && author != tester && author != reviewer && tester != reviewer && !(actor.id in [author, tester, reviewer])",
        ),
        (
            "human && stranger",
            "author != tester && tester != reviewer && author != reviewer && author != null && tester != null && reviewer != null",
        ),
        // Long lists that contain a particular id.
        ("human && actor.id in approvers", "size(approvers) >= 4"),
        ("human && !(actor.id in approvers)", "size(approvers) >= 4 && author in approvers"),
        ("human", "\"x\" in approvers && \"y\" in approvers && size(approvers) > 5"),
        ("human", "size(labels) == 3 && !(\"red\" in labels)"),
        ("human", "size(approvers) > size(labels) && size(labels) > 2"),
        ("human", "size(approvers) == n && n > 2 && n < m && m < 5"),
        // Names from other sources.
        ("human", "author == state"),
        ("human", "author == mood && mood == \"good\""),
        ("human", "author == actor.kind"),
        // Conditions that a handful of values does not cover.
        ("human", "author > \"b\" && author < \"c\""),
        ("human", "approvers == [\"b\", \"a\"]"),
        ("human", "approvers == labels && size(labels) > 1"),
        ("human", "\"key\" in things"),
        ("human", "n * m == 391 && n > 1 && m > 1"),
        ("human", "author.startsWith(tester) && author != tester && size(tester) > 7"),
        ("human", "approvers.exists(it, it == author) && size(approvers) > 20"),
        // Many roles at once, and not others.
        ("a && b && c && !d && !e && !f && !g", "n > 0"),
        ("(a || b || c) && !(d || e) && (f || g) && !(a && b)", "n > 0"),
    ] {
        assert!(finding_codes(by, check).is_empty(), "{by}, {check}: {:?}", finding_codes(by, check));
    }
}

#[test]
fn an_unsatisfiable_condition_is_reported() {
    for check in [
        "confidence > 0.9 && confidence < 0.7",
        "confidence > 1.0",
        "n > 3 && n < 4",
        "n < m && m < n",
        "one < two && two < three && three < one",
        "now < timestamp(\"2026-01-01T00:00:00Z\") && now > timestamp(\"2026-01-02T00:00:00Z\")",
        "author == tester && tester == reviewer && author != reviewer",
        "size(approvers) > 4 && size(approvers) < 3",
        "author == mood && mood == \"good\" && author == \"bad\"",
    ] {
        assert_eq!(finding_codes("human", check), ["never-true"], "{check}");
    }
    assert_eq!(finding_codes("a && b && c && d && e && f && g && human && agent", "n > 0"), ["nobody-may"]);
}
