//! Webhooks and their deliveries.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::all;

/// A webhook to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// The URL of the receiver: `https://…`.
    pub url: String,
    /// Lifecycles or packs whose entries are sent. By default all, except tokens, sign-in links and webhooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifecycles: Vec<String>,
    /// Kinds of journal entries to send, such as `STATE_TRANSITION`. Without it, `audience` decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// `changes` (the default): every entry but lease renewals; `all`: every entry; the name of an audience, such as
    /// `user`: only notifications to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A webhook, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    pub id: String,
    pub url: String,
    pub lifecycles: Vec<String>,
    pub events: Vec<String>,
    pub audience: String,
    pub note: Option<String>,
    /// The actor that created it. Only entries that this actor may read are sent.
    pub holder: String,
    pub state: String,
    /// True if messages are sent.
    pub sends: bool,
    /// Why the webhook was switched off; null if it was not.
    pub why: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The journal entry up to which every message was delivered, became a dead letter, or was not subscribed.
    pub cursor: u64,
    /// The number of dead letters.
    pub dead: u64,
}

/// A created webhook. Its secret is returned here, and again only for the same idempotency key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookMade {
    /// The secret with which the receiver verifies signatures: `whsec_…`.
    pub secret: String,
    pub details: Webhook,
    /// True if the same request created it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// The delivery of one message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// The number of the journal entry in the message.
    pub seq: u64,
    /// Its `webhook-id`, the same for every attempt.
    pub message_id: String,
    /// `delivered`, `failing` (will be retried), `dead`, or `queued` (a dead letter that will be retried).
    pub state: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The HTTP status of the last response; null if there was none.
    pub status: Option<u16>,
    /// Why the last attempt failed; null if it did not.
    pub why: Option<String>,
    /// The time of the last attempt, by the clock of the machine.
    #[schema(format = DateTime)]
    pub at: String,
    /// The time of the next attempt; null if there is none.
    #[schema(format = DateTime)]
    pub next_at: Option<String>,
}

/// Dead letters to send again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhook {
    /// Numbers of journal entries; all dead letters by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all")]
    pub seqs: Vec<u64>,
}

/// The result of sending dead letters again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookReplayed {
    pub success: bool,
    /// The number of messages that will be sent again.
    pub queued: u64,
    /// Requested numbers that are not dead letters.
    #[serde(default, rename = "passedOver")]
    pub passed_over: Vec<u64>,
    /// True if the webhook was off and is on again.
    pub enabled: bool,
}
