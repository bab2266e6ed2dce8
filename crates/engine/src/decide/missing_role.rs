//! The role that would admit a caller who may not do something.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::name::Name;

use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::actor::ActorKind;
use crate::entity::Entity;

impl DecisionBuilder<'_> {
    /// The command with which an admin gives the caller a role that alone would admit it to one of these rules. None if
    /// no role would: the rule is about the entity, or the caller acts for another actor or in a run.
    pub fn missing_role(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        rules: &[&Guard],
        request: &Request,
    ) -> Result<Option<String>, Stop> {
        let actor = &request.actor;
        let acts_alone = actor.subject.is_none() && actor.scope.is_none();
        if request.engine || !acts_alone || actor.kind == ActorKind::Timeout {
            return Ok(None);
        }
        for rule in rules {
            for used in rule.reads().iter() {
                let Some(Read::Role(holders)) = life.reads.get(used.slot.0 as usize) else { continue };
                // As `pack:role`: a bare name may mean the roles of several packs.
                let Some(role) =
                    holders.iter().find(|it| it.rsplit_once(':').is_some_and(|(_, it)| *it == *used.path))
                else {
                    continue;
                };
                let with: Vec<Name> = actor.roles.iter().chain([role]).cloned().collect();
                let mut asked = request.clone();
                asked.actor = actor.clone().with_roles(with);
                if self.permits(life, entity, rule, &asked)? {
                    let (id, kind) = (&actor.id, actor.kind.as_str());
                    return Ok(Some(format!("trackside token create {id} --kind {kind} --role {role}")));
                }
            }
        }
        Ok(None)
    }
}
