//! Turns requests into commands, and their outcomes into responses.

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::observe::{is_recipient, strip_fields};
use trackside_engine::present::PresentedEntity;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_protocol::{EntityBody, EntryBody, Moved};
use trackside_runtime::{
    AcceptedCommand, BatchAnswer, CommandAnswer, Pending, ReadError, Stages, SubmitOptions,
};

use super::{CommandHeaders, stored_body};
use crate::app::App;
use crate::auth::{Caller, is_own};
use crate::events::Visibility;
use crate::problem::Refused;
use crate::telemetry::{RequestContext, current, request_id};

/// The outcome of a command that was accepted, or would be in a dry run.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// The body of the response.
    pub moved: Moved,
    /// Whether the command created the entity.
    pub created: bool,
    pub entity: EntityKey,
    pub version: u64,
    pub seq: u64,
}

impl Done {
    pub fn into_response_with(self, status: StatusCode) -> Response {
        let mut headers = HeaderMap::new();
        let mut put = |name: header::HeaderName, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        put(header::ETAG, format!("\"{}\"", self.version));
        put(header::HeaderName::from_static("trackside-seq"), self.seq.to_string());
        if status == StatusCode::CREATED {
            put(header::LOCATION, format!("/v1/entities/{}/{}", self.entity.lifecycle, self.entity.id));
        }
        (status, headers, Json(self.moved)).into_response()
    }
}

/// A command of this caller.
pub(crate) fn command(caller: &Caller, headers: &CommandHeaders, ask: Ask, reason: Option<&str>) -> Command {
    let mut command = Command::new(caller.actor().clone(), ask);
    command.on_behalf_of.clone_from(&caller.on_behalf_of);
    command.idempotency_key.clone_from(&headers.key);
    command.request_id = request_id();
    command.reason = reason.map(Into::into);
    command
}

/// Submits a command and waits until it is durable.
async fn carry_out(app: &App, caller: &Caller, command: Command) -> Result<Done, Refused> {
    let answer = submit(app, command).await?;
    to_outcome(app, caller, answer).await
}

/// Carries a command out, or only decides it in a dry run.
pub(crate) async fn carry_out_or_try(
    app: &App,
    caller: &Caller,
    command: Command,
    dry_run: bool,
) -> Result<Done, Refused> {
    match dry_run {
        true => try_out(app, caller, command).await,
        false => carry_out(app, caller, command).await,
    }
}

/// Converts the engine's answer into an outcome.
pub(crate) async fn to_outcome(app: &App, caller: &Caller, answer: CommandAnswer) -> Result<Done, Refused> {
    match answer {
        CommandAnswer::Accepted(accepted) => accepted_outcome(app, caller, accepted).await,
        CommandAnswer::Refused(refusal) => Err((&*refusal).into()),
        CommandAnswer::Replayed { first, entries, root } => replayed(app, caller, first, entries, root).await,
    }
}

/// Submits a command and returns the engine's answer.
pub(crate) async fn submit(app: &App, mut command: Command) -> Result<CommandAnswer, Refused> {
    if command.request_id.is_none() {
        command.request_id = request_id();
    }
    let (pending, noting) = hand_in(app, command)?;
    let answer = pending.await;
    noting.end();
    Ok(answer?)
}

/// Submits a command. Its stages are recorded if the request is traced.
fn hand_in(app: &App, command: Command) -> Result<(Pending, CommandSpan), Refused> {
    app.quotas.charge_commands(std::slice::from_ref(&command), &app.limits())?;
    let noting = CommandSpan::of(&command);
    let options = submit_options(&command, &noting);
    Ok((app.gateway.submit_with(command, options)?, noting))
}

fn submit_options(command: &Command, noting: &CommandSpan) -> SubmitOptions {
    // Tokens are revoked and sign-ins ended also while there is no space for more.
    let from_reserve = matches!(&command.ask, Ask::Fire(fire) if is_own(&fire.entity.lifecycle));
    SubmitOptions { stages: noting.stages(), with_entity_view: true, from_reserve }
}

/// Submits several commands of one caller, each for itself: all of them, or none if too many wait.
pub(crate) fn hand_in_all(app: &App, commands: Vec<Command>) -> Result<Vec<(Pending, CommandSpan)>, Refused> {
    app.quotas.charge_commands(&commands, &app.limits())?;
    let noting: Vec<CommandSpan> = commands.iter().map(CommandSpan::of).collect();
    let options: Vec<SubmitOptions> =
        commands.iter().zip(&noting).map(|(command, noting)| submit_options(command, noting)).collect();
    let commands = commands.into_iter().zip(options).collect();
    Ok(app.gateway.submit_all(commands)?.into_iter().zip(noting).collect())
}

/// Submits several commands that succeed or fail together.
pub(crate) fn hand_in_batch(
    app: &App,
    commands: Vec<Command>,
) -> Result<(Pending<BatchAnswer>, Vec<CommandSpan>), Refused> {
    app.quotas.charge_commands(&commands, &app.limits())?;
    let noting: Vec<CommandSpan> = commands.iter().map(CommandSpan::of).collect();
    let stages = noting.iter().filter_map(CommandSpan::stages).collect();
    Ok((app.gateway.submit_atomic(commands, stages)?, noting))
}

/// The stages of a command, for the trace of its request.
pub(crate) struct CommandSpan(Option<(Arc<RequestContext>, Option<Name>, Arc<Stages>)>);

impl CommandSpan {
    fn of(command: &Command) -> Self {
        let watched = current().filter(|it| !it.span.is_disabled());
        Self(watched.map(|it| (it, command.lifecycle().cloned(), Arc::default())))
    }

