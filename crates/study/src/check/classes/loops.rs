//! Cycles of moves that can repeat forever.

use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};

use trackside_lifecycle::model::{Lifecycle, Starts};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use super::bounds::{MoveLimit, bound, resets};
use super::join_names;
use crate::check::check_budget::CheckBudget;
use crate::check::class::Class;
use crate::check::facts::by_default;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::graph::PossibleMove;
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        // A lifecycle without a final state is meant to repeat.
        let ends = life.states.iter().any(|it| it.last || it.outcome.is_some());
        if !ends || life.counters.iter().any(|it| it.on_moves && it.then.is_some()) {
            continue;
        }
        let mut counts = BTreeMap::new();
        let going: Vec<(&PossibleMove<'_>, MoveLimit)> = study
            .graph
            .moves
            .iter()
            .filter(|it| study.graph.is_reached(it.from) && goes_on(life, it))
            .take_while(|_| study.facts.work.step())
            .map(|it| (it, bound(survey.pack, life, it, &mut counts)))
            .collect();
        let free = |counters: &[Name]| -> Vec<&PossibleMove<'_>> {
            going.iter().filter(|(_, bound)| bound.is_by(counters)).map(|(it, _)| *it).collect()
        };
        let mut told = vec![false; study.graph.states.len()];
        report(study, &moves_without_people(&free(&[])), &mut told, ProblemSeverity::Warning, found);
        report(study, &free(&[]), &mut told, ProblemSeverity::Note, found);
        // The moves that some counters alone limit, all of them and those without people.
        let mut by_counters: BTreeMap<Vec<Name>, [Ways<'_, '_>; 2]> = BTreeMap::new();
        for (it, _) in &going {
            if !study.facts.work.step() {
                return;
            }
            let counters = resets(life, it);
            if counters.is_empty() {
                continue;
            }
            let [all, without_people] = by_counters.entry(counters.clone()).or_insert_with(|| {
                let all = free(&counters);
                let without_people = moves_without_people(&all);
                [Ways::new(study, all), Ways::new(study, without_people)]
            });
            begun_anew(study, (it, &counters), without_people, &mut told, ProblemSeverity::Warning, found);
            begun_anew(study, (it, &counters), all, &mut told, ProblemSeverity::Note, found);
        }
    }
}

/// The moves that need no person.
fn moves_without_people<'m, 'a>(moves: &[&'m PossibleMove<'a>]) -> Vec<&'m PossibleMove<'a>> {
    moves.iter().filter(|it| it.who.iter().any(|it| *it != CallerKind::Human)).copied().collect()
}

