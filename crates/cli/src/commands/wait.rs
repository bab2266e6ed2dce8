//! `trackside wait`: waits until an entity changes its state.

use serde_json::Value as Json;

use crate::args::WaitArgs;
use crate::change_waiter::ChangeWaiter;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{is_true, text};
use crate::url::ApiPath;
use crate::{exit, print, refused};

pub(crate) fn run(args: &WaitArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| wait(args, lifecycle, id))
}

fn wait(args: &WaitArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref());
    let route = ApiPath::new(&["entities", lifecycle, id]);
    let waiter = ChangeWaiter::new(&server, lifecycle, args.timeout);
    let mut entity = server.get(&route)?;
    let left = text(&entity, "state").to_owned();
    let is_reached = |it: &Json| match &args.state {
        Some(states) => states.split(',').any(|state| state.trim() == text(it, "state")),
        None => text(it, "state") != left,
    };
    while !is_reached(&entity) && !is_true(&entity, "final") && waiter.next()? {
        entity = server.get(&route)?;
    }
    let reached = is_reached(&entity);
    print::answer(&entity, args.ask.json, |it| {
        print::line(styled!("{} is {}", args.entity, text(it, "state")))
    });
    if !reached {
        let why = if is_true(&entity, "final") { "it has ended" } else { "the time has run out" };
        print::message(styled!(
            "{} is not there: {why}",
            args.state.as_deref().unwrap_or("a change of state")
        ));
    }
    Ok(if reached { exit::DONE } else { exit::REFUSED })
}
