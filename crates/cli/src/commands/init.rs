//! `trackside init`: a folder to start from, with a pack of five states.

use std::path::{Path, PathBuf};

use crate::args::InitArgs;
use crate::folder::CliError;
use crate::{exit, print, project_files, server_lookup};

/// The path of a file inside the pack, and its text; `starter` in it becomes the name of the pack.
const FILES: [(&str, &str); 3] = [
    ("pack.yaml", include_str!("../starter/pack.yaml")),
    ("lifecycles/task.yaml", include_str!("../starter/task.yaml")),
    ("scenarios/task.yaml", include_str!("../starter/scenario.yaml")),
];

pub(crate) fn run(args: &InitArgs) -> u8 {
    match init(args) {
        Ok(()) => exit::DONE,
        Err(stopped) => stopped.report(),
    }
}

fn init(args: &InitArgs) -> Result<(), CliError> {
    let project = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let name = name(&project);
    let pack = project.join("packs").join(&name);
    if pack.exists() {
        let why = format!("{} already exists and was not changed. Choose another folder", pack.display());
        return Err(CliError::usage(why));
    }
    for (path, text) in FILES {
        write(&pack.join(path), &text.replace("starter", &name))?;
    }
    project_files::write(&project.join(server_lookup::USUAL))?;
    let readme = project.join("README.md");
    if !readme.exists() {
        write(&readme, &about(&name))?;
    }
    print::line(pack.display().to_string());
    let shown = pack.display();
    // Coding agents read this too: it names no command that starts a server.
    print::message(styled!(
        "Created a pack with five states. Next: trackside test {shown}. On a running server, install it with: trackside pack add {shown}"
    ));
    Ok(())
}

/// Five lines.
fn about(name: &str) -> String {
    format!(
        "# {name}\n\n- `packs/{name}` defines what a task may do. Change it, then run `trackside test packs` and `trackside check packs`.\n- A person starts the server here with `trackside up`. In another terminal, `trackside pack add packs/{name}` installs the pack.\n- `trackside new {name}.task title='Try it'` creates a task; `trackside list {name}.task` and `trackside explain` show where it stands.\n"
    )
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| CliError::unwritten(path, &error))
}

/// The name of a pack, after the folder it is in.
fn name(project: &Path) -> String {
    let whole = std::path::absolute(project).unwrap_or_else(|_| project.to_owned());
    let folder = whole.file_name().map(|it| it.to_string_lossy().to_lowercase()).unwrap_or_default();
    let kept: String = folder.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
    let name = kept.trim_matches('_').trim_start_matches(|it: char| it.is_ascii_digit() || it == '_');
    let builtin = crate::builtin::is_taken(name);
    match name {
        "" => "work".to_owned(),
        // The names of built-in packs are reserved.
        name if builtin => format!("my_{name}"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_named_after_its_folder() {
        for (folder, expected) in [
            ("/a/Shop", "shop"),
            ("/a/my shop.2", "my_shop_2"),
            ("/a/9-lives", "lives"),
            ("/", "work"),
            ("/a/build", "my_build"),
            ("/a/access", "my_access"),
            ("/a/fleet", "my_fleet"),
        ] {
            assert_eq!(name(Path::new(folder)), expected, "{folder}");
        }
    }
}
