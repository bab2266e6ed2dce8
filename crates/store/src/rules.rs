//! Whether the rules are those that came into force.
//!
//! The texts of packs lie beside the journal, not in it. The entry by which a version came into force has the digest
//! of its text, and the chain covers that entry: so a text that was changed by hand can be told.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use trackside_engine::event::Event;
use trackside_lifecycle::name::Name;

use crate::record::hex;
use crate::store::Reader;
use crate::{Chain, Definition, Record, StoreError};

/// How an entry is known by which a version of a pack came into force, without reading all of it. A quote within a text
/// is escaped, so that only the name of a field looks like this.
pub(crate) const MARK: &str = "\"PackInstalled\":";

/// Records read at a time.
const PIECE: usize = 1_000;

/// The digest of the files of a pack: paths and texts, each with its length, in the order of paths.
pub fn digest_of(files: &[(String, String)]) -> String {
    let mut files: Vec<&(String, String)> = files.iter().collect();
    files.sort();
    let mut digest = Sha256::new();
    for text in files.into_iter().flat_map(|(path, text)| [path, text]) {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    hex(&digest.finalize().into())
}

/// An entry by which a version of a pack came into force. It stays at hand when the journal is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The entry before it.
    pub before: Chain,
    /// Without its payload.
    pub record: Record,
}

impl Installed {
    /// This record, if it is such an entry.
    pub(crate) fn of(before: Chain, record: &Record) -> Option<Self> {
        let is_one = record.header.contains(MARK);
        is_one.then(|| Self { before, record: Record { payload: None, ..record.clone() } })
    }

    /// What came into force; none where that cannot be read.
    fn told(&self) -> Option<InForce> {
        match self.record.entry().ok()?.event {
            Event::PackInstalled { pack, version, digest } => {
                Some(InForce { seq: self.record.seq, pack, version, digest: digest.to_string() })
            }
            _ => None,
        }
    }

    /// Whether it is what was written, as far as it can tell by itself.
    fn is_whole(&self) -> bool {
        self.before.seq.saturating_add(1) == self.record.seq
            && self.before.covering(&self.record) == self.record.hash
    }
}

/// What an entry says came into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub seq: u64,
    pub pack: Name,
    pub version: u32,
    pub digest: String,
}

/// A version of a pack whose rules are not those that came into force.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// The entry by which it came into force; 0 if there is none.
    pub seq: u64,
    pub pack: Name,
    pub version: u32,
    pub what: String,
}

impl Changed {
    /// Of `missing` entries nothing is known but that there were more.
    pub(crate) fn unknown(known: u64, missing: u64) -> Self {
        let what = format!(
            "{known} entries have put rules into force, and of {missing} nothing is here, neither the entry nor the text. If files of the archive are elsewhere, put them back"
        );
        Self { seq: 0, pack: Name::new("?"), version: 0, what }
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rules of {} {} were changed: {}", self.pack, self.version, self.what)
    }
}

