//! `cargo xtask reference`: the pages of `docs/reference` that are made from the code.

use std::fmt::Write as _;
use std::process::Command;
use std::{fs, io};

use serde_json::Value as Json;

use crate::openapi::{
    ApiOperation, Document, Kind, NamedType, Parameter, ParameterPlace, ResponseForm, server_document,
};
use crate::pack_pages::pack_pages;
use crate::packs::{own_packs, packs};
use crate::tree::Tree;

const ROUTES: &str = "docs/reference/http-routes.md";
const SETTINGS: &str = "docs/reference/settings.md";
const COMMANDS: &str = "docs/reference/commands.md";

const HEAD: &str = "\
<!-- Generated from the OpenAPI document by `cargo xtask reference`. Do not edit. -->

# Every route

Parameters, bodies and responses of each route. [HTTP](http.md) explains permissions and retries. Refusals are
[problem documents](refusals.md). `Idempotency-Key` is a header: a request with the same key takes effect once. Programs
read the same from `GET /openapi.json` or use the [clients](../guides/clients.md).
";

/// Writes all pages and names them.
pub fn write(tree: &Tree) -> io::Result<String> {
    fs::write(tree.root().join(ROUTES), routes(&server_document()))?;
    fs::write(tree.root().join(SETTINGS), settings(tree))?;
    crate::tables::write(tree)?;
    // The commands are known to the program alone.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--package", "trackside", "--", "reference"])
        .current_dir(tree.root())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    fs::write(tree.root().join(COMMANDS), output.stdout)?;
    let pages = write_pack_pages(tree)?;
    Ok(format!("reference: {ROUTES}, {SETTINGS}, {COMMANDS}, {pages}"))
}

/// Updates the generated parts of the packs' pages; returns their paths.
fn write_pack_pages(tree: &Tree) -> io::Result<String> {
    let mut written = Vec::new();
    for page in pack_pages(tree) {
        let page =
            page.map_err(|(path, part)| io::Error::other(format!("{path} has no markers for `{part}`")))?;
        fs::write(tree.root().join(&page.path), page.text)?;
        written.push(page.path);
    }
    Ok(written.join(", "))
}

/// The page of routes.
fn routes(document: &Document) -> String {
    let mut out = HEAD.to_owned();
    let mut tag = "";
    for operation in &document.operations {
        if operation.tag != tag {
            tag = &operation.tag;
            let _ = writeln!(out, "\n## Routes: {tag}");
        }
        route(&mut out, operation);
    }
    out.push_str("\n## Types\n");
    for (name, named) in &document.types {
        kind_of(&mut out, name, named);
    }
    out
}

fn route(out: &mut String, operation: &ApiOperation) {
    let _ = writeln!(
        out,
        "\n### `{} {}`\n\n{} Called `{}`.\n",
        operation.method,
        operation.path,
        sentence(&operation.about),
        operation.id
    );
    for it in operation.path_parameters().filter(|it| !it.about.is_empty()) {
        let _ = writeln!(out, "- `{}`: {}", it.name, it.about);
    }
    operation.options().for_each(|it| {
        let _ = writeln!(out, "- {}", option(it));
    });
    if operation.keyed {
        out.push_str("- header `Idempotency-Key`\n");
    }
    if let Some(body) = &operation.body {
        let may = if body.required { "" } else { ", may be left out" };
        let _ = writeln!(out, "- body: {}{may}", kind(&body.kind));
    }
    let answer = match &operation.answer.form {
        ResponseForm::Nothing => "nothing".to_owned(),
        ResponseForm::Json(of) => kind(of),
        ResponseForm::Text => "text".to_owned(),
        ResponseForm::Bytes => "bytes".to_owned(),
        ResponseForm::Lines => "JSON lines".to_owned(),
        ResponseForm::Events => "[`JournalEntry`](#journalentry), each a server-sent event".to_owned(),
    };
    let empty = if operation.answer.empty && !matches!(operation.answer.form, ResponseForm::Nothing) {
        ", or nothing"
    } else {
        ""
    };
    let _ = writeln!(out, "- answers: {answer}{empty}");
}

