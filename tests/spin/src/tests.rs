//! A lamp whose worlds can be counted by hand.

use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::Sources;

use super::*;

const LAMP: &str = r#"
lifecycle: house.lamp
fields:
  owner: { type: string, by: engine }
  colour: { enum: [red, green] }
create: { by: "true" }
states:
  off:    { initial: true }
  on:     {}
  broken: { final: true }
  melted: { final: true }
transitions:
  take:   { from: off, by: "true", set: { owner: actor.id } }
  switch: { from: off, to: on, by: actor.id != owner, count: [uses] }
  rest:   { from: on, by: colour == "red" || human, to: [ { when: uses >= 2, state: broken }, { state: off } ] }
  melt:   { from: on, to: melted, by: "true", when: uses > 2 }
counters: { uses: {} }
prove:
  - { never: 'state == "broken" && owner == null', says: A broken lamp belongs to somebody }
  - { never: uses > 2, says: Nobody uses it three times }
  - { always: 'uses == 2', in: [broken], says: It breaks the second time }
  - { reachable: 'state == "melted"', says: It may melt }
  - { never: 'state == "on" && id == "lamp-1"', says: The first one is never on }
"#;

fn pack(lifecycle: &str) -> Pack {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml".to_owned(), "pack: house\nversion: 1\n".to_owned());
    let lifecycles = vec![sources.add("lamp.yaml".to_owned(), lifecycle.to_owned())];
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => pack,
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn lamps() -> AbstractModel {
    let pack = pack(LAMP);
    let life = pack.lifecycles.first().unwrap();
    abstractions(&pack, life, ModelSize::default()).remove(0)
}

fn all(model: &AbstractModel, symmetry: bool, fault: Option<SearchFault>) -> Verdicts {
    verdicts(model, symmetry, 1_000_000, 2, fault)
}

#[test]
fn a_lamp_has_as_many_worlds_as_by_hand() {
    // The colour does not matter, since a person may do everything that a red one needs. It does not exist;
    // or it is off or on after 0, 1 or 2 uses, or broken: with no owner, a1, a2 or another actor.
    let one = 1 + 4 * 5;
    let model = lamps();
    let found = all(&AbstractModel { entities: 1, ..model.clone() }, false, None);
    assert_eq!(found.worlds, one);
    let found = all(&model, false, None);
    assert_eq!((model.entities, found.worlds, found.cut), (2, one * one, false));
    assert_eq!(found.reached, [true, true, true, false]);
    assert_eq!(found.found, [true, false, false, false, true]);
    let exact: Vec<bool> = model.claims.iter().map(|it| it.exact).collect();
    assert_eq!(exact, [true, true, true, true, false]);
}

#[test]
fn symmetric_worlds_stand_for_all_of_them() {
    let model = lamps();
    let (plain, symmetric) = (all(&model, false, None), all(&model, true, None));
    assert!(symmetric.worlds * 2 < plain.worlds, "{} and {}", symmetric.worlds, plain.worlds);
    assert_eq!(symmetric.stand_for, plain.worlds);
    assert_eq!((symmetric.reached, symmetric.found), (plain.reached, plain.found));
}

#[test]
fn every_planted_fault_is_found() {
    let model = lamps();
    for fault in SearchFault::ALL {
        let differs = [false, true].into_iter().any(|symmetry| {
            let (right, wrong) = (all(&model, symmetry, None), all(&model, symmetry, Some(fault)));
            (right.stand_for, right.reached, right.found) != (wrong.stand_for, wrong.reached, wrong.found)
        });
        assert!(differs, "{fault:?} is not noticed");
    }
}

#[test]
fn parts_that_are_too_large_are_left_out_and_listed() {
    let pack = pack(LAMP);
    let life = pack.lifecycles.first().unwrap();
    let models = abstractions(&pack, life, ModelSize { worlds: 100, moves: 100 });
    let [pair, alone] = models.as_slice() else { panic!("{} models", models.len()) };
    assert_eq!((pair.entities, alone.entities, alone.left_out.len()), (2, 1, 0));
    assert_eq!(pair.left_out, ["owner"]);
    assert!(all(pair, false, None).worlds <= 100);
}

#[test]
fn it_is_written_as_promela() {
    insta::assert_snapshot!(promela(&lamps()));
}
