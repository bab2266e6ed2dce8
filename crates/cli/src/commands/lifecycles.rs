//! `trackside lifecycles`: the definitions in force.

use serde_json::Value as Json;

use crate::args::LifecyclesArgs;
use crate::paging::{ListSize, fetch_list};
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list, number, text, texts};
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
    let show = if args.lifecycle.is_some() { tell_one } else { print_answer };
    Ok(print::answer(&found, args.ask.json, show))
}

fn print_answer(found: &Json) {
    print_table(["LIFECYCLE", "VERSION", "STATES", "ABOUT"], list(found, "items"), |it| {
        [
            text(it, "lifecycle").to_owned(),
            number(it, "version").to_string(),
            texts(it, "states").len().to_string(),
            text(it, "about").to_owned(),
        ]
    });
}

fn tell_one(it: &Json) {
    let name = painted_data(text(it, "lifecycle"), Colour::Bold);
    let about = match text(it, "about") {
        "" => String::new(),
        about => format!("  {about}"),
    };
    print::line(styled!("{name} {}{about}", number(it, "version")));
    print::line(styled!("begins: {}", text(it, "initial")));
    print::line(styled!("states: {}", texts(it, "states").join(", ")));
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
    print_table(["EVENT", "TO", "WHO MAY", "FROM"], rows, |([event, to, who], from)| {
        [event.to_owned(), to.to_owned(), who.to_owned(), from.join(", ")]
    });
}
