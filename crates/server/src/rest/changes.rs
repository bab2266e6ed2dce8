//! Changes of the work on an entity: reported by runners, read as a diff. Their records are the pack `fleet`.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, id_from_text};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    ChangeArtifact, ChangeSummaryBody, DiffBody, Problem, ProblemCode, ReportChange, ReportedBody, WorkChange,
};
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{BatchAnswer, BatchVerdict, CommandAnswer, ReadError, Reads};
use trackside_store::Artifacts;
use utoipa::IntoParams;

use super::commands::{CommandSpan, hand_in_batch};
use super::worktrees::{must_report, worktree_of};
use super::{CommandHeaders, Parameters, Required, command, submit, under};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The lifecycle of changes.
const CHANGE: &str = "fleet.change";
/// Most reported changes of one entity that are read.
const MOST_CHANGES: usize = 1_000;
/// Characters of a commit in the id of a record.
const SHORT: usize = 16;
/// Fewest characters by which a commit is named.
const FEWEST: usize = 4;

/// Reports what changed between two commits of the work on an entity. Store the artifact first.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/changes", tag = "worktrees", operation_id = "reportChange",
    params(("lifecycle" = String, Path), ("id" = String, Path), super::KeyHeader),
    request_body = ReportChange,
    responses((status = 200, body = ReportedBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    headers: CommandHeaders,
    Required(body): Required<ReportChange>,
) -> Result<Json<ReportedBody>, Refused> {
    must_report(&caller)?;
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let entity = app.read(move |reads| reads.readable(&key, &actor)).await?.key.clone();
    let artifact = body.artifact.clone();
    let change = app.blocking(move |app| stored_change(app, &artifact)).await?;
    if (change.base.as_str(), change.head.as_str()) != (body.from.as_str(), body.to.as_str()) {
        let detail = format!(
            "Artifact {} is the change from {} to {}, not from {} to {}: name the commits of the artifact",
            body.artifact, change.base, change.head, body.from, body.to
        );
        return Err(Refused::parameter("artifact", detail));
    }
    let short = |it: &str| it.chars().take(SHORT).collect::<String>();
    let record = id_from_text(&format!("{entity}.{}.{}", short(&body.from), short(&body.to)), false);
    let record = EntityKey::new(CHANGE, record.as_str());
    let count = |it: u64| Value::Int(i64::try_from(it).unwrap_or(i64::MAX));
    let fields = [
        ("entity", Value::text(&entity.to_string())),
        ("from", Value::text(&body.from)),
        ("to", Value::text(&body.to)),
        ("artifact", Value::text(&body.artifact)),
        ("files", count(body.files)),
        ("additions", count(body.additions)),
        ("deletions", count(body.deletions)),
    ];
    let fields = fields.into_iter().map(|(name, value)| (Name::new(name), value)).collect();
    put_record(&app, &caller, &headers, record, "replace", fields, None).await.map(Json)
}

/// Creates a record, or updates the one that is there with an event. A further event of the entity is in the same commit.
pub(super) async fn put_record(
    app: &App,
    caller: &Caller,
    headers: &CommandHeaders,
    record: EntityKey,
    event: &str,
    fields: Fields,
    then: Option<Fire>,
) -> Result<ReportedBody, Refused> {
    let wanted = record.clone();
    let exists = app.read(move |reads| Ok(reads.entity(&wanted)?.is_some())).await?;
    let (entity, what) = (record.clone(), TransitionRef::Event(Name::new(event)));
    // The lifecycles of the records update one that was created meanwhile.
    let ask = match exists {
        true => Ask::Fire(Fire { entity, what, fields, fence: None, if_version: None }),
        false => Ask::Create { entity, fields },
    };
    // The key belongs to the request: repeated, it becomes another command, as the record exists by then.
    let plain = |ask: Ask| command(caller, &CommandHeaders::default(), ask, None);
    let mut first = plain(ask);
    // Agents, runners among them, do not read the record. The caller may report and sees the entity, so the server writes it.
    if first.actor.kind == ActorKind::Agent {
        first.actor.kind = ActorKind::System;
    }
    let Some(then) = then else {
        return reported(record, submit(app, under(headers.used.as_ref(), None, first)).await?);
    };
    let second = plain(Ask::Fire(then));
    let (first, second) =
        (under(headers.used.as_ref(), Some(0), first), under(headers.used.as_ref(), Some(1), second));
    let (pending, spans) = hand_in_batch(app, vec![first.clone(), second])?;
    let answer = pending.await;
    spans.into_iter().for_each(CommandSpan::end);
    match answer? {
        BatchAnswer::Done(answers) => match answers.into_iter().next() {
            Some(answer) => reported(record, answer),
            None => Err(Refused::broken("a batch has no answer")),
        },
        // The event is not possible now: the report counts without it.
        BatchAnswer::Refused(verdicts) if matches!(verdicts.first(), Some(BatchVerdict::Passed)) => {
            reported(record, submit(app, first).await?)
        }
        BatchAnswer::Refused(verdicts) => {
            let refusal = verdicts.iter().find_map(|it| match it {
                BatchVerdict::Refused(refusal) => Some((&**refusal).into()),
                BatchVerdict::Passed => None,
            });
            Err(refusal.unwrap_or_else(|| Refused::broken("a batch was refused without a reason")))
        }
    }
}

/// The answer to a report.
pub(super) fn reported(record: EntityKey, answer: CommandAnswer) -> Result<ReportedBody, Refused> {
    let (seq, replayed) = match answer {
        CommandAnswer::Refused(refusal) => return Err((&*refusal).into()),
        CommandAnswer::Accepted(accepted) => (accepted.entry().map_or(0, |it| it.seq), false),
        CommandAnswer::Replayed { first, .. } => (first, true),
    };
    Ok(ReportedBody { success: true, lifecycle: record.lifecycle, id: record.id, seq, replayed })
}

/// The change in an artifact.
fn stored_change(app: &App, id: &str) -> Result<ChangeArtifact, Refused> {
    let content = match Artifacts::is_id(id) {
        true => {
            Artifacts::of(&app.options.data).get(id).map_err(|error| super::artifacts::unavailable(&error))?
        }
        false => {
            return Err(Refused::parameter(
                "artifact",
                "An artifact is named by the SHA-256 of its content: 64 lower-case hexadecimal digits",
            ));
        }
    };
    let Some(content) = content else {
        let detail = format!("There is no artifact {id}. Store it with PUT /v1/artifacts/{id}");
        return Err(Refused::new(ProblemCode::UnknownArtifact, detail));
    };
    serde_json::from_slice(&content)
        .map_err(|error| Refused::parameter("artifact", format!("Artifact {id} is not a change: {error}")))
}

/// Parameters of a diff.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffQuery {
    /// The commit before the change, or its first characters. Default: the base of the worktree.
    #[param(min_length = 4)]
    from: Option<String>,
    /// The commit with the change, or its first characters. Default: the one that was reported last.
    #[param(min_length = 4)]
    to: Option<String>,
}

