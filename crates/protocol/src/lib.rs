//! The wire format: bodies of HTTP requests and responses as plain data, for the server and for clients.

mod answers;
mod batch;
mod changes;
#[cfg(feature = "client")]
mod client;
mod cloud_event;
mod definitions;
mod delivery;
pub mod diagram;
mod entity;
mod entry;
mod exchange;
mod explain;
mod identity;
mod inbox;
mod moved;
mod notice;
mod number;
mod problem;
mod problem_code;
#[cfg(feature = "client")]
mod prove;
mod reports;
mod requests;
mod runs;
mod server_identity;
mod strict_json;
mod tools;
mod upkeep;
mod webhook;
mod work;

pub use answers::{
    ActionAnswer, ActionApproval, ArtifactKept, Clock, ClockCorrected, EffectBody, EffectSettled,
    EffectTaken, HeartbeatReply, Message, Page, PolicyJudgement, Stop, Success,
};
pub use batch::{BatchRefusal, BatchReply, BatchResult};
pub use changes::{
    ChangeArtifact, ChangeStats, ChangeSummaryBody, DiffBody, DiffHunk, DiffLine, DiffLineKind, FileChange,
    FileStatus, ReportChange, ReportWorktree, ReportedBody, WorktreeBody,
};
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Exchange, HttpReply};
pub use cloud_event::CloudEvent;
pub use definitions::{
    FieldBody, FieldTypeBody, FieldWriter, LifecycleBody, LifecycleSummary, QueryItems, QueryReply,
    QuerySummary, StateDecisionBody, field_bodies, state_meanings, states_by_alias,
    states_waiting_for_people,
};
pub use delivery::{
    AddressPut, AddressTested, AudienceAddressBody, AudienceBody, AudiencePut, AudienceQuiet, DeliveryBody,
    DeliveryTest, DeliveryTested,
};
pub use entity::{ApprovalBody, CounterBody, EntityBody, FieldMap, LeaseBody, TimerBody};
pub use entry::{
    EntryBody, EntryMetadata, ExportedEntry, HistoryItem, ProjectMetadata, SentFields, entry_value,
};
pub use exchange::{Import, ImportCount, ImportEntity, ImportLease, ImportReply};
pub use explain::{
    ArrivalBody, ArrivalCause, AttemptBody, AttemptOutcome, BlockingEntityBody, CheckBody, ClaimOption,
    EventOption, ExplainBody, HeadlineBody, OpenEffectBody, OpenRequestBody, PendingTimerBody, TakenField,
    TransitionOptionBody, WaitingFor, headline_in_words,
};
pub use identity::{IdentityBody, NewLink, NewToken, SignInLink, Token, TokenMade};
pub use inbox::{InboxAction, InboxBody, InboxItemBody, InboxKind, InboxOtherwise};
pub use moved::{Moved, MovedReply};
pub use notice::{AlertBody, AlertNote, AlertReply};
pub use problem::{Problem, UnmetBody};
pub use problem_code::ProblemCode;
#[cfg(feature = "client")]
pub use prove::{ProofError, ProvenServer};
pub use reports::{
    AuditBody, AuditProblemBody, ChainEnd, DroppedBody, DwellBody, HealthBody, HistoryBody, JournalRange,
    NotificationBody, OpenRunsBody, ReadyBody, StatsBody, StatsReply, SweepBody, ThroughputBody,
    ViolationBody,
};
pub use requests::{
    Advance, BatchBody, BatchCommand, ClaimBody, Correct, CorrectClock, CorrectionDirection, CreateBody,
    Decide, EffectResult, Evaluate, HeartbeatBody, RequestAction, TakeEffects, TransitionBody,
};
pub use runs::{
    AccountHold, AppendLines, LinesAppended, RunAct, RunBody, RunLine, RunMessage, RunSummary, RunTokens,
    RunVerdictBody, SteerRun, StopRun, VerdictEvent,
};
pub use server_identity::{ISSUER_DIGITS, ServerIdentity, issuer_of};
pub use strict_json::{JsonMistake, find_mistake};
pub use tools::{
    ClaimReply, ClaimableEntity, EntityBrief, ExplainBrief, MoveBrief, TaskInstructions, WaitReply,
    WorkSummary, WorkerIdentity,
};
pub use upkeep::{
    ArchiveBody, ArchiveFile, ArchiveReply, Backup, BackupReply, MigrateBody, Migrated, MigratedOne,
    PackBody, PackInstalled, PackSummary, ProjectBody, ProjectPut, RedactBody, RedactReply, SettingBody,
    SettingsBody,
};
pub use webhook::{NewWebhook, ReplayWebhook, Webhook, WebhookDelivery, WebhookMade, WebhookReplayed};
pub use work::{
    ApplyStep, FieldSchema, RoleWorkBody, StepApplied, WorkAgentBody, WorkBody, WorkChange, WorkEventBody,
};
