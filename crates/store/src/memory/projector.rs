//! The projector of the store in memory.

use trackside_lifecycle::time::Timestamp;

use super::projected::Write;
use super::{Call, MemoryStore, lock_disk};
use crate::store::Projector;
use crate::{Projection, StoreError};

pub(super) struct MemoryProjector(pub(super) MemoryStore);

impl Drop for MemoryProjector {
    fn drop(&mut self) {
        let mut disk = lock_disk(&self.0.disk);
        if disk.process == self.0.process {
            disk.projector_taken = false;
        }
    }
}

impl Projector for MemoryProjector {
    fn position(&mut self) -> Result<u64, StoreError> {
        self.0.attempt(Call::Read, |disk| Ok(disk.projected.position))
    }

    fn project(&mut self, projection: &Projection) -> Result<(), StoreError> {
        self.0.attempt(Call::Project(projection.position), |disk| {
            disk.write(Write::Project(Box::new(projection.clone()))).map(|_| ())
        })
    }

    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError> {
        self.0.attempt(Call::ExpireKeys, |disk| disk.write(Write::Expire { before, most }))
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.0.attempt(Call::Clear, |disk| disk.write(Write::Clear).map(|_| ()))
    }

    /// Everything written so far becomes durable.
    fn tidy(&mut self) -> Result<bool, StoreError> {
        self.0.attempt(Call::Tidy, |disk| {
            if let Some(safe) = &mut disk.safe {
                safe.save();
            }
            Ok(true)
        })
    }
}
