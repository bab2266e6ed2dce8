//! `trackside settings`: what the rules of packs read, and where it comes from.

use serde_json::{Value as Json, json};

use crate::args::SettingsArgs;
use crate::folder::Stopped;
use crate::moment::{list, text, value};
use crate::print::{self, Colour, painted_data};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, values};

/// The widest that a value is shown.
const WIDEST: usize = 48;

pub(crate) fn run(args: &SettingsArgs) -> u8 {
    refused::ended(settings(args), About::default(), args.ask.json)
}

fn settings(args: &SettingsArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let all = match &args.pack {
        Some(pack) if values::is_value(pack) => {
            return Err(Stopped::usage(format!(
                "{pack}: say of which pack first, as in settings PACK {pack}"
            ))
            .into());
        }
        Some(pack) if args.values.is_empty() => vec![server.get(&Route::new(&["settings", pack]))?],
        Some(pack) => {
            vec![server.put(&Route::new(&["settings", pack]), &values::to_send(&args.values)?)?]
        }
        None => list(&server.get(&Route::new(&["settings"]))?, "packs").to_vec(),
    };
    if args.ask.json {
        match (&args.pack, all.as_slice()) {
            (Some(_), [one]) => print::line(&format!("{one:#}")),
            _ => print::line(&format!("{:#}", json!({ "items": all }))),
        }
        return Ok(exit::DONE);
    }
    all.iter().filter(|it| args.pack.is_some() || !list(it, "items").is_empty()).for_each(tell);
    Ok(exit::DONE)
}

/// A value within a column; `--json` has the whole.
fn short(value: &str) -> String {
    match value.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

fn tell(told: &Json) {
    print::line(&painted_data(text(told, "pack"), Colour::Bold));
    let mut table = Table::new(&["  SETTING", "VALUE", "FROM", "ABOUT"]);
    for it in list(told, "items") {
        table.row([
            format!("  {}", text(it, "name")),
            short(&value(it.get("value").unwrap_or(&Json::Null))),
            text(it, "origin").to_owned(),
            text(it, "about").to_owned(),
        ]);
    }
    table.show();
}
