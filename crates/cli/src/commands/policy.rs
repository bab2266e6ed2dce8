//! `trackside policy`: what the risk policy says about an action.

use serde_json::Value as Json;
use trackside_protocol::Evaluate;

use crate::args::PolicyArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::text;
use crate::url::ApiPath;
use crate::{exit, print, values};

pub(crate) fn run(args: &PolicyArgs) -> u8 {
    refused::finish(evaluate(args), CommandSubject::default(), args.ask.json)
}

fn evaluate(args: &PolicyArgs) -> Result<u8, RequestError> {
    let body = Evaluate {
        action: args.action.clone(),
        arguments: Json::Object(values::to_send(&args.arguments)?),
        role: args.role.clone(),
        pack: args.pack.clone(),
        entity: args.entity.clone(),
    };
    let answer =
        ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["policy", "evaluate"]), &body)?;
    let outcome = text(&answer, "outcome");
    print::answer(&answer, args.ask.json, |it| {
        let says = match outcome {
            "allow" => "allowed",
            "approve" => "needs an approval",
            _ => "denied",
        };
        print::line(styled!("{says} ({}): {}", text(it, "level"), text(it, "why")));
    });
    Ok(if outcome == "allow" { exit::DONE } else { exit::REFUSED })
}
