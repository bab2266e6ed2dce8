//! Protects the records of the pack `access`: tokens, sign-in links and webhooks. They change only by their own
//! transitions, so that no actor can revive a revoked token or replace its hash or holder.

use trackside_lifecycle::name::Name;

use super::Stop;
use crate::actor::{Actor, ActorKind, ENGINE};
use crate::command::{Ask, Command};
use crate::entity::Entity;
use crate::key::EntityKey;
use crate::refusal::{Code, Refusal, Unmet};

/// The pack with the server's tokens, sign-in links and webhooks.
pub const ACCESS: &str = "access";
/// The pack with runners, runs and accounts at model providers.
pub const FLEET: &str = "fleet";

/// Whether only the server defines packs of this name.
pub fn is_reserved_pack(name: &str) -> bool {
    [ENGINE, ACCESS, FLEET].contains(&name)
}

/// The entity that a run, or the record of all runs, is about. An actor that may not see this entity does not see the
/// record either. The runner and the agent of a run always see it.
pub(crate) fn subject_of_run(record: &Entity, actor: &Actor) -> Option<EntityKey> {
    let (pack, kind) = record.key.lifecycle.as_str().split_once('.')?;
    let is_engine = actor.kind == ActorKind::System && actor.id == *ENGINE;
    if is_engine || pack != FLEET || !["run", "work"].contains(&kind) {
        return None;
    }
    let own = actor.id.as_str();
    let is_own = |name: &str| {
        let rest = record.fields.text(name).and_then(|it| it.strip_prefix(own));
        rest.is_some_and(|it| it.is_empty() || name == "runner" && it.starts_with('.'))
    };
    if is_own("agent") || is_own("runner") {
        return None;
    }
    EntityKey::parse(record.fields.text("entity")?)
}

/// Whether a lifecycle belongs to the pack `access`.
pub fn is_protected(lifecycle: &Name) -> bool {
    lifecycle.as_str().split_once('.').is_some_and(|(pack, _)| pack == ACCESS)
}

/// The refusal of an override of such a lifecycle.
pub fn protected(lifecycle: &Name, done: &str) -> Refusal {
    let message = format!(
        "{lifecycle} cannot be {done}: tokens, sign-in links and webhooks change only by their own transitions. \
         End a token with `trackside token revoke ID`, and create a new one"
    );
    let mut refusal = Refusal::one(Code::NotPermitted, message);
    refusal.who = Some("the server".to_owned());
    refusal
}

/// Refuses every command that changes such a record without a transition, unless the server itself sends it. Each kind
/// of command is listed, so that a new one cannot be forgotten.
pub(super) fn check(command: &Command) -> Result<(), Stop> {
    let actor = &command.actor;
    if actor.kind == ActorKind::System && actor.id == *ENGINE {
        return Ok(());
    }
    let checked = |entity: &EntityKey, done: &str| match is_protected(&entity.lifecycle) {
        true => Err(protected(&entity.lifecycle, done).into()),
        false => Ok(()),
    };
    match &command.ask {
        Ask::Correct { entity, .. } => checked(entity, "corrected"),
        Ask::Migrate(migrate) => checked(&migrate.entity, "migrated"),
        Ask::UndoMigration { entity, .. } => checked(entity, "migrated"),
        Ask::Redact(redact) => checked(&redact.entity, "redacted"),
        Ask::Import(entities) => {
            let of_access = entities.iter().filter(|it| is_protected(&it.entity.lifecycle));
            let unmet = of_access.map(|it| {
                let message = format!(
                    "{} cannot be imported. Create tokens, links and webhooks here",
                    it.entity.lifecycle
                );
                Unmet::new(Code::NotPermitted, message).of(&format!("entities.{}.lifecycle", it.place))
            });
            let unmet: Vec<Unmet> = unmet.collect();
            match unmet.is_empty() {
                true => Ok(()),
                false => Err(Refusal::with(Code::CannotImport, unmet).into()),
            }
        }
        // These follow the rules of the definition, concern the project, or come only from the engine.
        Ask::Create { .. }
        | Ask::Fire(_)
        | Ask::Claim(_)
        | Ask::Heartbeat { .. }
        | Ask::Due { .. }
        | Ask::EffectResult { .. }
        | Ask::Inspect { .. }
        | Ask::Repair { .. }
        | Ask::Seed(_)
        | Ask::HandleAlert { .. }
        | Ask::RaiseAlert { .. }
        | Ask::Configure(_)
        | Ask::Install(_)
        | Ask::Clock(_)
        | Ask::Space(_)
        | Ask::Rebase { .. } => Ok(()),
    }
}
