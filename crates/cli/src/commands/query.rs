//! `trackside query`: the named questions of a pack.

use serde_json::Value as Json;

use crate::args::QueryArgs;
use crate::folder::CliError;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{list, text, texts, value};
use crate::url::ApiPath;
use crate::{exit, print, print_entry};

pub(crate) fn run(args: &QueryArgs) -> u8 {
    refused::finish(query(args), CommandSubject::default(), args.ask.json)
}

fn query(args: &QueryArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let Some(name) = &args.name else {
        let found = fetch_list(&server, &ApiPath::new(&["queries", &args.pack]), ListSize::All)?.to_json();
        match args.ask.json {
            true => print::line(&format!("{found:#}")),
            false => tell_queries(&found, &args.pack),
        }
        return Ok(exit::DONE);
    };
    let mut route = ApiPath::new(&["queries", &args.pack, name]);
    for typed in &args.asked {
        let Some((name, asked)) = typed.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(CliError::usage(format!("{typed}: write parameters as name=value")).into());
        };
        route = route.with(name, asked);
    }
    let found = server.get(&route)?;
    match args.ask.json {
        true => print::line(&format!("{found:#}")),
        false => print_answer(&found),
    }
    Ok(exit::DONE)
}

fn tell_queries(found: &Json, pack: &str) {
    let all = list(found, "items");
    if all.is_empty() {
        print::message(&format!("{pack} has no named queries. List entities with: trackside list LIFECYCLE"));
        return;
    }
    let mut table = TextTable::new(&["QUERY", "OF", "TAKES", "ABOUT"]);
    for it in all {
        let takes = texts(it, "takes").join(", ");
        let takes = if takes.is_empty() { "-".to_owned() } else { takes };
        let (name, of, about) = (text(it, "name"), text(it, "of"), text(it, "about"));
        table.row([name.to_owned(), of.to_owned(), takes, about.to_owned()]);
    }
    table.show();
}

fn print_answer(found: &Json) {
    let Some(all) = found.get("items").and_then(Json::as_array) else {
        for (name, it) in found.as_object().into_iter().flatten() {
            print::line(&format!("{name}: {}", value(it)));
        }
        return;
    };
    match all.first() {
        None => print::message("no results"),
        Some(first) if first.get("seq").is_some() => {
            all.iter().for_each(|it| print::line(&print_entry::line(it, true)));
        }
        Some(_) => super::list::print_answer(all),
    }
}
