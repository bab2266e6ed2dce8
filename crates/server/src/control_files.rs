//! Control files: files in the project folder by which people stop agents, as packs declare them with `control`.
//!
//! A file and the entities that it stands for are kept the same. A file that appears or goes fires an event; an event
//! that others fire creates or removes the file. The last observation is stored in the data folder, so that a file that
//! was removed while the server was down counts as removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tracing::{info, warn};
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Fire, TransitionRef};
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_lifecycle::model::{ControlFile, Pack};
use trackside_lifecycle::name::Name;
use trackside_runtime::read::NamedAnswer;
use trackside_runtime::{CommandAnswer, ReadError, Reads};

use crate::app::App;
use crate::problem::Refused;
use crate::rest::submit;

/// The actor of the events.
const ACTOR: &str = "control-file";
/// The folders of a project that are watched.
const FOLDERS: [&str; 2] = [".trackside", ".liza"];
/// The pause between two looks at the files.
const LOOK: Duration = Duration::from_millis(400);
/// The longest time between two runs of the queries: some of them depend on the time.
const ASK: Duration = Duration::from_secs(5);
/// The file in the data folder with the last observation.
const MEMORY: &str = "control-files.json";
/// The name of the warning about files that could not be applied.
const WARNING: &str = "control-files";
/// A larger file of observations is not read.
const LONGEST_MEMORY: u64 = 64 * 1024;

/// Watches the files of a project until the server stops.
pub(crate) async fn run(app: App, root: PathBuf) {
    let mut stopping = app.stopping.subscribe();
    let mut watch = Watch::new(app, root);
    loop {
        watch.look().await;
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
    }
}

/// The last observation of one control file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Seen {
    /// The packs that have an entity which stands for the file.
    held: BTreeSet<Name>,
    /// Whether the file was in each folder.
    present: [bool; 2],
    /// The packs in which the present file still has to have its effect.
    pending: BTreeSet<Name>,
    /// The owner of the file when it was last there.
    owner: Option<String>,
}

/// The declarations of one control file: one for each pack that has it.
type Declared = Vec<(Arc<Pack>, ControlFile)>;

struct Watch {
    app: App,
    root: PathBuf,
    seen: BTreeMap<Name, Seen>,
    /// The number of the last journal entry when the queries ran, and when that was.
    asked: Option<(u64, Instant)>,
    /// Why files could not be applied, by their names; each reason is logged once.
    refused: BTreeMap<Name, String>,
}

/// The content of the place of a control file.
enum Place {
    Missing,
    File(Box<Metadata>),
    /// Something else, or unreadable: it is left alone.
    Unusable(String),
}

impl Watch {
    fn new(app: App, root: PathBuf) -> Self {
        let memory = app.options.data.join(MEMORY);
        let short = fs::metadata(&memory).is_ok_and(|it| it.len() <= LONGEST_MEMORY);
        let text = short.then(|| fs::read_to_string(&memory).ok()).flatten().unwrap_or_default();
        let seen = serde_json::from_str(&text).unwrap_or_default();
        Self { app, root, seen, asked: None, refused: BTreeMap::new() }
    }

    async fn look(&mut self) {
        let seq = self.app.reads.seq();
        let asks = self.asked.is_none_or(|(at, when)| at != seq || when.elapsed() >= ASK);
        let law = self.app.runtime.law();
        let mut files: BTreeMap<Name, Declared> = BTreeMap::new();
        for pack in law.packs() {
            for file in &pack.control {
                files.entry(file.name.clone()).or_default().push((pack.clone(), file.clone()));
            }
        }
        let before = self.seen.clone();
        for (name, declared) in &files {
            if let Err(why) = self.look_at(name, declared, asks).await {
                self.report(name, format!("it could not be evaluated: {}", why.0.detail));
            }
        }
        if asks {
            self.asked = Some((seq, Instant::now()));
        }
        if self.seen != before {
            self.remember();
        }
    }

