//! Drawings of every lifecycle of the packs: nothing overlaps, and nothing is missing.

use std::path::Path;

use crate::folder;
use trackside_protocol::diagram::Graph;
use trackside_study::draw::Picture;
use trackside_study::draw::graph::pack_graphs;
use trackside_study::draw::layout::{LayoutBox, LayoutLink, LayoutPlan};
use trackside_study::draw::svg::Theme;
use trackside_study::draw::text::terminal_drawing;

fn graphs() -> Vec<Graph> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs");
    let names = ["build", "coding", "mission", "research", "turns"];
    names.iter().flat_map(|it| pack_graphs(&folder::pack(&folder.join(it)).0)).collect()
}

#[test]
fn nothing_lies_on_anything_else_or_outside() {
    for graph in graphs() {
        let picture = Picture::of(&graph);
        let (width, height) = picture.size();
        let areas = picture.areas();
        assert!(areas.len() > graph.nodes.len(), "{}", graph.name);
        for (n, one) in areas.iter().enumerate() {
            let inside = one.left >= 0.0 && one.top >= 0.0 && one.right <= width && one.bottom <= height;
            assert!(inside, "{}: {one:?} of {width} by {height}", graph.name);
            for other in areas.iter().skip(n + 1) {
                assert!(!one.overlaps(other), "{}: {one:?} {other:?}", graph.name);
            }
        }
    }
}

#[test]
fn a_picture_is_neither_a_tower_nor_a_strip() {
    for graph in graphs() {
        let (width, height) = Picture::of(&graph).size();
        let shape = width / height;
        assert!((1.0 / 3.0..=3.0).contains(&shape), "{}: {width} by {height}", graph.name);
        assert!(width < 1700.0, "{}: {width} wide", graph.name);
    }
}

#[test]
fn every_state_and_every_move_is_in_both_drawings() {
    for graph in graphs() {
        let svg = Picture::of(&graph).svg(Theme::Auto);
        let text = terminal_drawing(&graph, 100).plain();
        for drawing in [&svg, &text] {
            for node in &graph.nodes {
                assert!(drawing.contains(node.name.as_str()), "{} {}", graph.name, node.name);
            }
            for edge in &graph.edges {
                assert!(drawing.contains(edge.rule.label()), "{} {}", graph.name, edge.rule.label());
            }
        }
    }
}

#[test]
fn text_keeps_to_its_width() {
    for graph in graphs() {
        for width in [60, 80, 100] {
            let text = terminal_drawing(&graph, width).plain();
            let long = text.lines().find(|it| it.chars().count() > width);
            assert_eq!(long, None, "{} in {width} columns", graph.name);
            assert!(text.lines().all(|it| it.trim_end() == it), "{}: nothing trails", graph.name);
        }
    }
}

#[test]
fn text_that_xml_would_take_for_its_own_is_escaped() {
    let mut graph = graphs().remove(0);
    graph.about = "a < b & \"c\" \u{1}".to_owned();
    graph.nodes[0].about = "</svg><script>".to_owned();
    let svg = Picture::of(&graph).svg(Theme::Dark);
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot; \u{fffd}"));
    assert!(!svg.contains("<script>"));
    assert_eq!(svg.matches("</svg>").count(), 1);
}

#[test]
fn light_and_dark_are_chosen_by_the_reader_unless_one_is_asked_for() {
    let picture = Picture::of(&graphs()[0]);
    assert!(picture.svg(Theme::Auto).contains("@media (prefers-color-scheme: dark)"));
    assert!(!picture.svg(Theme::Light).contains("@media"));
    assert_ne!(picture.svg(Theme::Light), picture.svg(Theme::Dark));
}

/// Many boxes and links, the same every time.
fn large(boxes: usize, links: usize) -> LayoutPlan {
    let mut random = trackside_random::Random::new(7);
    let mut next = |below: usize| random.below(below);
    let block =
        |before| LayoutBox { width: 120.0, height: 50.0, drawn: 50.0, before, ..LayoutBox::default() };
    let mut plan = LayoutPlan { boxes: (0..boxes).map(block).collect(), links: Vec::new() };
    for n in 1..boxes {
        plan.links.push(LayoutLink { from: n - 1, to: n, label: (80.0, 30.0), main: n % 3 == 0 });
    }
    while plan.links.len() < links {
        let (from, far) = (next(boxes), next(12) + 1);
        let to = if next(4) == 0 { from.saturating_sub(far) } else { (from + far).min(boxes - 1) };
        if from != to {
            plan.links.push(LayoutLink { from, to, label: (80.0, 30.0), main: false });
        }
    }
    plan
}

#[test]
fn a_hundred_states_with_four_hundred_ways_are_laid_out() {
    let plan = large(100, 400);
    let layout = plan.layout();
    let mut areas: Vec<(f64, f64, f64, f64)> = Vec::new();
    for (at, block) in layout.boxes.iter().zip(&plan.boxes) {
        areas.push((at.x, at.y, block.width / 2.0, block.height / 2.0));
    }
    for (route, link) in layout.links.iter().zip(&plan.links) {
        areas.push((route.label.x, route.label.y, link.label.0 / 2.0, link.label.1 / 2.0));
    }
    assert_eq!(areas.len(), 500);
    for (n, a) in areas.iter().enumerate() {
        assert!(a.0 - a.2 >= -0.01 && a.0 + a.2 <= layout.width + 0.01, "{a:?} of {}", layout.width);
        for b in areas.iter().skip(n + 1) {
            let apart = (a.0 - b.0).abs() + 0.01 >= a.2 + b.2 || (a.1 - b.1).abs() + 0.01 >= a.3 + b.3;
            assert!(apart, "{a:?} {b:?}");
        }
    }
}
