//! Connections that take commands and answer them, for open loads.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use super::child::small_runtime;
use super::load::{HttpTarget, broken_off};
use super::wire::HttpConnection;
use crate::BenchError;
use crate::subject::{AnswerSender, CommandOutcome, CommitTotals, LoadCommand, StoreSize, Subject};

/// Connections served by one thread; commands wait while all of them are busy.
pub(crate) struct HttpConnections {
    to: Option<UnboundedSender<(LoadCommand, AnswerSender)>>,
    thread: Option<JoinHandle<()>>,
    entities: u64,
}

impl HttpConnections {
    pub fn open(
        to: SocketAddr,
        target: Arc<dyn HttpTarget>,
        lines: u32,
        entities: u64,
    ) -> Result<Self, BenchError> {
        let runtime = small_runtime()?;
        let wires = runtime.block_on(async {
            let mut wires = Vec::new();
            for _ in 0..lines.max(1) {
                wires.push(HttpConnection::open(to).await?);
            }
            Ok(wires)
        });
        let wires = wires.map_err(broken_off)?;
        let (to, asked) = unbounded_channel();
        let serve = move || LocalSet::new().block_on(&runtime, serve(wires, target, asked));
        let thread =
            std::thread::Builder::new().name("lines".to_owned()).spawn(serve).map_err(BenchError::other)?;
        Ok(Self { to: Some(to), thread: Some(thread), entities })
    }
}

impl Drop for HttpConnections {
    fn drop(&mut self) {
        drop(self.to.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Subject for HttpConnections {
    /// The store is filled before the connections are opened.
    fn prepare(&self, _: StoreSize, _: &dyn Fn(f64)) -> Result<(), BenchError> {
        Ok(())
    }

    fn submit(&self, ask: LoadCommand, answer: AnswerSender) {
        if let Some(to) = &self.to {
            // One that cannot be sent is dropped, which counts as failed.
            to.send((ask, answer)).ok();
        }
    }

    fn figures(&self) -> CommitTotals {
        CommitTotals::default()
    }

    fn entities(&self) -> u64 {
        self.entities
    }
}

/// Requests that wait for a free line.
#[derive(Default)]
struct Queue {
    asks: RefCell<VecDeque<(LoadCommand, AnswerSender)>>,
    more: Notify,
}

async fn serve(
    wires: Vec<HttpConnection>,
    target: Arc<dyn HttpTarget>,
    mut asked: UnboundedReceiver<(LoadCommand, AnswerSender)>,
) {
    let queue = Rc::new(Queue::default());
    for wire in wires {
        tokio::task::spawn_local(line(wire, target.clone(), queue.clone()));
    }
    while let Some(ask) = asked.recv().await {
        queue.asks.borrow_mut().push_back(ask);
        queue.more.notify_one();
    }
}

async fn line(mut wire: HttpConnection, target: Arc<dyn HttpTarget>, queue: Rc<Queue>) {
    let mut request = Vec::with_capacity(2_048);
    loop {
        let next = queue.asks.borrow_mut().pop_front();
        let Some((ask, answer)) = next else {
            queue.more.notified().await;
            continue;
        };
        request.clear();
        target.request(ask, &mut request);
        match wire.ask(&request).await {
            Ok(reply) => answer.give(target.classify_reply(ask, &reply)),
            // The connection is gone; its waiters use another one.
            Err(_) => return answer.give(CommandOutcome::Failed),
        }
    }
}
