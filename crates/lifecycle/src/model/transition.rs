//! Transitions: the declared arrows.

use std::collections::BTreeMap;

use super::consequence::Consequences;
use super::fit::FieldType;
use super::lifecycle::StateSet;
use crate::guard::{Guard, Template};
use crate::name::Name;

/// A named arrow: one rule or several.
#[derive(Clone, Debug)]
pub struct Transition {
    pub name: Name,
    pub arms: Vec<Arm>,
}

pub type From = StateSet;

/// One rule of a transition.
#[derive(Clone, Debug)]
pub struct Arm {
    pub transition: Name,
    pub index: usize,
    pub about: String,
    pub from: From,
    pub target: Target,
    pub by: Guard,
    pub takes: Vec<Take>,
    /// Why there must be a reason.
    pub reason: Option<String>,
    /// The journalled reason of a request that gives none.
    pub default_reason: Option<Template>,
    pub checks: Vec<Check>,
    pub count: Vec<Name>,
    pub keep: Vec<Name>,
    pub holding: Option<Name>,
    pub then: Consequences,
}

/// The rules for creating an entity.
#[derive(Clone, Debug)]
pub struct Create {
    pub by: Guard,
    pub takes: Vec<Take>,
    pub require: Vec<(Name, String)>,
    pub reason: Option<String>,
    pub checks: Vec<Check>,
    pub count: Vec<Name>,
    pub again: Option<Name>,
    /// Creating an id whose entity is in a final state starts a new life of it.
    pub anew: bool,
    /// Two open entities cannot have the same value of this expression.
    pub same: Option<Guard>,
    pub then: Consequences,
}

/// A field that a request may send.
#[derive(Clone, Debug)]
pub struct Take {
    pub name: Name,
    pub fits: FieldType,
    /// Whether it is stored in the field of the same name.
    pub stored: bool,
    /// The message when it is missing.
    pub required: Option<String>,
}

/// A condition with its message.
#[derive(Clone, Debug)]
pub struct Check {
    pub guard: Guard,
    pub says: Template,
    pub field: Option<Name>,
}

/// The target of a move.
#[derive(Clone, Debug)]
pub enum Target {
    One(Aim),
    /// The first whose condition is true; the last has none.
    Choices(Vec<Choice>),
}

impl Target {
    /// Its choices; empty if it has one aim.
    pub fn choices(&self) -> &[Choice] {
        match self {
            Self::One(_) => &[],
            Self::Choices(choices) => choices,
        }
    }

    /// Everywhere it may lead, in declared order.
    pub fn aims(&self) -> Vec<&Aim> {
        match self {
            Self::One(aim) => vec![aim],
            Self::Choices(choices) => choices.iter().map(|it| &it.aim).collect(),
        }
    }

    /// The aim of the last choice, which a request by target tries first.
    pub fn main(&self) -> &Aim {
        const STAY: &Aim = &Aim::Stay;
        match self {
            Self::One(aim) => aim,
            Self::Choices(choices) => choices.last().map_or(STAY, |it| &it.aim),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Choice {
    pub when: Option<Guard>,
    pub aim: Aim,
    pub then: Consequences,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    Stay,
    State(Name),
    /// The state held by a field.
    Field(Name),
    /// The caller names it in `to`.
    Ask {
        among: StateSet,
        earlier: bool,
        of: Option<Name>,
    },
    /// The one after the current one in the path.
    Next {
        of: Option<Name>,
    },
    Table(BTreeMap<Name, Name>),
}
