//! Finds the server of a project and sends requests to it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value as Json;
use trackside_protocol::{
    Client, ClientError, Exchange, HttpReply, Problem, ProofError, ProvenServer, issuer_of,
};

use crate::args::ReachArgs;
use crate::folder::CliError;
use crate::person::{self, NoPerson};
use crate::pinned_servers::{self, PinnedServer};
use crate::styled::BREAK;
use crate::url::ApiPath;
use crate::{files, git_worktree, owner_credential, print};

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server could not be reached.
    Cli(CliError),
    /// The server refused it.
    Refused(Box<Problem>),
}

impl From<CliError> for RequestError {
    fn from(stopped: CliError) -> Self {
        Self::Cli(stopped)
    }
}

/// Credentials that a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// `TRACKSIDE_TOKEN`, the token file of a named folder, or the owner's credential at a terminal.
    Any,
    /// Only `TRACKSIDE_TOKEN`: for commands that agents run.
    Token,
}

/// A server, and how it was found.
#[derive(Clone, Debug)]
pub(crate) struct ServerConnection {
    client: Client,
    /// The folder of its project; none if the environment names it.
    folder: Option<PathBuf>,
    /// The identity it proved; none if its token names no issuer and the environment names its address.
    proven: Option<ProvenServer>,
    /// The owner's credential, if the connection uses it.
    owner: Option<PinnedServer>,
}

/// The default data folder.
pub(crate) const USUAL: &str = ".trackside";

impl ServerConnection {
    /// The server in the environment, else that of the given folder, else that of the nearest folder above.
    pub(crate) fn find(args: &ReachArgs) -> Result<Self, CliError> {
        Self::find_with(args, Credentials::Any)
    }

    /// Finds the server, for a command that may use these credentials.
    pub(crate) fn find_with(args: &ReachArgs, credentials: Credentials) -> Result<Self, CliError> {
        match Self::from_environment()? {
            Some(server) => {
                if args.data.is_some() {
                    print::message("TRACKSIDE_URL is set and takes precedence over --data");
                }
                Ok(server)
            }
            None => match &args.data {
                Some(folder) => Self::of(folder.clone(), true, credentials),
                None => {
                    let found = Self::of(found_folder()?, false, credentials)?;
                    if let Some(elsewhere) = found.owner().filter(|it| is_elsewhere(&it.folder)) {
                        print::message(styled!("Using the project in {}.", elsewhere.folder.display()));
                    }
                    Ok(found)
                }
            },
        }
    }

    /// The server named by the environment, if any. Its token is sent only if the server proves to be the issuer; a
    /// token of an older release, which names no issuer, is sent to the named address.
    pub(crate) fn from_environment() -> Result<Option<Self>, CliError> {
        let Some(url) = read_environment("TRACKSIDE_URL") else { return Ok(None) };
        let Some(token) = read_environment("TRACKSIDE_TOKEN") else {
            return Err(CliError::forbidden("TRACKSIDE_URL is set but TRACKSIDE_TOKEN is not. Set it to your token, or unset TRACKSIDE_URL to use the server of a data folder".to_owned()));
        };
        let url = with_scheme(&url);
        let mut named = Self { client: client(&url, &token)?, folder: None, proven: None, owner: None };
        if let Some(issuer) = issuer_of(&token) {
            let proven = named.prove()?;
            named.check_issuer(issuer, &proven, "TRACKSIDE_TOKEN")?;
            named.proven = Some(proven);
        }
        Ok(Some(named))
    }

