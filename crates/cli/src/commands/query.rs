//! `trackside query`: the named questions of a pack.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::args::QueryArgs;
use crate::entity_labels::EntityLabels;
use crate::folder::CliError;
use crate::log_lines::LogLine;
use crate::paging::{self, ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::{print_rows, print_table};
use crate::time_format::{joined, list, text, value};
use crate::url::ApiPath;
use crate::{print, print_entry};

pub(crate) fn run(args: &QueryArgs) -> u8 {
    refused::finish(query(args), CommandSubject::default(), args.ask.json)
}

fn query(args: &QueryArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let Some(name) = &args.name else {
        let found = fetch_list(&server, &ApiPath::new(&["queries", &args.pack]), ListSize::All)?.to_json();
        return Ok(print::answer(&found, args.ask.json, |found| tell_queries(found, &args.pack)));
    };
    let mut route = ApiPath::new(&["queries", &args.pack, name]);
    for typed in &args.asked {
        let Some((name, asked)) = typed.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(CliError::usage(format!("{typed}: write parameters as name=value")).into());
        };
        route = route.with(name, asked);
    }
    match fetch_rows(&server, &route, ListSize::from(&args.page))? {
        QueryAnswer::Values(found) => Ok(print::answer(&found, args.ask.json, print_values)),
        QueryAnswer::Rows { rows, more } => {
            let found = json!({ "items": rows, "nextCursor": more });
            Ok(print::answer(&found, args.ask.json, |_| print_answer(&server, &rows, more.is_some())))
        }
    }
}

/// What a query returned.
enum QueryAnswer {
    Rows { rows: Vec<LogLine>, more: Option<String> },
    Values(Json),
}

/// One answer of the server. The members of a row keep the order that the query declares.
#[derive(Deserialize)]
#[serde(untagged)]
enum QueryPage {
    #[serde(rename_all = "camelCase")]
    Rows {
        items: Vec<LogLine>,
        next_cursor: Option<String>,
    },
    Values(Json),
}

fn fetch_rows(
    server: &ServerConnection,
    route: &ApiPath,
    much: ListSize,
) -> Result<QueryAnswer, RequestError> {
    let (mut rows, mut more) = (Vec::new(), None::<String>);
    loop {
        let size = much.page_size(rows.len());
        let route = route.clone().with_some("limit", size).with_some("cursor", more.as_ref());
        let page = serde_json::from_reader(server.stream(&route)?);
        match page.map_err(|it| CliError::unreachable(format!("The server sent no rows: {it}")))? {
            QueryPage::Values(values) => return Ok(QueryAnswer::Values(values)),
            QueryPage::Rows { items, next_cursor } => {
                rows.extend(items);
                more = next_cursor;
            }
        }
        if more.is_none() || much.is_enough(rows.len()) {
            return Ok(QueryAnswer::Rows { rows, more });
        }
    }
}

fn tell_queries(found: &Json, pack: &str) {
    let all = list(found, "items");
    if all.is_empty() {
        print::message(styled!("{pack} has no named queries. List entities with: trackside list LIFECYCLE"));
        return;
    }
    print_table(["QUERY", "OF", "TAKES", "ABOUT"], all, |it| {
        let (name, of, about) = (text(it, "name"), text(it, "of"), text(it, "about"));
        [name.to_owned(), of.to_owned(), joined(it, "takes"), about.to_owned()]
    });
}

fn print_values(found: &Json) {
    for (name, it) in found.as_object().into_iter().flatten() {
        print::line(styled!("{name}: {}", value(it)));
    }
}

fn print_answer(server: &ServerConnection, rows: &[LogLine], more: bool) {
    let has = |names: &[&str]| rows.first().is_some_and(|it| names.iter().all(|name| it.get(name).is_some()));
    let all = || rows.iter().map(LogLine::to_json);
    if rows.is_empty() {
        print::message("no results");
    } else if has(&["seq", "event", "lifecycle", "id", "timestamp"]) {
        all().for_each(|it| print::line(print_entry::line(&it, true)));
    } else if has(&["lifecycle", "id", "state", "fields"]) {
        let entities: Vec<Json> = all().collect();
        let lifecycle = entities.first().map(|it| text(it, "lifecycle")).unwrap_or_default();
        super::list::print_entities(&entities, &EntityLabels::fetch(server, lifecycle));
    } else {
        print_members(rows);
    }
    if more {
        print::message(paging::more_note(rows.len()));
    }
}

/// Rows in the form that the query declares: a column for each member.
fn print_members(rows: &[LogLine]) {
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(LogLine::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    print_rows(
        &names,
        rows.iter().map(|row| {
            names.iter().map(|it| row.get(it).map_or_else(String::new, value)).collect::<Vec<_>>()
        }),
    );
}
