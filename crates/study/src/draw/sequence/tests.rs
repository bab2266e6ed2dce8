use super::*;

fn story() -> Sequence {
    let step = |from: &str, to: &str, label: &str, note: Option<&str>, kind| SequenceStep {
        from: from.to_owned(),
        to: to.to_owned(),
        label: label.to_owned(),
        note: note.map(str::to_owned),
        kind,
    };
    Sequence {
        title: "Two agents; one of them <approves> its own work".to_owned(),
        participants: vec!["coder-1".to_owned(), "T-1".to_owned()],
        steps: vec![
            step("coder-1", "T-1", "start", Some("NEW to DOING"), SequenceKind::Ask),
            step("coder-1", "T-1", "approve", Some("refused: role lead required"), SequenceKind::Refused),
            step("T-1", "T-1", "4h pass", Some("DOING to LATE"), SequenceKind::Timer),
            step("T-1", "coder-2", "hand_over", None, SequenceKind::Engine),
            step("coder-2", "T-1", "crash in the middle of submit", None, SequenceKind::Crash),
        ],
    }
}

#[test]
fn a_sequence_for_the_terminal() {
    insta::assert_snapshot!(story().text(80).plain());
}

#[test]
fn a_sequence_for_mermaid() {
    insta::assert_snapshot!(story().mermaid());
}

#[test]
fn a_sequence_as_svg_is_whole() {
    let svg = story().svg(crate::draw::svg::Theme::Auto);
    assert!(svg.contains("&lt;approves&gt;"), "text is escaped");
    for step in &story().steps {
        assert!(svg.contains(&step.label), "{}", step.label);
    }
    assert!(svg.contains("coder-2"), "unlisted participants are added");
    assert_eq!(svg.matches("marker-end").count(), story().steps.len());
}

#[test]
fn an_empty_story_is_valid() {
    let empty = Sequence::default();
    assert_eq!(empty.mermaid(), "sequenceDiagram\n");
    assert!(empty.svg(crate::draw::svg::Theme::Light).ends_with("</svg>\n"));
    assert_eq!(empty.text(80).plain(), "");
}
