//! `trackside whoami`: as whom you ask.

use crate::args::WhoamiArgs;
use crate::moment::{moment, text, texts};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, print};

pub(crate) fn run(args: &WhoamiArgs) -> u8 {
    refused::ended(whoami(args), About::default(), args.ask.json)
}

fn whoami(args: &WhoamiArgs) -> Result<u8, Unanswered> {
    let who = Server::find(&args.ask.reach)?.get(&Route::new(&["whoami"]))?;
    if args.ask.json {
        print::line(&format!("{who:#}"));
        return Ok(exit::DONE);
    }
    let roles = texts(&who, "roles");
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    print::line(&format!("{} ({}), {roles}", text(&who, "actor"), text(&who, "kind")));
    let on_behalf = texts(&who, "for");
    if !on_behalf.is_empty() {
        print::line(&format!("may act for {}", on_behalf.join(", ")));
    }
    match text(&who, "expiresAt") {
        "" => {}
        until => print::line(&format!("the token is good until {}", moment(until))),
    }
    Ok(exit::DONE)
}
