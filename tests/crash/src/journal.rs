//! The journal after a crash: its chain, its commands, and the resulting view.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::apply;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::view::View;
use trackside_store::{Chain, Reader, Record, audit};

use crate::{CheckResult, holds};

/// A command that was answered: the number of its first entry and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenCommand {
    pub first: u64,
    pub entries: u32,
}

/// All that a journal holds.
#[derive(Debug)]
pub struct StoredJournal {
    pub records: Vec<Record>,
    pub entries: Vec<Entry>,
    /// By the name of the command.
    pub commands: BTreeMap<String, WrittenCommand>,
}

impl StoredJournal {
    /// Reads all of it and checks every link of the chain, that every command has all its entries and none
    /// twice, and that time never decreases.
    pub fn read(reader: &mut dyn Reader) -> CheckResult<Self> {
        let said = |it: trackside_store::StoreError| it.to_string();
        let audit = audit::verify(reader, &[], &mut |_, _| {}).map_err(said)?;
        holds(audit.is_clean(), || format!("the audit found {:?}", audit.problems))?;
        let records = reader.records(0, usize::MAX >> 1).map_err(said)?;
        let mut chain = Chain::default();
        let mut entries: Vec<Entry> = Vec::with_capacity(records.len());
        let mut commands = BTreeMap::new();
        for record in &records {
            chain.follow(record).map_err(said)?;
            let entry = record.entry().map_err(said)?;
            let last = entries.last().map(|it| it.at);
            holds(last.is_none_or(|it| it <= entry.at), || format!("time goes back at {}", entry.seq))?;
            if let Some(key) = &entry.key {
                let written = WrittenCommand { first: entry.seq, entries: key.entries };
                let twice = commands.insert(key.key.to_string(), written);
                holds(twice.is_none(), || format!("{} was done twice: {twice:?}, {written:?}", key.key))?;
            }
            entries.push(entry);
        }
        holds(chain == reader.head().map_err(said)?.chain, || "the end is not the end".to_owned())?;
        let journal = Self { records, entries, commands };
        journal.no_half()?;
        Ok(journal)
    }

    /// Checks that every command has all its entries, and that their causes exist.
    fn no_half(&self) -> CheckResult {
        let end = self.entries.len() as u64;
        let mut taken = BTreeSet::new();
        for (key, it) in &self.commands {
            holds(it.entries > 0 && it.first + u64::from(it.entries) <= end + 1, || {
                format!("{key} has {it:?}, and the journal ends at {end}")
            })?;
            for seq in it.first..it.first + u64::from(it.entries) {
                holds(taken.insert(seq), || format!("entry {seq} belongs to {key} and to another"))?;
            }
        }
        for entry in &self.entries {
            holds(entry.cause.is_none_or(|it| it < entry.seq), || format!("the cause of {entry:?}"))?;
        }
        Ok(())
    }

    /// Every answered command is in the journal, as it was answered.
    pub fn has<'a>(
        &self,
        answered: impl IntoIterator<Item = (&'a String, &'a WrittenCommand)>,
    ) -> CheckResult {
        for (key, written) in answered {
            let found = self.commands.get(key);
            holds(found == Some(written), || {
                format!("{key} was answered with {written:?}; found is {found:?}")
            })?;
        }
        Ok(())
    }

    /// The view after its first entries.
    pub fn replay(&self, upto: u64) -> View {
        let mut view = View::default();
        for entry in self.entries.iter().take_while(|it| it.seq <= upto) {
            apply(&mut view, entry);
        }
        view
    }

    /// Entities with payloads dropped by an entry after this one. Payloads are dropped before that entry
    /// counts as flushed, so until then these entities replay with less data than was projected.
    pub fn bare_after(&self, position: u64) -> BTreeSet<EntityKey> {
        let takes = |it: &&Entry| matches!(it.event, Event::Redacted { .. } | Event::Erased { .. });
        self.entries.iter().filter(|it| it.seq > position).filter(takes).map(|it| it.entity.clone()).collect()
    }

    /// Checks that its entries are those of another journal, as far as both go.
    pub fn agrees_with(&self, other: &Self) -> CheckResult {
        for (mine, its) in self.records.iter().zip(&other.records) {
            holds(mine.hash == its.hash && mine.header == its.header, || {
                format!("entry {} is another one", mine.seq)
            })?;
        }
        Ok(())
    }
}