fn option(it: &Parameter) -> String {
    let place = if it.place == ParameterPlace::Header { "header " } else { "" };
    let needed = if it.required && !matches!(it.kind, Kind::Map(_)) { ", needed" } else { "" };
    let about = if it.about.is_empty() { String::new() } else { format!(": {}", it.about) };
    let mark = if it.place == ParameterPlace::Header { "" } else { "?" };
    format!("{place}`{mark}{}` ({}{needed}){about}", it.name, kind(&it.kind))
}

fn kind_of(out: &mut String, name: &str, named: &NamedType) {
    let _ = writeln!(out, "\n### {name}\n\n{}\n", sentence(&named.about));
    if named.members.is_empty() {
        return;
    }
    out.push_str("| member | type | |\n|---|---|---|\n");
    for it in &named.members {
        let mark = if it.required { "" } else { "?" };
        let about = it.about.replace('|', "\\|");
        let _ = writeln!(out, "| `{}`{mark} | {} | {about} |", it.name, kind(&it.kind).replace('|', "\\|"));
    }
}

const SETTINGS_HEAD: &str = "\
<!-- Generated from the packs by `cargo xtask reference`. Do not edit. -->

# Settings of the packs

The settings of each pack with their defaults. `trackside settings PACK` shows the current values and where they come from;
`trackside settings PACK name=value` changes them, and so does [HTTP](http.md#packs-and-settings). [Commands](commands.md)
lists the options of the server itself.
";

/// The page of settings.
fn settings(tree: &Tree) -> String {
    let mut out = SETTINGS_HEAD.to_owned();
    for pack in packs(tree).into_iter().chain(own_packs(tree)) {
        let all: Vec<(&String, &Json)> = pack
            .definitions()
            .flat_map(|it| it.value.get("settings").and_then(Json::as_object).into_iter().flatten())
            .collect();
        if all.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {}\n\n| setting | default | bounds | |\n|---|---|---|---|", pack.name);
        for (name, it) in all {
            let default = it.get("default").unwrap_or(it);
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            let bound = |of: &str, word: &str| it.get(of).map(|it| format!("{word} {it}"));
            let bounds: Vec<String> =
                bound("min", "at least").into_iter().chain(bound("max", "at most")).collect();
            let about = it.get("about").and_then(Json::as_str).unwrap_or_default();
            let _ = writeln!(
                out,
                "| `{name}` | `{}` | {} | {} |",
                default.replace('|', "\\|"),
                bounds.join(", "),
                about.replace('|', "\\|")
            );
        }
    }
    out
}

/// A text that ends as a sentence does.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

fn kind(it: &Kind) -> String {
    match it {
        Kind::Any => "anything".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Integer => "whole number".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Words(words) => words.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "),
        Kind::List(of) => format!("list of {}", kind(of)),
        Kind::Map(of) if **of == Kind::Any => "object".to_owned(),
        Kind::Map(of) => format!("object of {}", kind(of)),
        Kind::Named(name) => format!("[`{name}`](#{})", name.to_lowercase()),
        Kind::Page(of) => format!("page of {}", kind(of)),
        Kind::Maybe(of) => format!("{} or null", kind(of)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_page_is_up_to_date() {
        let tree = Tree::here();
        let kept = fs::read_to_string(tree.root().join(SETTINGS)).unwrap_or_default();
        assert!(
            kept == settings(&tree),
            "{SETTINGS} is not what the packs say now: run `cargo xtask reference`"
        );
    }

    #[test]
    fn the_routes_page_is_up_to_date() {
        let kept = fs::read_to_string(Tree::here().root().join(ROUTES)).unwrap_or_default();
        assert!(
            kept == routes(&server_document()),
            "{ROUTES} is not what the routes are now: run `cargo xtask reference`"
        );
    }
}
