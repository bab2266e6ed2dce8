//! `trackside attach`: follows a run, and passes typed lines to its agent.

use std::io::BufRead as _;

use trackside_protocol::SteerRun;

use super::stop::stop_run;
use crate::args::AttachArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::styled::BREAK;
use crate::time_format::{number, text};
use crate::transcript_stream::{self, TranscriptEvent};
use crate::url::ApiPath;
use crate::{exit, print};

/// One typed line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TypedLine {
    Nothing,
    Message(String),
    Interrupt(String),
    Stop(Option<String>),
    Help,
    Unknown(String),
}

impl TypedLine {
    fn parse(line: &str) -> Self {
        let line = line.trim();
        let Some(command) = line.strip_prefix('/') else {
            return if line.is_empty() { Self::Nothing } else { Self::Message(line.to_owned()) };
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim().to_owned();
        match name {
            "interrupt" if rest.is_empty() => Self::Interrupt(
                "Stop what you are doing. Say what you have done and what is left.".to_owned(),
            ),
            "interrupt" => Self::Interrupt(rest),
            "stop" => Self::Stop(Some(rest).filter(|it| !it.is_empty())),
            "help" => Self::Help,
            _ => Self::Unknown(name.to_owned()),
        }
    }
}

pub(crate) fn run(args: &AttachArgs) -> u8 {
    refused::finish(attach(args), CommandSubject::entity("fleet.run", &args.run), false)
}

fn attach(args: &AttachArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.reach)?;
    let found = server.get(&ApiPath::new(&["runs", &args.run]))?;
    let (agent, entity) = (text(&found, "agent"), text(&found, "entity"));
    let work = if entity.is_empty() { String::new() } else { format!(", works on {entity}") };
    print::message(styled!(
        "run {} of {agent}{work}. Type a message and Enter; /help lists commands; Ctrl-C leaves",
        args.run
    ));
    let (typist, run) = (server.clone(), args.run.clone());
    // The thread ends with the program.
    std::thread::Builder::new()
        .name("typed".to_owned())
        .spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                pass_on(&typist, &run, TypedLine::parse(&line));
            }
        })
        .map_err(|it| crate::folder::CliError::unreachable(it.to_string()))?;
    let after = number(&found, "lines").saturating_sub(args.lines);
    transcript_stream::follow(&server, &args.run, after, &mut |event| {
        match event {
            TranscriptEvent::Line(line) => transcript_stream::print_line(&line),
            TranscriptEvent::Disconnected => {
                print::message("lost the connection to the server: reconnecting")
            }
        }
        print::is_read()
    })?;
    let ended = server.get(&ApiPath::new(&["runs", &args.run]))?;
    print::message(styled!(
        "run {} has ended: {} {}",
        args.run,
        text(&ended, "state"),
        text(&ended, "exitClass")
    ));
    Ok(exit::DONE)
}

fn pass_on(server: &ServerConnection, run: &str, line: TypedLine) {
    let steer = |text: &str, mode: &str| {
        let body = SteerRun { text: text.to_owned(), mode: Some(mode.to_owned()) };
        server.post(&ApiPath::new(&["runs", run, "steer"]), &body).map(|_| ())
    };
    let done = match line {
        TypedLine::Nothing => return,
        TypedLine::Help => {
            print::message(styled!(
                "TEXT              send a message to the agent{BREAK}/interrupt TEXT   interrupt it, and send a message{BREAK}/stop [REASON]    stop the run{BREAK}Ctrl-C            leave; the run continues"
            ));
            return;
        }
        TypedLine::Unknown(name) => {
            print::message(styled!("unknown command /{name}; /help lists them"));
            return;
        }
        TypedLine::Message(text) => steer(&text, "queue"),
        TypedLine::Interrupt(text) => steer(&text, "interrupt"),
        TypedLine::Stop(reason) => stop_run(server, run, reason.as_deref()).map(|_| ()),
    };
    // The person reads it and continues.
    if done.is_err() {
        refused::finish(done.map(|()| exit::DONE), CommandSubject::entity("fleet.run", run), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_a_command() {
        let message = |text: &str| TypedLine::Message(text.to_owned());
        assert_eq!(TypedLine::parse(" fix the test \n"), message("fix the test"));
        assert_eq!(TypedLine::parse("  "), TypedLine::Nothing);
        assert_eq!(TypedLine::parse("/interrupt  not there"), TypedLine::Interrupt("not there".to_owned()));
        assert!(matches!(TypedLine::parse("/interrupt"), TypedLine::Interrupt(text) if !text.is_empty()));
        assert_eq!(TypedLine::parse("/stop"), TypedLine::Stop(None));
        assert_eq!(TypedLine::parse("/stop too slow"), TypedLine::Stop(Some("too slow".to_owned())));
        assert_eq!(TypedLine::parse("/halt"), TypedLine::Unknown("halt".to_owned()));
    }
}
