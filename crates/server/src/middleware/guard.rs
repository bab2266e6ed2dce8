//! The outermost layer, around every request.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::normalize::{as_problem, buffer_small_body};
use trackside_protocol::ProblemCode;

use crate::app::App;
use crate::connections::Timely;
use crate::problem::Refused;
use crate::request_id;
use crate::routes::{RouteTraits, matched};
use crate::sign_on::apply_proxy;

/// Wraps every request: checks its host, limits its time, logs and traces it, and sets the headers of its answer.
pub(crate) async fn guard(
    State((app, routes)): State<(App, Arc<RouteTraits>)>,
    mut request: Request,
    next: Next,
) -> Response {
    apply_proxy(&app.options.proxy, &mut request);
    let id = request_id::of(&request);
    let watched = app.telemetry.begin(&request, id.as_ref());
    let mut answer = watched.during(run_guarded(&app, &routes, request, next)).await;
    answer = with_headers(as_problem(answer));
    request_id::echo(&mut answer, id);
    app.telemetry.end(watched, &answer);
    answer
}

async fn run_guarded(app: &App, routes: &RouteTraits, request: Request, next: Next) -> Response {
    if !is_ours(app, &request) {
        let detail = "This server accepts loopback names, its own address, and hosts given with --host";
        return Refused::new(ProblemCode::ForeignHost, detail).into_response();
    }
    let limit = Duration::from_secs(app.limits().seconds);
    let request = Timely::within(request, tokio::time::Instant::now() + limit);
    let takes_long = routes.is_long(&matched(request.extensions()));
    let too_long = |_| {
        let detail = "Timed out. With an idempotency key it is safe to repeat the request";
        Refused::new(ProblemCode::Timeout, detail).into_response()
    };
    let checked = async { routes.requests.check(app, buffer_small_body(request).await?).await };
    let request = match tokio::time::timeout(limit, checked).await.map_err(too_long).flatten() {
        Ok(request) => request,
        Err(refused) => return refused,
    };
    let answer = match takes_long {
        true => next.run(request).await,
        false => tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(too_long),
    };
    let current = crate::telemetry::current();
    app.large_answers.send(current.as_ref().and_then(|it| it.actor.get()), answer)
}

/// Headers of every answer.
fn with_headers(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'self'; frame-ancestors 'none'"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Whether the requested host is ours. Prevents DNS rebinding, where a foreign name resolves to this server.
fn is_ours(app: &App, request: &Request) -> bool {
    let host = request.headers().get(header::HOST).and_then(|it| it.to_str().ok());
    let Some(host) = host.or_else(|| request.uri().authority().map(|it| it.as_str())) else { return false };
    is_our_name(app, host)
}

/// The name or address in a `Host`, in lower case and without the port; none if it is not well-formed.
fn host_name(host: &str) -> Option<String> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, port)
        }
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_of_name = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_');
            (name, Some(port).filter(|_| !name.is_empty() && name.bytes().all(is_of_name))?)
        }
    };
    let is_port = |it: &str| it.parse::<u16>().is_ok() && it.bytes().all(|it| it.is_ascii_digit());
    let is_good = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    is_good.then(|| name.to_ascii_lowercase())
}

/// Whether a host, with or without a port, is ours.
pub(crate) fn is_our_name(app: &App, host: &str) -> bool {
    let Some(name) = host_name(host) else { return false };
    // A foreign page cannot make an IP address resolve to this server.
    let is_where_we_listen = || {
        let ip = name.parse::<IpAddr>().ok();
        ip.is_some() && ip == app.listens.get().map(SocketAddr::ip)
    };
    matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1")
        || is_where_we_listen()
        || app.options.hosts.iter().any(|it| it.eq_ignore_ascii_case(&name))
}
