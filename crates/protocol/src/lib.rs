//! The wire: what is asked over HTTP and what is answered, as plain data. The server writes it, clients read it.

mod ask;
#[cfg(feature = "client")]
mod client;
mod exchange;
mod identity;
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
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Exchanged, Told};
pub use exchange::{Import, ImportCount, ImportEntity, ImportLease, Imported};
pub use identity::{NewLink, NewToken, SignInLink, Token, TokenMade, Who};
pub use notice::{AlertTold, Attend, Attended};
pub use problem::{Problem, Unmet};
pub use problem_code::ProblemCode;
pub use tell::{
    ArtifactKept, Clock, EffectTaken, EffectTold, Entity, HeartbeatTold, JournalEntry, Judged, LeaseTold,
    Message, Moved, Page, Stop, TimerTold,
};
pub use upkeep::{
    Archive, Backup, Migrate, Migrated, MigratedOne, PackFiles, PackInstalled, PackTold, ProjectPut,
    ProjectTold, Redact, SettingTold, SettingsTold,
};
pub use webhook::{NewWebhook, ReplayWebhook, Webhook, WebhookDelivery, WebhookMade, WebhookReplayed};
