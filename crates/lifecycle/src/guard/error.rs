//! An error in an expression, with its position.

use std::ops::Range;

/// One mistake in the source of an expression or a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardError {
    pub message: String,
    /// Bytes in the source.
    pub at: Range<usize>,
    pub hint: Option<String>,
    /// A name in it stands for nothing.
    pub is_unknown_name: bool,
}

impl GuardError {
    pub(super) fn new(message: impl Into<String>, at: Range<usize>) -> Self {
        Self { message: message.into(), at, hint: None, is_unknown_name: false }
    }

    /// A name that stands for nothing.
    pub(super) fn unknown_name(name: &str, at: Range<usize>) -> Self {
        Self { is_unknown_name: true, ..Self::new(format!("unknown name `{name}`"), at) }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A hint that names the likely intent, if there is one.
    pub(super) fn did_you_mean(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(it) => self.hint(format!("did you mean `{it}`?")),
            None => self,
        }
    }

    /// The same error in a text that contains the source from `offset` on.
    pub(super) fn shifted(mut self, offset: usize) -> Self {
        self.at = self.at.start.saturating_add(offset)..self.at.end.saturating_add(offset);
        self
    }
}
