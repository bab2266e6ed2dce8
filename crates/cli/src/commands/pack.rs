//! `trackside pack`: the packs of a server, and new ones from folders.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_lifecycle::compile::compile;
use trackside_lifecycle::source::Sources;

use crate::args::{PackAddArgs, PackArgs, PackCommand, PackListArgs};
use crate::folder::Stopped;
use crate::listed::{Much, listed};
use crate::moment::{list, text, texts};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, packs, print};

pub(crate) fn run(args: &PackArgs) -> u8 {
    match &args.command {
        PackCommand::List(args) => refused::ended(show(args), About::default(), args.ask.json),
        PackCommand::Check(args) => super::check::run(args),
        PackCommand::Add(args) => refused::ended(add(args), About::default(), args.ask.json),
    }
}

fn show(args: &PackListArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let found = listed(&server, &Route::new(&["packs"]), Much::All)?.to_json();
    if args.ask.json {
        print::line(&format!("{found:#}"));
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["PACK", "VERSION", "LIFECYCLES", "ROLES"]);
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

fn add(args: &PackAddArgs) -> Result<u8, Unanswered> {
    let told = install(&Server::find(&args.ask.reach)?, &args.folder)?;
    tell(&told, args.ask.json);
    Ok(exit::DONE)
}

/// Has a server take a pack into force.
pub(super) fn install(server: &Server, folder: &Path) -> Result<Json, Unanswered> {
    let folders = [folder.to_owned()];
    let mut sources = Sources::default();
    let found = packs::find(&folders, &mut sources).map_err(Stopped::from)?;
    let [pack] = found.as_slice() else {
        let why = format!("{}: name one pack folder, the one with its pack.yaml", folder.display());
        return Err(Stopped::usage(why).into());
    };
    // What does not compile is told here, where the text is.
    let name = match compile(&sources, &pack.files) {
        Ok((compiled, _)) => compiled.name.to_string(),
        Err(problems) => {
            let why = problems.render(&sources, print::colour());
            return Err(Stopped { why, code: exit::REFUSED }.into());
        }
    };
    let texts = packs::sources(&folders).map_err(Stopped::from)?;
    let texts: BTreeMap<String, String> = texts.into_iter().flat_map(|it| it.files).collect();
    server.put(&Route::new(&["packs", &name]), &json!({ "files": texts }))
}

fn tell(told: &Json, json: bool) {
    if json {
        print::line(&format!("{told:#}"));
        return;
    }
    let version = told.get("version").and_then(Json::as_u64).unwrap_or_default();
    let named = format!("{} {version}", text(told, "pack"));
    match told.get("installed") {
        Some(Json::Bool(false)) => print::line(&format!("{named} was there already, as it is")),
        _ => print::line(&format!("{named} is installed: {}", texts(told, "lifecycles").join(", "))),
    }
}
