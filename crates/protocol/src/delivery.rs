//! Audiences, their addresses, and deliveries to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An audience to set. Keys that are left out are cleared.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AudiencePut {
    /// Ids of people, and `role:PACK:ROLE` for everybody with a role, in the order of escalation.
    pub members: Vec<String>,
    pub addresses: Vec<AddressPut>,
    /// Only what concerns these lifecycles or packs; empty means all.
    pub lifecycles: Vec<String>,
    /// `none`, `error` (the default: those of severity error and critical) or `all`.
    pub alerts: Option<String>,
    /// Also send the notifications of packs to the audience of this name.
    pub notifications: bool,
    /// Send to members one after the other, each this long after the one before, such as `15m`. By default all get it at
    /// once.
    pub escalate_after: Option<String>,
    /// Collect messages and send them at multiples of this span, such as `1h`.
    pub digest: Option<String>,
    pub quiet: Option<AudienceQuiet>,
}

/// Hours of every day in which only critical messages are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AudienceQuiet {
    /// Such as `22:00`.
    pub from: String,
    /// Such as `07:00`, which may be on the next day.
    pub to: String,
    /// The time zone, such as `Europe/Berlin`; by default that of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// An address to set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressPut {
    /// Its name in the audience.
    pub name: String,
    /// The channel: `slack`, `telegram`, `discord`, `matrix`, `ntfy`, `email`, `desktop`, `webhook`, or one of the
    /// project's own.
    pub channel: String,
    /// The member who reads it; none if several people do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The values that the channel needs. They are stored outside the journal and never returned. Without them, the
    /// address keeps those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeMap<String, String>>,
}

/// An audience.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AudienceBody {
    pub name: String,
    /// What a pack says about an audience of this name; null if no pack has one.
    pub about: Option<String>,
    pub members: Vec<String>,
    pub addresses: Vec<AudienceAddressBody>,
    pub lifecycles: Vec<String>,
    pub alerts: String,
    pub notifications: bool,
    pub escalate_after: Option<String>,
    pub digest: Option<String>,
    pub quiet: Option<AudienceQuiet>,
    /// The people that the members are now, in the order of escalation.
    pub people: Vec<String>,
}

/// An address, without its values.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AudienceAddressBody {
    pub name: String,
    pub channel: String,
    pub person: Option<String>,
    /// Why no message can be sent there; null if one can.
    pub problem: Option<String>,
}

/// A message to one address about something that waits.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryBody {
    pub id: String,
    pub state: String,
    pub audience: String,
    pub address: String,
    pub channel: String,
    pub person: String,
    /// `item`, `alert` or `notification`.
    pub kind: String,
    pub lifecycle: String,
    /// The id of the entity.
    pub entity: String,
    /// The number of the item in the inbox.
    pub number: u64,
    pub attempts: u64,
    /// Why the last attempt failed; null if it did not.
    pub why: Option<String>,
    /// It is not sent before this.
    #[schema(format = DateTime)]
    pub due_at: String,
    #[schema(format = DateTime)]
    pub sent_at: Option<String>,
    /// The next person gets a message if there was no reaction by then.
    #[schema(format = DateTime)]
    pub escalate_at: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A test of the addresses of an audience.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryTest {
    /// Only this address; by default all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// The result of a test.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryTested {
    /// True if every address accepted the message.
    pub success: bool,
    pub results: Vec<AddressTested>,
}

/// The result of a test message to one address.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AddressTested {
    pub address: String,
    pub channel: String,
    /// Why it was not accepted; null if it was.
    pub problem: Option<String>,
}
