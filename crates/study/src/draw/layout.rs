//! The layout of a diagram: boxes in layers from top to bottom, lines between them, each with room for its
//! label.
//!
//! The classic four steps: [`rank`] puts boxes into layers, [`order`] sorts each layer so that few lines
//! cross, [`place`] and [`relax`] set the horizontal positions, [`route`] draws the lines. A line that
//! passes through a layer has its own position in it, and so has its label, so nothing overlaps.

mod order;
mod padded_list;
mod place;
mod rank;
mod relax;
mod route;

use padded_list::PaddedList;

/// The input of the layout.
#[derive(Clone, Debug, Default)]
pub struct LayoutPlan {
    pub boxes: Vec<LayoutBox>,
    pub links: Vec<LayoutLink>,
}

/// A box. `before` orders boxes along the flow: a link to a box with a smaller number runs upwards.
#[derive(Clone, Debug, Default)]
pub struct LayoutBox {
    pub width: f64,
    pub height: f64,
    /// Room to be kept free on its right, for a loop.
    pub beside: f64,
    pub before: usize,
    /// The drawn part of its height, where lines end.
    pub drawn: f64,
    /// Whether it goes to the bottom unless links place it elsewhere.
    pub sinks: bool,
    /// Boxes that it should be beside, unless links place it elsewhere.
    pub near: Vec<usize>,
}

/// A line between two boxes, which are not the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayoutLink {
    pub from: usize,
    pub to: usize,
    /// The size of its label; zero if there is none.
    pub label: (f64, f64),
    /// Part of the way that the eye should follow.
    pub main: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayoutPoint {
    pub x: f64,
    pub y: f64,
}

/// The positions of all boxes, lines and labels.
#[derive(Clone, Debug, Default)]
pub struct DiagramLayout {
    pub width: f64,
    pub height: f64,
    /// The middle of each box.
    pub boxes: Vec<LayoutPoint>,
    pub links: Vec<LinkPath>,
}

/// A line, in its own direction, and the middle of its label.
#[derive(Clone, Debug, Default)]
pub struct LinkPath {
    pub start: LayoutPoint,
    pub steps: Vec<PathSegment>,
    pub label: LayoutPoint,
}

/// One piece of a line. Curves leave and arrive vertically.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathSegment {
    Line(LayoutPoint),
    Curve(LayoutPoint, LayoutPoint, LayoutPoint),
}

impl PathSegment {
    pub fn end(&self) -> LayoutPoint {
        match self {
            Self::Line(to) | Self::Curve(_, _, to) => *to,
        }
    }
}

/// Free space between neighbours in a layer.
const ACROSS: f64 = 22.0;
/// Free space between two lines side by side.
const BESIDE_LINES: f64 = 16.0;

/// An item of a layer: a box, or a piece of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    left: f64,
    right: f64,
    height: f64,
    layer: usize,
    /// The box, if it is one.
    block: Option<usize>,
    labelled: bool,
}

/// Boxes and pieces of links in their layers, joined from each layer to the next.
#[derive(Debug, Default)]
struct Layers {
    items: Vec<Item>,
    /// The items of each layer, from left to right.
    rows: Vec<Vec<usize>>,
    /// Neighbours in the layer above and below.
    up: PaddedList<Vec<usize>>,
    down: PaddedList<Vec<usize>>,
    /// Items from top to bottom along each link.
    chains: Vec<Vec<usize>>,
    /// The links that run upwards.
    rising: Vec<bool>,
}

impl LayoutPlan {
    pub fn layout(&self) -> DiagramLayout {
        let ranks = rank::ranks(self);
        let mut layers = Layers::of(self, &ranks);
        order::sort(&mut layers);
        let mut across = place::places(self, &layers);
        relax::relax(self, &layers, &mut across);
        route::routes(self, &layers, &across)
    }

    fn before(&self, block: usize) -> usize {
        self.boxes.get(block).map_or(0, |it| it.before)
    }

    /// The ends of a link, the upper one first.
    fn ends(&self, link: &LayoutLink) -> (usize, usize, bool) {
        let rising = self.before(link.to) < self.before(link.from);
        if rising { (link.to, link.from, true) } else { (link.from, link.to, false) }
    }
}

impl Layers {
    fn of(plan: &LayoutPlan, ranks: &PaddedList<usize>) -> Self {
        let mut layers = Self::default();
        for (n, it) in plan.boxes.iter().enumerate() {
            let half = it.width / 2.0;
            layers.items.push(Item {
                left: half,
                right: half + it.beside,
                height: it.height,
                layer: ranks.at(n) * 2,
                block: Some(n),
                ..Item::default()
            });
        }
        let deepest = layers.items.iter().map(|it| it.layer).max().unwrap_or(0);
        let mut widths: PaddedList<f64> = PaddedList::filled(deepest + 1, 0.0);
        for item in &layers.items {
            widths.put(item.layer, widths.at(item.layer) + item.left + item.right + ACROSS);
        }
        for link in &plan.links {
            let (top, bottom, rising) = plan.ends(link);
            let (first, last) = (ranks.at(top) * 2, ranks.at(bottom) * 2);
            let (width, height) = link.label;
            let spot = label_layer(first, last, &widths);
            let mut chain = vec![top];
            for layer in first + 1..last {
                let labelled = layer == spot && width > 0.0;
                let half = if labelled { width / 2.0 } else { 0.0 };
                widths.put(layer, widths.at(layer) + 2.0 * half + ACROSS);
                chain.push(layers.items.len());
                layers.items.push(Item {
                    left: half,
                    right: half,
                    height: if labelled { height } else { 0.0 },
                    layer,
                    block: None,
                    labelled,
                });
            }
            chain.push(bottom);
            layers.chains.push(chain);
            layers.rising.push(rising);
        }
        layers.rows = vec![Vec::new(); deepest + 1];
        layers.up = PaddedList::filled(layers.items.len(), Vec::new());
        layers.down = PaddedList::filled(layers.items.len(), Vec::new());
        for chain in &layers.chains {
            for pair in chain.windows(2) {
                if let [above, below] = pair {
                    layers.down.push(*above, *below);
                    layers.up.push(*below, *above);
                }
            }
        }
        layers
    }

    fn item(&self, n: usize) -> Item {
        self.items.get(n).copied().unwrap_or_default()
    }

    /// Least distance between the middles of two neighbours.
    fn apart(&self, left: usize, right: usize) -> f64 {
        let (a, b) = (self.item(left), self.item(right));
        let lines = a.right + a.left == 0.0 && b.left + b.right == 0.0;
        a.right + b.left + if lines { BESIDE_LINES } else { ACROSS }
    }
}

/// The layer of a link's label: the emptiest layer between boxes; of equals the one nearest to the middle.
fn label_layer(first: usize, last: usize, widths: &PaddedList<f64>) -> usize {
    let middle = (first + last) / 2;
    let candidates = (first + 1..last).step_by(2);
    let far = |it: &usize| it.abs_diff(middle);
    candidates
        .min_by(|a, b| widths.at(*a).total_cmp(&widths.at(*b)).then(far(a).cmp(&far(b))))
        .unwrap_or(first + 1)
}
