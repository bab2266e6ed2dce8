//! Whether a condition can ever be true, or ever be false, found by trying.
//!
//! Each read gets a handful of values that stand for all it may yield, and the real expression is
//! run over their combinations. Where nothing can be assumed about a read, reading it fails; an
//! expression that is decided all the same is decided. So the answer is either certain or open.

mod actors;
mod candidates;
mod kinds;
mod pool;
mod profile;

use std::cell::Cell;

pub use actors::Who;
use actors::{Actor, actors};
use candidates::{around, candidates};
use profile::Profile;
use trackside_lifecycle::guard::{Fault, Guard, Scope, Slot};
use trackside_lifecycle::model::{Read, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::facts::Facts;

/// Most combinations tried; beyond it nothing is said.
const MOST: usize = 20_000;

/// Under which the engine itself acts.
const ENGINE: &str = "trackside";

/// What can be said about conditions that must hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Never,
    Always,
    /// Now so, now otherwise; or it cannot be told.
    Open,
}

/// What is fixed while a condition is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// The entity is in one of these states; none: in any.
    pub states: &'a [Name],
    pub who: Option<Who>,
    /// What the request may bring.
    pub takes: &'a [Take],
}

/// Whether all of these can be true at once, or always are.
pub fn ask(facts: &Facts<'_>, guards: &[&Guard], given: Given<'_>) -> Answer {
    if let Some(answer) = constant(guards) {
        return answer;
    }
    let (mut seen_true, mut seen_false) = (false, false);
    let finished = try_all(facts, guards, given, true, |trial| {
        match trial.all(guards) {
            Some(true) => seen_true = true,
            Some(false) => seen_false = true,
            None => return false,
        }
        !(seen_true && seen_false)
    });
    match (finished, seen_true, seen_false) {
        (true, false, true) => Answer::Never,
        (true, true, false) => Answer::Always,
        _ => Answer::Open,
    }
}

/// Whether whatever makes the first true makes the second true as well.
pub fn implies(facts: &Facts<'_>, first: &Guard, second: &Guard, given: Given<'_>) -> bool {
    if first.source() == second.source() || second.constant() == Some(&Value::Bool(true)) {
        return true;
    }
    try_all(facts, &[first, second], given, false, |trial| {
        matches!((trial.all(&[first]), trial.all(&[second])), (Some(false), _) | (_, Some(true)))
    })
}

/// Tries every combination until `go_on` says no; false if it did, or if there are too many.
/// `straight`: it is only asked whether all hold.
fn try_all(
    facts: &Facts<'_>,
    guards: &[&Guard],
    given: Given<'_>,
    straight: bool,
    mut go_on: impl FnMut(&Trial<'_>) -> bool,
) -> bool {
    let profile = Profile::of(facts, guards);
    let all = profile.plain.union(&profile.opaque);
    let reads: Vec<&Read> = all.filter_map(|it| facts.life.reads.get(it.0 as usize)).collect();
    let mut axes: Vec<(Slot, Vec<Value>)> = Vec::new();
    for slot in profile.plain.iter().filter(|it| !profile.is_opaque(**it)) {
        let Some(read) = facts.life.reads.get(slot.0 as usize) else { continue };
        if of_the_actor(read) || matches!(read, Read::State) {
            continue;
        }
        let mut circle = profile.circle(*slot);
        around(facts, &mut circle);
        if let Some(values) = candidates(facts, read, &circle, &given).filter(|it| !it.is_empty()) {
            axes.push((*slot, values));
        }
    }
    let states: Vec<Name> = match given.states {
        [] => facts.life.states.iter().map(|it| it.name.clone()).collect(),
        some => some.to_vec(),
    };
    let reads_state = reads.iter().any(|it| matches!(it, Read::State));
    let states = states.get(..if reads_state { states.len() } else { 1 }).unwrap_or_default();
    let Some(actors) = actors(&reads, given.who, straight && !profile.bent) else { return false };
    let sizes = [actors.len(), states.len()].into_iter().chain(axes.iter().map(|(_, it)| it.len()));
    let total = sizes.into_iter().try_fold(1_usize, |all, it| all.checked_mul(it.max(1)));
    let Some(total) = total.filter(|it| *it <= MOST) else { return false };
    let stride = stride(total);
    (0..total).all(|n| go_on(&Trial::pick(facts, (n * stride) % total, &actors, states, &axes)))
}

/// Whether they can all be true at once, as far as can be told.
pub fn possible(facts: &Facts<'_>, guards: &[&Guard], given: Given<'_>) -> bool {
    ask(facts, guards, given) != Answer::Never
}

fn constant(guards: &[&Guard]) -> Option<Answer> {
    let mut always = true;
    for guard in guards {
        match guard.constant() {
            Some(Value::Bool(true)) => {}
            Some(_) => return Some(Answer::Never),
            None => always = false,
        }
    }
    always.then_some(Answer::Always)
}

/// A step that visits every combination once, far apart from each other.
fn stride(total: usize) -> usize {
    let mut stride = (total * 3 / 5).max(1);
    while common(stride, total) != 1 {
        stride += 1;
    }
    stride
}

fn common(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common(b, a % b) }
}

