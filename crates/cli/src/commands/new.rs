//! `trackside new`: creates an entity.

use trackside_engine::refusal::Code;
use trackside_protocol::CreateBody;

use crate::args::NewArgs;
use crate::field_types::FieldTypes;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, values};

pub(crate) fn run(args: &NewArgs) -> u8 {
    let outcome = create(args);
    // A failed creation leaves nothing to show, unless an entity already has the id.
    let there = matches!(&outcome, Err(RequestError::Refused(it)) if it.has_code(Code::AlreadyExists));
    let types = FieldTypes::for_hints(&outcome, &args.ask.reach, &args.lifecycle);
    let about = CommandSubject {
        id: args.id.as_deref().filter(|_| there),
        ..CommandSubject::lifecycle(&args.lifecycle).with_typed(&args.fields).with_types(&types)
    };
    refused::finish(outcome, about, args.ask.json)
}

fn create(args: &NewArgs) -> Result<u8, RequestError> {
    let body = CreateBody { id: args.id.clone(), fields: values::to_send(&args.fields)? };
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = ApiPath::new(&["entities", &args.lifecycle]);
    let route = route.with_some("dryRun", args.dry_run.then_some(true));
    let answer = server.post_with(&route, &body, &super::fire::headers(args.count.key.as_deref(), None))?;
    super::fire::print_answer(answer.body, args.ask.json)?;
    Ok(exit::DONE)
}
