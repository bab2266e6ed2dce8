//! Checks that the stored packs are the installed ones.
//!
//! The texts of packs are stored next to the journal, not in it. The entry that installed a version contains the
//! digest of its text, and the chain covers that entry. So a text that was changed by hand is detected.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use trackside_engine::event::Event;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;

use crate::store::Reader;
use crate::{Chain, Definition, Record, StoreError};

/// Marks the header of an entry that installed a pack version, so that it is found without parsing. Quotes inside
/// values are escaped, so only a field name matches.
pub(crate) const MARK: &str = "\"PackInstalled\":";

/// Records read per query.
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
    hex::encode(digest.finalize())
}

/// An entry that installed a version of a pack. It stays in `journal.db` when the journal is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The entry before it.
    pub before: Chain,
    /// Without its payload.
    pub record: Record,
}

impl Installed {
    /// The record, if it installed a pack.
    pub(crate) fn of(before: Chain, record: &Record) -> Option<Self> {
        let is_one = record.header.contains(MARK);
        is_one.then(|| Self { before, record: Record { payload: None, ..record.clone() } })
    }

    /// The installed version; none if it cannot be read.
    pub(crate) fn in_force(&self) -> Option<InForce> {
        match self.record.entry().ok()?.event {
            Event::PackInstalled { pack, version, digest } => {
                Some(InForce { seq: self.record.seq, pack, version, digest: digest.to_string() })
            }
            _ => None,
        }
    }

    /// Whether its hash matches.
    fn is_whole(&self) -> bool {
        self.before.seq.saturating_add(1) == self.record.seq
            && self.before.covering(&self.record) == self.record.hash
    }
}

/// A pack version that an entry installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub seq: u64,
    pub pack: Name,
    pub version: u32,
    pub digest: String,
}

/// A pack version whose stored text differs from the installed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedRules {
    /// The entry that installed it; 0 if there is none.
    pub seq: u64,
    pub pack: Name,
    pub version: u32,
    pub what: String,
}

impl ChangedRules {
    /// For `missing` installations of which neither entry nor text is left.
    pub(crate) fn unknown(known: u64, missing: u64) -> Self {
        let what = format!(
            "{known} pack versions were installed, but the entry and the text of {missing} are missing. If archive files were moved, put them back"
        );
        Self { seq: 0, pack: Name::new("?"), version: 0, what }
    }
}

impl fmt::Display for ChangedRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rules of {} {} were changed: {}", self.pack, self.version, self.what)
    }
}

