//! The owner's credential, which a server that starts puts into the state directory of its user. Commands replace it
//! before it expires.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{Token, TokenMade, issuer_of};
use trackside_runtime::ProjectClock;
use trackside_server::{BoundServer, OwnerTokenUse, ServeError, TerminalToken};

use crate::folder::{self, CliError};
use crate::person::NoPerson;
use crate::pinned_servers::{self, PinnedServer};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::styled::Styled;
use crate::url::ApiPath;
use crate::{files, person};

/// Pins the server for this user, with a valid credential of the owner. `say` prints or logs warnings. None if this process may not have one, or if the
/// state directory cannot be written.
pub(crate) async fn pin(
    bound: &BoundServer,
    folder: &Path,
    token_file: Option<&Path>,
    say: impl Fn(Styled),
) -> Result<Option<PinnedServer>, ServeError> {
    let known = PinnedServer::load(bound.fingerprint()).map(|it| it.token);
    if !may_be_owner(bound, folder, known.as_deref(), token_file)? {
        let reason = person::check_without_server().err().map(NoPerson::reason).unwrap_or_default();
        say(styled!(
            "warning: commands of this user cannot act as the owner. The project has people, so only a person at a terminal gets a credential of its owner, and {reason}. A person can start the server once at a terminal"
        ));
        return Ok(None);
    }
    let TerminalToken { token, rotate_in, replaces } = bound.terminal_token(known.as_deref()).await?;
    let pinned = PinnedServer {
        fingerprint: bound.fingerprint().to_owned(),
        token,
        folder: pinned_servers::absolute(folder),
        address: bound.url.clone(),
        rotate_after: rotate_in.map(|it| ProjectClock::System.now().plus(it).to_string()),
        replaces: None,
    };
    // A folder has one server: an earlier key of it is of no use any more.
    if let Some(earlier) = PinnedServer::of_folder(folder).filter(|it| it.fingerprint != pinned.fingerprint) {
        earlier.remove();
    }
    match pinned.save() {
        Ok(_) => {
            // Only now: until the new one is stored, the earlier one must stay valid.
            if let Some(earlier) = replaces {
                bound.replace_token(&earlier, &pinned.token).await?;
            }
            Ok(Some(pinned))
        }
        Err(error) => {
            let place = pinned_servers::directory().unwrap_or_else(|| PathBuf::from("~/.local/state"));
            say(styled!(
                "warning: the owner's credential was not stored: {}. Commands cannot act as the owner; set XDG_STATE_HOME to a folder that can be written, or use --token-file",
                files::unwritten(&place, &error)
            ));
            Ok(None)
        }
    }
}

/// Whether the process that starts this server may have a credential of the owner: the project is new, a person typed the
/// command, or the process has a token of the owner already.
fn may_be_owner(
    bound: &BoundServer,
    folder: &Path,
    known: Option<&str>,
    token_file: Option<&Path>,
) -> Result<bool, ServeError> {
    if !bound.has_people()? || person::check_without_server().is_ok() {
        return Ok(true);
    }
    let in_folder = folder.join("token");
    let in_files = [Some(in_folder.as_path()), token_file].into_iter().flatten();
    let in_files = in_files.filter_map(|it| std::fs::read_to_string(it).ok());
    for token in known.map(str::to_owned).into_iter().chain(in_files) {
        if bound.is_any_owner_token(token.trim())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Replaces the credential if it has passed half of its lifetime, and returns the connection to use from now on. A
/// failure changes nothing: the present credential is still valid, and the next command tries again.
pub(crate) fn renew_if_due(server: ServerConnection, mut pinned: PinnedServer) -> ServerConnection {
    if pinned.replaces.is_some() {
        let _ = end_earlier(&server, &mut pinned);
    }
    if !pinned.is_due(ProjectClock::System.now()) {
        return server;
    }
    // One of several commands that run at the same time replaces it.
    let key = format!("rotate-{}", pinned.rotate_after.as_deref().unwrap_or_default());
    match rotate(&server, &pinned, &[("Idempotency-Key", &key)]) {
        Ok((renewed, _)) => renewed,
        Err(_) => server,
    }
}

/// Replaces the credential. The new one is in its file before the earlier one ends, so that a crash does not lock the owner out.
pub(crate) fn rotate(
    server: &ServerConnection,
    pinned: &PinnedServer,
    headers: &[(&str, &str)],
) -> Result<(ServerConnection, TokenMade), RequestError> {
    let made = server.post_with(&ApiPath::new(&["tokens", "rotate"]), &Json::Null, headers)?;
    let made: TokenMade = serde_json::from_value(made.body)
        .map_err(|it| CliError::unreachable(format!("the server's answer cannot be read: {it}")))?;
    let mut renewed = PinnedServer {
        token: made.token.clone(),
        rotate_after: half_of(&made.details).map(|it| ProjectClock::System.now().plus(it).to_string()),
        replaces: made.details.minted_with.clone(),
        ..pinned.clone()
    };
    let path = renewed.path().unwrap_or_default();
    renewed.save().map_err(|error| CliError::unwritten(&path, &error))?;
    let server = server.with_token(&renewed.token)?;
    end_earlier(&server, &mut renewed)?;
    Ok((server, made))
}

/// Half of the lifetime of a token; none if it does not expire.
fn half_of(token: &Token) -> Option<Span> {
    let ends = Timestamp::parse(token.expires_at.as_deref()?)?;
    Some(Span(ends.since(Timestamp::parse(&token.created_at)?).0 / 2))
}

/// Ends the earlier credential, which the new one replaces.
fn end_earlier(server: &ServerConnection, pinned: &mut PinnedServer) -> Result<(), RequestError> {
    let Some(earlier) = pinned.replaces.take() else { return Ok(()) };
    match server.post(&ApiPath::new(&["tokens", &earlier, "replace"]), &Json::Null) {
        // It may have ended by itself.
        Ok(_) | Err(RequestError::Refused(_)) => {
            let _ = pinned.save();
            Ok(())
        }
        Err(other) => Err(other),
    }
}

/// Replaces the owner's token that earlier releases kept in the data folder: it is revoked, and its file removed.
pub(crate) async fn retire_old_token(
    bound: &BoundServer,
    folder: &Path,
    now: &PinnedServer,
    say: impl Fn(Styled),
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
    say(styled!(
        "The owner's credential moved out of the project: {} is removed and its token revoked; {} has a new one.",
        path.display(),
        now.path().unwrap_or_default().display()
    ));
    Ok(())
}

/// Writes an owner's token for scripts, unless the file has a valid one. For a project that has people, only a person at a
/// terminal gets one.
pub(crate) async fn write_token_file(bound: &BoundServer, path: &Path, is_new: bool) -> Result<(), CliError> {
    let known = std::fs::read_to_string(path).unwrap_or_default();
    if bound.is_owner_token(OwnerTokenUse::Script, known.trim())? {
        return Ok(());
    }
    // A valid token in the file may be in an old form, or name an earlier key of the server.
    if !is_new && !bound.is_any_owner_token(known.trim())? {
        folder::check_owner("up --token-file")?;
    }
    let token = bound.owner_token(OwnerTokenUse::Script, None).await?;
    files::write_secret(path, &token).map_err(|error| CliError::unwritten(path, &error))
}
