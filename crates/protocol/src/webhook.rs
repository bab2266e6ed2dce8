//! Receivers outside, and what became of messages to them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::all;

/// A webhook that is to be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Where messages go: `https://…`.
    pub url: String,
    /// Lifecycles or packs; all if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifecycles: Vec<String>,
    /// Kinds of journal entries, such as `STATE_TRANSITION`; if there is none, what the audience is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// `user`: what people follow; `all`: every entry. `user` if nothing is said.
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
    /// Who had it made: it tells what they may see.
    pub holder: String,
    pub state: String,
    /// Whether messages are sent.
    pub sends: bool,
    /// Why not.
    pub why: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The journal entry up to which everything was delivered, is a dead letter, or is not for it.
    pub cursor: u64,
    /// How many dead letters it has.
    pub dead: u64,
}

/// A webhook that was made: its secret is shown this once, and to the same request under its key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookMade {
    /// What its receiver checks signatures with: `whsec_…`. It cannot be shown again.
    pub secret: String,
    pub details: Webhook,
    /// It was made by the same request before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What became of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// The journal entry it tells of.
    pub seq: u64,
    /// Its `webhook-id`, the same however often it is sent.
    pub message_id: String,
    /// `delivered`, `failing` (it will be tried again), `dead` or `queued` (a dead letter that is tried once more).
    pub state: String,
    pub attempts: u32,
    /// What the receiver answered last.
    pub status: Option<u16>,
    /// Why it was not taken.
    pub why: Option<String>,
    /// When it was tried last, by the machine's clock.
    #[schema(format = DateTime)]
    pub at: String,
    #[schema(format = DateTime)]
    pub next_at: Option<String>,
}

/// Dead letters that are to be tried once more.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhook {
    /// Numbers of journal entries; all dead letters if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all")]
    pub seqs: Vec<u64>,
}

/// How many messages are tried again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookReplayed {
    pub success: bool,
    pub replayed: u64,
    /// Those asked for by number that are no dead letters, so that there is nothing to try again.
    #[serde(default, rename = "passedOver")]
    pub passed_over: Vec<u64>,
    /// Whether it was off and is on again.
    pub enabled: bool,
}
