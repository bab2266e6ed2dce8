//! `trackside correct`: the loud override.

use trackside_protocol::Correct;

use crate::args::CorrectArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print, print_transition, values};

pub(crate) fn run(args: &CorrectArgs) -> u8 {
    let (lifecycle, id) = match print_transition::parse_entity(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.report(),
    };
    refused::finish(
        correct(args, lifecycle, id),
        CommandSubject::entity(lifecycle, id).with_typed(&args.fields),
        args.ask.json,
    )
}

fn correct(args: &CorrectArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let fields = values::to_send(&args.fields)?;
    let body = Correct { to: args.to.clone(), fields, reason: Some(args.reason.clone()) };
    let server = ServerConnection::find(&args.ask.reach)?;
    let route = ApiPath::new(&["entities", lifecycle, id, "correct"]);
    let answer = server.post_with(&route, &body, &super::fire::headers(args.key.as_deref(), None))?;
    super::fire::print_answer(answer.body, args.ask.json)?;
    print::message("an alert was raised");
    Ok(exit::DONE)
}
