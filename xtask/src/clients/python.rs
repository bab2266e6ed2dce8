//! The Python client: a typed dictionary for every type, a method for every route.

use std::fmt::Write as _;

use crate::openapi::{
    ApiBody, ApiOperation, Document, Kind, NamedType, Parameter, ParameterPlace, ResponseForm, TypeMember,
};
use crate::words::{snake_case, wrap_lines};

const HEAD: &str = "\
# Made from the OpenAPI document by `cargo xtask clients`. Do not edit: change the routes, and make it again.
\"\"\"Every type and every route of a server.\"\"\"

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from ._transport import Transport, given, part

T = TypeVar(\"T\")


class Page(TypedDict, Generic[T]):
    \"\"\"A page of a list.\"\"\"

    items: list[T]
    # Send it as `cursor` for the next page; null on the last.
    nextCursor: NotRequired[str | None]
";

/// The longest line.
const WIDTH: usize = 118;

/// Words that no name may be.
const RESERVED: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The whole file.
pub fn render(document: &Document) -> String {
    let mut out = HEAD.to_owned();
    for (name, named) in &document.types {
        dictionary(&mut out, name, named);
    }
    out.push_str("\n\nclass Routes(Transport):\n    \"\"\"Every route of a server.\"\"\"\n");
    for operation in &document.operations {
        out.push('\n');
        method(&mut out, document, operation);
    }
    out
}

fn dictionary(out: &mut String, name: &str, named: &NamedType) {
    // Names that are words of the language can only be written as text.
    if named.members.iter().any(|it| RESERVED.contains(&it.name.as_str())) {
        let _ = writeln!(out, "\n\n# {}\n{name} = TypedDict(\n    \"{name}\",\n    {{", named.about);
        for member in &named.members {
            comment(out, "        ", &member.about);
            let _ = writeln!(out, "        \"{}\": \"{}\",", member.name, member_kind(member));
        }
        out.push_str("    },\n)\n");
        return;
    }
    let _ = writeln!(out, "\n\nclass {name}(TypedDict):");
    docstring(out, "    ", &named.about);
    if !named.members.is_empty() && !named.about.is_empty() {
        out.push('\n');
    }
    for member in &named.members {
        comment(out, "    ", &member.about);
        let _ = writeln!(out, "    {}: {}", member.name, member_kind(member));
    }
    if named.members.is_empty() && named.about.is_empty() {
        out.push_str("    pass\n");
    }
}

fn member_kind(member: &TypeMember) -> String {
    match member.required {
        true => kind(&member.kind),
        false => format!("NotRequired[{}]", kind(&member.kind)),
    }
}

/// The parameters of a method beside the path.
#[derive(Clone)]
struct MethodParameter {
    name: String,
    kind: String,
    required: bool,
}

fn method(out: &mut String, document: &Document, operation: &ApiOperation) {
    let (call, answer) = call(operation);
    let body = method_body(document, operation);
    signature(out, operation, &body, &answer);
    docstring(out, "        ", &operation.about);
    let mut asked = vec![format!("\"{}\"", operation.method), path(operation)];
    for (place, name) in [(ParameterPlace::Query, "query"), (ParameterPlace::Header, "headers")] {
        let some: Vec<String> = operation.options().filter(|it| it.place == place).map(pair).collect();
        if !some.is_empty() {
            asked.push(format!("{name}=given({{{}}})", some.join(", ")));
        }
    }
    asked.extend(body.written);
    if operation.keyed {
        asked.push("key=self._key(idempotency_key)".to_owned());
    }
    // JSON answers are untyped: the response gets its type before it is returned.
    let typed = matches!(operation.answer.form, ResponseForm::Json(_));
    let begin = if typed { format!("response: {answer} = ") } else { "return ".to_owned() };
    let line = format!("        {begin}self.{call}({})", asked.join(", "));
    if line.len() <= WIDTH {
        let _ = writeln!(out, "{line}");
    } else {
        let asked = asked.join(",\n            ");
        let _ = writeln!(out, "        {begin}self.{call}(\n            {asked},\n        )");
    }
    if typed {
        out.push_str("        return response\n");
    }
}

fn signature(out: &mut String, operation: &ApiOperation, body: &MethodBody, answer: &str) {
    let options = operation.options().map(|it| MethodParameter {
        name: safe(&it.name),
        kind: argument(&it.kind),
        required: it.required && !matches!(it.kind, Kind::Map(_)),
    });
    let key = MethodParameter { name: "idempotency_key".to_owned(), kind: "str".to_owned(), required: false };
    let named: Vec<MethodParameter> =
        body.takes.iter().cloned().chain(options).chain(operation.keyed.then_some(key)).collect();
    let mut takes = vec!["self".to_owned()];
    takes.extend(operation.path_parameters().map(|it| format!("{}: {}", safe(&it.name), kind(&it.kind))));
    takes.extend(body.first.clone());
    if !named.is_empty() {
        takes.push("*".to_owned());
    }
    let (needed, free): (Vec<&MethodParameter>, Vec<&MethodParameter>) =
        named.iter().partition(|it| it.required);
    takes.extend(needed.iter().map(|it| format!("{}: {}", it.name, it.kind)));
    takes.extend(free.iter().map(|it| format!("{}: {} | None = None", it.name, it.kind)));
    let name = safe(&operation.id);
    let line = format!("    def {name}({}) -> {answer}:", takes.join(", "));
    if line.len() <= WIDTH {
        let _ = writeln!(out, "{line}");
    } else {
        let takes = takes.join(",\n        ");
        let _ = writeln!(out, "    def {name}(\n        {takes},\n    ) -> {answer}:");
    }
}

/// A body as a method takes it.
#[derive(Default)]
struct MethodBody {
    /// The argument after the path.
    first: Option<String>,
    /// Its members, each by its name.
    takes: Vec<MethodParameter>,
    written: Option<String>,
}

fn method_body(document: &Document, operation: &ApiOperation) -> MethodBody {
    let Some(ApiBody { kind: of, required }) = &operation.body else { return MethodBody::default() };
    let members = match of {
        Kind::Bytes => {
            let (first, written) = (Some("content: bytes".to_owned()), Some("content=content".to_owned()));
            return MethodBody { first, written, ..MethodBody::default() };
        }
        Kind::Named(name) => document.types.get(name).map(|it| it.members.as_slice()).unwrap_or_default(),
        _ => &[],
    };
    let taken = |name: &str| operation.parameters.iter().any(|it| safe(&it.name) == name);
    if members.is_empty() || members.iter().any(|it| taken(&safe(&it.name))) {
        let none = if *required { "" } else { " | None = None" };
        let first = Some(format!("body: {}{none}", argument(of)));
        return MethodBody { first, written: Some("json=body".to_owned()), ..MethodBody::default() };
    }
    let takes = members.iter().map(|it| MethodParameter {
        name: safe(&it.name),
        kind: argument(match &it.kind {
            Kind::Maybe(of) => of,
            kind => kind,
        }),
        required: it.required,
    });
    let pairs: Vec<String> =
        members.iter().map(|it| format!("\"{}\": {}", it.name, safe(&it.name))).collect();
    let written = Some(format!("json=given({{{}}})", pairs.join(", ")));
    MethodBody { first: None, takes: takes.collect(), written }
}

/// The request and the type of its response.
fn call(operation: &ApiOperation) -> (&'static str, String) {
    let empty = if operation.answer.empty { " | None" } else { "" };
    match &operation.answer.form {
        ResponseForm::Nothing => ("_nothing", "None".to_owned()),
        ResponseForm::Json(of) => ("_json", format!("{}{empty}", kind(of))),
        ResponseForm::Text => ("_text", "str".to_owned()),
        ResponseForm::Bytes => ("_bytes", "bytes".to_owned()),
        ResponseForm::Lines => ("_lines", "Iterator[dict[str, Any]]".to_owned()),
        ResponseForm::Events => ("_events", "Iterator[JournalEntry]".to_owned()),
    }
}

/// A name and its type; a type without a name is written inline.
fn pair(parameter: &Parameter) -> String {
    match parameter.kind {
        Kind::Map(_) => format!("**({} or {{}})", safe(&parameter.name)),
        _ => format!("\"{}\": {}", parameter.name, safe(&parameter.name)),
    }
}

/// The path with its parameters filled in.
fn path(operation: &ApiOperation) -> String {
    let mut path = operation.path.clone();
    let mut filled = false;
    for it in operation.path_parameters() {
        path = path.replace(&format!("{{{}}}", it.name), &format!("{{part({})}}", safe(&it.name)));
        filled = true;
    }
    format!("{}\"{path}\"", if filled { "f" } else { "" })
}

/// A name that the language allows.
fn safe(name: &str) -> String {
    let name = snake_case(name);
    if RESERVED.contains(&name.as_str()) { name + "_" } else { name }
}

fn kind(it: &Kind) -> String {
    match it {
        Kind::Any => "Any".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::Integer => "int".to_owned(),
        Kind::Number => "float".to_owned(),
        Kind::Boolean => "bool".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Words(words) => {
            format!("Literal[{}]", words.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", "))
        }
        Kind::List(of) => format!("list[{}]", kind(of)),
        Kind::Map(of) => format!("dict[str, {}]", kind(of)),
        Kind::Named(name) => name.clone(),
        Kind::Page(of) => format!("Page[{}]", kind(of)),
        Kind::Maybe(of) => format!("{} | None", kind(of)),
    }
}

/// The type of a parameter: every compatible type is accepted.
fn argument(it: &Kind) -> String {
    match it {
        Kind::List(of) => format!("Sequence[{}]", argument(of)),
        Kind::Map(of) => format!("Mapping[str, {}]", argument(of)),
        other => kind(other),
    }
}

fn docstring(out: &mut String, indent: &str, text: &str) {
    let lines = wrap_lines(&text.replace('\\', "\\\\"), 105);
    match lines.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "{indent}\"\"\"{one}\"\"\"");
        }
        many => {
            let _ = writeln!(out, "{indent}\"\"\"{}", many.join(&format!("\n{indent}")));
            let _ = writeln!(out, "{indent}\"\"\"");
        }
    }
}

fn comment(out: &mut String, indent: &str, text: &str) {
    for line in wrap_lines(text, 105) {
        let _ = writeln!(out, "{indent}# {line}");
    }
}
