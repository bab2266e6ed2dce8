//! What follows from a move: the keys shared by arms, choices, `enter`, `create` and the steps of a `warn`.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, keys, shapes};

use super::Expr;

/// The consequence keys of one mapping.
#[derive(Clone, Debug, Default)]
pub struct Consequences {
    pub set: Vec<(At<Name>, Expr)>,
    pub clear: Vec<At<Name>>,
    pub reset: Vec<At<Name>>,
    pub lease: Option<Grant>,
    pub release: Vec<At<Name>>,
    pub then: Vec<Follow>,
    pub also: Vec<Also>,
    pub create: Vec<Birth>,
    pub post: Vec<Post>,
    pub notify: Vec<Tell>,
    pub alert: Vec<Raise>,
    pub effects: Vec<EffectCall>,
}

/// Declares a mapping that has the consequence keys beside its own.
macro_rules! with_consequences {
    ($(#[doc = $about:literal])* pub struct $name:ident { $($own:tt)* }) => {
        $crate::source::keys! {
            $(#[doc = $about])*
            pub struct $name {
                $($own)*
                /// Field to expression; counters too.
                pub set: $crate::source::Named<$crate::syntax::Expr>,
                /// Fields made null.
                pub clear: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// Counters set to zero.
                pub reset: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// A lease granted to the subject.
                pub lease: Option<$crate::syntax::Grant>,
                /// Leases ended.
                pub release: Option<$crate::source::OneOrMany<$crate::source::At<$crate::name::Name>>>,
                /// Further moves of the same entity, by the engine.
                pub then: Option<$crate::source::OneOrMany<$crate::syntax::Follow>>,
                /// Moves of others in the same decision.
                pub also: Option<$crate::source::OneOrMany<$crate::syntax::Also>>,
                /// New entities.
                pub create: Option<$crate::source::OneOrMany<$crate::syntax::Birth>>,
                /// Messages on the entity.
                pub post: Option<$crate::source::OneOrMany<$crate::syntax::Post>>,
                /// Who is told.
                pub notify: Option<$crate::source::OneOrMany<$crate::syntax::Tell>>,
                /// What people should look at.
                pub alert: Option<$crate::source::OneOrMany<$crate::syntax::Raise>>,
                /// Work for the outside.
                pub effects: Option<$crate::source::OneOrMany<$crate::syntax::EffectCall>>,
            }
        }

        impl $name {
            pub fn consequences(&self) -> $crate::syntax::Consequences {
                use $crate::syntax::consequence::listed;
                $crate::syntax::Consequences {
                    set: self.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                    clear: listed(&self.clear),
                    reset: listed(&self.reset),
                    lease: self.lease.clone(),
                    release: listed(&self.release),
                    then: listed(&self.then),
                    also: listed(&self.also),
                    create: listed(&self.create),
                    post: listed(&self.post),
                    notify: listed(&self.notify),
                    alert: listed(&self.alert),
                    effects: listed(&self.effects),
                }
            }
        }
    };
}
pub(crate) use with_consequences;

pub(crate) fn listed<T: Clone>(it: &Option<OneOrMany<T>>) -> Vec<T> {
    it.as_ref().map(|it| it.iter().cloned().collect()).unwrap_or_default()
}

shapes! {
    /// A further move: its name, or a map.
    pub enum Follow {
        Fire(At<Name>) if scalar,
        Map(Box<FollowMap>) if map,
    }
}

keys! {
    /// A further move of the same entity.
    pub struct FollowMap {
        /// The transition.
        pub fire: At<Name>,
        /// The fields it takes, as expressions.
        pub with: Named<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// A move of another entity in the same decision.
    pub struct Also {
        /// The ref it moves.
        pub on: Option<At<Name>>,
        /// Instead: every entity of a many-ref or an inverse.
        pub each: Option<At<Name>>,
        /// With `each`: a share of them, in the order of this ranking.
        pub ranked: Option<At<Name>>,
        /// How many from the front: a percentage of the whole order, or an expression.
        pub first: Option<Expr>,
        /// The same from the end.
        pub last: Option<Expr>,
        /// Instead: those whose first `by` is below this.
        pub below: Option<Expr>,
        /// With `each`: only those in these states.
        pub r#in: Option<OneOrMany<At<Name>>>,
        /// The transition.
        pub fire: At<Name>,
        /// The fields it takes, as expressions.
        pub with: Named<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
        /// A refusal is dropped with an alert instead of refusing the whole.
        pub soft: Option<bool>,
        /// Those whose own checks refuse are passed over, and nothing is said.
        pub willing: Option<bool>,
    }
}

keys! {
    /// A new entity.
    pub struct Birth {
        /// Its lifecycle.
        pub lifecycle: At<Name>,
        /// Its id, as an expression.
        pub id: Expr,
        /// Its fields, as expressions.
        pub fields: Named<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
        /// A refusal is dropped with an alert instead of refusing the whole.
        pub soft: Option<bool>,
    }
}

shapes! {
    /// A lease granted: the slot's name, or a map.
    pub enum Grant {
        Slot(At<Name>) if scalar,
        Map(Box<GrantMap>) if map,
    }
}

keys! {
    /// A lease granted to somebody in particular.
    pub struct GrantMap {
        /// The slot.
        pub slot: At<Name>,
        /// The holder, as an expression.
        pub to: Option<Expr>,
    }
}

keys! {
    /// A message on the entity.
    pub struct Post {
        /// Its kind.
        pub kind: At<Name>,
        /// Its text.
        pub text: Expr,
        /// The actors it is delivered to: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// Whose words these are, where not those of whoever moves it: an expression giving an id.
        pub from: Option<Expr>,
        /// Once per element of this list, which the other expressions see as `it`.
        pub each: Option<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// Who is told.
    pub struct Tell {
        /// An audience of the pack.
        pub audience: At<Name>,
        /// Actors in particular: an expression giving an id or a list of ids.
        pub to: Option<Expr>,
        /// The text.
        pub message: Expr,
        /// Once per element of this list, which the other expressions see as `it`.
        pub each: Option<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

keys! {
    /// What people should look at.
    pub struct Raise {
        /// What sort of alert.
        pub kind: At<Name>,
        /// `info`, `warning` (the default), `error` or `critical`.
        pub severity: Option<At<Name>>,
        /// The text.
        pub message: Expr,
        /// Only when true.
        pub when: Option<Expr>,
    }
}

shapes! {
    /// Work for the outside: its name, or a map.
    pub enum EffectCall {
        Effect(At<Name>) if scalar,
        Map(Box<EffectMap>) if map,
    }
}

keys! {
    /// Work for the outside, with its particulars.
    pub struct EffectMap {
        /// A declared effect.
        pub effect: At<Name>,
        /// What it is told, as expressions.
        pub with: Named<Expr>,
        /// Only when true.
        pub when: Option<Expr>,
    }
}
