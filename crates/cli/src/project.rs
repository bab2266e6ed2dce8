//! Finds the project that a command works on: that of a server, or a folder without a server.

use std::path::PathBuf;

use crate::args::{DataArgs, ProjectArgs};
use crate::folder::{self, CliError};
use crate::server_lookup::{self, ServerConnection};
use crate::{pinned_servers, print};

/// A project, and how to reach it.
#[derive(Debug)]
pub(crate) enum ProjectLocation {
    /// Through its server.
    Server(ServerConnection),
    /// In its folder, without a server.
    Folder(DataArgs),
}

impl ProjectLocation {
    /// The project of the server in the environment, else of the given folder, else of the nearest folder above.
    /// Prints which one it is, unless the arguments say so.
    pub(crate) fn find(args: &ProjectArgs) -> Result<Self, CliError> {
        match server_from_environment()? {
            Some(server) => Ok(Self::Server(server)),
            None => Self::of(found(args)?),
        }
    }

    /// Finds the project, for commands that can create one.
    pub(crate) fn find_or_new(args: &ProjectArgs) -> Result<Self, CliError> {
        match server_from_environment()? {
            Some(server) => Ok(Self::Server(server)),
            None => Self::of(found_or_new(args)),
        }
    }

    fn of(data: DataArgs) -> Result<Self, CliError> {
        Ok(match folder::server_of(&data)? {
            Some(server) => Self::Server(server),
            None => Self::Folder(data),
        })
    }
}

/// The server named by `TRACKSIDE_URL`.
fn server_from_environment() -> Result<Option<ServerConnection>, CliError> {
    let server = ServerConnection::from_environment()?;
    if let Some(server) = &server {
        print::message(styled!(
            "Using the project of {}: TRACKSIDE_URL is set and takes precedence over folders.",
            server.place()
        ));
    }
    Ok(server)
}

/// The given folder, else the nearest one here or above.
pub(crate) fn found(args: &ProjectArgs) -> Result<DataArgs, CliError> {
    if let Some(data) = nearest(args) {
        return Ok(data);
    }
    Err(server_lookup::nowhere())
}

/// The folder found, else the default folder for a new project.
pub(crate) fn found_or_new(args: &ProjectArgs) -> DataArgs {
    nearest(args).unwrap_or_else(|| DataArgs { data: PathBuf::from(server_lookup::USUAL), is_found: true })
}

fn nearest(args: &ProjectArgs) -> Option<DataArgs> {
    if let Some(data) = &args.data {
        return Some(DataArgs { data: data.clone(), is_found: false });
    }
    let data = server_lookup::nearest(&std::env::current_dir().unwrap_or_default())?;
    // A link in a repository may lead to another project.
    let shown = if data.is_symlink() { pinned_servers::absolute(&data) } else { data.clone() };
    if shown.is_absolute() {
        print::message(styled!("Using the project in {}.", shown.display()));
    }
    Some(DataArgs { data, is_found: true })
}
