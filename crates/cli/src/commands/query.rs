//! `trackside query`: the named questions of a pack.

use serde_json::Value as Json;

use crate::args::QueryArgs;
use crate::folder::Stopped;
use crate::listed::{Much, listed};
use crate::moment::{list, text, texts, value};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{entry, exit, print};

pub(crate) fn run(args: &QueryArgs) -> u8 {
    refused::ended(query(args), About::default(), args.ask.json)
}

fn query(args: &QueryArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let Some(name) = &args.name else {
        let found = listed(&server, &Route::new(&["queries", &args.pack]), Much::All)?.to_json();
        match args.ask.json {
            true => print::line(&format!("{found:#}")),
            false => tell_queries(&found, &args.pack),
        }
        return Ok(exit::DONE);
    };
    let mut route = Route::new(&["queries", &args.pack, name]);
    for typed in &args.asked {
        let Some((name, asked)) = typed.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Stopped::usage(format!("{typed}: write what it takes as name=value")).into());
        };
        route = route.with(name, asked);
    }
    let found = server.get(&route)?;
    match args.ask.json {
        true => print::line(&format!("{found:#}")),
        false => tell(&found),
    }
    Ok(exit::DONE)
}

fn tell_queries(found: &Json, pack: &str) {
    let all = list(found, "items");
    if all.is_empty() {
        print::message(&format!("{pack} has no named queries: trackside list shows entities"));
        return;
    }
    let mut table = Table::new(&["QUERY", "OF", "TAKES", "ABOUT"]);
    for it in all {
        let takes = texts(it, "takes").join(", ");
        let takes = if takes.is_empty() { "-".to_owned() } else { takes };
        let (name, of, about) = (text(it, "name"), text(it, "of"), text(it, "about"));
        table.row([name.to_owned(), of.to_owned(), takes, about.to_owned()]);
    }
    table.show();
}

fn tell(found: &Json) {
    let Some(all) = found.get("items").and_then(Json::as_array) else {
        for (name, it) in found.as_object().into_iter().flatten() {
            print::line(&format!("{name}: {}", value(it)));
        }
        return;
    };
    match all.first() {
        None => print::message("there is none"),
        Some(first) if first.get("seq").is_some() => {
            all.iter().for_each(|it| print::line(&entry::line(it, true)));
        }
        Some(_) => super::list::tell(all),
    }
}
