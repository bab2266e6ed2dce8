//! Follows futures without an async runtime.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll, Wake, Waker};

use crate::subject::{AnswerSender, CommandOutcome};

impl AnswerSender {
    /// Passes on the result of a future, on the thread that completes it.
    ///
    /// A future whose waker is dropped before it completes counts as failed.
    pub fn follow<F>(self, future: F, outcome_of: fn(F::Output) -> CommandOutcome)
    where
        F: Future + Send + 'static,
    {
        let waits = Mutex::new(Some((Box::pin(future), self)));
        Arc::new(AnswerTask { waits, outcome_of, again: AtomicBool::new(false) }).resume();
    }
}

/// A future and the answer it is for, until it is complete.
struct AnswerTask<F: Future> {
    waits: Mutex<Option<(Pin<Box<F>>, AnswerSender)>>,
    outcome_of: fn(F::Output) -> CommandOutcome,
    /// Another thread woke this one.
    again: AtomicBool,
}

impl<F: Future + Send + 'static> AnswerTask<F> {
    fn resume(self: &Arc<Self>) {
        self.again.store(true, Ordering::SeqCst);
        while self.again.load(Ordering::SeqCst) {
            let mut waits = match self.waits.try_lock() {
                Ok(it) => it,
                Err(TryLockError::Poisoned(it)) => it.into_inner(),
                // The current runner reads `again` once more when it is done.
                Err(TryLockError::WouldBlock) => return,
            };
            self.again.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(self));
            let Some((mut future, answer)) = waits.take() else { return };
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => answer.give((self.outcome_of)(output)),
                Poll::Pending => *waits = Some((future, answer)),
            }
        }
    }
}

impl<F: Future + Send + 'static> Wake for AnswerTask<F> {
    fn wake(self: Arc<Self>) {
        self.resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use crate::subject::TimedAnswer;

    /// A future that completes on request; the waker belongs to the completing side.
    #[derive(Default)]
    struct Later(Mutex<(Option<u8>, Option<Waker>)>);

    impl Later {
        fn complete(&self, value: u8) {
            let waker = {
                let mut it = self.0.lock().unwrap();
                it.0 = Some(value);
                it.1.take()
            };
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn poll(later: &Later, context: &mut Context<'_>) -> Poll<u8> {
        let mut it = later.0.lock().unwrap();
        it.1 = Some(context.waker().clone());
        it.0.map_or(Poll::Pending, Poll::Ready)
    }

    fn outcome_of(value: u8) -> CommandOutcome {
        if value == 1 { CommandOutcome::Done } else { CommandOutcome::Refused }
    }

    fn answer() -> (AnswerSender, Receiver<TimedAnswer>) {
        let (to, answers) = channel();
        (AnswerSender::new(to, 0, Instant::now()), answers)
    }

    #[test]
    fn a_complete_future_is_reported_at_once() {
        let (answer, answers) = answer();
        answer.follow(std::future::ready(2), outcome_of);
        assert_eq!(answers.try_recv().unwrap().outcome, CommandOutcome::Refused);
    }

    #[test]
    fn a_future_completed_by_another_thread_is_reported_once() {
        for _ in 0..200 {
            let (answer, answers) = answer();
            let later = Arc::new(Later::default());
            let seen = Arc::clone(&later);
            let completing = std::thread::spawn({
                let later = Arc::clone(&later);
                move || later.complete(1)
            });
            answer.follow(std::future::poll_fn(move |context| poll(&seen, context)), outcome_of);
            completing.join().unwrap();
            let all: Vec<CommandOutcome> = answers.try_iter().map(|it| it.outcome).collect();
            assert_eq!(all, [CommandOutcome::Done]);
        }
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again() {
        let (answer, answers) = answer();
        let mut left = 3;
        let future = std::future::poll_fn(move |context| {
            left -= 1;
            context.waker().wake_by_ref();
            if left == 0 { Poll::Ready(1) } else { Poll::Pending }
        });
        answer.follow(future, outcome_of);
        assert_eq!(answers.try_recv().unwrap().outcome, CommandOutcome::Done);
    }

    #[test]
    fn a_future_whose_waker_is_dropped_fails() {
        let (answer, answers) = answer();
        answer.follow(std::future::pending(), outcome_of);
        assert_eq!(answers.try_recv().unwrap().outcome, CommandOutcome::Failed);
    }
}
