//! Refuses query parameters and bodies that a route does not have, for every route in one place.
//!
//! The rules come from the OpenAPI description of the route, so no handler can forget the check.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{unknown_parameters, whole};
use crate::routes::matched;

/// What every route accepts, by its path pattern and method.
#[derive(Debug, Default)]
pub(crate) struct RequestRules(BTreeMap<(String, Method), OperationRules>);

/// What one operation accepts.
#[derive(Clone, Debug, Default)]
struct OperationRules {
    /// The names of its query parameters.
    parameters: Vec<String>,
    /// Whether its handler checks further names, such as the parameters of a pack's query.
    takes_others: bool,
    takes_body: bool,
    needs_token: bool,
}

impl RequestRules {
    /// The rules of every operation of the document.
    pub fn of(document: &OpenApi) -> Self {
        let mut rules = BTreeMap::new();
        for (path, item) in &document.paths.paths {
            let operations = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
                (Method::PATCH, &item.patch),
            ];
            for (method, operation) in operations {
                if let Some(operation) = operation {
                    rules.insert((path.clone(), method), OperationRules::of(operation));
                }
            }
        }
        Self(rules)
    }

    /// Adds a page, which is not in the document: it takes these parameters and needs no token.
    pub fn with_page(mut self, path: &str, parameters: &[&str]) -> Self {
        let parameters = parameters.iter().map(|it| (*it).to_owned()).collect();
        let rules = OperationRules { parameters, ..OperationRules::default() };
        self.0.insert((path.to_owned(), Method::GET), rules);
        self
    }

    /// Refuses unknown parameters, and a body where there is none.
    pub async fn check(&self, app: &App, request: Request) -> Result<Request, Response> {
        let method = match request.method() {
            &Method::HEAD => Method::GET,
            other => other.clone(),
        };
        let path = matched(request.extensions());
        let Some(rules) = self.0.get(&(path.clone(), method.clone())) else { return Ok(request) };
        let unknown = rules.unknown(request.uri().query().unwrap_or_default());
        if !unknown.is_empty() {
            let refused = unknown_parameters(&format!("{method} {path}"), &unknown, &rules.parameters);
            return Err(rules.refuse(app, request, refused).await);
        }
        if rules.takes_body || method == Method::GET {
            return Ok(request);
        }
        let (parts, body) = request.into_parts();
        let body = whole(body, app.limits().body).await.map_err(|it| it.into_response())?;
        let request = Request::from_parts(parts, Body::empty());
        if matches!(without_blanks(&body).as_slice(), b"" | b"{}" | b"null") {
            return Ok(request);
        }
        let refused = Refused::shape(format!("{method} {path} takes no body. Send none, or `{{}}`"));
        Err(rules.refuse(app, request, refused).await)
    }
}

impl OperationRules {
    fn of(operation: &Operation) -> Self {
        let parameters = operation.parameters.iter().flatten().filter_map(|it| match it {
            RefOr::T(it) if matches!(it.parameter_in, ParameterIn::Query) => Some(it),
            _ => None,
        });
        let (others, named): (Vec<&Parameter>, Vec<_>) = parameters.partition(|it| it.explode == Some(true));
        Self {
            parameters: named.into_iter().map(|it| it.name.clone()).collect(),
            takes_others: !others.is_empty(),
            takes_body: operation.request_body.is_some(),
            needs_token: operation.security.is_none(),
        }
    }

    /// The parameters of a query that the operation does not have.
    fn unknown(&self, query: &str) -> Vec<String> {
        if self.takes_others {
            return Vec::new();
        }
        let mut unknown: Vec<String> = Vec::new();
        for (name, _) in form_urlencoded::parse(query.as_bytes()) {
            if !unknown.iter().chain(&self.parameters).any(|it| *it == name) {
                unknown.push(name.into_owned());
            }
        }
        unknown
    }

    /// The refusal; a caller without a valid token gets 401 instead.
    async fn refuse(&self, app: &App, request: Request, refused: Refused) -> Response {
        if !self.needs_token {
            return refused.into_response();
        }
        let (mut parts, _) = request.into_parts();
        Caller::from_request_parts(&mut parts, app).await.err().unwrap_or(refused).into_response()
    }
}

fn without_blanks(body: &[u8]) -> Vec<u8> {
    body.iter().copied().filter(|it| !it.is_ascii_whitespace()).collect()
}
