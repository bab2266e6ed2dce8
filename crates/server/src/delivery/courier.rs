//! Sends messages that are due: all that one address gets at a time as one message, and no address waits for another.
//!
//! A message is sent before its delivery is stored as sent. If the server is killed in between, it is sent again.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use tracing::instrument::WithSubscriber as _;
use tracing::{error, warn};
use trackside_engine::command::Command;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_protocol::InboxItemBody;

use super::audience::DeliveryAudience;
use super::channel::DeliveryChannel;
use super::message::{DeliveryMessage, MessageRecipient};
use super::planner::DeliveryPlanner;
use super::record::{DeliveryRecord, SubjectKind};
use super::secrets::AddressValues;
use super::submit_all;
use super::transport::{SendFailure, send};
use crate::app::App;
use crate::auth::PACK;
use crate::problem::Refused;

/// Most deliveries in one message.
const MOST: usize = 100;
/// The longest wait between attempts.
const LONGEST_WAIT: Span = Span(60 * 60 * 1_000);

/// One address of an audience.
pub(super) type AddressKey = (Name, String);

/// A message that is ready to be sent, with the deliveries in it.
struct ReadyMessage {
    channel: DeliveryChannel,
    values: AddressValues,
    message: DeliveryMessage,
    records: Vec<DeliveryRecord>,
    escalate_after: Option<Span>,
}

/// The work for an address.
#[derive(Default)]
struct Prepared {
    /// Deliveries that are not needed any more, or cannot be sent.
    commands: Vec<Command>,
    ready: Option<ReadyMessage>,
}

