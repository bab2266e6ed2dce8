//! Limits the token of a run to the entity of the run: what else it may move or create is declared by the entity's
//! `work`.

use trackside_lifecycle::model::{ANY_AGENT, RoleWork};
use trackside_lifecycle::name::Name;

use super::{DecisionBuilder, FLEET, Stop};
use crate::actor::{Actor, RunScope};
use crate::command::{Ask, Command};
use crate::key::EntityKey;
use crate::law::Law;
use crate::refusal::{Code, Refusal};
use crate::view::Found;

/// Refuses every command outside the scope of its actor's run. Each kind of command is listed, so that a new one cannot
/// be forgotten.
pub(super) fn check(law: &Law, command: &Command) -> Result<(), Stop> {
    let actor = &command.actor;
    let Some(scope) = actor.scope.as_deref() else { return Ok(()) };
    let on = |entity: &EntityKey| match reaches(law, actor, entity) {
        true => Ok(()),
        false => Err(outside(scope, &format!("it cannot change {entity}")).into()),
    };
    match &command.ask {
        Ask::Fire(fire) => on(&fire.entity),
        Ask::Heartbeat { entity, .. } | Ask::EffectResult { entity, .. } => on(entity),
        Ask::Create { entity, .. } if reaches(law, actor, entity) => Ok(()),
        Ask::Create { entity, .. } => {
            let mut declared: Vec<&Name> = works(law, scope, actor).flat_map(|it| &it.creates).collect();
            if declared.contains(&&entity.lifecycle) {
                return Ok(());
            }
            declared.dedup();
            let mut refusal = outside(scope, &format!("it cannot create {}", entity.lifecycle));
            if !declared.is_empty() {
                let names: Vec<&str> = declared.iter().map(|it| it.as_str()).collect();
                refusal.detail = format!("{}. It can create {}", refusal.detail, names.join(", "));
            }
            Err(refusal.into())
        }
        Ask::Claim(claim) => {
            Err(outside(scope, &format!("it cannot claim another {}", claim.lifecycle)).into())
        }
        Ask::Due { .. }
        | Ask::Correct { .. }
        | Ask::Inspect { .. }
        | Ask::Repair { .. }
        | Ask::HandleAlert { .. }
        | Ask::RaiseAlert { .. }
        | Ask::Seed(_)
        | Ask::Import(_)
        | Ask::Migrate(_)
        | Ask::UndoMigration { .. }
        | Ask::Redact(_)
        | Ask::Configure(_)
        | Ask::Install(_)
        | Ask::Clock(_)
        | Ask::Space(_)
        | Ask::Rebase { .. } => Err(outside(scope, "it cannot do this").into()),
    }
}

impl DecisionBuilder<'_> {
    /// Refuses the token of a run that has ended, or whose runner has lost its lease and no longer watches the process.
    pub(super) fn check_run_lives(&self, actor: &Actor) -> Result<(), Stop> {
        let Some(run) = actor.scope.as_deref().and_then(|it| it.run.as_ref()) else { return Ok(()) };
        let look = |kind: &str, id: &str| match self
            .draft
            .entity(&EntityKey::new(format!("{FLEET}.{kind}").as_str(), id))
        {
            Found::Here(found) => Ok(Some(found)),
            Found::Absent => Ok(None),
            Found::Unknown => Err(Stop::NotLoaded),
        };
        let Some(record) = look("run", run)? else { return Ok(()) };
        let life = self.law.definition(&record.key.lifecycle, record.definition);
        let has_ended = life.and_then(|it| it.state(&record.state)).is_some_and(|it| it.last);
        let runner = record.fields.text("runner").unwrap_or_default();
        let is_alone = || {
            Ok::<_, Stop>(
                look("runner", runner)?
                    .is_some_and(|it| it.leases.iter().all(|(_, lease)| lease.holder.is_none())),
            )
        };
        let why = if has_ended {
            format!("{run} has ended: its token is no longer valid")
        } else if is_alone()? {
            format!(
                "{runner}, the runner of {run}, has lost its lease: the token of the run is valid again when it is back"
            )
        } else {
            return Ok(());
        };
        let mut refusal = Refusal::one(Code::NotPermitted, why);
        refusal.who = Some("a run with a living runner".to_owned());
        Err(refusal.into())
    }
}

/// Whether an actor with this scope may move an entity at all: that of its run, the record of the run, and the agent's
/// own record.
pub(super) fn reaches(law: &Law, actor: &Actor, entity: &EntityKey) -> bool {
    let Some(scope) = actor.scope.as_deref() else { return true };
    let is_run = || {
        let name = entity.lifecycle.as_str().split_once('.');
        name == Some((FLEET, "run")) && scope.run.as_ref() == Some(&entity.id)
    };
    let is_own_record = || {
        entity.id == actor.id
            && works(law, scope, actor)
                .any(|it| it.agent.as_ref().is_some_and(|it| it.lifecycle == entity.lifecycle))
    };
    *entity == scope.entity || is_run() || is_own_record()
}

/// The work that the roles of the actor have on the entity of its run.
fn works<'a>(law: &'a Law, scope: &RunScope, actor: &'a Actor) -> impl Iterator<Item = &'a RoleWork> {
    let life = law.newest(&scope.entity.lifecycle);
    life.into_iter().flat_map(move |life| {
        let pack = &life.pack;
        life.work.values().filter(move |it| {
            *it.role == *ANY_AGENT
                || actor.has_role(&it.role)
                || actor.roles.iter().any(|role| role.split_once(':') == Some((pack, &it.role)))
        })
    })
}

fn outside(scope: &RunScope, cannot: &str) -> Refusal {
    let RunScope { entity, run } = scope;
    let whose = run.as_ref().map_or("This token".to_owned(), |it| format!("The token of {it}"));
    let detail = format!(
        "{whose} works on {entity}: {cannot}. Report on {entity} what has to happen elsewhere, and a runner or a person \
         does it"
    );
    let mut refusal = Refusal::one(Code::NotPermitted, detail);
    refusal.who = Some("an actor whose token is not limited to another entity".to_owned());
    refusal
}
