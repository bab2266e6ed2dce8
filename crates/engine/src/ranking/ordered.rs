//! A sorted set with ranks: how many items come before one.

/// Most items of a block; a full block is halved. There are few blocks, so summing their sizes is cheap.
const BLOCK: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Ordered<T> {
    blocks: Vec<Vec<T>>,
    len: usize,
}

impl<T: PartialEq> PartialEq for Ordered<T> {
    /// Equal if the items are equal: the blocks depend on the order of insertion.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.blocks.iter().flatten().eq(other.blocks.iter().flatten())
    }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0 }
    }
}

impl<T: Ord> Ordered<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn insert(&mut self, item: T) {
        let at = self.block_of(&item).min(self.blocks.len().saturating_sub(1));
        let Some(block) = self.blocks.get_mut(at) else {
            self.blocks.push(vec![item]);
            self.len = 1;
            return;
        };
        let Err(place) = block.binary_search(&item) else { return };
        block.insert(place, item);
        self.len += 1;
        if block.len() > BLOCK {
            let rest = block.split_off(BLOCK / 2);
            self.blocks.insert(at + 1, rest);
        }
    }

    pub fn remove(&mut self, item: &T) {
        let at = self.block_of(item);
        let Some(block) = self.blocks.get_mut(at) else { return };
        let Ok(place) = block.binary_search(item) else { return };
        block.remove(place);
        self.len -= 1;
        if block.is_empty() {
            self.blocks.remove(at);
        }
    }

    /// The number of items before this one, which need not be in the set.
    pub fn count_before(&self, item: &T) -> usize {
        let at = self.block_of(item);
        let earlier: usize = self.blocks.iter().take(at).map(Vec::len).sum();
        earlier + self.blocks.get(at).map_or(0, |it| it.partition_point(|it| it < item))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    /// The first block whose last item is not before this one.
    fn block_of(&self, item: &T) -> usize {
        self.blocks.partition_point(|it| it.last().is_some_and(|last| last < item))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Numbers in no order, the same every time.
    fn scattered(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|it| (it * 7919) % 10_007)
    }

    #[test]
    fn it_is_a_sorted_set_with_positions() {
        let mut ours = Ordered::default();
        let mut theirs = BTreeSet::new();
        for it in scattered(6_000) {
            ours.insert(it);
            theirs.insert(it);
        }
        for it in scattered(6_000).filter(|it| it % 3 == 0) {
            ours.remove(&it);
            theirs.remove(&it);
        }
        // Inserting a present item, or removing an absent one, changes nothing.
        ours.insert(10);
        theirs.insert(10);
        ours.insert(10);
        ours.remove(&20_000);
        assert!(ours.blocks.len() > 4, "several blocks");
        assert_eq!(ours.len(), theirs.len());
        assert!(ours.iter().eq(theirs.iter()));
        assert!(ours.iter().rev().eq(theirs.iter().rev()));
        for it in [0, 1, 10, 500, 501, 5_000, 10_006, 20_000] {
            assert_eq!(ours.count_before(&it), theirs.range(..it).count(), "before {it}");
        }
    }

    #[test]
    fn insertion_order_does_not_matter() {
        let filled = |items: &mut dyn Iterator<Item = u64>| {
            let mut it = Ordered::default();
            items.for_each(|item| it.insert(item));
            it
        };
        let (up, down) = (filled(&mut (0..300)), filled(&mut (0..300).rev()));
        assert_ne!(up.blocks, down.blocks);
        assert_eq!(up, down);
        assert_ne!(up, filled(&mut (1..301)));
    }

    #[test]
    fn an_emptied_set_can_be_filled_again() {
        let mut ours = Ordered::default();
        ours.insert(1);
        ours.remove(&1);
        assert_eq!((ours.len(), ours.count_before(&5), ours.iter().count()), (0, 0, 0));
        ours.insert(2);
        assert_eq!(ours.iter().collect::<Vec<_>>(), [&2]);
    }
}
