//! Rankings: orders among entities that are updated with every move.

mod ordered;
mod weight;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::index::Index;
use crate::key::EntityKey;
use crate::view::cached::Cached;
use crate::view::copy_on_write::CopyOnWrite;
use ordered::Ordered;
pub use weight::{Key, Number, Weight, Weights};

/// The key of a ranking: its lifecycle and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RankingKey {
    pub lifecycle: Name,
    pub name: Name,
}

/// The ids of the entities that own an order, one per ref; empty if a ref names none.
pub type Within = Vec<Name>;

/// The place of an entity in a ranking.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RankPlace {
    pub within: Within,
    /// The only actor who may take it.
    pub meant_for: Option<Name>,
    pub weights: Weights,
    /// Equal weights: the older first.
    pub since: Timestamp,
}

/// A change in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reranked {
    /// An entity takes its place (some) or leaves the ranking (none).
    Placed { ranking: Name, entity: EntityKey, place: Option<RankPlace> },
    /// A whole order opens or closes.
    Opened { ranking: RankingKey, within: Within, open: bool },
}

/// Every ranking of every lifecycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rankings {
    by_key: BTreeMap<RankingKey, Cached<CopyOnWrite<RankingIndex>>>,
    /// The rankings that are loaded, in a partial view.
    known: BTreeSet<RankingKey>,
}

/// All orders of one ranking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankingIndex {
    orders: BTreeMap<Within, Order>,
    places: Index<Name, RankPlace>,
    /// The orders stored within an entity, by the position of its ref.
    around: BTreeMap<(usize, Name), BTreeSet<Within>>,
    /// Orders that are not empty and not closed.
    open: BTreeSet<Within>,
}

/// One order: a list per actor it is reserved for, and one for all others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Order {
    lists: BTreeMap<Option<Name>, Ordered<Ranked>>,
    closed: bool,
}

/// An entity by its weights.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    weights: Weights,
    since: Timestamp,
    id: Name,
}

impl Ranked {
    fn new(id: &Name, place: &RankPlace) -> Self {
        Self { weights: place.weights.clone(), since: place.since, id: id.clone() }
    }
}

impl Rankings {
    pub fn get(&self, key: &RankingKey) -> Option<&RankingIndex> {
        self.by_key.get(key).map(|it| &***it)
    }

    /// The number of places in all orders.
    pub fn places(&self) -> usize {
        self.by_key.values().map(|it| it.places.len()).sum()
    }

    pub(crate) fn cached(&self, key: &RankingKey) -> Option<&Cached<CopyOnWrite<RankingIndex>>> {
        self.by_key.get(key)
    }

    pub(crate) fn cached_mut(&mut self, key: &RankingKey) -> Option<&mut Cached<CopyOnWrite<RankingIndex>>> {
        self.by_key.get_mut(key)
    }

    /// Evicts rankings that were not used since the last eviction.
    pub(crate) fn evict_idle(&mut self) {
        let known = &mut self.known;
        self.by_key.retain(|key, it| {
            let stays = it.retire();
            if !stays {
                known.remove(key);
            }
            stays
        });
    }

    /// Drops all rankings, which can be loaded again.
    pub(crate) fn forget(&mut self) {
        (self.by_key, self.known) = Default::default();
    }

    /// Whether a ranking is loaded, even if empty.
    pub fn is_known(&self, key: &RankingKey) -> bool {
        self.known.contains(key)
    }

    pub(crate) fn load(&mut self, key: RankingKey, ranking: RankingIndex) {
        self.known.insert(key.clone());
        self.by_key.insert(key, Cached::new(ranking.into()));
    }

    pub(crate) fn change(&mut self, change: &Reranked, partial: bool) {
        let key = change.ranking();
        if !partial || self.known.contains(&key) {
            self.by_key.entry(key).or_default().change(change);
        }
    }
}

impl Reranked {
    /// The ranking that changes.
    pub fn ranking(&self) -> RankingKey {
        match self {
            Self::Placed { ranking, entity, .. } => {
                RankingKey { lifecycle: entity.lifecycle.clone(), name: ranking.clone() }
            }
            Self::Opened { ranking, .. } => ranking.clone(),
        }
    }
}

impl RankingIndex {
    /// Applies a change to this ranking.
    pub fn change(&mut self, change: &Reranked) {
        match change {
            Reranked::Placed { entity, place, .. } => self.put(&entity.id, place.as_ref()),
            Reranked::Opened { within, open, .. } => self.set_open(within, *open),
        }
    }

    pub fn place(&self, id: &Name) -> Option<&RankPlace> {
        self.places.get(id)
    }

