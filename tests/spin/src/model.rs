//! The finite model: variables, moves and claims.

use std::collections::BTreeSet;

use trackside_lifecycle::name::Name;

use super::condition::ModelCondition;
use super::mapping::VariableMapping;

/// One lifecycle, abstracted: a few entities that each have the same variables and the same moves.
#[derive(Clone, Debug)]
pub struct AbstractModel {
    pub lifecycle: Name,
    /// The number of entities.
    pub entities: usize,
    /// The variables of one entity; the first is its state, where 0 means that it does not exist yet.
    pub variables: Vec<Variable>,
    pub moves: Vec<ModelMove>,
    /// Conditions that never become true if the properties of the lifecycle hold.
    pub claims: Vec<ModelClaim>,
    /// Properties that cannot be expressed here, and are left to the exploration of the law itself.
    pub not_claimed: Vec<String>,
    /// Every step of an entity that the model allows: the state before (none: it was created), the trigger, the state after.
    pub steps: BTreeSet<(Option<Name>, Name, Name)>,
    /// The parts that were left out to keep it small.
    pub left_out: Vec<String>,
    /// The source of each variable in a real entity.
    pub(super) follows: Vec<VariableMapping>,
}

/// A small whole number of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The meaning of each of its values.
    pub values: Vec<String>,
    pub holds: VariableKind,
}

/// The contents of a variable, as far as symmetry needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    Plain,
    /// None, the first actor, the second, or any other.
    Person,
    /// Null, then the sets of those three.
    People,
}

/// An atomic change of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMove {
    pub name: String,
    pub when: ModelCondition,
    /// All at once: every right side is read before any left side is written.
    pub changes: Vec<(usize, Assignment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assignment {
    Value(u8),
    /// The value of that variable.
    Of(usize),
    /// One more than it is, up to this.
    More(u8),
}

/// A bad condition on one entity: the property holds if no entity ever reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelClaim {
    pub name: String,
    pub bad: ModelCondition,
    /// Whether nothing it reads was weakened.
    pub exact: bool,
    /// Getting there is wished for: the property holds if some entity may.
    pub wished: bool,
}

impl AbstractModel {
    /// The values of every entity at the start: nothing exists.
    pub fn start(&self) -> Vec<u8> {
        vec![0; self.variables.len() * self.entities]
    }

    /// The variables that some move or claim depends on.
    pub(super) fn read(&self) -> BTreeSet<usize> {
        let mut read = BTreeSet::from([0]);
        let conditions = self.moves.iter().map(|it| &it.when).chain(self.claims.iter().map(|it| &it.bad));
        conditions.for_each(|it| it.reads(&mut read));
        loop {
            let before = read.len();
            for (variable, to) in self.moves.iter().flat_map(|it| &it.changes) {
                if let (true, Assignment::Of(from)) = (read.contains(variable), to) {
                    read.insert(*from);
                }
            }
            if read.len() == before {
                return read;
            }
        }
    }

    /// The states, without "does not exist yet".
    pub fn states(&self) -> &[String] {
        self.variables.first().and_then(|it| it.values.get(1..)).unwrap_or_default()
    }

    /// The condition that an entity is in the state of this number.
    pub fn is_in(&self, state: usize) -> ModelCondition {
        ModelCondition::Is(0, u8::try_from(state + 1).unwrap_or(u8::MAX))
    }
}
