//! `pack.yaml`.

use crate::name::Name;
use crate::source::{At, Json, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::field::TypeDecl;

keys! {
    /// What the lifecycles of a pack share.
    pub struct PackFile {
        /// Its name; lifecycles are called `pack.kind`.
        pub pack: At<Name>,
        /// Grows with every change.
        pub version: At<u32>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Roles an actor may hold.
        pub roles: Named<RoleDecl>,
        /// Values that rules read as `settings.NAME`.
        pub settings: Named<SettingDecl>,
        /// Named types for fields.
        pub types: Named<TypeDecl>,
        /// Who can be told something: name and one sentence.
        pub audiences: Named<String>,
        /// Risk levels of actions.
        pub policy: Option<PolicyDecl>,
        /// Named questions.
        pub queries: Named<QueryDecl>,
    }
}

keys! {
    /// A role.
    pub struct RoleDecl {
        /// Other roles it includes.
        pub includes: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

shapes! {
    /// A setting: a bare default, or a map with `default`.
    pub enum SettingDecl {
        Full(Box<SettingMap>) if map with "default",
        BareMap(At<Json>) if map,
        BareList(At<Json>) if list,
        Bare(At<Json>) if scalar,
    }
}

keys! {
    /// A setting in full.
    pub struct SettingMap {
        /// The value when nobody says otherwise.
        pub default: At<Json>,
        /// Only where the default would be misread: `string`, `span`, `number` …
        pub r#type: Option<At<Name>>,
        /// Smallest value of an override.
        pub min: Option<f64>,
        /// Largest value of an override.
        pub max: Option<f64>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Expressions over the entity; the first that is not null wins.
        pub from: Option<OneOrMany<Expr>>,
    }
}

keys! {
    /// Risk levels of actions.
    pub struct PolicyDecl {
        /// From harmless to dangerous.
        pub levels: Vec<At<Name>>,
        /// The level of an action no rule names.
        pub unknown: At<Name>,
        /// The first match decides.
        pub rules: Vec<PolicyRule>,
        /// Each that matches may raise the level.
        pub raise: Option<Vec<PolicyRaise>>,
        /// Role to the highest level it may do without asking.
        pub roles: Named<At<Name>>,
    }
}

keys! {
    /// One rule of the risk policy.
    pub struct PolicyRule {
        /// The actions it speaks of; without it, all.
        pub action: Option<OneOrMany<At<Name>>>,
        /// Only when true; sees `action`, `arguments` and `settings`.
        pub when: Option<Expr>,
        /// The level it gives.
        pub level: Option<At<Name>>,
        /// Instead: refused outright, with this message.
        pub deny: Option<String>,
        /// The reason told to people.
        pub why: Option<String>,
    }
}

keys! {
    /// A circumstance that raises the level.
    pub struct PolicyRaise {
        /// Sees `action`, `arguments` and `settings`.
        pub when: Expr,
        /// At least this level.
        pub level: At<Name>,
        /// The reason told to people.
        pub why: Option<String>,
    }
}

keys! {
    /// A named question.
    pub struct QueryDecl {
        /// The lifecycle asked about.
        pub of: At<Name>,
        /// Parameters, seen as `ask.NAME`.
        pub takes: Named<TypeDecl>,
        /// Which entities.
        pub r#where: Option<Expr>,
        /// In which order; a leading `-` for descending.
        pub order: Option<OneOrMany<Expr>>,
        /// Instead: the journal of the entity with this id.
        pub history: Option<Expr>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
