//! Runs: the processes of agents, and their transcripts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use utoipa::ToSchema;

use crate::entity::FieldMap;
use crate::number::{optional_whole_number, whole_number};

/// One process of an agent, from its start to its end.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Run)]
pub struct RunBody {
    #[schema(value_type = String)]
    pub id: Name,
    #[schema(value_type = String)]
    pub state: Name,
    /// True if it has ended.
    pub ended: bool,
    /// The version of its record.
    pub version: u64,
    /// What it works on, as `LIFECYCLE/ID`.
    pub entity: Option<String>,
    /// The version of the entity at the start.
    pub entity_version: Option<i64>,
    pub agent: Option<String>,
    pub role: Option<String>,
    pub runner: Option<String>,
    /// The registration of the runner that started it.
    pub runner_generation: Option<i64>,
    pub adapter: Option<String>,
    /// Program and arguments, without the prompt.
    pub command: Vec<String>,
    pub folder: Option<String>,
    pub model: Option<String>,
    /// The agent program's own conversation.
    pub session: Option<String>,
    /// The account at the model provider.
    pub account: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
    /// Seconds from the start to the end, or to now.
    pub duration: Option<f64>,
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// How it ended: `ok`, `quota`, `rate`, `crash`, `killed` and others.
    pub exit_class: Option<String>,
    /// What the program said at its end.
    pub exit_text: Option<String>,
    /// When the usage limit ends.
    #[schema(format = DateTime)]
    pub resets_at: Option<String>,
    pub stop_reason: Option<String>,
    /// Why its processes could not be ended.
    pub evidence: Option<String>,
    /// The run that it continues.
    pub previous: Option<String>,
    /// Starts before this one for the same work.
    pub restarts: i64,
    /// Runs before this one for the same work without progress.
    pub reruns: i64,
    pub tokens: RunTokens,
    /// US dollars, as metered.
    pub cost: Option<f64>,
    /// The part of the cost that the budgets of the pack know.
    pub metered: Option<f64>,
    /// Percent of the context window.
    pub context: Option<f64>,
    /// How its processes are contained: `pidns`, `cgroup` or `tree`.
    pub tier: Option<String>,
    /// What its sandbox enforces.
    pub sandbox: Option<String>,
    /// `busy`, `waiting` or `silent`.
    pub activity: Option<String>,
    /// Its last tool call or message.
    pub doing: Option<String>,
    /// Processor time in milliseconds.
    pub processor: Option<i64>,
    /// Largest resident memory in bytes.
    pub memory: Option<i64>,
    /// Lines of its transcript, as its runner reports them.
    pub lines: i64,
    /// What the agent did.
    pub summary: Option<String>,
    /// What has to be done next.
    pub next: Option<String>,
    /// The commit with its result.
    pub commit: Option<String>,
    /// Messages to the agent that it has not got yet.
    pub messages: Vec<RunMessage>,
}

/// Tokens that a run used.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunTokens {
    /// Input tokens, without cached ones.
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
}

/// A message to a running agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunMessage {
    /// From 1.
    pub number: i64,
    pub text: String,
    /// `queue` or `interrupt`.
    pub mode: String,
    pub by: String,
    #[schema(format = DateTime)]
    pub at: Option<String>,
}

