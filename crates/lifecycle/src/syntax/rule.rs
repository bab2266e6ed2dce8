//! Timers, counters, leases, reactions, invariants, notifications and effects.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, Percent, keys, shapes};

use super::Expr;
use super::consequence::{FollowUpDecl, with_consequences};
use super::lifecycle::Checks;

keys! {
    /// A timer.
    pub struct TimerDecl {
        /// The duration: a span, or an expression that gives one, evaluated when the timer starts.
        pub after: Option<Expr>,
        /// Instead of `after`: a field of type `time`.
        pub at: Option<At<Name>>,
        /// Instead of `after`: `daily HH:MM`, or a span. The timer restarts each time it is due.
        pub every: Option<Expr>,
        /// States in which it runs; it pauses in other states. Default: every state that is not final.
        pub runs: Option<OneOrMany<At<Name>>>,
        /// When it starts: `once`, `entry`, or transitions.
        pub starts: Option<OneOrMany<At<Name>>>,
        /// Transitions that restart it while it runs.
        pub restarts: Option<OneOrMany<At<Name>>>,
        /// Warnings at percentages of the duration, each once per start.
        pub warn: Option<WarnDecl>,
        /// The transition that is fired when the timer is due.
        pub then: Option<FollowUpDecl>,
    }
}

shapes! {
    /// Warnings: a list of percentages, or percentage to consequences.
    pub enum WarnDecl {
        List(Vec<At<Percent>>) if list,
        Steps(Named<WarnStep>) if map,
    }
}

with_consequences! {
    /// The consequences of a warning.
    pub struct WarnStep {
        /// The severity of the alert: `info`, `warning`, `error` or `critical`; `none` raises no alert.
        pub severity: Option<At<Name>>,
    }
}

keys! {
    /// A counter with an optional limit and its consequence.
    pub struct CounterDecl {
        /// `state`: one tally for each state.
        pub per: Option<At<Name>>,
        /// One tally for each value of these expressions.
        pub key: Option<OneOrMany<Expr>>,
        /// The amount to add; 1 by default.
        pub add: Option<Expr>,
        /// Counts only if this is true.
        pub r#if: Option<Expr>,
        /// Counts only observations within this span: span or expression.
        pub within: Option<Expr>,
        /// Counts only the last N observations: number or expression.
        pub last: Option<Expr>,
        /// `moves`: counts every change of state.
        pub on: Option<At<Name>>,
        /// Each count is a failure and is journalled as one.
        pub failure: Option<bool>,
        /// The limit: when the tally reaches it, `then` is fired. Number or expression.
        pub limit: Option<Expr>,
        /// Warnings at percentages of the limit, each once until the counter is reset.
        pub warn: Option<WarnDecl>,
        /// The transition that is fired when the tally reaches the limit.
        pub then: Option<FollowUpDecl>,
        /// When the counter is reset: `forward`, transitions, or `daily HH:MM`.
        pub reset: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// A slot: a lease on it has one holder at a time.
    pub struct SlotDecl {
        /// How long a grant or a heartbeat lasts: span or expression.
        pub r#for: Expr,
        /// The span between the expiry and the loss of the lease.
        pub grace: Option<Expr>,
        /// The field that shows the holder.
        pub holder: Option<At<Name>>,
        /// The field that shows the expiry.
        pub until: Option<At<Name>>,
        /// The transition that is fired when the lease is lost.
        pub lost: Option<At<Name>>,
        /// Checks that every heartbeat evaluates. If one is false, the answer asks the holder to stop.
        pub r#while: Option<Checks>,
        /// Entities whose invariants of severity `error` every heartbeat evaluates: `this`, or single refs. If one is
        /// violated, the answer asks the holder to stop.
        pub invariants: Option<OneOrMany<At<Name>>>,
    }
}

keys! {
    /// A ranking of the entities of a lifecycle, updated with every move.
    pub struct RankingDecl {
        /// The states of ranked entities; default: every state that is not final.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// Only entities for which this is true; cannot read `now` or the caller.
        pub when: Option<Expr>,
        /// Sort keys, most important first; a leading `-` sorts in descending order. Ties: older entities first.
        pub by: Option<OneOrMany<Expr>>,
        /// Refs: one order for each entity that they name.
        pub within: Option<OneOrMany<At<Name>>>,
        /// With `within`: while this is false, `claim` takes nothing from that order.
        pub open: Option<Expr>,
        /// The actor the entity is reserved for; null means any actor.
        pub r#for: Option<Expr>,
        /// The transition with which `claim` takes the first entity.
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
        /// The fields of the transition, as expressions.
        pub with: Named<Expr>,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
    }
}

keys! {
    /// A condition that must always be true.
    pub struct InvariantDecl {
        /// The condition.
        pub holds: Expr,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// `error` (the default) or `warning`.
        pub severity: Option<At<Name>>,
        /// The message of a violation.
        pub says: Expr,
        /// The transition that the sweep fires when it finds a violation.
        pub repair: Option<At<Name>>,
        /// The kind of the alert of a violation. Such an alert is resolved when the condition is true again.
        pub alert: Option<At<Name>>,
    }
}

keys! {
    /// A notification that is sent on moves.
    pub struct NotifyRuleDecl {
        /// When it is sent: `moves`, or transitions.
        pub on: OneOrMany<At<Name>>,
        /// Only when entering these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// An audience of the pack.
        pub audience: At<Name>,
        /// The actors to notify: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// The text.
        pub message: Expr,
        /// Sends it only if this is true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// An effect: work for an outside worker, and the transitions that report its result.
    pub struct EffectDecl {
        /// Its arguments, as expressions.
        pub with: Named<Expr>,
        /// The transition that is fired when the effect succeeds.
        pub ok: Option<At<Name>>,
        /// The transition that is fired when the effect fails.
        pub failed: Option<At<Name>>,
        /// Members of `with`: effects of this name with the same values are handed out one at a time, in the order in
        /// which they were requested.
        pub queue: Option<OneOrMany<At<Name>>>,
        /// Handed out only while this is true; an expression over the entity and the members of `with`. If it is
        /// false when a worker asks for the effect, the effect has failed.
        pub r#while: Option<Expr>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
