//! Puts requests and answers into one form: small bodies are read before anything else, and every refusal is a problem.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::page::PAGE;
use crate::problem::Refused;
use trackside_protocol::ProblemCode;

/// Bodies up to this are read before anything else.
const SMALL: usize = 64 * 1024;

/// Reads a small body to its end. A connection with unread data is closed, and a client that is still sending may then
/// never see why it was refused.
pub(crate) async fn buffer_small_body(request: Request) -> Result<Request, Response> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    let length = length.and_then(|it| it.parse::<usize>().ok());
    if !length.is_some_and(|it| (1..=SMALL).contains(&it)) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    match to_bytes(body, SMALL).await {
        Ok(bytes) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Err(_) => Err(Refused::shape("The body could not be read. Send it again").into_response()),
    }
}

/// Turns a refusal of axum or hyper into a problem.
pub(crate) fn as_problem(answer: Response) -> Response {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    // JSON errors are those of MCP; pages are for people.
    let has_form = matches!(kind, Some("application/problem+json" | "application/json" | PAGE));
    if !status.is_client_error() || has_form {
        return answer;
    }
    let detail = "Malformed request. Check the path and parameters against /openapi.json";
    Refused::new(ProblemCode::InvalidRequest, detail).with_status(status).into_response()
}
