//! `trackside heartbeat`: the holder of a lease is still there.

use serde_json::Value as Json;
use trackside_protocol::Heartbeat;

use crate::args::HeartbeatArgs;
use crate::moment::{list, moment, text, value};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, moved, print};

pub(crate) fn run(args: &HeartbeatArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    let about = About::entity(lifecycle, id).with_options(&["slot", "fence"]);
    refused::ended(beat(args, lifecycle, id), about, args.ask.json)
}

fn beat(args: &HeartbeatArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?.acting_for(args.on_behalf.as_deref());
    let body = Heartbeat { slot: args.slot.clone(), fence: args.fence };
    let told = server.post(&Route::new(&["entities", lifecycle, id, "heartbeat"]), &body)?;
    if args.ask.json {
        print::line(&format!("{told:#}"));
        return Ok(exit::DONE);
    }
    let fence =
        told.get("fence").and_then(Json::as_u64).map(|it| format!(", fence {it}")).unwrap_or_default();
    print::line(&format!("{} is yours until {}{fence}", args.entity, moment(text(&told, "expiresAt"))));
    if let Some(why) = told.pointer("/stop/why") {
        print::line(&format!("stop: {}", value(why)));
    }
    for notice in list(&told, "notices") {
        print::line(&format!("notice: {}", value(notice)));
    }
    Ok(exit::DONE)
}
