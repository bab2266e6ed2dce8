//! Walks a chain entry by entry, and continues after a mismatch.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::{Audit, AuditFinding, AuditProblem, Dropped};
use crate::record::{FORMAT, Hash, digest};
use crate::rules::{ChangedRules, InForce};
use crate::{Chain, Record};

/// Most problems that are listed.
const LISTED: usize = 1_000;

/// Checks records in stored order.
#[derive(Debug)]
pub struct Auditor {
    audit: Audit,
    known: Vec<Chain>,
    /// By how much the numbers in the headers are ahead of the stored numbers.
    shift: i128,
    /// An entry whose header has another number. The next entry shows whether all later ones are shifted.
    odd: Option<Odd>,
    /// Entries that contain another entry, and which one.
    moved: Vec<(u64, u64)>,
    /// The last entry that is in the projections.
    made_from: u64,
    /// Entries without payloads, until a later entry explains it.
    bare: BTreeMap<EntityKey, Vec<u64>>,
    /// Installations of rules.
    in_force: Vec<InForce>,
}

#[derive(Clone, Copy, Debug)]
struct Odd {
    seq: u64,
    holds: u64,
    shift: i128,
}

/// The fields of a header that the audit needs.
struct ParsedHeader {
    seq: u64,
    entity: EntityKey,
    drops: Drops,
    installs: Option<(Name, u32, String)>,
}

/// The payloads that an entry declares as dropped.
enum Drops {
    None,
    /// All before it, of its entity.
    Earlier,
    /// The entity's entries with these numbers.
    These(Vec<u64>),
}

impl Auditor {
    /// Starts after an entry. `known` are entries whose hashes were noted elsewhere.
    pub fn new(from: Chain, known: &[Chain]) -> Self {
        let mut auditor = Self {
            audit: Audit { from, to: from, ..Audit::default() },
            known: known.to_vec(),
            shift: 0,
            odd: None,
            moved: Vec::new(),
            made_from: 0,
            bare: BTreeMap::new(),
            in_force: Vec::new(),
        };
        auditor.compare(from);
        auditor
    }

    /// The position of the projections, read before the head of the journal.
    pub fn made_from(mut self, position: u64) -> Self {
        self.made_from = position;
        self
    }

    /// The last audited entry.
    pub fn at(&self) -> Chain {
        self.audit.to
    }

    /// Takes the installations of rules among the audited entries.
    pub(crate) fn in_force(&mut self) -> Vec<InForce> {
        std::mem::take(&mut self.in_force)
    }

    /// Adds findings for rules that differ from the installed ones.
    pub(crate) fn rules(&mut self, changed: Vec<ChangedRules>) {
        for it in changed {
            self.found(it.seq, AuditFinding::RulesChanged(it.to_string()));
        }
    }

    pub fn check(&mut self, record: &Record) {
        self.check_record(record, record.is_redacted());
    }

    /// Checks a record whose payload cannot be read, for this reason.
    pub fn check_header(&mut self, record: &Record, why: &str) {
        self.check_record(record, false);
        self.found(record.seq, AuditFinding::PayloadUnread(why.to_owned()));
    }

    fn check_record(&mut self, record: &Record, is_redacted: bool) {
        let last = self.audit.to;
        self.audit.entries += 1;
        self.audit.redacted += u64::from(is_redacted);
        if record.seq <= last.seq {
            self.found(record.seq, AuditFinding::OutOfOrder { after: last.seq });
            return;
        }
        let parsed = parse_header(record);
        let holds = parsed.as_ref().map_or(record.seq, |it| it.seq);
        let missing = record.seq > last.seq.saturating_add(1);
        if missing {
            self.found(
                last.seq.saturating_add(1),
                AuditFinding::Removed { last: record.seq.saturating_sub(1) },
            );
        }
        let excused = missing | self.numbered(record.seq, holds);
        let fits = covered(last, record, holds) == record.hash;
        if !fits && !excused {
            self.found(record.seq, AuditFinding::Changed);
        }
        let payload = match (&record.payload, &record.digest) {
            (Some(payload), Some(kept)) if digest(payload) != *kept => Some(AuditFinding::PayloadChanged),
            (Some(_), None) => Some(AuditFinding::PayloadAdded),
            _ => None,
        };
        // A changed digest already shows in the hash.
        if let Some(payload) = payload.filter(|_| fits || excused) {
            self.found(record.seq, payload);
        }
        match parsed {
            Ok(parsed) => {
                if let Some((pack, version, digest)) = parsed.installs.clone() {
                    self.in_force.push(InForce { seq: record.seq, pack, version, digest });
                }
                self.account(record.seq, is_redacted, parsed);
            }
            Err(why) if fits => self.found(record.seq, AuditFinding::Unreadable(why)),
            Err(_) => {}
        }
        self.audit.to = Chain { seq: record.seq, hash: record.hash };
        self.compare(self.audit.to);
    }

