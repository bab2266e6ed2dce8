//! `trackside show`: one entity.

use serde_json::Value as Json;

use crate::args::ShowArgs;
use crate::print::{self, Colour, painted_data};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{
    entity_of, is_true, list, moment, number, says_something, seconds, text, texts, value,
};
use crate::url::ApiPath;
use crate::{entity_labels, print_transition, refused};

pub(crate) fn run(args: &ShowArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| show(args, lifecycle, id))
}

fn show(args: &ShowArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id]).with_some("at", args.at);
    let entity =
        ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref()).get(&route)?;
    Ok(print::answer(&entity, args.ask.json, print_answer))
}

fn print_answer(entity: &Json) {
    let state = painted_data(text(entity, "state"), Colour::Bold);
    let stay = entity.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
    let before = Some(text(entity, "previousState")).filter(|it| !it.is_empty());
    let before = before.map(|it| format!(", before that {it}")).unwrap_or_default();
    let since = moment(text(entity, "stateEnteredAt"));
    print::line(styled!("{}  {state}", entity_of(entity)));
    print::line(styled!("  since {since}, for {}{before}", seconds(stay)));
    let generation = number(entity, "generation");
    let life = if generation > 1 { format!("life {generation}, ") } else { String::new() };
    print::line(styled!(
        "  {life}version {}, definition {}, created {}",
        number(entity, "version"),
        number(entity, "definition"),
        moment(text(entity, "createdAt"))
    ));
    let file = text(entity, "archiveFile");
    if !file.is_empty() {
        print::line(styled!("  archived in {file}"));
    }
    let fields: Vec<(&String, &Json)> = entity
        .get("fields")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, it)| says_something(it))
        .collect();
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    if !fields.is_empty() {
        print::line("fields");
    }
    for (name, it) in fields {
        print::line(styled!("  {name:<width$}  {}", value(it)));
    }
    let counters: Vec<(&String, &Json)> = entity_labels::counters(entity).collect();
    let width = counters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    if !counters.is_empty() {
        print::line("counters");
    }
    for (name, it) in counters {
        print::line(styled!("  {name:<width$}  {}", entity_labels::counter_values(it)));
    }
    for (title, name) in [("held", "leases"), ("clocks", "timers")] {
        let all = list(entity, name);
        if !all.is_empty() {
            print::line(title);
        }
        for it in all {
            match name {
                "leases" => print::line(print_transition::lease_line(it)),
                _ if is_true(it, "paused") => print::line(styled!("  {} is paused", text(it, "name"))),
                _ => print::line(styled!("  {} ends at {}", text(it, "name"), moment(text(it, "dueAt")))),
            }
        }
    }
    match texts(entity, "allowedTransitions") {
        some if some.is_empty() && is_true(entity, "final") => {
            print::line("final state: no transition leads out of it");
        }
        some if some.is_empty() => print::line("you cannot move it from here"),
        some => print::line(print_transition::targets(&some)),
    }
}
