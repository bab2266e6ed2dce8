//! The wire: what is asked over HTTP and what is answered, as plain data. The server writes it, clients read it.

mod ask;
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
mod tell;
mod upkeep;
mod webhook;

pub use ask::{
    Advance, Batch, BatchCommand, Claim, Correct, Create, Decide, EffectResult, Evaluate, Heartbeat,
    TakeEffects, Transition,
};
pub use batch::{BatchRefusal, BatchReply, BatchResult, NotDone};
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Exchanged, Told};
pub use entity::{ApprovalBody, EntityBody, FieldMap, LeaseBody, TimerBody};
pub use entry::{EntryBody, EntryMetadata, ProjectMetadata, SentFields};
pub use exchange::{Import, ImportCount, ImportEntity, ImportLease, Imported};
pub use identity::{NewLink, NewToken, SignInLink, Token, TokenMade, Who};
pub use moved::{Moved, MovedReply};
pub use notice::{AlertTold, Attend, Attended};
pub use problem::{Problem, Unmet};
pub use problem_code::ProblemCode;
pub use tell::{ArtifactKept, Clock, EffectTaken, EffectTold, HeartbeatTold, Judged, Message, Page, Stop};
pub use upkeep::{
    Archive, Backup, Migrate, Migrated, MigratedOne, PackFiles, PackInstalled, PackTold, ProjectPut,
    ProjectTold, Redact, SettingTold, SettingsTold,
};
pub use webhook::{NewWebhook, ReplayWebhook, Webhook, WebhookDelivery, WebhookMade, WebhookReplayed};