/// All of them in one sentence.
pub(crate) fn listed(changed: &[Changed]) -> String {
    changed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Looks at every definition of a store, and at every entry by which one came into force.
pub fn look(reader: &mut dyn Reader) -> Result<Vec<Changed>, StoreError> {
    let definitions = match reader.definitions() {
        Err(StoreError::Rules { changed, .. }) => return Ok(changed),
        usual => usual?,
    };
    let (base, mut kept) = (reader.base()?, reader.installed()?);
    if !are_all_kept(&definitions, &kept) {
        kept = together(kept, &met(base, &mut |after, most| reader.records(after, most))?);
    }
    compare(&definitions, &kept, base.seq, &mut |seq| reader.record(seq))
}

/// Refuses to go on with a store of which [`look`] finds something.
pub fn hold(reader: &mut dyn Reader, path: &Path) -> Result<(), StoreError> {
    match look(reader)? {
        changed if changed.is_empty() => Ok(()),
        changed => Err(StoreError::Rules { path: path.to_path_buf(), changed }),
    }
}

/// Whether every text has an entry among those that are kept. If not, the whole journal is read for it.
pub(crate) fn are_all_kept(definitions: &[Definition], kept: &[Installed]) -> bool {
    let told: BTreeSet<_> = kept.iter().filter_map(Installed::told).map(|it| (it.pack, it.version)).collect();
    definitions.iter().all(|it| told.contains(&(it.pack.clone(), it.version)))
}

/// Those that the journal has after `base`. `records` reads so many of it after an entry.
pub(crate) fn met(
    base: Chain,
    records: &mut dyn FnMut(u64, usize) -> Result<Vec<Record>, StoreError>,
) -> Result<Vec<Installed>, StoreError> {
    let mut met = Vec::new();
    let mut before = base;
    loop {
        let some = records(before.seq, PIECE)?;
        if some.is_empty() {
            return Ok(met);
        }
        for record in &some {
            met.extend(Installed::of(before, record));
            before = Chain { seq: record.seq, hash: record.hash };
        }
    }
}

/// What is kept, with what was met and is not kept, in the order of entries.
pub(crate) fn together(mut kept: Vec<Installed>, met: &[Installed]) -> Vec<Installed> {
    let known: BTreeSet<u64> = kept.iter().map(|it| it.record.seq).collect();
    kept.extend(met.iter().filter(|it| !known.contains(&it.record.seq)).cloned());
    kept.sort_by_key(|it| it.record.seq);
    kept
}

/// The same with what was read. `here` finds a record of the journal, which begins after the entry `base`.
pub(crate) fn compare(
    definitions: &[Definition],
    kept: &[Installed],
    base: u64,
    here: &mut dyn FnMut(u64) -> Result<Option<Record>, StoreError>,
) -> Result<Vec<Changed>, StoreError> {
    let (mut in_force, mut changed) = (Vec::new(), Vec::new());
    for it in kept {
        let Some(told) = it.told() else {
            changed.push(unread(it));
            continue;
        };
        let is_there = match told.seq > base {
            false => true,
            true => here(told.seq)?
                .is_some_and(|found| found.header == it.record.header && found.hash == it.record.hash),
        };
        match is_there && it.is_whole() {
            true => in_force.push(told),
            false => changed.push(told.is(NOT_THE_ENTRY)),
        }
    }
    let named: BTreeSet<_> = changed.iter().map(|it| (it.pack.clone(), it.version)).collect();
    let more = differing(definitions, in_force);
    changed.extend(more.into_iter().filter(|it| !named.contains(&(it.pack.clone(), it.version))));
    changed.sort();
    Ok(changed)
}

/// The same after a walk along the whole chain: `walked` is what its entries say, from after `from` up to `to`.
pub(crate) fn audit(
    reader: &mut dyn Reader,
    walked: Vec<InForce>,
    from: u64,
    to: u64,
) -> Result<Vec<Changed>, StoreError> {
    let definitions = match reader.definitions() {
        Err(StoreError::Rules { changed, .. }) => return Ok(changed),
        usual => usual?,
    };
    let (mut in_force, mut changed) = (walked, Vec::new());
    for it in reader.installed()? {
        match it.told() {
            None => changed.push(unread(&it)),
            Some(told) if from < told.seq && told.seq <= to => {
                if !in_force.contains(&told) || !it.is_whole() {
                    changed.push(told.is(NOT_THE_ENTRY));
                }
            }
            // Its file is elsewhere, or it came while others were looked at.
            Some(told) => in_force.push(told),
        }
    }
    in_force.sort_by_key(|it| it.seq);
    changed.extend(differing(&definitions, in_force));
    changed.sort();
    Ok(changed)
}

const NOT_THE_ENTRY: &str = "what is kept of the entry that put it into force is not what the journal says";

fn unread(kept: &Installed) -> Changed {
    let what = format!("what is kept of entry {}, which put it into force, cannot be read", kept.record.seq);
    Changed { seq: kept.record.seq, pack: Name::new("?"), version: 0, what }
}

impl InForce {
    fn is(&self, what: impl Into<String>) -> Changed {
        Changed { seq: self.seq, pack: self.pack.clone(), version: self.version, what: what.into() }
    }
}

/// Texts against what entries say of them, in the order of entries: the first of a version counts, since a version that
/// is in force has one text for ever.
fn differing(definitions: &[Definition], in_force: Vec<InForce>) -> Vec<Changed> {
    let mut wanted: BTreeMap<(Name, u32), InForce> = BTreeMap::new();
    let mut changed = Vec::new();
    for it in in_force {
        match wanted.entry((it.pack.clone(), it.version)) {
            Entry::Vacant(place) => {
                place.insert(it);
            }
            Entry::Occupied(first) if first.get().digest == it.digest => {}
            Entry::Occupied(first) => {
                let InForce { seq, digest, .. } = first.get();
                let what = format!(
                    "entry {seq} put {digest} into force, and entry {} another text, {}",
                    it.seq, it.digest
                );
                changed.push(it.is(what));
            }
        }
    }
    for it in definitions {
        let Some(entry) = wanted.remove(&(it.pack.clone(), it.version)) else {
            let what = "no entry that is here put it into force".to_owned();
            changed.push(Changed { seq: 0, pack: it.pack.clone(), version: it.version, what });
            continue;
        };
        let found = digest_of(&it.files);
        if found != entry.digest {
            let what = format!(
                "its text has the digest {found}, and entry {} put {} into force",
                entry.seq, entry.digest
            );
            changed.push(entry.is(what));
        } else if it.digest != entry.digest {
            let what = format!(
                "its text is as it was, but the digest beside it is {}, and entry {} says {}",
                it.digest, entry.seq, entry.digest
            );
            changed.push(entry.is(what));
        }
    }
    let gone = |it: InForce| it.is(format!("entry {} put it into force, and its text is gone", it.seq));
    changed.extend(wanted.into_values().map(gone));
    changed
}
