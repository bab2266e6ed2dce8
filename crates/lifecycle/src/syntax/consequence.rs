//! Consequences of a move: the keys shared by arms, choices, `enter`, `create` and the steps of a `warn`.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, keys, shapes};

use super::Expr;

/// The consequence keys of one mapping.
#[derive(Clone, Debug, Default)]
pub struct ConsequencesDecl {
    pub set: Vec<(At<Name>, Expr)>,
    pub clear: Vec<At<Name>>,
    pub reset: Vec<At<Name>>,
    pub lease: Option<GrantDecl>,
    pub release: Vec<At<Name>>,
    pub then: Vec<FollowUpDecl>,
    pub also: Vec<AlsoDecl>,
    pub create: Vec<SpawnDecl>,
    pub post: Vec<PostDecl>,
    pub notify: Vec<NotificationDecl>,
    pub alert: Vec<RaiseAlertDecl>,
    pub effects: Vec<EffectCallDecl>,
}

/// Declares a mapping that has the consequence keys beside its own.
macro_rules! with_consequences {
    ($(#[doc = $about:literal])* pub struct $name:ident { $($own:tt)* }) => {
        $crate::source::keys! {
            $(#[doc = $about])*
            pub struct $name {
                $($own)*
                /// Sets fields and counters: name to expression.
                pub set: $crate::source::Named<$crate::syntax::Expr>,
                /// Fields to set to null.
                pub clear: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// Counters to reset to zero.
                pub reset: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// Grants a lease to the subject of the request.
                pub lease: Option<$crate::syntax::GrantDecl>,
                /// Leases to release.
                pub release: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// Transitions that the engine fires next on the same entity.
                pub then: Option<$crate::source::OneOrMany<$crate::syntax::FollowUpDecl>>,
                /// Transitions of other entities in the same decision.
                pub also: Option<$crate::source::OneOrMany<$crate::syntax::AlsoDecl>>,
                /// Entities to create.
                pub create: Option<$crate::source::OneOrMany<$crate::syntax::SpawnDecl>>,
                /// Messages to post on the entity.
                pub post: Option<$crate::source::OneOrMany<$crate::syntax::PostDecl>>,
                /// A notification to send.
                pub notify: Option<$crate::source::OneOrMany<$crate::syntax::NotificationDecl>>,
                /// An alert to raise.
                pub alert: Option<$crate::source::OneOrMany<$crate::syntax::RaiseAlertDecl>>,
                /// Effects to request; they run outside the engine.
                pub effects: Option<$crate::source::OneOrMany<$crate::syntax::EffectCallDecl>>,
            }
        }

        impl $name {
            pub fn consequences(&self) -> $crate::syntax::ConsequencesDecl {
                use $crate::syntax::consequence::to_list;
                $crate::syntax::ConsequencesDecl {
                    set: self.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                    clear: to_list(&self.clear),
                    reset: to_list(&self.reset),
                    lease: self.lease.clone(),
                    release: to_list(&self.release),
                    then: to_list(&self.then),
                    also: to_list(&self.also),
                    create: to_list(&self.create),
                    post: to_list(&self.post),
                    notify: to_list(&self.notify),
                    alert: to_list(&self.alert),
                    effects: to_list(&self.effects),
                }
            }
        }
    };
}
pub(crate) use with_consequences;

pub(crate) fn to_list<T: Clone>(it: &Option<OneOrMany<T>>) -> Vec<T> {
    it.as_ref().map(|it| it.iter().cloned().collect()).unwrap_or_default()
}

shapes! {
    /// A follow-up transition: its name, or a map.
    pub enum FollowUpDecl {
        Fire(At<Name>) if scalar,
        Map(Box<FollowUpMap>) if map,
    }
}

keys! {
    /// A follow-up transition of the same entity.
    pub struct FollowUpMap {
        /// The transition.
        pub fire: At<Name>,
        /// The fields of the transition, as expressions.
        pub with: Named<Expr>,
        /// Fires it only if this is true.
        pub when: Option<Expr>,
        /// The actor on whose behalf the engine fires it: an expression giving an id; null means none.
        pub r#for: Option<Expr>,
    }
}

keys! {
    /// A transition of another entity in the same decision.
    pub struct AlsoDecl {
        /// The ref to the entity.
        pub on: Option<At<Name>>,
        /// Instead of `on`: every entity of a many-ref or an inverse.
        pub each: Option<At<Name>>,
        /// With `each`: a share of the entities, in the order of this ranking.
        pub ranked: Option<At<Name>>,
        /// With `ranked`: how many, from the start: a percentage of the whole order, or an expression.
        pub first: Option<Expr>,
        /// Like `first`, from the end.
        pub last: Option<Expr>,
        /// Instead of `first` and `last`: entities whose first `by` value is below this.
        pub below: Option<Expr>,
        /// With `each`: only entities in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// The transition.
        pub fire: At<Name>,
        /// The fields of the transition, as expressions.
        pub with: Named<Expr>,
        /// Fires it only if this is true.
        pub when: Option<Expr>,
        /// A refusal raises an alert instead of refusing the whole request.
        pub soft: Option<bool>,
        /// Skips entities whose own checks refuse, without an alert.
        pub willing: Option<bool>,
    }
}

keys! {
    /// An entity to create.
    pub struct SpawnDecl {
        /// Its lifecycle.
        pub lifecycle: At<Name>,
        /// Its id, as an expression.
        pub id: Expr,
        /// Its fields, as expressions.
        pub fields: Named<Expr>,
        /// Creates it only if this is true.
        pub when: Option<Expr>,
        /// A refusal raises an alert instead of refusing the whole request.
        pub soft: Option<bool>,
    }
}

shapes! {
    /// A lease to grant: the name of the slot, or a map.
    pub enum GrantDecl {
        Slot(At<Name>) if scalar,
        Map(Box<GrantMap>) if map,
    }
}

keys! {
    /// A lease to grant to a given actor.
    pub struct GrantMap {
        /// The slot.
        pub slot: At<Name>,
        /// The holder, as an expression.
        pub to: Option<Expr>,
    }
}

keys! {
    /// A message to post on the entity.
    pub struct PostDecl {
        /// The kind of message.
        pub kind: At<Name>,
        /// The text.
        pub text: Expr,
        /// The actors who have to act on it: an expression giving an id or a list of ids. It hides nothing from others.
        pub to: Option<Expr>,
        /// The only actors who may read it, besides its author: an expression giving an id or a list of ids.
        pub visible: Option<Expr>,
        /// The author, if it is not the actor who moves the entity: an expression giving an id.
        pub from: Option<Expr>,
        /// Posts once for each element of this list, which the other expressions see as `it`.
        pub each: Option<Expr>,
        /// Posts it only if this is true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// A notification to send.
    pub struct NotificationDecl {
        /// An audience of the pack.
        pub audience: At<Name>,
        /// The actors to notify: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// The text.
        pub message: Expr,
        /// Sends once for each element of this list, which the other expressions see as `it`.
        pub each: Option<Expr>,
        /// Sends it only if this is true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// An alert to raise.
    pub struct RaiseAlertDecl {
        /// The kind of alert.
        pub kind: At<Name>,
        /// `info`, `warning` (the default), `error` or `critical`.
        pub severity: Option<At<Name>>,
        /// The text.
        pub message: Expr,
        /// Raises it only if this is true.
        pub when: Option<Expr>,
    }
}

shapes! {
    /// An effect to request: its name, or a map.
    pub enum EffectCallDecl {
        Effect(At<Name>) if scalar,
        Map(Box<EffectCallMap>) if map,
    }
}

keys! {
    /// An effect to request, with its arguments.
    pub struct EffectCallMap {
        /// A declared effect.
        pub effect: At<Name>,
        /// Its arguments, as expressions.
        pub with: Named<Expr>,
        /// Requests it only if this is true.
        pub when: Option<Expr>,
    }
}
