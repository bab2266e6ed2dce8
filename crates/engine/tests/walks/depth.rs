//! The depth of the walks over a pack.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::coverage::points_of;
use trackside_engine::trace::{Point, PointKind, Trace};

use crate::findings::Findings;
use crate::packs::WalkPack;
use crate::walk::WalkResult;

#[derive(Debug, Default)]
pub(crate) struct WalkDepth {
    walks: usize,
    asked: usize,
    accepted: usize,
    entries: usize,
    entities: usize,
    refused: BTreeMap<&'static str, usize>,
    findings: Findings,
    /// Transitions that were reached, of all there are.
    reached: (usize, usize),
}

impl WalkDepth {
    pub(crate) fn add(&mut self, walked: WalkResult) {
        self.walks += 1;
        self.asked += walked.asked;
        self.accepted += walked.accepted;
        self.entries += walked.entries;
        self.entities += walked.entities;
        for (code, times) in walked.refused {
            *self.refused.entry(code).or_default() += times;
        }
        self.findings.add(walked.findings);
    }

    /// Percent of the requests that were accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted * 100 / self.asked.max(1)
    }

    /// Percent of the transitions that were taken: by every arm, from every state, to every choice.
    pub(crate) fn reached(&self) -> usize {
        self.reached.0 * 100 / self.reached.1.max(1)
    }

    /// Counts the points that were reached, and prints all.
    pub(crate) fn finish(&mut self, name: &str, ground: &WalkPack, trace: &Trace) {
        let edges: BTreeSet<Point> =
            points_of(&ground.pack).into_iter().filter(|it| it.kind == PointKind::Transition).collect();
        let hit = trace.points();
        let missed: Vec<&Point> = edges.iter().filter(|it| !hit.contains(it)).collect();
        self.reached = (edges.len() - missed.len(), edges.len());
        println!(
            "{name}: {} walks, {} requests, {} % accepted, {} entries, {} entities a walk, {} of {} transitions reached ({} %)",
            self.walks,
            self.asked,
            self.accepted(),
            self.entries,
            self.entities / self.walks.max(1),
            self.reached.0,
            self.reached.1,
            self.reached(),
        );
        println!("  refused: {:?}", self.refused);
        for (line, times) in &self.findings.mistakes {
            println!("  mistake, {times} times: {line}");
        }
        for (line, times) in &self.findings.others {
            println!("  {times} times: {line}");
        }
        for point in missed {
            println!("  never: {} {}", point.lifecycle, point.what);
        }
    }
}
