//! `trackside query`: the named questions of a pack.

use serde_json::Value as Json;

use crate::args::QueryArgs;
use crate::folder::CliError;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
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
    Ok(print::answer(&server.get(&route)?, args.ask.json, print_answer))
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

fn print_answer(found: &Json) {
    let Some(all) = found.get("items").and_then(Json::as_array) else {
        for (name, it) in found.as_object().into_iter().flatten() {
            print::line(styled!("{name}: {}", value(it)));
        }
        return;
    };
    match all.first() {
        None => print::message("no results"),
        Some(first) if first.get("seq").is_some() => {
            all.iter().for_each(|it| print::line(print_entry::line(it, true)));
        }
        Some(_) => super::list::print_entities(all),
    }
}
