//! What lists, screens and the inbox show of a lifecycle: the meaning of each state, and whether it waits for people.

use super::lifecycle::{Lifecycle, MEMBER, State};
use super::partial::{KnownReads, Partial};
use super::read::Read;
use super::transition::{Aim, Arm};
use crate::guard::VarSlot;
use crate::name::Name;
use crate::source::words;
use crate::value::Value;

words! {
    /// The meaning of a state for people.
    pub enum StateMeaning {
        /// Without a worker yet.
        Waiting = "waiting",
        /// Work is in progress.
        Working = "working",
        /// The work waits for a decision about it.
        Review = "review",
        /// It cannot continue without help.
        Stuck = "stuck",
        /// It failed.
        Failed = "failed",
        /// It succeeded.
        Done = "done",
        /// It ended without success or failure.
        Ended = "ended",
    }
}

words! {
    /// Who must move an entity on.
    pub enum StateWaiter {
        /// A person, even if the rules admit others too.
        People = "people",
        /// No person: time, an agent or a later request moves it on.
        Nobody = "nobody",
    }
}

/// Whether a state waits for people, and the transitions by which they decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    pub who: StateWaiter,
    pub approve: Option<Name>,
    pub deny: Option<Name>,
}

/// The transitions by which people approve or deny what waits in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDecision {
    pub approve: Option<Name>,
    pub deny: Option<Name>,
}

/// The role of requests to people.
pub const ASKS_PEOPLE: &str = "approval";
/// Roles of standing records: their states last until someone changes them, and wait for no one.
const RECORDS: &[&str] = &["agent", "channel", MEMBER];

impl Lifecycle {
    /// Whether its entities are requests to people.
    pub fn asks_people(&self) -> bool {
        self.face.as_ref().is_some_and(|it| *it.is == *ASKS_PEOPLE)
    }

    /// The meaning of a state: declared, or else derived from its outcome and the ways out of it.
    pub fn meaning(&self, state: &State) -> StateMeaning {
        if let Some(declared) = state.shows {
            return declared;
        }
        match state.outcome.as_deref() {
            Some("success") => StateMeaning::Done,
            Some("failure") => StateMeaning::Failed,
            Some(_) => StateMeaning::Ended,
            None if state.last => StateMeaning::Ended,
            None if self.ways_out(&state.name).any(|it| it.holding.is_some()) => StateMeaning::Working,
            None if state.name != self.initial && self.waits_for_people(state) => StateMeaning::Review,
            None => StateMeaning::Waiting,
        }
    }

    /// Whether only people move an entity on from a state: declared, or else derived. Derived: it is open, at least
    /// one way out is for people alone, and every other way out is for people too or follows from time.
    pub fn waits_for_people(&self, state: &State) -> bool {
        if let Some(declared) = &state.waits_for {
            return declared.who == StateWaiter::People;
        }
        let stands = self.one || self.face.as_ref().is_some_and(|it| RECORDS.contains(&it.is.as_str()));
        if stands || state.last || state.outcome.is_some() || !state.always.is_empty() {
            return false;
        }
        let admits = |arm: &Arm, caller: Caller| {
            let known = CallerAndState { caller, state: &state.name };
            Partial::new(&self.reads, known).truth(&arm.by) != Some(false)
        };
        let mut for_people = false;
        for arm in self.ways_out(&state.name) {
            if admits(arm, Caller::Agent) {
                return false;
            }
            if admits(arm, Caller::Human) {
                for_people |= !admits(arm, Caller::System) && !admits(arm, Caller::Engine);
            } else if !self.follows_from_time(&arm.transition, &state.name) {
                return false;
            }
        }
        for_people
    }

