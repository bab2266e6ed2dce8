//! Exports: of a small lifecycle to be read, of awkward names, and of every pack for foreign tools.

use std::path::{Path, PathBuf};

use crate::folder;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::Sources;
use trackside_protocol::diagram::Graph;
use trackside_study::draw::export::{dot, mermaid, scxml, xstate};
use trackside_study::draw::graph::pack_graphs;
use trackside_study::draw::sequence::{Sequence, SequenceKind, SequenceStep};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A pack that was installed before names were restricted.
fn awkward() -> Graph {
    pack_graphs(&folder::stored_pack(&here("tests/study/draw/awkward"))).remove(0)
}

fn door() -> Graph {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: house\nversion: 3\nroles: { guest: {} }\n");
    let life = sources.add(
        "door.yaml",
        r#"
lifecycle: house.door
about: A door that closes by itself.
fields: { back: { type: state, by: engine }, knocks: { type: integer, default: 0 } }
create: { by: human, again: rehang }
states:
  SHUT: { initial: true, about: Nobody passes. }
  OPEN: { deadline: { after: 5m, warn: [80%], then: swing } }
  STUCK: {}
  GONE: { final: true, outcome: cancelled }
transitions:
  open: { from: SHUT, by: human || guest, to: [ { when: knocks > 3, state: STUCK, set: { back: state } }, { state: OPEN } ] }
  swing: { about: It falls shut., from: OPEN, to: SHUT, by: human || engine }
  knock: { from: SHUT, by: guest, set: { knocks: knocks + 1 } }
  push: { from: OPEN, to: OPEN, by: guest }
  oil: { from: STUCK, to: { field: back }, by: human }
  send: { from: [OPEN, STUCK], to: { ask: [SHUT, STUCK] }, by: human }
  unhinge: { from: any, to: GONE, by: human, reason: Say why }
  rehang: { from: GONE, to: SHUT, by: human }
"#,
    );
    match compile(&sources, &PackFiles { pack, lifecycles: vec![life] }) {
        Ok((pack, _)) => pack_graphs(&pack).remove(0),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

#[test]
fn a_door_in_mermaid() {
    insta::assert_snapshot!(mermaid(&door()));
}

#[test]
fn a_door_in_dot() {
    insta::assert_snapshot!(dot(&door()));
}

#[test]
fn a_door_in_scxml() {
    insta::assert_snapshot!(scxml(&door()));
}

#[test]
fn a_door_in_xstate() {
    insta::assert_snapshot!(xstate(&door()));
}

#[test]
fn awkward_names_in_mermaid_are_escaped() {
    insta::assert_snapshot!(mermaid(&awkward()));
}

#[test]
fn awkward_names_in_dot_are_escaped() {
    insta::assert_snapshot!(dot(&awkward()));
}

#[test]
fn awkward_names_in_scxml_get_identifiers_of_their_own() {
    insta::assert_snapshot!(scxml(&awkward()));
}

#[test]
fn awkward_names_in_xstate_are_valid_names() {
    let machine: serde_json::Value = serde_json::from_str(&xstate(&awkward())).unwrap();
    let states = machine["states"].as_object().unwrap();
    assert_eq!(states.len(), awkward().nodes.len());
    assert_eq!(states["s__hash"]["meta"]["name"], "#hash");
    assert_eq!(states["s___proto__"]["meta"]["name"], "__proto__");
    assert_eq!(states["say \"hi\": now; {then} [wait]"]["on"]["-->"][0]["target"], "A --> B <br/> & C");
    assert_eq!(states["state"]["on"]["e__"][0]["meta"]["event"], "*");
    assert_eq!(states["graph"]["meta"]["again"]["begin_anew"][0]["target"], "state");
    assert!(states["graph"]["on"].is_null());
}

#[test]
#[ignore = "writes files: TRACKSIDE_EXPORTS names the folder"]
fn exports_for_foreign_tools() {
    let folder =
        PathBuf::from(std::env::var_os("TRACKSIDE_EXPORTS").expect("TRACKSIDE_EXPORTS names a folder"));
    let packs = std::fs::read_dir(here("../../packs")).unwrap().map(|it| it.unwrap().path());
    let packs: Vec<PathBuf> = packs.filter(|it| it.join("pack.yaml").exists()).collect();
    let mut graphs: Vec<Graph> = packs.iter().flat_map(|it| pack_graphs(&folder::pack(it).0)).collect();
    graphs.push(awkward());
    graphs.push(door());
    for graph in &graphs {
        let write = |ending: &str, text: String| {
            std::fs::write(folder.join(format!("{}.{ending}", graph.name)), text).unwrap();
        };
        write("mmd", mermaid(graph));
        write("dot", dot(graph));
        write("scxml", scxml(graph));
        write("xstate.json", xstate(graph));
    }
    std::fs::write(folder.join("story.sequence"), story().mermaid()).unwrap();
}

/// A story with texts that a notation could misread.
fn story() -> Sequence {
    let kinds = [
        SequenceKind::Ask,
        SequenceKind::Refused,
        SequenceKind::Timer,
        SequenceKind::Engine,
        SequenceKind::Crash,
    ];
    let step = |kind| SequenceStep {
        from: "end".to_owned(),
        to: "mission.task/T-1".to_owned(),
        label: "asks approve with {\"note\":\"a; b: c # d <br/> %% e\"}".to_owned(),
        note: Some("REVIEW → DONE (approve); participant x: y".to_owned()),
        kind,
    };
    Sequence {
        title: "Nobody: \"finishes\" <their> own; work".to_owned(),
        participants: vec!["actor".to_owned(), "loop".to_owned()],
        steps: kinds.into_iter().map(step).collect(),
    }
}
