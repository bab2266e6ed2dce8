//! Requests of the runner to the server.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trackside_protocol::{
    ActionAnswer, ClaimBody, Client, ClientError, Clock, CreateBody, HeartbeatBody, IdentityBody, MovedReply,
    NewToken, Problem, RequestAction, TokenMade, TransitionBody,
};

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
}

impl ServerApi {
    /// `client` has the runner's token.
    pub fn new(client: &Client, agent: &str) -> Self {
        let runner = client.clone().with_timeout(PATIENCE);
        Self { agent: runner.clone().acting_for(agent), runner }
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

    /// A setting of a pack that is a span of time, in milliseconds.
    pub fn setting(&self, pack: &str, name: &str) -> Option<u64> {
        let settings = self.get(&format!("/v1/settings/{pack}")).ok()?;
        let mut items = settings.get("items")?.as_array()?.iter();
        let value = items.find(|it| it.get("name").and_then(Value::as_str) == Some(name))?.get("value")?;
        let span: jiff::Span = value.as_str()?.parse().ok()?;
        let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
        u64::try_from(length.as_millis()).ok()
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

    pub fn heartbeat(
        &self,
        actor: RequestActor,
        lifecycle: &str,
        id: &str,
        body: &HeartbeatBody,
    ) -> Result<HeartbeatAnswer, ApiError> {
        let path = format!("/v1/entities/{lifecycle}/{id}/heartbeat");
        Ok(self.client(actor).post(&path, body)?.into()?)
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
