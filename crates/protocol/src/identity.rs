//! Tokens, identities and sign-in links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The actor that the token identifies.
    pub actor: String,
    /// The kind of actor: `human`, `agent` or `system`.
    pub kind: String,
    /// Roles as `pack:role`, or as `role` if that is unique. `admin` gives the rights of the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The actors on whose behalf the holder may act: ids, where `*` at the end matches any rest.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub on_behalf: Vec<String>,
    /// How long the token is valid, such as `90s`, `15m`, `24h` or `7d`. Without it, the token does not expire. A run token is valid for at most one hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Limits the token of an agent to one entity, as `LIFECYCLE/ID`: it can change only that entity, the agent's own record and `run`, and create what the entity's `work` declares. It can read what the agent can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The run that uses the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A token, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The id of the token, which is not its text.
    pub id: String,
    /// The actor that the token identifies.
    pub actor: String,
    /// The kind of actor: `human`, `agent` or `system`.
    pub kind: String,
    pub roles: Vec<String>,
    /// The actors on whose behalf the holder may act.
    #[serde(rename = "for")]
    pub on_behalf: Vec<String>,
    pub purpose: String,
    pub state: String,
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it expires; null means never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The actor that created it.
    pub minted_by: Option<String>,
    /// The id of the token it was created with.
    pub minted_with: Option<String>,
    /// The id of the token it ends with, for run tokens and browser sessions.
    pub made_with: Option<String>,
    pub note: Option<String>,
    /// The entity that it is limited to, as `LIFECYCLE/ID`.
    pub entity: Option<String>,
    /// The run that uses it.
    pub run: Option<String>,
}

/// A created token. Its text is returned only once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// The text of the token. Send it as `Authorization: Bearer …`. It cannot be shown again.
    pub token: String,
    /// Why the token expires earlier than requested. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<String>,
    pub details: Token,
}

/// The identity of the caller.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Identity)]
pub struct IdentityBody {
    pub actor: String,
    pub kind: String,
    pub roles: Vec<String>,
    /// The actor on whose behalf the caller sends this request; null if there is none.
    pub acting_for: Option<String>,
    /// The actors on whose behalf the caller may act.
    #[serde(rename = "for")]
    pub on_behalf: Vec<String>,
    /// The id of the caller's token.
    pub token: String,
    /// When the token expires; null means never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The entity that the token is limited to, as `LIFECYCLE/ID`; null if it is not limited.
    #[serde(default)]
    pub entity: Option<String>,
}

/// A person to create a sign-in link for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLink {
    /// The id of the person; the caller by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// A sign-in link that can be used once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInLink {
    pub url: String,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}
