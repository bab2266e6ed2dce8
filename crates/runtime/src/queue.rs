//! The queue in front of the decider: one lane per actor, served by deficit round robin.
//!
//! An actor that waits for nothing yet is served before actors with a backlog, so a storm by one actor delays the others
//! by at most the work that is already taken. A lane is bounded, and a full one rejects work of its own actor only.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use trackside_engine::actor::{Actor, ActorKind, ENGINE};
use trackside_engine::command::Command;
use trackside_lifecycle::name::Name;

use crate::work::Work;

/// The cost that a lane may use before the next lane is served. A command costs one, and one more for every
/// [`BYTES`] of its fields.
const QUANTUM: i64 = 4;
/// Bytes of fields that cost as much as a command.
const BYTES: usize = 4 * 1024;
/// Work that costs more begins a step of its own: answers that are decided before it do not wait for it.
const LARGE: usize = 32;
/// The share of the queue that every lane has, however many lanes there are.
const FLOOR: usize = 16;

/// The actor that work is queued for. The server's own work has a lane of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    kind: &'static str,
    id: Name,
}

impl LaneKey {
    /// Timers, sweeps, definitions, the manual clock, and other work that no caller sent.
    pub fn system() -> Self {
        Self { kind: ActorKind::System.as_str(), id: Name::new(ENGINE) }
    }

    pub fn of_actor(actor: &Actor) -> Self {
        Self { kind: actor.kind.as_str(), id: actor.id.clone() }
    }

    /// The sender of a command. What the server does for a caller counts as that caller's.
    pub fn of_command(command: &Command) -> Self {
        match &command.on_behalf_of {
            Some(subject) if *command.actor.id == *ENGINE => Self { kind: "for", id: subject.clone() },
            _ => Self::of_actor(&command.actor),
        }
    }
}

/// Why work was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// Too much work of the same actor waits.
    LaneFull,
    Stopped,
}

/// Work with its number: the first that was accepted has number 0.
#[derive(Debug)]
pub(crate) struct Ticket {
    #[cfg_attr(
        not(feature = "simulation"),
        allow(dead_code, reason = "a simulation matches requests by it")
    )]
    pub number: u64,
    pub work: Work,
}

/// The queue. Clone it for every sender.
#[derive(Clone)]
pub(crate) struct WorkQueue(Arc<Inner>);

struct Inner {
    lanes: Mutex<Lanes>,
    arrived: Condvar,
}

struct Lanes {
    /// The cost that may wait, shared by all lanes.
    most: usize,
    by_key: HashMap<LaneKey, Lane, FixedState>,
    /// Lanes that had nothing waiting before; they are served first, once.
    fresh: VecDeque<LaneKey>,
    /// Other lanes, in the order in which they are served.
    served: VecDeque<LaneKey>,
    /// The number of waiting items.
    waiting: usize,
    /// Their cost.
    cost: usize,
    next_number: u64,
    /// The cost of waiting items at which the decider wants to be woken; none while it does not sleep.
    wake_at: Option<usize>,
    stopping: bool,
    closed: bool,
}

#[derive(Default)]
struct Lane {
    items: VecDeque<Item>,
    /// The cost of `items`.
    cost: usize,
    /// The cost it may still use; negative after an item that cost more.
    credit: i64,
}

struct Item {
    ticket: Ticket,
    cost: usize,
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waiting", self.waiting())
    }
}

