//! Verifies an evidence file by itself: every hash is recomputed from its content.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};

use sha2::{Digest as _, Sha256};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;

use super::flaw::Flaw;
use super::line::{ArtifactPiece, EntitySummary, EvidenceHeader, EvidenceLine, FORMAT};
use super::replay::Replay;
use crate::audit::{Audit, Auditor};
use crate::record::RecordLine;
use crate::{Chain, Record};

/// The longest line.
const LONGEST: u64 = 64 * 1_024 * 1_024;
/// Most flaws that are listed.
const LISTED: usize = 1_000;

/// Why a file cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum NoEvidence {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is not an evidence file: {0}. Create one with `trackside audit export`")]
    Strange(String),
    #[error(
        "it was written by a newer release (format {found}; this release supports up to {FORMAT}). Use that release"
    )]
    TooNew { found: u32 },
}

/// The result of verifying a file.
#[derive(Clone, Debug)]
pub struct EvidenceVerdict {
    pub about: EvidenceHeader,
    /// The audit of the chain.
    pub audit: Audit,
    /// The entities computed from the entries.
    pub entities: Vec<EntitySummary>,
    /// The number of entries given only by digests.
    pub hidden: u64,
    /// Artifacts and their sizes.
    pub artifacts: BTreeMap<String, u64>,
    /// Ids of artifacts that were not stored when the file was created.
    pub absent: BTreeSet<String>,
    pub flaws: Vec<Flaw>,
    /// Findings beyond the listed ones.
    pub more: u64,
    /// Noted ends that lie outside the range of the file.
    pub outside: Vec<u64>,
}

/// The overall result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceJudgement {
    Intact,
    Broken,
}

impl EvidenceVerdict {
    pub fn judgement(&self) -> EvidenceJudgement {
        match self.audit.is_clean() && self.flaws.is_empty() {
            true => EvidenceJudgement::Intact,
            false => EvidenceJudgement::Broken,
        }
    }
}

/// Checks a file. `known` are ends of the journal that were noted elsewhere: they prove that the journal is that
/// server's and was not fabricated as a whole.
pub fn verify(file: impl BufRead, known: &[Chain]) -> Result<EvidenceVerdict, NoEvidence> {
    let mut lines = Lines { from: file, number: 0 };
    let strange = |why: &str| NoEvidence::Strange(why.to_owned());
    let first = lines.next_line()?.ok_or_else(|| strange("it is empty"))?;
    let Ok(EvidenceLine::Evidence(about)) = first else {
        return Err(strange("its first line is not the header of an evidence file"));
    };
    if about.format > FORMAT {
        return Err(NoEvidence::TooNew { found: about.format });
    }
    let no_hash = || strange("a hash in its first line is not valid");
    let before = about.before.chain().ok_or_else(no_hash)?;
    let head = about.head.chain().ok_or_else(no_hash)?;
    let (within, outside): (Vec<Chain>, Vec<Chain>) =
        known.iter().copied().partition(|it| before.seq <= it.seq && it.seq <= head.seq);
    // The chain starts from zero, even if the file declares otherwise.
    let ends: Vec<Chain> = within.into_iter().chain([Chain::default(), head]).collect();
    let mut checking = Checking::new(&about, Auditor::new(before, &ends));
    while let Some(line) = lines.next_line()? {
        match line {
            Ok(line) => checking.check_line(line, lines.number),
            Err(why) => checking.flaw(Flaw::Line { number: lines.number, why }),
        }
    }
    let mut verdict = checking.finish(about, head);
    verdict.outside = outside.into_iter().map(|it| it.seq).collect();
    Ok(verdict)
}

/// The lines of a file, each within a limit.
struct Lines<F> {
    from: F,
    number: u64,
}

impl<F: BufRead> Lines<F> {
    fn next_line(&mut self) -> io::Result<Option<Result<EvidenceLine, String>>> {
        let mut text = Vec::new();
        if self.from.by_ref().take(LONGEST).read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if text.last() != Some(&b'\n') {
            // Skip the rest of a line that is too long.
            let rest = self.from.skip_until(b'\n')?;
            let why = if rest > 0 { "it is too long" } else { "it is cut off" };
            return Ok(Some(Err(why.to_owned())));
        }
        Ok(Some(serde_json::from_slice(&text).map_err(|it| it.to_string())))
    }
}

/// The state of the verification.
struct Checking {
    auditor: Auditor,
    replay: Replay,
    /// Entities that the file is about.
    wanted: BTreeSet<String>,
    said: Vec<EntitySummary>,
    hidden: u64,
    artifacts: BTreeMap<String, u64>,
    absent: BTreeSet<String>,
    /// The artifact whose pieces are coming.
    open: Option<Open>,
    flaws: Vec<Flaw>,
    more: u64,
}

/// An artifact that is being received.
struct Open {
    sha256: String,
    size: u64,
    came: u64,
    hash: Sha256,
}

impl Checking {
    fn new(about: &EvidenceHeader, auditor: Auditor) -> Self {
        Self {
            auditor,
            replay: Replay::default(),
            wanted: about.approvals.iter().chain([&about.entity]).cloned().collect(),
            said: Vec::new(),
            hidden: 0,
            artifacts: BTreeMap::new(),
            absent: BTreeSet::new(),
            open: None,
            flaws: Vec::new(),
            more: 0,
        }
    }

