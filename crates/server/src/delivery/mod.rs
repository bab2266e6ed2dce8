//! Messages to people about what waits for them.
//!
//! `audience` is who gets messages, `channel` and `template` are channel files, `planner` decides who gets a message about what,
//! `quiet_hours` when, `courier` sends, `transport` and `smtp` are how, `message` is the text, `record` is a stored
//! delivery, `secrets` has the values of addresses.

mod audience;
mod channel;
mod courier;
mod message;
mod planner;
mod quiet_hours;
mod record;
mod secrets;
mod smtp;
mod template;
mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::instrument::WithSubscriber as _;
use tracing::{error, warn};
use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_runtime::{CommandAnswer, Failure, ReadError};

pub(crate) use audience::{AUDIENCE, AlertChoice, AudienceMember, DeliveryAudience, ROLE};
pub(crate) use channel::DeliveryChannel;
pub(crate) use courier::usable_address;
pub(crate) use message::{DeliveryMessage, MessageRecipient};
pub(crate) use quiet_hours::QuietHours;
pub(crate) use record::DELIVERY;
pub(crate) use secrets::{AddressSecrets, AddressValues};
pub(crate) use transport::send;

use courier::AddressKey;
use planner::{DeliveryPlanner, NewEntries};

use crate::app::App;
use crate::problem::Refused;
use crate::webhooks::{WebhookOptions, WebhookSender};

/// The wait after an internal failure.
const BREATH: Duration = Duration::from_secs(2);

/// What the tasks of delivery share.
#[derive(Debug)]
pub(crate) struct DeliveryService {
    pub secrets: AddressSecrets,
    pub sender: WebhookSender,
    /// Wakes the courier.
    wake: Notify,
    /// Addresses to which a message is being sent.
    under_way: Mutex<BTreeSet<AddressKey>>,
}

impl DeliveryService {
    pub fn open(data: &Path, options: &WebhookOptions) -> std::io::Result<Self> {
        Ok(Self {
            secrets: AddressSecrets::open(data)?,
            sender: WebhookSender::new(options),
            wake: Notify::new(),
            under_way: Mutex::default(),
        })
    }
}

/// The members of an audience that the server knows, in the order of escalation.
pub(crate) fn people_of(app: &App, audience: &DeliveryAudience) -> Result<Vec<Name>, ReadError> {
    let mut planner = DeliveryPlanner::new(app, Arc::default());
    let mut people = planner.people_of(audience)?;
    let mut known = Vec::with_capacity(people.len());
    for person in people.drain(..) {
        if planner.is_known(&person)? {
            known.push(person);
        }
    }
    Ok(known)
}

/// Plans and sends messages until the server stops.
pub(crate) async fn run(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut feed = app.runtime.follow(app.reads.seq());
    tokio::spawn(courier::run(app.clone()).with_current_subscriber());
    let mut audiences = Arc::new(Vec::new());
    // Something may have begun to wait while no server ran.
    let mut is_stale = true;
    loop {
        if is_stale {
            match plan_all(&app).await {
                Ok(found) => (audiences, is_stale) = (found, false),
                Err(refused) => warn!(why = refused.0.detail, "messages cannot be planned"),
            }
        }
        let found = tokio::select! {
            found = feed.next() => found,
            () = tokio::time::sleep(BREATH), if is_stale => continue,
            _ = stopping.wait_for(|it| *it) => return,
        };
        let entries = match found {
            Ok(entries) => entries.to_vec(),
            Err(Failure::Stopped) => return,
            Err(failure) => {
                error!(why = failure.to_string(), "messages are held up");
                tokio::time::sleep(BREATH).await;
                is_stale = true;
                continue;
            }
        };
        is_stale |= entries.iter().any(|it| *it.entity.lifecycle == *AUDIENCE);
        if entries.iter().any(|it| *it.entity.lifecycle == *DELIVERY) {
            app.delivery.wake.notify_one();
        }
        if !is_stale && !audiences.is_empty() {
            is_stale = plan_changes(&app, audiences.clone(), entries).await.is_err();
        }
    }
}

/// Plans the messages about everything, and returns the audiences.
async fn plan_all(app: &App) -> Result<Arc<Vec<DeliveryAudience>>, Refused> {
    let (audiences, subjects) = app
        .blocking(|app| {
            let audiences = Arc::new(DeliveryAudience::all(&app.reads)?);
            let subjects = match audiences.is_empty() {
                true => BTreeMap::new(),
                false => DeliveryPlanner::new(app, audiences.clone()).everything()?,
            };
            Ok((audiences, subjects))
        })
        .await?;
    plan_subjects(app, audiences.clone(), subjects).await?;
    app.delivery.wake.notify_one();
    Ok(audiences)
}

async fn plan_changes(
    app: &App,
    audiences: Arc<Vec<DeliveryAudience>>,
    entries: Vec<Entry>,
) -> Result<(), Refused> {
    let known = audiences.clone();
    let changed = app.blocking(move |app| Ok(DeliveryPlanner::new(app, known).changed(&entries)?)).await?;
    plan_subjects(app, audiences, changed).await
}

async fn plan_subjects(
    app: &App,
    audiences: Arc<Vec<DeliveryAudience>>,
    subjects: BTreeMap<EntityKey, NewEntries>,
) -> Result<(), Refused> {
    if subjects.is_empty() {
        return Ok(());
    }
    let commands = app.blocking(move |app| {
        let mut planner = DeliveryPlanner::new(app, audiences);
        let mut commands = Vec::new();
        for (subject, news) in &subjects {
            commands.extend(planner.plan(subject, news)?);
        }
        Ok(commands)
    });
    submit_all(app, commands.await?).await
}

/// Carries out commands of the server. One that is refused was carried out before, or is too late.
async fn submit_all(app: &App, commands: Vec<Command>) -> Result<(), Refused> {
    for command in commands {
        if let CommandAnswer::Refused(refusal) = app.gateway.submit(command)?.await?
            && refusal.code != Code::AlreadyExists
        {
            warn!(why = refusal.detail, "the record of a message was not changed");
        }
    }
    Ok(())
}