    /// Checks entries from `first` on by the digests of their bodies; the last has this hash.
    pub fn follow_links(&mut self, first: u64, bodies: &[Hash], hash: Hash) {
        let Some(last) = first.checked_add(bodies.len() as u64).and_then(|it| it.checked_sub(1)) else {
            return;
        };
        if bodies.is_empty() {
            return;
        }
        let Some(missing) = self.follows(first) else { return };
        let (mut chain, mut unlike) = (self.audit.to, Vec::new());
        for (seq, body) in (first..=last).zip(bodies) {
            chain = Chain { seq, hash: chain.covering_body(seq, body) };
            if seq < last && self.is_not_the_known(chain) {
                unlike.push(seq);
            }
        }
        match chain.hash == hash {
            true => unlike.into_iter().for_each(|it| self.found(it, AuditFinding::NotTheKnown)),
            false if missing => {}
            false => self.found(first, AuditFinding::LinkChanged { last }),
        }
        self.passed(bodies.len() as u64, Chain { seq: last, hash });
    }

    /// Checks an entry whose payload is not included.
    pub fn follow_bare(&mut self, record: &Record) {
        let Some(missing) = self.follows(record.seq) else { return };
        if !missing && self.audit.to.covering(record) != record.hash {
            self.found(record.seq, AuditFinding::Changed);
        }
        self.passed(1, Chain { seq: record.seq, hash: record.hash });
    }

    /// True if entries before this one are missing; none if it is out of order.
    fn follows(&mut self, first: u64) -> Option<bool> {
        if let Some(odd) = self.odd.take() {
            self.moves(odd);
        }
        let last = self.audit.to.seq;
        if first <= last {
            self.found(first, AuditFinding::OutOfOrder { after: last });
            return None;
        }
        let missing = first > last.saturating_add(1);
        if missing {
            self.found(last.saturating_add(1), AuditFinding::Removed { last: first.saturating_sub(1) });
        }
        Some(missing)
    }

    fn passed(&mut self, entries: u64, to: Chain) {
        self.audit.entries += entries;
        self.audit.to = to;
        self.compare(to);
    }

    /// The result. `head` is where the journal should end.
    pub fn finish(mut self, head: Option<Chain>) -> Audit {
        if let Some(odd) = self.odd.take() {
            if self.moved.contains(&(odd.holds, odd.seq)) {
                self.moves(odd);
            } else {
                self.renumbered(odd);
            }
        }
        let to = self.audit.to;
        let ends = self.known.iter().copied().chain(head);
        if let Some(last) = ends.map(|it| it.seq).filter(|it| *it > to.seq).max() {
            self.found(to.seq.saturating_add(1), AuditFinding::Removed { last });
        }
        if let Some(head) = head.filter(|it| it.seq < self.made_from) {
            self.found(head.seq.saturating_add(1), AuditFinding::CutOff { last: self.made_from });
        }
        if head.is_some_and(|it| it.seq == to.seq && it.hash != to.hash) {
            self.found(to.seq, AuditFinding::NotTheKnown);
        }
        let moved = std::mem::take(&mut self.moved);
        for (seq, holds) in &moved {
            match moved.contains(&(*holds, *seq)) {
                true if seq < holds => self.found(*seq, AuditFinding::Swapped { with: *holds }),
                true => {}
                false => self.found(*seq, AuditFinding::Moved { holds: *holds }),
            }
        }
        for seq in std::mem::take(&mut self.bare).into_values().flatten() {
            self.found(seq, AuditFinding::PayloadGone);
        }
        let mut audit = self.audit;
        audit.problems.sort();
        audit.problems.dedup();
        audit
    }

    /// Records the number in an entry's header. True if it, or the one before it, explains why the hash does not
    /// match.
    fn numbered(&mut self, seq: u64, holds: u64) -> bool {
        let shift = i128::from(holds) - i128::from(seq);
        let before = self.odd.take();
        match before {
            Some(odd) if odd.shift == shift => self.renumbered(odd),
            Some(odd) => self.moves(odd),
            None => {}
        }
        if shift != self.shift {
            self.odd = Some(Odd { seq, holds, shift });
        }
        self.odd.is_some() || before.is_some_and(|it| it.shift != shift)
    }

