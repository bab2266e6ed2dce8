//! Live events: the journal as server-sent events, filtered by what the caller may see.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use futures_core::Stream;
use serde::Deserialize;
use trackside_engine::actor::Actor;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::name::Name;
use trackside_protocol::{EntryBody, FieldMap, Problem, ProblemCode, entry_value};
use trackside_runtime::read::History;
use trackside_runtime::{Failure, FeedBatch, Follower, ReadError, Reads, Viewer};
use trackside_store::Record;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::{Caller, TokenLiveness};
use crate::problem::Refused;
use crate::quotas::ActorStream;
use crate::rest::history::LineForm;
use crate::rest::lifecycles::newest;
use crate::rest::{Parameters, entry_text, stored_body};

/// The interval of keep-alive comments.
const BREATH: Duration = Duration::from_secs(15);

/// The part of the journal that a caller may see.
#[derive(Clone, Debug)]
pub(crate) struct Visibility {
    app: App,
    viewer: Viewer,
}

impl Visibility {
    pub fn of(app: &App, caller: &Caller) -> Self {
        Self { app: app.clone(), viewer: Viewer::new(caller.actor().clone()) }
    }

    /// The caller.
    pub fn reader(&self) -> &Actor {
        self.viewer.actor()
    }

    /// Whether an entry may be shown.
    pub fn sees(&self, reads: &Reads, entry: &Entry) -> Result<bool, ReadError> {
        Ok(self.entry(reads, entry)?.is_some())
    }

    /// An entry as the caller sees it; none if it may not see it.
    pub fn entry<'e>(&self, reads: &Reads, entry: &'e Entry) -> Result<Option<Cow<'e, Entry>>, ReadError> {
        self.viewer.entry(reads, entry)
    }

    /// A stored entry as the caller sees it; none if it may not see it.
    pub fn body(&self, reads: &Reads, record: &Record) -> Result<Option<EntryBody>, ReadError> {
        Ok(self.entry_and_body(reads, record)?.map(|(_, body)| body))
    }

    /// A stored entry as the caller sees it, and its body; none if it may not see it.
    pub fn entry_and_body(
        &self,
        reads: &Reads,
        record: &Record,
    ) -> Result<Option<(Entry, EntryBody)>, ReadError> {
        let entry = record.entry()?;
        let Some(seen) = self.viewer.entry(reads, &entry)? else { return Ok(None) };
        let body = stored_body(record, &seen);
        Ok(Some((seen.into_owned(), body)))
    }

    /// Refuses a caller who may not see the entries of an entity.
    pub fn check_observer(&self, reads: &Reads, key: &EntityKey) -> Result<(), ReadError> {
        self.viewer.observed(reads, key).map(drop)
    }

    /// The messages on an entity that the caller may see.
    pub fn messages(
        &self,
        reads: &Reads,
        key: &EntityKey,
        after: u64,
        limit: usize,
    ) -> Result<History, ReadError> {
        self.viewer.messages(reads, key, after, limit)
    }

    /// Whether an entity may be shown.
    pub fn sees_entity(&self, reads: &Reads, key: &EntityKey) -> Result<bool, ReadError> {
        self.viewer.sees_entity(reads, key)
    }
}

/// The entries that a stream or a webhook has. Whether the caller may see them is checked separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AudienceFilter {
    /// Every entry but lease renewals.
    Changes,
    All,
    /// Notifications to an audience, and nothing else.
    Of(Name),
}

impl AudienceFilter {
    pub const CHANGES: &str = "changes";
    const ALL: &str = "all";

    /// The filter of this name. Does not check that the audience exists.
    pub fn named(name: &str) -> Self {
        match name {
            Self::CHANGES => Self::Changes,
            Self::ALL => Self::All,
            audience => Self::Of(Name::new(audience)),
        }
    }

    /// The same; if no pack has the audience, the error says which there are.
    pub fn parse(app: &App, name: Option<&str>) -> Result<Self, String> {
        let filter = Self::named(name.unwrap_or(Self::CHANGES));
        if let Self::Of(audience) = &filter {
            let law = app.runtime.law();
            let known: BTreeSet<&Name> = law.packs().flat_map(|it| it.audiences.keys()).collect();
            if !known.contains(audience) {
                let names = [Self::CHANGES, Self::ALL].into_iter().chain(known.iter().map(|it| it.as_str()));
                let hint = did_you_mean_or_all(audience, "Choices", names);
                return Err(format!("No pack has an audience {audience}{hint}"));
            }
        }
        Ok(filter)
    }

    pub fn includes(&self, entry: &Entry) -> bool {
        match self {
            Self::Changes => !matches!(entry.event, Event::LeaseRenewed { .. }),
            Self::All => true,
            Self::Of(name) => {
                matches!(&entry.event, Event::Notified { audience, .. } if audience == name)
            }
        }
    }
}

/// Parameters of the event stream.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Only of this lifecycle.
    lifecycle: Option<String>,
    /// Only of the entity with this id.
    id: Option<String>,
    /// `changes` (default): every entry but lease renewals; `all`: every entry; the name of an audience, such as
    /// `user`: only notifications to it.
    audience: Option<String>,
    /// Start after this entry. `Last-Event-ID` takes precedence. Default: only new entries.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Include lease renewals.
    #[serde(default)]
    all: bool,
    /// `pack`: the log lines that the packs declare, instead of the entries. Entries without a log line are left out.
    #[param(value_type = Option<String>)]
    form: Option<LineForm>,
}

