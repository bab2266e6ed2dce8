//! `trackside alerts`: what was raised for people to look at.

use crate::args::NoticesArgs;
use crate::listed::{Much, listed};
use crate::moment::{moment, text};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, print};

pub(crate) fn run(args: &NoticesArgs) -> u8 {
    refused::ended(alerts(args), About::default(), args.ask.json)
}

fn alerts(args: &NoticesArgs) -> Result<u8, Unanswered> {
    let much = Much::new(args.limit.map(|it| it as usize), args.all);
    let found = listed(&Server::find(&args.ask.reach)?, &Route::new(&["alerts"]), much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("there are no alerts");
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["SINCE", "SEVERITY", "KIND", "OF", "SAYS"]);
    for it in &found.items {
        table.row([
            moment(text(it, "since")),
            text(it, "severity").to_owned(),
            text(it, "kind").to_owned(),
            format!("{}/{}", text(it, "lifecycle"), text(it, "id")),
            text(it, "message").to_owned(),
        ]);
    }
    table.show();
    found.tell_more();
    Ok(exit::DONE)
}
