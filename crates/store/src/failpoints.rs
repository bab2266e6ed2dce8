//! Faults that a simulation plants in the store, to check that it finds them. A product build has none of them.

/// A missing check of stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "simulation"), allow(dead_code, reason = "only a simulation plants them"))]
pub enum StoreFailpoint {
    /// Rows of `state.db` are read without their checksums.
    SumIgnored,
    /// The neighbours of a row that is looked up are not verified.
    NeighbourUnchecked,
    /// Entries of the journal are read without their hashes.
    EntryUnverified,
}

#[cfg(feature = "simulation")]
mod here {
    use super::StoreFailpoint;
    use std::cell::Cell;

    thread_local! {
        static ENABLED: Cell<Option<StoreFailpoint>> = const { Cell::new(None) };
    }

    /// Plants a fault on this thread, or takes it out.
    pub fn enable(failpoint: Option<StoreFailpoint>) {
        ENABLED.set(failpoint);
    }

    pub(crate) fn is_enabled(failpoint: StoreFailpoint) -> bool {
        ENABLED.get() == Some(failpoint)
    }
}

#[cfg(feature = "simulation")]
pub use here::enable;

#[cfg(feature = "simulation")]
pub(crate) use here::is_enabled;

/// Always false in a product build.
#[cfg(not(feature = "simulation"))]
pub(crate) const fn is_enabled(_: StoreFailpoint) -> bool {
    false
}
