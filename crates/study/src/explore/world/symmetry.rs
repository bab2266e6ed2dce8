//! Symmetric worlds: those that differ only in the names of ids.
//!
//! Two ids are interchangeable if the start, the samples and the actors look the same after the exchange.
//! Only one of several symmetric worlds is explored. Ids may be exchanged because no rule of a pack names
//! one. If an order among entities falls back on ids or age, they are not exchanged.

use trackside_lifecycle::name::Name;

/// Precedes the number of an id; no text contains this byte.
const ID: u8 = 0xfe;

/// Ids that may be exchanged, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymmetricIds {
    all: Vec<Name>,
    shortest: usize,
}

impl SymmetricIds {
    fn new(all: Vec<Name>) -> Self {
        let shortest = all.iter().map(|it| it.len()).min().unwrap_or(usize::MAX);
        Self { all, shortest }
    }

    /// Writes a text with a number for every id in it, and notes where the numbers are.
    pub(crate) fn write(&self, text: &str, into: &mut Vec<u8>, at: &mut Vec<usize>) {
        if text.len() < self.shortest || self.all.is_empty() {
            into.extend_from_slice(text.as_bytes());
            return;
        }
        // An id may be part of a longer one, as in CHANNEL:AGENT.
        let mut rest = text;
        while rest.len() >= self.shortest {
            let found = self.all.iter().enumerate().filter_map(|(number, id)| {
                let place =
                    if rest.len() == id.len() { (rest == &**id).then_some(0) } else { rest.find(&**id) };
                place.map(|place| (place, usize::MAX - id.len(), number))
            });
            let Some((place, length, number)) = found.min() else { break };
            into.extend_from_slice(rest.get(..place).unwrap_or_default().as_bytes());
            into.push(ID);
            at.push(into.len());
            into.push(u8::try_from(number).unwrap_or(u8::MAX));
            rest = rest.get(place + (usize::MAX - length)..).unwrap_or_default();
        }
        into.extend_from_slice(rest.as_bytes());
    }
}

/// A text with numbers for ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Written {
    pub(crate) text: Vec<u8>,
    pub(crate) ids: Vec<usize>,
}

/// Maps the number of an id to its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renaming(Vec<u8>);

impl Renaming {
    fn none(many: usize) -> Self {
        Self((0..many).map(|it| u8::try_from(it).unwrap_or(u8::MAX)).collect())
    }

    pub(crate) fn apply(&self, written: &mut Written) {
        for place in &written.ids {
            if let Some(byte) = written.text.get_mut(*place) {
                *byte = self.0.get(usize::from(*byte)).copied().unwrap_or(*byte);
            }
        }
    }
}

/// Every way to exchange ids with each other.
#[derive(Clone, Debug)]
pub(crate) struct Mirrors {
    pub(crate) ids: SymmetricIds,
    pub(crate) renamings: Vec<Renaming>,
    /// Ids that are exchanged, in groups.
    pub(crate) groups: Vec<Vec<Name>>,
}

/// Most renamings that are tried for each world.
const MOST: usize = 24;

impl Mirrors {
    /// No ids are interchangeable.
    pub(crate) fn none() -> Self {
        Self { ids: SymmetricIds::default(), renamings: vec![Renaming::none(0)], groups: Vec::new() }
    }

    /// Groups of ids among candidates of one kind; `alike` returns whether a renaming changes nothing.
    pub(crate) fn of(candidates: &[Vec<Name>], alike: impl Fn(&SymmetricIds, &Renaming) -> bool) -> Self {
        let mut groups: Vec<Vec<Name>> = Vec::new();
        for kind in candidates {
            let mut found: Vec<Vec<Name>> = Vec::new();
            for id in kind {
                let exchanged = |group: &Vec<Name>| {
                    group.first().is_some_and(|other| {
                        alike(&SymmetricIds::new(vec![id.clone(), other.clone()]), &Renaming(vec![1, 0]))
                    })
                };
                match found.iter().position(exchanged).and_then(|at| found.get_mut(at)) {
                    Some(group) => group.push(id.clone()),
                    None => found.push(vec![id.clone()]),
                }
            }
            groups.extend(found.into_iter().filter(|it| it.len() > 1));
        }
        let mut ids: Vec<Name> = Vec::new();
        let mut renamings = vec![Vec::new()];
        let mut kept = Vec::new();
        for group in groups {
            let first = ids.len();
            let many = (1..=group.len()).try_fold(renamings.len(), |all, it| all.checked_mul(it));
            if many.is_none_or(|it| it > MOST) {
                continue;
            }
            let orders = permutations(&(first..first + group.len()).collect::<Vec<_>>());
            renamings = renamings
                .iter()
                .flat_map(|renaming: &Vec<usize>| {
                    orders.iter().map(|order| renaming.iter().chain(order).copied().collect())
                })
                .collect();
            ids.extend(group.iter().cloned());
            kept.push(group);
        }
        let small = |it: usize| u8::try_from(it).unwrap_or(u8::MAX);
        let renamings =
            renamings.into_iter().map(|it| Renaming(it.into_iter().map(small).collect())).collect();
        Self { ids: SymmetricIds::new(ids), renamings, groups: kept }
    }
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in permutations(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, *first);
            all.push(order);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_renamed_whole_and_within_longer_ones() {
        let ids = SymmetricIds::new(vec!["a-1".into(), "a-2".into()]);
        let said = |text: &str| {
            let mut written = Written::default();
            ids.write(text, &mut written.text, &mut written.ids);
            Renaming(vec![1, 0]).apply(&mut written);
            written.text
        };
        let same = |text: &str| {
            let mut written = Written::default();
            ids.write(text, &mut written.text, &mut written.ids);
            written.text
        };
        assert_eq!(said("a-1"), same("a-2"));
        assert_eq!(said("C:a-2"), same("C:a-1"));
        assert_eq!(said("a-1,a-2"), same("a-2,a-1"));
        assert_eq!(said("other"), b"other");
    }

    #[test]
    fn only_symmetric_ids_are_exchanged() {
        let ids: Vec<Name> = ["a", "b", "c"].map(Name::new).to_vec();
        // b and c are alike, a is known by name.
        let mirrors = Mirrors::of(&[ids], |ids, _| ids.all.iter().all(|it| *it != "a"));
        assert_eq!(mirrors.groups, [["b", "c"].map(Name::new).to_vec()]);
        assert_eq!(mirrors.renamings.len(), 2);
    }
}