/// Sends due messages, whenever it is woken, until the server stops.
pub(super) async fn run(app: App) {
    let mut stopping = app.stopping.subscribe();
    loop {
        if let Err(refused) = send_due(&app).await {
            error!(why = refused.0.detail, "messages are held up");
        }
        tokio::select! {
            () = app.delivery.wake.notified() => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
    }
}

/// Starts a task for every address with a message that is due, unless one runs already.
async fn send_due(app: &App) -> Result<(), Refused> {
    let law = app.runtime.law();
    let due = app.read(move |reads| {
        let (all, now) = (DeliveryRecord::all_open(reads, &law)?, reads.now());
        Ok(all.into_iter().filter(|it| !it.is_sent && it.due_at <= now).collect::<Vec<_>>())
    });
    let mut groups: BTreeMap<AddressKey, Vec<DeliveryRecord>> = BTreeMap::new();
    for record in due.await? {
        let group = groups.entry((record.audience.clone(), record.address.clone())).or_default();
        if group.len() < MOST {
            group.push(record);
        }
    }
    for (address, records) in groups {
        let is_new = {
            let mut under_way = app.delivery.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            under_way.insert(address.clone())
        };
        if is_new {
            let (app, address) = (app.clone(), address.clone());
            tokio::spawn(
                async move {
                    if let Err(refused) = send_group(&app, &address, records).await {
                        error!(
                            audience = &*address.0,
                            address = address.1,
                            why = refused.0.detail,
                            "a message is held up"
                        );
                        tokio::time::sleep(super::BREATH).await;
                    }
                    app.delivery.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
                    app.delivery.wake.notify_one();
                }
                .with_current_subscriber(),
            );
        }
    }
    Ok(())
}

async fn send_group(app: &App, address: &AddressKey, records: Vec<DeliveryRecord>) -> Result<(), Refused> {
    let key = address.clone();
    let prepared = app.blocking(move |app| prepare(app, &key, records)).await?;
    submit_all(app, prepared.commands).await?;
    let Some(ready) = prepared.ready else { return Ok(()) };
    let sent = send(&app.delivery.sender, &ready.channel, &ready.values, &ready.message).await;
    if let Err(failure) = &sent {
        warn!(audience = &*address.0, address = address.1, why = failure.why, "a message was not sent");
    }
    let commands = ready.records.iter().flat_map(|it| after_attempt(app, it, ready.escalate_after, &sent));
    submit_all(app, commands.collect()).await
}

/// The message to an address about what still waits.
fn prepare(
    app: &App,
    (audience, address): &AddressKey,
    records: Vec<DeliveryRecord>,
) -> Result<Prepared, Refused> {
    let law = app.runtime.law();
    let audiences = Arc::new(DeliveryAudience::all(&app.reads)?);
    let mut planner = DeliveryPlanner::new(app, audiences.clone());
    let (mut prepared, mut items, mut kept) = (Prepared::default(), Vec::<InboxItemBody>::new(), Vec::new());
    for record in records {
        // It may have been sent or dropped since it was listed.
        let stored = app.reads.entity(&record.key)?.and_then(|it| DeliveryRecord::of(&law, &it));
        let Some(record) = stored.filter(|it| it.is_open && !it.is_sent) else { continue };
        match planner.waiting(&record)? {
            Some(item) => {
                items.push(item);
                kept.push(record);
            }
            None => {
                let why = Value::text("It no longer waits for this person");
                prepared.commands.push(record.fire("drop", [("why", why)]));
            }
        }
    }
    let Some(first) = kept.first() else { return Ok(prepared) };
    let found = audiences.iter().find(|it| it.name == *audience);
    let declared = found.and_then(|it| it.addresses.iter().find(|it| it.name == *address));
    let usable = match declared {
        None => Err("The audience has no such address any more".to_owned()),
        Some(declared) => usable_address(app, audience, &declared.name, &declared.channel),
    };
    match usable {
        Err(why) => {
            let failure = SendFailure::lasting(why);
            let failed = kept.iter().flat_map(|it| after_attempt(app, it, None, &Err(failure.clone())));
            prepared.commands.extend(failed);
        }
        Ok((channel, values)) => {
            let to = MessageRecipient { audience, person: &first.person, delivery: &first.key.id };
            prepared.ready = Some(ReadyMessage {
                message: DeliveryMessage::about(&items, &app.public_url(), to),
                escalate_after: found.and_then(|it| it.escalate_after),
                channel,
                values,
                records: kept,
            });
        }
    }
    Ok(prepared)
}

/// The channel and the values of an address, or why it cannot be used.
pub(crate) fn usable_address(
    app: &App,
    audience: &str,
    address: &str,
    channel: &str,
) -> Result<(DeliveryChannel, AddressValues), String> {
    let channel = DeliveryChannel::find(&app.options.data, channel)?;
    let values = app.delivery.secrets.of(audience, address).unwrap_or_default();
    match channel.needs.iter().find(|it| !values.contains_key(*it)) {
        Some(missing) => Err(format!("The address has no value {missing}: set the audience again")),
        None => Ok((channel, values)),
    }
}

/// The commands that store the outcome of an attempt.
fn after_attempt(
    app: &App,
    record: &DeliveryRecord,
    escalate_after: Option<Span>,
    outcome: &Result<(), SendFailure>,
) -> Vec<Command> {
    let now = app.reads.now();
    let attempts = record.attempts.saturating_add(1);
    let tried = ("attempts", Value::Int(attempts));
    match outcome {
        Ok(()) if record.kind == SubjectKind::Notification => {
            vec![record.fire("send", [tried, ("sentAt", Value::Time(now))]), record.fire("answer", [])]
        }
        Ok(()) => {
            let mut fields = vec![tried, ("sentAt", Value::Time(now))];
            if let Some(after) = escalate_after.filter(|_| record.is_personal) {
                fields.push(("escalateAt", Value::Time(now.plus(after))));
            }
            vec![record.fire("send", fields)]
        }
        Err(SendFailure { why, is_lasting }) => {
            let most = app.setting(PACK, "deliveryAttempts").as_int().unwrap_or(1);
            let why = ("why", Value::text(why));
            if *is_lasting || attempts >= most {
                return vec![record.fire("fail", [tried, why])];
            }
            let doubled = 1_i64 << attempts.saturating_sub(1).clamp(0, 20);
            let wait = app.span_setting("deliveryWait").0.saturating_mul(doubled).min(LONGEST_WAIT.0);
            vec![record.fire("retry", [tried, why, ("dueAt", Value::Time(now.plus(Span(wait))))])]
        }
    }
}
