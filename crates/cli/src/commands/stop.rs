//! `trackside stop`: asks the runner to end a run.

use serde::Deserialize as _;
use serde_json::Value as Json;
use trackside_protocol::{MovedReply, StopRun};

use crate::args::StopArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{print, print_transition};

pub(crate) fn run(args: &StopArgs) -> u8 {
    let about = CommandSubject::entity("fleet.run", &args.run).with_options(&["reason"]);
    refused::finish(stop(args), about, args.ask.json)
}

fn stop(args: &StopArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let answer = stop_run(&server, &args.run, args.reason.as_deref())?;
    Ok(print::answer(&answer, args.ask.json, |answer| match MovedReply::deserialize(answer) {
        Ok(moved) => print_transition::print(&moved),
        Err(_) => print::message("the run will be stopped"),
    }))
}

/// Asks for the end of a run.
pub(super) fn stop_run(
    server: &ServerConnection,
    run: &str,
    reason: Option<&str>,
) -> Result<Json, RequestError> {
    let body = StopRun { reason: reason.map(str::to_owned) };
    server.post(&ApiPath::new(&["runs", run, "stop"]), &body)
}