    /// Reports a record that contains another entry. Beyond the limit it is only counted.
    fn moves(&mut self, odd: Odd) {
        if self.moved.len() < LISTED {
            self.moved.push((odd.seq, odd.holds));
        } else {
            self.audit.more += 1;
        }
    }

    /// From this entry on all numbers are shifted: entries were removed or inserted before it.
    fn renumbered(&mut self, from: Odd) {
        let by = from.shift - self.shift;
        self.shift = from.shift;
        let count = u64::try_from(by.unsigned_abs()).unwrap_or(u64::MAX);
        if by > 0 {
            let first = from.holds.saturating_sub(count);
            self.found(first, AuditFinding::Removed { last: from.holds.saturating_sub(1) });
            return;
        }
        let (first, last) = (from.seq.saturating_sub(count), from.seq.saturating_sub(1));
        let inside = |seq: u64| (first..=last).contains(&seq);
        self.audit.problems.retain(|it| !inside(it.seq));
        self.moved.retain(|(seq, _)| !inside(*seq));
        self.found(first, AuditFinding::Inserted { last });
    }

    /// Tracks entries without payloads, and entries that explain why.
    fn account(&mut self, seq: u64, is_redacted: bool, parsed: ParsedHeader) {
        let bare = self.bare.get_mut(&parsed.entity);
        let before = bare.as_ref().map_or(0, |it| it.len());
        let left = bare.map_or(0, |bare| {
            match &parsed.drops {
                Drops::None => {}
                Drops::Earlier => bare.clear(),
                Drops::These(seqs) => bare.retain(|it| !seqs.contains(it)),
            }
            bare.len()
        });
        if left == 0 {
            self.bare.remove(&parsed.entity);
        }
        if left < before && self.audit.dropped.len() < LISTED {
            let erased = matches!(parsed.drops, Drops::Earlier);
            self.audit.dropped.push(Dropped { by: seq, erased, payloads: (before - left) as u64 });
        }
        if is_redacted {
            self.bare.entry(parsed.entity).or_default().push(seq);
        }
    }

    fn compare(&mut self, here: Chain) {
        if self.is_not_the_known(here) {
            self.found(here.seq, AuditFinding::NotTheKnown);
        }
    }

    fn is_not_the_known(&self, here: Chain) -> bool {
        self.known.iter().any(|it| it.seq == here.seq && it.hash != here.hash)
    }

    fn found(&mut self, seq: u64, what: AuditFinding) {
        if self.audit.problems.len() < LISTED {
            self.audit.problems.push(AuditProblem { seq, what });
        } else {
            self.audit.more += 1;
        }
    }
}

/// The hash that a record should have, with the number in its header.
fn covered(last: Chain, record: &Record, holds: u64) -> Hash {
    if holds == record.seq {
        return last.covering(record);
    }
    last.covering(&Record { seq: holds, ..record.clone() })
}

fn parse_header(record: &Record) -> Result<ParsedHeader, String> {
    /// Only the needed fields; the rest is skipped.
    #[derive(Deserialize)]
    struct Header {
        seq: u64,
        entity: EntityKey,
        event: Kind,
    }
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "Erased")]
        erased: Option<IgnoredAny>,
        #[serde(rename = "Redacted")]
        redacted: Option<Redacted>,
        #[serde(rename = "PackInstalled")]
        installed: Option<Installs>,
    }
    #[derive(Deserialize)]
    struct Installs {
        pack: Name,
        version: u32,
        digest: String,
    }
    #[derive(Deserialize)]
    struct Redacted {
        entries: Vec<u64>,
    }
    if record.format != FORMAT {
        let entry = record.entry().map_err(|it| it.to_string())?;
        let (mut drops, mut installs) = (Drops::None, None);
        match entry.event {
            Event::Erased { .. } => drops = Drops::Earlier,
            Event::Redacted { entries, .. } => drops = Drops::These(entries),
            Event::PackInstalled { pack, version, digest } => {
                installs = Some((pack, version, digest.to_string()));
            }
            _ => {}
        }
        return Ok(ParsedHeader { seq: entry.seq, entity: entry.entity, drops, installs });
    }
    let header: Header = serde_json::from_str(&record.header).map_err(|it| it.to_string())?;
    let drops = match (header.event.erased, header.event.redacted) {
        (Some(_), _) => Drops::Earlier,
        (None, Some(it)) => Drops::These(it.entries),
        (None, None) => Drops::None,
    };
    let installs = header.event.installed.map(|it| (it.pack, it.version, it.digest));
    Ok(ParsedHeader { seq: header.seq, entity: header.entity, drops, installs })
}
