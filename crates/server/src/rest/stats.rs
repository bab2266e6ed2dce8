//! Statistics: counts and durations by state.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_engine::Law;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_protocol::{DwellBody, OpenRunsBody, Problem, StatsBody, StatsReply, ThroughputBody};
use trackside_runtime::ReadError;
use trackside_runtime::read::{Reads, Stats};
use utoipa::IntoParams;

use super::Parameters;
use super::runs::open_runs;
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
    responses((status = 200, body = StatsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn stats(
    State(app): State<App>,
    caller: Caller,
    Parameters(query): Parameters<StatsQuery>,
) -> Result<Json<StatsReply>, Refused> {
    let law = app.runtime.law();
    if let Some(lifecycle) = query.lifecycle.as_deref().filter(|it| is_own(&Name::new(it)))
        && !caller.identity.is_admin()
    {
        return Err(Refused::new(Code::UnknownLifecycle, format!("There is no lifecycle {lifecycle}")));
    }
    let sees_restricted = caller.is_monitor();
    if let Some(lifecycle) = query.lifecycle.as_deref()
        && !sees_restricted
        && is_guarded(&law, &Name::new(lifecycle))
    {
        let detail = format!(
            "Reading {lifecycle} is restricted, so its statistics are only for people with role admin and for systems"
        );
        return Err(Refused::forbidden(detail, "human and admin, or system"));
    }
    let reply = app.read(move |reads| {
        let runs = open_runs(reads)?;
        let body = |lifecycle: &Name| {
            stats_body(reads, lifecycle, runs.get(lifecycle.as_str()).copied().unwrap_or_default())
        };
        match &query.lifecycle {
            Some(lifecycle) => Ok(StatsReply::One(Box::new(body(&Name::new(lifecycle))?))),
            None => {
                let shown = law.lifecycle_names().iter().filter(|it| !is_own(it));
                let shown = shown.filter(|it| sees_restricted || !is_guarded(&law, it));
                let items = shown.map(body).collect::<Result<Vec<_>, _>>()?;
                Ok(StatsReply::All { items, next_cursor: None })
            }
        }
    });
    Ok(Json(reply.await?))
}

/// Whether reading a lifecycle is restricted: then its counts are, too.
pub(crate) fn is_guarded(law: &Law, lifecycle: &Name) -> bool {
    law.definitions(lifecycle).iter().any(|it| it.read.is_some())
}

fn stats_body(reads: &Reads, lifecycle: &Name, runs: OpenRunsBody) -> Result<StatsBody, ReadError> {
    let stats: Stats = reads.stats(lifecycle)?;
    let dwell = |state: &Name| {
        let lengths = stats.lengths(state)?;
        let seconds = |ms: i64| ms as f64 / 1_000.0;
        Some(DwellBody {
            count: lengths.count,
            mean: seconds(lengths.mean),
            p50: seconds(lengths.p50),
            p90: seconds(lengths.p90),
            p99: seconds(lengths.p99),
        })
    };
    let throughput = &stats.throughput;
    Ok(StatsBody {
        lifecycle: lifecycle.clone(),
        states: stats.states.iter().map(|(state, count)| (state.to_string(), *count)).collect(),
        time_in_state: stats.stays.keys().filter_map(|it| Some((it.to_string(), dwell(it)?))).collect(),
        throughput: ThroughputBody {
            last_minute: throughput.last_minute,
            last_hour: throughput.last_hour,
            since_start: throughput.since_start,
            counted_from: throughput.counted_from.map(|it| it.to_string()),
        },
        refusals: stats.refusals.iter().map(|(code, count)| (code.to_string(), *count)).collect(),
        started_at: stats.started_at.map(|it| it.to_string()),
        runs,
    })
}
