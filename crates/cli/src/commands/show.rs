//! `trackside show`: one entity.

use serde_json::Value as Json;

use crate::args::ShowArgs;
use crate::moment::{list, moment, seconds, text, texts, value};
use crate::print::{self, Colour, painted_data};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, moved};

pub(crate) fn run(args: &ShowArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(show(args, lifecycle, id), About::entity(lifecycle, id), args.ask.json)
}

fn show(args: &ShowArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let route = Route::new(&["entities", lifecycle, id]).with_some("at", args.at);
    let entity = Server::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref()).get(&route)?;
    match args.ask.json {
        true => print::line(&format!("{entity:#}")),
        false => tell(&entity),
    }
    Ok(exit::DONE)
}

fn tell(entity: &Json) {
    let number = |name: &str| entity.get(name).and_then(Json::as_u64).unwrap_or_default();
    let state = painted_data(text(entity, "state"), Colour::Bold);
    let stay = entity.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
    let before = Some(text(entity, "previousState")).filter(|it| !it.is_empty());
    let before = before.map(|it| format!(", before that {it}")).unwrap_or_default();
    let since = moment(text(entity, "stateEnteredAt"));
    print::line(&format!("{}/{}  {state}", text(entity, "lifecycle"), text(entity, "id")));
    print::line(&format!("  since {since}, for {}{before}", seconds(stay)));
    print::line(&format!(
        "  version {}, definition {}, created {}",
        number("version"),
        number("definition"),
        moment(text(entity, "createdAt"))
    ));
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
        print::line(&format!("  {name:<width$}  {}", value(it)));
    }
    for (title, name) in [("held", "leases"), ("clocks", "timers")] {
        let all = list(entity, name);
        if !all.is_empty() {
            print::line(title);
        }
        for it in all {
            match name {
                "leases" => print::line(&moved::lease_line(it)),
                _ => print::line(&format!("  {} ends at {}", text(it, "name"), moment(text(it, "dueAt")))),
            }
        }
    }
    match texts(entity, "allowedTransitions") {
        some if some.is_empty() && entity.get("final") == Some(&Json::Bool(true)) => {
            print::line("it has ended: nothing leads out of here");
        }
        some if some.is_empty() => print::line("you may not move it from here"),
        some => print::line(&format!("you may move it to {}", some.join(", "))),
    }
}

/// Whether a value tells more than that there is none.
pub(super) fn says_something(it: &Json) -> bool {
    match it {
        Json::Null => false,
        Json::String(text) => !text.is_empty(),
        Json::Array(some) => !some.is_empty(),
        Json::Object(some) => some.values().any(says_something),
        Json::Bool(_) | Json::Number(_) => true,
    }
}
