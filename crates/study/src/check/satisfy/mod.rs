//! Finds by trying whether a condition can ever be true, or ever be false.
//!
//! Each read gets a handful of representative values, and the real expression is evaluated for their
//! combinations. A read without assumptions is unknown; an expression may be decided without it. So the
//! answer is either certain or open.

mod actors;
mod candidates;
mod kinds;
mod pool;
mod profile;

pub use actors::CallerKind;
use actors::{TrialActor, actors};
use candidates::{add_constants, candidates};
use profile::Profile;
use trackside_engine::actor::ENGINE;
use trackside_lifecycle::guard::{Guard, VarSlot};
use trackside_lifecycle::model::{Read, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::check::facts::Facts;
use crate::truth::{KnownReads, Partial};

/// Most combinations to try; beyond that the answer is unknown.
const MOST: usize = 20_000;

/// Whether several conditions can hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Satisfiability {
    Never,
    Always,
    /// Sometimes true and sometimes false, or unknown.
    Open,
}

/// The assumptions under which a condition is evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assumptions<'a> {
    /// The possible states of the entity; empty means any.
    pub states: &'a [Name],
    pub who: Option<CallerKind>,
    /// The fields that the request may send.
    pub takes: &'a [Take],
}

/// Whether all of these can be true at once, or always are.
pub fn satisfiability(facts: &Facts<'_>, guards: &[&Guard], given: Assumptions<'_>) -> Satisfiability {
    if let Some(answer) = constant(guards) {
        return answer;
    }
    let (mut seen_true, mut seen_false) = (false, false);
    let finished = try_all(facts, guards, given, true, |trial| {
        match all_hold(trial, guards) {
            Some(true) => seen_true = true,
            Some(false) => seen_false = true,
            None => return false,
        }
        !(seen_true && seen_false)
    });
    match (finished, seen_true, seen_false) {
        (true, false, true) => Satisfiability::Never,
        (true, true, false) => Satisfiability::Always,
        _ => Satisfiability::Open,
    }
}

/// Whether the first condition implies the second.
pub fn implies(facts: &Facts<'_>, first: &Guard, second: &Guard, given: Assumptions<'_>) -> bool {
    if first.source() == second.source() || second.constant() == Some(&Value::Bool(true)) {
        return true;
    }
    try_all(facts, &[first, second], given, false, |trial| {
        matches!((all_hold(trial, &[first]), all_hold(trial, &[second])), (Some(false), _) | (_, Some(true)))
    })
}

/// Tries every combination until `go_on` returns false. Returns false then, or if there are too many.
/// `straight`: the question is only whether all conditions hold.
fn try_all(
    facts: &Facts<'_>,
    guards: &[&Guard],
    given: Assumptions<'_>,
    straight: bool,
    mut go_on: impl FnMut(&Partial<'_, Trial<'_>>) -> bool,
) -> bool {
    if !facts.work.steps(guards.len()) {
        return false;
    }
    let profile = Profile::of(facts, guards);
    let all = profile.plain.union(&profile.opaque);
    let reads: Vec<&Read> = all.filter_map(|it| facts.life.reads.get(it.0 as usize)).collect();
    let mut axes: Vec<(VarSlot, Vec<Value>)> = Vec::new();
    for slot in profile.plain.iter().filter(|it| !profile.is_opaque(**it)) {
        let Some(read) = facts.life.reads.get(slot.0 as usize) else { continue };
        if of_the_actor(read) || matches!(read, Read::State) {
            continue;
        }
        let mut circle = profile.circle(*slot);
        add_constants(facts, &mut circle);
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
    let trial = |n: usize| Trial::pick((n * stride) % total, &actors, states, &axes);
    (0..total).all(|n| facts.work.step() && go_on(&Partial::new(&facts.life.reads, trial(n))))
}

/// Whether they can all be true at once; true if unknown.
pub fn possible(facts: &Facts<'_>, guards: &[&Guard], given: Assumptions<'_>) -> bool {
    satisfiability(facts, guards, given) != Satisfiability::Never
}

fn constant(guards: &[&Guard]) -> Option<Satisfiability> {
    let mut always = true;
    for guard in guards {
        match guard.constant() {
            Some(Value::Bool(true)) => {}
            Some(_) => return Some(Satisfiability::Never),
            None => always = false,
        }
    }
    always.then_some(Satisfiability::Always)
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
    actor: &'a TrialActor,
    state: Option<&'a Name>,
    values: Vec<(VarSlot, &'a Value)>,
}

impl<'a> Trial<'a> {
    fn pick(
        mut n: usize,
        actors: &'a [TrialActor],
        states: &'a [Name],
        axes: &'a [(VarSlot, Vec<Value>)],
    ) -> Self {
        const NOBODY: &TrialActor =
            &TrialActor { who: CallerKind::System, timeout: false, admin: false, roles: Vec::new() };
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
        Self { actor, state, values }
    }
}

/// Whether all hold; none if that is unknown.
fn all_hold(trial: &Partial<'_, Trial<'_>>, guards: &[&Guard]) -> Option<bool> {
    let mut known = true;
    for guard in guards {
        match trial.truth(guard) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = false,
        }
    }
    known.then_some(true)
}

impl KnownReads for Trial<'_> {
    fn value(&self, slot: VarSlot, read: &Read) -> Option<Value> {
        let who = self.actor.who;
        if who == CallerKind::Engine && matches!(read, Read::ActorId | Read::SubjectId) {
            return Some(Value::text(ENGINE));
        }
        if let Some((_, value)) = self.values.iter().find(|(it, _)| *it == slot) {
            return Some((*value).clone());
        }
        Some(match read {
            Read::Human => Value::Bool(who == CallerKind::Human),
            Read::Agent => Value::Bool(who == CallerKind::Agent),
            Read::System => Value::Bool(matches!(who, CallerKind::System | CallerKind::Engine)),
            Read::Engine => Value::Bool(who == CallerKind::Engine),
            Read::Admin => Value::Bool(self.actor.admin),
            Read::Role(holders) => Value::Bool(self.actor.roles.iter().any(|it| holders.contains(it))),
            Read::ActorKind => Value::text(match who {
                CallerKind::Human => "human",
                CallerKind::Agent => "agent",
                CallerKind::System => "system",
                CallerKind::Engine if self.actor.timeout => "timeout",
                CallerKind::Engine => "system",
            }),
            Read::State => Value::from(self.state?),
            _ => return None,
        })
    }
}
