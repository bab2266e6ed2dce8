//! `trackside messages`: the messages of an entity.

use crate::args::MessagesArgs;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;
use crate::{exit, print, print_transition};

pub(crate) fn run(args: &MessagesArgs) -> u8 {
    let (lifecycle, id) = match print_transition::parse_entity(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.report(),
    };
    refused::finish(messages(args, lifecycle, id), CommandSubject::entity(lifecycle, id), args.list.ask.json)
}

fn messages(args: &MessagesArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let much = ListSize::new(args.list.limit.map(|it| it as usize), args.list.all);
    let route = ApiPath::new(&["entities", lifecycle, id, "messages"]);
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message(&format!("no messages for {}", args.entity));
        return Ok(exit::DONE);
    }
    for it in &found.items {
        let to = texts(it, "to");
        let to = if to.is_empty() { String::new() } else { format!(" to {}", to.join(", ")) };
        print::line(&format!("{}  {} by {}{to}", moment(text(it, "at")), text(it, "kind"), text(it, "from")));
        text(it, "text").lines().for_each(|line| print::line(&format!("  {line}")));
    }
    found.tell_more();
    Ok(exit::DONE)
}
