//! The data folder, for commands that run without a server.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind, CredentialKind};
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::{CatalogError, Failure, Options, PackSource, ProjectClock, Runtime, StartError};
use trackside_server::OWNER;
use trackside_store::{Reader, Sqlite, SqliteOptions, Store, StoreError};

use crate::args::DataArgs;
use crate::print::{self, ProgressBar};
use crate::server_lookup::{Credentials, ServerConnection};
use crate::styled::{BREAK, Styled};
use crate::{exit, files, packs, person, project_files};

/// Why a command fails and what to do next, with the exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) why: Styled,
    pub(crate) code: u8,
}

impl CliError {
    pub(crate) fn usage(why: impl Into<Styled>) -> Self {
        Self { why: why.into(), code: exit::USAGE }
    }

    pub(crate) fn refused(why: impl Into<Styled>) -> Self {
        Self { why: why.into(), code: exit::REFUSED }
    }

    pub(crate) fn unreachable(why: impl Into<Styled>) -> Self {
        Self { why: why.into(), code: exit::UNREACHABLE }
    }

    pub(crate) fn forbidden(why: impl Into<Styled>) -> Self {
        Self { why: why.into(), code: exit::FORBIDDEN }
    }

    /// For a file or folder that cannot be written.
    pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Self {
        Self::unreachable(files::unwritten(path, error))
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        print::message(self.why);
        self.code
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::unreachable(Styled::block(&error.to_string()))
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        Self::unreachable(Styled::block(&failure.to_string()))
    }
}

impl From<CatalogError> for CliError {
    fn from(error: CatalogError) -> Self {
        Self::refused(Styled::block(&error.to_string()))
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(it) => it.into(),
            StartError::Failure(it) => it.into(),
            StartError::Catalog(it) => it.into(),
        }
    }
}

impl From<packs::NoPack> for CliError {
    fn from(packs::NoPack(why): packs::NoPack) -> Self {
        Self::usage(why)
    }
}

/// Fails unless a folder is free for a new project: it does not exist, or holds only files that `project_files` writes.
pub(crate) fn must_be_free(folder: &Path) -> Result<(), CliError> {
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let mut names = entries.flatten().map(|it| it.file_name());
            if names.all(|it| project_files::is_project_file(&it)) {
                return Ok(());
            }
            Err(CliError::usage(format!("{} is not empty. Name another folder", folder.display())))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(CliError::usage(format!("{} is a file. Name a folder", folder.display())))
        }
        // Other errors are reported when the folder is written.
        Err(_) => Ok(()),
    }
}

/// Opens an existing folder as its only owner. `doing` is the owner that other processes see.
pub(crate) fn open(data: &DataArgs, doing: &str) -> Result<Sqlite, CliError> {
    must_be_there(&data.data)?;
    let store = Sqlite::open(&data.data, owned_by(doing))?;
    if let Some(aside) = store.set_aside() {
        print::message(styled!(
            "state.db was damaged and has been rebuilt from the journal; the damaged file is now {}. Nothing is lost, but check the disk: see docs/operating/recovery.md",
            aside.display()
        ));
    }
    Ok(store)
}

/// Store options for this command.
pub(crate) fn owned_by(doing: &str) -> SqliteOptions {
    SqliteOptions { owner: Some(format!("trackside {doing}")), ..SqliteOptions::default() }
}

/// A reader, beside the owner of the folder.
pub(crate) fn open_to_read(data: &DataArgs) -> Result<Box<dyn Reader>, CliError> {
    must_be_there(&data.data)?;
    Ok(Sqlite::open_to_read(&data.data, SqliteOptions::default())?)
}

/// The server that owns the folder, if any. Commands that need the folder ask that server.
pub(crate) fn server_of(data: &DataArgs) -> Result<Option<ServerConnection>, CliError> {
    match Sqlite::owner(&data.data)? {
        Some(owner) if SERVERS.iter().any(|it| owner.starts_with(it)) => {
            ServerConnection::of(data.data.clone(), !data.is_found, Credentials::Any).map(Some)
        }
        _ => Ok(None),
    }
}

/// Owner names of servers.
const SERVERS: &[&str] = &["trackside up", "trackside demo"];

/// The error for a command that needs a folder owned by a server.
pub(crate) fn needs_the_folder(server: &ServerConnection, what: &str) -> CliError {
    let why = match server.folder() {
        Some(folder) => {
            let folder = folder.display();
            let start = format!(" with: trackside up --data {folder}");
            let start = if person::may_start_server() { start.as_str() } else { "" };
            format!(
                "{what} needs exclusive access to {folder}, but a server is using it. Stop the server, run the command again, then restart the server{start}"
            )
        }
        None => format!(
            "{what} needs exclusive access to the data folder, but TRACKSIDE_URL names a server, {}. Stop that server and run the command on its machine, with --data DIR and without TRACKSIDE_URL",
            server.place()
        ),
    };
    CliError::unreachable(why)
}

