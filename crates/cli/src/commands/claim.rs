//! `trackside claim`: the next one that can be claimed becomes the caller's.

use serde_json::Value as Json;
use trackside_protocol::Claim;

use crate::args::ClaimArgs;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, print, values};

pub(crate) fn run(args: &ClaimArgs) -> u8 {
    refused::ended(claim(args), About::lifecycle(&args.lifecycle), args.ask.json)
}

fn claim(args: &ClaimArgs) -> Result<u8, Unanswered> {
    let (event, fields) = super::fire::words(args.event.as_deref(), &args.fields);
    let body = Claim {
        event,
        only: args.only.clone(),
        fields: values::to_send(&fields)?,
        reason: args.reason.clone(),
    };
    let server = Server::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = Route::new(&["entities", &args.lifecycle, "claim"]);
    let told = server.post_with(&route, &body, &super::fire::headers(args.count.key.as_deref(), None))?;
    if told.status == 204 {
        if args.ask.json {
            print::line(&Json::Null.to_string());
        }
        print::message(&format!("nothing of {} can be claimed by you now", args.lifecycle));
        return Ok(exit::REFUSED);
    }
    super::fire::tell(told.body, args.ask.json)?;
    Ok(exit::DONE)
}
