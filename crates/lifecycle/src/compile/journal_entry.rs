//! Expressions over journal entries: log lines, and the entries of a history.

use super::context::CompileContext;
use crate::guard::{Guard, Type};
use crate::model::{LogLineFormat, Read};
use crate::name::Name;
use crate::source::{Named, Place};
use crate::syntax::{Expr, LogDecl};

/// Members of an entry that are texts.
const TEXTS: &[&str] = &[
    "actor",
    "actorKind",
    "condition",
    "event",
    "from",
    "id",
    "lifecycle",
    "onBehalfOf",
    "reason",
    "requestId",
    "to",
    "trigger",
];

/// The type of a journal entry.
fn entry_type() -> Type {
    let texts = TEXTS.iter().map(|it| (*it, Type::Text));
    let numbers = ["cause", "seq", "version"].map(|it| (it, Type::Int));
    let others = [("metadata", Type::Any), ("timestamp", Type::Time)];
    Type::record(texts.chain(numbers).chain(others))
}

impl CompileContext<'_> {
    pub fn log_format(&mut self, decl: &LogDecl, at: Place) -> LogLineFormat {
        self.it = Some(entry_type());
        let when = self.when(&decl.when);
        self.it = None;
        let line = self.entry_line(&decl.line);
        if decl.line.iter().next().is_none() {
            self.error("empty-log", at, "`log` does not say what a line contains")
                .hint("add for example `line: { timestamp: it.timestamp, event: it.event }`");
        }
        LogLineFormat { when, line }
    }

    /// The members of a line that is made from an entry.
    pub fn entry_line(&mut self, members: &Named<Expr>) -> Vec<(Name, Guard)> {
        self.it = Some(entry_type());
        let mut line = Vec::new();
        for (name, source) in members.iter() {
            line.extend(self.guard(source, &Type::Any).map(|it| (name.it.clone(), it)));
        }
        self.it = None;
        line
    }

    /// The condition on the entries of a history. It is evaluated for every entry, so it reads no other entity.
    pub fn history_filter(&mut self, source: &Option<Expr>) -> Option<Guard> {
        self.it = Some(entry_type());
        let filter = self.when(source);
        self.it = None;
        let others = |read: &Read| {
            matches!(
                read,
                Read::Ref(..)
                    | Read::Me(_)
                    | Read::Group(..)
                    | Read::All(_)
                    | Read::MovedAt(_)
                    | Read::Rank(_)
                    | Read::RankSize(_)
            )
        };
        if let (Some(filter), Some(source)) = (&filter, source)
            && self.depends(filter, others)
        {
            self.error("history-where", source.at, "`where` of a history cannot read other entities")
                .hint("use `it` (the entry), `ask`, `settings` and fields");
        }
        filter
    }
}
