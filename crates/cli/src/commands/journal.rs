//! `trackside journal`: everything that happened, in order.

use serde_json::Value as Json;

use crate::args::JournalArgs;
use crate::feed::{self, Heard, Wanted};
use crate::listed::{Much, listed};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{entry, exit, print};

pub(crate) fn run(args: &JournalArgs) -> u8 {
    refused::ended(journal(args), About::default(), args.ask.json)
}

fn journal(args: &JournalArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let show = |it: &Json| match args.ask.json {
        true => print::line(&it.to_string()),
        false => print::line(&entry::line(it, true)),
    };
    if args.follow {
        let wanted = Wanted { after: args.after, everything: true, ..Wanted::default() };
        feed::follow(&server, wanted, &mut |heard| match heard {
            Heard::Entry(it) => {
                show(&it);
                print::is_read()
            }
            Heard::Away => {
                print::message("the server went away: trying again");
                true
            }
        })?;
        return Ok(exit::DONE);
    }
    let route = Route::new(&["journal"]).with_some("after", args.after);
    let much = Much::new(args.limit.map(|it| it as usize), args.all);
    let found = listed(&server, &route, much)?;
    found.items.iter().for_each(show);
    if let Some(more) = &found.more {
        print::message(&format!("It goes on: trackside journal --after {more}, or --all"));
    }
    Ok(exit::DONE)
}