impl RunBody {
    /// The record of a run, as of a time.
    pub fn of(entity: &Entity, ended: bool, now: Timestamp) -> Self {
        let fields = &entity.fields;
        let text = |name: &str| fields.text(name).map(str::to_owned);
        let int = |name: &str| fields.get(name).and_then(Value::as_int);
        let float = |name: &str| fields.get(name).and_then(Value::as_float);
        let time = |name: &str| fields.get(name).and_then(Value::as_time);
        let (started, end) = (time("startedAt"), time("endedAt"));
        let messages = fields.get("messages").and_then(Value::as_list).unwrap_or_default();
        Self {
            id: entity.key.id.clone(),
            state: entity.state.clone(),
            ended,
            version: entity.version,
            entity: text("entity"),
            entity_version: int("entityVersion"),
            agent: text("agent"),
            role: text("role"),
            runner: text("runner"),
            runner_generation: int("runnerGeneration"),
            adapter: text("adapter"),
            command: fields.texts("command").map(str::to_owned).collect(),
            folder: text("folder"),
            model: text("model"),
            session: text("session"),
            account: text("account"),
            created_at: entity.created_at.to_string(),
            started_at: started.map(|it| it.to_string()),
            ended_at: end.map(|it| it.to_string()),
            duration: started.map(|it| end.unwrap_or(now).since(it).0 as f64 / 1_000.0),
            exit_code: int("exitCode"),
            signal: int("signal"),
            exit_class: text("exitClass"),
            exit_text: text("exitText"),
            resets_at: time("resetsAt").map(|it| it.to_string()),
            stop_reason: text("stopReason"),
            evidence: text("evidence"),
            previous: text("previous"),
            restarts: int("restarts").unwrap_or_default(),
            reruns: int("reruns").unwrap_or_default(),
            tokens: RunTokens {
                input: int("input").unwrap_or_default(),
                output: int("output").unwrap_or_default(),
                cache_read: int("cacheRead").unwrap_or_default(),
                cache_write: int("cacheWrite").unwrap_or_default(),
            },
            cost: float("cost"),
            metered: float("metered"),
            context: float("context"),
            tier: text("tier"),
            sandbox: text("sandbox"),
            activity: text("activity"),
            doing: text("doing"),
            processor: int("processor"),
            memory: int("memory"),
            lines: int("lines").unwrap_or_default(),
            summary: text("summary"),
            next: text("next"),
            commit: text("commit"),
            messages: messages.iter().filter_map(message).collect(),
        }
    }
}

fn message(value: &Value) -> Option<RunMessage> {
    let map = value.as_map()?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(RunMessage {
        number: map.get("number")?.as_int()?,
        text: text("text"),
        mode: text("mode"),
        by: text("by"),
        at: map.get("at").and_then(Value::as_time).map(|it| it.to_string()),
    })
}

/// A run of an entity in short.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    #[schema(value_type = String)]
    pub id: Name,
    #[schema(value_type = String)]
    pub state: Name,
    pub ended: bool,
    pub agent: Option<String>,
    pub role: Option<String>,
    pub runner: Option<String>,
    pub adapter: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
    pub exit_class: Option<String>,
    pub cost: Option<f64>,
    /// Its last tool call or message.
    pub doing: Option<String>,
}

impl From<RunBody> for RunSummary {
    fn from(run: RunBody) -> Self {
        Self {
            id: run.id,
            state: run.state,
            ended: run.ended,
            agent: run.agent,
            role: run.role,
            runner: run.runner,
            adapter: run.adapter,
            created_at: run.created_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
            exit_class: run.exit_class,
            cost: run.cost,
            doing: run.doing,
        }
    }
}

/// An account at a model provider that starts no runs for now.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountHold {
    pub account: String,
    /// When the hold ends; null if a person has to release it.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// What the provider said.
    pub why: Option<String>,
}

/// A line of a transcript: its number, its time and what it says. Lines of an agent have a `kind`, those of Trackside a
/// `mark`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunLine {
    /// Numbers begin at 1 and have no gaps.
    #[serde(deserialize_with = "whole_number")]
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub content: Map<String, Json>,
}

/// Lines to append to a transcript.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendLines {
    /// The registration of the runner. An earlier one than the present is refused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub generation: Option<u64>,
    pub lines: Vec<RunLine>,
}

/// The answer to appended lines.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct LinesAppended {
    /// The number of the next line.
    pub next: u64,
}

/// A request to end a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A message to a running agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerRun {
    pub text: String,
    /// `queue` (default): after what it does now; `interrupt`: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What follows the end of a run, by the rules of its pack.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = RunVerdict)]
pub struct RunVerdictBody {
    pub act: RunAct,
    /// Seconds to wait before the next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    pub why: String,
    /// With `giveUp`: the transition to fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fire: Option<VerdictEvent>,
}

/// The next step of a supervisor: `stop`; `restart` or `wait` and start again; `hold` until it is over; or `giveUp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunAct {
    Stop,
    Restart,
    Wait,
    Hold,
    GiveUp,
}

/// A transition that a verdict asks for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VerdictEvent {
    /// The lifecycle of the entity, which the run works on.
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub event: Name,
    #[schema(value_type = Object)]
    pub fields: FieldMap,
}
