//! The adapter file.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pattern::{EventPattern, TextPattern, ValuePath};

#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    #[error("{0}")]
    Syntax(String),
    #[error("adapter {adapter}: {problem}")]
    Content { adapter: String, problem: String },
}

/// One adapter file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterDefinition {
    pub adapter: String,
    pub about: String,
    pub program: ProgramRule,
    pub transport: Transport,
    #[serde(default)]
    pub start: StartRule,
    /// Arguments of an option of ours, with `{value}`.
    #[serde(default)]
    pub options: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub login: LoginRule,
    /// The program brings a sandbox that does not work inside ours.
    #[serde(default)]
    pub own_sandbox: bool,
    pub session: Option<SessionRule>,
    #[serde(default)]
    pub mcp: Vec<String>,
    #[serde(default)]
    pub events: Vec<EventRule>,
    /// Statuses of a tool call that went well, for a `tool-result` that takes `failed` from a status.
    #[serde(default)]
    pub succeeded: Vec<String>,
    #[serde(default)]
    pub usage: UsageRule,
    pub end: EndRule,
    /// Classes of exit codes, used when no end event came.
    #[serde(default)]
    pub exit: BTreeMap<i32, ExitClass>,
    pub steer: Option<SteerRule>,
    /// What opens a session of a program with the transport `app-server`.
    pub handshake: Option<HandshakeRule>,
    #[serde(default)]
    pub stop: StopRule,
    #[serde(default)]
    pub limits: LimitRule,
    /// Turns telemetry and updates of the program off.
    #[serde(default)]
    pub quiet_env: BTreeMap<String, String>,
    #[serde(default)]
    pub quiet_args: Vec<String>,
    /// How the program is pointed at a scripted model, for tests.
    pub test_model: Option<TestModelRule>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramRule {
    /// Names to look for in PATH.
    pub names: Vec<String>,
    pub version: Option<VersionRule>,
    /// Oldest version that was tried.
    pub oldest: Option<String>,
    /// The native program behind a wrapper script, relative to the folder of packages.
    pub native: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionRule {
    pub args: Vec<String>,
    pub pattern: TextPattern,
}

/// How the runner and the program talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Text; the exit code says how it ended.
    Plain,
    /// One JSON object per line on standard output.
    Lines,
    /// JSON lines in both directions.
    DuplexLines,
    /// JSON-RPC lines of Codex's app server.
    AppServer,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartRule {
    pub args: Vec<String>,
    pub prompt: PromptPlace,
    pub env: BTreeMap<String, String>,
    pub unset: Vec<String>,
    /// The working folder must be a git repository.
    pub needs_git: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptPlace {
    /// The program reads it from the task file.
    #[default]
    File,
    LastArgument,
    /// The first message on standard input.
    Message,
}

/// What the program needs of the user's login. Paths begin at the user's home folder.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoginRule {
    pub files: Vec<String>,
    pub variables: Vec<String>,
    /// Variable that names the folder of settings and login, and that folder below the private home.
    pub folder: Option<ConfigFolder>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigFolder {
    pub variable: String,
    pub path: String,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRule {
    /// Who chooses the id of a new session.
    pub chosen_by: SessionChooser,
    #[serde(default)]
    pub start: Vec<String>,
    pub resume: Vec<String>,
    /// Text of the error for an unknown session.
    pub unknown: Option<TextPattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionChooser {
    Runner,
    Program,
}

/// What an event of the program means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventMeaning {
    Session,
    Message,
    Thinking,
    User,
    /// A turn has begun; its id is needed to steer it.
    Turn,
    ToolCall,
    ToolResult,
    /// Tokens of one step.
    Step,
    Context,
    Retry,
    Quota,
    Warning,
    Approval,
    /// The program no longer waits for an approval.
    ApprovalEnd,
    /// Details of an error that the end event does not have.
    ErrorDetail,
    End,
    Ignore,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRule {
    pub when: EventPattern,
    #[serde(rename = "as")]
    pub meaning: EventMeaning,
    /// Applies to each element of this list; `match` and `take` look into the element.
    pub each: Option<ValuePath>,
    #[serde(default, rename = "match")]
    pub matching: EventPattern,
    #[serde(default)]
    pub take: BTreeMap<String, ValuePath>,
    /// Fixed values beside those of `take`.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Of an approval: its answers, if they differ from those of `steer`.
    pub allow: Option<Value>,
    pub deny: Option<Value>,
    /// Of an approval: what it permits runs outside the program's own sandbox.
    #[serde(default)]
    pub leaves_sandbox: bool,
    /// Counts once for each value of this path.
    pub once_by: Option<ValuePath>,
    /// Later rules see the event too.
    #[serde(default)]
    pub also: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UsageScope {
    /// Each end event has the tokens of its own turn.
    #[default]
    Turn,
    /// Each end event has the total of the session, earlier runs included.
    Session,
    /// Only the steps have tokens.
    Steps,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsageRule {
    pub tokens: UsageScope,
    pub cost: UsageScope,
    /// The program counts cached tokens as input.
    pub input_includes_cache: bool,
    /// Size of the context window while the program has not said it.
    pub window: Option<u64>,
    /// End events whose cost is a guess, as for a model that the program does not know. It is left out.
    pub cost_unknown: EventPattern,
}

/// How a run ended. The classes are ours; the packs' rules follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitClass {
    Ok,
    /// A usage limit of the account, until its reset.
    Quota,
    /// Too many requests for a moment.
    Rate,
    Billing,
    Overloaded,
    Auth,
    Model,
    /// The context window is full.
    Context,
    Network,
    /// A limit of turns or of money that we set.
    Limit,
    Interrupted,
    /// The session to resume does not exist.
    NoSession,
    /// The program refused its arguments or could not be started.
    Usage,
    /// A signal ended it.
    Killed,
    /// It ended without saying how.
    Crash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAdvice {
    #[default]
    No,
    /// Soon, with growing pauses.
    Wait,
    /// At the reset.
    Later,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EndRule {
    /// The end event of a run that went well.
    pub ok: EventPattern,
    pub causes: Vec<CauseRule>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CauseRule {
    pub class: ExitClass,
    /// Of the end event; `detail.NAME` looks at what an `error-detail` took.
    #[serde(default)]
    pub when: EventPattern,
    /// Of the final text.
    pub text: Option<TextPattern>,
    /// Of standard error, when no end event came.
    pub stderr: Option<TextPattern>,
    /// When the limit ends: the first group of a match in the text. The last quota event is used otherwise.
    pub reset: Option<TextPattern>,
    #[serde(default)]
    pub retry: RetryAdvice,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerRule {
    /// Messages with `{text}`, `{id}`, `{session}`, `{turn}`, `{input}` and `{reason}`.
    pub message: Value,
    /// A message while a turn runs, if it differs from `message`.
    pub during_turn: Option<Value>,
    pub interrupt: Option<Value>,
    pub allow: Option<Value>,
    pub deny: Option<Value>,
}

/// Requests with `{id}`, `{folder}`, `{version}` and `{session}`, sent in this order. Each is sent when the one before
/// it was answered; one without an id has no answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandshakeRule {
    pub hello: Vec<Value>,
    /// Opens a new session.
    pub open: Value,
    /// Opens the session to resume.
    pub resume: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopRule {
    /// Seconds between TERM and KILL.
    pub grace: u64,
    /// Folders that a killed program leaves; removed if they are new and empty.
    pub remove_if_empty: Vec<String>,
}

impl Default for StopRule {
    fn default() -> Self {
        Self { grace: 5, remove_if_empty: Vec::new() }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitRule {
    /// Seconds until the first event.
    pub startup: u64,
    /// Seconds of retries because of the network.
    pub network: u64,
    /// Seconds until the program ends once it has answered and its standard input is closed.
    pub closing: u64,
    /// Bytes of output, after which the run is ended.
    pub output: u64,
    /// The text of a retry because of the network, for a program that never gives up.
    pub network_wait: Option<TextPattern>,
}

impl Default for LimitRule {
    fn default() -> Self {
        Self { startup: 60, network: 120, closing: 60, output: 512 << 20, network_wait: None }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestModelRule {
    /// Wire format of the model's API.
    pub dialect: String,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub args: Vec<String>,
    pub model: String,
}

/// Most seconds between TERM and KILL.
const LONGEST_GRACE: u64 = 3_600;

/// Whether a path stays below the folder that it begins in.
fn is_plain_path(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|it| matches!(it, Component::Normal(_)))
}

impl AdapterDefinition {
    /// The JSON Schema of an adapter file.
    pub fn schema() -> Value {
        let mut schema = schemars::schema_for!(Self);
        schema.insert("title".to_owned(), Value::from("Adapter of an agent program"));
        schema.to_value()
    }

    /// Reads an adapter file.
    pub fn parse(text: &str) -> Result<Self, AdapterError> {
        let adapter: Self =
            serde_saphyr::from_str(text).map_err(|it| AdapterError::Syntax(it.to_string()))?;
        let problem = |problem: String| AdapterError::Content { adapter: adapter.adapter.clone(), problem };
        let is_name = |it: &str| {
            !it.is_empty() && it.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        };
        if !is_name(&adapter.adapter) {
            return Err(problem("its name must consist of lower case letters, digits and -".to_owned()));
        }
        if adapter.program.names.is_empty() && adapter.transport != Transport::Plain {
            return Err(problem("program.names lists no program".to_owned()));
        }
        if adapter.transport != Transport::Plain
            && !adapter.events.iter().any(|it| it.meaning == EventMeaning::End)
        {
            return Err(problem("no event is the end: add a rule with `as: end`".to_owned()));
        }
        if (adapter.transport == Transport::AppServer) != adapter.handshake.is_some() {
            return Err(problem("`handshake` and `transport: app-server` belong together".to_owned()));
        }
        if adapter.start.prompt == PromptPlace::Message && adapter.steer.is_none() {
            return Err(problem("the prompt is a message, but steer.message is missing".to_owned()));
        }
        let login = adapter.login.files.iter().chain(adapter.login.folder.as_ref().map(|it| &it.path));
        if let Some(path) = login.chain(&adapter.stop.remove_if_empty).find(|it| !is_plain_path(it)) {
            return Err(problem(format!("`{path}` must be a path below its folder, without `.` and `..`")));
        }
        if adapter.stop.grace > LONGEST_GRACE {
            return Err(problem(format!("stop.grace is at most {LONGEST_GRACE} seconds")));
        }
        let is_answered = |it: &EventRule| {
            let steer = adapter.steer.as_ref();
            let has = |own: &Option<Value>, general: fn(&SteerRule) -> bool| {
                own.is_some() || steer.is_some_and(general)
            };
            has(&it.allow, |it| it.allow.is_some()) && has(&it.deny, |it| it.deny.is_some())
        };
        if adapter.events.iter().any(|it| it.meaning == EventMeaning::Approval && !is_answered(it)) {
            return Err(problem(
                "an approval needs `allow` and `deny`, in its rule or in `steer`".to_owned(),
            ));
        }
        Ok(adapter)
    }
}
