//! Live events: the journal as it grows, for whoever may see it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use futures_core::Stream;
use serde::Deserialize;
use trackside_engine::actor::Actor;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::Problem;
use trackside_runtime::{Failure, Follower, Heard, ReadError, Reads};
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::{Caller, Standing};
use crate::problem::Refused;
use crate::rest::Parameters;
use crate::rest::lifecycles::newest;

/// How often a stream says that it is still there.
const BREATH: Duration = Duration::from_secs(15);

/// What somebody may see of the journal.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    app: App,
    actor: Actor,
    /// For whom they ask.
    on_behalf_of: Option<Name>,
    is_admin: bool,
}

impl Sight {
    pub fn of(app: &App, caller: &Caller) -> Self {
        let (on_behalf_of, is_admin) = (caller.on_behalf_of.clone(), caller.identity.is_admin());
        Self { app: app.clone(), actor: caller.actor().clone(), on_behalf_of, is_admin }
    }

    /// Whether an entry may be shown: whoever may not see an entity may not see what happens to it.
    pub fn sees(&self, reads: &Reads, entry: &Entry) -> Result<bool, ReadError> {
        Ok(self.is_told(entry) && self.sees_entity(reads, &entry.entity)?)
    }

    /// Whether words are meant for them: those to some actors are for these, for who said them, and for admins.
    pub fn is_told(&self, entry: &Entry) -> bool {
        let Event::MessagePosted { to: Some(to), from, .. } = &entry.event else { return true };
        let is_theirs = |own: &Name| to.contains(own) || from.as_ref() == Some(own) || entry.actor == *own;
        self.is_admin || is_theirs(&self.actor.id) || self.on_behalf_of.as_ref().is_some_and(is_theirs)
    }

