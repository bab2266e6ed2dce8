//! The MCP server: its capabilities, and the dispatch of calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CreateTaskResult, DetailedTask, ErrorData,
    GetTaskParams, GetTaskResult, Implementation, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Task,
    TaskPayload, TaskStatus, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use trackside_lifecycle::name::Name;

use super::args::WaitInput;
use super::tool_answer::{ToolAnswer, result};
use super::wait::Awaited;
use super::wait_task::WaitTask;
use super::{Asker, explaining, moves, reading, tools, wait, work};
use trackside_protocol::ProblemCode;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most cancelled waits that are remembered.
const GIVEN_UP: usize = 1_000;
/// The suggested poll interval of a wait, in milliseconds.
const POLL: u64 = 2_000;

/// A cancelled wait: its actor and task id.
type GivenUp = (Name, String);

/// Answers calls as the actor of their token.
#[derive(Clone, Debug)]
pub(crate) struct McpServer {
    app: App,
    tools: Arc<Vec<Tool>>,
    given_up: Arc<Mutex<VecDeque<GivenUp>>>,
}

impl McpServer {
    pub fn new(app: App) -> Self {
        Self { app, tools: Arc::new(tools::all()), given_up: Arc::default() }
    }

    /// Runs a tool; none if there is no such tool.
    async fn call(
        &self,
        caller: &Caller,
        name: &str,
        sent: JsonObject,
    ) -> Result<Option<ToolAnswer>, Refused> {
        let app = &self.app;
        let told = match name {
            "my_work" => work::my_work(app, caller, read(sent)?).await?,
            "inbox" => reading::inbox(app, caller, read(sent)?).await?,
            "show" => reading::show(app, caller, read(sent)?).await?,
            "list" => reading::list(app, caller, read(sent)?).await?,
            "explain" => explaining::explained(app, caller, read(sent)?).await?,
            "create" => moves::create(app, caller, read(sent)?).await?,
            "claim" => moves::claim(app, caller, read(sent)?).await?,
            "fire" => moves::fire(app, caller, read(sent)?).await?,
            "report" => moves::report(app, caller, read(sent)?).await?,
            "heartbeat" => moves::heartbeat(app, caller, read(sent)?).await?,
            _ => return Ok(None),
        };
        Ok(Some(told))
    }

    /// Calls a tool under the idempotency key of the call, if any.
    async fn called_once(
        &self,
        caller: &Caller,
        name: &str,
        sent: JsonObject,
    ) -> Result<Option<ToolAnswer>, Refused> {
        let key = sent.get("idempotencyKey").and_then(Json::as_str).map(Name::new);
        let _reservation = match &key {
            Some(key) => Some(self.app.kept_answers.reserve_for_command(&caller.actor().id, key).await?),
            None => None,
        };
        self.call(caller, name, sent).await
    }

    /// Calls a tool within the time limit.
    async fn in_time(
        &self,
        caller: &Caller,
        name: &str,
        sent: JsonObject,
    ) -> Result<Option<ToolAnswer>, Refused> {
        let limit = Duration::from_secs(self.app.limits().seconds);
        tokio::time::timeout(limit, self.called_once(caller, name, sent)).await.unwrap_or_else(|_| {
            let detail = "Timed out. With an idempotencyKey it is safe to repeat the call";
            Err(Refused::new(ProblemCode::Timeout, detail))
        })
    }

