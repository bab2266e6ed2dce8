//! Finds the server of a project and sends requests to it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value as Json;
use trackside_protocol::{Client, ClientError, Exchange, HttpReply, Problem};

use crate::args::ReachArgs;
use crate::folder::CliError;
use crate::url::ApiPath;
use crate::{files, print};

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

/// A server, and how it was found.
#[derive(Clone, Debug)]
pub(crate) struct ServerConnection {
    client: Client,
    /// The folder of its project; none if the environment names it.
    folder: Option<PathBuf>,
}

/// The default data folder.
pub(crate) const USUAL: &str = ".trackside";

impl ServerConnection {
    /// The server in the environment, else that of the given folder, else that of the nearest folder above.
    pub(crate) fn find(args: &ReachArgs) -> Result<Self, CliError> {
        match Self::from_environment()? {
            Some(server) => {
                if args.data.is_some() {
                    print::message("TRACKSIDE_URL is set and takes precedence over --data");
                }
                Ok(server)
            }
            None => Self::of(folder(args)?),
        }
    }

    /// The server named by the environment, if any.
    pub(crate) fn from_environment() -> Result<Option<Self>, CliError> {
        let Some(url) = read_environment("TRACKSIDE_URL") else { return Ok(None) };
        let Some(token) = read_environment("TRACKSIDE_TOKEN") else {
            return Err(CliError::unreachable("TRACKSIDE_URL is set but TRACKSIDE_TOKEN is not. Set it to your token, or unset TRACKSIDE_URL to use the server of a data folder".to_owned()));
        };
        Ok(Some(Self { client: client(&with_scheme(&url), &token)?, folder: None }))
    }

    /// The server of this folder, regardless of the environment.
    pub(crate) fn of(folder: PathBuf) -> Result<Self, CliError> {
        let url = with_scheme(&line_of(&folder, "address")?);
        let token = match read_environment("TRACKSIDE_TOKEN") {
            Some(token) => token,
            None => line_of(&folder, "token")?,
        };
        Ok(Self { client: client(&url, &token)?, folder: Some(folder) })
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

    /// A stream, line by line.
    pub(crate) fn stream(&self, route: &ApiPath) -> Result<impl std::io::BufRead + use<>, RequestError> {
        self.answered(self.client.stream(route.as_str()))
    }

    fn answered<T>(&self, answer: Result<T, ClientError>) -> Result<T, RequestError> {
        answer.map_err(|error| match error {
            ClientError::Refused(problem) => RequestError::Refused(problem),
            error => RequestError::Cli(CliError::unreachable(self.unreached(&error))),
        })
    }

    fn unreached(&self, error: &ClientError) -> String {
        match (error, &self.folder) {
            (ClientError::Unreachable { .. }, Some(folder)) => {
                let folder = folder.display();
                format!(
                    "{error}. The address is from {folder}/address. Start the server with: trackside up --data {folder}"
                )
            }
            (ClientError::Unreachable { .. }, None) => format!(
                "{error}. The address is from TRACKSIDE_URL: start the server there, or unset it to use the server of a data folder"
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

/// The given folder, else `.trackside` here or above.
fn folder(args: &ReachArgs) -> Result<PathBuf, CliError> {
    if let Some(folder) = &args.data {
        return Ok(folder.clone());
    }
    let here = std::env::current_dir().unwrap_or_default();
    nearest(&here).ok_or_else(nowhere)
}

/// The error if there is no project.
pub(crate) fn nowhere() -> CliError {
    CliError::unreachable(format!(
        "no {USUAL} in this folder or above it. Start a server here with: trackside up\nOr use another one: --data DIR for its folder, or TRACKSIDE_URL for its address and TRACKSIDE_TOKEN for your token"
    ))
}

/// The nearest folder of a project, from here upwards.
pub(crate) fn nearest(here: &Path) -> Option<PathBuf> {
    let found = here.ancestors().map(|it| it.join(USUAL)).find(|it| it.is_dir())?;
    // Use the relative path if the folder is here.
    Some(if found.parent() == Some(here) { PathBuf::from(USUAL) } else { found })
}

/// Reads a one-line file of the folder.
fn line_of(folder: &Path, name: &str) -> Result<String, CliError> {
    let path = folder.join(name);
    let (shown, folder) = (path.display(), folder.display());
    let stopped = |why: String| CliError::unreachable(why);
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => Err(stopped(format!(
            "{shown} is empty. Start the server, which writes it: trackside up --data {folder}"
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(stopped(format!(
            "{shown} does not exist: no server has run in this folder. Start one with: trackside up --data {folder}"
        ))),
        Err(error) => {
            let next = match name {
                "token" => {
                    ". Set TRACKSIDE_TOKEN to a token of your own: the owner creates one with trackside token create"
                }
                _ => "",
            };
            Err(stopped(format!("{}{next}", files::unread(&path, &error))))
        }
    }
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
