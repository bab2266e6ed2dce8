//! Which project a command about a whole one means: that of a server, or the folder while none runs.

use std::path::PathBuf;

use crate::args::{DataArgs, ProjectArgs};
use crate::folder::{self, Stopped};
use crate::print;
use crate::reach::{self, Server};

/// A project, and where it is asked.
#[derive(Debug)]
pub(crate) enum Project {
    /// By the server that has it.
    Server(Server),
    /// In its folder, which no server has.
    Folder(DataArgs),
}

impl Project {
    /// That of the server which the environment names, else that of the folder, else that of the nearest folder above.
    /// Which one it is is told, where that is not plain from what was typed.
    pub(crate) fn find(args: &ProjectArgs) -> Result<Self, Stopped> {
        match named()? {
            Some(server) => Ok(Self::Server(server)),
            None => Self::of(found(args)?),
        }
    }

    /// The same, where one can be made if there is none.
    pub(crate) fn find_or_new(args: &ProjectArgs) -> Result<Self, Stopped> {
        match named()? {
            Some(server) => Ok(Self::Server(server)),
            None => Self::of(found_or_new(args)),
        }
    }

    fn of(data: DataArgs) -> Result<Self, Stopped> {
        Ok(match folder::server_of(&data)? {
            Some(server) => Self::Server(server),
            None => Self::Folder(data),
        })
    }
}

/// The server that the environment names.
fn named() -> Result<Option<Server>, Stopped> {
    let server = Server::named()?;
    if let Some(server) = &server {
        print::message(&format!(
            "This is about the project of {}: TRACKSIDE_URL is set, and goes before a folder.",
            server.place()
        ));
    }
    Ok(server)
}

/// The folder that was named, else the nearest here or above.
pub(crate) fn found(args: &ProjectArgs) -> Result<DataArgs, Stopped> {
    if let Some(data) = nearest(args) {
        return Ok(data);
    }
    Err(reach::nowhere())
}

/// The same, else where one would be made.
pub(crate) fn found_or_new(args: &ProjectArgs) -> DataArgs {
    nearest(args).unwrap_or_else(|| DataArgs { data: PathBuf::from(reach::USUAL) })
}

fn nearest(args: &ProjectArgs) -> Option<DataArgs> {
    if let Some(data) = &args.data {
        return Some(DataArgs { data: data.clone() });
    }
    let data = reach::nearest(&std::env::current_dir().unwrap_or_default())?;
    if data.is_absolute() {
        print::message(&format!("This is about the project in {}.", data.display()));
    }
    Some(DataArgs { data })
}
