//! The only place that knows the `cel` parser: source in, tree and positions out.

use std::ops::Range;

use cel::common::ast::{EntryExpr, Expr, LiteralValue, MapExpr, SourceInfo};
use cel::{IdedExpr, ParseError, ParseErrors};

use super::GuardError;
use super::tokens::ExprTokens;

/// Brackets this shallow are parsed on the caller's stack. Each level takes the `cel` parser up to
/// 250 KiB of it in a debug build, so deeper ones get a stack of their own.
const SHALLOW: usize = 3;
const DEEP_STACK: usize = 24 * 1024 * 1024;

/// A source that could be read.
pub(super) struct Parsed<'s> {
    pub(super) tree: IdedExpr,
    info: SourceInfo,
    tokens: ExprTokens<'s>,
}

pub(super) fn parse(source: &str) -> Result<Parsed<'_>, Vec<GuardError>> {
    let tokens = ExprTokens::read(source)?;
    let outcome = if tokens.nesting <= SHALLOW {
        read(source)
    } else {
        std::thread::scope(|scope| {
            let reader =
                std::thread::Builder::new().stack_size(DEEP_STACK).spawn_scoped(scope, || read(source));
            match reader.map(|it| it.join()) {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) | Err(_) => Err(ParseErrors { errors: Vec::new() }),
            }
        })
    };
    match outcome {
        Ok((tree, info)) => Ok(Parsed { tree, info, tokens }),
        Err(ParseErrors { errors }) => Err(in_our_words(source, &tokens, &errors)),
    }
}

/// Without macros: `has`, `all`, `map` and the like stay the calls they are written as.
fn read(source: &str) -> Result<(IdedExpr, SourceInfo), ParseErrors> {
    cel::Env::default().with_optional_support(false).parser().parse_with_source_info(source)
}

/// The crate's own display is avoided: it panics at far columns.
fn in_our_words(source: &str, tokens: &ExprTokens<'_>, errors: &[ParseError]) -> Vec<GuardError> {
    let is_syntax = |it: &ParseError| it.msg.starts_with("Syntax error");
    // Errors after the first syntax error are mostly caused by it.
    let syntax = errors.iter().find(|it| is_syntax(it)).map(|it| unexpected(tokens, byte(source, it.pos)));
    let mut ours: Vec<GuardError> = match syntax {
        Some(error) => vec![error],
        None => errors
            .iter()
            .map(|it| GuardError::new(plain(&it.msg), tokens.range(tokens.at(byte(source, it.pos)))))
            .collect(),
    };
    if ours.is_empty() {
        ours.push(GuardError::new("the expression cannot be read", 0..source.len()));
    }
    ours
}

fn unexpected(tokens: &ExprTokens<'_>, byte: usize) -> GuardError {
    let index = tokens.at(byte);
    let word = tokens.text(index);
    let error = match word {
        "" => GuardError::new("the expression ends too early", tokens.range(index)),
        _ => GuardError::new(format!("unexpected `{word}`"), tokens.range(index)),
    };
    match word {
        "and" | "AND" => error.hint("write `&&`"),
        "or" | "OR" => error.hint("write `||`"),
        "not" | "NOT" => error.hint("write `!`"),
        _ if tokens.text(index.wrapping_sub(1)) == "not" => error.hint("write `!` for `not`"),
        _ => error,
    }
}

fn plain(message: &str) -> String {
    match message {
        "invalid int literal" | "invalid uint literal" | "invalid double literal" => {
            "this number is invalid or too large".to_owned()
        }
        _ => match message.strip_prefix("reserved identifier: ") {
            Some(word) => format!("`{word}` is a reserved word"),
            None => message.chars().take(200).collect(),
        },
    }
}

/// The parser counts lines from one, and characters from one within them.
fn byte(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(column).unwrap_or(1).saturating_sub(1);
    let mut start = 0;
    for (index, text) in source.split_inclusive('\n').enumerate() {
        if index == line {
            return start + text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        }
        start += text.len();
    }
    source.len()
}