/// All changes in one sentence.
pub(crate) fn changes_text(changed: &[ChangedRules]) -> String {
    changed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Compares every stored definition with the entry that installed it.
pub fn find_changed(reader: &mut dyn Reader) -> Result<Vec<ChangedRules>, StoreError> {
    let definitions = match reader.definitions() {
        Err(StoreError::Rules { changed, .. }) => return Ok(changed),
        usual => usual?,
    };
    let (base, mut kept) = (reader.base()?, reader.installed()?);
    if !are_all_kept(&definitions, &kept) {
        kept = merge_installations(
            kept,
            &installations_after(base, &mut |after, most| reader.headers(after, most))?,
        );
    }
    compare(&definitions, &kept, base.seq, &mut |seq| reader.record(seq))
}

/// Returns an error if [`find_changed`] finds something.
pub fn check_unchanged(reader: &mut dyn Reader, path: &Path) -> Result<(), StoreError> {
    match find_changed(reader)? {
        changed if changed.is_empty() => Ok(()),
        changed => Err(StoreError::Rules { path: path.to_path_buf(), changed }),
    }
}

/// Whether every text has a stored entry. If not, the whole journal must be read.
pub(crate) fn are_all_kept(definitions: &[Definition], kept: &[Installed]) -> bool {
    let told: BTreeSet<_> =
        kept.iter().filter_map(Installed::in_force).map(|it| (it.pack, it.version)).collect();
    definitions.iter().all(|it| told.contains(&(it.pack.clone(), it.version)))
}

/// The installations in the journal after `base`. `records` reads a page after an entry.
pub(crate) fn installations_after(
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

/// Merges stored installations and those found in the journal, in order.
pub(crate) fn merge_installations(mut kept: Vec<Installed>, met: &[Installed]) -> Vec<Installed> {
    let known: BTreeSet<u64> = kept.iter().map(|it| it.record.seq).collect();
    kept.extend(met.iter().filter(|it| !known.contains(&it.record.seq)).cloned());
    kept.sort_by_key(|it| it.record.seq);
    kept
}

/// Compares definitions with installations. `here` finds a record of the journal, which starts after `base`.
pub(crate) fn compare(
    definitions: &[Definition],
    kept: &[Installed],
    base: u64,
    here: &mut dyn FnMut(u64) -> Result<Option<Record>, StoreError>,
) -> Result<Vec<ChangedRules>, StoreError> {
    let (mut in_force, mut changed) = (Vec::new(), Vec::new());
    for it in kept {
        let Some(told) = it.in_force() else {
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
    let more = changed_rules(definitions, in_force);
    changed.extend(more.into_iter().filter(|it| !named.contains(&(it.pack.clone(), it.version))));
    changed.sort();
    Ok(changed)
}

/// Checks after an audit: `walked` are the installations after `from` up to `to`.
pub(crate) fn audit(
    reader: &mut dyn Reader,
    walked: Vec<InForce>,
    from: u64,
    to: u64,
) -> Result<Vec<ChangedRules>, StoreError> {
    let definitions = match reader.definitions() {
        Err(StoreError::Rules { changed, .. }) => return Ok(changed),
        usual => usual?,
    };
    let (mut in_force, mut changed) = (walked, Vec::new());
    for it in reader.installed()? {
        match it.in_force() {
            None => changed.push(unread(&it)),
            Some(told) if from < told.seq && told.seq <= to => {
                if !in_force.contains(&told) || !it.is_whole() {
                    changed.push(told.is(NOT_THE_ENTRY));
                }
            }
            // Its archive file is missing, or it was installed during the audit.
            Some(told) => in_force.push(told),
        }
    }
    in_force.sort_by_key(|it| it.seq);
    changed.extend(changed_rules(&definitions, in_force));
    changed.sort();
    Ok(changed)
}

const NOT_THE_ENTRY: &str = "the stored copy of the entry that installed it differs from the journal";

fn unread(kept: &Installed) -> ChangedRules {
    let what = format!("the stored copy of entry {}, which installed it, cannot be read", kept.record.seq);
    ChangedRules { seq: kept.record.seq, pack: Name::new("?"), version: 0, what }
}

impl InForce {
    fn is(&self, what: impl Into<String>) -> ChangedRules {
        ChangedRules { seq: self.seq, pack: self.pack.clone(), version: self.version, what: what.into() }
    }
}

/// Compares texts with installations. The first installation of a version counts: a version has one text forever.
fn changed_rules(definitions: &[Definition], in_force: Vec<InForce>) -> Vec<ChangedRules> {
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
                    "entry {seq} installed the text {digest}, but entry {} installed another text, {}",
                    it.seq, it.digest
                );
                changed.push(it.is(what));
            }
        }
    }
    for it in definitions {
        let Some(entry) = wanted.remove(&(it.pack.clone(), it.version)) else {
            let what = "no entry in the journal installed it".to_owned();
            changed.push(ChangedRules { seq: 0, pack: it.pack.clone(), version: it.version, what });
            continue;
        };
        let found = digest_of(&it.files);
        if found != entry.digest {
            let what = format!(
                "its text has the digest {found}, but entry {} installed {}",
                entry.seq, entry.digest
            );
            changed.push(entry.is(what));
        } else if it.digest != entry.digest {
            let what = format!(
                "its text is unchanged, but its stored digest is {}, and entry {} says {}",
                it.digest, entry.seq, entry.digest
            );
            changed.push(entry.is(what));
        }
    }
    let gone = |it: InForce| it.is(format!("entry {} installed it, but its text is missing", it.seq));
    changed.extend(wanted.into_values().map(gone));
    changed
}
