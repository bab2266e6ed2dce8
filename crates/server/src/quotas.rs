//! Quotas per actor: rates of requests, commands and bytes, open streams, and amounts per day.
//!
//! They are counted in memory and start at zero with the server. People with role admin have no quota except for the
//! rate of requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use trackside_engine::actor::{Actor, ActorKind, ENGINE};
use trackside_engine::command::{Ask, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::ProblemCode;

use crate::auth::TOKEN;
use crate::auth::TokenBucket;
use crate::limits::ServerLimits;
use crate::problem::Refused;

/// Most actors that are tracked; beyond it, those without open requests start over.
const MOST: usize = 20_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The size that counts for a body of unknown length.
const UNKNOWN_LENGTH: usize = 64 * 1024;

/// The use of quotas, by actor.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<(ActorKindName, Name), Arc<ActorUsage>, RandomState>>);

type ActorKindName = &'static str;

/// What one actor has used.
#[derive(Debug, Default)]
pub(crate) struct ActorUsage {
    requests: TokenBucket,
    commands: TokenBucket,
    bytes: TokenBucket,
    streams: AtomicUsize,
    artifact_bytes: DailyAmount,
    entities: DailyAmount,
}

impl Quotas {
    pub fn of(&self, actor: &Actor) -> Arc<ActorUsage> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (actor.kind.as_str(), actor.id.clone());
        if all.len() >= MOST && !all.contains_key(&key) {
            all.retain(|_, it| Arc::strong_count(it) > 1);
        }
        all.entry(key).or_default().clone()
    }

    /// Counts a request of an actor, and the size of its body.
    pub fn charge_request(
        &self,
        actor: &Actor,
        limits: &ServerLimits,
        length: Option<usize>,
    ) -> Result<(), Refused> {
        let usage = self.of(actor);
        let request = usage.requests.take(limits.rate, 1);
        request.map_err(|wait| {
            let quota =
                Quota { setting: "requestsPerSecond", limit: limits.rate.into(), unit: "requests a second" };
            quota.exceeded(actor, wait, "Send several commands in one batch to need fewer requests.")
        })?;
        if is_exempt(actor) {
            return Ok(());
        }
        let bytes = usage.bytes.take(limits.actor_bytes, length.unwrap_or(UNKNOWN_LENGTH));
        bytes.map_err(|wait| {
            let quota = Quota {
                setting: "bytesPerSecond",
                limit: limits.actor_bytes.into(),
                unit: "bytes of requests a second",
            };
            quota.exceeded(actor, wait, "")
        })
    }

    /// Counts commands of one actor before they are decided: those that are refused cost as much. A batch is accepted
    /// while the quota is not used up, and counts in full.
    pub fn charge_commands(&self, commands: &[Command], limits: &ServerLimits) -> Result<(), Refused> {
        let Some(actor) = commands.first().map(|it| &it.actor).filter(|it| !is_exempt(it)) else {
            return Ok(());
        };
        let usage = self.of(actor);
        let many = commands.iter().map(Command::units).sum();
        usage.commands.take(limits.actor_commands, many).map_err(|wait| {
            let limit = limits.actor_commands.into();
            let quota = Quota { setting: "commandsPerSecond", limit, unit: "commands a second" };
            quota.exceeded(actor, wait, "A batch counts as its commands.")
        })?;
        let created = commands.iter().filter(|it| matches!(it.ask, Ask::Create { .. })).count() as u64;
        usage.entities.add(created, limits.actor_entities).map_err(|full| {
            let quota =
                Quota { setting: "entitiesPerDay", limit: limits.actor_entities, unit: "new entities a day" };
            quota.used_up(actor, &full, created)
        })
    }

    /// Counts a record that the server creates for an actor: a token, a link, a webhook.
    pub fn charge_record(&self, actor: &Actor, limits: &ServerLimits) -> Result<(), Refused> {
        let entity = EntityKey::new(TOKEN, "");
        let command = Command::new(actor.clone(), Ask::Create { entity, fields: Fields::default() });
        self.charge_commands(std::slice::from_ref(&command), limits)
    }

    /// Counts the bytes of an artifact that is to be stored.
    pub fn charge_artifact(&self, actor: &Actor, bytes: u64, limits: &ServerLimits) -> Result<(), Refused> {
        if is_exempt(actor) {
            return Ok(());
        }
        self.of(actor).artifact_bytes.add(bytes, limits.actor_artifact_bytes).map_err(|full| {
            let limit = limits.actor_artifact_bytes;
            let quota = Quota { setting: "artifactBytesPerDay", limit, unit: "bytes of artifacts a day" };
            quota.used_up(actor, &full, bytes)
        })
    }

    /// Gives back the bytes of an artifact that was there already.
    pub fn refund_artifact(&self, actor: &Actor, bytes: u64) {
        if !is_exempt(actor) {
            self.of(actor).artifact_bytes.give_back(bytes);
        }
    }

    /// The refusal of an artifact beyond what an actor may store in all.
    pub fn artifact_total_used_up(actor: &Actor, used: u64, more: u64, limits: &ServerLimits) -> Refused {
        let limit = limits.actor_artifact_total;
        let quota = Quota { setting: "artifactBytesTotal", limit, unit: "bytes of artifacts" };
        let detail = format!(
            "{} has used {used} of its quota `artifactBytesTotal` of {limit} bytes of artifacts, and this request needs \
             {more}. {}",
            actor.id,
            quota.raise()
        );
        Refused::new(ProblemCode::RateLimited, detail)
    }

    /// Opens one of the event streams that an actor may have.
    pub fn open_stream(&self, actor: &Actor, limits: &ServerLimits) -> Result<ActorStream, Refused> {
        let stream = ActorStream(self.of(actor));
        let open = stream.0.streams.fetch_add(1, Ordering::AcqRel);
        let most = limits.actor_streams;
        if open >= most && !is_exempt(actor) {
            let detail = format!(
                "{} has {open} event streams and waits open, and may have {most} (quota `actorEventStreams`). Close \
                 one first. An admin raises the quota with `trackside settings access actorEventStreams:={}`",
                actor.id,
                most.saturating_mul(2)
            );
            return Err(Refused::new(ProblemCode::RateLimited, detail));
        }
        Ok(stream)
    }
}

