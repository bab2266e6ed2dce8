//! Faults that a simulation plants, to check that it finds them. A product build has none of them.

/// A mistake in the way commands travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "simulation"), allow(dead_code, reason = "only a simulation plants them"))]
pub enum Failpoint {
    /// Callers are answered when it is decided, not when it is on disk.
    AnsweredEarly,
    /// Readers see decided entries before they are on disk.
    ShownEarly,
    /// After a commit that failed, memory stays as it was.
    MemoryKept,
    /// Recovery ignores the last journal entry that the projections do not have.
    TailForgotten,
    /// A group is loaded from the projections, without later moves.
    GroupAsWritten,
    /// A ranking is loaded from the projections, without later moves.
    RankingAsWritten,
    /// Evicts entities that are not flushed yet.
    UnwrittenEvicted,
    /// Evicts idempotency keys before they are flushed.
    KeyEvictedEarly,
    /// Evicts unique values before they are flushed.
    ValueForgotten,
    /// Ignores timers of entities that are not flushed yet.
    UnflushedTimerIgnored,
    /// Timers fire in the order of their entities.
    TimersUnordered,
    /// The time goes back with the machine's clock.
    TimeGoesBack,
    /// Project time follows a jump of the machine's clock.
    JumpFollowed,
    /// Elapsed time goes back with the machine's monotonic clock.
    StepBackFollowed,
    /// Leases get no grace period after a gap.
    NoGrace,
    /// Leases count pauses of the server's loop.
    PauseCounted,
    /// Records do not lead to the one before them.
    PreviousRecordMissing,
    /// A follower misses a commit and does not notice.
    FeedGap,
    /// The payloads of an erased entity stay in the journal.
    ErasedKept,
    /// A second version of a pack is installed and not in force.
    OldVersionStays,
    /// A migrated entity stays in memory as it was before.
    MigrationUnseen,
    /// A redacted payload stays in the journal.
    RedactedKept,
    /// Damaged rows stay where they are.
    RowNotHealed,
    /// The sweep skips an entity.
    SweepSkips,
    /// Some of several commands stay when one of them is refused.
    BatchPartlyApplied,
    /// An effect that was answered is handed out until that is written.
    AnsweredEffectRepeated,
    /// The fence of a lease restarts when an entity is loaded.
    FenceForgotten,
    /// Idempotency keys are forgotten as soon as they are written.
    KeysExpireEarly,
    /// Followers get the entries of a command in reverse order.
    FeedUnordered,
    /// The cache never evicts.
    CacheUnbounded,
}

#[cfg(feature = "simulation")]
mod here {
    use super::Failpoint;
    use std::cell::Cell;
    use std::sync::OnceLock;

    static EVERYWHERE: OnceLock<Failpoint> = OnceLock::new();

    thread_local! {
        static ENABLED: Cell<Option<Failpoint>> = const { Cell::new(None) };
    }

    /// Plants a mistake on this thread, or takes it out.
    pub fn enable(failpoint: Option<Failpoint>) {
        ENABLED.set(failpoint);
    }

    /// Plants a fault on all threads, for the life of the process.
    pub fn enable_everywhere(failpoint: Failpoint) {
        EVERYWHERE.set(failpoint).ok();
    }

    pub(crate) fn is_enabled(failpoint: Failpoint) -> bool {
        ENABLED.get() == Some(failpoint) || EVERYWHERE.get() == Some(&failpoint)
    }
}

#[cfg(feature = "simulation")]
pub use here::{enable, enable_everywhere};

#[cfg(feature = "simulation")]
pub(crate) use here::is_enabled;

/// Always false in a product build.
#[cfg(not(feature = "simulation"))]
pub(crate) const fn is_enabled(_: Failpoint) -> bool {
    false
}
