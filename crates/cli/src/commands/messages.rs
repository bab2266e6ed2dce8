//! `trackside messages`: what was said about an entity.

use crate::args::MessagesArgs;
use crate::listed::{Much, listed};
use crate::moment::{moment, text, texts};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, moved, print};

pub(crate) fn run(args: &MessagesArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(messages(args, lifecycle, id), About::entity(lifecycle, id), args.list.ask.json)
}

fn messages(args: &MessagesArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let much = Much::new(args.list.limit.map(|it| it as usize), args.list.all);
    let route = Route::new(&["entities", lifecycle, id, "messages"]);
    let found = listed(&Server::find(&args.list.ask.reach)?, &route, much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message(&format!("nothing was said about {}", args.entity));
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
