//! What time it is, and moving it where it is moved by hand.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{Advance, Clock, Problem};
use trackside_runtime::Failure;

use super::{Body, KeyUse, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::watch::{current, during};

/// What time it is.
#[utoipa::path(
    get, path = "/v1/clock", tag = "clock", operation_id = "clock",
    responses((status = 200, body = Clock), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(State(app): State<App>, _: Caller) -> Json<Clock> {
    Json(told(&app, app.reads.now()))
}

fn told(app: &App, now: Timestamp) -> Clock {
    let clock = if app.runtime.options().clock.is_manual() { "manual" } else { "system" };
    Clock { now: now.to_string(), clock: clock.to_owned() }
}

/// Moves the manual clock: fires what is due, in order.
#[utoipa::path(
    post, path = "/v1/clock/advance", tag = "clock", operation_id = "advanceClock",
    params(super::Keyed), request_body = Advance,
    responses((status = 200, body = Clock), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn advance(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Body(body): Body<Advance>,
) -> Result<Json<Value>, Refused> {
    if !app.runtime.options().clock.is_manual() {
        let detail =
            "This server goes by the machine's clock. Start one with `--clock manual` to move it by hand";
        return Err(Refused::new(StatusCode::CONFLICT, "clock-not-manual", detail));
    }
    caller.must_be_admin("move the clock")?;
    let used = KeyUse::of(&caller, &wanted, "/v1/clock/advance", &body);
    let moved = app.clone();
    answer_once(&app, used, async move { move_it(&moved, &body).await }).await
}

async fn move_it(app: &App, body: &Advance) -> Result<Clock, Refused> {
    let to = match (&body.by, &body.to) {
        (Some(by), None) => {
            let span = Span::parse(by).filter(|it| it.0 >= 0);
            let span =
                span.ok_or_else(|| Refused::shape("`by` is a span as in `90s`, `15m`, `24h`, `7d`"))?;
            app.reads.now().plus(span)
        }
        (None, Some(to)) => Timestamp::parse(to)
            .ok_or_else(|| Refused::shape("`to` is a time as in `2026-01-01T00:00:00Z`"))?,
        _ => return Err(Refused::shape("Say `by` (a span) or `to` (a time)")),
    };
    if to < app.reads.now() {
        let detail = format!("It is {} already, and the clock only goes on: {to} is over", app.reads.now());
        return Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "in-the-past", detail));
    }
    must_be_near(app, to)?;
    // It is moved to its end and noted, whoever stops waiting for it.
    let moving = (app.gateway.advance(to)?, app.clone());
    let now = tokio::spawn(during(current(), async move {
        let (moving, app) = moving;
        let now = moving.await?;
        app.blocking(noted).await?;
        Ok::<_, Refused>(now)
    }));
    Ok(told(app, now.await.map_err(Refused::broken)??))
}

/// The next start goes on from where it was moved to, also if nothing happened on the way.
fn noted(app: &App) -> Result<(), Refused> {
    let folder = &app.options.data;
    app.runtime.options().clock.note(folder).map_err(|error| {
        let why = format!(
            "The clock was moved, but where it stands could not be written to {}: {error}",
            folder.display()
        );
        Failure::Unavailable(why).into()
    })
}

/// Nobody is heard until all that becomes due on the way is done, so one move has a bound.
fn must_be_near(app: &App, to: Timestamp) -> Result<(), Refused> {
    let (now, most) = (app.reads.now(), app.options.limits.advance);
    if to.since(now) <= most {
        return Ok(());
    }
    let detail = format!(
        "The clock is moved at most {most} at once, which is to {}. Move it in several steps, if {to} is meant",
        now.plus(most)
    );
    Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "too-far", detail))
}
