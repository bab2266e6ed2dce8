//! Choices that a seed decides.

/// A stream of numbers that look random and are the same for the same seed (the generator `splitmix64`).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// One stream for each combination of numbers.
    pub fn new(seeds: &[u64]) -> Self {
        let mut chance = Self(0);
        for seed in seeds {
            chance.0 ^= seed;
            chance.0 = chance.next();
        }
        chance
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// True in `yes` of four cases.
    pub fn quarters(&mut self, yes: u64) -> bool {
        self.below(4) < yes
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            for (byte, chosen) in chunk.iter_mut().zip(self.next().to_le_bytes()) {
                *byte = chosen;
            }
        }
    }
}
