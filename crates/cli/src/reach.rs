//! Finding the server of a project, and asking it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value as Json;
use trackside_protocol::{Client, ClientError, Exchanged, Problem, Told};

use crate::args::ReachArgs;
use crate::folder::Stopped;
use crate::route::Route;
use crate::{exit, files, print};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It could not be asked.
    Stopped(Stopped),
    /// The server turned it down.
    Refused(Box<Problem>),
}

impl From<Stopped> for Unanswered {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// A server, and how it was found.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    client: Client,
    /// The folder that names it; none if the environment does.
    folder: Option<PathBuf>,
}

/// The folder of a project, where nothing else is said.
pub(crate) const USUAL: &str = ".trackside";

impl Server {
    /// The one that the environment names, else that of the folder, else that of the nearest folder above.
    pub(crate) fn find(args: &ReachArgs) -> Result<Self, Stopped> {
        match Self::named()? {
            Some(server) => {
                if args.data.is_some() {
                    print::message("TRACKSIDE_URL is set and goes before --data");
                }
                Ok(server)
            }
            None => Self::of(folder(args)?),
        }
    }

    /// The one that the environment names, if it names one.
    pub(crate) fn named() -> Result<Option<Self>, Stopped> {
        let Some(url) = told("TRACKSIDE_URL") else { return Ok(None) };
        let Some(token) = told("TRACKSIDE_TOKEN") else {
            return Err(Stopped {
                why: "TRACKSIDE_URL is set and TRACKSIDE_TOKEN is not. Set it to your token, or unset TRACKSIDE_URL to use the server of a folder".to_owned(),
                code: exit::UNREACHABLE,
            });
        };
        Ok(Some(Self { client: client(&with_scheme(&url), &token)?, folder: None }))
    }

    /// The one that has this folder, whatever else is named.
    pub(crate) fn of(folder: PathBuf) -> Result<Self, Stopped> {
        let url = with_scheme(&line_of(&folder, "address")?);
        let token = match told("TRACKSIDE_TOKEN") {
            Some(token) => token,
            None => line_of(&folder, "token")?,
        };
        Ok(Self { client: client(&url, &token)?, folder: Some(folder) })
    }

    /// Where its project is: the folder, or the address if that is all that is known.
    pub(crate) fn place(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => self.client.url().to_owned(),
        }
    }

    /// The folder that it has; none if it was named by its address, so that it may be on another machine.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Speaks for somebody else.
    pub(crate) fn acting_for(mut self, id: Option<&str>) -> Self {
        if let Some(id) = id {
            self.client = self.client.acting_for(id);
        }
        self
    }

    pub(crate) fn get(&self, route: &Route) -> Result<Json, Unanswered> {
        self.answered(self.client.get(route.as_str())).map(|it| it.body)
    }

    pub(crate) fn post(&self, route: &Route, body: &impl Serialize) -> Result<Json, Unanswered> {
        self.post_with(route, body, &[]).map(|it| it.body)
    }

    /// The same with headers, and with the status.
    pub(crate) fn post_with(
        &self,
        route: &Route,
        body: &impl Serialize,
        headers: &[(&str, &str)],
    ) -> Result<Told, Unanswered> {
        self.answered(self.client.post_with(route.as_str(), body, headers))
    }

    pub(crate) fn put(&self, route: &Route, body: &impl Serialize) -> Result<Json, Unanswered> {
        self.answered(self.client.put(route.as_str(), body)).map(|it| it.body)
    }

    /// Content as it is.
    pub(crate) fn put_bytes(&self, route: &Route, content: &[u8]) -> Result<(), Unanswered> {
        self.answered(self.client.put_bytes(route.as_str(), content)).map(|_| ())
    }

    pub(crate) fn delete(&self, route: &Route) -> Result<Json, Unanswered> {
        self.answered(self.client.delete(route.as_str())).map(|it| it.body)
    }

    /// Sends a body as it is; the answer is read as it comes, whatever its status.
    pub(crate) fn exchange(
        &self,
        path: &str,
        body: Vec<u8>,
        headers: &[(&str, &str)],
    ) -> Result<Exchanged<impl std::io::BufRead + use<>>, Unanswered> {
        self.answered(self.client.exchange(path, body, headers))
    }

    /// A stream, line by line.
    pub(crate) fn stream(&self, route: &Route) -> Result<impl std::io::BufRead + use<>, Unanswered> {
        self.answered(self.client.stream(route.as_str()))
    }

    fn answered<T>(&self, answer: Result<T, ClientError>) -> Result<T, Unanswered> {
        answer.map_err(|error| match error {
            ClientError::Refused(problem) => Unanswered::Refused(problem),
            error => Unanswered::Stopped(Stopped { why: self.unreached(&error), code: exit::UNREACHABLE }),
        })
    }

    fn unreached(&self, error: &ClientError) -> String {
        match (error, &self.folder) {
            (ClientError::Unreachable { .. }, Some(folder)) => {
                let folder = folder.display();
                format!(
                    "{error}. That address is in {folder}/address, and nobody answers there. Start the server with: trackside up --data {folder}"
                )
            }
            (ClientError::Unreachable { .. }, None) => format!(
                "{error}. That address is in TRACKSIDE_URL: start the server there, or unset it to use the server of a folder"
            ),
            _ => error.to_string(),
        }
    }
}

