//! Answers that no entry of the journal could give again: to requests under a key they are kept here, as long as the
//! server runs.
//!
//! A key is for one request, and of two that come at the same moment one may write to the journal and the other have
//! its answer here. So whoever writes holds a [`Passing`] until it has handed its request in, nobody takes a place here
//! while it does, and whoever has a place asks the journal after that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use serde::Serialize;
use serde_json::{Value, json};
use trackside_lifecycle::name::Name;

use super::keys::{KeyUse, conflict, journalled};
use crate::app::App;
use crate::problem::Refused;
use crate::watch::{current, during};

/// Most answers that are kept for one actor, and most bytes of them; the oldest go first.
const MOST: usize = 1_000;
const BYTES: usize = 4 * 1024 * 1024;

/// Answers that are kept for those who asked with a key.
#[derive(Debug, Default)]
pub(crate) struct Answers(Arc<Mutex<BTreeMap<Name, Own>>>);

/// Those of one actor.
#[derive(Debug, Default)]
struct Own {
    slots: BTreeMap<Name, Arc<Slot>>,
    /// Keys under which requests are on their way to the journal, and how many.
    passing: BTreeMap<Name, usize>,
    /// Keys with the size of their answers, the oldest first.
    order: VecDeque<(Name, usize)>,
    bytes: usize,
}

/// What one key was used for, and the answer once there is one: whoever asks meanwhile waits for it.
#[derive(Debug)]
struct Slot {
    request: Arc<str>,
    answer: Arc<tokio::sync::Mutex<Option<Value>>>,
}

/// A request is on its way to the journal under a key.
#[derive(Debug)]
#[must_use = "it lasts as long as the request is on its way"]
pub(crate) struct Passing {
    answers: Answers,
    sender: Name,
    key: Name,
}

impl Drop for Passing {
    fn drop(&mut self) {
        let mut all = self.answers.all();
        let Some(own) = all.get_mut(&self.sender) else { return };
        match own.passing.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                own.passing.remove(&self.key);
            }
        }
        if own.passing.is_empty() && own.slots.is_empty() {
            all.remove(&self.sender);
        }
    }
}

impl Answers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Name, Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a key, a new one if it was not used. One that is used for another request is turned down.
    fn slot(&self, used: &KeyUse) -> Result<Arc<Slot>, Refused> {
        let mut all = self.all();
        let new = || Arc::new(Slot { request: used.request.clone(), answer: Arc::default() });
        let own = all.entry(used.sender.clone()).or_default();
        if own.passing.contains_key(&used.key) {
            return Err(conflict(&used.key));
        }
        let slot = own.slots.entry(used.key.clone()).or_insert_with(new).clone();
        if slot.request == used.request { Ok(slot) } else { Err(conflict(&used.key)) }
    }

    /// Whether a place is still that of its key.
    fn is_kept(&self, used: &KeyUse, slot: &Arc<Slot>) -> bool {
        let all = self.all();
        let kept = all.get(&used.sender).and_then(|it| it.slots.get(&used.key));
        kept.is_some_and(|it| Arc::ptr_eq(it, slot))
    }

    /// Keeps an answer.
    fn keep(&self, used: &KeyUse, slot: &Arc<Slot>, size: usize) {
        let mut all = self.all();
        let own = all.entry(used.sender.clone()).or_default();
        own.slots.insert(used.key.clone(), slot.clone());
        own.order.push_back((used.key.clone(), size));
        own.bytes = own.bytes.saturating_add(size);
        while own.order.len() > 1 && (own.order.len() > MOST || own.bytes > BYTES) {
            let Some((oldest, size)) = own.order.pop_front() else { break };
            own.bytes = own.bytes.saturating_sub(size);
            own.slots.remove(&oldest);
        }
    }

    /// A refusal is not kept: the key may be used again, for something else, too.
    fn give_up(&self, used: &KeyUse, slot: &Arc<Slot>) {
        let mut all = self.all();
        if let Some(own) = all.get_mut(&used.sender)
            && own.slots.get(&used.key).is_some_and(|it| Arc::ptr_eq(it, slot))
        {
            own.slots.remove(&used.key);
        }
    }

    /// Lets a request through that is noted in the journal, and turns down a key that was used for something whose
    /// answer is kept here. Whoever gets through keeps what this gives until the request is handed in.
    pub fn passing(&self, sender: &Name, key: Option<&Name>) -> Result<Option<Passing>, Refused> {
        let Some(key) = key else { return Ok(None) };
        let mut all = self.all();
        let own = all.entry(sender.clone()).or_default();
        if own.slots.contains_key(key) {
            return Err(conflict(key));
        }
        *own.passing.entry(key.clone()).or_default() += 1;
        let answers = Self(self.0.clone());
        Ok(Some(Passing { answers, sender: sender.clone(), key: key.clone() }))
    }
}