/// Shows what changed in the work on an entity: files, hunks and figures.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/diff", tag = "worktrees", operation_id = "diff",
    params(("lifecycle" = String, Path), ("id" = String, Path), DiffQuery),
    responses((status = 200, body = DiffBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn diff(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(asked): Parameters<DiffQuery>,
) -> Result<Json<DiffBody>, Refused> {
    for (name, commit) in [("from", &asked.from), ("to", &asked.to)] {
        if commit.as_ref().is_some_and(|it| it.chars().count() < FEWEST) {
            return Err(Refused::parameter(
                name,
                format!("{name} needs at least {FEWEST} characters of a commit"),
            ));
        }
    }
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let (entity, changes, base) = app
        .read(move |reads| {
            let entity = reads.readable(&key, &actor)?.key.clone();
            let base = worktree_of(reads, &entity)?.and_then(|it| it.fields.text("base").map(str::to_owned));
            Ok((entity.clone(), changes_of(reads, &entity)?, base))
        })
        .await?;
    let Some(change) = chosen(&changes, &asked, base.as_deref()).cloned() else {
        return Err(Refused::new(ProblemCode::UnknownChange, unknown_change(&entity, &changes, &asked)));
    };
    let artifact = change.artifact.clone();
    let found = app.blocking(move |app| stored_change(app, &artifact)).await?;
    Ok(Json(DiffBody {
        lifecycle: entity.lifecycle,
        id: entity.id,
        change,
        truncated: found.truncated,
        stats: found.stats,
        files: found.files,
        changes,
    }))
}

/// The changes that were reported for an entity, the oldest first. The caller may see the entity.
pub(super) fn changes_of(reads: &Reads, entity: &EntityKey) -> Result<Vec<ChangeSummaryBody>, ReadError> {
    let lifecycle = Name::new(CHANGE);
    let mut query = ListQuery::of(lifecycle.clone(), Actor::engine());
    let quoted = serde_json::to_string(&entity.to_string()).unwrap_or_default();
    query.filter = Some(reads.condition(&lifecycle, &format!("entity == {quoted}"))?);
    query.limit = MOST;
    let mut found = Vec::new();
    while found.len() < MOST_CHANGES {
        let listed = reads.list(&query)?;
        found.extend(listed.items);
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    found.sort_by(|one, other| (one.created_at, &one.key.id).cmp(&(other.created_at, &other.key.id)));
    Ok(found.iter().map(|it| summary(it)).collect())
}

fn summary(change: &Entity) -> ChangeSummaryBody {
    let text = |name: &str| change.fields.text(name).unwrap_or_default().to_owned();
    let count = |name: &str| change.fields.get(name).and_then(Value::as_int).unwrap_or_default();
    ChangeSummaryBody {
        from: text("from"),
        to: text("to"),
        at: change.created_at.to_string(),
        runner: change.fields.text("runner").map(str::to_owned),
        artifact: text("artifact"),
        files: count("files"),
        additions: count("additions"),
        deletions: count("deletions"),
    }
}

/// The change that is asked for. By default it ends at the commit that was reported last, and begins at the base of the
/// worktree, else where the first reported change begins.
pub(super) fn chosen<'a>(
    changes: &'a [ChangeSummaryBody],
    asked: &DiffQuery,
    base: Option<&str>,
) -> Option<&'a ChangeSummaryBody> {
    let is = |commit: &str, wanted: &Option<String>| {
        wanted.as_ref().is_none_or(|it| commit.to_ascii_lowercase().starts_with(&it.to_ascii_lowercase()))
    };
    let fitting: Vec<&ChangeSummaryBody> =
        changes.iter().filter(|it| is(&it.from, &asked.from) && is(&it.to, &asked.to)).collect();
    let last = fitting.last()?;
    let base = base.or(changes.first().map(|it| it.from.as_str()));
    let from_base = fitting.iter().find(|it| it.to == last.to && Some(it.from.as_str()) == base);
    from_base.or(Some(last)).copied()
}

/// The change that a reader sees by default, without its lines.
pub(super) fn latest_change(
    reads: &Reads,
    entity: &EntityKey,
    worktree: Option<&Entity>,
) -> Result<Option<WorkChange>, ReadError> {
    let changes = changes_of(reads, entity)?;
    let base = worktree.and_then(|it| it.fields.text("base"));
    let change = chosen(&changes, &DiffQuery::default(), base).cloned();
    Ok(change.map(|change| WorkChange {
        change,
        route: format!("/v1/entities/{entity}/diff"),
        command: format!("trackside changes {entity}"),
    }))
}

fn unknown_change(entity: &EntityKey, changes: &[ChangeSummaryBody], asked: &DiffQuery) -> String {
    if changes.is_empty() {
        return format!(
            "No change was reported for {entity}. A runner reports one when the work is handed in"
        );
    }
    let from = asked.from.as_ref().map(|it| format!(" from {it}")).unwrap_or_default();
    let to = asked.to.as_ref().map(|it| format!(" to {it}")).unwrap_or_default();
    let known: Vec<String> =
        changes.iter().rev().take(10).map(|it| format!("{}..{}", it.from, it.to)).collect();
    format!("No change{from}{to} was reported for {entity}. Reported, the latest first: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: &str, to: &str) -> ChangeSummaryBody {
        ChangeSummaryBody {
            from: from.to_owned(),
            to: to.to_owned(),
            at: String::new(),
            runner: None,
            artifact: String::new(),
            files: 0,
            additions: 0,
            deletions: 0,
        }
    }

    #[test]
    fn the_usual_change_is_from_the_base_to_the_last_commit() {
        let changes = [change("base", "one1"), change("base", "two2"), change("one1", "two2")];
        let find = |from: Option<&str>, to: Option<&str>, base: Option<&str>| {
            let asked = DiffQuery { from: from.map(str::to_owned), to: to.map(str::to_owned) };
            chosen(&changes, &asked, base).map(|it| (it.from.clone(), it.to.clone()))
        };
        let pair = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        assert_eq!(find(None, None, None), pair("base", "two2"));
        assert_eq!(find(None, None, Some("one1")), pair("one1", "two2"));
        // The base of a worktree that was moved since.
        assert_eq!(find(None, None, Some("none")), pair("one1", "two2"));
        assert_eq!(find(None, Some("ONE1"), None), pair("base", "one1"));
        assert_eq!(find(Some("one1"), None, None), pair("one1", "two2"));
        assert_eq!(find(Some("two2"), None, None), None);
    }
}
