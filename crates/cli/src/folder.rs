//! The folder of a project, as commands find it while no server runs.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::key::is_valid_id;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::{CatalogError, Clock, Failure, Options, PackSource, Runtime, StartError};
use trackside_store::{Reader, Sqlite, SqliteOptions, Store, StoreError};

use crate::args::DataArgs;
use crate::print::{self, Progress};
use crate::reach::Server;
use crate::{exit, files, packs};

/// Why a command ends early, in words that say what to do next, and with which exit code.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) why: String,
    pub(crate) code: u8,
}

impl Stopped {
    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self { why: why.into(), code: exit::USAGE }
    }

    /// Tells whoever typed the command.
    pub(crate) fn told(self) -> u8 {
        print::message(&self.why);
        self.code
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self { why: error.to_string(), code: exit::UNREACHABLE }
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { why: failure.to_string(), code: exit::UNREACHABLE }
    }
}

impl From<CatalogError> for Stopped {
    fn from(error: CatalogError) -> Self {
        Self { why: error.to_string(), code: exit::REFUSED }
    }
}

impl From<StartError> for Stopped {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(it) => it.into(),
            StartError::Failure(it) => it.into(),
            StartError::Catalog(it) => it.into(),
        }
    }
}

impl From<packs::NoPack> for Stopped {
    fn from(packs::NoPack(why): packs::NoPack) -> Self {
        Self::usage(why)
    }
}

/// Whether something may be put into a folder: it is not there, or there is nothing in it.
pub(crate) fn must_be_free(folder: &Path) -> Result<(), Stopped> {
    match std::fs::read_dir(folder).map(|mut it| it.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let why = format!("{}: there is something in it already. Name another folder", folder.display());
            Err(Stopped::usage(why))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(Stopped::usage(format!("{} is a file. Name a folder", folder.display())))
        }
        // What else is wrong with it is told by whoever writes there.
        Err(_) => Ok(()),
    }
}

/// Takes a folder that is there, as its only owner. `doing` is what another process is told.
pub(crate) fn open(data: &DataArgs, doing: &str) -> Result<Sqlite, Stopped> {
    must_be_there(&data.data)?;
    let store = Sqlite::open(&data.data, owned_by(doing))?;
    if let Some(aside) = store.set_aside() {
        print::message(&format!(
            "state.db was damaged and is made anew from the journal; the damaged one is kept as {}. Nothing is lost, but look after the disk: see docs/operating/recovery.md",
            aside.display()
        ));
    }
    Ok(store)
}

/// Settings of a folder that is taken for this command.
pub(crate) fn owned_by(doing: &str) -> SqliteOptions {
    SqliteOptions { owner: Some(format!("trackside {doing}")), ..SqliteOptions::default() }
}

/// Somebody who only looks, beside whoever has the folder.
pub(crate) fn look(data: &DataArgs) -> Result<Box<dyn Reader>, Stopped> {
    must_be_there(&data.data)?;
    Ok(Sqlite::open_to_read(&data.data, SqliteOptions::default())?)
}

/// The server that has the folder now, if one has: what needs the folder is asked of it then.
pub(crate) fn server_of(data: &DataArgs) -> Result<Option<Server>, Stopped> {
    match Sqlite::owner(&data.data)? {
        Some(owner) if SERVERS.iter().any(|it| owner.starts_with(it)) => {
            Server::of(data.data.clone()).map(Some)
        }
        _ => Ok(None),
    }
}

/// How servers call themselves where they take a folder.
const SERVERS: &[&str] = &["trackside up", "trackside demo"];

/// Why something cannot be asked of the server that has the folder.
pub(crate) fn needs_the_folder(server: &Server, what: &str) -> Stopped {
    let why = match server.folder() {
        Some(folder) => {
            let folder = folder.display();
            format!(
                "{what} needs {folder} for itself, and a server has it. Stop the server first, then start it again with: trackside up --data {folder}"
            )
        }
        None => format!(
            "{what} needs the folder of the project for itself, and TRACKSIDE_URL names a server, {}. Stop that server, and ask on its machine with --data DIR and without TRACKSIDE_URL",
            server.place()
        ),
    };
    Stopped { why, code: exit::UNREACHABLE }
}

