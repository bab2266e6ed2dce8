//! Brings messages to one receiver: each at least once, in their order, from where it was when the server ended.
//!
//! Waits and timestamps are by the machine's clock, also where the project goes by a manual one: a receiver is part of
//! the outside, and looks at its own clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::sync::Notify;
use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_runtime::Failure;
use trackside_runtime::read::entry_json;

use super::ledger::{Delivery, Ledger, LedgerError, Stand};
use super::post::{Failed, Message, Outcome, Target};
use super::sign::Key;
use super::subscription::{Subscription, WEBHOOK};
use super::{backoff, cloud_event};
use crate::app::{App, own};
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;
use crate::watch::Level;

/// How long it takes a breath after trouble of our own.
const BREATH: Duration = Duration::from_secs(2);
/// Replays that are looked for at a time.
const SOME: usize = 100;

/// A copy of a project must not speak for it, and receivers could not tell who does.
const COPY: &str = "This folder is a copy, or its webhook.key is gone: remove the webhook and add it again";
/// Why nothing more goes to a receiver that says so.
const GONE: &str = "The receiver answered 410: it wants nothing more";

/// What is rung when there may be something new to do.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: Notify,
    rung: AtomicBool,
}

impl Bell {
    pub fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.rings.notify_one();
    }

    /// Whether it has rung since it was last heard.
    pub fn was_rung(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }

    async fn heard(&self) {
        self.rings.notified().await;
        self.rung.store(false, Ordering::Release);
    }
}

