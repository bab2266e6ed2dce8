//! The possible findings of an audit, each with its entry.

use std::fmt;

/// A finding and its entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditProblem {
    /// The entry it concerns; 0 if none.
    pub seq: u64,
    pub what: AuditFinding,
}

/// The kind of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditFinding {
    /// The header or its hash was changed, or the entry before it was replaced.
    Changed,
    /// The payload does not match its digest.
    PayloadChanged,
    /// It has a payload but was written without one.
    PayloadAdded,
    /// Its payload is missing, and no entry records why.
    PayloadGone,
    /// Entries up to `last` are missing.
    Removed { last: u64 },
    /// Entries up to `last` are missing: the journal ends before them, but the projections contain them.
    CutOff { last: u64 },
    /// Entries up to `last` were inserted, and later ones renumbered.
    Inserted { last: u64 },
    /// This entry and `with` were swapped.
    Swapped { with: u64 },
    /// It contains another entry.
    Moved { holds: u64 },
    /// It comes after an entry with the same or a higher number.
    OutOfOrder { after: u64 },
    /// It does not match the hash noted for it.
    NotTheKnown,
    /// Entries up to `last` are given by digests, and one of these was changed.
    LinkChanged { last: u64 },
    /// Its payload is in an archive file that is missing or damaged; with an explanation.
    PayloadUnread(String),
    /// It is unchanged but cannot be parsed.
    Unreadable(String),
    /// The stored text of a pack differs from the installed one; with an explanation.
    RulesChanged(String),
}

impl AuditFinding {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::PayloadChanged => "payload-changed",
            Self::PayloadAdded => "payload-added",
            Self::PayloadGone => "payload-gone",
            Self::Removed { .. } => "removed",
            Self::CutOff { .. } => "cut-off",
            Self::Inserted { .. } => "inserted",
            Self::Swapped { .. } => "swapped",
            Self::Moved { .. } => "moved",
            Self::OutOfOrder { .. } => "out-of-order",
            Self::NotTheKnown => "not-the-known",
            Self::LinkChanged { .. } => "link-changed",
            Self::PayloadUnread(_) => "payload-unread",
            Self::Unreadable(_) => "unreadable",
            Self::RulesChanged(_) => "rules-changed",
        }
    }
}

impl fmt::Display for AuditProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        let before = seq.saturating_sub(1);
        match &self.what {
            AuditFinding::Changed => {
                write!(f, "entry {seq} was changed, or entry {before} before it was replaced")
            }
            AuditFinding::PayloadChanged => write!(f, "the payload of entry {seq} was changed"),
            AuditFinding::PayloadAdded => write!(f, "entry {seq} has a payload that was never written"),
            AuditFinding::PayloadGone => {
                write!(f, "the payload of entry {seq} is missing, and no entry records why")
            }
            AuditFinding::Removed { last } if *last == seq => write!(f, "entry {seq} was removed"),
            AuditFinding::Removed { last } => write!(f, "entries {seq} to {last} were removed"),
            AuditFinding::CutOff { last } if *last == seq => {
                write!(
                    f,
                    "entry {seq} is missing: the journal ends before it, but state.db was built from it"
                )
            }
            AuditFinding::CutOff { last } => write!(
                f,
                "entries {seq} to {last} are missing: the journal ends before them, but state.db was built from them"
            ),
            AuditFinding::Inserted { last } if *last == seq => write!(f, "entry {seq} was inserted"),
            AuditFinding::Inserted { last } => write!(f, "entries {seq} to {last} were inserted"),
            AuditFinding::Swapped { with } => write!(f, "entries {seq} and {with} were swapped"),
            AuditFinding::Moved { holds } => {
                write!(f, "entry {seq} contains what was written as entry {holds}")
            }
            AuditFinding::OutOfOrder { after } => write!(f, "entry {seq} comes after entry {after}"),
            AuditFinding::NotTheKnown => write!(f, "entry {seq} does not match the hash noted for it"),
            AuditFinding::LinkChanged { last } if *last == seq => {
                write!(f, "the digest of entry {seq} was changed")
            }
            AuditFinding::LinkChanged { last } => {
                write!(f, "the digest of one of the entries {seq} to {last} was changed")
            }
            AuditFinding::PayloadUnread(why) => {
                write!(f, "the payload of entry {seq} cannot be checked: {why}")
            }
            AuditFinding::Unreadable(why) => write!(f, "entry {seq} cannot be read: {why}"),
            AuditFinding::RulesChanged(how) => f.write_str(how),
        }
    }
}
