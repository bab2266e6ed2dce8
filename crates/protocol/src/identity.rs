//! Who is who.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token that is to be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Whom it speaks for.
    pub actor: String,
    /// `human`, `agent` or `system`.
    pub kind: String,
    /// `pack:role`, or bare where that is unique; `admin` for the owner's rights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Whom it may act for: ids, with `*` for any end.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub on_behalf: Vec<String>,
    /// How long it is good for; for ever if there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A token, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub id: String,
    pub actor: String,
    pub kind: String,
    pub roles: Vec<String>,
    #[serde(rename = "for")]
    pub on_behalf: Vec<String>,
    pub purpose: String,
    pub state: String,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    pub minted_by: Option<String>,
    pub note: Option<String>,
}

/// A token that was made: its text is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// Send it as `Authorization: Bearer …`. It cannot be shown again.
    pub token: String,
    /// Said where it does not last as long as was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<String>,
    pub details: Token,
}

/// Who the caller is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Identity)]
pub struct IdentityBody {
    pub actor: String,
    pub kind: String,
    pub roles: Vec<String>,
    /// For whom it speaks in this request.
    pub acting_for: Option<String>,
    #[serde(rename = "for")]
    pub on_behalf: Vec<String>,
    /// The id of the token it showed.
    pub token: String,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// A person who is to be let in.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLink {
    /// The person; the caller if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// A way in, once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInLink {
    pub url: String,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}
