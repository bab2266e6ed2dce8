//! Requests of the runner to the server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trackside_protocol::{
    ActionAnswer, BatchBody, BatchCommand, ClaimBody, Client, ClientError, Clock, CreateBody, HeartbeatBody,
    IdentityBody, MovedReply, NewToken, Problem, RequestAction, TokenMade, TransitionBody,
};

use crate::held_leases::HeldLease;
use crate::transcript::TranscriptLine;

/// The longest time that one request may take. Leases are much longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a request had no effect.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The server cannot be reached or has no time: the same request can succeed later.
    #[error("{0}")]
    Unreachable(String),
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
}

impl ApiError {
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// The refusal with every unmet condition, as one text.
    pub fn words(&self) -> String {
        match self {
            Self::Unreachable(why) => why.clone(),
            Self::Refused(problem) => {
                let mut words = vec![problem.detail.clone()];
                words.extend(problem.errors.iter().map(|it| it.message.clone()));
                words.dedup();
                words.join(". ")
            }
        }
    }

    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Unreachable(_) => None,
            Self::Refused(problem) => Some(&problem.code),
        }
    }
}

impl From<ClientError> for ApiError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) if problem.status == 429 || problem.status >= 500 => {
                Self::Unreachable(problem.detail.clone())
            }
            ClientError::Refused(problem) => Self::Refused(problem),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// An entity as the runner reads it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityView {
    pub lifecycle: String,
    pub id: String,
    pub state: String,
    pub version: u64,
    #[serde(rename = "final", default)]
    pub is_final: bool,
    #[serde(default)]
    pub fields: Map<String, Value>,
    #[serde(default)]
    pub leases: Vec<LeaseView>,
    pub updated_at: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    pub slot: String,
    pub holder: String,
    pub fence: u64,
    pub expires_at: String,
}

impl EntityView {
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    pub fn lease_of(&self, holder: &str) -> Option<&LeaseView> {
        self.leases.iter().find(|it| it.holder == holder)
    }
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, Deserialize)]
pub struct HeartbeatAnswer {
    pub stop: Option<StopOrder>,
    #[serde(default)]
    pub notices: Vec<NoticeText>,
}

