//! Our own exploration of the model: every world, and the findings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::condition::ModelCondition;
use super::model::{AbstractModel, Assignment, VariableKind};
use trackside_study::explore::search::{Model, SearchBound, Stopped, Watch, search};

/// A fault planted in our search, so that tests see spin disagree. Never used elsewhere.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchFault {
    /// The last move out of every world is forgotten.
    DropsLastMove,
    /// Two worlds that differ in the last variable of an entity count as one.
    ForgetsVariable,
    /// The search ends one step too early.
    StopsEarly,
    /// Every "not" in a condition is taken for true.
    CarelessNot,
    /// Symmetric worlds are found by sorting variables by themselves instead of whole entities.
    WrongSymmetry,
}

impl SearchFault {
    pub const ALL: [Self; 5] = [
        Self::DropsLastMove,
        Self::ForgetsVariable,
        Self::StopsEarly,
        Self::CarelessNot,
        Self::WrongSymmetry,
    ];
}

/// The model as our search sees it.
#[derive(Clone, Debug)]
pub struct SearchModel<'a> {
    model: &'a AbstractModel,
    /// The moves that leave each state, by number.
    leaving: Vec<Vec<usize>>,
    symmetry: bool,
    fault: Option<SearchFault>,
}

impl<'a> SearchModel<'a> {
    /// With `symmetry`, worlds that differ only in the order of entities or in a swap of the two actors
    /// count as one.
    pub fn new(model: &'a AbstractModel, symmetry: bool) -> Self {
        let states = model.variables.first().map_or(1, |it| it.values.len());
        let mut leaving = vec![Vec::new(); states];
        for (number, it) in model.moves.iter().enumerate() {
            let only = state_of(&it.when);
            for (state, list) in (0..=u8::MAX).zip(&mut leaving) {
                if only.is_none_or(|it| it == state) {
                    list.push(number);
                }
            }
        }
        Self { model, leaving, symmetry, fault: None }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn with_fault(mut self, fault: Option<SearchFault>) -> Self {
        self.fault = fault;
        self
    }

    /// Every world one move away, with the number of the entity and of the move.
    fn next(&self, world: &[u8], into: &mut Vec<((usize, usize), Vec<u8>)>) {
        let width = self.model.variables.len();
        let before = into.len();
        for (entity, values) in world.chunks(width.max(1)).enumerate() {
            let state = values.first().map_or(0, |it| usize::from(*it));
            for number in self.leaving.get(state).into_iter().flatten() {
                let Some(it) = self.model.moves.get(*number) else { continue };
                if !it.when.holds_with(values, self.fault == Some(SearchFault::CarelessNot)) {
                    continue;
                }
                let mut next = world.to_vec();
                for (variable, to) in &it.changes {
                    let value = match to {
                        Assignment::Value(it) => *it,
                        Assignment::Of(from) => values.get(*from).copied().unwrap_or_default(),
                        Assignment::More(most) => {
                            values.get(*variable).map_or(0, |it| it.saturating_add(1).min(*most))
                        }
                    };
                    if let Some(place) = next.get_mut(entity * width + variable) {
                        *place = value;
                    }
                }
                into.push(((entity, *number), next));
            }
        }
        if self.fault == Some(SearchFault::DropsLastMove) && into.len() > before {
            into.pop();
        }
    }

    /// A number that only this world has, or only the worlds that are like it.
    fn number(&self, world: &[u8]) -> u128 {
        if !self.symmetry {
            return self.pack_world(world);
        }
        let images = self.images(world, self.fault == Some(SearchFault::WrongSymmetry));
        images.iter().map(|it| self.pack_world(it)).min().unwrap_or_default()
    }

    /// The number of worlds that are symmetric to this one, itself included.
    fn likes(&self, world: &[u8]) -> usize {
        let all: BTreeSet<Vec<u8>> = self.images(world, false).into_iter().collect();
        all.len()
    }

    /// The world with the actors as they are and exchanged, and with the entities in both orders.
    fn images(&self, world: &[u8], wrong: bool) -> Vec<Vec<u8>> {
        let exchanged: Vec<u8> = world
            .iter()
            .zip(self.model.variables.iter().cycle())
            .map(|(it, variable)| swap(variable.holds, *it))
            .collect();
        let mut all = vec![world.to_vec(), exchanged];
        if self.model.entities == 2 {
            let turned: Vec<Vec<u8>> = all.iter().map(|it| self.swap_people(it, wrong)).collect();
            all.extend(turned);
        }
        all
    }

    fn swap_people(&self, world: &[u8], wrong: bool) -> Vec<u8> {
        let width = self.model.variables.len();
        let (first, second) = world.split_at(width.min(world.len()));
        if !wrong {
            return [second, first].concat();
        }
        // Only the states change places.
        let mut turned = world.to_vec();
        if width < turned.len() {
            turned.swap(0, width);
        }
        turned
    }

    fn pack_world(&self, world: &[u8]) -> u128 {
        let last = self.model.variables.len().saturating_sub(1);
        let mut number = 0_u128;
        for (value, (place, variable)) in world.iter().zip(self.model.variables.iter().enumerate().cycle()) {
            let forgotten = self.fault == Some(SearchFault::ForgetsVariable) && place == last;
            number = number * variable.values.len() as u128 + if forgotten { 0 } else { u128::from(*value) };
        }
        number
    }
}

impl Model for SearchModel<'_> {
    type World = Vec<u8>;
    /// The number of the entity, and of the move.
    type Move = (usize, usize);