    /// Whether an order is open; none if it is empty.
    pub fn is_open(&self, within: &Within) -> Option<bool> {
        self.orders.get(within).map(|it| !it.closed)
    }

    /// Every order that is not empty.
    pub fn orders(&self) -> impl Iterator<Item = &Within> {
        self.orders.keys()
    }

    /// Orders kept within an entity that its `position`-th ref names.
    pub fn orders_within(&self, position: usize, id: &Name) -> impl Iterator<Item = &Within> {
        self.around.get(&(position, id.clone())).into_iter().flatten()
    }

    /// Its place in its order, counted from one.
    pub fn rank(&self, id: &Name) -> Option<usize> {
        let place = self.places.get(id)?;
        let ranked = Ranked::new(id, place);
        let order = self.orders.get(&place.within)?;
        Some(order.lists.values().map(|it| it.count_before(&ranked)).sum::<usize>() + 1)
    }

    pub fn size(&self, within: &Within) -> usize {
        self.orders.get(within).map_or(0, |it| it.lists.values().map(Ordered::len).sum())
    }

    /// All of one order, first to last.
    pub fn ascending(&self, within: &Within) -> impl Iterator<Item = &Name> {
        let order = self.orders.get(within);
        merged(order.into_iter().flat_map(|it| it.lists.values()).map(Ordered::iter).collect(), |a, b| a < b)
    }

    /// All of one order, last to first.
    pub fn descending(&self, within: &Within) -> impl Iterator<Item = &Name> {
        let order = self.orders.get(within);
        let lists = order.into_iter().flat_map(|it| it.lists.values()).map(|it| it.iter().rev());
        merged(lists.collect(), |a, b| a > b)
    }

    /// Entities whose first, ascending weight is below `key`, first to last.
    pub fn below<'a>(&'a self, within: &Within, key: &'a Key) -> impl Iterator<Item = &'a Name> {
        let low = |id: &&Name| {
            let first = self.places.get(*id).and_then(|it| it.weights.first());
            match first {
                Some(Weight::Up(it)) => it < key,
                Some(Weight::Down(_)) | None => false,
            }
        };
        self.ascending(within).take_while(low)
    }

    /// The ids that can be claimed, first to last, from every open order: unreserved ones and those reserved for this
    /// actor, or all if there is no actor.
    pub fn open(&self, caller: Option<&Name>) -> impl Iterator<Item = &Name> {
        let orders = self.open.iter().filter_map(|it| self.orders.get(it));
        let lists = orders.flat_map(|it| match caller {
            None => it.lists.values().collect::<Vec<_>>(),
            Some(caller) => {
                [None, Some(caller.clone())].iter().filter_map(|it_for| it.lists.get(it_for)).collect()
            }
        });
        merged(lists.map(Ordered::iter).collect(), |a, b| a < b)
    }

    /// Gives an entity its place (some) or takes it away (none).
    pub fn put(&mut self, id: &Name, place: Option<&RankPlace>) {
        if let Some(old) = self.places.remove(id) {
            let ranked = Ranked::new(id, &old);
            if let Some(order) = self.orders.get_mut(&old.within) {
                if let Some(list) = order.lists.get_mut(&old.meant_for) {
                    list.remove(&ranked);
                    if list.len() == 0 {
                        order.lists.remove(&old.meant_for);
                    }
                }
                let gone = order.lists.is_empty() && place.is_none_or(|it| it.within != old.within);
                if gone {
                    self.forget(&old.within);
                }
            }
        }
        let Some(place) = place else { return };
        if !self.orders.contains_key(&place.within) {
            for (position, id) in place.within.iter().enumerate() {
                self.around.entry((position, id.clone())).or_default().insert(place.within.clone());
            }
            self.open.insert(place.within.clone());
        }
        let order = self.orders.entry(place.within.clone()).or_default();
        order.lists.entry(place.meant_for.clone()).or_default().insert(Ranked::new(id, place));
        self.places.insert(id.clone(), place.clone());
    }

    fn forget(&mut self, within: &Within) {
        self.orders.remove(within);
        self.open.remove(within);
        for (position, id) in within.iter().enumerate() {
            let key = (position, id.clone());
            if let Some(all) = self.around.get_mut(&key) {
                all.remove(within);
                if all.is_empty() {
                    self.around.remove(&key);
                }
            }
        }
    }

    /// Opens or closes a whole order.
    pub fn set_open(&mut self, within: &Within, open: bool) {
        let Some(order) = self.orders.get_mut(within) else { return };
        order.closed = !open;
        if open {
            self.open.insert(within.clone());
        } else {
            self.open.remove(within);
        }
    }
}

