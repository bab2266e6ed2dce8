//! `trackside lifecycles`: the definitions in force.

use serde_json::Value as Json;

use crate::args::LifecyclesArgs;
use crate::exit;
use crate::listed::{Much, listed};
use crate::moment::{list, text, texts};
use crate::print::{self, Colour, painted_data};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;

pub(crate) fn run(args: &LifecyclesArgs) -> u8 {
    refused::ended(lifecycles(args), About::default(), args.ask.json)
}

fn lifecycles(args: &LifecyclesArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let found = match &args.lifecycle {
        Some(lifecycle) => server.get(&Route::new(&["lifecycles", lifecycle]))?,
        None => listed(&server, &Route::new(&["lifecycles"]), Much::All)?.to_json(),
    };
    match (args.ask.json, &args.lifecycle) {
        (true, _) => print::line(&format!("{found:#}")),
        (false, None) => tell(&found),
        (false, Some(_)) => tell_one(&found),
    }
    Ok(exit::DONE)
}

fn tell(found: &Json) {
    let mut table = Table::new(&["LIFECYCLE", "VERSION", "STATES", "ABOUT"]);
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
    let mut table = Table::new(&["EVENT", "TO", "WHO MAY", "FROM"]);
    for ([event, to, who], from) in rows {
        table.row([event.to_owned(), to.to_owned(), who.to_owned(), from.join(", ")]);
    }
    table.show();
}
