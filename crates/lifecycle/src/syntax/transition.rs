//! Transitions, their arms and targets.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, shapes};

use super::Expr;
use super::consequence::with_consequences;
use super::field::TypeDecl;
use super::lifecycle::Checks;

shapes! {
    /// One arm, or several that are tried in order.
    pub enum Arms {
        Many(Vec<ArmDecl>) if list,
        One(Box<ArmDecl>) if map,
    }
}

with_consequences! {
    /// An arm: one rule of a transition.
    pub struct ArmDecl {
        /// The states it leaves: states, sets, or `any`.
        pub from: OneOrMany<At<Name>>,
        /// The target. Without it, the transition only changes fields.
        pub to: Option<TargetDecl>,
        /// Who may take it: an expression.
        pub by: Option<Expr>,
        /// The only fields a caller may send.
        pub takes: Option<Takes>,
        /// The message when the request gives no reason; makes one required.
        pub reason: Option<String>,
        /// The reason to journal when the request gives none: a message with `{expressions}`.
        pub default_reason: Option<Expr>,
        /// Checks on the request.
        pub when: Option<Checks>,
        /// Counters that count the transition, before the target is chosen.
        pub count: Option<OneOrMany<At<Name>>>,
        /// Fields that the decision must not change.
        pub keep: Option<Vec<At<Name>>>,
        /// The caller must hold this lease.
        pub holding: Option<At<Name>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

shapes! {
    /// The fields a caller may send: a list of optional ones, or a map.
    pub enum Takes {
        Optional(Vec<At<Name>>) if list,
        Map(Named<TakeDecl>) if map,
    }
}

shapes! {
    /// An accepted field: the message when it is missing, or the type of a value that is not stored.
    pub enum TakeDecl {
        Required(At<String>) if scalar,
        Value(Box<TypeDecl>) if map,
    }
}

shapes! {
    /// The target: a state, a list of choices, or one of the map forms.
    pub enum TargetDecl {
        State(At<Name>) if scalar,
        Choices(Vec<ChoiceDecl>) if list,
        Field(Box<ByField>) if map with "field",
        Ask(Box<ByAsking>) if map with "ask",
        Next(Box<ByPath>) if map with "next",
        Table(Named<At<Name>>) if map,
    }
}

crate::source::keys! {
    /// The state held by a field.
    pub struct ByField {
        /// A field of type `state`.
        pub field: At<Name>,
    }
}

crate::source::keys! {
    /// A target that the caller names in `fields.to`.
    pub struct ByAsking {
        /// The states that the caller may name.
        pub ask: OneOrMany<At<Name>>,
        /// Only states before the current one in `path`.
        pub earlier: Option<bool>,
        /// Counts from the state in this field instead of the current one.
        pub of: Option<At<Name>>,
    }
}

crate::source::keys! {
    /// The next state of the path.
    pub struct ByPath {
        /// Always `true`.
        pub next: At<bool>,
        /// Counts from the state in this field instead of the current one.
        pub of: Option<At<Name>>,
    }
}

with_consequences! {
    /// One of several targets. The first whose `when` is true is taken.
    pub struct ChoiceDecl {
        /// The condition; the last choice has none.
        pub when: Option<Expr>,
        /// The target state.
        pub state: Option<At<Name>>,
        /// Instead of `state`: the state held by a field.
        pub field: Option<At<Name>>,
        /// Instead of `state`: the caller names one of these states.
        pub ask: Option<OneOrMany<At<Name>>>,
        /// With `ask`: only states before the current one in `path`.
        pub earlier: Option<bool>,
        /// Instead of `state`: the next state of the path.
        pub next: Option<At<bool>>,
        /// With `ask` and `next`: counts from the state in this field.
        pub of: Option<At<Name>>,
        /// Instead of `state`: a table from current state to target state.
        pub table: Option<Named<At<Name>>>,
        /// Instead of `state`: no move.
        pub stay: Option<At<bool>>,
    }
}
