//! Stranded entities: those whose state, way out or field values the new definition removes.

mod findings;
mod reachable;
mod read;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trackside_engine::Law;
use trackside_engine::decide::gathered;
use trackside_engine::entity::Entity;
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

pub use read::read_entities;

/// The effect of a change on running entities.
#[derive(Clone, Debug, Default)]
pub struct Stranding {
    pub looked_at: usize,
    /// The number of entities in each state.
    pub states: BTreeMap<(Name, Name), usize>,
    pub groups: Vec<Stranded>,
}

/// Entities of one state that share a trouble.
#[derive(Clone, Debug)]
pub struct Stranded {
    pub lifecycle: Name,
    pub state: Name,
    pub trouble: Trouble,
    pub why: String,
    /// The advice for fixing it.
    pub advice: String,
    pub ids: Vec<Name>,
}

/// The ways to be stranded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    LifecycleGone,
    StateGone,
    NoWayOut,
    NoEnd,
    FieldGone,
    Misfit,
    Missing,
    TimerGone,
    LeaseGone,
    OverLimit,
    EffectUnheard,
    Violation,
}

impl Trouble {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LifecycleGone => "lifecycle-gone",
            Self::StateGone => "state-gone",
            Self::NoWayOut => "no-way-out",
            Self::NoEnd => "no-way-to-an-end",
            Self::FieldGone => "field-gone",
            Self::Misfit => "value-does-not-fit",
            Self::Missing => "required-field-missing",
            Self::TimerGone => "timer-gone",
            Self::LeaseGone => "lease-gone",
            Self::OverLimit => "over-limit",
            Self::EffectUnheard => "effect-unheard",
            Self::Violation => "invariant-violated",
        }
    }
}

/// Every problem that the new definition causes and the old one did not have.
pub fn stranded(old: &Law, new: &Law, entities: &[Entity], project: &Project, now: Timestamp) -> Stranding {
    let mut stranding = Stranding { looked_at: entities.len(), ..Stranding::default() };
    let seen = |law: &Law| {
        let mut view = gathered(law, entities.to_vec(), now);
        view.project = project.clone();
        view
    };
    let (before, after) = (seen(old), seen(new));
    for entity in entities {
        let place = (entity.key.lifecycle.clone(), entity.state.clone());
        *stranding.states.entry(place).or_default() += 1;
        let known = findings::entity_problems(old, &before, entity, now);
        for finding in findings::entity_problems(new, &after, entity, now) {
            if known.iter().any(|it| (it.trouble, &it.why) == (finding.trouble, &finding.why)) {
                continue;
            }
            let (lifecycle, state) = (&entity.key.lifecycle, &entity.state);
            let same = |it: &&mut Stranded| {
                it.lifecycle == *lifecycle
                    && it.state == *state
                    && it.trouble == finding.trouble
                    && it.why == finding.why
            };
            match stranding.groups.iter_mut().find(same) {
                Some(group) => group.ids.push(entity.key.id.clone()),
                None => stranding.groups.push(Stranded {
                    lifecycle: lifecycle.clone(),
                    state: state.clone(),
                    trouble: finding.trouble,
                    why: finding.why,
                    advice: finding.advice,
                    ids: vec![entity.key.id.clone()],
                }),
            }
        }
    }
    stranding.groups.sort_by(|a, b| {
        (&a.lifecycle, a.trouble, &a.state, &a.why).cmp(&(&b.lifecycle, b.trouble, &b.state, &b.why))
    });
    stranding
}

impl Stranding {
    /// The number of entities with at least one trouble.
    pub fn count(&self) -> usize {
        let all = self.groups.iter().flat_map(|it| it.ids.iter().map(|id| (&it.lifecycle, id)));
        all.collect::<std::collections::BTreeSet<_>>().len()
    }

    pub fn to_json(&self) -> Json {
        let states = self.states.iter().map(
            |((lifecycle, state), count)| json!({ "lifecycle": lifecycle, "state": state, "count": count }),
        );
        json!({
            "lookedAt": self.looked_at,
            "stranded": self.count(),
            "states": states.collect::<Vec<_>>(),
            "groups": self.groups.iter().map(Stranded::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Stranded {
    /// The ids, at most `most` of them.
    pub fn listed(&self, most: usize) -> String {
        let shown: Vec<&str> = self.ids.iter().take(most).map(Name::as_str).collect();
        match self.ids.len().saturating_sub(most) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    pub fn to_json(&self) -> Json {
        json!({
            "lifecycle": self.lifecycle,
            "state": self.state,
            "trouble": self.trouble.as_str(),
            "why": self.why,
            "advice": self.advice,
            "count": self.ids.len(),
            "ids": self.ids,
        })
    }
}