impl Parsed<'_> {
    /// The token a node was made from: its name, its operator, its opening bracket, its dot.
    fn token(&self, node: &IdedExpr) -> usize {
        self.info.offset_for(node.id).map_or(usize::MAX, |(start, _)| self.tokens.at(start as usize))
    }

    /// All of a node, first byte to last.
    pub(super) fn range(&self, node: &IdedExpr) -> Range<usize> {
        let token = self.token(node);
        let mut range = self.tokens.extent(token);
        let mut include = |other: Range<usize>| {
            range = range.start.min(other.start)..range.end.max(other.end);
        };
        match &node.expr {
            Expr::Call(call) => {
                call.target.iter().for_each(|it| include(self.range(it)));
                call.args.iter().for_each(|it| include(self.range(it)));
                if call.func_name.starts_with(|it: char| it.is_ascii_alphabetic()) {
                    include(self.function(node));
                }
            }
            Expr::Select(select) => {
                include(self.range(&select.operand));
                include(self.member(node));
            }
            Expr::Unspecified
            | Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Struct(_) => {}
        }
        range
    }

    /// The `b` of `a.b`, and the `a` of `a`.
    pub(super) fn member(&self, node: &IdedExpr) -> Range<usize> {
        let token = self.token(node);
        match node.expr {
            Expr::Select(_) => self.tokens.range(token.saturating_add(1)),
            _ => self.tokens.range(token),
        }
    }

    /// The range of a text literal of this content within a node.
    pub(super) fn literal(&self, node: &IdedExpr, content: &str) -> Option<Range<usize>> {
        let within = |it: &IdedExpr| self.literal(it, content);
        match &node.expr {
            Expr::Literal(LiteralValue::String(it)) => (it.inner() == content).then(|| self.range(node)),
            Expr::List(list) => list.elements.iter().find_map(within),
            Expr::Map(map) => entries(map).find_map(|(_, value)| within(value)),
            Expr::Call(call) => call.args.iter().find_map(within),
            _ => None,
        }
    }

    /// The name of a called function: the word before the bracket.
    pub(super) fn function(&self, node: &IdedExpr) -> Range<usize> {
        self.tokens.range(self.token(node).wrapping_sub(1))
    }
}

/// The key and the value of each entry of a map literal.
pub(super) fn entries(map: &MapExpr) -> impl Iterator<Item = (&IdedExpr, &IdedExpr)> {
    map.entries.iter().filter_map(|entry| match &entry.expr {
        EntryExpr::MapEntry(it) => Some((&it.key, &it.value)),
        EntryExpr::StructField(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(source: &str) -> Vec<(String, &str)> {
        let Err(errors) = parse(source) else { panic!("{source} can be read") };
        errors.into_iter().map(|it| (it.message, source.get(it.at).unwrap())).collect()
    }

    #[test]
    fn syntax_errors_point_at_the_word() {
        for (source, message, at) in [
            ("a +", "the expression ends too early", ""),
            ("a b", "unexpected `b`", "b"),
            ("a and b", "unexpected `and`", "and"),
            ("'é' +\n 'ü' 2", "unexpected `2`", "2"),
            ("[1,\n 2 3]", "unexpected `3`", "3"),
            ("99999999999999999999", "this number is invalid or too large", "99999999999999999999"),
            ("a.if == while", "`while` is a reserved word", "while"),
        ] {
            assert_eq!(errors(source), [(message.to_owned(), at)], "{source}");
        }
    }

    #[test]
    fn nodes_know_their_extent() {
        for source in [
            "a.b.c",
            "f(a, 1)",
            "a.f(b)[2]",
            "[1, 2]",
            "'é' + x.size()",
            "{'a': 1}",
            "!a",
            "-a.b",
            "a ? b : [c]",
        ] {
            let parsed = parse(source).unwrap_or_else(|it| panic!("{it:?}"));
            assert_eq!(source.get(parsed.range(&parsed.tree)), Some(source));
        }
    }
}
