//! The parts of a text: scalars, signs and comments, and the blocks they belong to.

use std::borrow::Cow;

/// A part of the text.
#[derive(Debug)]
pub(super) struct YamlToken<'a> {
    pub(super) kind: YamlTokenKind,
    pub(super) text: Cow<'a, str>,
    /// Line breaks between it and the part before.
    pub(super) breaks: usize,
    /// Its column in the text, in characters from 0.
    pub(super) column: usize,
    /// The list or mapping that contains it, not counting those in brackets.
    pub(super) block: Option<usize>,
    /// Its new column if it is the first in its line and not in brackets.
    pub(super) indent: usize,
    /// Spaces before it that a table wants.
    pub(super) pad: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum YamlTokenKind {
    /// `-`
    Dash,
    /// `?`
    Question,
    /// `:`, apart from its key if that is written with `?`.
    Colon {
        apart: bool,
    },
    /// `,`
    Comma,
    /// `{` or `[`; roomy ones have a space inside.
    Open {
        roomy: bool,
    },
    /// `}` or `]`
    Close {
        roomy: bool,
    },
    Scalar,
    /// The header of a block text: `|` or `>` and its indicators.
    Header,
    /// The lines of a block text, without their indentation.
    Body(Vec<String>),
    Comment,
    /// `---` or `...`
    Marker,
}

/// A list or mapping without brackets.
#[derive(Debug)]
pub(super) struct YamlBlock {
    pub(super) parent: Option<usize>,
    pub(super) list: bool,
    /// The column of its parts in the text.
    pub(super) column: usize,
    /// Their new column.
    pub(super) indent: usize,
    /// The list it is an item of, and which one, from 1.
    pub(super) item: Option<(usize, usize)>,
    /// The entries of a mapping.
    pub(super) entries: Vec<YamlEntry>,
    /// Items of a list so far.
    pub(super) items: usize,
}

/// A key and its value, by the numbers of their tokens.
#[derive(Debug)]
pub(super) struct YamlEntry {
    pub(super) key: usize,
    /// If there is one in the line of the key.
    pub(super) value: Option<usize>,
}
