//! The inbox: everything that waits for the caller.

use serde::Serialize;
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

/// What waits for the caller.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxBody {
    pub items: Vec<InboxItemBody>,
    /// The cursor of the next page: send it as `cursor`. Null on the last page.
    pub next_cursor: Option<String>,
    /// True if so much waits that not all of it was examined. The rest follows when some is decided.
    pub more: bool,
}

/// Something that waits for the caller.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InboxItem)]
pub struct InboxItemBody {
    /// The journal entry that put it there. It names the item as long as it waits, so that a command never acts on
    /// another one.
    pub number: u64,
    pub kind: InboxKind,
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    /// The state of the entity; null for an alert.
    #[schema(value_type = Option<String>)]
    pub state: Option<Name>,
    /// What waits, in one line.
    pub headline: String,
    /// Since when it waits.
    pub since: String,
    /// When that ends by itself; null if it does not.
    pub until: Option<String>,
    /// What happens without an action; null if nothing does.
    pub otherwise: Option<InboxOtherwise>,
    /// `info`, `warning`, `error` or `critical`.
    pub severity: String,
    /// True if the caller can act on it now.
    pub may_act: bool,
    /// What the caller can do.
    pub actions: Vec<InboxAction>,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InboxKind {
    /// A request to people.
    Approval,
    /// A state that waits for a decision.
    Decision,
    /// A state that shows `stuck` or `failed`.
    Escalation,
    /// An open alert.
    Alert,
}

impl InboxKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Decision => "decision",
            Self::Escalation => "escalation",
            Self::Alert => "alert",
        }
    }
}

/// What happens without an action.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InboxOtherwise {
    /// The transition that a timer fires.
    #[schema(value_type = String)]
    pub event: Name,
    /// When.
    pub at: String,
    /// Where it may lead.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
}

/// Something that the caller can do.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InboxAction {
    /// The transition; null for an alert.
    #[schema(value_type = Option<String>)]
    pub event: Option<Name>,
    /// `approve` or `deny`; for an alert `acknowledge` or `resolve`; else null.
    #[schema(value_type = Option<String>)]
    pub decision: Option<&'static str>,
    /// In words.
    pub label: String,
    /// Where it may lead.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
    /// What the request must send: fields, `reason` or `to`.
    #[schema(value_type = Vec<String>)]
    pub fields: Vec<Name>,
    /// The command that does it.
    pub command: String,
}