    async fn look_at(&mut self, name: &Name, declared: &Declared, asks: bool) -> Result<(), Refused> {
        let mut seen = self.seen.get(name).cloned().unwrap_or_default();
        let mut present = seen.present;
        let mut is_clean = true;
        for (folder, present) in FOLDERS.iter().zip(&mut present) {
            match place(&self.root.join(folder).join(&**name)) {
                Place::Missing => *present = false,
                Place::File(found) => {
                    *present = true;
                    seen.owner = Some(owner_of(&found));
                }
                Place::Unusable(why) => {
                    is_clean = false;
                    self.report(name, why);
                }
            }
        }
        let held = if asks { self.held(declared).await? } else { seen.held.clone() };
        if held != seen.held {
            // The entities have changed: the file follows them.
            seen.present = self.write_files(name, declared, !held.is_empty());
            seen.pending.clear();
            seen.held = held;
        } else if present != seen.present {
            let appears = present.iter().zip(&seen.present).any(|(now, before)| *now && !before);
            let moved = match appears {
                true => {
                    seen.pending = declared
                        .iter()
                        .map(|(pack, _)| pack.name.clone())
                        .filter(|it| !held.contains(it))
                        .collect();
                    self.create(name, declared, &mut seen).await? || !held.is_empty()
                }
                false => {
                    seen.pending.clear();
                    self.undo(name, declared, &held, seen.owner.as_deref()).await?
                }
            };
            seen.held = self.held(declared).await?;
            seen.present =
                if moved { self.write_files(name, declared, !seen.held.is_empty()) } else { present };
        } else if asks && present.contains(&true) && !seen.pending.is_empty() {
            // It was refused before: something may have changed since.
            if self.create(name, declared, &mut seen).await? {
                seen.held = self.held(declared).await?;
                seen.present = self.write_files(name, declared, !seen.held.is_empty());
            }
        } else if is_clean && !present.contains(&true) && self.refused.remove(name).is_some() {
            self.warn_of_refused();
        }
        self.seen.insert(name.clone(), seen);
        Ok(())
    }

    /// The packs that have an entity which stands for the file.
    async fn held(&self, declared: &Declared) -> Result<BTreeSet<Name>, Refused> {
        let mut held = BTreeSet::new();
        for (pack, file) in declared {
            if !self.rows(pack, &file.exists_while).await?.is_empty() {
                held.insert(pack.name.clone());
            }
        }
        Ok(held)
    }

    /// Fires the events of a file that appeared, in every pack in which it had no effect yet. Returns whether one was
    /// accepted.
    async fn create(&mut self, name: &Name, declared: &Declared, seen: &mut Seen) -> Result<bool, Refused> {
        let (mut accepted, mut refusals) = (false, Vec::new());
        let pending = seen.pending.clone();
        for (pack, file) in declared.iter().filter(|(pack, _)| pending.contains(&pack.name)) {
            let already = self.rows(pack, &file.exists_while).await?;
            let mut rows = self.rows(pack, &file.on).await?;
            rows.retain(|it| !already.contains(it));
            match rows.is_empty() {
                true => refusals.push(format!("{} has nothing that {} could move", pack.name, file.fire)),
                false => {
                    let applied = self
                        .fire(name, &file.fire, rows, seen.owner.as_deref(), "created", &mut refusals)
                        .await?;
                    if applied {
                        seen.pending.remove(&pack.name);
                    }
                    accepted |= applied;
                }
            }
        }
        // A pack without anything to move is no reason for a warning if the file had its effect in another.
        if accepted || seen.pending.len() < declared.len() {
            refusals.retain(|it| !it.contains(" has nothing that "));
        }
        self.settle(name, &refusals);
        Ok(accepted)
    }

    /// Fires the events of a file that was removed. Returns whether one was accepted.
    async fn undo(
        &mut self,
        name: &Name,
        declared: &Declared,
        held: &BTreeSet<Name>,
        owner: Option<&str>,
    ) -> Result<bool, Refused> {
        let (mut accepted, mut refusals) = (false, Vec::new());
        for (pack, file) in declared.iter().filter(|(pack, _)| held.contains(&pack.name)) {
            if let Some(undo) = &file.undo {
                let rows = self.rows(pack, &file.exists_while).await?;
                accepted |= self.fire(name, undo, rows, owner, "removed", &mut refusals).await?;
            }
        }
        self.settle(name, &refusals);
        Ok(accepted)
    }

