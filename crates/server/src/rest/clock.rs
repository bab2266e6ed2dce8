//! The clock of the project.

use axum::Json;
use axum::extract::State;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{
    Advance, Clock, ClockCorrected, CorrectClock, CorrectionDirection, Problem, ProblemCode,
};
use trackside_runtime::{ClockCorrection, ClockDirection, Failure};

use super::Body;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::telemetry::{current, during};

/// The longest reason for a correction, in characters.
const LONGEST_REASON: usize = 2_000;

/// Shows the time.
#[utoipa::path(
    get, path = "/v1/clock", tag = "clock", operation_id = "clock",
    responses((status = 200, body = Clock), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(State(app): State<App>, _: Caller) -> Json<Clock> {
    Json(clock_body(&app, app.reads.now()))
}

fn clock_body(app: &App, now: Timestamp) -> Clock {
    let clock = if app.runtime.options().clock.is_manual() { "manual" } else { "system" };
    let machine = app.runtime.options().clock.machine_time().map(|it| it.to_string());
    let alarm = app.runtime.clock_alarm().map(|it| it.to_string());
    Clock { now: now.to_string(), clock: clock.to_owned(), machine, alarm }
}

/// Moves the manual clock and fires everything due, in order.
#[utoipa::path(
    post, path = "/v1/clock/advance", tag = "clock", operation_id = "advanceClock",
    params(super::KeyHeader), request_body = Advance,
    responses((status = 200, body = Clock), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn advance(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<Advance>,
) -> Result<Json<Clock>, Refused> {
    if !app.runtime.options().clock.is_manual() {
        let detail = "This server uses the system clock. Start it with `--clock manual` to move the clock";
        return Err(Refused::new(ProblemCode::ClockNotManual, detail));
    }
    caller.must_be_admin("move the clock")?;
    move_it(&app, &body).await.map(Json)
}

/// Moves project time to the machine's clock after a jump. Forward: timers that become due fire. Back: timers that were
/// started after the new time are moved back by the same span.
#[utoipa::path(
    post, path = "/v1/clock/correct", tag = "clock", operation_id = "correctClock",
    params(super::KeyHeader), request_body = CorrectClock,
    responses((status = 200, body = ClockCorrected), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn correct(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<CorrectClock>,
) -> Result<Json<ClockCorrected>, Refused> {
    caller.must_be_admin("correct the project's clock")?;
    if body.reason.as_ref().is_some_and(|it| it.chars().count() > LONGEST_REASON) {
        return Err(Refused::shape(format!("`reason` may have {LONGEST_REASON} characters at most")));
    }
    let direction = match body.direction {
        CorrectionDirection::Forward => ClockDirection::Forward,
        CorrectionDirection::Back => ClockDirection::Back,
    };
    match app.gateway.correct_clock(direction, caller.by(), body.reason)?.await? {
        ClockCorrection::Moved { from, to, moved, unmoved } => {
            Ok(Json(ClockCorrected { from: from.to_string(), to: to.to_string(), moved, unmoved }))
        }
        ClockCorrection::Refused(why) => Err(Refused::new(ProblemCode::ClockNotCorrected, why)),
    }
}

async fn move_it(app: &App, body: &Advance) -> Result<Clock, Refused> {
    let moving = match (&body.by, &body.to) {
        (Some(by), None) => {
            let span = Span::parse(by).filter(|it| it.0 >= 0);
            let span = span.ok_or_else(|| {
                Refused::shape("`by` must be a duration such as `90s`, `15m`, `24h` or `7d`")
            })?;
            must_be_near(app, app.reads.now().plus(span))?;
            // Added by the decider, one move after the other.
            app.gateway.advance_by(span)?
        }
        (None, Some(to)) => {
            let to = Timestamp::parse(to)
                .ok_or_else(|| Refused::shape("`to` must be a time such as `2026-01-01T00:00:00Z`"))?;
            if to < app.reads.now() {
                let detail = format!("The clock is at {} and cannot move back to {to}", app.reads.now());
                return Err(Refused::new(ProblemCode::InThePast, detail));
            }
            must_be_near(app, to)?;
            app.gateway.advance(to)?
        }
        _ => return Err(Refused::shape("Send `by` (a duration) or `to` (a time)")),
    };
    // Runs to the end and is recorded even if the client disconnects.
    let moving = (moving, app.clone());
    let now = tokio::spawn(during(current(), async move {
        let (moving, app) = moving;
        let now = moving.await?;
        app.blocking(store_clock).await?;
        Ok::<_, Refused>(now)
    }));
    Ok(clock_body(app, now.await.map_err(Refused::broken)??))
}

/// Stores the new time, so that the next start continues from it even if nothing fired.
fn store_clock(app: &App) -> Result<(), Refused> {
    let folder = &app.options.data;
    app.runtime.options().clock.note(folder).map_err(|error| {
        let why = format!(
            "The clock was moved, but the new time could not be written to {}: {error}",
            folder.display()
        );
        Failure::Unavailable(why).into()
    })
}

/// Limits one move, because commands wait until everything due has fired.
fn must_be_near(app: &App, to: Timestamp) -> Result<(), Refused> {
    let (now, most) = (app.reads.now(), app.options.limits.advance);
    if !to.is_date() {
        let detail = format!("The clock is at {now} and cannot move beyond the year 9999");
        return Err(Refused::new(ProblemCode::TooFar, detail));
    }
    if to.since(now) <= most {
        return Ok(());
    }
    let detail = format!(
        "The clock can move at most {most} at once, to {}. Move it to {to} in several steps",
        now.plus(most)
    );
    Err(Refused::new(ProblemCode::TooFar, detail))
}
