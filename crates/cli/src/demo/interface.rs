//! The ways in to a server: as a program over HTTP, by the command line in a shell, by MCP.

use std::path::Path;

use trackside_lifecycle::words;
use trackside_protocol::Client;

use super::mcp::Session;
use super::request::{DemoAnswer, DemoRequest};
use super::shell::Shell;
use super::{http, mcp, shell};

words! {
    /// The interface that an actor uses.
    pub(crate) enum Through {
        Http = "http",
        Shell = "shell",
        Mcp = "mcp",
    }
}

/// A way in for one actor.
#[derive(Debug)]
pub(super) enum DemoClient {
    Http(Client),
    Shell(Shell),
    Mcp(Session),
}

/// The address of the server, and the program that connects to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoServer<'a> {
    pub url: &'a str,
    pub program: &'a Path,
}

impl DemoClient {
    pub fn open(through: Through, at: DemoServer<'_>, token: &str) -> Result<Self, String> {
        Ok(match through {
            Through::Http => Self::Http(Client::new(at.url, token)),
            Through::Shell => Self::Shell(Shell::new(at, token)),
            Through::Mcp => Self::Mcp(Session::open(at, token)?),
        })
    }

    pub fn through(&self) -> Through {
        match self {
            Self::Http(_) => Through::Http,
            Self::Shell(_) => Through::Shell,
            Self::Mcp(_) => Through::Mcp,
        }
    }

    /// The request in one line.
    pub fn words(&self, ask: &DemoRequest) -> String {
        match self {
            Self::Http(_) => http::words(ask),
            Self::Shell(_) => shell::words(ask),
            Self::Mcp(_) => mcp::words(ask),
        }
    }

    pub fn ask(&mut self, ask: &DemoRequest) -> Result<DemoAnswer, String> {
        match self {
            Self::Http(client) => http::ask(client, ask),
            Self::Shell(shell) => shell.ask(ask),
            Self::Mcp(session) => session.ask(ask),
        }
    }
}
