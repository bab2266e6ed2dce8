//! A follower of the feed, through crashes: every entry once, in order.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use trackside_engine::event::Entry;
use trackside_runtime::Follower;
use trackside_runtime::simulation::Stepper;

use crate::broken::BrokenPromise;

/// A follower that waits, as it would in async code.
pub(crate) struct JournalListener {
    /// The last entry that it was given.
    after: u64,
    heard: Arc<Mutex<Vec<Entry>>>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl std::fmt::Debug for JournalListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a listener after {}", self.after)
    }
}

impl JournalListener {
    pub fn new() -> Self {
        Self { after: 0, heard: Arc::default(), waiting: None }
    }

    /// The process it listened to has ended.
    pub fn cut_off(&mut self) {
        self.waiting = None;
        self.heard.lock().unwrap().clear();
    }

    /// Listens for a moment; `journal` is the position known to be committed.
    pub fn listen(&mut self, stepper: &Stepper, journal: &[Entry]) -> Result<(), BrokenPromise> {
        let waiting = self.waiting.get_or_insert_with(|| {
            let (follower, heard) = (stepper.follow(self.after), self.heard.clone());
            Box::pin(hear(follower, heard))
        });
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(()) = waiting.as_mut().poll(&mut context) {
            // A read failed: it tries again later.
            self.waiting = None;
        }
        let broken = |what| Err(BrokenPromise::new("a follower sees every entry once, in order", what));
        for entry in std::mem::take(&mut *self.heard.lock().unwrap()) {
            if entry.seq != self.after + 1 {
                return broken(format!("entry {} came after {}", entry.seq, self.after));
            }
            self.after = entry.seq;
            match journal.get(entry.seq as usize - 1) {
                None => return broken(format!("entry {} is not committed", entry.seq)),
                Some(known) if !alike(known, &entry) => {
                    return broken(format!("{entry:?} is not what was committed, {known:?}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Whether it has received everything up to an entry.
    pub fn is_up_to(&self, seq: u64) -> bool {
        self.after == seq
    }
}

/// Whether two entries are equal; texts and values may have been dropped.
fn alike(known: &Entry, heard: &Entry) -> bool {
    let same = |it: &Entry| (it.seq, it.at, it.entity.clone(), it.version, it.event.kind());
    same(known) == same(heard)
}

async fn hear(mut follower: Follower, heard: Arc<Mutex<Vec<Entry>>>) {
    while let Ok(entries) = follower.next().await {
        heard.lock().unwrap().extend(entries.iter().cloned());
    }
}