fn of_the_actor(read: &Read) -> bool {
    matches!(
        read,
        Read::Human
            | Read::Agent
            | Read::System
            | Read::Engine
            | Read::Admin
            | Read::Role(_)
            | Read::ActorKind
    )
}

/// One combination of values.
struct Trial<'a> {
    facts: &'a Facts<'a>,
    actor: &'a Actor,
    state: Option<&'a Name>,
    values: Vec<(Slot, &'a Value)>,
    /// Something was read about which nothing is assumed.
    blind: Cell<bool>,
}

impl<'a> Trial<'a> {
    fn pick(
        facts: &'a Facts<'a>,
        mut n: usize,
        actors: &'a [Actor],
        states: &'a [Name],
        axes: &'a [(Slot, Vec<Value>)],
    ) -> Self {
        const NOBODY: &Actor = &Actor { who: Who::System, timeout: false, admin: false, roles: Vec::new() };
        let mut digit = |size: usize| {
            let size = size.max(1);
            let it = n % size;
            n /= size;
            it
        };
        let actor = actors.get(digit(actors.len())).unwrap_or(NOBODY);
        let state = states.get(digit(states.len()));
        let values =
            axes.iter().filter_map(|(slot, all)| Some((*slot, all.get(digit(all.len()))?))).collect();
        Self { facts, actor, state, values, blind: Cell::new(false) }
    }

    /// Whether all hold; none if that cannot be told.
    fn all(&self, guards: &[&Guard]) -> Option<bool> {
        let mut told = true;
        for guard in guards {
            self.blind.set(false);
            match guard.test(self) {
                Ok(true) => {}
                Ok(false) => return Some(false),
                Err(_) if self.blind.get() => told = false,
                // A condition that cannot be answered refuses.
                Err(_) => return Some(false),
            }
        }
        told.then_some(true)
    }
}

impl Scope for Trial<'_> {
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        let who = self.actor.who;
        let read = self.facts.life.reads.get(slot.0 as usize);
        if who == Who::Engine && matches!(read, Some(Read::ActorId | Read::SubjectId)) {
            return Ok(Value::text(ENGINE));
        }
        if let Some((_, value)) = self.values.iter().find(|(it, _)| *it == slot) {
            return Ok((*value).clone());
        }
        Ok(match read {
            Some(Read::Relation(guard) | Read::Computed(guard)) => return guard.eval(self),
            Some(Read::Human) => Value::Bool(who == Who::Human),
            Some(Read::Agent) => Value::Bool(who == Who::Agent),
            Some(Read::System) => Value::Bool(matches!(who, Who::System | Who::Engine)),
            Some(Read::Engine) => Value::Bool(who == Who::Engine),
            Some(Read::Admin) => Value::Bool(self.actor.admin),
            Some(Read::Role(holders)) => Value::Bool(self.actor.roles.iter().any(|it| holders.contains(it))),
            Some(Read::ActorKind) => Value::text(match who {
                Who::Human => "human",
                Who::Agent => "agent",
                Who::System => "system",
                Who::Engine if self.actor.timeout => "timeout",
                Who::Engine => "system",
            }),
            Some(Read::State) if self.state.is_some() => self.state.map_or(Value::Null, Value::from),
            _ => {
                self.blind.set(true);
                return Err(Fault::Failed("nothing is assumed about it".to_owned()));
            }
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        self.blind.set(true);
        Err(Fault::Failed("nothing is assumed about it".to_owned()))
    }
}
