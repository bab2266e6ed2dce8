//! The consequences of a move.

use super::lifecycle::StateSet;
use crate::guard::{Guard, Template};
use crate::name::Name;

#[derive(Clone, Debug, Default)]
pub struct Consequences {
    pub set: Vec<Assign>,
    pub clear: Vec<Name>,
    pub reset: Vec<Name>,
    pub lease: Option<Grant>,
    pub release: Vec<Name>,
    pub then: Vec<FollowUp>,
    pub also: Vec<Also>,
    pub create: Vec<Spawn>,
    pub post: Vec<Post>,
    pub notify: Vec<Notification>,
    pub alert: Vec<RaiseAlert>,
    pub effects: Vec<EffectCall>,
}

impl Consequences {
    /// True if there are no consequences.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
            && self.clear.is_empty()
            && self.reset.is_empty()
            && self.lease.is_none()
            && self.release.is_empty()
            && self.then.is_empty()
            && self.also.is_empty()
            && self.create.is_empty()
            && self.post.is_empty()
            && self.notify.is_empty()
            && self.alert.is_empty()
            && self.effects.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct Assign {
    pub target: AssignTarget,
    pub value: Guard,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub enum AssignTarget {
    Field(Name),
    Counter(Name),
    /// One tally of a counter, under this key.
    CounterAt(Name, Guard),
}

/// Fields of a further move, as expressions over the entity it follows from.
pub type With = Vec<(Name, Guard)>;

/// A follow-up transition of the same entity.
#[derive(Clone, Debug)]
pub struct FollowUp {
    pub fire: Name,
    pub with: With,
    pub when: Option<Guard>,
    /// The actor on whose behalf the engine fires it.
    pub subject: Option<Guard>,
}

/// A move of others.
#[derive(Clone, Debug)]
pub struct Also {
    pub on: Name,
    /// `on` names many.
    pub each: bool,
    /// The lifecycle moved.
    pub to: Name,
    pub within: Option<StateSet>,
    pub fire: Name,
    pub with: With,
    pub when: Option<Guard>,
    pub soft: bool,
    /// Whether entities whose own checks refuse are skipped.
    pub willing: bool,
    /// Only a share of them, in the order of a ranking.
    pub share: Option<RankingShare>,
}

/// A part of a ranking.
#[derive(Clone, Debug)]
pub struct RankingShare {
    pub ranking: Name,
    pub range: ShareRange,
}

#[derive(Clone, Debug)]
pub enum ShareRange {
    First(ShareAmount),
    Last(ShareAmount),
    /// Entities whose first key is below this.
    Below(Guard),
}

#[derive(Clone, Debug)]
pub enum ShareAmount {
    /// A share of the whole order, rounded up.
    Percent(u32),
    Number(Guard),
}

#[derive(Clone, Debug)]
pub struct Spawn {
    pub lifecycle: Name,
    pub id: Guard,
    pub fields: With,
    pub when: Option<Guard>,
    pub soft: bool,
}

#[derive(Clone, Debug)]
pub struct Grant {
    pub slot: Name,
    pub to: Option<Guard>,
}

#[derive(Clone, Debug)]
pub struct Post {
    pub kind: Name,
    pub text: Template,
    /// The actors who have to act on it.
    pub to: Option<Guard>,
    /// The only actors who may read it, besides its author; none means every observer of the entity.
    pub visible: Option<Guard>,
    /// The author.
    pub from: Option<Guard>,
    /// Once per element.
    pub each: Option<Guard>,
    pub when: Option<Guard>,
}

#[derive(Clone, Debug)]
pub struct Notification {
    pub audience: Name,
    pub to: Option<Guard>,
    pub message: Template,
    /// Once per element.
    pub each: Option<Guard>,
    pub when: Option<Guard>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}

#[derive(Clone, Debug)]
pub struct RaiseAlert {
    pub kind: Name,
    pub severity: Severity,
    pub message: Template,
    pub when: Option<Guard>,
}

/// A request for an effect.
#[derive(Clone, Debug)]
pub struct EffectCall {
    pub effect: Name,
    pub with: With,
    pub when: Option<Guard>,
}
