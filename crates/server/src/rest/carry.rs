//! From a request to a command, and from what became of it to an answer.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::present::Shown;
use trackside_engine::told::Told;
use trackside_lifecycle::name::Name;
use trackside_protocol::Moved;
use trackside_runtime::read::entry_json;
use trackside_runtime::{Accepted, Answer, Batch, Failure, Pending, ReadError, Stages};
use trackside_store::record::hex;

use super::Wanted;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::watch::{Current, current, request_id};

/// A command that was carried out, or would be.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// What is answered: a `Moved`, written.
    pub body: String,
    /// Whether the entity was not there before.
    pub created: bool,
    pub entity: EntityKey,
    pub version: u64,
    pub seq: u64,
}

/// A `Moved` of whatever can be written as what it holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Moving<'a, E, T> {
    success: bool,
    entity: Option<E>,
    transition: T,
    replayed: bool,
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    ignored: &'a [Name],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl<E: Serialize, T: Serialize> Moving<'_, E, T> {
    fn written(&self) -> Result<String, Refused> {
        serde_json::to_string(self).map_err(Refused::broken)
    }
}

impl Done {
    /// What is answered, for whoever looks into it.
    pub fn moved(&self) -> Result<Moved, Refused> {
        serde_json::from_str(&self.body).map_err(Refused::broken)
    }

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
        let kind = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, kind);
        (status, headers, self.body).into_response()
    }
}

/// A command of this caller.
pub(crate) fn command(caller: &Caller, wanted: &Wanted, ask: Ask, reason: Option<&str>) -> Command {
    let mut command = Command::new(caller.actor().clone(), ask);
    command.on_behalf_of.clone_from(&caller.on_behalf_of);
    command.idempotency_key.clone_from(&wanted.key);
    command.request_id = request_id();
    command.reason = reason.map(Into::into);
    command
}

/// Hands a command in and waits until it is on disk.
pub(crate) async fn carry_out(app: &App, caller: &Caller, command: Command) -> Result<Done, Refused> {
    let answer = submit(app, command).await?;
    answer_told(app, caller, answer).await
}

/// An answer of the engine, as it goes out.
pub(crate) async fn answer_told(app: &App, caller: &Caller, answer: Answer) -> Result<Done, Refused> {
    match answer {
        Answer::Accepted(accepted) => {
            app.heard(&accepted.entries);
            accepted_told(app, caller, accepted).await
        }
        Answer::Refused(refusal) => Err((&*refusal).into()),
        Answer::Replayed { first, entries, root } => replayed(app, caller, first, entries, root).await,
    }
}

/// The same, for whoever looks at the answer itself.
pub(crate) async fn submit(app: &App, mut command: Command) -> Result<Answer, Refused> {
    let _passing = app.answers.passing(command.key_sender(), command.idempotency_key.as_ref())?;
    if command.request_id.is_none() {
        command.request_id = request_id();
    }
    let (pending, noting) = handed_in(app, command)?;
    let answer = pending.await;
    noting.end();
    let answer = answer?;
    if let Answer::Accepted(accepted) = &answer {
        app.heard(&accepted.entries);
    }
    Ok(answer)
}

/// Hands a command in; what it goes through is noted for the request that is being answered, if somebody wants to know.
pub(crate) fn handed_in(app: &App, command: Command) -> Result<(Pending, Noting), Failure> {
    let noting = Noting::of(&command);
    Ok((app.gateway.submit_shown(command, noting.stages())?, noting))
}

/// The same for several that are carried out together or not at all.
pub(crate) fn handed_in_together(
    app: &App,
    commands: Vec<Command>,
) -> Result<(Pending<Batch>, Vec<Noting>), Failure> {
    let noting: Vec<Noting> = commands.iter().map(Noting::of).collect();
    let stages = noting.iter().filter_map(Noting::stages).collect();
    Ok((app.gateway.submit_atomic_noted(commands, stages)?, noting))
}

/// What a command goes through, for the trace of its request.
pub(crate) struct Noting(Option<(Arc<Current>, Option<Name>, Arc<Stages>)>);

impl Noting {
    fn of(command: &Command) -> Self {
        let watched = current().filter(|it| it.trace.is_some());
        Self(watched.map(|it| (it, command.lifecycle().cloned(), Arc::default())))
    }

    fn stages(&self) -> Option<Arc<Stages>> {
        self.0.as_ref().map(|(_, _, stages)| stages.clone())
    }

