//! `trackside pack`: the packs of a server, and new ones from folders.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::source::Sources;

use crate::args::{PackAddArgs, PackArgs, PackCommand, PackListArgs};
use crate::folder::CliError;
use crate::packs::NoPack;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{joined, list, number, text, texts};
use crate::url::ApiPath;
use crate::{builtin, packs, print, project_files};

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
    Ok(print::answer(&found, args.ask.json, |found| {
        print_table(["PACK", "VERSION", "LIFECYCLES", "ROLES"], list(found, "items"), |it| {
            let version = number(it, "version").to_string();
            [text(it, "pack").to_owned(), version, joined(it, "lifecycles"), joined(it, "roles")]
        });
    }))
}

fn add(args: &PackAddArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let answer = install(&server, &args.folder)?;
    if let Some(folder) = server.folder() {
        project_files::write_or_warn(folder);
    }
    Ok(print::answer(&answer, args.ask.json, print_answer))
}

/// Has a server take a pack into force.
pub(super) fn install(server: &ServerConnection, folder: &Path) -> Result<Json, RequestError> {
    let folders = [folder.to_owned()];
    let mut sources = Sources::default();
    let found = packs::find(&folders, &mut sources).map_err(|NoPack(why)| no_pack(folder, &why))?;
    let [pack] = found.as_slice() else {
        let inside: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        let why =
            format!("{} contains several packs. Name one of them: {}", folder.display(), inside.join(", "));
        return Err(CliError::usage(why).into());
    };
    // Report compile errors here, where the files are.
    let name = match packs::compile(&sources, &pack.files) {
        Ok((compiled, _)) => compiled.name.to_string(),
        Err(problems) => {
            let why = print::rendered(&problems, &sources);
            return Err(CliError::refused(why).into());
        }
    };
    let texts = packs::sources(&folders).map_err(CliError::from)?;
    let texts: BTreeMap<String, String> = texts.into_iter().flat_map(|it| it.files).collect();
    server.put(&ApiPath::new(&["packs", &name]), &json!({ "files": texts }))
}

/// The error for a path that is no pack, with what to name instead.
fn no_pack(folder: &Path, why: &str) -> CliError {
    let name = folder.to_string_lossy();
    if builtin::is_taken(&name) {
        return CliError::usage(format!(
            "{name} is a built-in pack, and this is no folder of that name. A server installs the built-in packs when it starts, or those \
             that its --packs names. Show the installed packs with: trackside pack list"
        ));
    }
    let here = packs::folders_below(Path::new("."));
    let next = match nearest(&name, here.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {near}?"),
        None if here.is_empty() => {
            "Name a folder that contains pack.yaml. Create one with: trackside init DIR".to_owned()
        }
        None => format!("Name a folder that contains pack.yaml. Here: {}", here.join(", ")),
    };
    CliError::usage(format!("{why}. {next}"))
}

fn print_answer(answer: &Json) {
    let named = format!("{} {}", text(answer, "pack"), number(answer, "version"));
    match answer.get("installed") {
        Some(Json::Bool(false)) => print::line(styled!("{named} is already installed")),
        _ => print::line(styled!("{named} is installed: {}", texts(answer, "lifecycles").join(", "))),
    }
}
