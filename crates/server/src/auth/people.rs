//! The list of people that rules count: the holders of valid tokens of kind human.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::project::ProjectChange;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{CommandAnswer, Failure, ReadError, Runtime};

use super::access::{Access, AccessError, Identity, TOKEN, expiry};
use crate::app::App;
use crate::telemetry::request_id;

/// The wait after a failure.
const BREATH: Duration = Duration::from_secs(2);

/// Which ids belong or belonged to people, as of a count of token changes.
#[derive(Debug, Default)]
pub(super) struct KnownPeople(std::sync::Mutex<(u64, HashMap<Name, bool, RandomState>)>);

impl Access {
    /// Whether a token may act for this id. A pattern matches agents and systems; a person must be named.
    pub fn may_act_for(&self, identity: &Identity, id: &Name) -> Result<bool, Failure> {
        Ok(identity.names(id) || (identity.matches(id) && !self.is_person(id)?))
    }

    /// Whether a person has or had a token with this id.
    pub fn is_person(&self, id: &Name) -> Result<bool, Failure> {
        let changes = self.token_changes();
        {
            let mut known = self.known_people.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.0 != changes || known.1.len() >= MOST {
                *known = (changes, HashMap::default());
            }
            if let Some(is_person) = known.1.get(id) {
                return Ok(*is_person);
            }
        }
        let is_person = self.look_up_person(id).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let mut known = self.known_people.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 == changes {
            known.1.insert(id.clone(), is_person);
        }
        Ok(is_person)
    }

    /// Whether a person has or had a token.
    pub fn had_people(&self) -> Result<bool, Failure> {
        let found = self.look_up_token(&format!("kind == \"{}\"", ActorKind::Human.as_str()));
        found.map_err(|it| Failure::Unavailable(it.to_string()))
    }

    /// A person with the roles of all of its valid tokens; none without a valid one.
    pub fn person(&self, id: &Name, now: Timestamp) -> Result<Option<Actor>, ReadError> {
        let (reads, law) = (self.runtime.reads()?, self.runtime.law());
        let mut query = ListQuery::of(TOKEN, Actor::engine());
        let states = law.newest(&query.lifecycle).into_iter().flat_map(|it| &it.states).filter(|it| !it.last);
        query.states = states.map(|it| it.name.clone()).collect();
        let condition = format!("holder == \"{id}\" && kind == \"{}\"", ActorKind::Human.as_str());
        query.filter = Some(reads.condition(&query.lifecycle, &condition)?);
        query.limit = MOST;
        let mut roles: Option<BTreeSet<Name>> = None;
        loop {
            let listed = reads.list(&query)?;
            for token in listed.items.iter().filter(|it| expiry(it).is_none_or(|at| now < at)) {
                if let Some(identity) = self.identify(token)? {
                    roles.get_or_insert_default().extend(identity.actor.roles.iter().cloned());
                }
            }
            query.cursor = listed.next_cursor;
            if query.cursor.is_none() {
                return Ok(roles.map(|it| Actor::new(id.clone(), ActorKind::Human).with_roles(it)));
            }
        }
    }

    fn look_up_person(&self, id: &Name) -> Result<bool, ReadError> {
        self.look_up_token(&format!("holder == \"{id}\" && kind == \"{}\"", ActorKind::Human.as_str()))
    }

    /// Whether a token, valid or not, fulfils this condition.
    fn look_up_token(&self, condition: &str) -> Result<bool, ReadError> {
        let reads = self.runtime.reads()?;
        let mut query = ListQuery::of(TOKEN, Actor::engine());
        query.filter = Some(reads.condition(&query.lifecycle, condition)?);
        query.limit = 1;
        Ok(!reads.list(&query)?.items.is_empty())
    }

    /// Adds the holder of a new token to the list.
    pub(super) async fn count_person(&self, person: &Name) -> Result<(), AccessError> {
        let _counting = self.counting.lock().await;
        // A concurrent removal has either rewritten the list already, or will see this token.
        if self.runtime.reads()?.people().contains(person) {
            return Ok(());
        }
        self.rewrite_people().await
    }

    /// Rewrites the list from the valid tokens. One at a time, because it reads and then writes.
    pub async fn count_people(&self) -> Result<(), AccessError> {
        let _counting = self.counting.lock().await;
        self.rewrite_people().await
    }

    /// Rewrites the list after a token ended, if it was a person's.
    pub async fn has_ended(&self, token: &Entity) -> Result<(), AccessError> {
        match is_of_person(token) {
            true => self.count_people().await,
            false => Ok(()),
        }
    }

    async fn rewrite_people(&self) -> Result<(), AccessError> {
        let runtime = self.runtime.clone();
        let people = tokio::task::spawn_blocking(move || people(&runtime)).await;
        let people = people.map_err(|it| Failure::Unavailable(it.to_string()))?;
        let people = people.map_err(|it| Failure::Unavailable(it.to_string()))?;
        if people == self.runtime.reads()?.people() {
            return Ok(());
        }
        let change = ProjectChange { people: Some(people), ..ProjectChange::default() };
        let mut command = Command::new(Actor::engine(), Ask::Configure(change));
        command.request_id = request_id();
        match self.submit(command, true)?.await? {
            CommandAnswer::Refused(refusal) => Err(AccessError::Refused(refusal.detail)),
            CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => Ok(()),
        }
    }

    /// Whether one of these entries may have ended a person's token.
    fn may_have_left(&self, entries: &[Entry]) -> bool {
        let ends = |it: &&Entry| *it.entity.lifecycle == *TOKEN && !matches!(it.event, Event::Created { .. });
        entries.iter().filter(ends).any(|it| match self.runtime.entity(&it.entity) {
            Ok(token) => token.is_none_or(|it| is_of_person(&it)),
            Err(_) => true,
        })
    }
}

fn is_of_person(token: &Entity) -> bool {
    token.fields.text("kind") == Some(ActorKind::Human.as_str())
}

/// The holders of valid tokens of kind human, in order.
fn people(runtime: &Arc<Runtime>) -> Result<Vec<Name>, ReadError> {
    let (reads, law) = (runtime.reads()?, runtime.law());
    let mut query = ListQuery::of(TOKEN, Actor::engine());
    let states = law.newest(&query.lifecycle).into_iter().flat_map(|it| &it.states).filter(|it| !it.last);
    (query.states, query.limit) = (states.map(|it| it.name.clone()).collect(), MOST);
    let (mut people, now) = (Vec::new(), reads.now());
    loop {
        let listed = reads.list(&query)?;
        let known = listed.items.iter().filter(|it| is_of_person(it));
        let known = known.filter(|it| expiry(it).is_none_or(|at| now < at));
        people.extend(known.filter_map(|it| it.fields.text("holder").map(Name::new)));
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            people.sort();
            people.dedup();
            return Ok(people);
        }
    }
}

/// Keeps the list up to date while the server runs: tokens also end by their timers.
pub(crate) async fn keep_people(app: App) {
    let mut stopping = app.stopping.subscribe();
    let mut feed = app.runtime.follow(app.reads.seq());
    // Tokens may have ended while no server ran.
    let mut due = true;
    loop {
        if due {
            due = app.access.count_people().await.is_err();
        }
        let found = tokio::select! {
            found = feed.next() => found,
            () = tokio::time::sleep(BREATH), if due => continue,
            _ = stopping.wait_for(|it| *it) => return,
        };
        match found {
            Ok(entries) => due |= app.access.may_have_left(&entries),
            Err(Failure::Stopped) => return,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}
