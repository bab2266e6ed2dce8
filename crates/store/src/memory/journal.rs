//! The journal of the store in memory.

use std::collections::BTreeSet;

use super::{Call, Disk, MemoryStore, lock_disk, time_of};
use crate::rules::Installed;
use crate::store::{Batch, Head, JournalWriter};
use crate::{Chain, StoreError};

pub(super) struct MemoryJournal(pub(super) MemoryStore);

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        let mut disk = lock_disk(&self.0.disk);
        if disk.process == self.0.process {
            disk.journal_taken = false;
        }
    }
}

impl JournalWriter for MemoryJournal {
    fn head(&mut self) -> Result<Head, StoreError> {
        self.0.attempt(Call::Read, |disk| Ok(disk.head))
    }

    fn begin(&mut self) -> Result<u64, StoreError> {
        let mut disk = lock_disk(&self.0.disk);
        disk.begun += 1;
        Ok(disk.begun)
    }

    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.0.attempt(Call::Append(batch.records.len()), |disk| {
            let mut chain = disk.head.chain;
            let mut installed = Vec::new();
            for (n, record) in batch.records.iter().enumerate() {
                let known = record.seq.saturating_sub(1);
                installed.extend(Installed::of(chain, record));
                match chain.follow(record) {
                    Ok(()) => {}
                    Err(_) if n == 0 => return Err(StoreError::NotOurs { found: chain.seq, known }),
                    Err(broken) => return Err(broken),
                }
            }
            if let Some(last) = batch.records.last() {
                disk.head = Head { chain, at: Some(time_of(last)?) };
            }
            disk.records.extend(batch.records.iter().map(|it| (it.seq, it.clone())));
            disk.installed.extend(installed);
            for it in &batch.definitions {
                disk.definitions.insert((it.pack.clone(), it.version), it.clone());
            }
            Ok(())
        })
    }

    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        self.0.attempt(Call::DropPayloads(seqs.len()), |disk| {
            let mut dropped = 0;
            for seq in seqs {
                let Disk { records, stayed, .. } = &mut *disk;
                for record in records.get_mut(seq).into_iter().chain(stayed.get_mut(seq)) {
                    dropped += u64::from(record.payload.take().is_some());
                }
            }
            Ok(dropped)
        })
    }

    fn cut(&mut self, upto: Chain, staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        self.0.attempt(Call::Cut(upto.seq), |disk| {
            if upto == disk.base {
                disk.stayed.retain(|seq, _| staying.contains(seq));
                return Ok(0);
            }
            let known = disk.records.get(&upto.seq).is_some_and(|it| it.hash == upto.hash);
            if !known || upto.seq >= disk.head.chain.seq {
                return Err(StoreError::Chain {
                    seq: upto.seq,
                    what: "is not an entry at which the journal can be cut".to_owned(),
                });
            }
            let kept = disk.records.split_off(&upto.seq.saturating_add(1));
            let gone = std::mem::replace(&mut disk.records, kept);
            disk.base = upto;
            let count = gone.len() as u64;
            disk.stayed.extend(gone.into_iter().filter(|(seq, _)| staying.contains(seq)));
            Ok(count)
        })
    }
}
