//! Answers that no entry of the journal could give again: to requests under a key they are kept here, as long as the
//! server runs.

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
pub(crate) struct Answers(Mutex<BTreeMap<Name, Own>>);

/// Those of one actor.
#[derive(Debug, Default)]
struct Own {
    slots: BTreeMap<Name, Arc<Slot>>,
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

impl Answers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Name, Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a key, a new one if it was not used.
    fn slot(&self, used: &KeyUse) -> Arc<Slot> {
        let mut all = self.all();
        let new = || Arc::new(Slot { request: used.request.clone(), answer: Arc::default() });
        let own = all.entry(used.sender.clone()).or_default();
        own.slots.entry(used.key.clone()).or_insert_with(new).clone()
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

    /// Turns down a key that was used for something whose answer is kept here.
    pub fn must_have_none(&self, sender: &Name, key: Option<&Name>) -> Result<(), Refused> {
        let Some(key) = key else { return Ok(()) };
        match self.all().get(sender).is_some_and(|it| it.slots.contains_key(key)) {
            true => Err(conflict(key)),
            false => Ok(()),
        }
    }
}

/// Does something once for a key, and answers the same every time. It is done to its end, whoever stops waiting for it.
pub(crate) async fn answer_once<T: Serialize>(
    app: &App,
    used: Option<KeyUse>,
    work: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Result<Json<Value>, Refused> {
    let Some(used) = used else { return written(&work.await?).map(Json) };
    if journalled(app, &used).await?.is_some() {
        return Err(conflict(&used.key));
    }
    let slot = app.answers.slot(&used);
    if slot.request != used.request {
        return Err(conflict(&used.key));
    }
    let mut answer = slot.answer.clone().lock_owned().await;
    if let Some(first) = answer.as_ref() {
        let mut again = first.clone();
        if let Value::Object(members) = &mut again {
            members.insert("replayed".to_owned(), json!(true));
        }
        return Ok(Json(again));
    }
    let (app, current) = (app.clone(), current());
    let done = tokio::spawn(async move {
        let outcome = during(current, work).await.and_then(|it| written(&it));
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
    use super::*;

    #[test]
    fn the_oldest_answers_of_an_actor_go_first_and_nobody_elses() {
        let answers = Answers::default();
        let (ada, bob) = (Name::new("ada"), Name::new("bob"));
        let keep = |actor: &Name, key: &str, size: usize| {
            let used = KeyUse { sender: actor.clone(), key: Name::new(key), request: "said".into() };
            let slot = answers.slot(&used);
            answers.keep(&used, &slot, size);
        };
        let is_kept = |actor: &Name, key: &str| answers.must_have_none(actor, Some(&Name::new(key))).is_err();
        keep(&bob, "his", 10);
        (0..=MOST).for_each(|it| keep(&ada, &format!("key-{it}"), 1));
        assert!(!is_kept(&ada, "key-0") && is_kept(&ada, "key-1") && is_kept(&bob, "his"));
        keep(&ada, "large", BYTES + 1);
        assert!(
            !is_kept(&ada, "key-1") && is_kept(&ada, "large"),
            "what was done last is known whatever it takes"
        );
    }
}
