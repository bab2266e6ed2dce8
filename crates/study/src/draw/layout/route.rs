//! Lines: straight down through layers, curved between them.

use super::padded_list::PaddedList;
use super::{DiagramLayout, Layers, LayoutPlan, LayoutPoint, LinkPath, PathSegment};

/// Least distance between the ends of two lines at one box.
const PORTS: f64 = 16.0;
/// Least distance of such an end from a corner.
pub(super) const CORNER: f64 = 14.0;
/// Between two layers, at least and at most.
const GAP: (f64, f64) = (22.0, 84.0);

/// Top and bottom of each layer.
type Bands = PaddedList<(f64, f64)>;

pub(super) fn routes(plan: &LayoutPlan, layers: &Layers, across: &PaddedList<f64>) -> DiagramLayout {
    let ports = Ports::new(plan, layers, across);
    let bands = bands(layers, across, &ports);
    let middle = |n: usize| {
        let (top, bottom) = bands.at(layers.item(n).layer);
        LayoutPoint { x: across.at(n), y: f64::midpoint(top, bottom) }
    };
    let boxes: Vec<LayoutPoint> = (0..plan.boxes.len()).map(middle).collect();
    let mut links = Vec::new();
    for (n, chain) in layers.chains.iter().enumerate() {
        links.push(route(plan, layers, across, &bands, &ports, n, chain));
    }
    let count = layers.items.len();
    let width = (0..count).map(|it| across.at(it) + layers.item(it).right).fold(0.0, f64::max);
    let height = (0..bands.len()).map(|it| bands.at(it).1).fold(0.0, f64::max);
    DiagramLayout { width, height, boxes, links }
}

/// The points where lines meet boxes: for each link, its position on the upper and on the lower box.
struct Ports {
    top: PaddedList<f64>,
    bottom: PaddedList<f64>,
}

impl Ports {
    fn new(plan: &LayoutPlan, layers: &Layers, across: &PaddedList<f64>) -> Self {
        let mut ports = Self {
            top: PaddedList::filled(plan.links.len(), 0.0),
            bottom: PaddedList::filled(plan.links.len(), 0.0),
        };
        for (n, block) in plan.boxes.iter().enumerate() {
            let here = across.at(n);
            let half = (block.width / 2.0 - CORNER).max(0.0);
            let ends = |upper: bool| {
                let mut found: Vec<(f64, usize)> = Vec::new();
                for (link, chain) in layers.chains.iter().enumerate() {
                    let (mine, next) = if upper {
                        (chain.first(), chain.get(1))
                    } else {
                        (chain.last(), chain.iter().rev().nth(1))
                    };
                    if let (Some(mine), Some(next)) = (mine, next)
                        && *mine == n
                    {
                        found.push((across.at(*next), link));
                    }
                }
                found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let wanted: Vec<f64> = found.iter().map(|(x, _)| x.clamp(here - half, here + half)).collect();
                let spread = spread(&wanted, here - half, here + half);
                found.into_iter().zip(spread).map(|((_, link), x)| (link, x)).collect::<Vec<_>>()
            };
            for (link, x) in ends(true) {
                ports.top.put(link, x);
            }
            for (link, x) in ends(false) {
                ports.bottom.put(link, x);
            }
        }
        ports
    }
}

/// Ascending places moved apart, as little as possible, between two bounds.
fn spread(wanted: &[f64], low: f64, high: f64) -> Vec<f64> {
    let count = wanted.len();
    if count < 2 {
        return wanted.to_vec();
    }
    let apart = PORTS.min((high - low) / (count - 1) as f64);
    // After subtracting the distances only the order matters: groups that collide take their mean.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for (n, x) in wanted.iter().enumerate() {
        let mut group = (x - n as f64 * apart, 1);
        while let Some(last) = groups.last().copied()
            && last.0 > group.0
        {
            groups.pop();
            let size = last.1 + group.1;
            group = ((last.0 * last.1 as f64 + group.0 * group.1 as f64) / size as f64, size);
        }
        groups.push(group);
    }
    let most = high - (count - 1) as f64 * apart;
    let flat = groups.iter().flat_map(|(x, size)| std::iter::repeat_n(x.clamp(low, most.max(low)), *size));
    flat.enumerate().map(|(n, x)| x + n as f64 * apart).collect()
}

