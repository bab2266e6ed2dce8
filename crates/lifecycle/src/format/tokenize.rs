//! Splits a text into its parts.
//!
//! The parser gives the nesting and the ends of scalars. Between them are only blanks, comments and signs.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::STEP;
use super::block_scalar::body;
use super::tokens::{YamlBlock, YamlEntry, YamlToken, YamlTokenKind};

/// Cuts a text that the reader accepts, with line feeds only.
pub(super) fn tokenize(text: &str) -> (Vec<YamlToken<'_>>, Vec<YamlBlock>) {
    let mut tokenizer = Tokenizer {
        text,
        at: 0,
        column: 0,
        breaks: 0,
        tokens: Vec::new(),
        blocks: Vec::new(),
        open: Vec::new(),
    };
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        match event {
            Event::Scalar(_, style, ..) => {
                let begin = span.start.byte_offset().unwrap_or(0);
                let end = span.end.byte_offset().unwrap_or(0);
                tokenizer.scalar(style, begin, end);
            }
            Event::SequenceStart(style, ..) => tokenizer.begin(style, true),
            Event::MappingStart(style, ..) => tokenizer.begin(style, false),
            Event::SequenceEnd | Event::MappingEnd => tokenizer.end(),
            _ => {}
        }
    }
    tokenizer.skip();
    (tokenizer.tokens, tokenizer.blocks)
}

struct Tokenizer<'a> {
    text: &'a str,
    at: usize,
    column: usize,
    breaks: usize,
    tokens: Vec<YamlToken<'a>>,
    blocks: Vec<YamlBlock>,
    open: Vec<Open>,
}

/// A list or mapping whose end has not been seen.
enum Open {
    YamlBlock(usize, Next),
    /// In brackets, or without them for a single pair in a list: `[a: b]`.
    Flow {
        bracket: Option<usize>,
        next: Next,
        /// Whether it contains a list or mapping.
        deep: bool,
    },
}

/// The next token in a list or mapping.
#[derive(Clone, Copy)]
enum Next {
    Item,
    Key,
    /// Whether the key was written with `?`.
    Value(bool),
}

impl<'a> Tokenizer<'a> {
    fn begin(&mut self, style: StructureStyle, list: bool) {
        let (indent, _) = self.lead_in();
        let next = if list { Next::Item } else { Next::Key };
        if style != StructureStyle::Flow {
            self.skip();
            let block = self.blocks.len();
            let column = self.column;
            let parent = self.block();
            let list_around =
                parent.and_then(|at| Some((at, self.blocks.get(at).filter(|it| it.list)?.items)));
            let entries = Vec::new();
            self.blocks.push(YamlBlock {
                parent,
                list,
                column,
                indent,
                item: list_around,
                entries,
                items: 0,
            });
            self.open.push(Open::YamlBlock(block, next));
            return;
        }
        if let Some(Open::Flow { deep, .. }) = self.open.last_mut() {
            *deep = true;
        }
        self.skip();
        let bracket = self.rest().starts_with(['{', '[']).then_some(self.tokens.len());
        if bracket.is_some() {
            self.push(YamlTokenKind::Open { roomy: !list }, 1, indent);
        }
        self.open.push(Open::Flow { bracket, next, deep: false });
    }

    fn end(&mut self) {
        let Some(Open::Flow { bracket: Some(bracket), next, deep }) = self.open.pop() else { return };
        self.comma();
        self.skip();
        let roomy = deep || !matches!(next, Next::Item);
        self.push(YamlTokenKind::Close { roomy }, 1, 0);
        if let Some(opening) = self.tokens.get_mut(bracket) {
            opening.kind = YamlTokenKind::Open { roomy };
        }
    }

