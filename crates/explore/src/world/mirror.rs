//! Mirror images: worlds that differ only in who is who.
//!
//! Two ids may be exchanged where the start, what may be sent and who plays look the same afterwards. Of the mirror
//! images of a world one is followed. Ids are ours to exchange because no rule of a pack knows one by name; where an
//! order among entities falls back on ids or age, entities are left as they are.

use trackside_lifecycle::name::Name;

/// Ids and the marks that stand for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renaming(Vec<(Name, Name)>);

impl Renaming {
    /// Writes a text with the ids in it renamed.
    pub(crate) fn write(&self, text: &str, into: &mut Vec<u8>) {
        if let Some((_, to)) = self.0.iter().find(|(from, _)| **from == *text) {
            into.extend(to.bytes());
            return;
        }
        if !self.0.iter().any(|(from, _)| text.len() > from.len() && text.contains(from.as_str())) {
            into.extend(text.bytes());
            return;
        }
        // An id within a longer one, as in CHANNEL:AGENT.
        let mut rest = text;
        while !rest.is_empty() {
            let next = self
                .0
                .iter()
                .filter_map(|(from, to)| rest.find(from.as_str()).map(|at| (at, from, to)))
                .min_by_key(|(at, from, _)| (*at, usize::MAX - from.len()));
            let Some((at, from, to)) = next else { break };
            into.extend(rest.get(..at).unwrap_or_default().bytes());
            into.extend(to.bytes());
            rest = rest.get(at + from.len()..).unwrap_or_default();
        }
        into.extend(rest.bytes());
    }
}

/// Every way to exchange ids with each other.
#[derive(Clone, Debug)]
pub(crate) struct Mirrors {
    pub(crate) renamings: Vec<Renaming>,
    /// Ids that are exchanged, in groups.
    pub(crate) groups: Vec<Vec<Name>>,
}

/// Most renamings that are tried for each world.
const MOST: usize = 24;

impl Mirrors {
    /// Nobody can be exchanged.
    pub(crate) fn none() -> Self {
        Self { renamings: vec![Renaming::default()], groups: Vec::new() }
    }

    /// Groups of ids among candidates of one kind; `alike` tells whether a renaming changes nothing.
    pub(crate) fn of(candidates: &[Vec<Name>], alike: impl Fn(&Renaming) -> bool) -> Self {
        let mut groups: Vec<Vec<Name>> = Vec::new();
        for kind in candidates {
            let mut found: Vec<Vec<Name>> = Vec::new();
            for id in kind {
                let exchanged = |group: &Vec<Name>| {
                    group.first().is_some_and(|other| {
                        alike(&Renaming(vec![(id.clone(), other.clone()), (other.clone(), id.clone())]))
                    })
                };
                match found.iter().position(exchanged).and_then(|at| found.get_mut(at)) {
                    Some(group) => group.push(id.clone()),
                    None => found.push(vec![id.clone()]),
                }
            }
            groups.extend(found.into_iter().filter(|it| it.len() > 1));
        }
        let mut renamings = vec![Renaming::default()];
        let mut kept = Vec::new();
        for group in groups {
            let orders = permutations(&group);
            if renamings.len() * orders.len() > MOST {
                continue;
            }
            renamings = renamings
                .iter()
                .flat_map(|renaming| {
                    orders.iter().map(|order| {
                        let pairs = group.iter().cloned().zip(order.iter().cloned());
                        Renaming(renaming.0.iter().cloned().chain(pairs).collect())
                    })
                })
                .collect();
            kept.push(group);
        }
        Self { renamings, groups: kept }
    }
}

fn permutations(of: &[Name]) -> Vec<Vec<Name>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in permutations(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first.clone());
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
        let swap = Renaming(vec![("a-1".into(), "a-2".into()), ("a-2".into(), "a-1".into())]);
        let said = |text: &str| {
            let mut out = Vec::new();
            swap.write(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(said("a-1"), "a-2");
        assert_eq!(said("C:a-2"), "C:a-1");
        assert_eq!(said("a-1,a-2"), "a-2,a-1");
        assert_eq!(said("other"), "other");
    }

    #[test]
    fn only_those_alike_are_exchanged() {
        let ids: Vec<Name> = ["a", "b", "c"].map(Name::new).to_vec();
        // b and c are alike, a is known by name.
        let mirrors = Mirrors::of(&[ids], |it| it.0.iter().all(|(from, _)| *from != "a"));
        assert_eq!(mirrors.groups, [["b", "c"].map(Name::new).to_vec()]);
        assert_eq!(mirrors.renamings.len(), 2);
    }
}