fn bands(layers: &Layers, across: &PaddedList<f64>, ports: &Ports) -> Bands {
    let depth = layers.rows.len();
    let mut far: PaddedList<f64> = PaddedList::filled(depth, 0.0);
    for (link, chain) in layers.chains.iter().enumerate() {
        let last = chain.len().saturating_sub(1);
        let x = |n: usize, item: usize| match n {
            0 => ports.top.at(link),
            n if n == last => ports.bottom.at(link),
            _ => across.at(item),
        };
        for (n, pair) in chain.windows(2).enumerate() {
            let [above, below] = pair else { continue };
            let layer = layers.item(*above).layer;
            far.put(layer, far.at(layer).max((x(n, *above) - x(n + 1, *below)).abs()));
        }
    }
    let mut bands: Bands = PaddedList::filled(depth, (0.0, 0.0));
    let mut y = 0.0;
    for (layer, row) in layers.rows.iter().enumerate() {
        let height = row.iter().map(|it| layers.item(*it).height).fold(0.0, f64::max);
        bands.put(layer, (y, y + height));
        let gap = (GAP.0 + far.at(layer) * 0.11).min(GAP.1);
        y += height + if height > 0.0 || layer % 2 == 0 { gap } else { gap / 2.0 };
    }
    bands
}

fn route(
    plan: &LayoutPlan,
    layers: &Layers,
    across: &PaddedList<f64>,
    bands: &Bands,
    ports: &Ports,
    link: usize,
    chain: &[usize],
) -> LinkPath {
    let mut points: Vec<(LayoutPoint, LayoutPoint)> = Vec::new();
    let mut label = LayoutPoint::default();
    let last = chain.len().saturating_sub(1);
    for (n, item) in chain.iter().enumerate() {
        let it = layers.item(*item);
        let (top, bottom) = bands.at(it.layer);
        let half = it.block.and_then(|it| plan.boxes.get(it)).map_or(0.0, |it| it.drawn / 2.0);
        let middle = f64::midpoint(top, bottom);
        let at = |x: f64, from: f64, to: f64| (LayoutPoint { x, y: from }, LayoutPoint { x, y: to });
        points.push(match n {
            0 => at(ports.top.at(link), middle + half, bottom),
            n if n == last => at(ports.bottom.at(link), top, middle - half),
            _ => at(across.at(*item), top, bottom),
        });
        if it.labelled || (it.block.is_none() && label == LayoutPoint::default()) {
            label = LayoutPoint { x: across.at(*item), y: middle };
        }
    }
    if layers.rising.get(link).copied().unwrap_or(false) {
        points.reverse();
        for pair in &mut points {
            *pair = (pair.1, pair.0);
        }
    }
    let mut points = points.into_iter();
    let Some((start, first)) = points.next() else { return LinkPath::default() };
    let mut steps = Vec::new();
    let mut here = start;
    let mut go = |to: LayoutPoint, steps: &mut Vec<PathSegment>| {
        if to != here {
            steps.push(PathSegment::Line(to));
            here = to;
        }
    };
    go(first, &mut steps);
    let mut from = first;
    for (arrive, leave) in points {
        let bend = (arrive.y - from.y) / 2.0;
        if (arrive.x - from.x).abs() < 0.5 {
            steps.push(PathSegment::Line(arrive));
        } else {
            let one = LayoutPoint { x: from.x, y: from.y + bend };
            let two = LayoutPoint { x: arrive.x, y: arrive.y - bend };
            steps.push(PathSegment::Curve(one, two, arrive));
        }
        if leave != arrive {
            steps.push(PathSegment::Line(leave));
        }
        from = leave;
    }
    LinkPath { start, steps, label }
}
