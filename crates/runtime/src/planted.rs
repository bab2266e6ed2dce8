//! Mistakes that a simulation plants, to see whether it finds them. A product has none of them.

/// A mistake in the way commands travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "simulation"), allow(dead_code, reason = "only a simulation plants them"))]
pub enum Bug {
    /// Callers are answered when it is decided, not when it is on disk.
    AnsweredEarly,
    /// Readers see what is decided before it is on disk.
    ShownEarly,
    /// After a commit that failed, memory stays as it was.
    MemoryKept,
    /// What the journal has beyond the projections is forgotten at the start, the last entry of it.
    TailForgotten,
    /// A group is loaded as the projections have it, without what moved since.
    GroupAsWritten,
    /// The same for a ranking.
    RankingAsWritten,
    /// What is not written yet may leave memory.
    UnwrittenEvicted,
    /// Keys of commands are let go before they are written.
    KeyLetGo,
    /// Values that no two may share are let go before they are written.
    ValueForgotten,
    /// Clocks of what is not written yet are not heard.
    TimerUnheard,
    /// Clocks are heard in the order of their entities.
    TimersUnordered,
    /// The time goes back with the machine's clock.
    TimeGoesBack,
    /// After a gap nobody gets time to come back.
    NoGrace,
    /// Records do not lead to the one before them.
    NoTrail,
    /// A follower is not told of every commit, and does not notice.
    FeedGap,
    /// What is held of an erased entity stays in the journal.
    ErasedKept,
    /// A second version of a pack is installed and not in force.
    OldVersionStays,
    /// What was migrated is in memory as it was before.
    MigrationUnseen,
    /// What was redacted stays in the journal.
    RedactedKept,
    /// The sweep passes somebody over.
    SweepSkips,
    /// Some of several commands stay when one of them is refused.
    HalfOfAll,
    /// An effect that was answered is handed out until that is written.
    EffectAgain,
    /// The number of a grant begins anew when an entity is loaded.
    FenceForgotten,
    /// Idempotency keys are forgotten as soon as they are written.
    KeysExpireEarly,
    /// Followers are told the entries of a command backwards.
    FeedUnordered,
    /// Nothing is ever let go of.
    CacheUnbounded,
}

#[cfg(feature = "simulation")]
mod here {
    use super::Bug;
    use std::cell::Cell;
    use std::sync::OnceLock;

    static EVERYWHERE: OnceLock<Bug> = OnceLock::new();

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Plants a mistake on this thread, or takes it out.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    /// Plants a mistake on all threads, for as long as the process lives.
    pub fn plant_everywhere(bug: Bug) {
        EVERYWHERE.set(bug).ok();
    }

    pub(crate) fn is_planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug) || EVERYWHERE.get() == Some(&bug)
    }
}

#[cfg(feature = "simulation")]
pub use here::{plant, plant_everywhere};

#[cfg(feature = "simulation")]
pub(crate) use here::is_planted;

/// Nobody plants anything here.
#[cfg(not(feature = "simulation"))]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}