/// The answers to a batch of heartbeats.
#[derive(Debug, Deserialize)]
struct BatchAnswers {
    results: Vec<BatchItemAnswer>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum BatchItemAnswer {
    Renewed {
        /// Only a renewed lease has it.
        #[serde(rename = "expiresAt")]
        _expires_at: String,
        #[serde(flatten)]
        answer: HeartbeatAnswer,
    },
    Refused(Box<Problem>),
}

impl BatchItemAnswer {
    fn into_result(self) -> Result<HeartbeatAnswer, ApiError> {
        match self {
            Self::Renewed { answer, .. } => Ok(answer),
            Self::Refused(problem) => Err(ClientError::Refused(problem).into()),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct StopOrder {
    pub why: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct NoticeText {
    pub message: String,
}

/// The actor of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestActor {
    Runner,
    /// The runner, on behalf of its agent.
    Agent,
}

/// The server, as a runner and its agent see it.
#[derive(Clone, Debug)]
pub struct ServerApi {
    runner: Client,
    agent: Client,
    /// The agent's id.
    name: String,
}

impl ServerApi {
    /// `client` has the runner's token.
    pub fn new(client: &Client, agent: &str) -> Self {
        let runner = client.clone().with_timeout(PATIENCE);
        Self { agent: runner.clone().acting_for(agent), runner, name: agent.to_owned() }
    }

    pub fn url(&self) -> &str {
        self.runner.url()
    }

    fn client(&self, actor: RequestActor) -> &Client {
        match actor {
            RequestActor::Runner => &self.runner,
            RequestActor::Agent => &self.agent,
        }
    }

    pub fn whoami(&self) -> Result<IdentityBody, ApiError> {
        Ok(self.runner.get("/v1/whoami")?.into()?)
    }

    pub fn get(&self, path: &str) -> Result<Value, ApiError> {
        Ok(self.runner.get(path)?.body)
    }

    pub fn clock(&self) -> Result<Clock, ApiError> {
        Ok(self.runner.get("/v1/clock")?.into()?)
    }

    /// The values of the settings of a pack.
    pub fn settings(&self, pack: &str) -> Result<BTreeMap<String, Value>, ApiError> {
        let settings = self.get(&format!("/v1/settings/{pack}"))?;
        let items = settings.get("items").and_then(Value::as_array).into_iter().flatten();
        let setting = |it: &Value| Some((it.get("name")?.as_str()?.to_owned(), it.get("value")?.clone()));
        Ok(items.filter_map(setting).collect())
    }

    pub fn lifecycle(&self, lifecycle: &str) -> Result<Value, ApiError> {
        Ok(self.runner.get(&format!("/v1/lifecycles/{lifecycle}"))?.body)
    }

    pub fn entity(&self, actor: RequestActor, lifecycle: &str, id: &str) -> Result<EntityView, ApiError> {
        Ok(self.client(actor).get(&format!("/v1/entities/{lifecycle}/{id}"))?.into()?)
    }

    pub fn create(
        &self,
        actor: RequestActor,
        lifecycle: &str,
        body: &CreateBody,
        key: &str,
    ) -> Result<EntityView, ApiError> {
        let path = format!("/v1/entities/{lifecycle}");
        moved(self.client(actor).post_with(&path, body, &[("Idempotency-Key", key)])?.into()?)
    }

    pub fn fire(
        &self,
        actor: RequestActor,
        lifecycle: &str,
        id: &str,
        body: &TransitionBody,
        key: &str,
    ) -> Result<EntityView, ApiError> {
        let path = format!("/v1/entities/{lifecycle}/{id}/transitions");
        moved(self.client(actor).post_with(&path, body, &[("Idempotency-Key", key)])?.into()?)
    }

    /// Claims the next entity for the agent. `None` if there is none.
    pub fn claim(&self, lifecycle: &str, event: &str, key: &str) -> Result<Option<EntityView>, ApiError> {
        let body = ClaimBody { event: Some(event.to_owned()), ..ClaimBody::default() };
        let path = format!("/v1/entities/{lifecycle}/claim");
        let answer = self.agent.post_with(&path, &body, &[("Idempotency-Key", key)])?;
        if answer.status == 204 {
            return Ok(None);
        }
        moved(answer.into()?).map(Some)
    }

    /// Renews leases in one request. Each has its own answer.
    pub fn heartbeats(
        &self,
        leases: &[HeldLease],
    ) -> Result<Vec<Result<HeartbeatAnswer, ApiError>>, ApiError> {
        let beat = |lease: &HeldLease| BatchCommand {
            lifecycle: lease.lifecycle.clone(),
            id: Some(lease.id.clone()),
            heartbeat: Some(HeartbeatBody { slot: Some(lease.slot.clone()), fence: Some(lease.fence) }),
            r#for: (lease.actor == RequestActor::Agent).then(|| self.name.clone()),
            ..BatchCommand::default()
        };
        let body = BatchBody { commands: leases.iter().map(beat).collect(), atomic: false };
        let mut answer: BatchAnswers = self.runner.post("/v1/batch", &body)?.into()?;
        if answer.results.len() != leases.len() {
            return Err(ApiError::Unreachable("the batch has another number of answers".to_owned()));
        }
        Ok(answer.results.drain(..).map(BatchItemAnswer::into_result).collect())
    }

    /// Renews one lease.
    pub fn heartbeat(&self, lease: &HeldLease) -> Result<HeartbeatAnswer, ApiError> {
        let mut answers = self.heartbeats(std::slice::from_ref(lease))?;
        answers.pop().unwrap_or_else(|| Err(ApiError::Unreachable("the batch has no answer".to_owned())))
    }

    /// What the agent is asked: the content of its task file.
    pub fn work(&self, lifecycle: &str, id: &str, role: &str) -> Result<Value, ApiError> {
        Ok(self.agent.get(&format!("/v1/entities/{lifecycle}/{id}/work?role={role}"))?.body)
    }

    /// The rows of a named query, for the agent.
    pub fn query(&self, pack: &str, query: &str, params: &str) -> Result<Value, ApiError> {
        Ok(self.agent.get(&format!("/v1/queries/{pack}/{query}{params}"))?.body)
    }

    pub fn post_report(&self, path: &str, body: &Value, key: &str) -> Result<Value, ApiError> {
        Ok(self.runner.post_with(path, body, &[("Idempotency-Key", key)])?.body)
    }

    /// Stores content under its SHA-256.
    pub fn put_artifact(&self, id: &str, content: &[u8]) -> Result<(), ApiError> {
        self.runner.put_bytes(&format!("/v1/artifacts/{id}"), content)?;
        Ok(())
    }

    /// Sends lines of a transcript; returns the number of the line that the server expects next.
    pub fn append_transcript(&self, run: &str, lines: &[TranscriptLine]) -> Result<u64, ApiError> {
        #[derive(Serialize)]
        struct Lines<'a> {
            lines: &'a [TranscriptLine],
        }
        let answer = self.runner.post(&format!("/v1/runs/{run}/transcript"), &Lines { lines })?;
        answer
            .body
            .get("next")
            .and_then(Value::as_u64)
            .ok_or_else(|| ApiError::Unreachable("the answer to a transcript has no `next`".to_owned()))
    }

    pub fn verdict(&self, run: &str, code: i64, waited: u64) -> Result<ExitVerdict, ApiError> {
        let path = format!("/v1/runs/{run}/verdict?code={code}&waited={waited}");
        Ok(self.runner.get(&path)?.into()?)
    }

    pub fn new_token(&self, body: &NewToken) -> Result<TokenMade, ApiError> {
        Ok(self.runner.post("/v1/tokens", body)?.into()?)
    }

    /// Lets a run token end an hour from now.
    pub fn extend_token(&self, id: &str) -> Result<(), ApiError> {
        self.runner.post(&format!("/v1/tokens/{id}/extend"), &Map::new())?;
        Ok(())
    }

    pub fn revoke_token(&self, id: &str) -> Result<(), ApiError> {
        self.runner.delete(&format!("/v1/tokens/{id}"))?;
        Ok(())
    }

    /// Asks for the agent whether a tool call is allowed; files a request for approval if it needs one.
    pub fn request_action(&self, body: &RequestAction) -> Result<ActionAnswer, ApiError> {
        Ok(self.agent.post("/v1/policy/request", body)?.into()?)
    }

    /// The stream of changes, as the agent sees it.
    pub fn changes(&self) -> Result<impl std::io::BufRead + use<>, ApiError> {
        // A stream lasts longer than a request.
        Ok(self.agent.clone().without_timeout().stream("/v1/events?audience=all")?)
    }
}

fn moved(answer: MovedReply) -> Result<EntityView, ApiError> {
    let entity = answer.entity.unwrap_or(Value::Null);
    serde_json::from_value(entity).map_err(|it| ApiError::Unreachable(format!("unreadable answer: {it}")))
}

/// What the pack's rules say after the end of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitVerdict {
    pub act: VerdictAct,
    /// Seconds.
    pub after: Option<f64>,
    pub why: String,
    pub fire: Option<VerdictMove>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VerdictAct {
    Stop,
    Restart,
    Wait,
    Hold,
    GiveUp,
}

/// A transition to fire on the agent's entity.
#[derive(Clone, Debug, Deserialize)]
pub struct VerdictMove {
    pub lifecycle: String,
    pub event: String,
    #[serde(default)]
    pub fields: Map<String, Value>,
}
