//! Webhooks: what happens, told to receivers outside.
//!
//! `subscription` is what somebody wants to be told, `courier` brings it, `post` is one request, `ledger` knows what
//! was delivered, `sign` and `cloud_event` make a message what its receiver expects, `address` says whom we speak to.

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
use trackside_engine::event::Entry;
use trackside_lifecycle::name::Name;
use trackside_runtime::read::{ListQuery, MOST};

use crate::app::{App, ServerOptions, own};
use crate::auth::TOKEN;
use crate::problem::Refused;
use courier::{Bell, Courier};
use ledger::Ledger;
pub(crate) use ledger::{Delivery, Stand};
pub use options::WebhookOptions;
pub(crate) use post::Target;
use post::{Outcome, Poster};
use sign::Key;
pub(crate) use subscription::WEBHOOK;

/// Most webhooks of a project: each has a courier of its own, so that none waits for another.
pub(crate) const MOST_WEBHOOKS: usize = 64;

/// How often a message was sent since the start, by what became of it.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    delivered: AtomicU64,
    failed: AtomicU64,
}

impl Sent {
    fn note(&self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Delivered(_) => &self.delivered,
            Outcome::Gone | Outcome::Failed(_) => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> [(&'static str, u64); 2] {
        [("delivered", &self.delivered), ("failed", &self.failed)]
            .map(|(outcome, it)| (outcome, it.load(Ordering::Relaxed)))
    }
}

/// Everybody who brings messages, and what they share.
#[derive(Debug)]
pub(crate) struct Webhooks {
    data: PathBuf,
    pub ledger: Ledger,
    pub sent: Sent,
    key: RwLock<Option<Key>>,
    poster: Poster,
    couriers: Mutex<HashMap<Name, Arc<Bell>, RandomState>>,
}

impl Webhooks {
    /// What is kept of them in the data folder; why not, in words.
    pub fn open(options: &ServerOptions) -> Result<Self, String> {
        let data = options.data.clone();
        let ledger = Ledger::open(&data)
            .map_err(|it| format!("{it}. Move it away: webhooks then begin with what comes next"))?;
        let key = Key::read(&data).map_err(|it| it.to_string())?;
        let poster = Poster::new(&options.webhooks);
        let (sent, key, couriers) = (Sent::default(), RwLock::new(key), Mutex::default());
        Ok(Self { data, ledger, sent, key, poster, couriers })
    }

    /// The secret of a webhook that is being made: the one time that it is told.
    pub fn secret_of(&self, webhook: &str) -> std::io::Result<String> {
        let mut key = self.key.write().unwrap_or_else(PoisonError::into_inner);
        if key.is_none() {
            *key = Some(Key::make(&self.data)?);
        }
        Ok(key.as_ref().map(|it| it.secret_of(webhook).text()).unwrap_or_default())
    }

    fn with_key<T>(&self, work: impl FnOnce(&Key) -> T) -> Option<T> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work)
    }

    /// Something happened to webhooks, or to the tokens by which they see.
    pub fn heard(app: &App, entries: &[Entry]) {
        if entries.iter().any(|it| *it.entity.lifecycle == *TOKEN) {
            let couriers = app.webhooks.couriers.lock().unwrap_or_else(PoisonError::into_inner);
            couriers.values().for_each(|it| it.ring());
        }
        for entry in entries.iter().filter(|it| *it.entity.lifecycle == *WEBHOOK) {
            Self::see_to(app, &entry.entity.id);
        }
    }

    /// Somebody is to look after a webhook, now.
    pub fn see_to(app: &App, webhook: &Name) {
        let mut couriers = app.webhooks.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = couriers.get(webhook) {
            bell.ring();
            return;
        }
        let bell = Arc::new(Bell::default());
        couriers.insert(webhook.clone(), bell.clone());
        tokio::spawn(Courier { app: app.clone(), webhook: webhook.clone(), bell }.run());
    }

    /// A courier has nothing more to do; false if there is something after all.
    fn ended(&self, webhook: &Name, bell: &Bell) -> bool {
        let mut couriers = self.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        if bell.was_rung() {
            return false;
        }
        couriers.remove(webhook);
        true
    }
}

/// Ids of webhooks that are not removed.
pub(crate) async fn open_ones(app: &App) -> Result<Vec<Name>, Refused> {
    let mut query = ListQuery::of(WEBHOOK, own());
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

/// Sees to all of them when the server starts, once the store answers.
pub(crate) async fn start(app: App) {
    loop {
        match begin(&app).await {
            Ok(()) => return,
            Err(_) => tokio::time::sleep(Duration::from_secs(2)).await,
        }
    }
}

async fn begin(app: &App) -> Result<(), Refused> {
    for webhook in &open_ones(app).await? {
        Webhooks::see_to(app, webhook);
    }
    Ok(())
}