/// A cycle whose counters are reset in every round.
fn begun_anew(
    study: &Study<'_>,
    (back, counters): (&PossibleMove<'_>, &[Name]),
    ways: &Ways<'_, '_>,
    told: &mut [bool],
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    // The cycle contains the state that the resetting move leaves.
    if told.get(back.from).copied().unwrap_or(true) {
        return;
    }
    if !ways.is_on_cycle(back) {
        return;
    }
    let Some(first) = ways.leaving(back.from).iter().find(|it| std::ptr::eq(**it, back)) else { return };
    let Some(round) = ways.round(back.from, std::slice::from_ref(first), usize::MAX) else { return };
    if is_timed(study, &round) {
        return;
    }
    let life = study.life();
    let counts =
        |name: &Name| round.iter().filter_map(|it| it.arm).filter(|it| it.count.contains(name)).count();
    let stops = |name: &Name| {
        let limit = life.counter(name).and_then(|it| by_default(life, it.limit.as_ref()?)?.as_float());
        limit.is_some_and(|it| it <= counts(name) as f64)
    };
    let known = round.iter().any(|it| told.get(it.from).copied().unwrap_or(true));
    let counted: Vec<&Name> = counters.iter().filter(|it| counts(it) > 0).collect();
    if known || counted.is_empty() || counted.iter().any(|it| stops(it)) {
        return;
    }
    for it in &round {
        if let Some(told) = told.get_mut(it.from) {
            *told = true;
        }
    }
    let names: Vec<String> = counted.iter().map(|it| format!("`{it}`")).collect();
    let why = format!("`{}` resets {} in every round", back.by, join_names(&names));
    let advice = "reset it outside the cycle, or limit the rounds with another counter";
    finding(study, &round, (&why, advice), severity, found);
}

/// The shortest round of each group of states that lead to each other.
fn report(
    study: &Study<'_>,
    moves: &[&PossibleMove<'_>],
    told: &mut [bool],
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    let ways = Ways::new(study, moves.iter().copied());
    for group in ways.groups() {
        if group.iter().any(|it| told.get(*it).copied().unwrap_or(true)) {
            continue;
        }
        let mut shortest: Option<Vec<&PossibleMove<'_>>> = None;
        for state in &group {
            let most = shortest.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(round) =
                ways.round(*state, ways.leaving(*state), most).filter(|it| !is_timed(study, it))
            {
                shortest = Some(round);
            }
        }
        let Some(round) = shortest else { continue };
        for state in &group {
            if let Some(told) = told.get_mut(*state) {
                *told = true;
            }
        }
        let mut counted: Vec<String> = round
            .iter()
            .filter_map(|it| it.arm)
            .flat_map(|it| &it.count)
            .map(|it| format!("`{it}`"))
            .collect();
        counted.sort();
        counted.dedup();
        let why = match counted.as_slice() {
            [] => "no counter limits it".to_owned(),
            some => format!("{} counts the rounds but has no consequence", join_names(some)),
        };
        let advice = "add a counter with a `limit` and a `then`, or end it with a timer";
        finding(study, &round, (&why, advice), severity, found);
    }
}

fn finding(
    study: &Study<'_>,
    round: &[&PossibleMove<'_>],
    (why, advice): (&str, &str),
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    let graph = &study.graph;
    let Some(first) = round.first() else { return };
    let steps: Vec<String> = round.iter().map(|it| format!("{} -{}→ ", graph.name(it.from), it.by)).collect();
    let human = round.iter().any(|it| it.who.iter().all(|it| *it == CallerKind::Human));
    let who = if human { "a person decides in every round" } else { "no person takes part" };
    let message = format!(
        "the cycle {}{} can repeat forever: {why}, and {who}",
        steps.concat(),
        graph.name(first.from)
    );
    let way = DefinitionPath::of(["states", graph.name(first.from)]);
    let route = graph.route(first.from);
    found.push(
        Finding::new(Class::EndlessLoop, study.name(), way, message, advice)
            .weighing(severity)
            .by_way_of(route),
    );
}

/// Re-creation after a final state does not count as a round.
fn goes_on(life: &Lifecycle, it: &PossibleMove<'_>) -> bool {
    it.arm.is_some() && life.states.get(it.from).is_some_and(|it| !it.last)
}

/// Whether a clock that ends the cycle runs through all of it.
fn is_timed(study: &Study<'_>, round: &[&PossibleMove<'_>]) -> bool {
    study.life().timers.iter().any(|timer| {
        timer.then.is_some()
            && timer.starts != Starts::Entry
            && round.iter().all(|it| timer.runs.has(study.graph.name(it.from)))
            && !round.iter().any(|it| timer.restarts.contains(&it.by))
    })
}

/// Moves by the state that they leave.
struct Ways<'m, 'a> {
    from: Vec<Vec<&'m PossibleMove<'a>>>,
    /// The group of each state, once they are known.
    group_of: OnceCell<Vec<usize>>,
    work: &'a CheckBudget<'a>,
}

impl<'m, 'a> Ways<'m, 'a> {
    fn new(study: &Study<'a>, moves: impl IntoIterator<Item = &'m PossibleMove<'a>>) -> Self {
        let mut from = vec![Vec::new(); study.graph.states.len()];
        for it in moves {
            study.facts.work.step();
            from.get_mut(it.from).into_iter().for_each(|all: &mut Vec<_>| all.push(it));
        }
        Self { from, group_of: OnceCell::new(), work: study.facts.work }
    }

    fn leaving(&self, state: usize) -> &[&'m PossibleMove<'a>] {
        self.from.get(state).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the state that a move leads to leads back to the one it leaves.
    fn is_on_cycle(&self, it: &PossibleMove<'_>) -> bool {
        let groups = self.group_of.get_or_init(|| {
            let mut group_of = vec![0; self.from.len()];
            for (n, group) in self.groups().iter().enumerate() {
                group.iter().for_each(|state| set(&mut group_of, *state, n + 1));
            }
            group_of
        });
        let group = |state: usize| groups.get(state).copied().filter(|it| *it > 0);
        group(it.from).is_some() && group(it.from) == group(it.to)
    }

    /// Groups of states that lead to each other, by their first state: strongly connected components (Tarjan), without
    /// recursion.
    fn groups(&self) -> Vec<Vec<usize>> {
        let count = self.from.len();
        let mut index: Vec<Option<usize>> = vec![None; count];
        let (mut low, mut is_open) = (vec![0; count], vec![false; count]);
        let (mut open, mut groups, mut next) = (Vec::new(), Vec::new(), 0);
        for start in 0..count {
            let mut path = vec![(start, 0)];
            while let Some((at, way)) = path.pop() {
                if way == 0 {
                    if index.get(at).copied().flatten().is_some() {
                        continue;
                    }
                    set(&mut index, at, Some(next));
                    set(&mut low, at, next);
                    set(&mut is_open, at, true);
                    open.push(at);
                    next += 1;
                }
                if let Some(it) = self.leaving(at).get(way) {
                    if !self.work.step() {
                        return groups;
                    }
                    path.push((at, way + 1));
                    if index.get(it.to).copied().flatten().is_none() {
                        path.push((it.to, 0));
                    }
                    continue;
                }
                // All ways were followed: the lowest place that this state leads to is known.
                let ways = self.leaving(at).iter().map(|it| it.to);
                let reached =
                    ways.filter(|to| is_open.get(*to) == Some(&true)).filter_map(|to| low.get(to).copied());
                let lowest = reached.chain(low.get(at).copied()).min().unwrap_or_default();
                set(&mut low, at, lowest);
                if index.get(at).copied().flatten() == Some(lowest) {
                    let begin = open.iter().rposition(|it| *it == at).unwrap_or_default();
                    let mut group: Vec<usize> = open.split_off(begin);
                    group.iter().for_each(|it| set(&mut is_open, *it, false));
                    group.sort_unstable();
                    let repeats = group.len() > 1 || self.leaving(at).iter().any(|it| it.to == at);
                    groups.extend(repeats.then_some(group));
                }
            }
        }
        groups.sort();
        groups
    }

    /// The shortest way from a state back to itself that begins with one of these moves and has fewer than `most`.
    fn round(
        &self,
        start: usize,
        first: &[&'m PossibleMove<'a>],
        most: usize,
    ) -> Option<Vec<&'m PossibleMove<'a>>> {
        let mut by: Vec<Option<&'m PossibleMove<'a>>> = vec![None; self.from.len()];
        let mut next = VecDeque::from([(start, 1)]);
        while let Some((at, length)) = next.pop_front() {
            if length >= most {
                return None;
            }
            for it in if length == 1 { first } else { self.leaving(at) } {
                if !self.work.step() {
                    return None;
                }
                if it.to == start {
                    let mut round = vec![*it];
                    let mut at = at;
                    while at != start {
                        let before = by.get(at).copied().flatten()?;
                        round.push(before);
                        at = before.from;
                    }
                    round.reverse();
                    return Some(round);
                }
                if let Some(first @ None) = by.get_mut(it.to) {
                    *first = Some(it);
                    next.push_back((it.to, length + 1));
                }
            }
        }
        None
    }
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(it) = all.get_mut(at) {
        *it = value;
    }
}
