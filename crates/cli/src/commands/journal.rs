//! `trackside journal`: all entries, in order.

use serde_json::Value as Json;

use crate::args::{EntryForm, JournalArgs};
use crate::feed::{self, FeedEvent, FeedFilter};
use crate::log_lines::print_lines;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print, print_entry};

pub(crate) fn run(args: &JournalArgs) -> u8 {
    refused::finish(journal(args), CommandSubject::default(), args.ask.json)
}

fn journal(args: &JournalArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let show = |it: &Json| match args.ask.json {
        true => print::json_line(it),
        false => print::line(print_entry::line(it, true)),
    };
    if args.follow {
        let log_lines = args.form == Some(EntryForm::Pack);
        let wanted = FeedFilter { after: args.after, everything: true, log_lines, ..FeedFilter::default() };
        feed::follow(&server, wanted, &mut |event| match event {
            FeedEvent::Entry(it) => {
                show(&it);
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
        })?;
        return Ok(exit::DONE);
    }
    let route = ApiPath::new(&["journal"]).with_some("after", args.after);
    if args.form == Some(EntryForm::Pack) {
        return print_lines(&server, &route, ListSize::from(&args.page));
    }
    let found = fetch_list(&server, &route, &args.page)?;
    found.items.iter().for_each(show);
    if let Some(more) = &found.more {
        print::message(styled!("More entries: trackside journal --after {more}, or --all"));
    }
    Ok(exit::DONE)
}
