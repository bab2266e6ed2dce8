//! Possible callers: the kinds of actors, and the roles they could have.

use std::collections::BTreeSet;

use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;

/// The kind of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallerKind {
    Human,
    Agent,
    System,
    /// The engine itself.
    Engine,
}

impl CallerKind {
    pub const ALL: [Self; 4] = [Self::Human, Self::Agent, Self::System, Self::Engine];
    /// Callers from outside the engine.
    pub const OUTSIDE: [Self; 3] = [Self::Human, Self::Agent, Self::System];
}

/// One actor that is tried.
#[derive(Clone, Debug)]
pub struct TrialActor {
    pub who: CallerKind,
    /// A timer that was due; only the engine.
    pub timeout: bool,
    pub admin: bool,
    pub roles: Vec<Name>,
}

/// Most roles of which every set is tried.
const ROLES: usize = 6;

/// The actors to try, given the reads; none if there are too many.
///
/// `straight`: a further role never makes the answer false.
pub fn actors(reads: &[&Read], only: Option<CallerKind>, straight: bool) -> Option<Vec<TrialActor>> {
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
    let roles: Vec<Name> = roles.into_iter().collect();
    let sets = match roles.len() {
        0..=ROLES => subsets(&roles),
        _ if straight => vec![Vec::new(), roles],
        _ => return None,
    };
    let mut all = Vec::new();
    for who in CallerKind::ALL.into_iter().filter(|it| only.is_none_or(|only| only == *it)) {
        if who == CallerKind::Engine {
            for timeout in [false, true].into_iter().take(1 + usize::from(kind)) {
                all.push(TrialActor { who, timeout, admin: false, roles: Vec::new() });
            }
            continue;
        }
        for roles in &sets {
            all.push(TrialActor { who, timeout: false, admin: false, roles: roles.clone() });
            if admin && who == CallerKind::Human {
                all.push(TrialActor { who, timeout: false, admin: true, roles: roles.clone() });
            }
        }
    }
    Some(all)
}

/// Every set of roles.
fn subsets(roles: &[Name]) -> Vec<Vec<Name>> {
    let mut sets: Vec<Vec<Name>> = vec![Vec::new()];
    for role in roles {
        let more: Vec<Vec<Name>> =
            sets.iter().map(|it| it.iter().cloned().chain([role.clone()]).collect()).collect();
        sets.extend(more);
    }
    sets
}
