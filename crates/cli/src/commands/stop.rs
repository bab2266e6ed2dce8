//! `trackside stop`: asks the runner to end a run.

use serde_json::json;

use crate::args::StopArgs;
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::text;
use crate::url::ApiPath;

pub(crate) fn run(args: &StopArgs) -> u8 {
    let about = CommandSubject::entity("fleet.run", &args.run).with_options(&["reason"]);
    refused::finish(stop(args), about, args.ask.json)
}

fn stop(args: &StopArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let answer = stop_run(&server, &args.run, args.reason.as_deref())?;
    Ok(print::answer(&answer, args.ask.json, |answer| {
        print::message(styled!("run {} is {}", args.run, text(answer, "state")));
    }))
}

/// Asks for the end of a run. Returns its record.
pub(super) fn stop_run(
    server: &ServerConnection,
    run: &str,
    reason: Option<&str>,
) -> Result<serde_json::Value, RequestError> {
    let body = reason.map_or_else(|| json!({}), |it| json!({ "reason": it }));
    server.post(&ApiPath::new(&["runs", run, "stop"]), &body)
}
