//! `trackside new`: an entity is created.

use trackside_protocol::Create;

use crate::args::NewArgs;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, values};

pub(crate) fn run(args: &NewArgs) -> u8 {
    let outcome = create(args);
    // Where nothing was created there is nothing to look at, but for the one that has the id already.
    let there = matches!(&outcome, Err(Unanswered::Refused(it)) if it.code == "already-exists");
    let about = About { id: args.id.as_deref().filter(|_| there), ..About::lifecycle(&args.lifecycle) };
    refused::ended(outcome, about, args.ask.json)
}

fn create(args: &NewArgs) -> Result<u8, Unanswered> {
    let body = Create { id: args.id.clone(), fields: values::to_send(&args.fields)? };
    let server = Server::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = Route::new(&["entities", &args.lifecycle]);
    let route = route.with_some("dryRun", args.dry_run.then_some(true));
    let told = server.post_with(&route, &body, &super::fire::headers(args.count.key.as_deref(), None))?;
    super::fire::tell(told.body, args.ask.json)?;
    Ok(exit::DONE)
}
