//! A journal split into decisions: a command and the entries that followed from it.

use std::ops::Range;

use trackside_engine::event::{Entry, Event};

/// The entries of one decision, and the one that answers it.
#[derive(Clone, Debug)]
pub(super) struct DecisionStep {
    pub entries: Range<usize>,
    pub root: usize,
}

/// Every decision, in order.
pub(super) fn steps(entries: &[Entry]) -> Vec<DecisionStep> {
    let mut steps: Vec<DecisionStep> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let last = steps.last_mut().and_then(|step| entries.get(step.root).map(|root| (step, root)));
        match last {
            Some((step, root)) if follows(entry, root) => {
                step.entries.end = place + 1;
                // Failures are counted before the move that they belong to.
                if entry.cause.is_none() && matches!(root.event, Event::FailureCounted { .. }) {
                    step.root = place;
                }
            }
            _ => steps.push(DecisionStep { entries: place..place + 1, root: place }),
        }
    }
    steps
}

/// Whether an entry belongs to the decision of another.
fn follows(entry: &Entry, root: &Entry) -> bool {
    if entry.cause.is_some() {
        return true;
    }
    let same = entry.entity == root.entity
        && entry.at == root.at
        && entry.actor == root.actor
        && entry.trigger == root.trigger;
    let counted = matches!(root.event, Event::FailureCounted { .. });
    let aside = match (&root.event, &entry.event) {
        (_, Event::AlertRaised { .. }) => true,
        (Event::Corrected { .. }, it) => !matches!(it, Event::Corrected { .. } | Event::Transitioned { .. }),
        _ => false,
    };
    same && (counted || aside)
}