    /// How people decide in a state that waits for them: as declared; else the transitions `approve` and `deny`; else
    /// the only one that leads forward in the path or to a success, and the only one that leads back, or else to a
    /// failure.
    pub fn decision(&self, state: &State) -> StateDecision {
        if let Some(face) = self.face.as_ref().filter(|_| self.asks_people()) {
            return StateDecision { approve: face.approve.clone(), deny: face.deny.clone() };
        }
        if !self.waits_for_people(state) {
            return StateDecision::default();
        }
        if let Some(WaitsFor { approve, deny, .. }) = &state.waits_for
            && (approve.is_some() || deny.is_some())
        {
            return StateDecision { approve: approve.clone(), deny: deny.clone() };
        }
        let named = |usual: &str| {
            self.ways_out(&state.name).map(|it| &it.transition).find(|it| ***it == *usual).cloned()
        };
        let only = |leads: &dyn Fn(&Name) -> bool| self.only_way(&state.name, leads).cloned();
        let here = self.rank(&state.name);
        let outcome = |it: &Name, word: &str| {
            self.state(it).and_then(|it| it.outcome.as_ref()).is_some_and(|it| **it == *word)
        };
        let rank = |it: &Name| here.zip(self.rank(it));
        let forward =
            |it: &Name| outcome(it, "success") || rank(it).is_some_and(|(here, there)| there > here);
        let back = |it: &Name| rank(it).is_some_and(|(here, there)| there < here);
        let failure = |it: &Name| outcome(it, "failure");
        StateDecision {
            approve: named("approve").or_else(|| only(&forward)),
            deny: named("deny").or_else(|| only(&back)).or_else(|| only(&failure)),
        }
    }

    /// Whether a transition can move an entity out of a state.
    pub fn leads_out(&self, transition: &Name, state: &Name) -> bool {
        self.ways_out(state).any(|it| it.transition == *transition)
    }

    /// The only transition out of a state for people whose targets are all of one direction.
    fn only_way<'a>(&'a self, state: &'a Name, leads: &dyn Fn(&Name) -> bool) -> Option<&'a Name> {
        let known = CallerAndState { caller: Caller::Human, state };
        let admitted = Partial::new(&self.reads, known);
        let mut found: Vec<&Name> = Vec::new();
        for arm in self.ways_out(state).filter(|it| admitted.truth(&it.by) != Some(false)) {
            let aims = arm.target.aims();
            let mut targets = aims.iter().filter(|it| ***it != Aim::Stay).peekable();
            let some = targets.peek().is_some();
            let all = targets.all(|aim| match aim {
                Aim::State(name) => leads(name),
                Aim::Next { of: None } => self.after(state).is_some_and(leads),
                _ => false,
            });
            if some && all && !found.contains(&&arm.transition) {
                found.push(&arm.transition);
            }
        }
        match found.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The rules by which an entity leaves a state.
    fn ways_out<'a>(&'a self, state: &'a Name) -> impl Iterator<Item = &'a Arm> {
        let moves = |it: &&Arm| it.target.aims().into_iter().any(|it| *it != Aim::Stay);
        self.arms().filter(|it| it.from.has(state)).filter(moves)
    }

    /// Whether a timer that runs in the state fires the transition.
    fn follows_from_time(&self, transition: &Name, state: &Name) -> bool {
        let mut timers = self.timers.iter().filter(|it| it.runs.has(state));
        timers.any(|it| it.then.as_ref().is_some_and(|it| it.fire == *transition))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Human,
    Agent,
    System,
    Engine,
}

/// The kind of the caller and the state are known.
#[derive(Clone, Copy, Debug)]
struct CallerAndState<'a> {
    caller: Caller,
    state: &'a Name,
}

impl KnownReads for CallerAndState<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        let is = |kinds: &[Caller]| Some(Value::Bool(kinds.contains(&self.caller)));
        match read {
            Read::State => Some(Value::from(self.state)),
            Read::Human => is(&[Caller::Human]),
            Read::Agent => is(&[Caller::Agent]),
            Read::System => is(&[Caller::System, Caller::Engine]),
            Read::Engine => is(&[Caller::Engine]),
            // The engine has no roles.
            Read::Role(_) | Read::Admin if self.caller == Caller::Engine => Some(Value::Bool(false)),
            _ => None,
        }
    }
}
