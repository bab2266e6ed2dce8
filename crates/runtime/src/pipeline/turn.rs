//! What was decided in one go, on its way to the disk.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::event::Entry;
use trackside_engine::view::Project;
use trackside_lifecycle::time::Span;
use trackside_store::Definition;
use trackside_store::project::Was;

use super::committer::{Committed, Touched, Written};
use crate::answer::{Answer, Seals};
use crate::tally::Refused;
use crate::work::Saying;

/// Everything that was decided in one go; one commit.
#[derive(Default)]
pub(crate) struct Turn {
    pub entries: Vec<Arc<Vec<Entry>>>,
    /// For each entry, what its entity was before it.
    pub befores: Vec<Before>,
    /// Entities touched, as they are at the end.
    pub touched: Vec<Touched>,
    /// The project, where it has changed.
    pub project: Option<Project>,
    pub sayings: Vec<Saying>,
    pub definitions: Vec<Definition>,
    pub law: Option<Arc<Law>>,
    pub commands: usize,
    /// For whoever was answered: the hashes it is committed under.
    pub seals: Arc<Seals>,
    pub told: Told,
}

/// What was decided beside the entries, to be counted once they are on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// What was refused.
    pub refused: Vec<Refused>,
    pub outcomes: Outcomes,
    /// How much later than they were due timers fired.
    pub fired: Vec<Span>,
}

impl Told {
    /// How many commands somebody waits for an answer to.
    pub fn asked(&self) -> usize {
        let Outcomes { accepted, replayed, failed } = self.outcomes;
        accepted + replayed + failed + self.refused.len()
    }
}

/// What became of commands that somebody asked for; those that were refused are listed apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcomes {
    pub accepted: usize,
    pub replayed: usize,
    /// The store could not be read.
    pub failed: usize,
}

impl Outcomes {
    /// Notes one that was not refused.
    pub fn note(&mut self, answer: &Answer) {
        match answer {
            Answer::Accepted(_) => self.accepted += 1,
            Answer::Replayed { .. } => self.replayed += 1,
            Answer::Refused(_) => {}
        }
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} commands, {} sayings", self.commands, self.sayings.len())
    }
}

impl Turn {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.sayings.is_empty() && self.definitions.is_empty()
    }

    /// As if it had just been committed.
    pub(crate) fn published(self) -> (Committed, Vec<Saying>) {
        let upto = self.entries.last().and_then(|it| it.last()).map_or(0, |it| it.seq);
        let Self { entries, befores, touched, project, sayings, commands, law, told, definitions: _, seals } =
            self;
        let written = Written::default();
        (Committed { entries, touched, befores, upto, written, commands, law, project, told, seals }, sayings)
    }

    /// Leaves out the entries up to one that everybody knows.
    pub fn forget_until(&mut self, published: u64) {
        let known =
            self.entries.iter().take_while(|it| it.last().is_none_or(|it| it.seq <= published)).count();
        let entries: usize = self.entries.iter().take(known).map(|it| it.len()).sum();
        self.entries.drain(..known);
        self.befores.drain(..entries.min(self.befores.len()));
        self.touched.retain(|it| it.entity.seq > published);
    }
}

/// An entity before an entry: the number of the one before, and what projections must know of it.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    pub prev: u64,
    pub was: Option<Was>,
}
