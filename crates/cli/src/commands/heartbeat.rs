//! `trackside heartbeat`: the holder of a lease is still there.

use serde_json::Value as Json;
use trackside_protocol::HeartbeatBody;

use crate::args::HeartbeatArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, moment, text, value};
use crate::url::ApiPath;
use crate::{print, print_transition};

pub(crate) fn run(args: &HeartbeatArgs) -> u8 {
    let (lifecycle, id) = match print_transition::parse_entity(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.report(),
    };
    let about = CommandSubject::entity(lifecycle, id).with_options(&["slot", "fence"]);
    refused::finish(beat(args, lifecycle, id), about, args.ask.json)
}

fn beat(args: &HeartbeatArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.on_behalf.as_deref());
    let body = HeartbeatBody { slot: args.slot.clone(), fence: args.fence };
    let answer = server.post(&ApiPath::new(&["entities", lifecycle, id, "heartbeat"]), &body)?;
    Ok(print::answer(&answer, args.ask.json, |answer| {
        let fence =
            answer.get("fence").and_then(Json::as_u64).map(|it| format!(", fence {it}")).unwrap_or_default();
        print::line(styled!("{} is yours until {}{fence}", args.entity, moment(text(answer, "expiresAt"))));
        if let Some(why) = answer.pointer("/stop/why") {
            print::line(styled!("stop: {}", value(why)));
        }
        for notice in list(answer, "notices") {
            print::line(styled!("notice: {}", value(notice)));
        }
    }))
}
