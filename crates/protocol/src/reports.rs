//! Reports: histories, statistics, health, audits and sweeps.

use std::collections::BTreeMap;

use serde::Serialize;
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::entity::FieldMap;
use crate::entry::{EntryBody, HistoryItem};
use crate::runs::RunSummary;

/// A page of the journal entries of an entity, and the time it spent in each state.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = History)]
pub struct HistoryBody {
    /// The entries. With `form=pack`: their log lines, as the pack declares them.
    #[schema(value_type = Vec<EntryBody>)]
    pub items: Vec<HistoryItem>,
    /// The cursor of the next page: send it as `cursor`. Null on the last page.
    pub next_cursor: Option<String>,
    /// Seconds spent in each state.
    pub time_in_states: BTreeMap<String, f64>,
    /// How often the entity entered each state.
    pub visits: BTreeMap<String, u32>,
    /// Entries before this one are archived and their file is missing; null if all are here.
    pub archived_before: Option<u64>,
    /// With `runs=true`: the runs of agents for the entity, the oldest first. Absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<RunSummary>>,
}

/// The statistics of one lifecycle.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Stats)]
pub struct StatsBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    /// The number of entities per state now.
    pub states: BTreeMap<String, u64>,
    /// The time spent in each state, over visits that have ended.
    pub time_in_state: BTreeMap<String, DwellBody>,
    pub throughput: ThroughputBody,
    /// Refused requests since the server started, by code.
    pub refusals: BTreeMap<String, u64>,
    /// When the server started.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// The resources of its open runs of agents, as their runners sampled them last.
    pub runs: OpenRunsBody,
}

/// Open runs of agents and their resources.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OpenRuns)]
pub struct OpenRunsBody {
    pub open: u64,
    /// Processor time in milliseconds.
    pub processor: i64,
    /// The sum of their largest resident memories, in bytes.
    pub memory: i64,
}

/// Statistics of one lifecycle if the request names it, else of all.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum StatsReply {
    One(Box<StatsBody>),
    #[serde(rename_all = "camelCase")]
    All {
        items: Vec<StatsBody>,
        next_cursor: Option<String>,
    },
}

/// The lengths of visits to a state, in seconds.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Dwell)]
pub struct DwellBody {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

/// The number of recent transitions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Throughput)]
pub struct ThroughputBody {
    pub last_minute: u64,
    pub last_hour: u64,
    pub since_start: u64,
    /// Present if older entries are archived: counted from this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub counted_from: Option<String>,
}

/// The process is running.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthBody {
    /// `ok`.
    pub status: &'static str,
    /// The version of the server.
    pub version: &'static str,
}

/// The server takes commands.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Ready)]
pub struct ReadyBody {
    /// `ready`, or `degraded` if there are warnings.
    pub status: &'static str,
    /// The number of the newest journal entry.
    pub seq: u64,
    /// The number of entries that are stored but not yet in the tables for reading.
    pub behind: u64,
    /// Conditions that need attention, such as a disk that fills up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A notification.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Notification)]
pub struct NotificationBody {
    /// The number of the journal entry.
    pub seq: u64,
    #[schema(format = DateTime)]
    pub since: String,
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    #[schema(value_type = String)]
    pub audience: Name,
    /// The recipients.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
    pub message: String,
}

/// A violated invariant.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Violation)]
pub struct ViolationBody {
    pub seq: u64,
    #[schema(format = DateTime)]
    pub since: String,
    #[schema(value_type = String)]
    pub rule: Name,
    /// `info`, `warning`, `error` or `critical`.
    pub severity: &'static str,
    pub message: String,
    /// The values that the rule read.
    #[schema(value_type = Object)]
    pub evidence: FieldMap,
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    /// The entity as `lifecycle/id`.
    pub entities: Vec<String>,
    /// True if the invariant holds again.
    pub cleared: bool,
    /// The journal entry since which it holds again.
    pub cleared_by: Option<u64>,
}

/// The result of a sweep.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Sweep)]
pub struct SweepBody {
    /// The number of entities that were checked.
    pub looked_at: u64,
    /// Violations that were not known before.
    pub found: u64,
    /// Violations that have ended.
    pub cleared: u64,
    /// Repairs that the definitions declare and that were applied.
    pub repaired: u64,
    /// Entities whose stored rows were compared with the journal.
    pub compared: u64,
    /// Entities whose rows differed and were rebuilt.
    pub mended: u64,
    /// Entities that could not be compared, because a part of the journal is missing or too long.
    pub unchecked: u64,
    /// Entities with altered journal entries: nothing was rebuilt from them.
    pub forged: u64,
    /// The entries that the sweep wrote.
    pub journal: JournalRange,
}

/// Journal entries after one number, up to and including another.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct JournalRange {
    pub after: u64,
    pub upto: u64,
}

/// The result of an audit of the journal.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Audit)]
pub struct AuditBody {
    /// True if every entry verifies.
    pub intact: bool,
    /// The number of audited entries.
    pub entries: u64,
    /// The number of archive files that were read.
    pub archive_files: usize,
    pub from: ChainEnd,
    pub to: ChainEnd,
    pub problems: Vec<AuditProblemBody>,
    /// The number of problems beyond the listed ones.
    pub more: u64,
    /// The number of entries without their payload.
    pub payloads_dropped: u64,
    /// The entries that explain why payloads are missing.
    pub dropped: Vec<DroppedBody>,
}

/// An entry number, and the hash of the chain there.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChainEnd {
    pub seq: u64,
    pub hash: String,
}

/// A problem that an audit found.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AuditProblem)]
pub struct AuditProblemBody {
    pub seq: u64,
    pub code: &'static str,
    pub message: String,
}

/// An entry that dropped payloads.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Dropped)]
pub struct DroppedBody {
    pub seq: u64,
    /// `REDACTED`, or `ERASED` if the whole entity was erased.
    pub event: String,
    pub payloads: u64,
    #[schema(format = DateTime)]
    pub timestamp: Option<String>,
    /// The entity as `lifecycle/id`. Only for people with role admin, as the author and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
