//! Stranded entities: those whose state, way out or field values the new definition removes.

mod findings;
mod reachable;
mod read;

use std::collections::BTreeMap;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use trackside_engine::Law;
use trackside_engine::decide::view_of_entities;
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
pub fn find_stranded(
    old: &Law,
    new: &Law,
    entities: &[Entity],
    project: &Project,
    now: Timestamp,
) -> Stranding {
    let mut stranding = Stranding { looked_at: entities.len(), ..Stranding::default() };
    let seen = |law: &Law| {
        let mut view = view_of_entities(law, entities.to_vec(), now);
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
}

impl Serialize for Stranding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Report<'a> {
            looked_at: usize,
            stranded: usize,
            states: Vec<StateCount<'a>>,
            groups: &'a [Stranded],
        }
        #[derive(Serialize)]
        struct StateCount<'a> {
            lifecycle: &'a Name,
            state: &'a Name,
            count: usize,
        }
        let states = self.states.iter();
        let states = states.map(|((lifecycle, state), count)| StateCount { lifecycle, state, count: *count });
        let (looked_at, stranded, groups) = (self.looked_at, self.count(), self.groups.as_slice());
        Report { looked_at, stranded, states: states.collect(), groups }.serialize(serializer)
    }
}

impl Stranded {
    /// The ids, at most `most` of them.
    pub fn ids_text(&self, most: usize) -> String {
        let shown: Vec<&str> = self.ids.iter().take(most).map(Name::as_str).collect();
        match self.ids.len().saturating_sub(most) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }
}

impl Serialize for Stranded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { lifecycle, state, trouble, why, advice, ids } = self;
        let mut report = serializer.serialize_struct("Stranded", 7)?;
        report.serialize_field("lifecycle", lifecycle)?;
        report.serialize_field("state", state)?;
        report.serialize_field("trouble", trouble.as_str())?;
        report.serialize_field("why", why)?;
        report.serialize_field("advice", advice)?;
        report.serialize_field("count", &ids.len())?;
        report.serialize_field("ids", ids)?;
        report.end()
    }
}
