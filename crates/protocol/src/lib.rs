//! The wire format: bodies of HTTP requests and responses as plain data, for the server and for clients.

mod answers;
mod batch;
#[cfg(feature = "client")]
mod client;
mod entity;
mod entry;
mod exchange;
mod identity;
mod moved;
mod notice;
mod number;
mod problem;
mod problem_code;
mod requests;
mod upkeep;
mod webhook;

pub use answers::{
    ArtifactKept, Clock, EffectBody, EffectTaken, HeartbeatReply, Message, Page, PolicyJudgement, Stop,
};
pub use batch::{BatchRefusal, BatchReply, BatchResult};
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Exchange, HttpReply};
pub use entity::{ApprovalBody, EntityBody, FieldMap, LeaseBody, TimerBody};
pub use entry::{EntryBody, EntryMetadata, ProjectMetadata, SentFields};
pub use exchange::{Import, ImportCount, ImportEntity, ImportLease, ImportReply};
pub use identity::{IdentityBody, NewLink, NewToken, SignInLink, Token, TokenMade};
pub use moved::{Moved, MovedReply};
pub use notice::{AlertBody, AlertNote, AlertReply};
pub use problem::{Problem, UnmetBody};
pub use problem_code::ProblemCode;
pub use requests::{
    Advance, BatchBody, BatchCommand, ClaimBody, Correct, CreateBody, Decide, EffectResult, Evaluate,
    HeartbeatBody, TakeEffects, TransitionBody,
};
pub use upkeep::{
    ArchiveBody, Backup, MigrateBody, Migrated, MigratedOne, PackBody, PackInstalled, PackSummary,
    ProjectBody, ProjectPut, RedactBody, SettingBody, SettingsBody,
};
pub use webhook::{NewWebhook, ReplayWebhook, Webhook, WebhookDelivery, WebhookMade, WebhookReplayed};
