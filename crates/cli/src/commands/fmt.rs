//! `trackside fmt`: one way to write definition files.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackside_lifecycle::format::format;
use trackside_lifecycle::printable::is_printable;
use trackside_lifecycle::source::{FileId, Problems, Sources};

use crate::args::FmtArgs;
use crate::print::{self, Colour, painted_data};
use crate::{difference, exit, files, packs};

pub(crate) fn run(args: &FmtArgs) -> u8 {
    if args.stdin {
        return stdin(args);
    }
    let files = match packs::definitions(&args.paths) {
        Ok(files) => files,
        Err(why) => {
            print::message(&why.0);
            return exit::USAGE;
        }
    };
    let mut sources = Sources::default();
    let results: Vec<Formatted> = files.iter().map(|it| file(it, args.check, &mut sources)).collect();
    if args.json {
        let all: Vec<Json> = results.iter().map(|it| it.to_json(&sources)).collect();
        print::json(&json!({ "files": all }));
    } else {
        results.iter().for_each(|it| it.show(&sources, args.check));
    }
    let changed = results.iter().filter(|it| it.changed()).count();
    let refused = results.iter().filter(|it| it.refused()).count();
    print::message(summary(results.len(), changed, refused, args.check));
    if refused > 0 || (args.check && changed > 0) { exit::REFUSED } else { exit::DONE }
}

fn summary(files: usize, changed: usize, refused: usize, check: bool) -> String {
    let mut summary = match (changed, check) {
        (0, _) => format!("{} formatted already", file_count(files - refused)),
        (_, false) => format!("{changed} of {} formatted", file_count(files)),
        (_, true) => format!("{changed} of {} not formatted; run `trackside fmt`", file_count(files)),
    };
    if refused > 0 {
        summary.push_str(&format!("; {refused} left alone"));
    }
    summary
}

fn file_count(files: usize) -> String {
    format!("{files} {}", if files == 1 { "file" } else { "files" })
}

/// The result for one file.
struct Formatted {
    path: PathBuf,
    outcome: Outcome,
}

enum Outcome {
    AsItWas,
    /// With the lines that differ.
    Changed(Vec<String>),
    Mistakes(Problems),
    /// It cannot be read or written.
    Failed(String),
}

fn file(path: &Path, check: bool, sources: &mut Sources) -> Formatted {
    let outcome = match packs::add(path, sources) {
        Ok(file) => format_file(path, check, sources, file),
        Err(why) => Outcome::Failed(why.0),
    };
    Formatted { path: path.to_owned(), outcome }
}

fn format_file(path: &Path, check: bool, sources: &Sources, file: FileId) -> Outcome {
    let before = sources.text(file);
    match format(sources, file) {
        Err(problems) => Outcome::Mistakes(problems),
        Ok(after) if after == before => Outcome::AsItWas,
        Ok(after) => match if check { Ok(()) } else { replace(path, &after) } {
            Ok(()) => Outcome::Changed(difference::of(before, &after)),
            Err(error) => Outcome::Failed(files::unwritten(path, &error)),
        },
    }
}

/// Writes a temporary file and renames it, so that the file is never half written.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// For editors: prints only the text, and nothing if it has mistakes.
fn stdin(args: &FmtArgs) -> u8 {
    const NAME: &str = "<stdin>";
    let mut bytes = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut bytes) {
        print::message(styled!("{NAME}: {}", files::reading(&error)));
        return exit::REFUSED;
    }
    let Ok(before) = String::from_utf8(bytes) else {
        print::message(styled!("{NAME}: is not UTF-8 text"));
        return exit::REFUSED;
    };
    let mut sources = Sources::default();
    let file = sources.add(NAME, before.clone());
    let after = format(&sources, file);
    let outcome = match &after {
        Err(problems) => Outcome::Mistakes(problems.clone()),
        Ok(after) if *after == before => Outcome::AsItWas,
        Ok(after) => Outcome::Changed(difference::of(&before, after)),
    };
    let result = Formatted { path: NAME.into(), outcome };
    if args.json {
        let mut json = result.to_json(&sources);
        if let (Json::Object(map), Ok(text)) = (&mut json, &after) {
            map.insert("text".to_owned(), json!(text));
        }
        print::json(&json);
    } else if args.check || result.refused() {
        result.show(&sources, args.check);
    } else if let Ok(text) = &after {
        if let Some((line, it)) = unprintable(text) {
            print::message(styled!(
                "Line {line} contains {it:?}, which is not printed as it is. Write it as an escape in double quotes"
            ));
            return exit::REFUSED;
        }
        print::text(text);
    }
    if result.refused() || (args.check && result.changed()) { exit::REFUSED } else { exit::DONE }
}

/// The first character that printing would change, with its line.
fn unprintable(text: &str) -> Option<(usize, char)> {
    let strange = |line: &str| line.chars().find(|it| *it != '\t' && !is_printable(*it));
    text.split('\n').enumerate().find_map(|(at, line)| Some((at + 1, strange(line)?)))
}

impl Formatted {
    fn changed(&self) -> bool {
        matches!(self.outcome, Outcome::Changed(_))
    }

    fn refused(&self) -> bool {
        matches!(self.outcome, Outcome::Mistakes(_) | Outcome::Failed(_))
    }

    fn show(&self, sources: &Sources, check: bool) {
        match &self.outcome {
            Outcome::AsItWas => {}
            Outcome::Changed(_) if !check => print::line(self.path.display().to_string()),
            Outcome::Changed(lines) => {
                print::line(painted_data(self.path.display().to_string(), Colour::Bold));
                for line in lines {
                    print::line(match line.chars().next() {
                        Some('-') => painted_data(line, Colour::Red),
                        Some('+') => painted_data(line, Colour::Green),
                        Some('@' | '\\') => painted_data(line, Colour::Dim),
                        _ => line.into(),
                    });
                }
            }
            Outcome::Mistakes(problems) => print::problems(problems, sources),
            Outcome::Failed(why) => print::message(why),
        }
    }

    fn to_json(&self, sources: &Sources) -> Json {
        let mut json = json!({ "file": self.path.display().to_string(), "changed": self.changed() });
        if let Json::Object(map) = &mut json {
            match &self.outcome {
                Outcome::AsItWas => {}
                Outcome::Changed(lines) => {
                    map.insert("difference".to_owned(), json!(lines));
                }
                Outcome::Mistakes(problems) => {
                    map.insert("problems".to_owned(), problems.to_json(sources));
                }
                Outcome::Failed(why) => {
                    map.insert("failed".to_owned(), json!(why));
                }
            }
        }
        json
    }
}
