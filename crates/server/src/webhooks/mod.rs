//! Webhooks: journal entries delivered to external receivers.
//!
//! `subscription` is what a webhook asks for, `courier` delivers it, `post` is one HTTP request, `ledger` stores the
//! state of deliveries, `sign` and `cloud_event` build the message, `address` decides which addresses are allowed.

mod address;
mod backoff;
mod cloud_event;
mod courier;
mod ledger;
mod options;
mod post;
mod sign;
mod subscription;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing::instrument::WithSubscriber as _;
use trackside_engine::actor::Actor;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_runtime::CommitObserver;
use trackside_runtime::read::{ListQuery, MOST};

use crate::app::{App, ServerOptions};
use crate::auth::TOKEN;
use crate::problem::Refused;
use courier::{Courier, Wakeup};
use ledger::DeliveryLedger;
pub(crate) use ledger::{Delivery, DeliveryState};
pub use options::WebhookOptions;
use post::PostOutcome;
pub(crate) use post::{WebhookSender, WebhookTarget};
use sign::SigningKey;
pub(crate) use subscription::WEBHOOK;

/// Most webhooks of a project. Each has its own courier, so that none waits for another.
pub(crate) const MOST_WEBHOOKS: usize = 64;

/// Delivery attempts since the start, by outcome.
#[derive(Debug, Default)]
pub(crate) struct SendCounts {
    delivered: AtomicU64,
    failed: AtomicU64,
}

impl SendCounts {
    fn note(&self, outcome: &PostOutcome) {
        let count = match outcome {
            PostOutcome::Delivered(_) => &self.delivered,
            PostOutcome::Gone | PostOutcome::Failed(_) => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> [(&'static str, u64); 2] {
        [("delivered", &self.delivered), ("failed", &self.failed)]
            .map(|(outcome, it)| (outcome, it.load(Ordering::Relaxed)))
    }
}

/// All webhooks, and what their couriers share.
#[derive(Debug)]
pub(crate) struct Webhooks {
    data: PathBuf,
    pub ledger: DeliveryLedger,
    pub sent: SendCounts,
    key: RwLock<Option<SigningKey>>,
    poster: WebhookSender,
    couriers: Mutex<HashMap<Name, Arc<Wakeup>, RandomState>>,
}

impl Webhooks {
    /// Opens the files in the data folder, or says why not.
    pub fn open(options: &ServerOptions) -> Result<Self, String> {
        let data = options.data.clone();
        let ledger = DeliveryLedger::open(&data)
            .map_err(|it| format!("{it}. Move the file away; webhooks then start with new entries"))?;
        let key = SigningKey::read(&data).map_err(|it| it.to_string())?;
        let poster = WebhookSender::new(&options.webhooks);
        let (sent, key, couriers) = (SendCounts::default(), RwLock::new(key), Mutex::default());
        Ok(Self { data, ledger, sent, key, poster, couriers })
    }

    /// The signing secret of a webhook. Shown only when the webhook is created.
    pub fn secret_of(&self, webhook: &str) -> std::io::Result<String> {
        let mut key = self.key.write().unwrap_or_else(PoisonError::into_inner);
        if key.is_none() {
            *key = Some(SigningKey::make(&self.data)?);
        }
        Ok(key.as_ref().map(|it| it.secret_of(webhook).text()).unwrap_or_default())
    }

    fn with_key<T>(&self, work: impl FnOnce(&SigningKey) -> T) -> Option<T> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work)
    }

    /// Reacts to a change of a webhook, or of a token: webhooks see what their token may see.
    fn changed(app: &App, entity: &EntityKey) {
        if *entity.lifecycle == *WEBHOOK {
            return Self::start_or_wake(app, &entity.id);
        }
        let couriers = app.webhooks.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        couriers.values().for_each(|it| it.wake());
    }

    /// Starts the courier of a webhook, or wakes it.
    pub fn start_or_wake(app: &App, webhook: &Name) {
        let mut couriers = app.webhooks.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wakeup) = couriers.get(webhook) {
            wakeup.wake();
            return;
        }
        let wakeup = Arc::new(Wakeup::default());
        couriers.insert(webhook.clone(), wakeup.clone());
        tokio::spawn(
            Courier { app: app.clone(), webhook: webhook.clone(), wakeup }.run().with_current_subscriber(),
        );
    }

    /// Removes a courier that has nothing to do; false if it was woken meanwhile.
    fn ended(&self, webhook: &Name, wakeup: &Wakeup) -> bool {
        let mut couriers = self.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        if wakeup.was_woken() {
            return false;
        }
        couriers.remove(webhook);
        true
    }
}

/// Ids of webhooks that are not removed.
pub(crate) async fn open_ones(app: &App) -> Result<Vec<Name>, Refused> {
    let mut query = ListQuery::of(WEBHOOK, Actor::engine());
    let life = app.runtime.law().newest(&Name::new(WEBHOOK)).cloned();
    let states = life.iter().flat_map(|it| &it.states).filter(|it| !it.last);
    (query.states, query.limit) = (states.map(|it| it.name.clone()).collect(), MOST);
    app.read(move |reads| {
        let mut all = Vec::new();
        loop {
            let listed = reads.list(&query)?;
            all.extend(listed.items.iter().map(|it| it.key.id.clone()));
            query.cursor = listed.next_cursor;
            if query.cursor.is_none() {
                return Ok(all);
            }
        }
    })
    .await
}

/// Passes changes of webhooks and tokens from the committer to the task that reacts to them.
struct Changes(UnboundedSender<EntityKey>);

impl CommitObserver for Changes {
    fn committed(&self, entries: &[Entry]) {
        let is_ours = |it: &&Entry| [WEBHOOK, TOKEN].contains(&it.entity.lifecycle.as_str());
        for entry in entries.iter().filter(is_ours) {
            self.0.send(entry.entity.clone()).ok();
        }
    }
}

/// Delivers webhooks until the server stops: starts a courier for each, and for those that are added.
pub(crate) async fn run(app: App) {
    let (sender, mut changed) = unbounded_channel();
    app.runtime.observe(Arc::new(Changes(sender)));
    let mut stopping = app.stopping.subscribe();
    while start_all(&app).await.is_err() {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    loop {
        tokio::select! {
            Some(entity) = changed.recv() => Webhooks::changed(&app, &entity),
            _ = stopping.wait_for(|it| *it) => return,
        }
    }
}

async fn start_all(app: &App) -> Result<(), Refused> {
    for webhook in &open_ones(app).await? {
        Webhooks::start_or_wake(app, webhook);
    }
    Ok(())
}
