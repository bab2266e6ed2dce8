//! `trackside pack`: the packs of a server, and new ones from folders.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_lifecycle::compile::compile;
use trackside_lifecycle::source::Sources;

use crate::args::{PackAddArgs, PackArgs, PackCommand, PackListArgs};
use crate::folder::CliError;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{list, text, texts};
use crate::url::ApiPath;
use crate::{exit, packs, print, project_files};

pub(crate) fn run(args: &PackArgs) -> u8 {
    match &args.command {
        PackCommand::List(args) => refused::finish(show(args), CommandSubject::default(), args.ask.json),
        PackCommand::Check(args) => super::check::run(args),
        PackCommand::Add(args) => refused::finish(add(args), CommandSubject::default(), args.ask.json),
    }
}

fn show(args: &PackListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let found = fetch_list(&server, &ApiPath::new(&["packs"]), ListSize::All)?.to_json();
    if args.ask.json {
        print::line(&format!("{found:#}"));
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["PACK", "VERSION", "LIFECYCLES", "ROLES"]);
    for it in list(&found, "items") {
        let version = it.get("version").and_then(Json::as_u64).unwrap_or_default().to_string();
        let joined = |name: &str| match texts(it, name) {
            some if some.is_empty() => "-".to_owned(),
            some => some.join(", "),
        };
        table.row([text(it, "pack").to_owned(), version, joined("lifecycles"), joined("roles")]);
    }
    table.show();
    Ok(exit::DONE)
}

fn add(args: &PackAddArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let answer = install(&server, &args.folder)?;
    if let Some(folder) = server.folder() {
        project_files::write_or_warn(folder);
    }
    print_answer(&answer, args.ask.json);
    Ok(exit::DONE)
}

/// Has a server take a pack into force.
pub(super) fn install(server: &ServerConnection, folder: &Path) -> Result<Json, RequestError> {
    let folders = [folder.to_owned()];
    let mut sources = Sources::default();
    let found = packs::find(&folders, &mut sources).map_err(CliError::from)?;
    let [pack] = found.as_slice() else {
        let why = format!("{}: name one pack folder, which contains pack.yaml", folder.display());
        return Err(CliError::usage(why).into());
    };
    // Report compile errors here, where the files are.
    let name = match compile(&sources, &pack.files) {
        Ok((compiled, _)) => compiled.name.to_string(),
        Err(problems) => {
            let why = problems.render(&sources, print::colour());
            return Err(CliError { why, code: exit::REFUSED }.into());
        }
    };
    let texts = packs::sources(&folders).map_err(CliError::from)?;
    let texts: BTreeMap<String, String> = texts.into_iter().flat_map(|it| it.files).collect();
    server.put(&ApiPath::new(&["packs", &name]), &json!({ "files": texts }))
}

fn print_answer(answer: &Json, json: bool) {
    if json {
        print::line(&format!("{answer:#}"));
        return;
    }
    let version = answer.get("version").and_then(Json::as_u64).unwrap_or_default();
    let named = format!("{} {version}", text(answer, "pack"));
    match answer.get("installed") {
        Some(Json::Bool(false)) => print::line(&format!("{named} is already installed")),
        _ => print::line(&format!("{named} is installed: {}", texts(answer, "lifecycles").join(", "))),
    }
}
