//! Whether the journal is what was written: every entry, and every link between them.

mod finding;
mod look;
mod missing;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::record::hex;
use crate::store::Reader;
use crate::{Chain, StoreError, rules};
pub use finding::{Finding, Problem};
pub use look::Auditor;
pub use missing::missing;

/// Records that are read at once.
const PIECE: usize = 1_000;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// How many entries were looked at.
    pub entries: u64,
    /// How many of them have lost their payload.
    pub redacted: u64,
    /// Which entries tell why, in order: at most as many as problems are listed.
    pub dropped: Vec<Dropped>,
    /// What is before the first of them.
    pub from: Chain,
    /// The last of them. Whoever notes it elsewhere can tell later that nobody wrote the whole journal anew.
    pub to: Chain,
    /// In the order of entries.
    pub problems: Vec<Problem>,
    /// How many more there are, beyond those that are listed.
    pub more: u64,
}

/// Payloads that are gone because an entry says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The entry that says so.
    pub by: u64,
    /// Its entity was erased as a whole; else these entries of it were redacted.
    pub erased: bool,
    pub payloads: u64,
}

impl Audit {
    /// For programs, the same from a server and from a folder: with the files of the archive that were looked at, and with
    /// what may be told of why payloads are gone.
    pub fn to_json(&self, files: usize, dropped: Vec<Value>) -> Value {
        let end = |it: Chain| json!({ "seq": it.seq, "hash": hex(&it.hash) });
        let problem =
            |it: &Problem| json!({ "seq": it.seq, "code": it.what.code(), "message": it.to_string() });
        let problems: Vec<Value> = self.problems.iter().map(problem).collect();
        json!({
            "intact": self.is_clean(), "entries": self.entries, "archiveFiles": files,
            "from": end(self.from), "to": end(self.to), "problems": problems, "more": self.more,
            "payloadsDropped": self.redacted, "dropped": dropped,
        })
    }

    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Goes through the whole journal. `known` are ends of it that were noted earlier and elsewhere; `progress` is
/// told how many entries are done and how many there are.
pub fn verify(
    reader: &mut dyn Reader,
    known: &[Chain],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Audit, StoreError> {
    // The position first: the journal is never behind it.
    let position = reader.position()?;
    let (base, head) = (reader.base()?, reader.head()?);
    let mut auditor = Auditor::new(base, known).made_from(position);
    rest(reader, &mut auditor, head.chain, progress)?;
    let changed = rules::audit(reader, auditor.in_force(), base.seq, head.chain.seq)?;
    auditor.rules(changed);
    Ok(auditor.finish(Some(head.chain)))
}

/// Looks at all that a journal holds, up to where it ended when this was asked.
pub(crate) fn rest(
    reader: &mut dyn Reader,
    auditor: &mut Auditor,
    head: Chain,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let base = reader.base()?.seq;
    let all = head.seq.saturating_sub(base);
    let mut after = base;
    loop {
        let mut records = reader.records(after, PIECE)?;
        records.retain(|it| it.seq <= head.seq);
        let Some(last) = records.last() else { return Ok(()) };
        after = last.seq;
        records.iter().for_each(|it| auditor.look(it));
        progress(after.saturating_sub(base).min(all), all);
    }
}
