//! `trackside delivery`: messages to people, and what became of them.

use trackside_protocol::DeliveryTest;

use crate::args::{DeliveryArgs, DeliveryCommand, DeliveryListArgs, DeliveryTestArgs};
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{is_true, list as listed, moment, moment_at, number, text};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &DeliveryArgs) -> u8 {
    let (outcome, json) = match &args.command {
        DeliveryCommand::List(args) => (list(args), args.list.ask.json),
        DeliveryCommand::Test(args) => (test(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn list(args: &DeliveryListArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["deliveries"]).with_some("state", args.state.as_ref());
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, &args.list.page)?;
    Ok(found.print(args.list.ask.json, "no deliveries", |deliveries| {
        print_table(
            ["IS", "ABOUT", "FOR", "THROUGH", "TRIED", "DUE AT", "SENT AT", "WHY"],
            deliveries,
            |it| {
                [
                    text(it, "state").to_owned(),
                    format!("{}/{}", text(it, "lifecycle"), text(it, "entity")),
                    text(it, "person").to_owned(),
                    format!("{} ({})", text(it, "address"), text(it, "channel")),
                    number(it, "attempts").to_string(),
                    moment(text(it, "dueAt")),
                    moment_at(it, "sentAt"),
                    text(it, "why").to_owned(),
                ]
            },
        );
    }))
}

fn test(args: &DeliveryTestArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let body = DeliveryTest { address: args.address.clone() };
    let answer = server.post(&ApiPath::new(&["audiences", &args.audience, "test"]), &body)?;
    let code = print::answer(&answer, args.ask.json, |answer| {
        print_table(["ADDRESS", "CHANNEL", "RESULT"], listed(answer, "results"), |it| {
            let result = match text(it, "problem") {
                "" => "sent",
                problem => problem,
            };
            [text(it, "address").to_owned(), text(it, "channel").to_owned(), result.to_owned()]
        });
    });
    Ok(if is_true(&answer, "success") { code } else { exit::REFUSED })
}
