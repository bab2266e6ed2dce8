//! Findings with their places, as people and machines see them.

use super::common::pack;

const PACK: &str = "pack: t\nversion: 1\nsettings: { patience: 1h }\n";
const THING: &str = "\
lifecycle: t.thing
settings:
  own: 3
create: { by: human }
states:
  OPEN: { initial: true }
  BLOCKED: {}
  DONE: { final: true }
transitions:
  finish: { from: OPEN, to: DONE, by: human }
  block:
    - { from: OPEN, to: BLOCKED, by: agent }
    - { from: OPEN, to: DONE, by: human && agent }
";

#[test]
fn findings_are_shown_like_the_mistakes_of_the_loader() {
    let loaded = pack(&[PACK, THING]);
    insta::assert_snapshot!(loaded.problems().render(&loaded.sources, false));
}

#[test]
fn findings_are_given_to_machines() {
    let loaded = pack(&[PACK, THING]);
    let json = trackside_study::check::to_json(&loaded.findings(), &loaded.sources, &loaded.files);
    insta::assert_snapshot!(format!("{json:#}"));
}
