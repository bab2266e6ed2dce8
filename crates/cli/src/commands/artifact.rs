//! `trackside artifact`: stores and fetches content by its hash.

use serde_json::json;
use trackside_store::Artifacts;

use crate::args::{ArtifactArgs, ArtifactCommand, ArtifactGetArgs, ArtifactPutArgs};
use crate::folder::CliError;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, files, print};

pub(crate) fn run(args: &ArtifactArgs) -> u8 {
    let (outcome, json) = match &args.command {
        ArtifactCommand::Put(args) => (put(args), args.ask.json),
        ArtifactCommand::Get(args) => (get(args), false),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn put(args: &ArtifactPutArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let content =
        std::fs::read(&args.file).map_err(|error| CliError::usage(files::unread(&args.file, &error)))?;
    let id = Artifacts::id_of(&content);
    server.put_bytes(&ApiPath::new(&["artifacts", &id]), &content)?;
    let stored = json!({ "sha256": id, "size": content.len() });
    Ok(print::answer(&stored, args.ask.json, |_| print::line(&id)))
}

fn get(args: &ArtifactGetArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.reach)?;
    let content = server.get_bytes(&ApiPath::new(&["artifacts", &args.sha256]))?;
    std::fs::write(&args.to, &content)
        .map_err(|error| CliError::usage(files::unwritten(&args.to, &error)))?;
    print::message(styled!("{} bytes written to {}", content.len(), args.to.display()));
    Ok(exit::DONE)
}