    /// Whether an entity may be shown.
    pub fn sees_entity(&self, reads: &Reads, key: &EntityKey) -> Result<bool, ReadError> {
        let law = self.app.runtime.law();
        // It may live by any of the versions: where none hides anything, nothing has to be looked up.
        if law.definitions(&key.lifecycle).iter().all(|it| it.read.is_none()) {
            return Ok(true);
        }
        match reads.readable(key, &self.actor) {
            Ok(_) => Ok(true),
            Err(ReadError::UnknownEntity(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The audience of those whose things these are.
const USER: &str = "user";

/// Whether people follow an entry: not that a lease goes on, and not what a pack tells others where it tells them apart
/// from its users.
pub(crate) fn is_for_users(app: &App, entry: &Entry) -> bool {
    match &entry.event {
        Event::LeaseRenewed { .. } => false,
        Event::Notified { audience, .. } if **audience != *USER => {
            let lifecycle = entry.entity.lifecycle.as_str();
            let pack = lifecycle.split_once('.').map_or(lifecycle, |(pack, _)| pack);
            let law = app.runtime.law();
            !law.pack(pack).is_some_and(|it| it.audiences.contains_key(USER))
        }
        _ => true,
    }
}

/// Which events.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only of this lifecycle.
    lifecycle: Option<String>,
    /// Only of the entity with this id.
    id: Option<String>,
    /// `user`: what people follow; `all`: every entry of the journal.
    audience: Option<String>,
    /// Entries after this one; `Last-Event-ID` goes before it. Without either: from now on.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Renewals of leases too; `audience=all` has them anyway.
    #[serde(default)]
    all: bool,
}

/// Follows the journal as server-sent events; resumes by `Last-Event-ID`.
#[utoipa::path(
    get, path = "/v1/events", tag = "journal", operation_id = "events",
    params(Which, ("Last-Event-ID" = Option<u64>, Header, description = "Goes on after this entry.")),
    responses((status = 200, description = "A stream of events.", content_type = "text/event-stream", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Parameters(which): Parameters<Which>,
) -> Result<Sse<impl Stream<Item = Result<Frame, Infallible>>>, Refused> {
    let everything = match which.audience.as_deref() {
        None | Some("user") => false,
        Some("all") => true,
        Some(other) => {
            let detail = format!("audience is `user` or `all`, not `{other}`");
            return Err(Refused::parameter("audience", detail));
        }
    };
    let last = match headers.get("last-event-id").and_then(|it| it.to_str().ok()) {
        Some(text) if text.trim().is_empty() => None,
        Some(text) => Some(text.trim().parse::<u64>().map_err(|_| {
            Refused::parameter("Last-Event-ID", "Last-Event-ID is the number of a journal entry")
        })?),
        None => None,
    };
    // What can never come is told at once: a stream that stays silent would say the same as one that waits.
    if let Some(lifecycle) = &which.lifecycle {
        newest(&app.runtime.law(), lifecycle)?;
    }
    let at = app.reads.seq();
    let after = last.or(crate::rest::number("after", which.after)?).unwrap_or(at);
    if after > at {
        return Err(ReadError::NotYet { at, asked: after }.into());
    }
    if after < at {
        // What is archived and not here is said at once: a stream that ends would be asked for again and again.
        app.read(move |reads| reads.journal(after, 1)).await?;
    }
    let place = Place::take(&app)?;
    let choice = Choice { sight: Sight::of(&app, &caller), which, everything };
    let (feed, standing) = (Some(app.runtime.follow(after)), Standing::of(&caller));
    let frames = Frames { next: None, ready: VecDeque::new(), feed, choice, standing, _place: place };
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(BREATH).text("still here")))
}

/// One of the streams that may be open at a time.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

impl Place {
    pub fn take(app: &App) -> Result<Self, Refused> {
        let most = app.limits().streams;
        if app.streams.fetch_add(1, Ordering::AcqRel) >= most {
            app.streams.fetch_sub(1, Ordering::AcqRel);
            let detail = format!("{most} streams are open, which is the limit here: try again later");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "overloaded", detail));
        }
        Ok(Self(app.streams.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a stream is to show.
#[derive(Clone, Debug)]
struct Choice {
    sight: Sight,
    which: Which,
    everything: bool,
}

impl Choice {
    fn wants(&self, entry: &Entry) -> bool {
        let lifecycle = self.which.lifecycle.as_ref().is_none_or(|it| *entry.entity.lifecycle == **it);
        let id = self.which.id.as_ref().is_none_or(|it| *entry.entity.id == **it);
        let renewal = self.which.all && matches!(entry.event, Event::LeaseRenewed { .. });
        lifecycle && id && (self.everything || renewal || is_for_users(&self.sight.app, entry))
    }

    fn frames(&self, heard: &Heard) -> Result<VecDeque<Frame>, ReadError> {
        let mut frames = VecDeque::new();
        for (entry, text) in heard.told().filter(|(it, _)| self.wants(it)) {
            if self.sight.sees(&self.sight.app.reads, entry)? {
                let frame = Frame::default().id(entry.seq.to_string()).event(entry.event.kind());
                frames.push_back(frame.data(text));
            }
        }
        Ok(frames)
    }
}

/// What came next; none: nothing did, for as long as a breath.
type Fetched = Result<Option<Heard>, Failure>;
type Fetching = Pin<Box<dyn Future<Output = (Follower, Fetched)> + Send>>;

/// The frames of one stream. It ends with the token it was opened with, and when the journal cannot be followed: the
/// client comes back by itself.
struct Frames {
    next: Option<Fetching>,
    ready: VecDeque<Frame>,
    feed: Option<Follower>,
    choice: Choice,
    standing: Standing,
    _place: Place,
}

impl Frames {
    /// What is to be shown of it, to somebody who is still let in; none if they are not.
    fn shown(&mut self, found: Fetched) -> Option<VecDeque<Frame>> {
        let (found, app) = (found.ok()?, &self.choice.sight.app);
        let entries = found.as_deref().unwrap_or_default();
        if !self.standing.is_good(app, entries).unwrap_or(false) {
            return None;
        }
        found.map_or(Some(VecDeque::new()), |it| self.choice.frames(&it).ok())
    }
}

impl Stream for Frames {
    type Item = Result<Frame, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.next.is_none() {
                let Some(mut feed) = self.feed.take() else { return Poll::Ready(None) };
                let mut stopping = self.choice.sight.app.stopping.subscribe();
                self.next = Some(Box::pin(async move {
                    let found = tokio::select! {
                        found = feed.next() => found.map(Some),
                        () = tokio::time::sleep(BREATH) => Ok(None),
                        _ = stopping.wait_for(|it| *it) => Err(Failure::Stopped),
                    };
                    (feed, found)
                }));
            }
            let Some(fetching) = &mut self.next else { return Poll::Ready(None) };
            let Poll::Ready((feed, found)) = fetching.as_mut().poll(cx) else { return Poll::Pending };
            self.next = None;
            let Some(frames) = self.shown(found) else { return Poll::Ready(None) };
            self.feed = Some(feed);
            self.ready = frames;
        }
    }
}
