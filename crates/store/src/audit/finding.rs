//! What can be wrong with a journal, each with the entry it was seen at.

use std::fmt;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The entry at which it shows; 0 if it shows at none.
    pub seq: u64,
    pub what: Finding,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// Its header, or the hash of it, or the entry before it with its hash.
    Changed,
    /// Its payload is not what was written.
    PayloadChanged,
    /// It has a payload and never had one.
    PayloadAdded,
    /// Its payload is gone, and no entry tells why.
    PayloadGone,
    /// From this entry to that one they are gone.
    Removed { last: u64 },
    /// From this entry to that one they are gone: the journal ends before them, and projections were made from them.
    CutOff { last: u64 },
    /// From this entry to that one nobody wrote them: later ones were given other numbers.
    Inserted { last: u64 },
    /// This entry and that one have changed places.
    Swapped { with: u64 },
    /// It holds what was written as another entry.
    Moved { holds: u64 },
    /// It comes after one with the same number, or a higher one.
    OutOfOrder { after: u64 },
    /// It is not the one that was noted elsewhere.
    NotTheKnown,
    /// From this entry to that one they are told by digests, and one of those was changed.
    LinkChanged { last: u64 },
    /// It is as it was written, but cannot be read.
    Unreadable(String),
    /// Rules are not those that it put into force, or that any entry did: how, in words.
    RulesChanged(String),
}

impl Finding {
    /// A word for machines.
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
            Self::Unreadable(_) => "unreadable",
            Self::RulesChanged(_) => "rules-changed",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        let before = seq.saturating_sub(1);
        match &self.what {
            Finding::Changed => {
                write!(f, "entry {seq} was changed, or entry {before} before it was replaced")
            }
            Finding::PayloadChanged => write!(f, "the payload of entry {seq} was changed"),
            Finding::PayloadAdded => write!(f, "entry {seq} has a payload that was never written"),
            Finding::PayloadGone => write!(f, "the payload of entry {seq} is gone, and no entry tells why"),
            Finding::Removed { last } if *last == seq => write!(f, "entry {seq} was removed"),
            Finding::Removed { last } => write!(f, "entries {seq} to {last} were removed"),
            Finding::CutOff { last } if *last == seq => {
                write!(f, "entry {seq} is gone: the journal ends before it, and state.db was made from it")
            }
            Finding::CutOff { last } => write!(
                f,
                "entries {seq} to {last} are gone: the journal ends before them, and state.db was made from them"
            ),
            Finding::Inserted { last } if *last == seq => write!(f, "entry {seq} was inserted"),
            Finding::Inserted { last } => write!(f, "entries {seq} to {last} were inserted"),
            Finding::Swapped { with } => write!(f, "entries {seq} and {with} were swapped"),
            Finding::Moved { holds } => write!(f, "entry {seq} holds what was written as entry {holds}"),
            Finding::OutOfOrder { after } => write!(f, "entry {seq} comes after entry {after}"),
            Finding::NotTheKnown => write!(f, "entry {seq} is not the one that was noted elsewhere"),
            Finding::LinkChanged { last } if *last == seq => {
                write!(f, "the digest that stands for entry {seq} was changed")
            }
            Finding::LinkChanged { last } => {
                write!(f, "a digest that stands for one of the entries {seq} to {last} was changed")
            }
            Finding::Unreadable(why) => write!(f, "entry {seq} cannot be read: {why}"),
            Finding::RulesChanged(how) => f.write_str(how),
        }
    }
}