impl WorkQueue {
    /// A queue in which a lone actor may have `most` commands waiting.
    pub fn new(most: usize) -> Self {
        let lanes = Lanes {
            most: most.max(1),
            by_key: HashMap::default(),
            fresh: VecDeque::new(),
            served: VecDeque::new(),
            waiting: 0,
            cost: 0,
            next_number: 0,
            wake_at: None,
            stopping: false,
            closed: false,
        };
        Self(Arc::new(Inner { lanes: Mutex::new(lanes), arrived: Condvar::new() }))
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds work of one actor: all of it, or none.
    pub fn push(&self, key: LaneKey, work: Vec<Work>) -> Result<(), Rejected> {
        let costs: Vec<usize> = work.iter().map(cost_of).collect();
        let mut lanes = self.lanes();
        if lanes.stopping || lanes.closed {
            return Err(Rejected::Stopped);
        }
        lanes.push(key, work, &costs)?;
        let wake = lanes.wake_at.is_some_and(|it| lanes.cost >= it);
        if wake {
            lanes.wake_at = None;
        }
        drop(lanes);
        if wake {
            self.0.arrived.notify_one();
        }
        Ok(())
    }

    /// Rejects work from now on. After the waiting work, the decider takes [`Work::Stop`].
    pub fn stop(&self) {
        let mut lanes = self.lanes();
        lanes.stopping = true;
        lanes.wake_at = None;
        drop(lanes);
        self.0.arrived.notify_one();
    }

    pub fn is_stopping(&self) -> bool {
        self.lanes().stopping
    }

    /// The decider has ended: drops the waiting work, so that its callers get an error.
    pub fn close(&self) {
        let mut lanes = self.lanes();
        lanes.closed = true;
        (lanes.waiting, lanes.cost) = (0, 0);
        let dropped = std::mem::take(&mut lanes.by_key);
        lanes.fresh.clear();
        lanes.served.clear();
        drop(lanes);
        drop(dropped);
    }

    /// Waits until items of this cost wait, or the queue stops, or for as long as `time`.
    pub fn wait(&self, wanted: usize, time: Duration) {
        let begun = Instant::now();
        let mut lanes = self.lanes();
        while lanes.cost < wanted && !lanes.stopping {
            let Some(left) = time.checked_sub(begun.elapsed()).filter(|it| !it.is_zero()) else { break };
            lanes.wake_at = Some(wanted);
            let woken = self.0.arrived.wait_timeout(lanes, left).unwrap_or_else(PoisonError::into_inner);
            lanes = woken.0;
            // Also if the clock went back meanwhile.
            if woken.1.timed_out() {
                break;
            }
        }
        lanes.wake_at = None;
    }

    /// The number of waiting items.
    pub fn waiting(&self) -> usize {
        self.lanes().waiting
    }

    /// The cost of the waiting items: about the number of their commands.
    pub fn waiting_cost(&self) -> usize {
        self.lanes().cost
    }

    /// The number of items that were accepted so far.
    #[cfg(feature = "simulation")]
    pub fn accepted(&self) -> u64 {
        self.lanes().next_number
    }

    /// Takes the next item. [`Work::Stop`] comes last.
    pub fn take(&self) -> Option<Ticket> {
        self.take_up_to(usize::MAX)
    }

    /// Takes the next item for a step that has `taken` items already; none if the next one begins a step of its own.
    pub fn take_for_step(&self, taken: usize) -> Option<Ticket> {
        self.take_up_to(if taken == 0 { usize::MAX } else { LARGE })
    }

    fn take_up_to(&self, cost: usize) -> Option<Ticket> {
        let mut lanes = self.lanes();
        match lanes.take(cost) {
            Some(ticket) => Some(ticket),
            None if lanes.waiting == 0 && lanes.stopping && !lanes.closed => {
                lanes.closed = true;
                Some(Ticket { number: lanes.next_number, work: Work::Stop })
            }
            None => None,
        }
    }

    /// Takes items until none is left.
    pub fn drain(&self) -> impl Iterator<Item = Work> {
        std::iter::from_fn(|| self.take().map(|it| it.work))
    }

    /// Takes items for one step.
    pub fn drain_step(&self) -> impl Iterator<Item = Work> {
        let mut taken = 0;
        std::iter::from_fn(move || {
            let ticket = self.take_for_step(taken)?;
            taken += 1;
            Some(ticket.work)
        })
    }
}

impl Lanes {
    fn push(&mut self, key: LaneKey, work: Vec<Work>, costs: &[usize]) -> Result<(), Rejected> {
        let is_new = !self.by_key.contains_key(&key);
        let share = self.most / (self.by_key.len() + usize::from(is_new)).max(1);
        let share = share.max(FLOOR.min(self.most));
        let more: usize = costs.iter().sum();
        let lane = self.by_key.entry(key.clone()).or_default();
        // A request that is larger than the share passes once nothing else of its actor waits.
        if !lane.items.is_empty() && lane.cost + more > share {
            return Err(Rejected::LaneFull);
        }
        if is_new {
            lane.credit = QUANTUM;
            self.fresh.push_back(key);
        }
        for (work, cost) in work.into_iter().zip(costs) {
            let ticket = Ticket { number: self.next_number, work };
            lane.items.push_back(Item { ticket, cost: *cost });
            lane.cost += cost;
            self.next_number += 1;
            self.waiting += 1;
            self.cost += cost;
        }
        Ok(())
    }

