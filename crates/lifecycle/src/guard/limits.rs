//! The limits on the size of an expression, and the budget of its evaluation.

use std::cell::Cell;

use super::Fault;

/// Longest source, in bytes.
pub(super) const SOURCE: usize = 2 * 1024;
/// Longest template, in bytes.
pub(super) const TEMPLATE: usize = 16 * 1024;
/// Words, numbers, texts and signs in one source. Bounds chains such as `a.b.c…` and `1 + 1 + …`,
/// on which the parser of the `cel` crate recurses without a limit of its own. It also bounds the
/// nodes of the tree, since every node comes from a token.
pub(super) const TOKENS: usize = 512;
/// Brackets inside brackets.
pub(super) const BRACKETS: usize = 32;
/// Question marks in one source: `a ? b : c ? d : …` recurses in the parser like brackets do.
pub(super) const TERNARIES: usize = 32;
/// Depth of the tree. Also the depth of every recursion of ours.
pub(super) const DEPTH: usize = 64;
/// Loops inside loops.
pub(super) const LOOPS: usize = 2;
/// Size of a compiled pattern, in bytes.
pub(super) const PATTERN: usize = 256 * 1024;
/// Steps of one evaluation: a node visited, an item touched, sixteen bytes of text touched. Also bounds the
/// size of results: 1.6 MB of text or 100 000 items.
pub(super) const STEPS: u32 = 100_000;
/// Steps for working out the constant parts while compiling.
pub(super) const FOLDING: u32 = 2_000;

/// The steps left to one evaluation.
#[derive(Debug)]
pub(super) struct Budget(Cell<u32>);

impl Budget {
    pub(super) fn new(steps: u32) -> Self {
        Self(Cell::new(steps))
    }

    #[inline]
    pub(super) fn step(&self) -> Result<(), Fault> {
        self.items(1)
    }

    #[inline]
    pub(super) fn items(&self, count: usize) -> Result<(), Fault> {
        let left = self.0.get() as usize;
        if count > left {
            // Emptied, so that evaluation cannot continue after a fault.
            self.0.set(0);
            return Err(Fault::TooExpensive);
        }
        self.0.set((left - count) as u32);
        Ok(())
    }

    #[inline]
    pub(super) fn text(&self, bytes: usize) -> Result<(), Fault> {
        self.items(bytes / 16)
    }
}
