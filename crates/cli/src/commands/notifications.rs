//! `trackside notifications`: notifications and their recipients.

use crate::args::NotificationsArgs;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &NotificationsArgs) -> u8 {
    refused::finish(notifications(args), CommandSubject::default(), args.list.ask.json)
}

fn notifications(args: &NotificationsArgs) -> Result<u8, RequestError> {
    let much = ListSize::new(args.list.limit.map(|it| it as usize), args.list.all);
    let route = ApiPath::new(&["notifications"])
        .with_some("audience", args.audience.as_ref())
        .with_some("to", args.to.as_ref());
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("no notifications");
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["SINCE", "OF", "AUDIENCE", "TO", "SAYS"]);
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
