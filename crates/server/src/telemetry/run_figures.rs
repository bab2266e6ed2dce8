//! Figures of ended runs since the start, for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_runtime::{CommitObserver, Reads};

use crate::rest::runs::{RUN, ended_run};

/// Most ends that wait to be counted.
const MOST_ENDS: usize = 100_000;
/// Most adapters with a label of their own.
const MOST_ADAPTERS: usize = 32;
/// The classes of exits that have a label of their own.
const CLASSES: [&str; 15] = [
    "ok",
    "quota",
    "rate",
    "billing",
    "overloaded",
    "auth",
    "model",
    "context",
    "network",
    "limit",
    "interrupted",
    "no-session",
    "usage",
    "killed",
    "crash",
];
/// The label of everything else.
const OTHER: &str = "other";

/// Counts runs that end. As an observer of commits it only notes which; the metrics page reads them.
#[derive(Debug, Default)]
pub(crate) struct RunFigures {
    moved: Mutex<Vec<EntityKey>>,
    totals: Mutex<RunTotals>,
}

/// Totals by adapter.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunTotals {
    /// By adapter and class.
    pub ended: BTreeMap<(String, String), u64>,
    /// By adapter and kind of token.
    pub tokens: BTreeMap<(String, &'static str), u64>,
    /// US dollars by adapter.
    pub cost: BTreeMap<String, f64>,
}

impl CommitObserver for RunFigures {
    fn committed(&self, entries: &[Entry]) {
        let moves = entries
            .iter()
            .filter(|it| *it.entity.lifecycle == *RUN && matches!(it.event, Event::Transitioned { .. }));
        let moves: Vec<EntityKey> = moves.map(|it| it.entity.clone()).collect();
        if !moves.is_empty() {
            let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MOST_ENDS.saturating_sub(moved.len());
            moved.extend(moves.into_iter().take(room));
        }
    }
}

impl RunFigures {
    /// The totals, with all runs that have ended by now. Reads the store: blocking.
    pub fn totals(&self, reads: &Reads) -> RunTotals {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut moved = std::mem::take(&mut *self.moved.lock().unwrap_or_else(PoisonError::into_inner));
        moved.sort();
        moved.dedup();
        for key in moved {
            // A run ends once, so it is counted once.
            let Ok(Some(run)) = ended_run(reads, &key) else { continue };
            let adapter = run.adapter.unwrap_or_default();
            let known = totals.cost.contains_key(&adapter) || totals.cost.len() < MOST_ADAPTERS;
            let adapter = if known { adapter } else { OTHER.to_owned() };
            let class = run.exit_class.unwrap_or_default();
            let class = if CLASSES.contains(&class.as_str()) { class } else { OTHER.to_owned() };
            *totals.ended.entry((adapter.clone(), class)).or_default() += 1;
            let tokens = [
                ("input", run.tokens.input),
                ("output", run.tokens.output),
                ("cache_read", run.tokens.cache_read),
                ("cache_write", run.tokens.cache_write),
            ];
            for (kind, count) in tokens {
                let total = totals.tokens.entry((adapter.clone(), kind)).or_default();
                *total = total.saturating_add(u64::try_from(count).unwrap_or(0));
            }
            *totals.cost.entry(adapter).or_default() += run.cost.unwrap_or(0.0);
        }
        totals.clone()
    }
}
