//! `trackside correct`: the loud override.

use trackside_protocol::Correct;

use crate::args::CorrectArgs;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, moved, print, values};

pub(crate) fn run(args: &CorrectArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(correct(args, lifecycle, id), About::entity(lifecycle, id), args.ask.json)
}

fn correct(args: &CorrectArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let fields = values::to_send(&args.fields)?;
    let body = Correct { to: args.to.clone(), fields, reason: Some(args.reason.clone()) };
    let server = Server::find(&args.ask.reach)?;
    let route = Route::new(&["entities", lifecycle, id, "correct"]);
    let told = server.post_with(&route, &body, &super::fire::headers(args.key.as_deref(), None))?;
    super::fire::tell(told.body, args.ask.json)?;
    print::message("an alert was raised, so that people know");
    Ok(exit::DONE)
}
