//! A scene with all positions.

use crate::draw::layout::{self, DiagramLayout, LayoutPoint, LinkPath, PathSegment};
use crate::draw::scene::{BoxShape, DiagramScene, SceneBox, SceneLabel};
use trackside_protocol::diagram::{Graph, RuleKind};

/// A drawing before it is written in some format.
#[derive(Clone, Debug)]
pub struct Picture {
    pub(crate) name: String,
    pub(crate) about: Vec<String>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) blocks: Vec<(LayoutPoint, SceneBox)>,
    pub(crate) lines: Vec<Line>,
    pub(crate) loops: Vec<Line>,
    /// The top of the legend.
    pub(crate) key: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub kind: RuleKind,
    pub main: bool,
    pub route: LinkPath,
    pub label: SceneLabel,
}

/// An occupied rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    pub what: String,
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    fn around(what: &str, middle: LayoutPoint, width: f64, height: f64) -> Self {
        let (x, y) = (width / 2.0, height / 2.0);
        Self {
            what: what.to_owned(),
            left: middle.x - x,
            top: middle.y - y,
            right: middle.x + x,
            bottom: middle.y + y,
        }
    }

    /// Whether two rectangles overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Around the whole.
pub(crate) const MARGIN: f64 = 24.0;
/// The size of the text under the title.
pub(crate) const ABOUT: f64 = 12.5;
/// The key needs this much.
pub(crate) const KEY: (f64, f64) = (560.0, 30.0);
/// From a box to the label of its loop.
const LOOP: f64 = 34.0;

impl Picture {
    pub fn of(graph: &Graph) -> Self {
        let scene = DiagramScene::of(graph);
        let laid = plan(&scene).layout();
        let width = laid.width.max(KEY.0) + 2.0 * MARGIN;
        let about = crate::draw::metrics::wrap(&graph.about, ABOUT, width - 2.0 * MARGIN, 2);
        let top = MARGIN + 26.0 + about.len() as f64 * 18.0 + 14.0;
        let shift = LayoutPoint { x: (width - laid.width) / 2.0, y: top };
        let key = top + laid.height + 26.0;
        let mut picture = Self {
            name: graph.name.to_string(),
            about,
            width,
            height: key + KEY.1 + MARGIN / 2.0,
            blocks: Vec::new(),
            lines: Vec::new(),
            loops: Vec::new(),
            key,
        };
        picture.fill(scene, &laid, shift);
        picture
    }

    fn fill(&mut self, scene: DiagramScene, laid: &DiagramLayout, shift: LayoutPoint) {
        for (block, at) in scene.boxes.into_iter().zip(&laid.boxes) {
            let at = at.moved(shift);
            if let Some(label) = block.around.clone() {
                self.loops.push(around(&block, at, label));
            }
            self.blocks.push((at, block));
        }
        for (link, route) in scene.links.into_iter().zip(&laid.links) {
            let route = LinkPath {
                start: route.start.moved(shift),
                steps: route.steps.iter().map(|it| it.moved(shift)).collect(),
                label: route.label.moved(shift),
            };
            self.lines.push(Line { kind: link.kind, main: link.main, route, label: link.label });
        }
    }

    /// Its size.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// Every box and every label. None overlaps another, and all are inside the picture.
    pub fn areas(&self) -> Vec<Area> {
        let boxes = self.blocks.iter().map(|(at, it)| {
            let what = it.full.lines().next().unwrap_or_default();
            Area::around(what, *at, it.width, it.height)
        });
        let labels = self.lines.iter().chain(&self.loops).filter(|it| !it.label.rows.is_empty()).map(|it| {
            let what = it.label.full.lines().next().unwrap_or_default();
            Area::around(what, it.route.label, it.label.width, it.label.height)
        });
        boxes.chain(labels).collect()
    }
}

fn plan(scene: &DiagramScene) -> layout::LayoutPlan {
    let block = |it: &SceneBox| layout::LayoutBox {
        width: it.width,
        height: it.around.as_ref().map_or(it.height, |label| label.height.max(it.height)),
        beside: it.around.as_ref().map_or(0.0, |label| label.width + LOOP),
        before: it.before,
        drawn: it.height,
        sinks: matches!(it.shape, BoxShape::State { last: true, .. }),
        near: it.near.clone(),
    };
    let link = |it: &crate::draw::scene::SceneLink| layout::LayoutLink {
        from: it.from,
        to: it.to,
        label: if it.label.rows.is_empty() { (0.0, 0.0) } else { (it.label.width, it.label.height) },
        main: it.main,
    };
    layout::LayoutPlan {
        boxes: scene.boxes.iter().map(block).collect(),
        links: scene.links.iter().map(link).collect(),
    }
}

/// The loop from a box to itself, on its right.
fn around(block: &SceneBox, at: LayoutPoint, label: SceneLabel) -> Line {
    let right = at.x + block.width / 2.0;
    let reach = (block.height / 4.0).min(14.0);
    let out = right + LOOP;
    let start = LayoutPoint { x: right, y: at.y - reach };
    let end = LayoutPoint { x: right, y: at.y + reach };
    let (one, two) = (LayoutPoint { x: out, y: start.y - 6.0 }, LayoutPoint { x: out, y: end.y + 6.0 });
    let kind = match label.rows.first().and_then(|it| it.pieces.first()).map(|it| it.style) {
        Some(crate::draw::scene::Style::Timed) => RuleKind::Timed,
        Some(crate::draw::scene::Style::Engine) => RuleKind::Engine,
        _ => RuleKind::Asked,
    };
    let spot = LayoutPoint { x: right + LOOP - 4.0 + label.width / 2.0, y: at.y };
    let route = LinkPath { start, steps: vec![PathSegment::Curve(one, two, end)], label: spot };
    Line { kind, main: false, route, label }
}

impl LayoutPoint {
    fn moved(self, by: LayoutPoint) -> Self {
        Self { x: self.x + by.x, y: self.y + by.y }
    }
}

impl PathSegment {
    fn moved(self, by: LayoutPoint) -> Self {
        match self {
            Self::Line(to) => Self::Line(to.moved(by)),
            Self::Curve(one, two, to) => Self::Curve(one.moved(by), two.moved(by), to.moved(by)),
        }
    }
}

impl BoxShape {
    /// The classes it is drawn with.
    pub(crate) fn class(&self) -> String {
        match self {
            Self::Start => "start".to_owned(),
            Self::Several => "several".to_owned(),
            Self::State { initial, last, outcome } => {
                let mut class = "state".to_owned();
                match outcome.as_deref() {
                    Some(it @ ("success" | "failure" | "cancelled")) => class.push_str(&format!(" {it}")),
                    _ if *last => class.push_str(" last"),
                    _ if *initial => class.push_str(" initial"),
                    _ => {}
                }
                class
            }
        }
    }
}
