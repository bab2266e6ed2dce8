//! Errors of the YAML parser, in words for people who do not know its grammar.

use serde_saphyr::granit_parser::ErrorKind;

/// A message, and the advice for fixing it. `around` is the text before and after the error.
pub(super) fn explain(kind: &ErrorKind, around: Option<(&str, &str)>) -> (String, Option<&'static str>) {
    const INDENT: &str = "lines of one list or mapping begin in the same column";
    const QUOTE: &str =
        "put the value in quotes if it begins with a sign such as `!`, `*`, `&`, `?`, `{` or `[`";
    const WHOLE: &str =
        "a value that begins with a quote ends with it: put the whole value in the other kind of quotes";
    let (message, hint) = match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar
        | ErrorKind::InvalidBlockEntryWhitespace
        | ErrorKind::InvalidMappingValueWhitespace => {
            ("a tab is used for indentation", Some("use spaces; YAML does not allow tabs here"))
        }
        ErrorKind::UnclosedFlowCollection { open: '[' } | ErrorKind::UnexpectedEofFlowSequence => {
            ("this `[` is not closed", Some("close it with `]`"))
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            ("this `{` is not closed", Some("close it with `}`"))
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator
            if around.is_some_and(is_index) =>
        {
            (
                "a `[` inside a value ends it in `{ }` and `[ ]`",
                Some("put the whole value in quotes, for instance `'oncall[level]'`"),
            )
        }
        ErrorKind::ExpectedFlowMappingSeparator => {
            ("a `,` or `}` is expected here", Some("separate the entries of `{ }` with commas, and close it"))
        }
        ErrorKind::ExpectedFlowSequenceSeparator => {
            ("a `,` or `]` is expected here", Some("separate the items of `[ ]` with commas, and close it"))
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{open}` is closed with `{close}` here"), None);
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            ("this closing bracket has no opening bracket", Some("remove it, or quote the value"))
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("a quote is opened here and never closed", Some("close it on the same line"))
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            ("there is something after the closing quote", Some(WHOLE))
        }
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate => (
            "a `\\` in double quotes begins an escape, and this is not one",
            Some("write `\\\\`, or use single quotes"),
        ),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => (
            "a `:` is not expected here",
            Some("put a value that contains `: ` in quotes; if this is a key, check its indentation"),
        ),
        ErrorKind::MappingKeyNotAllowed => ("a `?` is not expected here", Some(QUOTE)),
        ErrorKind::InvalidQuotedScalarIndent => {
            ("a quote that was opened before is not closed", Some("close it on the line where it is opened"))
        }
        ErrorKind::CommentInterceptedScalar => (
            "the value continues after a comment, which ended it",
            Some("put the comment on a line of its own, above"),
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            ("a `:` is missing after this", Some("every line of a mapping is `key: value`"))
        }
        ErrorKind::ExpectedBlockMappingKey => ("a key is expected here", Some(INDENT)),
        ErrorKind::ExpectedBlockSequenceEntry => ("a `-` is expected here", Some(INDENT)),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            ("a `-` item is not expected here", Some("begin a list on the line after its key"))
        }
        ErrorKind::BlockEntryInFlowCollection => {
            ("a `-` item is not expected inside `[ ]` or `{ }`", Some("separate items with commas"))
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::InvalidFlowScalarIndent
        | ErrorKind::InvalidBlockScalarIndent => ("this line is indented wrongly", Some(INDENT)),
        ErrorKind::UnexpectedCharacter { character } => {
            return (
                format!("a value cannot begin with `{}`", character.escape_debug()),
                Some("put the value in quotes"),
            );
        }
        ErrorKind::ExpectedNodeContent => ("a value is expected here", Some(QUOTE)),
        ErrorKind::UndeclaredTagHandle | ErrorKind::InvalidTagTerminator | ErrorKind::MissingTagUri => (
            "a value that begins with `!` must be in quotes",
            Some("for instance `by: \"!assignee && human\"`"),
        ),
        ErrorKind::MissingAnchorOrAliasName => {
            ("a value that begins with `&` or `*` must be in quotes", None)
        }
        ErrorKind::DirectiveDisallowed => {
            ("a line that begins with `%` is not expected here", Some("put the value in quotes"))
        }
        ErrorKind::CommentNotSeparated => ("a space is missing before this `#`", None),
        ErrorKind::BomInsideDocument => ("there is an invisible byte order mark here", Some("delete it")),
        ErrorKind::InvalidBlockScalarHeader => (
            "the text of `|` or `>` begins on the next line",
            Some("put a value that begins with `|` or `>` in quotes"),
        ),
        other => return (format!("this is not YAML: {other}"), None),
    };
    (message.to_owned(), hint)
}

/// Whether a bracket follows a name, as in `oncall[level]`.
fn is_index((before, after): (&str, &str)) -> bool {
    after.starts_with('[')
        && before.ends_with(|it: char| it.is_alphanumeric() || matches!(it, '_' | ')' | ']'))
}
