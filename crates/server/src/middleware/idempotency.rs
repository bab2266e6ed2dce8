//! Idempotency keys, for every route in one place.
//!
//! A key belongs to one request of one sender. Requests under the same key run one after the other. A command stores
//! its key in the journal, in the commit that it makes, and the engine recognises it when it comes again. Routes that
//! write no such entry are declared so in the route table; their answers are kept here while the server runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::OwnedMutexGuard;
use trackside_lifecycle::name::Name;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{KeyUse, conflict, idempotency_key, is_dry_run, journalled, whole};
use crate::routes::{RouteTraits, matched};
use crate::telemetry::{current, during};

/// Most answers that are kept for one sender, and most bytes of them; the oldest go first.
const MOST: usize = 1_000;
const BYTES: usize = 4 * 1024 * 1024;

/// The layer: answers a request whose key was used before, and runs any other.
pub(crate) async fn replay_or_run(
    State((app, routes)): State<(App, Arc<RouteTraits>)>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let changes = !matches!(parts.method, Method::GET | Method::HEAD) && !is_dry_run(&parts.uri);
    if !changes || !["idempotency-key", "x-idempotency-key"].iter().any(|it| parts.headers.contains_key(*it))
    {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let caller = Caller::from_request_parts(&mut parts, &app).await?;
    let Some(key) = idempotency_key(&parts.headers)? else {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    };
    let (route, limits) = (matched(&parts.extensions), app.limits());
    let body = Bytes::from(whole(body, limits.body.max(limits.artifact)).await?);
    let used = KeyUse::new(&caller, key, &parts.uri, body.clone());
    let reservation = app.kept_answers.reserve(&used.sender, &used.key).await;
    let is_journalled = !routes.is_unjournalled(&route);
    match app.kept_answers.get(&used.sender, &used.key) {
        Some(kept) if !is_journalled && kept.request == used.digest() => return Ok(kept.replayed()),
        Some(_) => return Err(conflict(&used.key)),
        None => {}
    }
    parts.extensions.insert(caller);
    parts.extensions.insert(used.clone());
    let request = Request::from_parts(parts, Body::from(body));
    if is_journalled {
        let response = next.run(request).await;
        drop(reservation);
        return Ok(response);
    }
    // It runs to its end even if the client disconnects.
    let running = tokio::spawn(during(current(), async move {
        let _reservation = reservation;
        if journalled(&app, &used).await?.is_some() {
            return Err(conflict(&used.key));
        }
        let response = next.run(request).await;
        // A refusal is not kept: the key may be used again, also for something else.
        if !response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(Refused::broken)?;
        app.kept_answers.keep(
            &used.sender,
            &used.key,
            KeptAnswer { request: used.digest(), body: body.clone() },
        );
        Ok(Response::from_parts(head, Body::from(body)))
    }));
    running.await.map_err(Refused::broken)?
}

/// The keys in use, and answers of routes whose keys are not in the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptAnswers(Arc<Mutex<BTreeMap<Name, OfSender>>>);

#[derive(Debug, Default)]
struct OfSender {
    /// Held by the request that runs under a key.
    reserved: BTreeMap<Name, Arc<tokio::sync::Mutex<()>>>,
    answers: BTreeMap<Name, KeptAnswer>,
    /// Keys with the size of their answers, the oldest first.
    order: VecDeque<(Name, usize)>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct KeptAnswer {
    /// The digest of the request that it answers.
    request: Arc<str>,
    body: Bytes,
}

impl KeptAnswer {
    /// The answer again, with `replayed: true`: a member that the answers of these routes do not have.
    fn replayed(&self) -> Response {
        const REPLAYED: &[u8] = br#"{"replayed":true"#;
        let members = self.body.strip_prefix(b"{").unwrap_or_default();
        let separator: &[u8] = if members == b"}" { b"" } else { b"," };
        let body = [REPLAYED, separator, members].concat();
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// Keeps a key for one request: others of the same sender with the same key wait.
#[derive(Debug)]
#[must_use = "the key is free again when this is dropped"]
pub(crate) struct KeyReservation {
    kept: KeptAnswers,
    sender: Name,
    key: Name,
    held: Option<OwnedMutexGuard<()>>,
}

impl Drop for KeyReservation {
    fn drop(&mut self) {
        self.held = None;
        let mut all = self.kept.all();
        let Some(own) = all.get_mut(&self.sender) else { return };
        // A waiting request holds a clone.
        if own.reserved.get(&self.key).is_some_and(|it| Arc::strong_count(it) == 1) {
            own.reserved.remove(&self.key);
        }
        if own.reserved.is_empty() && own.answers.is_empty() {
            all.remove(&self.sender);
        }
    }
}

impl KeptAnswers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Name, OfSender>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other request runs under this key.
    async fn reserve(&self, sender: &Name, key: &Name) -> KeyReservation {
        let lock =
            self.all().entry(sender.clone()).or_default().reserved.entry(key.clone()).or_default().clone();
        // Created before the wait, so that its drop removes the entry even if the wait is cancelled.
        let (kept, sender, key) = (self.clone(), sender.clone(), key.clone());
        let mut reservation = KeyReservation { kept, sender, key, held: None };
        reservation.held = Some(lock.lock_owned().await);
        reservation
    }

    /// Reserves a key for a command that comes by another way than HTTP. A key with a kept answer was used for
    /// something else.
    pub async fn reserve_for_command(&self, sender: &Name, key: &Name) -> Result<KeyReservation, Refused> {
        let reservation = self.reserve(sender, key).await;
        match self.get(sender, key) {
            Some(_) => Err(conflict(key)),
            None => Ok(reservation),
        }
    }

    fn get(&self, sender: &Name, key: &Name) -> Option<KeptAnswer> {
        self.all().get(sender)?.answers.get(key).cloned()
    }

    fn keep(&self, sender: &Name, key: &Name, answer: KeptAnswer) {
        let (mut all, size) = (self.all(), answer.body.len());
        let own = all.entry(sender.clone()).or_default();
        own.answers.insert(key.clone(), answer);
        own.order.push_back((key.clone(), size));
        own.bytes = own.bytes.saturating_add(size);
        while own.order.len() > 1 && (own.order.len() > MOST || own.bytes > BYTES) {
            let Some((oldest, size)) = own.order.pop_front() else { break };
            own.bytes = own.bytes.saturating_sub(size);
            own.answers.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_answers_of_a_sender_go_first_and_no_others() {
        let kept = KeptAnswers::default();
        let (ada, bob) = (Name::new("ada"), Name::new("bob"));
        let keep = |sender: &Name, key: &str, size: usize| {
            let answer = KeptAnswer { request: "digest".into(), body: Bytes::from(vec![0; size]) };
            kept.keep(sender, &Name::new(key), answer);
        };
        let is_kept = |sender: &Name, key: &str| kept.get(sender, &Name::new(key)).is_some();
        keep(&bob, "his", 10);
        (0..=MOST).for_each(|it| keep(&ada, &format!("key-{it}"), 1));
        assert!(!is_kept(&ada, "key-0") && is_kept(&ada, "key-1") && is_kept(&bob, "his"));
        keep(&ada, "large", BYTES + 1);
        assert!(!is_kept(&ada, "key-1") && is_kept(&ada, "large"), "the newest answer is kept at any size");
    }

    #[tokio::test]
    async fn one_request_at_a_time_runs_under_a_key_and_nothing_stays_behind() {
        let kept = KeptAnswers::default();
        let (ada, bob, key) = (Name::new("ada"), Name::new("bob"), Name::new("once"));
        let first = kept.reserve(&ada, &key).await;
        let _other_sender = kept.reserve(&bob, &key).await;
        let soon = Duration::from_millis(10);
        assert!(
            tokio::time::timeout(soon, kept.reserve(&ada, &key)).await.is_err(),
            "it waits for the first"
        );
        drop(first);
        let second = kept.reserve(&ada, &key).await;
        let waiting = tokio::spawn({
            let (kept, ada, key) = (kept.clone(), ada.clone(), key.clone());
            async move { kept.reserve(&ada, &key).await }
        });
        tokio::task::yield_now().await;
        drop(second);
        drop(waiting.await.unwrap());
        assert!(!kept.all().contains_key(&ada), "{:?}", kept.all());
    }
}
