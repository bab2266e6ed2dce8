//! `trackside settings`: the values that the rules of packs read, and their origin.

use serde_json::{Value as Json, json};

use crate::args::SettingsArgs;
use crate::folder::CliError;
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list, text, value};
use crate::url::ApiPath;
use crate::{exit, values};

/// The widest that a value is shown.
const WIDEST: usize = 48;

pub(crate) fn run(args: &SettingsArgs) -> u8 {
    refused::finish(settings(args), CommandSubject::default(), args.ask.json)
}

fn settings(args: &SettingsArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let all = match &args.pack {
        Some(pack) if values::is_value(pack) => {
            return Err(
                CliError::usage(format!("{pack}: name the pack first, as in settings PACK {pack}")).into()
            );
        }
        Some(pack) if args.values.is_empty() => vec![server.get(&ApiPath::new(&["settings", pack]))?],
        Some(pack) => {
            vec![server.put(&ApiPath::new(&["settings", pack]), &values::to_send(&args.values)?)?]
        }
        None => list(&server.get(&ApiPath::new(&["settings"]))?, "packs").to_vec(),
    };
    if args.ask.json {
        match (&args.pack, all.as_slice()) {
            (Some(_), [one]) => print::json(one),
            _ => print::json(&json!({ "items": all })),
        }
        return Ok(exit::DONE);
    }
    all.iter().filter(|it| args.pack.is_some() || !list(it, "items").is_empty()).for_each(print_answer);
    Ok(exit::DONE)
}

/// A value within a column; `--json` has the whole.
fn short(value: &str) -> String {
    match value.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

fn print_answer(answer: &Json) {
    print::line(painted_data(text(answer, "pack"), Colour::Bold));
    print_table(["  SETTING", "VALUE", "FROM", "ABOUT"], list(answer, "items"), |it| {
        [
            format!("  {}", text(it, "name")),
            short(&value(it.get("value").unwrap_or(&Json::Null))),
            text(it, "origin").to_owned(),
            text(it, "about").to_owned(),
        ]
    });
}