    /// Waits in the call, or returns a task if the client supports tasks.
    async fn wait_in_call(
        &self,
        caller: &Caller,
        sent: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Refused> {
        let asked: WaitInput = read(sent)?;
        let awaited = Awaited::of(&self.app, caller, &asked).await?;
        let knows_tasks = context.client_capabilities().is_some_and(|it| it.supports_tasks());
        if let Some(ticket) = WaitTask::of(&self.app, &awaited, asked.seconds).filter(|_| knows_tasks) {
            return Ok(match ticket.check(&self.app, caller).await? {
                Some(told) => CallToolResponse::Complete(result(Ok(told))),
                None => CallToolResponse::Task(CreateTaskResult::new(self.task(&ticket))),
            });
        }
        let told = wait::in_call(&self.app, caller, &awaited, asked.seconds, context).await;
        Ok(CallToolResponse::Complete(result(told)))
    }

    fn task(&self, ticket: &WaitTask) -> Task {
        let lasts = u64::try_from(ticket.until.since(ticket.begun).0).unwrap_or_default();
        let (begun, now) = (ticket.begun.to_string(), self.app.reads.now().to_string());
        Task::new(ticket.name(), TaskStatus::Working, begun, now)
            .with_ttl_ms(lasts)
            .with_poll_interval_ms(POLL)
            .with_status_message(ticket.in_words())
    }

    fn gave_up(&self, caller: &Caller, name: &str) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.iter().any(|(who, which)| who == caller.subject() && which == name)
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let this = Implementation::new("trackside", env!("CARGO_PKG_VERSION")).with_title("Trackside");
        ServerConfig::new(offers).with_server_info(this).with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    // Unsupported methods are refused instead of answered with an empty list, as the capabilities say.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asker = asker_of(&context)?;
        let (name, sent) = (request.name, request.arguments.unwrap_or_default());
        if name == "wait" {
            let waited = asker.during(self.wait_in_call(&asker.caller, sent, &context)).await;
            return Ok(waited.unwrap_or_else(|it| CallToolResponse::Complete(result(Err(it)))));
        }
        match asker.during(self.in_time(&asker.caller, &name, sent)).await.transpose() {
            Some(outcome) => Ok(CallToolResponse::Complete(result(outcome))),
            None => {
                let names: Vec<&str> = self.tools.iter().map(|it| &*it.name).collect();
                let message = format!("There is no tool {name}. There are: {}", names.join(", "));
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = asker_of(&context)?.caller;
        let ticket = ticket(&request.task_id)?;
        let payload = match self.gave_up(&caller, &request.task_id) {
            true => TaskPayload::Cancelled,
            false => match ticket.check(&self.app, &caller).await.transpose() {
                None => TaskPayload::Working,
                Some(outcome) => TaskPayload::Completed { result: task_result(outcome) },
            },
        };
        Ok(GetTaskResult::new(DetailedTask::new(self.task(&ticket), payload)))
    }

    /// A wait takes no input.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        ticket(&request.task_id).map(|_| ())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = asker_of(&context)?.caller;
        let ticket = ticket(&request.task_id)?;
        // A finished wait cannot be cancelled.
        let ended = !matches!(ticket.check(&self.app, &caller).await, Ok(None));
        if !ended && !self.gave_up(&caller, &request.task_id) {
            let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
            if given_up.len() >= GIVEN_UP {
                given_up.pop_front();
            }
            given_up.push_back((caller.subject().clone(), request.task_id));
        }
        Ok(())
    }
}

/// The caller, as the route has authenticated it.
fn asker_of(context: &RequestContext<RoleServer>) -> Result<Asker, ErrorData> {
    let asker = context.extensions.get::<Parts>().and_then(|it| it.extensions.get::<Asker>());
    asker.cloned().ok_or_else(|| ErrorData::internal_error("The caller is unknown", None))
}

/// Parses arguments.
fn read<T: DeserializeOwned>(sent: JsonObject) -> Result<T, Refused> {
    serde_json::from_value(Json::Object(sent)).map_err(|error| {
        let detail = format!("The arguments have the wrong shape: {error}");
        Refused::new(ProblemCode::InvalidArguments, detail)
    })
}

fn ticket(name: &str) -> Result<WaitTask, ErrorData> {
    WaitTask::named(name).ok_or_else(|| ErrorData::invalid_params(format!("There is no task {name}"), None))
}

/// The result of a task.
fn task_result(outcome: Result<ToolAnswer, Refused>) -> JsonObject {
    match serde_json::to_value(result(outcome)) {
        Ok(Json::Object(whole)) => whole,
        _ => JsonObject::new(),
    }
}
