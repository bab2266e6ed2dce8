//! Timers, counters, leases, reactions, invariants, notifications and effects.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, Percent, keys, shapes};

use super::Expr;
use super::consequence::{FollowUpDecl, with_consequences};
use super::lifecycle::Checks;

keys! {
    /// A timer.
    pub struct TimerDecl {
        /// Span, or expression giving one, evaluated when it starts.
        pub after: Option<Expr>,
        /// Instead: a field of type `time`.
        pub at: Option<At<Name>>,
        /// Instead: `daily HH:MM`, or a span; it starts again each time it is due.
        pub every: Option<Expr>,
        /// States in which it runs; it pauses in other states. Default: every state that is not final.
        pub runs: Option<OneOrMany<At<Name>>>,
        /// `once`, `entry`, or transitions.
        pub starts: Option<OneOrMany<At<Name>>>,
        /// Transitions that restart it while it runs.
        pub restarts: Option<OneOrMany<At<Name>>>,
        /// Percentages, each once per start.
        pub warn: Option<WarnDecl>,
        /// The transition fired when due.
        pub then: Option<FollowUpDecl>,
    }
}

shapes! {
    /// Percentages: a list, or percentage to consequences.
    pub enum WarnDecl {
        List(Vec<At<Percent>>) if list,
        Steps(Named<WarnStep>) if map,
    }
}

with_consequences! {
    /// What happens at a percentage.
    pub struct WarnStep {
        /// Of the alert: `info`, `warning`, `error` or `critical`; `none` raises no alert.
        pub severity: Option<At<Name>>,
    }
}

keys! {
    /// A counter with an optional limit and its consequence.
    pub struct CounterDecl {
        /// `state`: one tally per state.
        pub per: Option<At<Name>>,
        /// One tally per value of these expressions.
        pub key: Option<OneOrMany<Expr>>,
        /// How much to count; default 1.
        pub add: Option<Expr>,
        /// Counts only when true.
        pub r#if: Option<Expr>,
        /// Counts only observations within this span: span or expression.
        pub within: Option<Expr>,
        /// Only the last N observations: number or expression.
        pub last: Option<Expr>,
        /// `moves`: counted on every change of state.
        pub on: Option<At<Name>>,
        /// Each count is a failure and journalled as such.
        pub failure: Option<bool>,
        /// `then` follows when the tally reaches it: number or expression.
        pub limit: Option<Expr>,
        /// Percentages of the limit, each once until reset.
        pub warn: Option<WarnDecl>,
        /// A move by the engine once the limit is reached.
        pub then: Option<FollowUpDecl>,
        /// `forward`, transitions, or `daily HH:MM`.
        pub reset: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// A lease that one holder at a time may have.
    pub struct SlotDecl {
        /// Span, or expression: how long a grant or a heartbeat lasts.
        pub r#for: Expr,
        /// Span between expiry and the loss of the lease.
        pub grace: Option<Expr>,
        /// The field that shows the holder.
        pub holder: Option<At<Name>>,
        /// The field that shows the expiry.
        pub until: Option<At<Name>>,
        /// The transition fired when it is lost.
        pub lost: Option<At<Name>>,
        /// Checks that every heartbeat evaluates; the answer tells the holder to stop when one fails.
        pub r#while: Option<Checks>,
    }
}

keys! {
    /// A ranking of the entities of a lifecycle, updated with every move.
    pub struct RankingDecl {
        /// The states of ranked entities; default: every state that is not final.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// Only entities for which this is true; cannot read `now` or the caller.
        pub when: Option<Expr>,
        /// Sort keys, most important first; a leading `-` for descending. Ties: older entities first.
        pub by: Option<OneOrMany<Expr>>,
        /// Refs: one order per entity they name.
        pub within: Option<OneOrMany<At<Name>>>,
        /// With `within`: while it is false, `claim` takes nothing from that order.
        pub open: Option<Expr>,
        /// The actor the entity is reserved for; null means any actor.
        pub r#for: Option<Expr>,
        /// The transition by which `claim` takes the first.
        pub claims: Option<At<Name>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// A transition that the engine fires when a condition becomes true.
    pub struct ReactionDecl {
        /// The condition; `now` is not allowed.
        pub when: Expr,
        /// The transition.
        pub fire: At<Name>,
        /// The fields it takes, as expressions.
        pub with: Named<Expr>,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
    }
}

keys! {
    /// A condition that must always be true.
    pub struct InvariantDecl {
        /// The expression.
        pub holds: Expr,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// `error` (the default) or `warning`.
        pub severity: Option<At<Name>>,
        /// The message when it is violated.
        pub says: Expr,
        /// The transition that the sweep fires when it finds a violation.
        pub repair: Option<At<Name>>,
    }
}

keys! {
    /// A notification that moves send.
    pub struct NotifyRuleDecl {
        /// `moves`, or transitions.
        pub on: OneOrMany<At<Name>>,
        /// Only when entering these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// An audience of the pack.
        pub audience: At<Name>,
        /// The actors to notify: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// The text.
        pub message: Expr,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// Work that runs outside the engine, and the transitions that report its result.
    pub struct EffectDecl {
        /// Its arguments, as expressions.
        pub with: Named<Expr>,
        /// The transition fired when it succeeds.
        pub ok: Option<At<Name>>,
        /// The transition fired when it fails.
        pub failed: Option<At<Name>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
