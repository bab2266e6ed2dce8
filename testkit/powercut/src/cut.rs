//! The effect of a power cut on unsynced writes.

use trackside_random::Random;

/// The fate of unsynced writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// None of it survives.
    Lost,
    /// All of it is found, as after the end of the process alone.
    Kept,
    /// An arbitrary part is found, chosen by the seed: whole writes, or only some of their sectors.
    Torn { seed: u64, sector: Sector },
}

/// The unit that a disk writes whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sector {
    Bytes512,
    Bytes4096,
}

impl Unsynced {
    /// The two extremes, then `torn` torn ways, small and large sectors in turn.
    pub fn ways(torn: u64) -> impl Iterator<Item = Self> + Clone {
        let torn = (0..torn).map(|seed| Self::Torn {
            seed,
            sector: if seed % 2 == 0 { Sector::Bytes512 } else { Sector::Bytes4096 },
        });
        [Self::Lost, Self::Kept].into_iter().chain(torn)
    }
}

impl Sector {
    fn bytes(self) -> usize {
        match self {
            Self::Bytes512 => 512,
            Self::Bytes4096 => 4096,
        }
    }
}

/// The result of a cut for one file, or one name.
#[derive(Debug)]
pub enum Fate {
    Lost,
    Kept,
    Torn(Torn),
}

#[derive(Debug)]
pub struct Torn {
    random: Random,
    sector: usize,
    /// The share of this file that survives, in quarters.
    kept: usize,
    grown: Grown,
}

/// The content of a file where a lost write would have extended it.
#[derive(Clone, Copy, Debug)]
enum Grown {
    Nothing,
    Zeros,
    Noise,
}

impl Fate {
    /// `which` identifies the file, `at` the boundary, so that each has its own random stream.
    pub fn new(how: Unsynced, at: u64, which: u64) -> Self {
        let Unsynced::Torn { seed, sector } = how else {
            return if how == Unsynced::Kept { Self::Kept } else { Self::Lost };
        };
        let mut random = Random::from_seeds(&[seed, at, which]);
        let kept = random.below(5);
        let grown = match random.below(3) {
            0 => Grown::Nothing,
            1 => Grown::Zeros,
            _ => Grown::Noise,
        };
        Self::Torn(Torn { random, sector: sector.bytes(), kept, grown })
    }

    /// Whether an atomic change survives.
    pub fn keeps(&mut self) -> bool {
        match self {
            Self::Lost => false,
            Self::Kept => true,
            Self::Torn(torn) => torn.keeps(),
        }
    }

    /// The number of surviving changes in a row, from the first on.
    pub fn first_of(&mut self, changes: usize) -> usize {
        match self {
            Self::Lost => 0,
            Self::Kept => changes,
            Self::Torn(torn) => torn.random.below(changes + 1),
        }
    }

    /// Applies the surviving part of a write.
    pub fn write(&mut self, file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
        match self {
            Self::Lost => {}
            Self::Kept => put(file, offset, bytes),
            Self::Torn(torn) => torn.write(file, offset, bytes),
        }
    }
}

impl Torn {
    fn keeps(&mut self) -> bool {
        self.random.below(4) < self.kept
    }

    fn write(&mut self, file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
        let whole = (self.random.below(4) < 2).then(|| self.keeps());
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(self.sector - at % self.sector));
            if whole.unwrap_or_else(|| self.keeps()) {
                put(file, at, piece);
            } else if at + piece.len() > file.len() {
                self.grow(file, at + piece.len());
            }
            at += piece.len();
            rest = later;
        }
    }

    fn grow(&mut self, file: &mut Vec<u8>, size: usize) {
        let from = file.len();
        match self.grown {
            Grown::Nothing => {}
            Grown::Zeros => file.resize(size, 0),
            Grown::Noise => {
                file.resize(size, 0);
                self.random.fill(file.get_mut(from..).unwrap_or_default());
            }
        }
    }
}

/// Writes like a file system: a gap between the end and the offset becomes zeros.
pub fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if file.len() < offset {
        file.resize(offset, 0);
    }
    let (over, beyond) = bytes.split_at(bytes.len().min(file.len() - offset));
    if let Some(place) = file.get_mut(offset..offset + over.len()) {
        place.copy_from_slice(over);
    }
    file.extend_from_slice(beyond);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A possible result of a torn write of twos over a file of ones.
    fn torn(seed: u64, sector: Sector, offset: usize, length: usize) -> Vec<u8> {
        let mut file = vec![1; 8192];
        Fate::new(Unsynced::Torn { seed, sector }, 7, 1).write(&mut file, offset, &vec![2; length]);
        file
    }

    #[test]
    fn a_sector_is_whole_or_untouched_and_its_neighbours_stay() {
        let mut mixed = 0;
        for seed in 0..200 {
            let file = torn(seed, Sector::Bytes512, 100, 5000);
            assert!(file[..100].iter().chain(&file[5100..]).all(|it| *it == 1), "seed {seed}");
            let sectors: Vec<&[u8]> =
                std::iter::once(&file[100..512]).chain(file[512..5100].chunks(512)).collect();
            assert!(sectors.iter().all(|it| it.iter().all(|byte| *byte == it[0])), "seed {seed}");
            mixed += usize::from(file.contains(&2) && sectors.iter().any(|it| it[0] == 1));
        }
        assert!(mixed > 40, "only {mixed} of 200 were torn");
    }

    #[test]
    fn a_seed_is_an_answer_and_seeds_differ() {
        let all: Vec<_> = (0..50).map(|seed| torn(seed, Sector::Bytes512, 0, 8192)).collect();
        assert_eq!(all[9], torn(9, Sector::Bytes512, 0, 8192));
        assert!(all.iter().any(|it| !it.contains(&2)) && all.iter().any(|it| !it.contains(&1)));
        assert!(all.iter().any(|it| it != &all[0]));
    }

    #[test]
    fn the_tail_of_a_lost_write_is_missing_zero_or_noise() {
        let (mut missing, mut zeros, mut noise) = (0, 0, 0);
        for seed in 0..200 {
            let mut file = vec![1; 512];
            Fate::new(Unsynced::Torn { seed, sector: Sector::Bytes512 }, 0, 0)
                .write(&mut file, 512, &[2; 512]);
            assert_eq!(file[..512], [1; 512]);
            match &file[512..] {
                [] => missing += 1,
                grown if grown.iter().all(|it| *it == 0) => zeros += 1,
                grown if grown.iter().any(|it| *it != 2) => noise += 1,
                _ => {}
            }
        }
        assert!(missing > 10 && zeros > 10 && noise > 10, "{missing} {zeros} {noise}");
    }
}