    /// The next item by deficit round robin. A lane without items stays until its turn comes, so that an actor cannot
    /// get ahead by sending its next command only after the last one was taken. None if the next item costs more than
    /// `most`: it stays the next one.
    fn take(&mut self, most: usize) -> Option<Ticket> {
        if self.waiting == 0 {
            // The queue is empty, so every deficit is zero.
            self.by_key.clear();
            self.fresh.clear();
            self.served.clear();
            return None;
        }
        loop {
            let is_fresh = !self.fresh.is_empty();
            let ring = if is_fresh { &mut self.fresh } else { &mut self.served };
            let key = ring.front()?;
            let Some(lane) = self.by_key.get_mut(key) else {
                ring.pop_front();
                continue;
            };
            if lane.credit > 0 && lane.items.front().is_some_and(|it| it.cost > most) {
                return None;
            }
            if lane.credit > 0
                && let Some(item) = lane.items.pop_front()
            {
                lane.cost -= item.cost;
                self.cost -= item.cost;
                lane.credit -= i64::try_from(item.cost).unwrap_or(i64::MAX);
                self.waiting -= 1;
                return Some(item.ticket);
            }
            let is_over = lane.items.is_empty() && lane.credit >= 0 && !is_fresh;
            lane.credit = (lane.credit + QUANTUM).min(QUANTUM);
            let Some(key) = ring.pop_front() else { continue };
            match is_over {
                true => {
                    self.by_key.remove(&key);
                }
                false => self.served.push_back(key),
            }
        }
    }
}

/// The cost of work: its commands, and the bytes they carry.
fn cost_of(work: &Work) -> usize {
    let of = |it: &Command| it.units() + it.bytes() / BYTES;
    match work {
        Work::Command(command, ..) => of(command),
        Work::Atomic(commands, ..) | Work::Trial(commands, ..) => {
            commands.iter().map(of).sum::<usize>().max(1)
        }
        Work::Look(..)
        | Work::Advance(..)
        | Work::CorrectClock(..)
        | Work::Sweep(..)
        | Work::Stop
        | Work::Law(..) => 1,
    }
}

#[cfg(test)]
mod tests {
    use trackside_engine::command::Ask;
    use trackside_engine::key::EntityKey;

    use super::*;
    use crate::work::SubmitOptions;

    fn command(actor: &str) -> Command {
        let entity = EntityKey::new("a.thing", "T-1");
        Command::new(Actor::new(actor, ActorKind::Agent), Ask::Inspect { entity })
    }

    fn work(actor: &str) -> Work {
        Work::Command(Box::new(command(actor)), Box::new(|_| ()), SubmitOptions::default())
    }

    fn push(queue: &WorkQueue, actor: &str, many: usize) -> Result<(), Rejected> {
        (0..many).try_for_each(|_| {
            let command = command(actor);
            queue.push(LaneKey::of_command(&command), vec![work(actor)])
        })
    }

    fn sender(ticket: &Ticket) -> String {
        match &ticket.work {
            Work::Command(command, ..) => command.actor.id.to_string(),
            Work::Atomic(commands, ..) => commands[0].actor.id.to_string(),
            other => format!("{other:?}"),
        }
    }

    fn order(queue: &WorkQueue) -> Vec<String> {
        std::iter::from_fn(|| queue.take()).map(|it| sender(&it)).collect()
    }

    #[test]
    fn an_actor_with_nothing_waiting_is_served_before_a_backlog() {
        let queue = WorkQueue::new(100_000);
        push(&queue, "storm", 10_000).unwrap();
        (0..100).for_each(|_| drop(queue.take()));
        push(&queue, "quiet", 1).unwrap();
        let next: Vec<String> = (0..=QUANTUM).filter_map(|_| queue.take()).map(|it| sender(&it)).collect();
        assert!(next.contains(&"quiet".to_owned()), "{next:?}");
        assert_eq!(queue.waiting(), 10_000 - 100 - QUANTUM as usize);
    }

