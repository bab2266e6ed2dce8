//! Deletes transcripts: those of runs that ended long ago, and the oldest ones when there are too many.

use std::time::Duration;

use tracing::{error, info};
use trackside_engine::decide::FLEET;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use crate::app::App;
use crate::problem::Refused;
use crate::rest::{runs, transcripts};

/// How often project time is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Project time between two passes.
const BETWEEN: Span = Span(60_000);

/// Deletes until the server stops. Follows project time, so a manual clock counts.
pub(crate) async fn run(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut last: Option<Timestamp> = None;
    loop {
        let now = app.reads.now();
        if last.is_none_or(|it| now.since(it) >= BETWEEN) {
            last = Some(now);
            let passed = app.blocking(move |app| Ok::<_, Refused>(delete_old(app, now))).await;
            match passed {
                Ok(Ok(0)) | Err(_) => {}
                Ok(Ok(deleted)) => info!(deleted, "old transcripts are deleted"),
                Ok(Err(why)) => error!(why, "old transcripts cannot be deleted"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
    }
}

/// Deletes what is due, and returns the number of transcripts.
fn delete_old(app: &App, now: Timestamp) -> Result<usize, String> {
    let keep = app.setting(FLEET, "keepTranscripts").as_span();
    let mut deleted = 0;
    // Ended runs with their ends.
    let mut kept: Vec<(Timestamp, String)> = Vec::new();
    for run in app.transcripts.runs().map_err(|it| it.to_string())? {
        let key = EntityKey::new(runs::RUN, run.as_str());
        let entity = app.reads.entity(&key).map_err(|it| it.to_string())?;
        let end = match &entity {
            // The run was erased.
            None => Some(Timestamp(i64::MIN)),
            Some(entity) => entity.fields.get("endedAt").and_then(Value::as_time),
        };
        let Some(end) = end else { continue };
        if entity.is_none() || keep.is_some_and(|keep| end.plus(keep) <= now) {
            app.transcripts.remove(&run).map_err(|it| it.to_string())?;
            deleted += 1;
        } else {
            kept.push((end, run));
        }
    }
    kept.sort();
    let most = transcripts::limits(app).all;
    // Room for running agents: the oldest ones go before the limit is reached.
    let mut oldest = kept.into_iter();
    while app.transcripts.bytes() > most / 10 * 9
        && let Some((_, run)) = oldest.next()
    {
        app.transcripts.remove(&run).map_err(|it| it.to_string())?;
        deleted += 1;
    }
    Ok(deleted)
}