/// An open event stream of an actor.
#[derive(Debug)]
pub(crate) struct ActorStream(Arc<ActorUsage>);

impl Drop for ActorStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether an actor has no quota except for requests: the server itself, and people with role admin.
pub(crate) fn is_exempt(actor: &Actor) -> bool {
    *actor.id == *ENGINE || (actor.kind == ActorKind::Human && actor.has_role("admin"))
}

/// The size of a request's body, if its head states it; 0 if it has none.
pub(crate) fn body_length(headers: &axum::http::HeaderMap) -> Option<usize> {
    use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
    match headers.get(CONTENT_LENGTH) {
        Some(length) => length.to_str().ok()?.parse().ok(),
        None => (!headers.contains_key(TRANSFER_ENCODING)).then_some(0),
    }
}

/// A quota, for the refusal.
struct Quota {
    setting: &'static str,
    limit: u64,
    unit: &'static str,
}

impl Quota {
    fn exceeded(&self, actor: &Actor, wait: Duration, hint: &str) -> Refused {
        let Self { setting, limit, unit } = self;
        let seconds = wait.as_secs_f64();
        let space = if hint.is_empty() { "" } else { " " };
        let detail = format!(
            "{} has used its quota `{setting}` of {limit} {unit}. It is free again in {seconds:.2} s.{space}{hint} {}",
            actor.id,
            self.raise()
        );
        Refused::new(ProblemCode::RateLimited, detail).retry_after(wait)
    }

    fn used_up(&self, actor: &Actor, full: &UsedUp, more: u64) -> Refused {
        let Self { setting, limit, unit } = self;
        let hours = full.free_in.as_secs_f64() / 3_600.0;
        let detail = format!(
            "{} has used {} of its quota `{setting}` of {limit} {unit}, and this request needs {more}. The quota is free \
             again in {hours:.1} hours. {}",
            actor.id,
            full.used,
            self.raise()
        );
        Refused::new(ProblemCode::RateLimited, detail).retry_after(full.free_in)
    }

    fn raise(&self) -> String {
        let more = self.limit.saturating_mul(2);
        format!("An admin raises it with `trackside settings access {}:={more}`", self.setting)
    }
}

/// An amount that starts over a day after its first use.
#[derive(Debug, Default)]
struct DailyAmount(Mutex<Option<(Instant, u64)>>);

/// A daily amount that does not suffice.
#[derive(Debug, PartialEq, Eq)]
struct UsedUp {
    used: u64,
    free_in: Duration,
}

impl DailyAmount {
    /// Adds to it, unless it would exceed `most`; 0 means no limit.
    fn add(&self, more: u64, most: u64) -> Result<(), UsedUp> {
        self.add_at(more, most, Instant::now())
    }

    fn add_at(&self, more: u64, most: u64, now: Instant) -> Result<(), UsedUp> {
        if more == 0 {
            return Ok(());
        }
        let mut amount = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, used) = amount.filter(|(since, _)| now.duration_since(*since) < DAY).unwrap_or((now, 0));
        let sum = used.saturating_add(more);
        if most > 0 && sum > most {
            return Err(UsedUp { used, free_in: DAY.saturating_sub(now.duration_since(since)) });
        }
        *amount = Some((since, sum));
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        if let Some((_, used)) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            *used = used.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_amount_starts_over_after_a_day() {
        let (amount, now) = (DailyAmount::default(), Instant::now());
        assert_eq!(amount.add_at(60, 100, now), Ok(()));
        let hour = Duration::from_secs(3_600);
        assert_eq!(amount.add_at(41, 100, now + hour), Err(UsedUp { used: 60, free_in: 23 * hour }));
        assert_eq!(amount.add_at(40, 100, now + hour), Ok(()));
        assert_eq!(amount.add_at(100, 100, now + DAY), Ok(()), "the next day");
        assert_eq!(amount.add_at(1_000, 0, now + DAY), Ok(()), "no limit");
    }

    #[test]
    fn the_use_of_one_actor_is_not_the_use_of_another() {
        let quotas = Quotas::default();
        let limits = ServerLimits { actor_commands: 2, ..ServerLimits::default() };
        let of = |id: &str, kind| {
            let entity = trackside_engine::key::EntityKey::new("a.thing", "T-1");
            vec![Command::new(Actor::new(id, kind), Ask::Inspect { entity }); 3]
        };
        assert!(quotas.charge_commands(&of("ada", ActorKind::Agent), &limits).is_ok());
        let refused = quotas.charge_commands(&of("ada", ActorKind::Agent), &limits).unwrap_err();
        let detail = &refused.0.detail;
        let parts = ["ada", "commandsPerSecond", "2 commands a second", "commandsPerSecond:=4"];
        assert!(parts.iter().all(|it| detail.contains(it)), "{detail}");
        assert!(quotas.charge_commands(&of("bob", ActorKind::Agent), &limits).is_ok());
        assert!(quotas.charge_commands(&of("ada", ActorKind::Human), &limits).is_ok());
        let mut admin = of("olga", ActorKind::Human);
        admin.iter_mut().for_each(|it| it.actor = it.actor.clone().with_roles(["admin"]));
        assert!((0..10).all(|_| quotas.charge_commands(&admin, &limits).is_ok()));
    }
}