    fn starts(&self) -> Vec<Vec<u8>> {
        vec![self.model.start()]
    }

    fn key(&self, world: &Vec<u8>) -> u128 {
        self.number(world)
    }

    fn moves(&self, world: &Vec<u8>, into: &mut Vec<((usize, usize), Vec<u8>)>) {
        self.next(world, into);
    }
}

/// The only state in which a condition can hold, if there is one.
fn state_of(when: &ModelCondition) -> Option<u8> {
    match when {
        ModelCondition::Is(0, state) => Some(*state),
        ModelCondition::All(parts) => parts.iter().find_map(state_of),
        _ => None,
    }
}

fn swap(holds: VariableKind, value: u8) -> u8 {
    let exchanged = |bits: u8| (bits & 4) | ((bits & 1) << 1) | ((bits & 2) >> 1);
    match (holds, value) {
        (VariableKind::Person, 1) => 2,
        (VariableKind::Person, 2) => 1,
        (VariableKind::People, it) if it > 0 => 1 + exchanged(it - 1),
        (_, it) => it,
    }
}

/// The result of a search of the model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Verdicts {
    /// The number of worlds; with symmetry, of those that are not symmetric to another.
    pub worlds: usize,
    /// The number of worlds that these stand for.
    pub stand_for: usize,
    /// The distance of the farthest world, in steps.
    pub depth: u32,
    /// The states that an entity can be in.
    pub reached: Vec<bool>,
    /// For each claim, whether an entity may reach it.
    pub found: Vec<bool>,
    /// Whether the search ended because of its bound.
    pub cut: bool,
}

/// Explores every world of the model, but no more than `most`, on this many cores.
pub fn verdicts(
    model: &AbstractModel,
    symmetry: bool,
    most: usize,
    threads: usize,
    fault: Option<SearchFault>,
) -> Verdicts {
    let whole = SearchBound { worlds: most, depth: u32::MAX };
    let bound = match fault {
        Some(SearchFault::StopsEarly) => {
            let all = verdicts(model, symmetry, most, threads, None);
            SearchBound { depth: all.depth.saturating_sub(1), ..whole }
        }
        _ => whole,
    };
    let explored = SearchModel::new(model, symmetry).with_fault(fault);
    let look = WorldMarks { explored: &explored, likes: Mutex::default() };
    let found = search(&explored, &look, &bound, threads);
    let marks: BTreeSet<u32> = found.marks().collect();
    let marked = |first: u32, many: usize| (first..).take(many).map(|it| marks.contains(&it)).collect();
    let likes = look.likes.into_inner().unwrap_or_default();
    Verdicts {
        worlds: found.progress.worlds,
        stand_for: if symmetry { likes.values().sum() } else { found.progress.worlds },
        depth: found.progress.depth,
        reached: marked(1, model.states().len()),
        found: marked(CLAIMS, model.claims.len()),
        cut: found.stopped == Stopped::Worlds,
    }
}

/// The mark of the first claim; those of states are their numbers.
const CLAIMS: u32 = 1_000;

/// Marks the states and the claims of every world, and counts the worlds that are like it.
struct WorldMarks<'a> {
    explored: &'a SearchModel<'a>,
    likes: Mutex<BTreeMap<u128, usize>>,
}

impl WorldMarks<'_> {
    fn at(&self, world: &[u8]) -> Vec<u32> {
        let explored = self.explored;
        let careless = explored.fault == Some(SearchFault::CarelessNot);
        let mut marks = Vec::new();
        for values in world.chunks(explored.model.variables.len().max(1)) {
            marks.extend(values.first().map(|it| u32::from(*it)));
            let claims = (CLAIMS..).zip(&explored.model.claims);
            marks.extend(claims.filter(|(_, it)| it.bad.holds_with(values, careless)).map(|(mark, _)| mark));
        }
        if explored.symmetry
            && let Ok(mut likes) = self.likes.lock()
        {
            likes.entry(explored.number(world)).or_insert_with(|| explored.likes(world));
        }
        marks
    }
}

impl Watch<SearchModel<'_>> for WorldMarks<'_> {
    fn start(&self, world: &Vec<u8>) -> Vec<u32> {
        self.at(world)
    }

    fn marks(&self, _: &Vec<u8>, _: &(usize, usize), after: &Vec<u8>, new: bool) -> Vec<u32> {
        if new { self.at(after) } else { Vec::new() }
    }
}