/// Whether the folder contains a project.
pub(crate) fn is_project(data: &DataArgs) -> bool {
    data.data.join("journal.db").is_file()
}

fn must_be_there(folder: &Path) -> Result<(), CliError> {
    if folder.join("journal.db").is_file() {
        return Ok(());
    }
    // Other errors are reported when the file is opened.
    if std::fs::metadata(folder.join("journal.db")).is_err_and(|it| it.kind() != ErrorKind::NotFound) {
        return Ok(());
    }
    let shown = folder.display();
    let why = match folder.is_dir() {
        true => styled!(
            "{shown} has no project yet (no journal.db). {}{BREAK}Or name the folder of another project with --data",
            person::start_server(&format!("trackside up --data {shown}"))
        ),
        false => styled!("{shown} does not exist. Name the folder of a project with --data"),
    };
    Err(CliError::unreachable(why))
}

/// Records the project's clock for commands that run without a server.
pub(crate) fn note_clock(folder: &Path, clock: &ProjectClock) -> Result<(), CliError> {
    clock.note(folder).map_err(|it| CliError::unwritten(folder, &it))
}

/// Copies the clock of a folder.
pub(crate) fn same_clock(from: &Path, to: &Path) -> Result<(), CliError> {
    match ProjectClock::is_manual_in(from) {
        true => note_clock(to, &ProjectClock::manual(ProjectClock::noted_in(from).unwrap_or_default())),
        false => Ok(()),
    }
}

/// The clock of a project. A manual clock keeps its time.
pub(crate) fn clock(data: &DataArgs, store: &Sqlite) -> Result<ProjectClock, CliError> {
    match ProjectClock::is_manual_in(&data.data) {
        true => Ok(ProjectClock::manual(
            stands_at(&data.data, store)?.unwrap_or_else(|| ProjectClock::System.now()),
        )),
        false => Ok(ProjectClock::System),
    }
}

/// Project time: the time of the last entry or, if later, of the manual clock.
pub(crate) fn stands_at(folder: &Path, store: &Sqlite) -> Result<Option<Timestamp>, CliError> {
    Ok(store.reader()?.head()?.at.max(ProjectClock::noted_in(folder)))
}

/// Starts the project with its clock: timers that became due since it stopped fire now.
pub(crate) fn start(data: &DataArgs, store: &Arc<Sqlite>, packs: &[PackSource]) -> Result<Runtime, CliError> {
    start_by(store, packs, clock(data, store)?)
}

/// Starts the project with a clock fixed at the last entry, so that no timer fires.
pub(crate) fn start_standing(store: &Arc<Sqlite>, packs: &[PackSource]) -> Result<Runtime, CliError> {
    let last = store.reader()?.head()?.at;
    start_by(store, packs, ProjectClock::manual(last.unwrap_or_else(|| ProjectClock::System.now())))
}

fn start_by(store: &Arc<Sqlite>, packs: &[PackSource], clock: ProjectClock) -> Result<Runtime, CliError> {
    let bar = ProgressBar::new("catching up");
    let options = Options { clock, sweep_every: None, ..Options::default() };
    let started = Runtime::start_telling(store.clone(), packs, options, &mut |done, all| {
        bar.show(share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    Ok(started?)
}

/// The finished share.
pub(crate) fn share(done: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { done as f64 / all as f64 }
}

/// Fails unless a person typed this command at a terminal, because it would act as the owner without a server.
pub(crate) fn check_owner(what: &str) -> Result<(), CliError> {
    person::check_without_server().map_err(|it| {
        CliError::forbidden(styled!(
            "{what} acts as the owner, which only a person at a terminal may do, and {}.{BREAK}\
             Ask the owner to run it, or to start the server: then set TRACKSIDE_TOKEN to a token of your own",
            it.reason()
        ))
    })
}

/// The owner, for a command that works on a folder without a server. Every such command gets its actor here.
pub(crate) fn owner(what: &str) -> Result<Actor, CliError> {
    check_owner(&format!("{what} without a server"))?;
    Ok(creator().authenticated_by(Some(CredentialKind::Terminal)))
}

/// The actor that creates a project, of which it is the owner.
pub(crate) fn creator() -> Actor {
    Actor::new(OWNER, ActorKind::Human).with_roles(["admin"])
}

/// A number with its noun: `1 entry`, `2 entries`.
pub(crate) fn count_with_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
