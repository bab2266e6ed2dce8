//! `trackside notifications`: notifications and their recipients.

use serde_json::Value as Json;

use crate::args::NotificationsArgs;
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{entity_of, joined, moment, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &NotificationsArgs) -> u8 {
    refused::finish(notifications(args), CommandSubject::default(), args.list.ask.json)
}

fn notifications(args: &NotificationsArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["notifications"])
        .with_some("audience", args.audience.as_ref())
        .with_some("to", args.to.as_ref());
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, &args.list.page)?;
    Ok(found.print(args.list.ask.json, "no notifications", show))
}

fn show(notifications: &[Json]) {
    print_table(["SINCE", "OF", "AUDIENCE", "TO", "SAYS"], notifications, |it| {
        [
            moment(text(it, "since")),
            entity_of(it),
            text(it, "audience").to_owned(),
            joined(it, "to"),
            text(it, "message").to_owned(),
        ]
    });
}
