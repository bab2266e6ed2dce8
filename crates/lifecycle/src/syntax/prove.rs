//! Promises of a lifecycle.

use crate::name::Name;
use crate::source::{At, OneOrMany, SpanText, keys};

use super::Expr;

keys! {
    /// A promise that `check` and `explore` hold the definition to.
    pub struct PropertyDecl {
        /// The promise in one sentence.
        pub says: At<String>,
        /// True of none, at no time.
        pub never: Option<Expr>,
        /// True of all, at any time.
        pub always: Option<Expr>,
        /// Some run leads to where this is true.
        pub reachable: Option<Expr>,
        /// It comes true by time alone, though nobody does anything any more.
        pub eventually: Option<Expr>,
        /// Nobody of whom this is true can, acting alone, bring about `to`.
        pub alone: Option<Expr>,
        /// With `alone`: from where on only one has acted.
        pub from: Option<Expr>,
        /// With `alone`: what one alone cannot bring about.
        pub to: Option<Expr>,
        /// With `eventually`: whenever this is true.
        pub when: Option<Expr>,
        /// With `eventually`: the longest it may take.
        pub within: Option<SpanText>,
        /// Only in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// With `never` and `always`: only right after these transitions; `actor` is who asked for it.
        pub on: Option<OneOrMany<At<Name>>>,
    }
}
