//! Who may ask: the kinds of actors, and the roles they could hold.

use std::collections::BTreeSet;

use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Human,
    Agent,
    System,
    /// The engine itself.
    Engine,
}

impl Who {
    pub const ALL: [Self; 4] = [Self::Human, Self::Agent, Self::System, Self::Engine];
    /// Those who ask from outside.
    pub const OUTSIDE: [Self; 3] = [Self::Human, Self::Agent, Self::System];
}

/// One actor that is tried.
#[derive(Clone, Debug)]
pub struct Actor {
    pub who: Who,
    /// A timer that was due; only the engine.
    pub timeout: bool,
    pub admin: bool,
    pub roles: Vec<Name>,
}

/// The actors that could answer differently, given what is read of them.
pub fn actors(reads: &[&Read], only: Option<Who>) -> Vec<Actor> {
    let mut roles: BTreeSet<Name> = BTreeSet::new();
    let (mut kind, mut admin) = (false, false);
    for read in reads {
        match read {
            Read::Role(holders) => roles.extend(holders.iter().filter(|it| !it.contains(':')).cloned()),
            Read::Admin => admin = true,
            Read::ActorKind => kind = true,
            _ => {}
        }
    }
    let sets = subsets(&roles.into_iter().collect::<Vec<_>>());
    let mut all = Vec::new();
    for who in Who::ALL.into_iter().filter(|it| only.is_none_or(|only| only == *it)) {
        if who == Who::Engine {
            for timeout in [false, true].into_iter().take(1 + usize::from(kind)) {
                all.push(Actor { who, timeout, admin: false, roles: Vec::new() });
            }
            continue;
        }
        for roles in &sets {
            all.push(Actor { who, timeout: false, admin: false, roles: roles.clone() });
            if admin && who == Who::Human {
                all.push(Actor { who, timeout: false, admin: true, roles: roles.clone() });
            }
        }
    }
    all
}

/// Every set of a few roles; of many, those of one or two, and all.
fn subsets(roles: &[Name]) -> Vec<Vec<Name>> {
    let few = roles.len() <= 4;
    let mut sets: Vec<Vec<Name>> = vec![Vec::new()];
    for role in roles {
        let more: Vec<Vec<Name>> = sets
            .iter()
            .filter(|it| few || it.len() < 2)
            .map(|it| it.iter().cloned().chain([role.clone()]).collect())
            .collect();
        sets.extend(more);
    }
    if !few {
        sets.push(roles.to_vec());
    }
    sets
}
