//! Request counters by route, method and status, and durations.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use trackside_runtime::{Histogram, Observed};

/// The route label of requests without a route.
const NOWHERE: &str = "none";
/// Statuses with their own label; any other is `other`.
const STATUSES: [u16; 22] = [
    200, 201, 202, 204, 303, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 421, 422, 429, 500,
    503,
];

/// Requests since the start, by route and method.
#[derive(Debug, Default)]
pub(crate) struct Http {
    endpoints: RwLock<BTreeMap<(String, &'static str), Arc<Endpoint>>>,
    under_way: AtomicU64,
}

/// A route and a method.
#[derive(Debug)]
struct Endpoint {
    route: String,
    method: &'static str,
    statuses: [AtomicU64; STATUSES.len()],
    other: AtomicU64,
    /// Requests whose client disconnected before the answer.
    abandoned: AtomicU64,
    took: Histogram,
}

/// The counters of a route and a method.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub route: String,
    pub method: &'static str,
    /// Counts by status, without zeros.
    pub statuses: Vec<(String, u64)>,
    pub took: Observed,
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct UnderWay {
    http: Arc<Http>,
    endpoint: Arc<Endpoint>,
    begun: Instant,
    ended: bool,
}

impl Http {
    pub fn begin(self: &Arc<Self>, request: &Request) -> UnderWay {
        let route = request.extensions().get::<MatchedPath>().map_or(NOWHERE, MatchedPath::as_str);
        let endpoint = self.endpoint(route, method_label(request.method()));
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay { http: self.clone(), endpoint, begun: Instant::now(), ended: false }
    }

    fn endpoint(&self, route: &str, method: &'static str) -> Arc<Endpoint> {
        let key = (route.to_owned(), method);
        if let Some(known) = self.endpoints.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let mut endpoints = self.endpoints.write().unwrap_or_else(PoisonError::into_inner);
        endpoints.entry(key).or_insert_with(|| Arc::new(Endpoint::new(route, method))).clone()
    }

    /// Requests in progress.
    pub fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    pub fn answered(&self) -> Vec<Answered> {
        let endpoints = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        endpoints.values().map(|it| it.answered()).collect()
    }
}

impl Endpoint {
    fn new(route: &str, method: &'static str) -> Self {
        Self {
            route: route.to_owned(),
            method,
            statuses: std::array::from_fn(|_| AtomicU64::new(0)),
            other: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            took: Histogram::of_spans(),
        }
    }

    fn answered(&self) -> Answered {
        let known = STATUSES.iter().map(u16::to_string).zip(&self.statuses);
        let others = [("other".to_owned(), &self.other), ("gone".to_owned(), &self.abandoned)];
        let counted = known.chain(others).map(|(name, count)| (name, count.load(Ordering::Relaxed)));
        let statuses = counted.filter(|(_, count)| *count > 0).collect();
        Answered { route: self.route.clone(), method: self.method, statuses, took: self.took.snapshot() }
    }
}

impl UnderWay {
    pub fn route(&self) -> &str {
        &self.endpoint.route
    }

    pub fn method(&self) -> &'static str {
        self.endpoint.method
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    pub fn end(mut self, status: StatusCode) {
        self.ended = true;
        let place = STATUSES.iter().position(|it| *it == status.as_u16());
        let count = place.and_then(|it| self.endpoint.statuses.get(it)).unwrap_or(&self.endpoint.other);
        count.fetch_add(1, Ordering::Relaxed);
        self.endpoint.took.add_span(self.begun.elapsed());
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.http.under_way.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            self.endpoint.abandoned.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A known method, or `other`: clients can send any word.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn asked(method: &str, path: &str) -> Request {
        Request::builder().method(method).uri(path).body(Body::empty()).unwrap()
    }

    #[test]
    fn unknown_routes_and_methods_share_one_label() {
        let http = Arc::new(Http::default());
        for n in 0..50 {
            http.begin(&asked(&format!("M{n}"), &format!("/nowhere/{n}"))).end(StatusCode::IM_A_TEAPOT);
        }
        let answered = http.answered();
        assert_eq!(answered.len(), 1);
        assert_eq!((answered[0].route.as_str(), answered[0].method), ("none", "other"));
        assert_eq!(answered[0].statuses, [("other".to_owned(), 50)]);
        assert_eq!((answered[0].took.count, http.under_way()), (50, 0));
    }

    #[test]
    fn an_aborted_request_is_counted_and_no_longer_in_flight() {
        let http = Arc::new(Http::default());
        let begun = http.begin(&asked("GET", "/x"));
        assert_eq!(http.under_way(), 1);
        drop(begun);
        assert_eq!(http.under_way(), 0);
        assert_eq!(http.answered()[0].statuses, [("gone".to_owned(), 1)]);
        assert_eq!(http.answered()[0].took.count, 0);
    }
}