    fn check_line(&mut self, line: EvidenceLine, number: u64) {
        if !matches!(line, EvidenceLine::Artifact(_)) {
            self.close();
        }
        let looked = match line {
            EvidenceLine::Evidence(_) => Err("it is a second header".to_owned()),
            EvidenceLine::Entity(told) => {
                self.said.push(*told);
                Ok(())
            }
            EvidenceLine::Record(line) => self.record(line),
            EvidenceLine::Links(links) => links.read().map(|(bodies, hash)| {
                self.hidden += bodies.len() as u64;
                self.auditor.follow_links(links.first, &bodies, hash);
            }),
            EvidenceLine::Bare(line) => Record::try_from(line).map(|record| {
                self.hidden += 1;
                self.auditor.follow_bare(&record);
            }),
            EvidenceLine::Artifact(piece) => self.piece(piece),
        };
        if let Err(why) = looked {
            self.flaw(Flaw::Line { number, why });
        }
    }

    fn record(&mut self, line: RecordLine) -> Result<(), String> {
        let record = Record::try_from(line)?;
        self.auditor.check(&record);
        // The auditor reports records that cannot be read.
        let Ok((entity, before)) = self.replay.take(&record) else { return Ok(()) };
        let entity = entity.to_string();
        if !self.wanted.contains(&entity) {
            self.flaw(Flaw::Stranger { entity, seq: record.seq });
        } else if record.prev != before {
            let seq = if record.prev == 0 { before } else { record.prev };
            self.flaw(Flaw::Missing { entity, seq });
        }
        Ok(())
    }

    fn piece(&mut self, piece: ArtifactPiece) -> Result<(), String> {
        let ArtifactPiece { sha256, content } = piece;
        if self.open.as_ref().is_some_and(|it| it.sha256 != sha256) {
            self.close();
        }
        let Some(part) = content else {
            self.absent.insert(sha256);
            return Ok(());
        };
        let bytes = part.bytes()?;
        let open =
            self.open.get_or_insert_with(|| Open { sha256, size: part.size, came: 0, hash: Sha256::new() });
        if part.from != open.came || part.size != open.size {
            return Err("this piece of an artifact does not follow the one before".to_owned());
        }
        open.came += bytes.len() as u64;
        open.hash.update(&bytes);
        if open.came >= open.size {
            self.close();
        }
        Ok(())
    }

    /// Checks an artifact whose parts are complete.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let found: [u8; 32] = open.hash.finalize().into();
        if hex::encode(found) != open.sha256 || open.came != open.size {
            self.flaw(Flaw::ArtifactChanged { sha256: open.sha256.clone() });
        }
        self.artifacts.insert(open.sha256, open.came);
    }

    fn flaw(&mut self, flaw: Flaw) {
        if self.flaws.len() < LISTED {
            self.flaws.push(flaw);
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self, about: EvidenceHeader, head: Chain) -> EvidenceVerdict {
        self.close();
        let entities = self.replay.summaries();
        self.entities(&entities);
        let there = |it: &&String| self.artifacts.contains_key(*it) || self.absent.contains(*it);
        let wanted = &self.replay.artifacts;
        let gone = wanted.iter().filter(|it| !there(it));
        let gone = gone.map(|it| Flaw::ArtifactGone { sha256: it.clone() });
        let strangers = self.artifacts.keys().filter(|it| !wanted.contains(*it));
        let strangers = strangers.map(|it| Flaw::ArtifactStranger { sha256: it.clone() });
        let flaws: Vec<Flaw> = gone.chain(strangers).collect();
        flaws.into_iter().for_each(|it| self.flaw(it));
        let last = self.auditor.at().seq;
        if last > head.seq {
            self.flaw(Flaw::Beyond { head: head.seq, last });
        }
        EvidenceVerdict {
            about,
            audit: self.auditor.finish(Some(head)),
            entities,
            hidden: self.hidden,
            artifacts: self.artifacts,
            absent: self.absent,
            flaws: self.flaws,
            more: self.more,
            outside: Vec::new(),
        }
    }

    /// Compares the given entities with the computed ones.
    fn entities(&mut self, found: &[EntitySummary]) {
        let key = |it: &EntitySummary| EntityKey::new(it.lifecycle.as_str(), it.id.as_str()).to_string();
        let come: BTreeMap<String, &EntitySummary> = found.iter().map(|it| (key(it), it)).collect();
        let said: BTreeMap<String, EntitySummary> =
            std::mem::take(&mut self.said).into_iter().map(|it| (key(&it), it)).collect();
        for entity in self.wanted.clone() {
            match (come.get(&entity), said.get(&entity)) {
                (None, _) => self.flaw(Flaw::NoEntries { entity }),
                (Some(come), Some(said)) if *come == said => {}
                (Some(_), _) => self.flaw(Flaw::Entity { entity }),
            }
        }
        for entity in said.into_keys().filter(|it| !come.contains_key(it)) {
            if !self.wanted.contains(&entity) {
                self.flaw(Flaw::Entity { entity });
            }
        }
    }
}
