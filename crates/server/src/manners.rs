//! What holds at the edge whatever is asked: a request is heard out before it is turned down, and a refusal has our form.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::page::PAGE;
use crate::problem::Refused;

/// Bodies up to this are read before anything else.
const SMALL: usize = 64 * 1024;

/// Reads a small body to its end.
///
/// A connection on which something is left unread is closed, and whoever is still sending then may never see
/// why it was turned down.
pub(crate) async fn heard_out(request: Request) -> Result<Request, Response> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    let length = length.and_then(|it| it.parse::<usize>().ok());
    if !length.is_some_and(|it| (1..=SMALL).contains(&it)) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    match to_bytes(body, SMALL).await {
        Ok(bytes) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Err(_) => Err(Refused::shape("The body could not be read: send it again").into_response()),
    }
}

/// A refusal of the tools we stand on, in our form.
pub(crate) fn in_our_form(answer: Response) -> Response {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    // What is JSON is the form of another protocol than HTTP alone, and a page is for people.
    let has_form = matches!(kind, Some("application/problem+json" | "application/json" | PAGE));
    if !status.is_client_error() || has_form {
        return answer;
    }
    let detail = "The request cannot be read: hold its path and parameters against /openapi.json";
    Refused::new(status, "invalid-request", detail).into_response()
}