/// What the environment says.
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
}

/// Speaks to a server; `TRACKSIDE_CA` names who signed its certificate, where that is nobody whom everybody trusts.
fn client(url: &str, token: &str) -> Result<Client, Stopped> {
    let Some(file) = told("TRACKSIDE_CA") else { return Ok(Client::new(url, token)) };
    let read = std::fs::read(&file).map_err(|it| files::reading(&it));
    read.and_then(|it| Client::trusting(url, token, &it))
        .map_err(|why| Stopped { why: format!("TRACKSIDE_CA, {file}: {why}"), code: exit::UNREACHABLE })
}

/// An address as people write it.
fn with_scheme(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}

/// The folder that was named, else `.trackside` here or above.
fn folder(args: &ReachArgs) -> Result<PathBuf, Stopped> {
    if let Some(folder) = &args.data {
        return Ok(folder.clone());
    }
    let here = std::env::current_dir().unwrap_or_default();
    nearest(&here).ok_or_else(nowhere)
}

/// Why there is no project to ask.
pub(crate) fn nowhere() -> Stopped {
    Stopped {
        why: format!(
            "there is no {USUAL} in this folder or above it. Start a server here with: trackside up\nOr name one: its folder with --data DIR, or its address in TRACKSIDE_URL and your token in TRACKSIDE_TOKEN"
        ),
        code: exit::UNREACHABLE,
    }
}

/// The nearest folder of a project, from here upwards.
pub(crate) fn nearest(here: &Path) -> Option<PathBuf> {
    let found = here.ancestors().map(|it| it.join(USUAL)).find(|it| it.is_dir())?;
    // The short way to say it, where it is here.
    Some(if found.parent() == Some(here) { PathBuf::from(USUAL) } else { found })
}

/// What a file of the folder says in its one line.
fn line_of(folder: &Path, name: &str) -> Result<String, Stopped> {
    let path = folder.join(name);
    let (shown, folder) = (path.display(), folder.display());
    let stopped = |why: String| Stopped { why, code: exit::UNREACHABLE };
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => Err(stopped(format!(
            "{shown} is empty. Start the server, which writes it: trackside up --data {folder}"
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(stopped(format!(
            "{shown} is not there: no server has run on this folder. Start one with: trackside up --data {folder}"
        ))),
        Err(error) => {
            let next = match name {
                "token" => {
                    ". Set TRACKSIDE_TOKEN to a token of your own: its owner makes one with trackside token create"
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
