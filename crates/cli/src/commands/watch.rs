//! `trackside watch`: a lifecycle live.

use std::io::IsTerminal;

use crate::args::WatchArgs;
use crate::feed::{self, FeedEvent, FeedFilter};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, live, print, print_entry};

pub(crate) fn run(args: &WatchArgs) -> u8 {
    let about = CommandSubject { lifecycle: args.lifecycle.as_deref(), ..CommandSubject::default() };
    refused::finish(watch(args), about, args.ask.json)
}

fn watch(args: &WatchArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    if let Some(lifecycle) = &args.lifecycle {
        // Report an unknown lifecycle at once instead of waiting for its events.
        server.get(&ApiPath::new(&["lifecycles", lifecycle]))?;
    }
    let is_terminal = print::is_terminal() && std::io::stdin().is_terminal();
    if is_terminal && !args.ask.json {
        live::show(&server, args.lifecycle.as_deref())?;
    } else {
        lines(&server, args)?;
    }
    Ok(exit::DONE)
}

/// Every event as a line.
fn lines(server: &ServerConnection, args: &WatchArgs) -> Result<(), RequestError> {
    let wanted = FeedFilter { lifecycle: args.lifecycle.clone(), ..FeedFilter::default() };
    feed::follow(server, wanted, &mut |event| match event {
        FeedEvent::Entry(it) => {
            match args.ask.json {
                true => print::json_line(&it),
                false => print::line(print_entry::line(&it, true)),
            }
            print::is_read()
        }
        FeedEvent::Line(it) => {
            print::line(&it);
            print::is_read()
        }
        FeedEvent::Disconnected => {
            print::message("lost the connection to the server: reconnecting");
            true
        }
    })
}
