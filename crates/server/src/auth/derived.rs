//! Run tokens, browser sessions and sign-in links end with the token that they were made with.
//!
//! They are invalid from the commit that ends the token on, because every lookup checks the tokens that they were made
//! with. This file also ends their records, so that lists show it.

use std::time::Duration;

use trackside_engine::actor::Actor;
use trackside_engine::command::Command;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_runtime::Failure;
use trackside_runtime::read::{ListQuery, MOST};

use super::access::{Access, LINK, TOKEN};
use crate::app::App;
use crate::problem::Refused;
use crate::telemetry::request_id;

/// The wait after a failure.
const BREATH: Duration = Duration::from_secs(2);
/// Most tokens that can be made one with the other.
const LONGEST_CHAIN: usize = 16;

impl Access {
    /// The tokens that an entity was made with, the nearest first; none if one of them has ended.
    pub(super) fn makers(&self, entity: &Entity) -> Result<Option<Vec<Name>>, Failure> {
        let mut makers = Vec::new();
        let mut next = entity.fields.text("madeWith").map(Name::new);
        while let Some(id) = next {
            if makers.len() >= LONGEST_CHAIN || makers.contains(&id) {
                return Ok(None);
            }
            let Some(maker) = self.token(&id)? else { return Ok(None) };
            makers.push(id);
            next = match self.is_open(&maker) {
                true => maker.fields.text("madeWith").map(Name::new),
                // A replaced token passes everything on to the token that replaces it.
                false => match maker.fields.text("successor") {
                    Some(successor) => Some(Name::new(successor)),
                    None => return Ok(None),
                },
            };
        }
        Ok(Some(makers))
    }
}

/// Ends the records that were made with a token that has ended. A replaced token keeps them.
pub(crate) async fn end_derived(app: &App, token: &str) -> Result<(), Refused> {
    let mut ended = vec![Name::new(token)];
    while let Some(token) = ended.pop() {
        let has_ended = |it: &Entity| !app.access.is_open(it) && it.fields.text("successor").is_none();
        if !app.access.token(&token)?.is_none_or(|it| has_ended(&it)) {
            continue;
        }
        for lifecycle in [TOKEN, LINK] {
            for it in open_records(app, lifecycle, format!("madeWith == \"{token}\"")).await? {
                revoke(app, &it.key).await?;
                if lifecycle == TOKEN {
                    ended.push(it.key.id.clone());
                }
            }
        }
    }
    Ok(())
}

async fn revoke(app: &App, key: &EntityKey) -> Result<(), Refused> {
    let mut revoke = Command::fire(Actor::engine(), key.clone(), "revoke", Default::default());
    revoke.request_id = request_id();
    // It may have ended meanwhile.
    app.gateway.submit(revoke)?.await?;
    Ok(())
}

/// The records of a lifecycle that have not ended and match a condition.
async fn open_records(
    app: &App,
    lifecycle: &'static str,
    condition: String,
) -> Result<Vec<std::sync::Arc<Entity>>, Refused> {
    let law = app.runtime.law();
    let life = law.newest(&Name::new(lifecycle));
    let open: Vec<Name> =
        life.into_iter().flat_map(|it| &it.states).filter(|it| !it.last).map(|it| it.name.clone()).collect();
    let found = app.read(move |reads| {
        let mut query = ListQuery::of(lifecycle, Actor::engine());
        query.filter = Some(reads.condition(&query.lifecycle, &condition)?);
        (query.states, query.limit) = (open, MOST);
        let mut found = Vec::new();
        loop {
            let page = reads.list(&query)?;
            found.extend(page.items);
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                return Ok(found);
            }
        }
    });
    found.await
}

/// Ends all records whose token ended while no server ran.
async fn end_orphans(app: &App) -> Result<(), Refused> {
    for lifecycle in [TOKEN, LINK] {
        for it in open_records(app, lifecycle, "madeWith != null".to_owned()).await? {
            if app.access.makers(&it)?.is_none() {
                revoke(app, &it.key).await?;
            }
        }
    }
    Ok(())
}

/// The tokens that these entries may have ended.
fn changed_tokens(entries: &[Entry]) -> impl Iterator<Item = &Name> {
    let of_tokens = entries.iter().filter(|it| *it.entity.lifecycle == *TOKEN);
    of_tokens.filter(|it| !matches!(it.event, Event::Created { .. })).map(|it| &it.entity.id)
}

/// Ends derived records while the server runs, after a revocation or an expiry of their token.
pub(crate) async fn keep_derived(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut feed = app.runtime.follow(app.reads.seq());
    let mut all_due = true;
    loop {
        if all_due {
            all_due = end_orphans(&app).await.is_err();
        }
        let found = tokio::select! {
            found = feed.next() => found,
            () = tokio::time::sleep(BREATH), if all_due => continue,
            _ = stopping.wait_for(|it| *it) => return,
        };
        match found {
            Ok(entries) => {
                for token in changed_tokens(&entries) {
                    all_due |= end_derived(&app, token).await.is_err();
                }
            }
            Err(Failure::Stopped) => return,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}