/// Several sorted lists as one.
fn merged<'a>(
    lists: Vec<impl Iterator<Item = &'a Ranked>>,
    earlier: impl Fn(&Ranked, &Ranked) -> bool,
) -> impl Iterator<Item = &'a Name> {
    let mut lists: Vec<_> = lists.into_iter().map(Iterator::peekable).collect();
    std::iter::from_fn(move || {
        let mut best: Option<(usize, &'a Ranked)> = None;
        for (n, list) in lists.iter_mut().enumerate() {
            if let Some(item) = list.peek().copied()
                && best.is_none_or(|(_, it)| earlier(item, it))
            {
                best = Some((n, item));
            }
        }
        let (n, _) = best?;
        lists.get_mut(n)?.next().map(|it| &it.id)
    })
}

#[cfg(test)]
mod tests {
    use trackside_lifecycle::value::Value;

    use super::*;

    fn place(within: &[&str], meant_for: Option<&str>, weight: i64) -> RankPlace {
        RankPlace {
            within: within.iter().map(|it| Name::new(it)).collect(),
            meant_for: meant_for.map(Name::new),
            weights: vec![Weight::new(&Value::Int(weight), false)].into(),
            since: Timestamp(0),
        }
    }

    fn names<'a>(all: impl Iterator<Item = &'a Name>) -> Vec<&'a str> {
        all.map(Name::as_str).collect()
    }

    /// Two orders. In the first, entities for any actor, for ada and for bob are mixed.
    fn mixed() -> RankingIndex {
        let mut ranking = RankingIndex::default();
        let all = [
            ("a", "x", None, 1),
            ("b", "x", Some("ada"), 2),
            ("c", "x", Some("bob"), 3),
            ("d", "x", None, 4),
            ("e", "x", Some("ada"), 5),
            ("f", "y", None, 0),
            ("g", "y", Some("bob"), 6),
        ];
        for (id, within, meant_for, weight) in all {
            ranking.put(&Name::new(id), Some(&place(&[within], meant_for, weight)));
        }
        ranking
    }

    #[test]
    fn an_order_contains_the_entries_of_all_actors() {
        let ranking = mixed();
        let x = vec![Name::new("x")];
        assert_eq!(names(ranking.ascending(&x)), ["a", "b", "c", "d", "e"]);
        assert_eq!(names(ranking.descending(&x)), ["e", "d", "c", "b", "a"]);
        assert_eq!(names(ranking.below(&x, &Key::from(&Value::Int(3)))), ["a", "b"]);
        assert_eq!(ranking.size(&x), 5);
        let ranks = ["a", "b", "c", "d", "e"].map(|it| ranking.rank(&Name::new(it)));
        assert_eq!(ranks, [1, 2, 3, 4, 5].map(Some));
        assert_eq!(ranking.rank(&Name::new("g")), Some(2));
        assert_eq!(ranking.rank(&Name::new("nobody")), None);
    }

    #[test]
    fn only_open_entries_for_the_caller_are_handed_out() {
        let mut ranking = mixed();
        assert_eq!(names(ranking.open(Some(&Name::new("ada")))), ["f", "a", "b", "d", "e"]);
        assert_eq!(names(ranking.open(Some(&Name::new("eve")))), ["f", "a", "d"]);
        assert_eq!(names(ranking.open(None)), ["f", "a", "b", "c", "d", "e", "g"]);
        ranking.set_open(&vec![Name::new("x")], false);
        assert_eq!(ranking.is_open(&vec![Name::new("x")]), Some(false));
        assert_eq!(names(ranking.open(Some(&Name::new("bob")))), ["f", "g"]);
        // A closed order takes new ones, and stays closed.
        ranking.put(&Name::new("h"), Some(&place(&["x"], None, 0)));
        assert_eq!(names(ranking.open(Some(&Name::new("ada")))), ["f"]);
        ranking.set_open(&vec![Name::new("x")], true);
        assert_eq!(names(ranking.open(Some(&Name::new("eve")))), ["f", "h", "a", "d"]);
    }

    #[test]
    fn a_place_is_left_before_another_is_taken() {
        let mut ranking = mixed();
        ranking.put(&Name::new("f"), Some(&place(&["x"], None, 9)));
        ranking.put(&Name::new("g"), None);
        assert_eq!(names(ranking.ascending(&vec![Name::new("x")])), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(ranking.is_open(&vec![Name::new("y")]), None, "the old place is empty");
        assert_eq!(ranking.orders_within(0, &Name::new("y")).count(), 0);
        assert_eq!(ranking.orders_within(0, &Name::new("x")).count(), 1);
        for id in ["a", "b", "c", "d", "e", "f"] {
            ranking.put(&Name::new(id), None);
        }
        assert_eq!(ranking, RankingIndex::default(), "an empty order leaves nothing behind");
    }
}
