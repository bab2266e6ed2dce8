//! Clocks, tallies, leases, reactions, invariants, notices and effects.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, Percent, keys, shapes};

use super::Expr;
use super::consequence::{Follow, with_consequences};
use super::lifecycle::Checks;

keys! {
    /// A clock.
    pub struct TimerDecl {
        /// Span, or expression giving one, evaluated when it starts.
        pub after: Option<Expr>,
        /// Instead: a field of type `time`.
        pub at: Option<At<Name>>,
        /// Instead: `daily HH:MM`, or a span; it starts again each time it is due.
        pub every: Option<Expr>,
        /// States in which it runs; outside it stands still. Default: every state that is not final.
        pub runs: Option<OneOrMany<At<Name>>>,
        /// `once`, `entry`, or transitions.
        pub starts: Option<OneOrMany<At<Name>>>,
        /// Transitions that start it anew while it runs.
        pub restarts: Option<OneOrMany<At<Name>>>,
        /// Percentages, each once per start.
        pub warn: Option<Warn>,
        /// The transition fired when due.
        pub then: Option<Follow>,
    }
}

shapes! {
    /// Percentages: a list, or percentage to consequences.
    pub enum Warn {
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
    /// A tally with a limit and a consequence.
    pub struct CounterDecl {
        /// `state`: one tally per state.
        pub per: Option<At<Name>>,
        /// One tally per value of these expressions.
        pub key: Option<OneOrMany<Expr>>,
        /// How much to count; default 1.
        pub add: Option<Expr>,
        /// Counts only when true.
        pub r#if: Option<Expr>,
        /// Only what was counted in this span: span or expression.
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
        pub warn: Option<Warn>,
        /// A move by the engine once the limit is reached.
        pub then: Option<Follow>,
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
        /// Span after expiry before it is called lost.
        pub grace: Option<Expr>,
        /// The field that shows the holder.
        pub holder: Option<At<Name>>,
        /// The field that shows the expiry.
        pub until: Option<At<Name>>,
        /// The transition fired when it is lost.
        pub lost: Option<At<Name>>,
        /// Checks: its holder goes on while they hold, and learns from each heartbeat when one does not.
        pub r#while: Option<Checks>,
    }
}

keys! {
    /// An order among the entities of a lifecycle, kept as things move.
    pub struct RankingDecl {
        /// The states of those in it; default: every state that is not final.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// Only those for which this is true; neither `now` nor the caller.
        pub when: Option<Expr>,
        /// Expressions in order of weight, a leading `-` for descending; then the older first.
        pub by: Option<OneOrMany<Expr>>,
        /// Refs: one order per entity they name.
        pub within: Option<OneOrMany<At<Name>>>,
        /// With `within`: while it is false, nothing of that order is handed out.
        pub open: Option<Expr>,
        /// The only actor whom it is meant for; null means anyone.
        pub r#for: Option<Expr>,
        /// The transition by which `claim` takes the first.
        pub claims: Option<At<Name>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// A move the engine makes when something becomes true.
    pub struct Reaction {
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
    /// What must always hold.
    pub struct InvariantDecl {
        /// The expression.
        pub holds: Expr,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// `error` (the default) or `warning`.
        pub severity: Option<At<Name>>,
        /// What is wrong, for people.
        pub says: Expr,
        /// The transition the sweep fires when it finds it broken.
        pub repair: Option<At<Name>>,
    }
}

keys! {
    /// Who is told of moves.
    pub struct NotifyRule {
        /// `moves`, or transitions.
        pub on: OneOrMany<At<Name>>,
        /// Only when entering these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// An audience of the pack.
        pub audience: At<Name>,
        /// Actors in particular: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// The text.
        pub message: Expr,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// Work for the outside, and the events that bring its result home.
    pub struct EffectDecl {
        /// What it is told, as expressions.
        pub with: Named<Expr>,
        /// The transition when it was done.
        pub ok: Option<At<Name>>,
        /// The transition when it failed.
        pub failed: Option<At<Name>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