    fn stages(&self) -> Option<Arc<Stages>> {
        self.0.as_ref().map(|(_, _, stages)| stages.clone())
    }

    /// Records the stages as spans.
    pub fn end(self) {
        let Some((current, lifecycle, stages)) = self.0 else { return };
        current.record_stages(lifecycle.as_deref(), &stages);
    }
}

/// Decides a command without changing anything.
async fn try_out(app: &App, caller: &Caller, command: Command) -> Result<Done, Refused> {
    let decision = app.gateway.dry_run(command)?.await?;
    tried_outcome(app, caller, decision).await
}

/// Converts the decision of a dry run into an outcome.
pub(crate) async fn tried_outcome(app: &App, caller: &Caller, decision: Decision) -> Result<Done, Refused> {
    match decision {
        Decision::Accepted(accepted) => {
            let Some(entry) = accepted.entries.get(accepted.root).cloned() else {
                return Err(Refused::broken("a command was accepted and has no entry"));
            };
            let (key, actor) = (entry.entity.clone(), caller.actor().clone());
            let law = app.runtime.law();
            let (root, entries) = (accepted.root, accepted.entries);
            let visibility = Visibility::of(app, caller);
            let read = app.read(move |reads| {
                let (body, hidden) = match reads.present(&key, &actor) {
                    Ok(found) => (Some(EntityBody::from(&found)), found.facts.hidden),
                    // The command would create it.
                    Err(ReadError::UnknownEntity(_)) => {
                        let restricted =
                            law.newest(&key.lifecycle).into_iter().flat_map(|it| it.restricted_fields());
                        (None, restricted.map(|(field, _)| field.name.clone()).collect())
                    }
                    Err(error) => return Err(error),
                };
                let mut consequences = Vec::new();
                for (_, entry) in entries.iter().enumerate().filter(|(place, _)| *place != root) {
                    if entry.entity == key && is_recipient(entry, &actor) {
                        consequences.push(EntryBody::new(&strip_fields(entry, &hidden)));
                    } else if entry.entity != key {
                        consequences.extend(visibility.entry(reads, entry)?.map(|it| EntryBody::new(&it)));
                    }
                }
                Ok((body, hidden, consequences))
            });
            let (body, hidden, consequences) = read.await?;
            let moved = Moved {
                success: true,
                entity: body,
                transition: EntryBody::new(&strip_fields(&entry, &hidden)),
                replayed: false,
                ignored: accepted.ignored,
                dry_run: true,
                consequences,
            };
            let created = is_creation(&entry);
            let Entry { entity, version, .. } = entry;
            Ok(Done { moved, created, entity, version, seq: app.reads.seq() })
        }
        Decision::Refused(refusal) => Err((&*refusal).into()),
        Decision::Replayed { first, entries, root } => replayed(app, caller, first, entries, root).await,
    }
}

async fn accepted_outcome(app: &App, caller: &Caller, accepted: AcceptedCommand) -> Result<Done, Refused> {
    let entry = accepted.entry().ok_or_else(|| Refused::broken("a command was accepted and has no entry"))?;
    let version = accepted.entity.as_ref().map_or(entry.version, |it| it.version);
    let seq = accepted.entries.last().map_or(entry.seq, |it| it.seq);
    // As of the command's own entries, so that a repeated request gets the same answer.
    let presented = match (accepted.entity.clone(), &accepted.facts) {
        // The answer includes the facts that the rules derive, so no read is needed.
        (Some(entity), Some(facts)) => Some(PresentedEntity { entity, facts: facts.clone(), now: entry.at }),
        (Some(entity), None) => {
            let actor = caller.actor().clone();
            Some(app.read(move |reads| reads.present_at(&entity.key, seq, &actor)).await?)
        }
        (None, _) => None,
    };
    let body = presented.as_ref().map(EntityBody::from);
    let hidden = presented.map(|it| it.facts.hidden).unwrap_or_default();
    let moved = Moved {
        success: true,
        entity: body,
        transition: EntryBody::stored(
            &strip_fields(entry, &hidden),
            accepted.seals.of(entry.seq).map(hex::encode),
        ),
        replayed: false,
        ignored: accepted.ignored.clone(),
        dry_run: false,
        consequences: Vec::new(),
    };
    Ok(Done { moved, created: is_creation(entry), entity: entry.entity.clone(), version, seq })
}

fn is_creation(entry: &Entry) -> bool {
    matches!(entry.event, Event::Created { .. })
}

/// The outcome of the first request, read from the journal.
async fn replayed(app: &App, caller: &Caller, first: u64, count: u32, root: u32) -> Result<Done, Refused> {
    let actor = caller.actor().clone();
    app.blocking(move |app| {
        let reads = &app.reads;
        let records = reads.written_by(first, count)?;
        let record = records.get(root as usize).ok_or(ReadError::UnknownEntry(first))?;
        let entry = &record.entry().map_err(ReadError::from)?;
        let last = records.last().map_or(first, |it| it.seq);
        let past = reads.present_at(&entry.entity, last, &actor)?;
        let (version, body) = (past.entity.version, Some((&past).into()));
        let transition = stored_body(record, &strip_fields(entry, &past.facts.hidden));
        let key = match records.first() {
            Some(it) => it.entry().map_err(ReadError::from)?.key,
            None => None,
        };
        let ignored = key.map(|it| it.ignored).unwrap_or_default();
        let moved = Moved {
            success: true,
            entity: body,
            transition,
            replayed: true,
            ignored,
            dry_run: false,
            consequences: Vec::new(),
        };
        Ok(Done { moved, created: is_creation(entry), entity: entry.entity.clone(), version, seq: last })
    })
    .await
}
