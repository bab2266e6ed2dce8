//! What is asked for under a key is done once: answers that no entry of the journal could give again are kept here, as
//! long as the server runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command, Said};
use trackside_lifecycle::name::Name;

use super::Wanted;
use crate::app::App;
use crate::auth::Caller;
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
    said: String,
    answer: Arc<tokio::sync::Mutex<Option<Value>>>,
}

impl Answers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Name, Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a key, a new one if it was not used.
    fn slot(&self, actor: &Name, key: &Name, said: &str) -> Arc<Slot> {
        let mut all = self.all();
        let new = || Arc::new(Slot { said: said.to_owned(), answer: Arc::default() });
        all.entry(actor.clone()).or_default().slots.entry(key.clone()).or_insert_with(new).clone()
    }

    /// Keeps an answer.
    fn keep(&self, actor: &Name, key: &Name, slot: &Arc<Slot>, size: usize) {
        let mut all = self.all();
        let own = all.entry(actor.clone()).or_default();
        own.slots.insert(key.clone(), slot.clone());
        own.order.push_back((key.clone(), size));
        own.bytes = own.bytes.saturating_add(size);
        while own.order.len() > 1 && (own.order.len() > MOST || own.bytes > BYTES) {
            let Some((oldest, size)) = own.order.pop_front() else { break };
            own.bytes = own.bytes.saturating_sub(size);
            own.slots.remove(&oldest);
        }
    }

    /// A refusal is not kept: the key may be used again, for something else, too.
    fn give_up(&self, actor: &Name, key: &Name, slot: &Arc<Slot>) {
        let mut all = self.all();
        if let Some(own) = all.get_mut(actor)
            && own.slots.get(key).is_some_and(|it| Arc::ptr_eq(it, slot))
        {
            own.slots.remove(key);
        }
    }

    /// Turns down a key that was used for something whose answer is kept here.
    pub fn must_be_unused(&self, actor: &Name, key: Option<&Name>) -> Result<(), Refused> {
        let Some(key) = key else { return Ok(()) };
        match self.all().get(actor).is_some_and(|it| it.slots.contains_key(key)) {
            true => Err(conflict(key)),
            false => Ok(()),
        }
    }
}

/// A request as a digest: who for, where, and the body.
pub(crate) fn said(caller: &Caller, path: &str, body: &impl Serialize) -> String {
    let whose = caller.on_behalf_of.as_deref().unwrap_or_default();
    let text = serde_json::to_string(&(whose, path, body)).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(16).map(|it| format!("{it:02x}")).collect()
}

/// Says of a command what its whole request said.
pub(crate) fn of_request(mut command: Command, said: &str, place: Option<usize>) -> Command {
    command.said = Some(Said { digest: Arc::from(said), place });
    command
}

/// Does something once for a key, and answers the same every time. It is done to its end, whoever stops waiting for it.
pub(crate) async fn once<T: Serialize>(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
    said: String,
    work: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Result<Json<Value>, Refused> {
    let Some(key) = wanted.key.clone() else { return written(&work.await?).map(Json) };
    let actor = caller.actor().id.clone();
    if known(app, caller, &key, &said).await?.is_some() {
        return Err(conflict(&key));
    }
    let slot = app.answers.slot(&actor, &key, &said);
    if slot.said != said {
        return Err(conflict(&key));
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
                app.answers.keep(&actor, &key, &slot, told.to_string().len());
            }
            Err(_) => app.answers.give_up(&actor, &key, &slot),
        }
        outcome
    });
    done.await.map_err(Refused::broken)?.map(Json)
}

/// What the journal knows of a key: nothing, or where the first answer to this request is. Used for another request it
/// is turned down.
pub(crate) async fn known(
    app: &App,
    caller: &Caller,
    key: &Name,
    said: &str,
) -> Result<Option<(u64, u32, u32)>, Refused> {
    let mut command = of_request(Command::new(caller.actor().clone(), Ask::Adopt(Vec::new())), said, None);
    command.idempotency_key = Some(key.clone());
    Ok(match app.gateway.dry_run(command)?.await? {
        Decision::Replayed { first, entries, root } => Some((first, entries, root)),
        Decision::Refused(refusal) if refusal.code == "idempotency-conflict" => {
            return Err((&*refusal).into());
        }
        _ => None,
    })
}

/// The key was used for another request.
pub(crate) fn conflict(key: &Name) -> Refused {
    let detail = format!("The key {key} was used for another request. Use a new key for a new request.");
    Refused::new(StatusCode::CONFLICT, "idempotency-conflict", detail)
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
            let key = Name::new(key);
            let slot = answers.slot(actor, &key, "said");
            answers.keep(actor, &key, &slot, size);
        };
        let is_kept = |actor: &Name, key: &str| answers.must_be_unused(actor, Some(&Name::new(key))).is_err();
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
