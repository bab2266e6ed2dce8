//! A question about an entity as it is: for promises, not for decisions.

use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::time::Timestamp;

use crate::actor::Actor;
use crate::decide::sample_scope_after;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::law::Law;
use crate::view::View;

/// The data that an expression may read.
#[derive(Clone, Copy, Debug)]
pub struct ConditionScope<'a> {
    pub law: &'a Law,
    pub view: &'a View,
    pub entity: &'a Entity,
    /// The entity's fields before the change, for `was`.
    pub was: &'a Fields,
    /// The value of `actor`; none for the engine itself.
    pub actor: Option<&'a Actor>,
    pub now: Timestamp,
}

impl ConditionScope<'_> {
    /// Whether a condition of the entity's lifecycle is true.
    pub fn test(&self, guard: &Guard) -> Result<bool, Fault> {
        let Some(life) = self.law.definition(&self.entity.key.lifecycle, self.entity.definition) else {
            return Err(Fault::Failed(format!("{} has no definition", self.entity.key)));
        };
        sample_scope_after(self, life, |scope| guard.test(scope)).unwrap_or(Err(Fault::NotLoaded))
    }
}
