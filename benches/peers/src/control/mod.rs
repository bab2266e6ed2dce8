//! Controls: the speed of the same disk and machine without Trackside.

pub mod file;
pub mod pipeline;
pub mod postgres;
pub mod sqlite;

use std::time::{Duration, Instant};

use crate::BenchError;
use crate::load::Pace;
use crate::subject::CommitTotals;

/// A control that is timed beside a subject, with batches like those of the subject.
pub trait Control {
    /// Runs for this long, on the data of earlier calls.
    fn run(&mut self, shape: &CommitShape, time: Duration) -> Result<Pace, BenchError>;
}

/// The average contents of a subject's commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitShape {
    /// Entries in a batch.
    pub entries: f64,
    /// Entries that one command makes.
    pub per_command: f64,
    /// Bytes of each part of an entry.
    pub header: usize,
    pub payload: usize,
    pub digest: usize,
    pub hash: usize,
}

impl CommitShape {
    /// The shape by the figures of a load; none if nothing was committed.
    pub fn of(figures: &CommitTotals) -> Option<Self> {
        if figures.commits == 0 || figures.entries == 0 || figures.commands == 0 {
            return None;
        }
        let each = |bytes: u64| (bytes as f64 / figures.entries as f64).round() as usize;
        Some(Self {
            entries: figures.entries as f64 / figures.commits as f64,
            per_command: figures.entries as f64 / figures.commands as f64,
            header: each(figures.header_bytes),
            payload: each(figures.payload_bytes),
            digest: each(figures.digest_bytes),
            hash: each(figures.hash_bytes),
        })
    }

    /// Bytes of one entry.
    pub fn bytes(&self) -> usize {
        self.header + self.payload + self.digest + self.hash
    }
}

/// Sizes of batches, in whole entries, with the right mean.
#[derive(Debug, Default)]
struct Batches {
    owed: f64,
}

impl Batches {
    fn next(&mut self, mean: f64) -> usize {
        self.owed += mean.max(1.0);
        let whole = self.owed.floor();
        self.owed -= whole;
        whole as usize
    }
}

/// Appends batches, one after the other, until the time is up. `append` gets how many entries and their bytes.
fn time_batches(
    batches: &mut Batches,
    shape: &CommitShape,
    time: Duration,
    mut append: impl FnMut(usize, &[u8]) -> Result<(), BenchError>,
) -> Result<Pace, BenchError> {
    let bytes = noise(shape.bytes() * (shape.entries.ceil().max(1.0) as usize + 1));
    let mut pace = Pace::default();
    let begun = Instant::now();
    let mut before = begun;
    while before - begun < time {
        let entries = batches.next(shape.entries);
        append(entries, bytes.get(..entries * shape.bytes()).unwrap_or(&bytes))?;
        let after = Instant::now();
        pace.latency.record(after - before);
        pace.commands += entries as f64 / shape.per_command;
        before = after;
    }
    pace.seconds = (before - begun).as_secs_f64();
    Ok(pace)
}

/// Random bytes that do not repeat within a page.
pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut all = Vec::with_capacity(bytes + 8);
    while all.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend_from_slice(&state.to_le_bytes());
    }
    all.truncate(bytes);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_load_is_its_mean() {
        let figures = CommitTotals {
            commands: 100,
            entries: 150,
            commits: 4,
            header_bytes: 15_000,
            payload_bytes: 30_000,
            digest_bytes: 4_800,
            hash_bytes: 4_800,
            ..CommitTotals::default()
        };
        let shape = CommitShape::of(&figures).unwrap();
        assert_eq!((shape.entries, shape.per_command, shape.bytes()), (37.5, 1.5, 100 + 200 + 32 + 32));
        assert_eq!(CommitShape::of(&CommitTotals::default()), None);
    }

    #[test]
    fn batches_come_to_the_mean() {
        let mut batches = Batches::default();
        let sizes: Vec<usize> = (0..1_000).map(|_| batches.next(37.3)).collect();
        assert!(sizes.iter().all(|it| [37, 38].contains(it)));
        assert!((37_299..=37_300).contains(&sizes.iter().sum::<usize>()));
        assert_eq!(Batches::default().next(0.2), 1, "a batch is never empty");
    }
}
