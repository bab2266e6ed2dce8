//! Files that Trackside writes into a data folder beside the databases: a `.gitignore`, so that `git add -A` never
//! stages tokens or databases, and the JSON Schemas, so that editors complete definitions without the network.

use std::path::Path;

use crate::args::SchemaKind;
use crate::commands::schema;
use crate::folder::CliError;
use crate::print;

const GITIGNORE: &str = ".gitignore";
const SCHEMAS: &str = "schema";

const IGNORED: &str = "\
# Written by Trackside. Tokens and databases stay out of git; the schemas for editors do not.
*
!.gitignore
!schema/
!schema/*.json
";

const KINDS: [(&str, SchemaKind); 4] = [
    ("lifecycle.json", SchemaKind::Lifecycle),
    ("pack.json", SchemaKind::Pack),
    ("scenario.json", SchemaKind::Scenario),
    ("stage.json", SchemaKind::Stage),
];

/// Writes both; the folder is created if it does not exist, readable by its owner only.
pub(crate) fn write(folder: &Path) -> Result<(), CliError> {
    write_gitignore(folder)?;
    let schemas = folder.join(SCHEMAS);
    create_folder(&schemas)?;
    for (name, kind) in KINDS {
        let path = schemas.join(name);
        let text = format!("{:#}\n", schema::of(kind));
        if std::fs::read_to_string(&path).is_ok_and(|it| it == text) {
            continue;
        }
        std::fs::write(&path, text).map_err(|error| CliError::unwritten(&path, &error))?;
    }
    Ok(())
}

/// Writes both; a failure is printed as a warning, because a project works without these files.
pub(crate) fn write_or_warn(folder: &Path) {
    if let Err(stopped) = write(folder) {
        print::message(styled!("warning: {}", stopped.why));
    }
}

/// Writes the `.gitignore`. One from elsewhere keeps its lines, and ours come after them, so that they decide.
pub(crate) fn write_gitignore(folder: &Path) -> Result<(), CliError> {
    create_folder(folder)?;
    let path = folder.join(GITIGNORE);
    let mut text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CliError::unwritten(&path, &error)),
    };
    if keeps_secrets_out(&text) {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(IGNORED);
    std::fs::write(&path, text).map_err(|error| CliError::unwritten(&path, &error))
}

/// Whether this `.gitignore` ignores everything except, at most, the files that we want in git.
fn keeps_secrets_out(text: &str) -> bool {
    let lines = text.lines().map(str::trim_end).rev();
    let is_ours = |it: &str| !it.starts_with('!') || IGNORED.lines().any(|ours| ours == it);
    // The last match decides: from the end back to the line that ignores everything.
    lines.take_while(|it| *it != "*").all(is_ours) && text.lines().any(|it| it.trim_end() == "*")
}

/// Whether a folder counts as empty although it contains this file: it is one of those written here.
pub(crate) fn is_project_file(name: &std::ffi::OsStr) -> bool {
    name == GITIGNORE || name == SCHEMAS
}

/// Removes these files, so that a project can be restored into the folder. `write` creates them again.
pub(crate) fn remove(folder: &Path) {
    let _ = std::fs::remove_file(folder.join(GITIGNORE));
    for (name, _) in KINDS {
        let _ = std::fs::remove_file(folder.join(SCHEMAS).join(name));
    }
    let _ = std::fs::remove_dir(folder.join(SCHEMAS));
}

fn create_folder(folder: &Path) -> Result<(), CliError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| CliError::unwritten(folder, &error))
}