    fn scalar(&mut self, style: ScalarStyle, begin: usize, end: usize) {
        let (indent, key) = self.lead_in();
        if style == ScalarStyle::Plain && begin == end {
            return;
        }
        self.skip();
        let token = self.tokens.len();
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            self.block_text(indent);
        } else {
            self.push(YamlTokenKind::Scalar, end.saturating_sub(self.at), indent);
        }
        let Some(Open::YamlBlock(block, _)) = self.open.last() else { return };
        let Some(block) = self.blocks.get_mut(*block).filter(|it| !it.list) else { return };
        if key {
            block.entries.push(YamlEntry { key: token, value: None });
        }
    }

    /// Takes the signs before a part. Returns the new column of the part, and whether it is a key.
    fn lead_in(&mut self) -> (usize, bool) {
        match self.open.last() {
            None => (0, false),
            Some(Open::YamlBlock(block, next)) => {
                let (block, next) = (*block, *next);
                let indent = self.blocks.get(block).map_or(0, |it| it.indent);
                let next = self.signs(next, indent);
                if let Some(Open::YamlBlock(_, it)) = self.open.last_mut() {
                    *it = next.0;
                }
                let under_a_sign = !matches!(next, (Next::Value(false), _));
                (if under_a_sign { indent + STEP } else { indent }, next.1)
            }
            Some(Open::Flow { next, bracket, .. }) => {
                let next = *next;
                if bracket.is_some() && !matches!(next, Next::Value(_)) {
                    self.comma();
                }
                let next = self.signs(next, 0);
                if let Some(Open::Flow { next: it, .. }) = self.open.last_mut() {
                    *it = next.0;
                }
                (0, next.1)
            }
        }
    }

    /// The token after the next one, and whether the next one is a key.
    fn signs(&mut self, next: Next, indent: usize) -> (Next, bool) {
        self.skip();
        match next {
            Next::Item => {
                if matches!(self.open.last(), Some(Open::YamlBlock(..))) && self.rest().starts_with('-') {
                    self.push(YamlTokenKind::Dash, 1, indent);
                    if let Some(list) = self.block().and_then(|it| self.blocks.get_mut(it)) {
                        list.items += 1;
                    }
                }
                (Next::Item, false)
            }
            Next::Key => {
                let mut ahead = self.rest().chars();
                let asked = ahead.next() == Some('?')
                    && ahead.next().is_none_or(|it| matches!(it, ' ' | '\t' | '\n'));
                if asked {
                    self.push(YamlTokenKind::Question, 1, indent);
                }
                (Next::Value(asked), true)
            }
            Next::Value(apart) => {
                if self.rest().starts_with(':') {
                    self.push(YamlTokenKind::Colon { apart }, 1, indent);
                }
                if !apart {
                    self.value_ahead();
                }
                (Next::Key, false)
            }
        }
    }

    /// Remembers the value that begins in the line of its key.
    fn value_ahead(&mut self) {
        let here = self.rest().trim_start_matches([' ', '\t']);
        if here.is_empty() || here.starts_with(['\n', '#']) {
            return;
        }
        let token = self.tokens.len();
        let Some(Open::YamlBlock(block, _)) = self.open.last() else { return };
        if let Some(entry) = self.blocks.get_mut(*block).and_then(|it| it.entries.last_mut())
            && token == entry.key + 2
        {
            entry.value = Some(token);
        }
    }

    fn block_text(&mut self, indent: usize) {
        let header = self.rest();
        let signs =
            header.trim_start_matches(['|', '>', '+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        let header = header.get(..header.len() - signs.len()).unwrap_or_default();
        let digit = header.chars().find_map(|it| it.to_digit(10)).and_then(|it| usize::try_from(it).ok());
        let outer = self.block().and_then(|it| self.blocks.get(it)).map(|it| it.column);
        let keep = header.contains('+');
        let depth = outer.map_or(STEP, |_| indent);
        let at = self.tokens.len();
        self.push(YamlTokenKind::Header, header.len(), indent);
        self.blanks();
        if self.rest().starts_with('#') {
            self.comment();
        }
        let least = outer.map_or(0, |it| it + 1);
        let exact = digit.map(|it| outer.unwrap_or(0) + it);
        let (lines, end) = body(self.text, self.at, least, exact, keep);
        // Without it, comments after an empty text that nothing surrounds would be its lines.
        let ends_early = outer.is_none() && lines.is_empty();
        if (digit.is_some() || ends_early)
            && let Some(token) = self.tokens.get_mut(at)
        {
            let (style, rest) = header.split_at(1);
            let rest = rest.trim_matches(|it: char| it.is_ascii_digit());
            token.text = Cow::Owned(format!("{style}{STEP}{rest}"));
        }
        if !lines.is_empty() {
            self.breaks = 1;
            self.push(YamlTokenKind::Body(lines), 0, depth);
            self.at = end;
        }
    }

    fn comma(&mut self) {
        self.skip();
        if self.rest().starts_with(',') {
            self.push(YamlTokenKind::Comma, 1, 0);
        }
    }

    /// Goes to the next part, past blanks, comments and markers.
    fn skip(&mut self) {
        loop {
            self.blanks();
            let rest = self.rest();
            let marker = |it: &str| {
                self.column == 0
                    && rest
                        .strip_prefix(it)
                        .is_some_and(|it| it.is_empty() || it.starts_with([' ', '\t', '\n']))
            };
            if rest.starts_with('#') {
                self.comment();
            } else if self.open.is_empty() && (marker("---") || marker("...")) {
                self.push(YamlTokenKind::Marker, 3, 0);
            } else if rest.starts_with('\n') {
                self.at += 1;
                self.column = 0;
                self.breaks += 1;
            } else {
                return;
            }
        }
    }

    fn blanks(&mut self) {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += blanks;
        self.column += blanks;
    }

    fn comment(&mut self) {
        let rest = self.rest();
        let line = rest.split('\n').next().unwrap_or(rest);
        let shown = line.trim_end();
        let (at, column) = (self.at + line.len(), self.column);
        self.push(YamlTokenKind::Comment, shown.len(), 0);
        self.at = at;
        self.column = column;
        if let Some(token) = self.tokens.last_mut()
            && let Some(words) = shown.strip_prefix('#')
            && !words.is_empty()
            && !words.starts_with(|it: char| it.is_whitespace() || it == '#' || it == '!')
        {
            token.text = Cow::Owned(format!("# {words}"));
        }
    }

    fn push(&mut self, kind: YamlTokenKind, length: usize, indent: usize) {
        let text = self.rest().get(..length).unwrap_or_default().trim_end_matches([' ', '\t', '\n']);
        let token = YamlToken {
            kind,
            text: Cow::Borrowed(text),
            breaks: self.breaks,
            column: self.column,
            block: self.block(),
            indent,
            pad: None,
        };
        self.at += text.len();
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => self.column + text.chars().count(),
        };
        self.breaks = 0;
        self.tokens.push(token);
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The innermost list or mapping without brackets.
    fn block(&self) -> Option<usize> {
        self.open
            .iter()
            .rev()
            .find_map(|it| if let Open::YamlBlock(block, _) = it { Some(*block) } else { None })
    }
}
