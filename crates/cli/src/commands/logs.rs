//! `trackside logs`: what the agent of a run said and did.

use crate::args::LogsArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::transcript_stream::{self, TranscriptEvent};
use crate::{exit, print};

pub(crate) fn run(args: &LogsArgs) -> u8 {
    refused::finish(logs(args), CommandSubject::entity("fleet.run", &args.run), args.ask.json)
}

fn logs(args: &LogsArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let show = |line: &serde_json::Value| {
        if args.ask.json {
            print::json_line(line);
        } else {
            transcript_stream::print_line(line);
        }
        print::is_read()
    };
    if args.follow {
        transcript_stream::follow(&server, &args.run, args.after, &mut |event| match event {
            TranscriptEvent::Line(line) => show(&line),
            TranscriptEvent::Disconnected => {
                print::message("lost the connection to the server: reconnecting");
                true
            }
        })?;
        return Ok(exit::DONE);
    }
    let mut found = false;
    transcript_stream::read_pages(&server, &args.run, args.after, args.search.as_deref(), &mut |line| {
        found = true;
        show(line)
    })?;
    if !found && !args.ask.json {
        print::message("no lines found");
    }
    Ok(exit::DONE)
}
