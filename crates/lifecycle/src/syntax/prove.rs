//! Promises of a lifecycle.

use crate::name::Name;
use crate::source::{At, OneOrMany, SpanText, keys};

use super::Expr;

keys! {
    /// A property that `check` and `explore` verify.
    pub struct PropertyDecl {
        /// The promise in one sentence.
        pub says: At<String>,
        /// This is never true, for any entity.
        pub never: Option<Expr>,
        /// This is always true, for every entity.
        pub always: Option<Expr>,
        /// This becomes true in some run.
        pub reachable: Option<Expr>,
        /// This becomes true through timers alone, without any request.
        pub eventually: Option<Expr>,
        /// An actor for whom this is true cannot reach `to` alone.
        pub alone: Option<Expr>,
        /// With `alone`: the situation from which only that actor acts.
        pub from: Option<Expr>,
        /// With `alone`: the situation that one actor alone must not reach.
        pub to: Option<Expr>,
        /// With `eventually`: the promise starts whenever this is true.
        pub when: Option<Expr>,
        /// With `eventually`: the longest time until it becomes true.
        pub within: Option<SpanText>,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// With `never` and `always`: only right after these transitions; `actor` is the actor that requested the transition.
        pub on: Option<OneOrMany<At<Name>>>,
    }
}