    /// The server of this folder, regardless of `TRACKSIDE_URL`. `is_named` is false for a folder that was only found.
    ///
    /// The address in the folder is not trusted: the server must prove an identity that the token names, or that this
    /// user has pinned.
    pub(crate) fn of(folder: PathBuf, is_named: bool, credentials: Credentials) -> Result<Self, CliError> {
        let (token, source) = match read_environment("TRACKSIDE_TOKEN") {
            Some(token) => (Some(token), "TRACKSIDE_TOKEN".to_owned()),
            None if is_named && credentials == Credentials::Any => token_file(&folder),
            None => (None, String::new()),
        };
        if token.is_none() {
            if person::has_token() {
                return Err(CliError::forbidden(
                    "TRACKSIDE_TOKEN is set, but it is not text or has only spaces. Set it to your token, or unset it",
                ));
            }
            let by_person = match credentials {
                Credentials::Any => person::check(),
                Credentials::Token => Err(NoPerson::AgentCommand),
            };
            by_person.map_err(NoPerson::needs_token)?;
        }
        let url = with_scheme(&address_in(&folder)?);
        let mut found = Self { client: client(&url, "")?, folder: Some(folder), proven: None, owner: None };
        let proven = found.prove()?;
        if !proven.is_direct {
            return Err(CliError::forbidden(format!(
                "{url} passes requests on to a server at another address. No token was sent. If this is your proxy, set TRACKSIDE_URL={url} and TRACKSIDE_TOKEN"
            )));
        }
        let Some(token) = token else {
            let pinned = found.owner_credential(&proven)?;
            found.proven = Some(proven);
            found.client = client(&url, &pinned.token)?;
            found.owner = Some(pinned.clone());
            return Ok(owner_credential::renew_if_due(found, pinned));
        };
        match issuer_of(&token) {
            Some(issuer) => found.check_issuer(issuer, &proven, &source)?,
            None if PinnedServer::load(&proven.fingerprint).is_some() => {}
            None => return Err(found.unpinned(&source)),
        }
        found.client = client(&url, &token)?;
        found.proven = Some(proven);
        Ok(found)
    }

    /// Asks the server for its identity. Sends no token.
    fn prove(&self) -> Result<ProvenServer, CliError> {
        self.client.prove().map_err(|error| match error {
            ProofError::Unreachable(error) => CliError::unreachable(self.unreached(&error)),
            ProofError::Unproven(why) => CliError::forbidden(format!(
                "{} does not prove its identity: {why}. No token was sent",
                self.client.url()
            )),
        })
    }

    /// Checks that the same server is still at its address, for programs that use the connection for long: the server
    /// may have stopped, and another program may have taken its port.
    pub(crate) fn check_still_same(&self) -> Result<(), CliError> {
        match &self.proven {
            Some(known) if self.prove()? != *known => Err(CliError::forbidden(format!(
                "Another server answers at {} now. No token was sent",
                self.client.url()
            ))),
            _ => Ok(()),
        }
    }

    fn check_issuer(&self, issuer: &str, proven: &ProvenServer, source: &str) -> Result<(), CliError> {
        if proven.fingerprint.starts_with(issuer) {
            return Ok(());
        }
        let (url, issuer) = (self.client.url(), short(issuer));
        let other = short(&proven.fingerprint);
        Err(CliError::forbidden(styled!(
            "The token in {source} was issued by the server {issuer}…, but {url} is the server {other}…. The token was not sent.{BREAK}\
             Set TRACKSIDE_URL to the address of the server that issued it. If that server has a new key, because its data folder was restored or its server.key replaced, get a new token: the owner creates one with: trackside token create"
        )))
    }

    /// The owner's credential for the server of this folder.
    fn owner_credential(&self, proven: &ProvenServer) -> Result<PinnedServer, CliError> {
        let (url, folder) = (self.client.url(), self.folder.as_deref().unwrap_or(Path::new(USUAL)));
        let (shown, other) = (folder.display(), short(&proven.fingerprint));
        match PinnedServer::load(&proven.fingerprint) {
            Some(pinned) if pinned.is_of(folder) => Ok(pinned),
            Some(pinned) => Err(CliError::forbidden(styled!(
                "{shown}/address names {url}, which is the server of another project, {}. Nothing was sent.{BREAK}\
                 To use that project, pass --data {}",
                pinned.folder.display(),
                pinned.folder.display()
            ))),
            None => {
                let why = match PinnedServer::of_folder(folder) {
                    Some(known) => format!(
                        "{url} is the server {other}…, but the server of {shown} was {}… when you last started it: its key has changed, or this is another server.",
                        short(&known.fingerprint)
                    ),
                    None => {
                        format!("{shown}/address names {url}, a server that you have not started: {other}….")
                    }
                };
                Err(CliError::forbidden(styled!(
                    "{why} Nothing was sent.{BREAK}\
             If you trust it, set TRACKSIDE_URL={url} and TRACKSIDE_TOKEN to a token from its owner. If it is your own, restart it as this user with: trackside up --data {shown}"
                )))
            }
        }
    }

    fn unpinned(&self, source: &str) -> CliError {
        let url = self.client.url();
        CliError::forbidden(styled!(
            "The token in {source} has an old form, which does not name the server that issued it, and you have not started the server at {url}. The token was not sent.{BREAK}\
             If the token is for that server, set TRACKSIDE_URL={url}"
        ))
    }

