//! `trackside claim`: claims the next entity for the caller.

use serde_json::Value as Json;
use trackside_protocol::ClaimBody;

use crate::args::ClaimArgs;
use crate::change_waiter::ChangeWaiter;
use crate::field_types::FieldTypes;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print, values};

pub(crate) fn run(args: &ClaimArgs) -> u8 {
    let (_, typed) = super::fire::words(args.event.as_deref(), &args.fields);
    let outcome = claim(args);
    let types = FieldTypes::for_hints(&outcome, &args.ask.reach, &args.lifecycle);
    let about = CommandSubject::lifecycle(&args.lifecycle).with_typed(&typed).with_types(&types);
    refused::finish(outcome, about, args.ask.json)
}

fn claim(args: &ClaimArgs) -> Result<u8, RequestError> {
    let (event, fields) = super::fire::words(args.event.as_deref(), &args.fields);
    let body = ClaimBody {
        event,
        only: args.only.clone(),
        fields: values::to_send(&fields)?,
        reason: args.reason.clone(),
    };
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = ApiPath::new(&["entities", &args.lifecycle, "claim"]);
    let headers = super::fire::headers(args.count.key.as_deref(), None);
    let waiter = args.wait.map(|it| ChangeWaiter::new(&server, &args.lifecycle, it));
    let mut answer = server.post_with(&route, &body, &headers)?;
    if let Some(waiter) = &waiter {
        while answer.status == 204 && waiter.next()? {
            answer = server.post_with(&route, &body, &headers)?;
        }
    }
    if answer.status == 204 {
        if args.ask.json {
            print::line(Json::Null.to_string());
        }
        print::message(styled!("you cannot claim any {} now", args.lifecycle));
        return Ok(exit::REFUSED);
    }
    super::fire::print_answer(answer.body, args.ask.json)?;
    Ok(exit::DONE)
}