/// Whether there is a project in it.
pub(crate) fn is_project(data: &DataArgs) -> bool {
    data.data.join("journal.db").is_file()
}

fn must_be_there(folder: &Path) -> Result<(), Stopped> {
    if folder.join("journal.db").is_file() {
        return Ok(());
    }
    // What cannot be seen is told by whoever opens it.
    if std::fs::metadata(folder.join("journal.db")).is_err_and(|it| it.kind() != ErrorKind::NotFound) {
        return Ok(());
    }
    let shown = folder.display();
    let why = match folder.is_dir() {
        true => format!("{shown} holds no project (no journal.db): name the folder of one with --data"),
        false => format!("{shown}: there is no such folder. Name the folder of a project with --data"),
    };
    Err(Stopped { why, code: exit::UNREACHABLE })
}

/// Notes by which clock a project lives, for those who come while no server runs.
pub(crate) fn note_clock(folder: &Path, clock: &Clock) -> Result<(), Stopped> {
    clock.note(folder).map_err(|it| Stopped { why: files::unwritten(folder, &it), code: exit::UNREACHABLE })
}

/// A copy of a folder lives by the same clock.
pub(crate) fn same_clock(from: &Path, to: &Path) -> Result<(), Stopped> {
    match Clock::is_manual_in(from) {
        true => note_clock(to, &Clock::manual(Clock::noted_in(from).unwrap_or_default())),
        false => Ok(()),
    }
}

/// The clock of a project: one that is moved by hand stands where it was moved to.
pub(crate) fn clock(data: &DataArgs, store: &Sqlite) -> Result<Clock, Stopped> {
    match Clock::is_manual_in(&data.data) {
        true => Ok(Clock::manual(stands_at(&data.data, store)?.unwrap_or_else(|| Clock::System.now()))),
        false => Ok(Clock::System),
    }
}

/// How far the time of a project has come: where its journal ends or, if that is further, where its clock was moved to.
pub(crate) fn stands_at(folder: &Path, store: &Sqlite) -> Result<Option<Timestamp>, Stopped> {
    Ok(store.reader()?.head()?.at.max(Clock::noted_in(folder)))
}

/// Starts the project by its clock: what became due since it was stopped happens now, late.
pub(crate) fn start(data: &DataArgs, store: &Arc<Sqlite>, packs: &[PackSource]) -> Result<Runtime, Stopped> {
    start_by(store, packs, clock(data, store)?)
}

/// Starts it with a clock that stands where the journal ends, so that nothing becomes due.
pub(crate) fn start_standing(store: &Arc<Sqlite>, packs: &[PackSource]) -> Result<Runtime, Stopped> {
    let last = store.reader()?.head()?.at;
    start_by(store, packs, Clock::manual(last.unwrap_or_else(|| Clock::System.now())))
}

fn start_by(store: &Arc<Sqlite>, packs: &[PackSource], clock: Clock) -> Result<Runtime, Stopped> {
    let bar = Progress::new("catching up");
    let options = Options { clock, sweep_every: None, ..Options::default() };
    let started = Runtime::start_telling(store.clone(), packs, options, &mut |done, all| {
        bar.show(share(done, all), &format!("{done} of {all} entries"));
    });
    bar.done();
    Ok(started?)
}

/// How much of it is done.
pub(crate) fn share(done: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { done as f64 / all as f64 }
}

/// Whoever types commands on this machine and may write the folder: a person with role admin.
pub(crate) fn owner() -> Actor {
    let known = ["USER", "LOGNAME", "USERNAME"].iter().filter_map(|it| std::env::var(it).ok());
    let name = known.into_iter().find(|it| is_valid_id(it)).unwrap_or_else(|| "owner".to_owned());
    Actor::new(name, ActorKind::Human).with_roles(["admin"])
}

/// A number with its noun: `1 entry`, `2 entries`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
