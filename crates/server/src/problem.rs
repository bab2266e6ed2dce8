//! Refused requests, in the form of RFC 9457 problems.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use trackside_engine::refusal::{Code, Refusal};
use trackside_protocol::{Problem, ProblemCode, UnmetBody};
use trackside_runtime::{Failure, ReadError};

/// A refused request.
#[derive(Clone, Debug)]
pub(crate) struct Refused(pub Box<Problem>, Option<Duration>);

/// The code of a problem, as an extension of its response: middleware logs and counts it.
#[derive(Clone, Debug)]
pub(crate) struct AnswerCode(pub String);

impl Refused {
    pub fn new(code: impl Into<ProblemCode>, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)), None)
    }

    /// Sets when a repeated request can succeed.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.1 = Some(wait);
        self
    }

    /// Sets another status than that of its code.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status.as_u16();
        self
    }

    pub fn shape(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::InvalidBody, detail)
    }

    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let mut refused = Self::new(ProblemCode::InvalidParameter, detail);
        if let Some(unmet) = refused.0.errors.first_mut() {
            unmet.field = Some(name.to_owned());
        }
        refused
    }

    pub fn unauthorized(detail: &str) -> Self {
        Self::new(ProblemCode::Unauthorized, detail)
    }

    pub fn forbidden(detail: impl Into<String>, who: &str) -> Self {
        let mut refused = Self::new(Code::NotPermitted, detail);
        refused.0.who = Some(who.to_owned());
        refused
    }

    /// An internal failure. The reason is logged with the request id, and not sent to the client.
    pub fn broken(why: impl std::fmt::Display) -> Self {
        crate::telemetry::broke(&why.to_string());
        let detail =
            "Internal error; the server's log has the reason. The request may or may not have taken effect";
        Self::new(ProblemCode::Internal, detail)
    }
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        Self(Box::new(refusal.into()), None)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let code = match failure {
            Failure::Overloaded(_) => ProblemCode::Overloaded,
            Failure::Unavailable(_) => ProblemCode::Unavailable,
            Failure::NoSpace(_) => ProblemCode::NoSpace,
            Failure::Archived { .. } | Failure::ArchiveFile(_) => {
                return Self::new(Code::Archived, failure.to_string()).with_status(StatusCode::GONE);
            }
            Failure::Stopped => ProblemCode::Stopping,
        };
        Self::new(code, failure.to_string())
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        let detail = error.to_string();
        match error {
            ReadError::Failure(failure) => failure.into(),
            ReadError::UnknownLifecycle { .. } => Self::new(Code::UnknownLifecycle, detail),
            ReadError::UnknownPack { .. } => Self::new(Code::UnknownPack, detail),
            ReadError::UnknownEntity(_) => Self::new(Code::UnknownEntity, detail),
            ReadError::UnknownState { .. } => Self::new(Code::UnknownState, detail),
            ReadError::NotObserver { who, .. } => Self::forbidden(detail, &who),
            ReadError::UnknownEntry(_) => Self::new(ProblemCode::UnknownEntry, detail),
            ReadError::Cursor(_) => Self::new(ProblemCode::InvalidCursor, detail),
            ReadError::EntryArchived(_) => Self::new(Code::Archived, detail).with_status(StatusCode::GONE),
            ReadError::Query(_) => Self::new(ProblemCode::InvalidQuery, detail),
            ReadError::Where(_) => Self::new(ProblemCode::InvalidWhere, detail),
            ReadError::TooExpensive { reached: Some(cursor), .. } => {
                let detail = format!("{detail} Continue with cursor={cursor}");
                let mut refused = Self::new(ProblemCode::TooExpensive, detail.clone());
                refused.0.errors.push(UnmetBody {
                    field: None,
                    message: detail,
                    code: ProblemCode::TooExpensive.as_str().to_owned(),
                    rule: None,
                    saw: [("nextCursor".to_owned(), cursor.into())].into(),
                });
                refused
            }
            ReadError::TooExpensive { reached: None, .. } | ReadError::TooFar(_) => {
                Self::new(ProblemCode::TooExpensive, detail)
            }
            ReadError::NotYet { .. } => Self::new(ProblemCode::NotYet, detail),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&*self.0).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        response.extensions_mut().insert(AnswerCode(self.0.code));
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            let seconds = self.1.map_or(1, |it| it.as_secs_f64().ceil().max(1.0) as u64);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::{RequestContext, during};

    #[tokio::test]
    async fn the_cause_of_a_fault_is_logged_and_not_returned() {
        let current = Arc::<RequestContext>::default();
        let refused = during(Some(current.clone()), async { Refused::broken("the disk is gone") }).await;
        assert_eq!(current.broke.get().map(String::as_str), Some("the disk is gone"));
        let told = serde_json::to_string(&*refused.0).unwrap();
        assert!(told.contains("log has the reason") && !told.contains("disk"), "{told}");
        // Blocking work belongs to the same request.
        let other = Arc::<RequestContext>::default();
        let noted = other.clone();
        std::thread::spawn(move || noted.on_this_thread(|| Refused::broken("no memory"))).join().unwrap();
        assert_eq!(other.broke.get().map(String::as_str), Some("no memory"));
    }
}
