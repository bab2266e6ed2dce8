//! `trackside changes`: what changed in the work on an entity.

use serde_json::Value as Json;

use crate::args::ChangesArgs;
use crate::print::{self, Colour, painted_data};
use crate::refused;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::styled::Styled;
use crate::table::print_table;
use crate::time_format::{is_true, list, moment, number, text};
use crate::url::ApiPath;

/// Characters of a commit that are shown.
const SHORT: usize = 10;

pub(crate) fn run(args: &ChangesArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| changes(args, lifecycle, id))
}

fn changes(args: &ChangesArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id, "diff"])
        .with_some("from", args.from.as_ref())
        .with_some("to", args.to.as_ref());
    let found = ServerConnection::find(&args.ask.reach)?.get(&route)?;
    Ok(print::answer(&found, args.ask.json, |it| print_change(it, args.stat)))
}

fn print_change(diff: &Json, only_figures: bool) {
    let change = diff.get("change").unwrap_or(&Json::Null);
    let (from, to) = (short(text(change, "from")), short(text(change, "to")));
    let head =
        painted_data(styled!("{}/{}  {from}..{to}", text(diff, "lifecycle"), text(diff, "id")), Colour::Bold);
    let runner = Some(text(change, "runner")).filter(|it| !it.is_empty());
    let runner = runner.map(|it| format!(" by {it}")).unwrap_or_default();
    print::line(styled!("{head}  reported {}{runner}", moment(text(change, "at"))));
    let stats = diff.get("stats").unwrap_or(&Json::Null);
    print::line(styled!("{}", figures(number(stats, "files"), stats)));
    if is_true(diff, "truncated") {
        print::line(painted_data("The change is too large to be shown in full.", Colour::Yellow));
    }
    for file in list(diff, "files") {
        print_file(file, only_figures);
    }
    let others = list(diff, "changes");
    if others.len() > 1 {
        print::line("");
        print::line("Reported changes, each shown with --from and --to:");
        print_table(["FROM", "TO", "FILES", "LINES", "AT"], others, |it| {
            [
                short(text(it, "from")),
                short(text(it, "to")),
                number(it, "files").to_string(),
                lines_of(it),
                moment(text(it, "at")),
            ]
        });
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

fn lines_of(it: &Json) -> String {
    format!("+{} -{}", number(it, "additions"), number(it, "deletions"))
}

fn figures(files: u64, it: &Json) -> String {
    format!("{files} {}, {}", if files == 1 { "file" } else { "files" }, lines_of(it))
}

fn print_file(file: &Json, only_figures: bool) {
    let before = Some(text(file, "oldPath")).filter(|it| !it.is_empty());
    let before = before.map(|it| format!("{it} → ")).unwrap_or_default();
    let binary = if is_true(file, "binary") { ", binary" } else { "" };
    let name = painted_data(styled!("{before}{}", text(file, "path")), Colour::Bold);
    let status = text(file, "status");
    if only_figures {
        print::line(styled!("  {name}  {status}{binary}  {}", lines_of(file)));
        return;
    }
    print::line("");
    print::line(styled!("{name}  {status}{binary}  {}", lines_of(file)));
    for hunk in list(file, "hunks") {
        let at = |start: &str, lines: &str| format!("{},{}", number(hunk, start), number(hunk, lines));
        let place = format!("@@ -{} +{} @@", at("oldStart", "oldLines"), at("newStart", "newLines"));
        print::line(styled!("{} {}", painted_data(place, Colour::Cyan), expanded(text(hunk, "header"))));
        for line in list(hunk, "lines") {
            print::line(diff_line(text(line, "kind"), text(line, "text")));
        }
    }
}

fn diff_line(kind: &str, content: &str) -> Styled {
    let content = expanded(content);
    match kind {
        "add" => painted_data(styled!("+{content}"), Colour::Green),
        "delete" => painted_data(styled!("-{content}"), Colour::Red),
        _ => styled!(" {content}"),
    }
}

/// A tab would be printed as an escape.
fn expanded(text: &str) -> String {
    text.replace('\t', "    ")
}
