//! Faults that a test injects.

/// A call that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A commit of so many records.
    Append(usize),
    /// Payloads of so many records are dropped.
    DropPayloads(usize),
    /// The journal is cut after this entry.
    Cut(u64),
    /// Projections are written up to this entry.
    Project(u64),
    ExpireKeys,
    Clear,
    Tidy,
    Read,
}

/// The kind of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// Nothing was written.
    Before,
    /// Everything was written, but the call returns an error.
    After,
}

/// Decides which calls fail. A closure from a call to a fault is one.
pub trait Faults: Send {
    fn on(&mut self, call: Call) -> Option<StoreFault>;

    /// The number of the last `unsaved` writes to the projections that a crash loses.
    fn lost(&mut self, unsaved: usize) -> usize {
        unsaved
    }
}

impl<F: FnMut(Call) -> Option<StoreFault> + Send> Faults for F {
    fn on(&mut self, call: Call) -> Option<StoreFault> {
        self(call)
    }
}