    /// Fires an event on entities. Returns whether one was accepted.
    async fn fire(
        &self,
        name: &Name,
        event: &Name,
        rows: Vec<EntityKey>,
        owner: Option<&str>,
        what: &str,
        refusals: &mut Vec<String>,
    ) -> Result<bool, Refused> {
        let mut accepted = false;
        for entity in rows {
            let fire = Fire {
                entity: entity.clone(),
                what: TransitionRef::Event(event.clone()),
                fields: Fields::default(),
                fence: None,
                if_version: None,
            };
            let mut command = Command::new(actor(), Ask::Fire(fire));
            let by = owner.map(|it| format!(" by {it}")).filter(|_| what == "created").unwrap_or_default();
            command.reason = Some(format!("The file {name} was {what}{by}").into());
            command.on_behalf_of = owner.filter(|it| is_valid_id(it)).map(Name::new);
            match submit(&self.app, command).await? {
                CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => {
                    accepted = true;
                    info!(file = %name, %entity, %event, what, "a control file was applied");
                }
                CommandAnswer::Refused(refusal) => refusals.push(format!("{event} of {entity}: {refusal}")),
            }
        }
        Ok(accepted)
    }

    /// Reports refusals, or that there are none any more.
    fn settle(&mut self, name: &Name, refusals: &[String]) {
        if !refusals.is_empty() {
            self.report(name, refusals.join("; "));
        } else if self.refused.remove(name).is_some() {
            self.warn_of_refused();
        }
    }

    async fn rows(&self, pack: &Pack, queries: &[Name]) -> Result<Vec<EntityKey>, Refused> {
        let (pack, queries) = (pack.name.clone(), queries.to_vec());
        self.app.read(move |reads| rows(reads, &pack, &queries)).await
    }

    /// Creates or removes the file in every folder of the project. Returns whether it is there now.
    fn write_files(&mut self, name: &Name, declared: &Declared, held: bool) -> [bool; 2] {
        FOLDERS.map(|folder| {
            let folder = self.root.join(folder);
            let path = folder.join(&**name);
            let written = match (place(&path), held) {
                (Place::Missing, true) if folder.is_dir() => create(&path, declared),
                (Place::File(_), false) => fs::remove_file(&path),
                _ => Ok(()),
            };
            if let Err(error) = written {
                self.report(name, format!("{} could not be written: {error}", path.display()));
            }
            matches!(place(&path), Place::File(_))
        })
    }

    /// Logs why a file was not applied, once.
    fn report(&mut self, name: &Name, why: String) {
        if self.refused.get(name) != Some(&why) {
            warn!(file = %name, why, "a control file was not applied");
            self.refused.insert(name.clone(), why);
            self.warn_of_refused();
        }
    }

    fn warn_of_refused(&self) {
        let each = self.refused.iter().map(|(name, why)| format!("control file {name}: {why}"));
        let all = each.collect::<Vec<_>>().join("; ");
        self.app.runtime.set_warning(WARNING, Some(all).filter(|it| !it.is_empty()));
    }

    fn remember(&self) {
        let path = self.app.options.data.join(MEMORY);
        let text = serde_json::to_string(&self.seen).unwrap_or_default();
        let new = path.with_extension("new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        if let Err(error) = written {
            warn!(file = %path.display(), %error, "the last observation of the control files could not be stored");
        }
    }
}

fn actor() -> Actor {
    Actor::new(ACTOR, ActorKind::Human)
}

/// The entities of several queries, each once.
fn rows(reads: &Reads, pack: &Name, queries: &[Name]) -> Result<Vec<EntityKey>, ReadError> {
    let mut all: Vec<EntityKey> = Vec::new();
    for query in queries {
        if let NamedAnswer::Entities(found) = reads.run_query(pack, query, &Fields::default(), &actor())? {
            all.extend(found.iter().map(|it| it.key.clone()));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn place(path: &Path) -> Place {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Place::File(Box::new(found)),
        Ok(_) => Place::Unusable(format!("{} is no plain file", path.display())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Place::Missing
        }
        Err(error) => Place::Unusable(format!("{} cannot be read: {error}", path.display())),
    }
}

fn create(path: &Path, declared: &Declared) -> io::Result<()> {
    let mut text = String::new();
    for (pack, file) in declared {
        text.push_str(&format!("{}: {}\n", pack.name, file.about));
    }
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// The name of the owner of a file, or its number.
#[cfg(unix)]
fn owner_of(file: &Metadata) -> String {
    let uid = std::os::unix::fs::MetadataExt::uid(file);
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    name.filter(|it| is_valid_id(it)).unwrap_or_else(|| format!("uid-{uid}"))
}

#[cfg(not(unix))]
fn owner_of(_: &Metadata) -> String {
    "unknown".to_owned()
}