/// Does something once for a key, and answers the same every time. It is done to its end, whoever stops waiting for it.
pub(crate) async fn answer_once<T: Serialize>(
    app: &App,
    used: Option<KeyUse>,
    work: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Result<Json<Value>, Refused> {
    let Some(used) = used else { return written(&work.await?).map(Json) };
    let (slot, mut answer) = loop {
        let slot = app.answers.slot(&used)?;
        let answer = slot.answer.clone().lock_owned().await;
        if let Some(first) = answer.as_ref() {
            let mut again = first.clone();
            if let Value::Object(members) = &mut again {
                members.insert("replayed".to_owned(), json!(true));
            }
            return Ok(Json(again));
        }
        // Whoever had it before may have been refused, and its place given up.
        if app.answers.is_kept(&used, &slot) {
            break (slot, answer);
        }
    };
    let (app, current) = (app.clone(), current());
    let done = tokio::spawn(async move {
        // Only now: what was on its way to the journal when the place was taken has been handed in before this question.
        let free = journalled(&app, &used).await.and_then(|it| match it {
            Some(_) => Err(conflict(&used.key)),
            None => Ok(()),
        });
        let outcome = match free {
            Ok(()) => during(current, work).await.and_then(|it| written(&it)),
            Err(refused) => Err(refused),
        };
        match &outcome {
            Ok(told) => {
                *answer = Some(told.clone());
                app.answers.keep(&used, &slot, told.to_string().len());
            }
            Err(_) => app.answers.give_up(&used, &slot),
        }
        outcome
    });
    done.await.map_err(Refused::broken)?.map(Json)
}

fn written(told: &impl Serialize) -> Result<Value, Refused> {
    serde_json::to_value(told).map_err(Refused::broken)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn the_oldest_answers_of_an_actor_go_first_and_nobody_elses() {
        let answers = Answers::default();
        let (ada, bob) = (Name::new("ada"), Name::new("bob"));
        let keep = |actor: &Name, key: &str, size: usize| {
            let used = KeyUse { sender: actor.clone(), key: Name::new(key), request: "said".into() };
            let slot = answers.slot(&used).unwrap();
            answers.keep(&used, &slot, size);
        };
        let is_kept = |actor: &Name, key: &str| answers.passing(actor, Some(&Name::new(key))).is_err();
        keep(&bob, "his", 10);
        (0..=MOST).for_each(|it| keep(&ada, &format!("key-{it}"), 1));
        assert!(!is_kept(&ada, "key-0") && is_kept(&ada, "key-1") && is_kept(&bob, "his"));
        keep(&ada, "large", BYTES + 1);
        assert!(
            !is_kept(&ada, "key-1") && is_kept(&ada, "large"),
            "what was done last is known whatever it takes"
        );
    }

    #[test]
    fn at_the_same_moment_a_key_is_for_one_request_be_it_noted_here_or_in_the_journal() {
        let answers = Answers::default();
        let (ada, key) = (Name::new("ada"), Name::new("once"));
        let used = KeyUse { sender: ada.clone(), key: key.clone(), request: "said".into() };
        let first = answers.passing(&ada, Some(&key)).unwrap();
        let second = answers.passing(&ada, Some(&key)).unwrap();
        assert!(answers.slot(&used).is_err(), "two are on their way to the journal");
        drop(first);
        assert!(answers.slot(&used).is_err(), "one still is");
        drop(second);
        assert!(answers.all().is_empty(), "nothing is left of what has passed");
        let slot = answers.slot(&used).unwrap();
        assert!(answers.passing(&ada, Some(&key)).is_err(), "it is being answered from here");
        let other = KeyUse { request: "else".into(), ..used.clone() };
        assert!(answers.slot(&other).is_err() && answers.slot(&used).is_ok());
        answers.give_up(&used, &slot);
        assert!(!answers.is_kept(&used, &slot) && answers.passing(&ada, Some(&key)).is_ok());
    }
}
