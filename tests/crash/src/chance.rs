//! Chance that a seed repeats.

/// Numbers that look random. The seed is printed, so that a failure can be tried again.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The seed of `TRACKSIDE_SEED`, or one of the clock.
    pub fn seed() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        match std::env::var("TRACKSIDE_SEED") {
            Ok(seed) => seed.parse().expect("TRACKSIDE_SEED is a number"),
            Err(_) => now.as_nanos() as u64 % 1_000_000,
        }
    }

    /// One below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (it ^ (it >> 31)) % end.max(1)
    }
}

/// A number of the environment: how long a long run is.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |it| it.parse().expect("a number"))
}