    /// The project's folder, or the server's address if the folder is unknown.
    pub(crate) fn place(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => self.client.url().to_owned(),
        }
    }

    /// The project's folder; none if the server was named by its address and may be on another machine.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The owner's credential, if the connection uses it.
    pub(crate) fn owner(&self) -> Option<&PinnedServer> {
        self.owner.as_ref()
    }

    /// A name for the server that no other server has, fit for a file name.
    pub(crate) fn file_name(&self) -> String {
        match &self.proven {
            Some(proven) => short(&proven.fingerprint).to_owned(),
            None => self
                .client
                .url()
                .chars()
                .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
                .collect(),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The same server with another token.
    pub(crate) fn with_token(&self, token: &str) -> Result<Self, CliError> {
        Ok(Self { client: client(self.client.url(), token)?, ..self.clone() })
    }

    /// Sends requests on behalf of another actor.
    pub(crate) fn acting_for(mut self, id: Option<&str>) -> Self {
        if let Some(id) = id {
            self.client = self.client.acting_for(id);
        }
        self
    }

    pub(crate) fn get(&self, route: &ApiPath) -> Result<Json, RequestError> {
        self.answered(self.client.get(route.as_str())).map(|it| it.body)
    }

    pub(crate) fn post(&self, route: &ApiPath, body: &impl Serialize) -> Result<Json, RequestError> {
        self.post_with(route, body, &[]).map(|it| it.body)
    }

    /// Posts with headers, and returns the status, too.
    pub(crate) fn post_with(
        &self,
        route: &ApiPath,
        body: &impl Serialize,
        headers: &[(&str, &str)],
    ) -> Result<HttpReply, RequestError> {
        self.answered(self.client.post_with(route.as_str(), body, headers))
    }

    pub(crate) fn put(&self, route: &ApiPath, body: &impl Serialize) -> Result<Json, RequestError> {
        self.answered(self.client.put(route.as_str(), body)).map(|it| it.body)
    }

    /// Content as it is.
    pub(crate) fn put_bytes(&self, route: &ApiPath, content: &[u8]) -> Result<(), RequestError> {
        self.answered(self.client.put_bytes(route.as_str(), content)).map(|_| ())
    }

    /// Content as it is.
    pub(crate) fn get_bytes(&self, route: &ApiPath) -> Result<Vec<u8>, RequestError> {
        self.answered(self.client.get_bytes(route.as_str()))
    }

    pub(crate) fn delete(&self, route: &ApiPath) -> Result<Json, RequestError> {
        self.answered(self.client.delete(route.as_str())).map(|it| it.body)
    }

    /// Sends a raw body; the response is streamed, with any status.
    pub(crate) fn exchange(
        &self,
        path: &str,
        body: Vec<u8>,
        headers: &[(&str, &str)],
    ) -> Result<Exchange<impl std::io::BufRead + use<>>, RequestError> {
        self.answered(self.client.exchange(path, body, headers))
    }

    /// A stream, line by line. Opened again after every interruption.
    pub(crate) fn stream(&self, route: &ApiPath) -> Result<impl std::io::BufRead + use<>, RequestError> {
        self.check_still_same()?;
        self.answered(self.client.stream(route.as_str()))
    }

    fn answered<T>(&self, answer: Result<T, ClientError>) -> Result<T, RequestError> {
        answer.map_err(|error| match error {
            ClientError::Refused(mut problem) => {
                if problem.status == 401 && self.owner.is_some() {
                    let detail = self.ended_credential();
                    problem.errors.iter_mut().for_each(|it| it.message.clone_from(&detail));
                    problem.detail = detail;
                }
                RequestError::Refused(problem)
            }
            error => RequestError::Cli(CliError::unreachable(self.unreached(&error))),
        })
    }

    /// The way back for an owner whose credential has expired or was revoked.
    fn ended_credential(&self) -> String {
        format!(
            "The owner's credential has expired or was revoked. Stop the server and start it again at a terminal as the same user, which creates a new one: trackside up --data {}",
            self.place()
        )
    }

    fn unreached(&self, error: &ClientError) -> String {
        match (error, &self.folder) {
            (ClientError::Unreachable { .. }, Some(folder)) => {
                let folder = folder.display();
                let next = person::start_server(&format!("trackside up --data {folder}"));
                format!("{error}. The address is from {folder}/address. {next}")
            }
            // Some agent programs run commands without a network.
            (ClientError::Unreachable { .. }, None) if read_environment("TRACKSIDE_RUN").is_some() => {
                format!(
                    "{error}. If your sandbox has no network, use the tools of the MCP server `trackside`, such as `fire`"
                )
            }
            (ClientError::Unreachable { .. }, None) => format!(
                "{error}. The address is from TRACKSIDE_URL: check it and that the server runs, or unset it to use the server of a data folder"
            ),
            _ => error.to_string(),
        }
    }
}

/// A variable of the environment, if set.
fn read_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
}

