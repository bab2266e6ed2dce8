//! The next entity that a caller can have.

use trackside_lifecycle::model::{Arm, Lifecycle, Ranking};
use trackside_lifecycle::name::Name;

use super::draft::DecisionDraft;
use super::fire::who_may;
use super::request::Request;
use super::{DecisionBuilder, Stop, unknown_lifecycle};
use crate::command::{Claim, TransitionRef};
use crate::key::EntityKey;
use crate::ranking::RankingKey;
use crate::refusal::{Code, Refusal, Unmet};
use crate::trace::PointKind;
use crate::view::Found;

/// Candidates that are tried before the claim is refused.
const TRIES: usize = 64;
/// Candidates that one claim inspects: filters and `read` may pass over most of them.
const LOOKS: usize = 10_000;
/// Candidates that are loaded together.
const SLICE: usize = 256;

/// The result of a search for a claimable entity.
enum Search {
    Claimed,
    Nothing,
    /// There are more candidates than one claim inspects.
    Cut,
}

impl DecisionBuilder<'_> {
    pub fn claim(&mut self, claim: &Claim, request: Request) -> Result<(), Stop> {
        let Some(life) = self.law.newest(&claim.lifecycle).cloned() else {
            return Err(unknown_lifecycle(self.law, &claim.lifecycle).into());
        };
        let ways = claimed_by(&life, claim.event.as_ref())?;
        let mut nearest: Option<Box<Refusal>> = None;
        let mut is_cut = false;
        let mut shut: Vec<(&Name, Vec<Unmet>)> = Vec::new();
        for (ranking, event) in &ways {
            let closed = self.closed_to_caller(&life, event, &request)?;
            if !closed.is_empty() {
                shut.push((*event, closed));
                continue;
            }
            match self.claim_from(&life, ranking, event, claim, &request, &mut nearest)? {
                Search::Claimed => return Ok(()),
                Search::Nothing => {}
                Search::Cut => is_cut = true,
            }
        }
        // A caller who may claim nothing at all gets a refusal: otherwise it would look like an empty queue.
        let admits = |event: &Name| self.may_admit(&life, event, &request);
        let (mine, others): (Vec<&Name>, Vec<&Name>) = ways.iter().map(|it| it.1).partition(|it| admits(it));
        if mine.is_empty() {
            return Err(not_admitted(&life, &others, &request).into());
        }
        if mine.iter().all(|event| shut.iter().any(|it| it.0 == *event))
            && let Some((event, closed)) = shut.into_iter().find(|it| mine.contains(&it.0))
        {
            return Err(gated(&life, event, closed).into());
        }
        if is_cut && nearest.is_none() {
            let message = format!(
                "None of the first {LOOKS} {} in the queue match, and there are more. Claim without `where`, or find one with trackside list {} --where and fire its transition",
                life.name, life.name
            );
            return Err(Refusal::one(Code::SearchLimit, message).into());
        }
        let caller = request.subject_id();
        let mut message = format!("{caller} can claim no {} now", life.name);
        if let Some(refusal) = &nearest {
            message = format!("{message}. The nearest one was refused: {}", refusal.detail);
        }
        let mut refusal = Refusal::one(Code::NothingClaimable, message);
        if let Some(nearest) = nearest {
            refusal.errors.extend(nearest.errors);
            refusal.who = nearest.who;
        }
        Err(refusal.into())
    }

    /// Takes the first claimable entity of a ranking.
    fn claim_from(
        &mut self,
        life: &Lifecycle,
        ranking: &Ranking,
        event: &Name,
        claim: &Claim,
        request: &Request,
        nearest: &mut Option<Box<Refusal>>,
    ) -> Result<Search, Stop> {
        let caller = request.subject_id().clone();
        let base = self.draft.base();
        let index = RankingKey { lifecycle: life.name.clone(), name: ranking.name.clone() };
        let known = match base.ranking(&index) {
            Found::Here(known) => Some(known),
            Found::Absent => None,
            Found::Unknown => return Err(Stop::NotLoaded),
        };
        let mut candidates = known.into_iter().flat_map(|it| it.open(Some(&caller)));
        let mut tried = 0;
        for looked in 0.. {
            let Some(id) = candidates.next() else { break };
            if looked == LOOKS {
                return Ok(Search::Cut);
            }
            let key = EntityKey { lifecycle: life.name.clone(), id: id.clone() };
            match base.entity(&key) {
                Found::Here(entity) => {
                    match self.may_read(life, entity, request) {
                        Ok(true) => {}
                        Ok(false) | Err(Stop::Refused(_)) => continue,
                        Err(stop) => return Err(stop),
                    }
                    if claim.only.as_ref().is_some_and(|it| !crate::query::lets_through(it, entity)) {
                        continue;
                    }
                }
                Found::Absent => continue,
                Found::Unknown => {
                    // Asks for the following ones too: they are loaded together.
                    for id in candidates.take(SLICE) {
                        let _ = base.entity(&EntityKey { lifecycle: life.name.clone(), id: id.clone() });
                    }
                    return Err(Stop::NotLoaded);
                }
            }
            tried += 1;
            if tried > TRIES {
                break;
            }
            let mark = self.hits.borrow().open.len();
            let done = self.fire(&key, &TransitionRef::Event(event.clone()), request.clone());
            match done.and_then(|()| self.conclude()) {
                Ok(()) => {
                    self.record_point(life, PointKind::Transition, || {
                        format!("rankings.{}.claims", ranking.name)
                    });
                    return Ok(Search::Claimed);
                }
                Err(Stop::Refused(refusal)) => {
                    self.hits.borrow_mut().settle(mark, false);
                    nearest.get_or_insert(refusal);
                    self.start_again();
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(Search::Nothing)
    }

    /// Discards the result of an attempt.
    fn start_again(&mut self) {
        self.draft = DecisionDraft::new(self.draft.base());
        self.touched.clear();
        self.kept.clear();
        self.ignored.clear();
        self.root = None;
        self.moves = 0;
        self.depth = 0;
    }
}

/// The refusal for a caller whom gates exclude from every entity.
fn gated(life: &Lifecycle, event: &Name, closed: Vec<Unmet>) -> Refusal {
    let mut refusal = Refusal::with(Code::GateClosed, closed);
    let arms: Vec<&Arm> = life.transition(event).into_iter().flat_map(|it| &it.arms).collect();
    refusal.who = Some(who_may(&arms));
    refusal
}

/// The refusal for a caller whom none of these events admits for any entity.
fn not_admitted(life: &Lifecycle, events: &[&Name], request: &Request) -> Refusal {
    let arms: Vec<&Arm> =
        events.iter().filter_map(|it| life.transition(it)).flat_map(|it| &it.arms).collect();
    let who = who_may(&arms);
    let message = format!("{} may not claim a {}. Who may: {who}", request.subject_id(), life.name);
    let mut refusal = Refusal::one(Code::NotPermitted, message);
    refusal.who = Some(who);
    refusal
}

/// The rankings to claim from, each with its claiming transition: the requested one, or all in declared
/// order.
fn claimed_by<'l>(life: &'l Lifecycle, event: Option<&Name>) -> Result<Vec<(&'l Ranking, &'l Name)>, Stop> {
    let all: Vec<(&Ranking, &Name)> =
        life.rankings.iter().filter_map(|it| Some((it, it.claims.as_ref()?))).collect();
    let fitting: Vec<_> =
        all.iter().filter(|(_, it)| event.is_none_or(|event| event == *it)).copied().collect();
    if fitting.is_empty() {
        let message = match all.as_slice() {
            [] => {
                let name = &life.name;
                format!(
                    "No ranking of {name} declares which transition claims, so nothing can be claimed from a queue. Fire a transition on one entity instead: trackside list {name} shows them"
                )
            }
            all => {
                let names: Vec<&str> = all.iter().map(|(_, it)| it.as_str()).collect();
                format!("Say how to claim a {}: event is one of {}", life.name, names.join(", "))
            }
        };
        return Err(Refusal::one(Code::UnknownEvent, message).into());
    }
    Ok(fitting)
}
