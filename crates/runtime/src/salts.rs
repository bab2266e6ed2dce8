//! Salts for the payloads of entries, so that a redacted value cannot be guessed from its digest.

use trackside_store::StoreError;
use trackside_store::record::Salt;

/// Random bytes fetched at a time.
const FETCHED: usize = 4_096;

/// The source of salts.
#[derive(Debug, Default)]
pub struct SaltSource {
    /// Random bytes that were not used yet.
    bytes: Vec<u8>,
    /// The state of a repeatable source, for simulations; none for the randomness of the system.
    seed: Option<u64>,
}

impl SaltSource {
    /// A source that gives the same salts each time, for simulations.
    pub fn repeatable(seed: u64) -> Self {
        Self { bytes: Vec::new(), seed: Some(seed) }
    }

    pub fn next_salt(&mut self) -> Result<Salt, StoreError> {
        let mut salt = Salt::default();
        if self.bytes.len() < salt.len() {
            self.fetch()?;
        }
        let rest = self.bytes.len().saturating_sub(salt.len());
        for (byte, random) in salt.iter_mut().zip(self.bytes.drain(rest..)) {
            *byte = random;
        }
        Ok(salt)
    }

    fn fetch(&mut self) -> Result<(), StoreError> {
        self.bytes.resize(FETCHED, 0);
        match &mut self.seed {
            None => getrandom::fill(&mut self.bytes)
                .map_err(|error| StoreError::io("seal an entry: the system gave no random bytes", error)),
            Some(state) => {
                for chunk in self.bytes.chunks_mut(8) {
                    // SplitMix64.
                    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
                }
                Ok(())
            }
        }
    }
}
