//! `trackside notifications`: what was told to whom.

use crate::args::NotificationsArgs;
use crate::listed::{Much, listed};
use crate::moment::{moment, text, texts};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, print};

pub(crate) fn run(args: &NotificationsArgs) -> u8 {
    refused::ended(notifications(args), About::default(), args.list.ask.json)
}

fn notifications(args: &NotificationsArgs) -> Result<u8, Unanswered> {
    let much = Much::new(args.list.limit.map(|it| it as usize), args.list.all);
    let route = Route::new(&["notifications"])
        .with_some("audience", args.audience.as_ref())
        .with_some("to", args.to.as_ref());
    let found = listed(&Server::find(&args.list.ask.reach)?, &route, much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("nobody was told anything");
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["SINCE", "OF", "AUDIENCE", "TO", "SAYS"]);
    for it in &found.items {
        let to = texts(it, "to");
        table.row([
            moment(text(it, "since")),
            format!("{}/{}", text(it, "lifecycle"), text(it, "id")),
            text(it, "audience").to_owned(),
            if to.is_empty() { "-".to_owned() } else { to.join(", ") },
            text(it, "message").to_owned(),
        ]);
    }
    table.show();
    found.tell_more();
    Ok(exit::DONE)
}
