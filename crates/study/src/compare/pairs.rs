//! Pairs the items of an old definition with those of a new one.

use crate::compare::item::DefinitionItem;

/// The pairs, additions and removals of one list.
#[derive(Debug, Default)]
pub struct Pairs<'a> {
    pub both: Vec<(&'a DefinitionItem, &'a DefinitionItem)>,
    pub gone: Vec<&'a DefinitionItem>,
    pub new: Vec<&'a DefinitionItem>,
}

/// Less alike than this, and it is another thing.
const ALIKE: f64 = 0.4;

/// By group and id; among several of one id by likeness, the most alike first.
pub fn pairs<'a>(old: &'a [DefinitionItem], new: &'a [DefinitionItem]) -> Pairs<'a> {
    let mut pairs = Pairs::default();
    let mut done: Vec<(&str, &str)> = Vec::new();
    for thing in old.iter().chain(new) {
        let key = (thing.group, thing.id.as_str());
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let of = |list: &'a [DefinitionItem]| {
            list.iter().filter(|it| (it.group, it.id.as_str()) == key).collect::<Vec<_>>()
        };
        one_id(of(old), of(new), &mut pairs);
    }
    pairs
}

fn one_id<'a>(mut old: Vec<&'a DefinitionItem>, mut new: Vec<&'a DefinitionItem>, pairs: &mut Pairs<'a>) {
    let as_many = old.len() == new.len();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (i, a) in old.iter().enumerate() {
            for (j, b) in new.iter().enumerate() {
                let alike = likeness(a, b);
                // Of equally similar ones the first, preferably in the same position.
                if best.is_none_or(|(most, ..)| alike > most) {
                    best = Some((alike, i, j));
                }
            }
        }
        let Some((alike, i, j)) = best else { break };
        if alike < ALIKE && !(as_many && old.len() == 1) {
            break;
        }
        pairs.both.push((old.remove(i), new.remove(j)));
    }
    pairs.gone.extend(old);
    pairs.new.extend(new);
}

/// The similarity of two items, from 0 to 1: targets and callers weigh most.
pub fn likeness(a: &DefinitionItem, b: &DefinitionItem) -> f64 {
    let weight = |key: &str| match key {
        "edges" => 6.0,
        "who" => 2.0,
        _ => 1.0,
    };
    let (mut alike, mut all) = (0.0, 0.0);
    for facet in &a.facets {
        let weight = weight(&facet.key);
        all += weight;
        alike += b.facet(&facet.key).map_or(0.0, |it| weight * facet.leaf.likeness(&it.leaf));
    }
    all += b.facets.iter().filter(|it| a.facet(&it.key).is_none()).map(|it| weight(&it.key)).sum::<f64>();
    for part in &a.parts {
        all += 1.0;
        let twin = b.parts.iter().filter(|it| (it.group, &it.id) == (part.group, &part.id));
        alike += twin.map(|it| likeness(part, it)).fold(0.0, f64::max);
    }
    let known =
        |part: &&DefinitionItem| a.parts.iter().any(|it| (it.group, &it.id) == (part.group, &part.id));
    all += b.parts.iter().filter(|it| !known(it)).count() as f64;
    if all == 0.0 { 1.0 } else { alike / all }
}