/// Why it does not go on.
#[derive(Debug)]
enum Stop {
    /// There is nothing more to do for it.
    Over,
    /// Something of ours is in the way; it may pass.
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

/// Somebody who brings the messages of one webhook.
pub(super) struct Courier {
    pub app: App,
    pub webhook: Name,
    pub bell: Arc<Bell>,
}

/// What is to be sent, and by whose eyes it was chosen.
struct Present {
    subscription: Subscription,
    target: Target,
    sight: Sight,
}

impl Courier {
    /// Goes on until there is nothing more to do, or the server stops.
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
                    self.say(Level::Error, "a webhook is held up", &why);
                    tokio::time::sleep(BREATH).await;
                }
                Err(Stop::Over) | Ok(()) => {
                    if self.app.webhooks.ended(&self.webhook, &self.bell) {
                        return;
                    }
                }
            }
        }
    }

    async fn go(&self) -> Result<(), Stop> {
        self.present().await?;
        // Where nothing is known of it, it begins with what comes next.
        let cursor = self.noted(|it, id| it.cursor(id)).await?.unwrap_or_else(|| self.app.reads.seq());
        let mut feed = self.app.runtime.follow(cursor);
        loop {
            self.replay().await?;
            let entries = tokio::select! {
                found = feed.next() => found?,
                () = self.bell.heard() => {
                    self.present().await?;
                    continue;
                }
            };
            let Some(last) = entries.last().map(|it| it.seq) else { continue };
            for entry in self.chosen(entries.to_vec()).await? {
                self.bring(&entry).await?;
            }
            self.noted(move |it, id| it.pass(id, last)).await?;
        }
    }

    /// Those that are asked for and may be seen.
    async fn chosen(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, Stop> {
        let Present { subscription, sight, .. } = self.present().await?;
        entries.retain(|it| subscription.wants(&self.app, it));
        if entries.is_empty() {
            return Ok(entries);
        }
        let chosen = self.app.read(move |reads| {
            let mut seen = Vec::with_capacity(entries.len());
            for entry in entries {
                if sight.sees(reads, &entry)? {
                    seen.push(entry);
                }
            }
            Ok(seen)
        });
        Ok(chosen.await?)
    }

    /// Tries a message until it is taken or is a dead letter.
    async fn bring(&self, entry: &Entry) -> Result<(), Stop> {
        let seq = entry.seq;
        loop {
            let known = self.noted(move |it, id| it.delivery(id, seq)).await?;
            let known = known.filter(|it| it.stand == Stand::Failing);
            if let Some(at) = known.as_ref().and_then(|it| it.next_at) {
                let left = at.saturating_sub(now());
                if left > 0 {
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(left)) => {}
                        () = self.bell.heard() => self.replay().await?,
                    }
                    self.present().await?;
                    continue;
                }
            }
            let attempts = known.map_or(0, |it| it.attempts).saturating_add(1);
            let most = self.app.options.webhooks.attempts;
            let noted = match self.attempt(entry).await? {
                None => {
                    // It may not be seen any more.
                    self.noted(move |it, id| it.leave_out(id, seq)).await?;
                    return Ok(());
                }
                Some(Outcome::Delivered(status)) => stands(seq, Stand::Delivered, attempts, Some(status)),
                Some(Outcome::Gone) => {
                    let gone = stands(seq, Stand::Failing, attempts, Some(410));
                    let gone = Delivery { why: Some(GONE.to_owned()), next_at: Some(now()), ..gone };
                    self.noted(move |it, id| it.note(id, &gone)).await?;
                    self.disable(GONE).await?;
                    return Err(Stop::Over);
                }
                Some(Outcome::Failed(Failed { status, why, .. })) if attempts >= most => {
                    Delivery { why: Some(why), ..stands(seq, Stand::Dead, attempts, status) }
                }
                Some(Outcome::Failed(Failed { status, why, wait })) => {
                    let wait = backoff::wait(&self.app.options.webhooks, attempts, wait);
                    let next_at = now().saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                    let failing = stands(seq, Stand::Failing, attempts, status);
                    Delivery { why: Some(why), next_at: Some(next_at), ..failing }
                }
            };
            let over = noted.stand != Stand::Failing;
            if noted.stand == Stand::Dead {
                self.say(Level::Warn, "a message is a dead letter", noted.why.as_deref().unwrap_or_default());
            }
            self.noted(move |it, id| it.note(id, &noted)).await?;
            if over {
                return Ok(());
            }
        }
    }

    /// Tries what somebody wants tried once more: once each, so that the rest need not wait.
    async fn replay(&self) -> Result<(), Stop> {
        loop {
            let queued = self.noted(|it, id| it.deliveries(id, Some(Stand::Queued), 0, SOME)).await?;
            if queued.is_empty() {
                return Ok(());
            }
            for it in queued {
                let seq = it.seq;
                let outcome = match self.app.read(move |reads| reads.entry(seq)).await {
                    Ok(Some(entry)) => self.attempt(&entry).await?,
                    Ok(None) => None,
                    // One that is in no file must not hold up the others.
                    Err(refused) if refused.0.code == "archived" => None,
                    Err(refused) => return Err(refused.into()),
                };
                let attempts = it.attempts.saturating_add(1);
                let dead = |status, why: String| Delivery {
                    why: Some(why),
                    ..stands(seq, Stand::Dead, attempts, status)
                };
                let mut gone = false;
                let noted = match outcome {
                    Some(Outcome::Delivered(status)) => stands(seq, Stand::Delivered, attempts, Some(status)),
                    Some(Outcome::Failed(Failed { status, why, .. })) => dead(status, why),
                    Some(Outcome::Gone) => {
                        gone = true;
                        dead(Some(410), GONE.to_owned())
                    }
                    None => dead(None, "The entry is not here any more, or may not be seen".to_owned()),
                };
                self.noted(move |it, id| it.note(id, &noted)).await?;
                if gone {
                    self.disable(GONE).await?;
                    return Err(Stop::Over);
                }
            }
        }
    }

    /// Sends a message once; none if it may not be sent.
    async fn attempt(&self, entry: &Entry) -> Result<Option<Outcome>, Stop> {
        let Present { target, sight, .. } = self.present().await?;
        let shown = entry.clone();
        // As the journal has it now: words may have been dropped from it, or eyes may have been closed.
        let told = self.app.read(move |reads| {
            if !sight.sees(reads, &shown)? {
                return Ok(None);
            }
            let record =
                reads.journal(shown.seq.saturating_sub(1), 1)?.into_iter().find(|it| it.seq == shown.seq);
            match record {
                Some(record) => Ok(Some((record.entry()?, entry_json(&record)?))),
                None => Ok(Some((shown.clone(), shown.to_json()))),
            }
        });
        let Some((entry, told)) = told.await? else { return Ok(None) };
        let webhooks = &self.app.webhooks;
        let Some(message) = webhooks.with_key(|key| self.message(key, &entry, &told)) else {
            return Err(Stop::Over);
        };
        let outcome = webhooks.poster.post(&target, message).await;
        webhooks.sent.note(&outcome);
        Ok(Some(outcome))
    }

    fn message(&self, key: &Key, entry: &Entry, told: &serde_json::Value) -> Message {
        let body = cloud_event::body(&key.source(), entry, told);
        let (id, timestamp) = (format!("msg_{}_{}", self.webhook, entry.seq), now() / 1_000);
        let signature = key.secret_of(&self.webhook).sign(&id, timestamp, &body);
        Message { id, timestamp, signature, body }
    }

    /// How things stand, looked up before every message: whoever loses a right is told nothing more.
    async fn present(&self) -> Result<Present, Stop> {
        let key = EntityKey { lifecycle: Name::new(WEBHOOK), id: self.webhook.clone() };
        let entity = self.app.read(move |reads| reads.entity(&key)).await?;
        let entity = entity.filter(|it| self.app.access.is_open(it));
        let Some(subscription) = entity.as_deref().and_then(Subscription::of) else {
            self.noted(Ledger::forget).await?;
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
            self.disable("The token it was made with is good no more").await?;
            return Err(Stop::Over);
        };
        let allow_private = self.app.options.webhooks.allow_private;
        let target = match Target::parse(&subscription.url, allow_private) {
            Ok(target) => target,
            Err(why) => {
                self.disable(&format!("Its URL cannot be used: {why}")).await?;
                return Err(Stop::Over);
            }
        };
        let caller = Caller::new(identity, subscription.on_behalf_of.clone());
        let sight = Sight::of(&self.app, &caller);
        Ok(Present { subscription, target, sight })
    }

    /// Turns it off, and says why. One that is off already stays so.
    async fn disable(&self, why: &str) -> Result<(), Stop> {
        let key = EntityKey { lifecycle: Name::new(WEBHOOK), id: self.webhook.clone() };
        let fields = [("why", Value::text(why))].into_iter().collect();
        let command = Command::fire(own(), key, "disable", fields).because(why);
        self.app.gateway.submit(command)?.await?;
        self.say(Level::Warn, "a webhook is off", why);
        Ok(())
    }

    fn say(&self, level: Level, what: &str, why: &str) {
        let more = [("webhook", json!(self.webhook)), ("why", json!(why))];
        self.app.watch.log.say(level, what, &more);
    }

    /// Something of the ledger.
    async fn noted<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Ledger, &str) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, Stop> {
        let (app, id) = (self.app.clone(), self.webhook.clone());
        let done = tokio::task::spawn_blocking(move || work(&app.webhooks.ledger, &id)).await;
        Ok(done.map_err(|it| Stop::Trouble(it.to_string()))??)
    }
}

fn stands(seq: u64, stand: Stand, attempts: u32, status: Option<u16>) -> Delivery {
    Delivery { seq, stand, attempts, status, why: None, at: now(), next_at: None }
}

/// Milliseconds since 1970, by the machine's clock.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