/// Streams the journal as server-sent events. Resume with `Last-Event-ID`.
#[utoipa::path(
    get, path = "/v1/events", tag = "journal", operation_id = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<u64>, Header, description = "Resume after this entry.")),
    responses((status = 200, description = "A stream of events.", content_type = "text/event-stream", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Parameters(query): Parameters<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Frame, Infallible>>>, Refused> {
    let audience = AudienceFilter::parse(&app, query.audience.as_deref())
        .map_err(|detail| Refused::parameter("audience", detail))?;
    let last = match headers.get("last-event-id").and_then(|it| it.to_str().ok()) {
        Some(text) if text.trim().is_empty() => None,
        Some(text) => Some(text.trim().parse::<u64>().map_err(|_| {
            Refused::parameter("Last-Event-ID", "Last-Event-ID is the number of a journal entry")
        })?),
        None => None,
    };
    // Refuses an unknown lifecycle now: a silent stream would look the same as one that waits.
    if let Some(lifecycle) = &query.lifecycle {
        newest(&app.runtime.law(), lifecycle)?;
    }
    let at = app.reads.seq();
    let after = last.or(crate::rest::number("after", query.after)?).unwrap_or(at);
    if after > at {
        return Err(ReadError::NotYet { at, asked: after }.into());
    }
    if after < at {
        // Refuses archived entries that are missing now: a client would reconnect to a stream that ends.
        app.read(move |reads| reads.journal(after, 1)).await?;
    }
    let place = StreamSlot::take(&app, &caller)?;
    let choice = Choice { visibility: Visibility::of(&app, &caller), query, audience };
    let (feed, liveness) = (Some(app.runtime.follow(after)), TokenLiveness::of(&caller));
    let frames = Frames { next: None, ready: VecDeque::new(), feed, choice, liveness, _place: place };
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(BREATH).text("still here")))
}

/// One of the limited number of open streams.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    open: Arc<AtomicUsize>,
    _of_actor: ActorStream,
}

impl StreamSlot {
    pub fn take(app: &App, caller: &Caller) -> Result<Self, Refused> {
        let limits = app.limits();
        let of_actor = app.quotas.open_stream(&caller.identity.actor, &limits)?;
        let most = limits.streams;
        if app.streams.fetch_add(1, Ordering::AcqRel) >= most {
            app.streams.fetch_sub(1, Ordering::AcqRel);
            let detail = format!("{most} event streams are open, which is the limit. Retry later");
            return Err(Refused::new(ProblemCode::Overloaded, detail));
        }
        Ok(Self { open: app.streams.clone(), _of_actor: of_actor })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The filter of a stream.
#[derive(Clone, Debug)]
struct Choice {
    visibility: Visibility,
    query: EventsQuery,
    audience: AudienceFilter,
}

impl Choice {
    fn wants(&self, entry: &Entry) -> bool {
        let lifecycle = self.query.lifecycle.as_ref().is_none_or(|it| *entry.entity.lifecycle == **it);
        let id = self.query.id.as_ref().is_none_or(|it| *entry.entity.id == **it);
        let renewal = self.query.all && matches!(entry.event, Event::LeaseRenewed { .. });
        lifecycle && id && (renewal || self.audience.includes(entry))
    }

    fn frames(&self, heard: &FeedBatch) -> Result<VecDeque<Frame>, ReadError> {
        let mut frames = VecDeque::new();
        for (entry, text) in heard.entries_with_text(entry_text).filter(|(it, _)| self.wants(it)) {
            let reads = &self.visibility.app.reads;
            let text = match self.visibility.entry(reads, entry)? {
                None => continue,
                Some(shown) if self.query.form == Some(LineForm::Pack) => {
                    let shown = (shown.entity.clone(), entry_value(&shown));
                    let Some(line) = reads.log_lines([shown], Some(self.visibility.reader()))?.pop() else {
                        continue;
                    };
                    Cow::Owned(serde_json::to_string(&FieldMap(line)).unwrap_or_default())
                }
                Some(Cow::Borrowed(_)) => Cow::Borrowed(text),
                // The shared text has fields that the caller may not read.
                Some(Cow::Owned(shown)) => Cow::Owned(entry_text(&shown, heard.hash(entry.seq))),
            };
            let frame = Frame::default().id(entry.seq.to_string()).event(entry.event.kind().as_str());
            frames.push_back(frame.data(text));
        }
        Ok(frames)
    }
}

/// The next batch; none if nothing came within a keep-alive interval.
type Fetched = Result<Option<FeedBatch>, Failure>;
type Fetching = Pin<Box<dyn Future<Output = (Follower, Fetched)> + Send>>;

/// The frames of one stream. It ends with the token it was opened with, and when the journal cannot be followed;
/// clients reconnect.
struct Frames {
    next: Option<Fetching>,
    ready: VecDeque<Frame>,
    feed: Option<Follower>,
    choice: Choice,
    liveness: TokenLiveness,
    _place: StreamSlot,
}

impl Frames {
    /// The frames of a batch; none if the token is no longer valid.
    fn frames(&mut self, found: Fetched) -> Option<VecDeque<Frame>> {
        let (found, app) = (found.ok()?, &self.choice.visibility.app);
        let entries = found.as_deref().unwrap_or_default();
        if !self.liveness.is_good(app, entries).unwrap_or(false) {
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
                let mut stopping = self.choice.visibility.app.stopping.subscribe();
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
            let Some(frames) = self.frames(found) else { return Poll::Ready(None) };
            self.feed = Some(feed);
            self.ready = frames;
        }
    }
}
