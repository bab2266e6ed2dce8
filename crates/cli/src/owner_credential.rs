//! The owner's credential, which a server that starts puts into the state directory of its user.

use std::path::{Path, PathBuf};

use trackside_protocol::issuer_of;
use trackside_server::{BoundServer, OwnerTokenUse, ServeError};

use crate::folder::{self, CliError};
use crate::pinned_servers::{self, PinnedServer};
use crate::{files, print};

/// Pins the server for this user, with a valid credential of the owner. None if the state directory cannot be written.
pub(crate) async fn pin(bound: &BoundServer, folder: &Path) -> Result<Option<PinnedServer>, ServeError> {
    let known = PinnedServer::load(bound.fingerprint()).map(|it| it.token);
    let token = bound.owner_token(OwnerTokenUse::Terminal, known.as_deref()).await?;
    let pinned = PinnedServer {
        fingerprint: bound.fingerprint().to_owned(),
        token,
        folder: pinned_servers::absolute(folder),
        address: bound.url.clone(),
    };
    // A folder has one server: an earlier key of it is of no use any more.
    if let Some(earlier) = PinnedServer::of_folder(folder).filter(|it| it.fingerprint != pinned.fingerprint) {
        earlier.remove();
    }
    match pinned.save() {
        Ok(_) => Ok(Some(pinned)),
        Err(error) => {
            let place = pinned_servers::directory().unwrap_or_else(|| PathBuf::from("~/.local/state"));
            print::message(styled!(
                "warning: the owner's credential was not stored: {}. Commands cannot act as the owner; set XDG_STATE_HOME to a folder that can be written, or use --token-file",
                files::unwritten(&place, &error)
            ));
            Ok(None)
        }
    }
}

/// Replaces the owner's token that earlier releases kept in the data folder: it is revoked, and its file removed.
pub(crate) async fn retire_old_token(
    bound: &BoundServer,
    folder: &Path,
    now: &PinnedServer,
) -> Result<(), CliError> {
    let path = folder.join("token");
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
    let text = text.trim();
    // A token that names its issuer was written by --token-file.
    if issuer_of(text).is_some() || !text.starts_with("ts_") {
        return Ok(());
    }
    bound.revoke_token(text).await?;
    std::fs::remove_file(&path).map_err(|error| CliError::unwritten(&path, &error))?;
    print::message(styled!(
        "The owner's credential moved out of the project: {} is removed and its token revoked; {} has a new one.",
        path.display(),
        now.path().unwrap_or_default().display()
    ));
    Ok(())
}

/// Writes an owner's token for scripts, unless the file has a valid one. A coding agent gets one only for a new project.
pub(crate) async fn write_token_file(bound: &BoundServer, path: &Path, is_new: bool) -> Result<(), CliError> {
    let known = std::fs::read_to_string(path).unwrap_or_default();
    if bound.is_owner_token(OwnerTokenUse::Script, known.trim())? {
        return Ok(());
    }
    if !is_new {
        folder::check_owner("up --token-file")?;
    }
    let token = bound.owner_token(OwnerTokenUse::Script, None).await?;
    files::write_secret(path, &token).map_err(|error| CliError::unwritten(path, &error))
}
