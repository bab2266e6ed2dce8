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
use super::load::{Target, broken_off};
use super::wire::Wire;
use crate::Trouble;
use crate::subject::{Answer, Ask, Figures, Outcome, Size, Subject};

/// Connections served by one thread; commands wait while all of them are busy.
pub(crate) struct Lines {
    to: Option<UnboundedSender<(Ask, Answer)>>,
    thread: Option<JoinHandle<()>>,
    entities: u64,
}

impl Lines {
    pub fn open(to: SocketAddr, target: Arc<dyn Target>, lines: u32, entities: u64) -> Result<Self, Trouble> {
        let runtime = small_runtime()?;
        let wires = runtime.block_on(async {
            let mut wires = Vec::new();
            for _ in 0..lines.max(1) {
                wires.push(Wire::open(to).await?);
            }
            Ok(wires)
        });
        let wires = wires.map_err(broken_off)?;
        let (to, asked) = unbounded_channel();
        let serve = move || LocalSet::new().block_on(&runtime, serve(wires, target, asked));
        let thread =
            std::thread::Builder::new().name("lines".to_owned()).spawn(serve).map_err(Trouble::other)?;
        Ok(Self { to: Some(to), thread: Some(thread), entities })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.to.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Subject for Lines {
    /// The store is filled before the connections are opened.
    fn prepare(&self, _: Size, _: &dyn Fn(f64)) -> Result<(), Trouble> {
        Ok(())
    }

    fn submit(&self, ask: Ask, answer: Answer) {
        if let Some(to) = &self.to {
            // One that cannot be sent is dropped, which counts as failed.
            to.send((ask, answer)).ok();
        }
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }

    fn entities(&self) -> u64 {
        self.entities
    }
}

/// Requests that wait for a free line.
#[derive(Default)]
struct Queue {
    asks: RefCell<VecDeque<(Ask, Answer)>>,
    more: Notify,
}

async fn serve(wires: Vec<Wire>, target: Arc<dyn Target>, mut asked: UnboundedReceiver<(Ask, Answer)>) {
    let queue = Rc::new(Queue::default());
    for wire in wires {
        tokio::task::spawn_local(line(wire, target.clone(), queue.clone()));
    }
    while let Some(ask) = asked.recv().await {
        queue.asks.borrow_mut().push_back(ask);
        queue.more.notify_one();
    }
}

async fn line(mut wire: Wire, target: Arc<dyn Target>, queue: Rc<Queue>) {
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
            Ok(reply) => answer.give(target.answered(ask, &reply)),
            // The connection is gone; its waiters use another one.
            Err(_) => return answer.give(Outcome::Failed),
        }
    }
}
