//! Statistics: counts and durations by state.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trackside_engine::Law;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_protocol::Problem;
use trackside_runtime::ReadError;
use trackside_runtime::read::{Reads, Stats};
use utoipa::IntoParams;

use super::Parameters;
use crate::app::App;
use crate::auth::{Caller, is_own};
use crate::problem::Refused;

#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsQuery {
    /// Only this lifecycle.
    lifecycle: Option<String>,
}

/// Shows statistics of one lifecycle, or of all.
#[utoipa::path(
    get, path = "/v1/stats", tag = "journal", operation_id = "stats",
    params(StatsQuery),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn stats(
    State(app): State<App>,
    caller: Caller,
    Parameters(query): Parameters<StatsQuery>,
) -> Result<Json<Value>, Refused> {
    let law = app.runtime.law();
    if let Some(lifecycle) = query.lifecycle.as_deref().filter(|it| is_own(&Name::new(it)))
        && !caller.identity.is_admin()
    {
        return Err(Refused::new(Code::UnknownLifecycle, format!("There is no lifecycle {lifecycle}")));
    }
    let is_told = caller.is_monitor();
    if let Some(lifecycle) = query.lifecycle.as_deref()
        && !is_told
        && is_guarded(&law, &Name::new(lifecycle))
    {
        let detail = format!(
            "Reading {lifecycle} is restricted, so its statistics are only for people with role admin and for systems"
        );
        return Err(Refused::forbidden(detail, "human and admin, or system"));
    }
    let told = app.read(move |reads| match &query.lifecycle {
        Some(lifecycle) => Ok(of(reads, &Name::new(lifecycle))?),
        None => {
            let shown = law.lifecycle_names().iter().filter(|it| !is_own(it));
            let shown = shown.filter(|it| is_told || !is_guarded(&law, it));
            let items = shown.map(|it| of(reads, it)).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({ "items": items, "nextCursor": null }))
        }
    });
    Ok(Json(told.await?))
}

/// Whether reading a lifecycle is restricted: then its counts are, too.
pub(crate) fn is_guarded(law: &Law, lifecycle: &Name) -> bool {
    law.definitions(lifecycle).iter().any(|it| it.read.is_some())
}

fn of(reads: &Reads, lifecycle: &Name) -> Result<Value, ReadError> {
    let stats: Stats = reads.stats(lifecycle)?;
    let seconds = |ms: i64| ms as f64 / 1_000.0;
    let stays: Map<String, Value> = stats
        .stays
        .keys()
        .filter_map(|state| {
            let it = stats.lengths(state)?;
            let told = json!({
                "count": it.count, "mean": seconds(it.mean), "p50": seconds(it.p50),
                "p90": seconds(it.p90), "p99": seconds(it.p99),
            });
            Some((state.to_string(), told))
        })
        .collect();
    let mut throughput = json!({
        "lastMinute": stats.throughput.last_minute, "lastHour": stats.throughput.last_hour,
        "sinceStart": stats.throughput.since_start,
    });
    if let (Some(from), Some(told)) = (stats.throughput.counted_from, throughput.as_object_mut()) {
        told.insert("countedFrom".to_owned(), json!(from.to_string()));
    }
    Ok(json!({
        "lifecycle": lifecycle, "states": stats.states, "timeInState": stays, "throughput": throughput,
        "refusals": stats.refusals, "startedAt": stats.started_at.map(|it| it.to_string()),
    }))
}
