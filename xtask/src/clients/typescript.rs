//! The TypeScript client: an interface for every type, a method for every route.

use std::fmt::Write as _;

use crate::openapi::{
    ApiBody, ApiOperation, Document, Kind, NamedType, Parameter, ParameterPlace, ResponseForm,
};
use crate::words::{camel_case, wrap_lines};

const HEAD: &str = "\
// Made from the OpenAPI document by `cargo xtask clients`. Do not edit: change the routes, and make it again.

import { type CallOptions, type Json, Transport } from './transport.js';

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** Send it as `cursor` for the next page; null on the last. */
  nextCursor?: string | null;
}
";

/// The whole file.
pub fn render(document: &Document) -> String {
    let mut out = HEAD.to_owned();
    for (name, named) in &document.types {
        interface(&mut out, name, named);
    }
    out.push_str("\n/** Every route of a server. */\nexport class Routes extends Transport {\n");
    for (n, operation) in document.operations.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        method(&mut out, operation);
    }
    out.push_str("}\n");
    out
}

fn interface(out: &mut String, name: &str, named: &NamedType) {
    out.push('\n');
    about(out, "", &named.about);
    let _ = writeln!(out, "export interface {name} {{");
    for member in &named.members {
        about(out, "  ", &member.about);
        let mark = if member.required { "" } else { "?" };
        let _ = writeln!(out, "  {}{mark}: {};", property(&member.name), kind(&member.kind));
    }
    out.push_str("}\n");
}

fn method(out: &mut String, operation: &ApiOperation) {
    about(out, "  ", &operation.about);
    let mut takes: Vec<String> = operation
        .path_parameters()
        .map(|it| format!("{}: {}", camel_case(&it.name), kind(&it.kind)))
        .collect();
    let bytes = matches!(&operation.body, Some(ApiBody { kind: Kind::Bytes, .. }));
    if let Some(body) = &operation.body {
        let filled = if body.required { "" } else { " = {}" };
        takes.push(format!("body: {}{filled}", kind(&body.kind)));
    }
    let must = operation.options().any(|it| it.required && !matches!(it.kind, Kind::Map(_)));
    takes.push(format!("options: {}{}", options(operation), if must { "" } else { " = {}" }));
    let (call, answer) = call(operation);
    let line = format!("  {}({}): {answer} {{", camel_case(&operation.id), takes.join(", "));
    if line.len() <= 120 {
        let _ = writeln!(out, "{line}");
    } else {
        let _ = writeln!(
            out,
            "  {}(\n    {},\n  ): {answer} {{",
            camel_case(&operation.id),
            takes.join(",\n    ")
        );
    }
    let sent = match (&operation.body, bytes) {
        (None, _) => "undefined",
        (Some(_), false) => "{ json: body }",
        (Some(_), true) => "{ bytes: body }",
    };
    let asked = |place: ParameterPlace| {
        let some: Vec<String> = operation.options().filter(|it| it.place == place).map(pair).collect();
        if some.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", some.join(", ")) }
    };
    let path = path(operation);
    let _ = writeln!(
        out,
        "    return this.{call}({{\n      method: '{}',\n      path: {path},\n      query: {},\n      headers: {},\n      body: {sent},\n      keyed: {},\n      options,\n    }});\n  }}",
        operation.method,
        asked(ParameterPlace::Query),
        asked(ParameterPlace::Header),
        operation.keyed,
    );
}

/// The request and the type of its response.
fn call(operation: &ApiOperation) -> (String, String) {
    let empty = if operation.answer.empty { " | undefined" } else { "" };
    match &operation.answer.form {
        ResponseForm::Nothing => ("forNothing".to_owned(), "Promise<void>".to_owned()),
        ResponseForm::Json(of) => {
            let of = format!("{}{empty}", kind(of));
            (format!("forJson<{of}>"), format!("Promise<{of}>"))
        }
        ResponseForm::Text => ("forText".to_owned(), "Promise<string>".to_owned()),
        ResponseForm::Bytes => ("forBytes".to_owned(), "Promise<Uint8Array>".to_owned()),
        ResponseForm::Lines => ("forLines".to_owned(), "AsyncGenerator<{ [name: string]: Json }>".to_owned()),
        ResponseForm::Events => {
            ("forEvents<JournalEntry>".to_owned(), "AsyncGenerator<JournalEntry>".to_owned())
        }
    }
}

fn options(operation: &ApiOperation) -> String {
    let some: Vec<String> = operation
        .options()
        .map(|it| {
            format!(
                "{}{}: {}",
                camel_case(&it.name),
                if it.required && !matches!(it.kind, Kind::Map(_)) { "" } else { "?" },
                kind(&it.kind)
            )
        })
        .collect();
    let own = if some.is_empty() { String::new() } else { format!("{{ {} }} & ", some.join("; ")) };
    format!("{own}CallOptions")
}

/// A name and its type; a type without a name is written inline.
fn pair(parameter: &Parameter) -> String {
    if matches!(parameter.kind, Kind::Map(_)) {
        return format!("...options.{}", camel_case(&parameter.name));
    }
    format!("{}: options.{}", property(&parameter.name), camel_case(&parameter.name))
}

/// The path with its parameters filled in.
fn path(operation: &ApiOperation) -> String {
    let mut path = operation.path.clone();
    for it in operation.path_parameters() {
        let put = format!("${{encodeURIComponent({})}}", camel_case(&it.name));
        path = path.replace(&format!("{{{}}}", it.name), &put);
    }
    format!("`{path}`")
}

fn property(name: &str) -> String {
    let plain = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if plain { name.to_owned() } else { format!("'{name}'") }
}

fn kind(it: &Kind) -> String {
    match it {
        Kind::Any => "Json".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Integer | Kind::Number => "number".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Bytes => "Uint8Array".to_owned(),
        Kind::Words(words) => words.iter().map(|it| format!("'{it}'")).collect::<Vec<_>>().join(" | "),
        Kind::List(of) => match **of {
            Kind::Maybe(_) | Kind::Words(_) => format!("({})[]", kind(of)),
            _ => format!("{}[]", kind(of)),
        },
        Kind::Map(of) => format!("{{ [name: string]: {} }}", kind(of)),
        Kind::Named(name) => name.clone(),
        Kind::Page(of) => format!("Page<{}>", kind(of)),
        Kind::Maybe(of) => format!("{} | null", kind(of)),
    }
}

fn about(out: &mut String, indent: &str, text: &str) {
    let text = text.replace("*/", "* /");
    let lines = wrap_lines(&text, 110);
    match lines.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "{indent}/** {one} */");
        }
        many => {
            let _ = writeln!(out, "{indent}/**");
            many.iter().for_each(|it| {
                let _ = writeln!(out, "{indent} * {it}");
            });
            let _ = writeln!(out, "{indent} */");
        }
    }
}