    #[test]
    fn actors_with_a_backlog_get_equal_shares() {
        let queue = WorkQueue::new(1_000);
        push(&queue, "ada", 90).unwrap();
        push(&queue, "bob", 90).unwrap();
        push(&queue, "eve", 90).unwrap();
        let first: Vec<String> = order(&queue).into_iter().take(120).collect();
        for actor in ["ada", "bob", "eve"] {
            let many = first.iter().filter(|it| *it == actor).count();
            assert!((40 - QUANTUM as usize..=40 + QUANTUM as usize).contains(&many), "{actor}: {many}");
        }
    }

    #[test]
    fn a_batch_costs_as_much_as_its_commands() {
        let queue = WorkQueue::new(1_000);
        for _ in 0..3 {
            let commands = vec![command("storm"); 40];
            let key = LaneKey::of_command(&commands[0]);
            queue.push(key, vec![Work::Atomic(commands, Box::new(|_| ()), Vec::new())]).unwrap();
        }
        push(&queue, "bob", 100).unwrap();
        let order = order(&queue);
        let batches: Vec<usize> = (0..order.len()).filter(|it| order[*it] == "storm").collect();
        let between = batches[1] - batches[0] - 1;
        assert!((36..=44).contains(&between), "{between} commands of bob between two batches of 40");
    }

    #[test]
    fn a_large_batch_begins_a_step_of_its_own() {
        let queue = WorkQueue::new(10_000);
        let push_batch = |actor: &str, size: usize| {
            let commands = vec![command(actor); size];
            let key = LaneKey::of_command(&commands[0]);
            queue.push(key, vec![Work::Atomic(commands, Box::new(|_| ()), Vec::new())]).unwrap();
        };
        let step = || queue.drain_step().count();
        push(&queue, "quiet", 2).unwrap();
        push_batch("storm", 1_000);
        push_batch("other", LARGE);
        push(&queue, "bob", 3).unwrap();
        assert_eq!((queue.waiting(), queue.waiting_cost()), (7, 1_005 + LARGE));
        queue.stop();
        assert_eq!(step(), 2, "those of quiet do not wait for the batch");
        assert_eq!(step(), 5 + 1, "the batch, what follows, and the end");
        assert_eq!((queue.waiting(), queue.waiting_cost()), (0, 0));
    }

    #[test]
    fn an_actor_that_sends_one_at_a_time_does_not_get_ahead() {
        let queue = WorkQueue::new(1_000);
        push(&queue, "bob", 200).unwrap();
        push(&queue, "ada", 1).unwrap();
        let mut taken = Vec::new();
        for _ in 0..100 {
            let next = sender(&queue.take().unwrap());
            if next == "ada" {
                push(&queue, "ada", 1).unwrap();
            }
            taken.push(next);
        }
        let bob = taken.iter().filter(|it| *it == "bob").count();
        assert!(bob >= 45, "bob was served {bob} times of 100");
    }

    #[test]
    fn a_full_lane_rejects_its_own_actor_only() {
        let queue = WorkQueue::new(64);
        assert_eq!(push(&queue, "storm", 65), Err(Rejected::LaneFull));
        assert_eq!(push(&queue, "quiet", 16), Ok(()));
        assert_eq!(push(&queue, "storm", 1), Err(Rejected::LaneFull));
        assert_eq!(queue.waiting(), 80);
        // A large request passes alone, all of it or nothing.
        let large = (0..100).map(|_| work("large")).collect();
        queue.push(LaneKey::of_command(&command("large")), large).unwrap();
        let more = vec![work("large")];
        assert_eq!(queue.push(LaneKey::of_command(&command("large")), more), Err(Rejected::LaneFull));
        assert_eq!(queue.waiting(), 180);
    }

    #[test]
    fn the_end_comes_after_everything_that_was_accepted() {
        let queue = WorkQueue::new(8);
        push(&queue, "ada", 3).unwrap();
        queue.stop();
        assert_eq!(push(&queue, "ada", 1), Err(Rejected::Stopped));
        assert_eq!(order(&queue), ["ada", "ada", "ada", "stop"]);
        assert!(queue.take().is_none());
    }
}
