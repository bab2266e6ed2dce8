//! Tables inside hand-written pages of `docs/reference`, generated from the tables in the code.
//!
//! A table is between `<!-- table: NAME (made by cargo xtask reference) -->` and `<!-- end of table -->`.

use std::fmt::Write as _;
use std::{fs, io};

use trackside_engine::refusal::{Code, ConditionCode};

use crate::tree::Tree;

/// Page, name of the table in it, and its rows.
type Table = (&'static str, &'static str, fn() -> String);

const TABLES: &[Table] = &[
    ("docs/reference/refusals.md", "refusal codes", refusal_codes),
    ("docs/reference/refusals.md", "condition codes", condition_codes),
];

/// Writes every table into its page.
pub fn write(tree: &Tree) -> io::Result<()> {
    TABLES.iter().try_for_each(|table| {
        let path = tree.root().join(table.0);
        let page = fs::read_to_string(&path)?;
        let page = fill_table(&page, table).ok_or_else(|| io::Error::other(missing(table)))?;
        fs::write(path, page)
    })
}

fn missing((page, name, _): &Table) -> String {
    format!("{page} has no place for the table of {name}")
}

/// The page with the table as the code has it now.
fn fill_table(page: &str, (_, name, rows): &Table) -> Option<String> {
    let start = format!("<!-- table: {name} (made by cargo xtask reference) -->\n");
    let (before, rest) = page.split_once(&start)?;
    let (_, after) = rest.split_once("<!-- end of table -->")?;
    Some(format!("{before}{start}{}<!-- end of table -->{after}", rows()))
}

fn refusal_codes() -> String {
    let mut out = "| code | meaning | stage | HTTP |\n|---|---|---|---|\n".to_owned();
    for code in Code::ALL {
        let stages: Vec<&str> = code.stages().iter().map(|it| it.as_str()).collect();
        let (meaning, status) = (code.meaning(), code.http_status());
        let _ = writeln!(out, "| `{code}` | {meaning} | {} | {status} |", stages.join(", "));
    }
    out
}

fn condition_codes() -> String {
    let mut out = "| code | meaning | refusal |\n|---|---|---|\n".to_owned();
    for code in ConditionCode::OWN {
        let _ = writeln!(out, "| `{code}` | {} | `{}` |", code.meaning(), code.refusal());
    }
    out
}

#[cfg(test)]
mod tests {
    use trackside_engine::event::EventKind;

    use super::*;

    #[test]
    fn every_table_is_as_the_code_has_it() {
        for table in TABLES {
            let page = fs::read_to_string(Tree::here().root().join(table.0)).unwrap_or_default();
            let filled = fill_table(&page, table).unwrap_or_else(|| panic!("{}", missing(table)));
            assert!(page == filled, "{} differs from the code: run `cargo xtask reference`", table.0);
        }
    }

    #[test]
    fn the_journal_page_explains_every_event_kind_and_no_other() {
        let page =
            fs::read_to_string(Tree::here().root().join("docs/reference/journal.md")).unwrap_or_default();
        let table =
            page.split("## Event kinds").nth(1).and_then(|it| it.split("\n## ").next()).unwrap_or_default();
        let firsts = table.lines().filter_map(|it| it.split('|').nth(1));
        let mut named: Vec<&str> = firsts.flat_map(|it| it.split('`').skip(1).step_by(2)).collect();
        let mut kinds: Vec<&str> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
        named.sort_unstable();
        kinds.sort_unstable();
        assert_eq!(named, kinds);
    }
}
