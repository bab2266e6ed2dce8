//! Delivers the messages of one webhook: at least once each, in order, continuing after a restart.
//!
//! Waits and timestamps use the system clock even if the project's clock is manual, because receivers check them
//! against their own clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tracing::{error, warn};
use trackside_engine::actor::Actor;
use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::EntryBody;
use trackside_runtime::Failure;

use super::ledger::{Delivery, DeliveryLedger, DeliveryState, LedgerError};
use super::post::{PostFailure, PostOutcome, WebhookMessage, WebhookTarget};
use super::sign::SigningKey;
use super::subscription::{Subscription, WEBHOOK};
use super::{backoff, cloud_event};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// The wait after an internal failure.
const BREATH: Duration = Duration::from_secs(2);
/// Replays fetched at a time.
const SOME: usize = 100;

/// A copied project must not send in the name of the original.
const COPY: &str = "This folder is a copy, or its webhook.key is gone: remove the webhook and add it again";
/// The reason when a receiver answers 410.
const GONE: &str = "The receiver answered 410: it wants no more messages";

/// Wakes a courier when there may be something new to do.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    notify: Notify,
    woken: AtomicBool,
}

impl Wakeup {
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Whether it was woken since the last check.
    pub fn was_woken(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    async fn wait_for_wakeup(&self) {
        self.notify.notified().await;
        self.woken.store(false, Ordering::Release);
    }
}

/// Why a courier stops.
#[derive(Debug)]
enum Stop {
    /// No message is left to send.
    Over,
    /// An internal failure that may pass.
    Trouble(String),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Trouble(refused.0.detail)
    }
}

impl From<LedgerError> for Stop {
    fn from(error: LedgerError) -> Self {
        Self::Trouble(error.to_string())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Trouble(failure.to_string())
    }
}

/// Delivers the messages of one webhook.
pub(super) struct Courier {
    pub app: App,
    pub webhook: Name,
    pub wakeup: Arc<Wakeup>,
}

/// The webhook with its target, and what its token may see.
struct Present {
    subscription: Subscription,
    target: WebhookTarget,
    visibility: Visibility,
}

impl Courier {
    /// Delivers until there is nothing left to do, or the server stops.
    pub async fn run(self) {
        let mut stopping = self.app.stopping.subscribe();
        loop {
            let went = tokio::select! {
                went = self.go() => went,
                _ = stopping.wait_for(|it| *it) => return,
            };
            match went {
                Err(Stop::Trouble(_)) if *self.app.stopping.borrow() => return,
                Err(Stop::Trouble(why)) => {
                    error!(webhook = &*self.webhook, why, "a webhook is held up");
                    tokio::time::sleep(BREATH).await;
                }
                Err(Stop::Over) | Ok(()) => {
                    if self.app.webhooks.ended(&self.webhook, &self.wakeup) {
                        return;
                    }
                }
            }
        }
    }

    async fn go(&self) -> Result<(), Stop> {
        self.present().await?;
        // Without a known position it starts with new entries.
        let cursor =
            self.update_ledger(|it, id| it.cursor(id)).await?.unwrap_or_else(|| self.app.reads.seq());
        let mut feed = self.app.runtime.follow(cursor);
        loop {
            self.replay().await?;
            let entries = tokio::select! {
                found = feed.next() => found?,
                () = self.wakeup.wait_for_wakeup() => {
                    self.present().await?;
                    continue;
                }
            };
            let Some(last) = entries.last().map(|it| it.seq) else { continue };
            for entry in self.filter_wanted(entries.to_vec()).await? {
                self.bring(&entry).await?;
            }
            self.update_ledger(move |it, id| it.pass(id, last)).await?;
        }
    }