    /// It was answered.
    pub fn end(self) {
        let Some((current, lifecycle, stages)) = self.0 else { return };
        if let Some(trace) = &current.trace {
            trace.command(lifecycle.as_deref(), &stages);
        }
    }
}

/// Decides and changes nothing.
pub(crate) async fn try_out(app: &App, caller: &Caller, command: Command) -> Result<Done, Refused> {
    match app.gateway.dry_run(command)?.await? {
        Decision::Accepted(accepted) => {
            let Some(entry) = accepted.entries.get(accepted.root).cloned() else {
                return Err(Refused::broken("a command was accepted and has no entry"));
            };
            let (key, actor) = (entry.entity.clone(), caller.actor().clone());
            let entity = app.read(move |reads| match reads.present(&key, &actor) {
                // It would be created.
                Err(ReadError::UnknownEntity(_)) => Ok(None),
                found => found.map(Some),
            });
            let entity = entity.await?;
            let ignored = &accepted.ignored;
            let transition = Told::of(&entry);
            let moving =
                Moving { success: true, entity, transition, replayed: false, ignored, dry_run: true };
            let (body, created) = (moving.written()?, is_creation(&entry));
            let Entry { entity, version, .. } = entry;
            Ok(Done { body, created, entity, version, seq: app.reads.seq() })
        }
        Decision::Refused(refusal) => Err((&*refusal).into()),
        Decision::Replayed { first, entries, root } => replayed(app, caller, first, entries, root).await,
        Decision::Needs(_) => Err(Refused::broken("a decision lacks what was loaded for it")),
    }
}

async fn accepted_told(app: &App, caller: &Caller, accepted: Accepted) -> Result<Done, Refused> {
    if let (Some(entity), Some(seen)) = (&accepted.entity, &accepted.seen) {
        // Nothing has to be read: what the rules say of it came with the answer.
        return done(&accepted, Some(Shown { entity, seen, now: app.reads.now() }));
    }
    let Some(entity) = accepted.entity.clone() else { return done(&accepted, None::<Shown<'_>>) };
    let actor = caller.actor().clone();
    let shown = app.read(move |reads| Ok(reads.present_all(&[entity], &actor)?.pop())).await?;
    done(&accepted, shown)
}

/// What is answered to a command that was carried out.
fn done(accepted: &Accepted, entity: Option<impl Serialize>) -> Result<Done, Refused> {
    let entry = accepted.entry().ok_or_else(|| Refused::broken("a command was accepted and has no entry"))?;
    let hash = accepted.seals.of(entry.seq).map(hex);
    let transition = Told::sealed(entry, hash.as_deref());
    let ignored = &accepted.ignored;
    let moving = Moving { success: true, entity, transition, replayed: false, ignored, dry_run: false };
    let version = accepted.entity.as_ref().map_or(entry.version, |it| it.version);
    let seq = accepted.entries.last().map_or(entry.seq, |it| it.seq);
    let (body, created) = (moving.written()?, is_creation(entry));
    Ok(Done { body, created, entity: entry.entity.clone(), version, seq })
}

fn is_creation(entry: &Entry) -> bool {
    matches!(entry.event, Event::Created { .. })
}

/// The first answer again.
async fn replayed(app: &App, caller: &Caller, first: u64, count: u32, root: u32) -> Result<Done, Refused> {
    let actor = caller.actor().clone();
    app.blocking(move |app| {
        let reads = &app.reads;
        let records = reads.written_by(first, count)?;
        let record = records.get(root as usize).ok_or(ReadError::UnknownEntry(first))?;
        let entry = &record.entry().map_err(ReadError::from)?;
        let last = records.last().map_or(first, |it| it.seq);
        let past = reads.entity_at(&entry.entity, last)?.entity;
        let version = past.version;
        let entity = reads.present_all(&[past], &actor)?.pop();
        let transition = entry_json(record).map_err(ReadError::from)?;
        let key = match records.first() {
            Some(it) => it.entry().map_err(ReadError::from)?.key,
            None => None,
        };
        let ignored = key.as_ref().map_or(&[][..], |it| &it.ignored);
        let moving = Moving { success: true, entity, transition, replayed: true, ignored, dry_run: false };
        let (body, created) = (moving.written()?, is_creation(entry));
        Ok(Done { body, created, entity: entry.entity.clone(), version, seq: last })
    })
    .await
}
