//! Requests that are turned down: one form for all of them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use trackside_engine::refusal::Refusal;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Problem, Unmet};
use trackside_runtime::{Failure, ReadError};

/// Why a request is turned down.
#[derive(Clone, Debug)]
pub(crate) struct Refused(pub Box<Problem>);

/// The code of a refusal, for whoever looks at the answer on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Code(pub String);

impl Refused {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(status.as_u16(), code, detail)))
    }

    pub fn shape(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-body", detail)
    }

    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let mut refused = Self::new(StatusCode::BAD_REQUEST, "invalid-parameter", detail);
        if let Some(unmet) = refused.0.errors.first_mut() {
            unmet.field = Some(name.to_owned());
        }
        refused
    }

    pub fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    pub fn forbidden(detail: impl Into<String>, who: &str) -> Self {
        let mut refused = Self::new(StatusCode::FORBIDDEN, "not-permitted", detail);
        refused.0.who = Some(who.to_owned());
        refused
    }

    pub fn unknown(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// Something of ours broke. Why is for the log, beside the name of the request, and for nobody else.
    pub fn broken(why: impl std::fmt::Display) -> Self {
        crate::watch::broke(&why.to_string());
        let detail = "Something in the server broke; it is in its log. Nothing of the request is known to have been done";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

/// The status under which a refusal of the engine is told.
fn status(code: &str) -> StatusCode {
    match code {
        "already-exists"
        | "idempotency-conflict"
        | "stale-fence"
        | "lease-held"
        | "effect-settled"
        | "alert-resolved" => StatusCode::CONFLICT,
        "version-mismatch" => StatusCode::PRECONDITION_FAILED,
        "not-permitted" | "gate-closed" => StatusCode::FORBIDDEN,
        "unknown-entity" | "unknown-lifecycle" | "unknown-pack" => StatusCode::NOT_FOUND,
        "invalid-id" => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// A refusal of the engine as it goes over the wire.
pub fn problem_of(refusal: &Refusal) -> Problem {
    *Refused::from(refusal).0
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        let mut problem = Problem::new(status(refusal.code).as_u16(), refusal.code, refusal.detail.clone());
        let text = |it: &Name| it.to_string();
        problem.errors = refusal
            .errors
            .iter()
            .map(|it| Unmet {
                field: it.field.as_ref().map(text),
                message: it.message.clone(),
                code: it.code.to_owned(),
                rule: it.rule.as_ref().map(text),
                saw: it.saw.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            })
            .collect();
        problem.allowed_transitions = refusal.allowed.iter().map(text).collect();
        problem.who.clone_from(&refusal.who);
        problem.kept = refusal.kept.is_some();
        Self(Box::new(problem))
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let (status, code) = match failure {
            Failure::Overloaded(_) => (StatusCode::TOO_MANY_REQUESTS, "overloaded"),
            Failure::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Failure::Archived { .. } => (StatusCode::GONE, "archived"),
            Failure::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        };
        Self::new(status, code, failure.to_string())
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        let status = match &error {
            ReadError::Failure(failure) => return failure.clone().into(),
            ReadError::UnknownLifecycle { .. }
            | ReadError::UnknownPack { .. }
            | ReadError::UnknownEntity(_)
            | ReadError::UnknownEntry(_) => StatusCode::NOT_FOUND,
            ReadError::Cursor(_) => StatusCode::BAD_REQUEST,
            ReadError::EntryArchived(_) => StatusCode::GONE,
            ReadError::UnknownState { .. }
            | ReadError::Query(_)
            | ReadError::Where(_)
            | ReadError::TooExpensive { .. }
            | ReadError::TooFar(_)
            | ReadError::NotYet { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.code(), error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&*self.0).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        response.extensions_mut().insert(Code(self.0.code));
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::watch::{Current, during};

    #[tokio::test]
    async fn why_something_broke_is_noted_for_the_log_and_not_told() {
        let current = Arc::<Current>::default();
        let refused = during(Some(current.clone()), async { Refused::broken("the disk is gone") }).await;
        assert_eq!(current.broke.get().map(String::as_str), Some("the disk is gone"));
        let told = serde_json::to_string(&*refused.0).unwrap();
        assert!(told.contains("it is in its log") && !told.contains("disk"), "{told}");
        // What waits on a thread of its own is done for the same request.
        let other = Arc::<Current>::default();
        let noted = other.clone();
        std::thread::spawn(move || noted.on_this_thread(|| Refused::broken("no memory"))).join().unwrap();
        assert_eq!(other.broke.get().map(String::as_str), Some("no memory"));
    }
}
