//! `trackside watch`: a lifecycle live.

use std::io::IsTerminal;

use crate::args::WatchArgs;
use crate::feed::{self, Heard, Wanted};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{entry, exit, live, print};

pub(crate) fn run(args: &WatchArgs) -> u8 {
    let about = About { lifecycle: args.lifecycle.as_deref(), ..About::default() };
    refused::ended(watch(args), about, args.ask.json)
}

fn watch(args: &WatchArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    if let Some(lifecycle) = &args.lifecycle {
        // A name that is typed wrongly is told at once, and not waited for.
        server.get(&Route::new(&["lifecycles", lifecycle]))?;
    }
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if is_terminal && !args.ask.json {
        live::show(&server, args.lifecycle.as_deref())?;
    } else {
        lines(&server, args)?;
    }
    Ok(exit::DONE)
}

/// Every event as a line.
fn lines(server: &Server, args: &WatchArgs) -> Result<(), Unanswered> {
    let wanted = Wanted { lifecycle: args.lifecycle.clone(), ..Wanted::default() };
    feed::follow(server, wanted, &mut |heard| match heard {
        Heard::Entry(it) => {
            match args.ask.json {
                true => print::line(&it.to_string()),
                false => print::line(&entry::line(&it, true)),
            }
            print::is_read()
        }
        Heard::Away => {
            print::message("the server went away: trying again");
            true
        }
    })
}
