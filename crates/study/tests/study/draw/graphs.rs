//! Graphs of the packs, and of a small definition that has every kind of way.

use std::path::Path;

use crate::folder;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::{Aim, Pack, Target};
use trackside_lifecycle::source::Sources;
use trackside_protocol::diagram::{Cause, Edge, Graph, OpenTarget, RuleKind};
use trackside_study::draw::graph::pack_graphs;

fn packs() -> Vec<Pack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs");
    let names = ["build", "coding", "mission", "research", "turns"];
    names.iter().map(|it| folder::pack(&folder.join(it)).0).collect()
}

fn small() -> Graph {
    let mut sources = Sources::default();
    let pack = sources
        .add("pack.yaml", "pack: small\nversion: 1\nroles: { lead: {} }\nsettings: { patience: 2h }\n");
    let life = sources.add(
        "job.yaml",
        r#"
lifecycle: small.job
fields: { back: { type: state, by: engine }, owner: { type: string } }
relations: { owner_of: actor.id == owner }
path: [NEW, DOING, DONE]
create: { by: human }
states:
  NEW: { initial: true }
  DOING: { deadline: { after: settings.patience, warn: [80%], then: give_up } }
  CHECKED: { always: [ { when: owner != null, state: DONE }, { state: NEW } ] }
  ASIDE: {}
  DONE: { final: true, outcome: success }
slots: { work: { for: 30m, lost: fall_silent } }
counters: { tries: { limit: 3, then: give_up } }
transitions:
  start: { from: NEW, to: { next: true }, by: human || (lead && !owner_of) || engine, lease: work }
  check: { from: DOING, to: CHECKED, by: owner_of, count: [tries] }
  park: { from: [NEW, DOING], to: ASIDE, by: "true", set: { back: state } }
  resume: { from: ASIDE, to: { field: back }, by: human }
  send: { from: DOING, to: { ask: [NEW, ASIDE] }, by: lead }
  give_up: { from: any, by: engine, to: [ { when: state == "ASIDE", stay: true }, { state: ASIDE, set: { back: "'NEW'" } } ] }
  fall_silent: { from: DOING, to: NEW, by: engine, release: [work] }
  edit: { from: any, by: human, takes: [owner] }
"#,
    );
    match compile(&sources, &PackFiles { pack, lifecycles: vec![life] }) {
        Ok((pack, _)) => pack_graphs(&pack).remove(0),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn between<'a>(graph: &'a Graph, from: &str, to: &str) -> Vec<&'a Edge> {
    graph.edges.iter().filter(|it| *it.from == *from && *it.to == *to).collect()
}

#[test]
fn every_arm_of_every_pack_is_drawn() {
    for pack in packs() {
        for (life, graph) in pack.lifecycles.iter().zip(pack_graphs(&pack)) {
            assert_eq!(life.states.len(), graph.nodes.len());
            for arm in life.transitions.iter().flat_map(|it| &it.arms) {
                for from in &arm.from.0 {
                    let node = graph.node(from).unwrap();
                    let rules = graph.leaving(from).map(|it| &it.rule).chain(&node.stays);
                    let mine = rules
                        .filter(|it| it.transition.as_ref() == Some(&arm.transition) && it.arm == arm.index);
                    assert!(mine.count() > 0, "{} {} {} from {from}", life.name, arm.transition, arm.index);
                    let Target::One(Aim::State(to)) = &arm.target else { continue };
                    let there = between(&graph, from, to);
                    assert!(there.iter().any(|it| it.rule.transition.as_ref() == Some(&arm.transition)));
                }
            }
            for timer in life.timers.iter().filter(|it| it.then.is_some()) {
                let rules =
                    graph.edges.iter().map(|it| &it.rule).chain(graph.nodes.iter().flat_map(|it| &it.stays));
                let fired = |it: &trackside_protocol::diagram::Trigger| {
                    it.cause == Cause::Timer && it.name == timer.name
                };
                assert!(
                    rules.into_iter().any(|it| it.triggers.iter().any(fired)),
                    "{} {}",
                    life.name,
                    timer.name
                );
            }
            for state in life.states.iter().filter(|it| !it.always.is_empty()) {
                assert!(graph.leaving(&state.name).any(|it| it.rule.transition.is_none()), "{}", state.name);
            }
        }
    }
}

#[test]
fn a_move_names_its_actors_and_its_causes() {
    let graph = small();
    let start = between(&graph, "NEW", "DOING");
    assert_eq!(start.len(), 1);
    assert_eq!(start[0].rule.who, "human or (lead and not owner_of)");
    assert_eq!(start[0].rule.kind, RuleKind::Asked);
    assert_eq!(between(&graph, "NEW", "ASIDE")[0].rule.who, "anyone");
    assert_eq!(graph.created_by, "human");
}

#[test]
fn time_and_counters_have_edges_of_their_own() {
    let graph = small();
    let aside = between(&graph, "DOING", "ASIDE");
    let kinds: Vec<RuleKind> = aside.iter().map(|it| it.rule.kind).collect();
    assert_eq!(
        kinds,
        [RuleKind::Asked, RuleKind::Asked, RuleKind::Timed, RuleKind::Engine],
        "park, send, give_up twice"
    );
    assert_eq!(aside[2].rule.span.as_deref(), Some("2h"));
    assert_eq!(aside[3].rule.triggers[0].cause, Cause::Counter);
    let silent = between(&graph, "DOING", "NEW");
    assert_eq!(silent.iter().map(|it| it.rule.kind).collect::<Vec<_>>(), [RuleKind::Asked, RuleKind::Timed]);
    assert_eq!(graph.node("DOING").unwrap().clocks[0].words, "2h, then give_up, warns at 80 %");
    assert!(
        between(&graph, "NEW", "ASIDE").iter().all(|it| it.rule.kind != RuleKind::Timed),
        "it runs in DOING only"
    );
}

#[test]
fn computed_targets_are_drawn_to_every_possible_state() {
    let graph = small();
    let targets = |name: &str, from: &str| -> Vec<String> {
        let mine = graph.leaving(from).filter(|it| it.rule.label() == name);
        mine.map(|it| format!("{} {:?}", it.to, it.free)).collect()
    };
    let back = Some(OpenTarget::Field("back".into()));
    assert_eq!(targets("resume", "ASIDE"), [format!("NEW {back:?}"), format!("DOING {back:?}")]);
    assert_eq!(targets("send", "DOING"), ["NEW Some(Asked)", "ASIDE Some(Asked)"]);
    assert_eq!(targets("always", "CHECKED"), ["DONE None", "NEW None"]);
    let when: Vec<_> = graph.leaving("CHECKED").filter_map(|it| it.rule.when.as_deref()).collect();
    assert_eq!(when, ["owner ≠ nothing", "otherwise"]);
}

#[test]
fn transitions_without_a_move_are_listed_with_their_state() {
    let graph = small();
    let names = |state: &str| -> Vec<String> {
        graph.node(state).unwrap().stays.iter().map(|it| it.label().to_owned()).collect()
    };
    assert_eq!(names("ASIDE"), ["give_up", "edit"], "its other choice is never taken here");
    assert_eq!(names("NEW"), ["edit"]);
    assert!(between(&graph, "ASIDE", "ASIDE").is_empty());
}

#[test]
fn leases_are_followed_until_they_end() {
    let graph = small();
    let held: Vec<_> = graph.nodes.iter().map(|it| (it.name.as_str(), it.leases.len())).collect();
    assert_eq!(held, [("NEW", 1), ("DOING", 1), ("CHECKED", 1), ("ASIDE", 1), ("DONE", 0)]);
}
