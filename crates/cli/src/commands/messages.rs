//! `trackside messages`: the messages of an entity.

use serde_json::Value as Json;

use crate::args::MessagesArgs;
use crate::paging::fetch_list;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;
use crate::{print, refused};

pub(crate) fn run(args: &MessagesArgs) -> u8 {
    refused::finish_entity(&args.entity, args.list.ask.json, |lifecycle, id| messages(args, lifecycle, id))
}

fn messages(args: &MessagesArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id, "messages"]);
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, &args.list.page)?;
    Ok(found.print(args.list.ask.json, &format!("no messages for {}", args.entity), show))
}

fn show(messages: &[Json]) {
    for it in messages {
        let to = texts(it, "to");
        let to = if to.is_empty() { String::new() } else { format!(" to {}", to.join(", ")) };
        print::line(styled!("{}  {} by {}{to}", moment(text(it, "at")), text(it, "kind"), text(it, "from")));
        text(it, "text").lines().for_each(|line| print::line(styled!("  {line}")));
    }
}
