//! `trackside lifecycles`: the definitions in force.

use serde_json::Value as Json;

use crate::args::LifecyclesArgs;
use crate::exit;
use crate::paging::{ListSize, fetch_list};
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{list, text, texts};
use crate::url::ApiPath;

pub(crate) fn run(args: &LifecyclesArgs) -> u8 {
    refused::finish(lifecycles(args), CommandSubject::default(), args.ask.json)
}

fn lifecycles(args: &LifecyclesArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let found = match &args.lifecycle {
        Some(lifecycle) => server.get(&ApiPath::new(&["lifecycles", lifecycle]))?,
        None => fetch_list(&server, &ApiPath::new(&["lifecycles"]), ListSize::All)?.to_json(),
    };
    match (args.ask.json, &args.lifecycle) {
        (true, _) => print::line(&format!("{found:#}")),
        (false, None) => print_answer(&found),
        (false, Some(_)) => tell_one(&found),
    }
    Ok(exit::DONE)
}

fn print_answer(found: &Json) {
    let mut table = TextTable::new(&["LIFECYCLE", "VERSION", "STATES", "ABOUT"]);
    for it in list(found, "items") {
        table.row([
            text(it, "lifecycle").to_owned(),
            version(it),
            texts(it, "states").len().to_string(),
            text(it, "about").to_owned(),
        ]);
    }
    table.show();
}

fn version(it: &Json) -> String {
    it.get("version").and_then(Json::as_u64).unwrap_or_default().to_string()
}

fn tell_one(it: &Json) {
    let name = painted_data(text(it, "lifecycle"), Colour::Bold);
    print::line(format!("{name} {}  {}", version(it), text(it, "about")).trim_end());
    print::line(&format!("begins: {}", text(it, "initial")));
    print::line(&format!("states: {}", texts(it, "states").join(", ")));
    let edges = it.get("definition").map(|it| list(it, "edges")).unwrap_or_default();
    let mut rows: Vec<([&str; 3], Vec<&str>)> = Vec::new();
    for edge in edges.iter().filter(|it| !text(it, "transition").is_empty()) {
        let (way, from) = (["transition", "to", "who"].map(|name| text(edge, name)), text(edge, "from"));
        match rows.iter_mut().find(|(it, _)| *it == way) {
            Some((_, all)) if all.contains(&from) => {}
            Some((_, all)) => all.push(from),
            None => rows.push((way, vec![from])),
        }
    }
    let mut table = TextTable::new(&["EVENT", "TO", "WHO MAY", "FROM"]);
    for ([event, to, who], from) in rows {
        table.row([event.to_owned(), to.to_owned(), who.to_owned(), from.join(", ")]);
    }
    table.show();
}