/// Creates a client; `TRACKSIDE_CA` names the CA certificate for servers without a public one.
fn client(url: &str, token: &str) -> Result<Client, CliError> {
    let Some(file) = read_environment("TRACKSIDE_CA") else { return Ok(Client::new(url, token)) };
    let read = std::fs::read(&file).map_err(|it| files::reading(&it));
    read.and_then(|it| Client::trusting(url, token, &it))
        .map_err(|why| CliError::unreachable(format!("TRACKSIDE_CA, {file}: {why}")))
}

/// An address as people write it.
fn with_scheme(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}

/// The folder of the project that the current folder belongs to.
fn found_folder() -> Result<PathBuf, CliError> {
    nearest(&std::env::current_dir().unwrap_or_default()).ok_or_else(nowhere)
}

/// The error if there is no project.
pub(crate) fn nowhere() -> CliError {
    let start = match person::may_start_server() {
        true => styled!(" Start a server here with: trackside up{BREAK}Or use another one:"),
        false => styled!("{BREAK}Name the server:"),
    };
    CliError::unreachable(styled!(
        "no {USUAL} in this folder or above it.{start} --data DIR for its folder, or TRACKSIDE_URL for its address and TRACKSIDE_TOKEN for your token"
    ))
}

/// The nearest folder of a project, from here upwards. In a git worktree, the main checkout's comes after the worktree's
/// own.
///
/// A checkout has a folder with the schemas alone if these are in git. It counts only if no folder has a project.
pub(crate) fn nearest(here: &Path) -> Option<PathBuf> {
    let places = here.ancestors().flat_map(|it| [Some(it.to_owned()), git_worktree::main_checkout(it)]);
    let folders: Vec<PathBuf> = places.flatten().map(|it| it.join(USUAL)).filter(|it| it.is_dir()).collect();
    let found = folders.iter().find(|it| has_project(it)).or(folders.first())?;
    // Use the relative path if the folder is here.
    Some(if found.parent() == Some(here) { PathBuf::from(USUAL) } else { found.clone() })
}

/// Whether a folder is neither here nor in a parent folder: a link or a git worktree leads to it.
fn is_elsewhere(folder: &Path) -> bool {
    let here = pinned_servers::absolute(Path::new("."));
    !folder.parent().is_some_and(|it| here.starts_with(it))
}

/// Whether a folder has a project, or the address of a server.
fn has_project(folder: &Path) -> bool {
    ["journal.db", "address"].iter().any(|it| folder.join(it).exists())
}

/// The token in the folder. It exists only after `up --token-file`. Tokens of older releases do not count: the next
/// `trackside up` replaces them.
fn token_file(folder: &Path) -> (Option<String>, String) {
    let path = folder.join("token");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let token = Some(text.trim().to_owned()).filter(|it| issuer_of(it).is_some());
    (token, path.display().to_string())
}

/// Reads the address in the folder.
fn address_in(folder: &Path) -> Result<String, CliError> {
    let path = folder.join("address");
    let shown = path.display();
    let next = || person::start_server(&format!("trackside up --data {}", folder.display()));
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => Err(CliError::unreachable(format!("{shown} is empty: the server writes it. {}", next()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(CliError::unreachable(format!(
            "{shown} does not exist: no server is running in this folder. {}",
            next()
        ))),
        Err(error) => Err(CliError::unreachable(files::unread(&path, &error))),
    }
}

/// The start of a fingerprint, for messages.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_its_scheme() {
        assert_eq!(with_scheme("127.0.0.1:7420"), "http://127.0.0.1:7420");
        assert_eq!(with_scheme("https://a.b"), "https://a.b");
    }
}
