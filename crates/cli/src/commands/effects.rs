//! `trackside effects`: lists, takes and answers work for the outside.

use serde_json::Value as Json;
use trackside_protocol::{EffectResult, TakeEffects};

use crate::args::{EffectsAnswerArgs, EffectsArgs, EffectsCommand, EffectsListArgs, EffectsTakeArgs};
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list, moment, number, text, value};
use crate::url::ApiPath;
use crate::{exit, print, values};

pub(crate) fn run(args: &EffectsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        EffectsCommand::List(args) => (list_open(args), args.ask.json),
        EffectsCommand::Take(args) => (take(args), args.ask.json),
        EffectsCommand::Answer(args) => (answer(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default().with_options(&["fence"]), json)
}

fn list_open(args: &EffectsListArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["effects"]).with_some("kind", args.kind.as_ref());
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &route, &args.page)?;
    Ok(found.print(args.ask.json, "no open effects", |items| {
        print_table(["ID", "KIND", "ENTITY", "SINCE", "TAKEN BY"], items, |it| {
            let taker = match (text(it, "takenBy"), number(it, "behind")) {
                ("", 0) => "-".to_owned(),
                ("", behind) => format!("- (after {behind})"),
                (taker, _) => format!("{taker} until {}", moment(text(it, "until"))),
            };
            let since = Some(text(it, "since")).filter(|it| !it.is_empty()).map(moment);
            [
                number(it, "id").to_string(),
                text(it, "kind").to_owned(),
                entity_of_effect(it),
                since.unwrap_or_else(|| "-".to_owned()),
                taker,
            ]
        });
    }))
}

fn entity_of_effect(it: &Json) -> String {
    format!("{}/{}", text(it, "lifecycle"), text(it, "entity"))
}

fn take(args: &EffectsTakeArgs) -> Result<u8, RequestError> {
    let body = TakeEffects {
        kind: args.kind.clone(),
        entity: args.entity.clone(),
        lease: args.lease.clone(),
        limit: Some(args.limit),
    };
    let taken = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["effects", "take"]), &body)?;
    let items = list(&taken, "items");
    print::answer(&taken, args.ask.json, |_| items.iter().for_each(print_taken));
    if items.is_empty() {
        print::message("no effect to take");
        return Ok(exit::REFUSED);
    }
    Ok(exit::DONE)
}

fn print_taken(it: &Json) {
    let (id, fence) = (number(it, "id"), number(it, "fence"));
    let until = moment(text(it, "until"));
    print::line(styled!(
        "{id}  {} of {}, fence {fence}, until {until}",
        text(it, "kind"),
        entity_of_effect(it)
    ));
    for (name, given) in it.get("with").and_then(Json::as_object).into_iter().flatten() {
        print::line(styled!("  {name}: {}", value(given)));
    }
    print::message(format!("answer with: trackside effects answer {id} --fence {fence}"));
}

fn answer(args: &EffectsAnswerArgs) -> Result<u8, RequestError> {
    let body = EffectResult { ok: !args.failed, detail: values::to_send(&args.detail)?, fence: args.fence };
    let route = ApiPath::new(&["effects", &args.id, "result"]);
    let server = ServerConnection::find(&args.ask.reach)?;
    let settled = server.post_with(&route, &body, &super::fire::headers(args.key.as_deref(), None))?;
    Ok(print::answer(&settled.body, args.ask.json, |_| {
        let how = if args.failed { "failed" } else { "succeeded" };
        print::message(styled!("effect {}: recorded that it {how}", args.id));
    }))
}