    /// The entries that the webhook subscribes to and may see.
    async fn filter_wanted(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, Stop> {
        let Present { subscription, visibility, .. } = self.present().await?;
        entries.retain(|it| subscription.wants(it));
        if entries.is_empty() {
            return Ok(entries);
        }
        let chosen = self.app.read(move |reads| {
            let mut seen = Vec::with_capacity(entries.len());
            for entry in entries {
                if visibility.sees(reads, &entry)? {
                    seen.push(entry);
                }
            }
            Ok(seen)
        });
        Ok(chosen.await?)
    }

    /// Retries a message until it is delivered or a dead letter.
    async fn bring(&self, entry: &Entry) -> Result<(), Stop> {
        let seq = entry.seq;
        loop {
            let known = self.update_ledger(move |it, id| it.delivery(id, seq)).await?;
            let known = known.filter(|it| it.state == DeliveryState::Failing);
            if let Some((tried_at, at)) = known.as_ref().and_then(|it| Some((it.at, it.next_at?))) {
                let left = backoff::left(tried_at, at, now());
                if left > 0 {
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(left)) => {}
                        () = self.wakeup.wait_for_wakeup() => self.replay().await?,
                    }
                    self.present().await?;
                    continue;
                }
            }
            let attempts = known.map_or(0, |it| it.attempts).saturating_add(1);
            let most = self.app.options.webhooks.attempts;
            let noted = match self.attempt(entry).await? {
                None => {
                    // The webhook may no longer see the entry.
                    self.update_ledger(move |it, id| it.leave_out(id, seq)).await?;
                    return Ok(());
                }
                Some(PostOutcome::Delivered(status)) => {
                    delivery(seq, DeliveryState::Delivered, attempts, Some(status))
                }
                Some(PostOutcome::Gone) => {
                    let gone = delivery(seq, DeliveryState::Failing, attempts, Some(410));
                    let gone = Delivery { why: Some(GONE.to_owned()), next_at: Some(now()), ..gone };
                    self.update_ledger(move |it, id| it.note(id, &gone)).await?;
                    self.disable(GONE).await?;
                    return Err(Stop::Over);
                }
                Some(PostOutcome::Failed(PostFailure { status, why, .. })) if attempts >= most => {
                    Delivery { why: Some(why), ..delivery(seq, DeliveryState::Dead, attempts, status) }
                }
                Some(PostOutcome::Failed(PostFailure { status, why, wait })) => {
                    let wait = backoff::wait(&self.app.options.webhooks, attempts, wait);
                    let next_at = now().saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                    let failing = delivery(seq, DeliveryState::Failing, attempts, status);
                    Delivery { why: Some(why), next_at: Some(next_at), ..failing }
                }
            };
            let over = noted.state != DeliveryState::Failing;
            if noted.state == DeliveryState::Dead {
                warn!(
                    webhook = &*self.webhook,
                    why = noted.why.as_deref().unwrap_or_default(),
                    "a message is a dead letter"
                );
            }
            self.update_ledger(move |it, id| it.note(id, &noted)).await?;
            if over {
                return Ok(());
            }
        }
    }

    /// Sends requested replays, once each, so that other messages need not wait.
    async fn replay(&self) -> Result<(), Stop> {
        loop {
            let queued =
                self.update_ledger(|it, id| it.deliveries(id, Some(DeliveryState::Queued), 0, SOME)).await?;
            if queued.is_empty() {
                return Ok(());
            }
            for it in queued {
                let seq = it.seq;
                let outcome = match self.app.read(move |reads| reads.entry(seq)).await {
                    Ok(Some(entry)) => self.attempt(&entry).await?,
                    Ok(None) => None,
                    // A missing archive file must not block the others.
                    Err(refused) if refused.0.has_code(Code::Archived) => None,
                    Err(refused) => return Err(refused.into()),
                };
                let attempts = it.attempts.saturating_add(1);
                let dead = |status, why: String| Delivery {
                    why: Some(why),
                    ..delivery(seq, DeliveryState::Dead, attempts, status)
                };
                let mut gone = false;
                let noted = match outcome {
                    Some(PostOutcome::Delivered(status)) => {
                        delivery(seq, DeliveryState::Delivered, attempts, Some(status))
                    }
                    Some(PostOutcome::Failed(PostFailure { status, why, .. })) => dead(status, why),
                    Some(PostOutcome::Gone) => {
                        gone = true;
                        dead(Some(410), GONE.to_owned())
                    }
                    None => dead(None, "The entry no longer exists, or may no longer be seen".to_owned()),
                };
                self.update_ledger(move |it, id| it.note(id, &noted)).await?;
                if gone {
                    self.disable(GONE).await?;
                    return Err(Stop::Over);
                }
            }
        }
    }

    /// Sends a message once; none if it may not be sent.
    async fn attempt(&self, entry: &Entry) -> Result<Option<PostOutcome>, Stop> {
        let Present { target, visibility, .. } = self.present().await?;
        let shown = entry.clone();
        // Read again from the journal, because it may have been redacted, and the right to see it may be lost.
        let found = self.app.read(move |reads| {
            let record =
                reads.journal(shown.seq.saturating_sub(1), 1)?.into_iter().find(|it| it.seq == shown.seq);
            let body = match record {
                Some(record) => visibility.body(reads, &record)?,
                None => visibility.entry(reads, &shown)?.map(|it| EntryBody::new(&it)),
            };
            Ok(body.map(|it| (shown, it)))
        });
        let Some((entry, body)) = found.await? else { return Ok(None) };
        let webhooks = &self.app.webhooks;
        let Some(message) = webhooks.with_key(|key| self.message(key, &entry, &body)) else {
            return Err(Stop::Over);
        };
        let outcome = webhooks.poster.post(&target, message).await;
        webhooks.sent.note(&outcome);
        Ok(Some(outcome))
    }

    fn message(&self, key: &SigningKey, entry: &Entry, body: &EntryBody) -> WebhookMessage {
        let body = cloud_event::body(&key.source(), entry, body);
        let (id, timestamp) = (format!("msg_{}_{}", self.webhook, entry.seq), now() / 1_000);
        let signature = key.secret_of(&self.webhook).sign(&id, timestamp, &body);
        WebhookMessage { id, timestamp, signature, body }
    }

    /// The current webhook. Looked up before every message, so that a lost right takes effect at once.
    async fn present(&self) -> Result<Present, Stop> {
        let key = EntityKey { lifecycle: Name::new(WEBHOOK), id: self.webhook.clone() };
        let entity = self.app.read(move |reads| reads.entity(&key)).await?;
        let entity = entity.filter(|it| self.app.access.is_open(it));
        let Some(subscription) = entity.as_deref().and_then(Subscription::of) else {
            self.update_ledger(DeliveryLedger::forget).await?;
            return Err(Stop::Over);
        };
        if subscription.off.is_some() {
            return Err(Stop::Over);
        }
        if self.app.webhooks.with_key(|_| ()).is_none() {
            self.disable(COPY).await?;
            return Err(Stop::Over);
        }
        let token = subscription.token.clone();
        let identity = self.app.blocking(move |app| Ok(app.access.speaker(&token, app.reads.now())?)).await?;
        let Some(identity) = identity else {
            self.disable("The token it was made with is no longer valid").await?;
            return Err(Stop::Over);
        };
        let allow_private = self.app.options.webhooks.allow_private;
        let target = match WebhookTarget::parse(&subscription.url, allow_private) {
            Ok(target) => target,
            Err(why) => {
                self.disable(&format!("Its URL cannot be used: {why}")).await?;
                return Err(Stop::Over);
            }
        };
        let caller = Caller::new(identity, subscription.on_behalf_of.clone());
        let visibility = Visibility::of(&self.app, &caller);
        Ok(Present { subscription, target, visibility })
    }

    /// Turns the webhook off with a reason, unless it is off.
    async fn disable(&self, why: &str) -> Result<(), Stop> {
        let key = EntityKey { lifecycle: Name::new(WEBHOOK), id: self.webhook.clone() };
        let fields = [("why", Value::text(why))].into_iter().collect();
        let command = Command::fire(Actor::engine(), key, "disable", fields).with_reason(why);
        self.app.gateway.submit(command)?.await?;
        warn!(webhook = &*self.webhook, why, "a webhook is off");
        Ok(())
    }

    /// Runs a query of the ledger on a blocking thread.
    async fn update_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DeliveryLedger, &str) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, Stop> {
        let (app, id) = (self.app.clone(), self.webhook.clone());
        let done = tokio::task::spawn_blocking(move || work(&app.webhooks.ledger, &id)).await;
        Ok(done.map_err(|it| Stop::Trouble(it.to_string()))??)
    }
}

fn delivery(seq: u64, state: DeliveryState, attempts: u32, status: Option<u16>) -> Delivery {
    Delivery { seq, state, attempts, status, why: None, at: now(), next_at: None }
}

/// Milliseconds since 1970, by the system clock.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
