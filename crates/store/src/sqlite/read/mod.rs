//! Somebody who reads. Every question is a short transaction of its own, so that no log is held back; a few that
//! belong together may share one.

mod found;
mod kept;
mod list;
mod together;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{Place, Ranking, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;

use super::Shared;
use super::connect::{Use, connect, connect_to_still, has_log};
use super::failure::{failed, not_seen};
use super::log::Log;
use super::names::Names;
use super::options::SqliteOptions;
use super::project::position;
use super::schema;
use crate::rules::Installed;
use crate::store::{
    As, Census, Counts, DueAt, Kept, Listing, MemberRow, Members, OpenEffectRow, OrderRow, Stays,
};
use crate::{Chain, Definition, EntityRow, Head, Reader, Record, StoreError};

/// A reader of both files.
#[derive(Debug)]
pub(super) struct Looker {
    journal: Connection,
    state: Connection,
    names: Names,
    journal_path: PathBuf,
    state_path: PathBuf,
    /// Whether questions share a transaction.
    held: bool,
    /// The folder stays ours while somebody reads it.
    _shared: Option<Arc<Shared>>,
}

/// What questions are answered with: a transaction, and the names.
struct Eyes<'a> {
    connection: &'a Connection,
    names: &'a mut Names,
}

impl Looker {
    pub fn open(
        journal_path: PathBuf,
        state_path: PathBuf,
        options: &SqliteOptions,
        shared: Arc<Shared>,
    ) -> Result<Self, StoreError> {
        let journal = connect(&journal_path, options, Use::Read)?;
        let state = connect(&state_path, options, Use::Read)?;
        Ok(Self {
            journal,
            state,
            names: Names::default(),
            journal_path,
            state_path,
            held: false,
            _shared: Some(shared),
        })
    }

    /// Without the lock. Where the folder cannot be written, files are read as they lie there, if they are closed.
    pub fn beside(
        journal_path: PathBuf,
        state_path: PathBuf,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let open = |path: &Path, steps: &[&str]| -> Result<Connection, StoreError> {
            if options.vfs.is_none()
                && let Err(error) = std::fs::metadata(path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(StoreError::Closed { path: path.to_path_buf(), why: not_seen(&error) });
            }
            if options.vfs.is_none() && !path.is_file() {
                let why = match path == state_path && journal_path.is_file() {
                    true => "there is no such file. It is made anew by: trackside doctor --rebuild",
                    false => "there is no such file. Name the folder of a project with --data",
                };
                return Err(StoreError::io(format!("read {}", path.display()), why));
            }
            let usual = connect(path, options, Use::Read).and_then(|it| {
                schema::known(&it, path, steps)?;
                Ok(it)
            });
            match usual {
                Err(StoreError::ReadOnly { .. } | StoreError::Closed { .. }) if !has_log(path) => {
                    let connection = connect_to_still(path)?;
                    schema::known(&connection, path, steps)?;
                    Ok(connection)
                }
                usual => usual,
            }
        };
        let journal = open(&journal_path, schema::JOURNAL)?;
        let state = open(&state_path, schema::STATE)?;
        Ok(Self {
            journal,
            state,
            names: Names::default(),
            journal_path,
            state_path,
            held: false,
            _shared: None,
        })
    }

    fn log(&self) -> Log<'_> {
        Log { connection: &self.journal, path: &self.journal_path }
    }

    /// Begins the transaction that questions share, if they do and it has not begun.
    fn begin(&self) -> rusqlite::Result<()> {
        if self.held && self.state.is_autocommit() {
            self.state.prepare_cached("BEGIN")?.execute([])?;
        }
        Ok(())
    }

    /// One question, of one statement.
    fn ask<T>(
        &mut self,
        doing: &str,
        question: impl FnOnce(&mut Eyes<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = failed(&self.state_path, doing);
        self.begin().map_err(&failed)?;
        let mut eyes = Eyes { connection: &self.state, names: &mut self.names };
        question(&mut eyes).map_err(failed)
    }

    /// One question, and the position at which it was answered.
    fn ask_at<T>(
        &mut self,
        doing: &str,
        question: impl FnOnce(&mut Eyes<'_>) -> rusqlite::Result<T>,
    ) -> Result<As<T>, StoreError> {
        let failed = failed(&self.state_path, doing);
        self.begin().map_err(&failed)?;
        if self.held {
            let mut eyes = Eyes { connection: &self.state, names: &mut self.names };
            let position = position(eyes.connection).map_err(&failed)?;
            return Ok(As { position, value: question(&mut eyes).map_err(failed)? });
        }
        let transaction = self.state.transaction().map_err(&failed)?;
        let position = position(&transaction).map_err(&failed)?;
        let mut eyes = Eyes { connection: &transaction, names: &mut self.names };
        let value = question(&mut eyes).map_err(&failed)?;
        Ok(As { position, value })
    }
}

impl Reader for Looker {
    fn head(&mut self) -> Result<Head, StoreError> {
        self.log().head()
    }

    fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.log().records(after, most)
    }

    fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError> {
        self.log().record(seq)
    }

    fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.log().trail(from, most)
    }

    fn base(&mut self) -> Result<Chain, StoreError> {
        self.log().base()
    }

    fn definitions(&mut self) -> Result<Vec<Definition>, StoreError> {
        self.log().definitions()
    }

    fn stayed(&mut self, of: &EntityKey) -> Result<Vec<u64>, StoreError> {
        self.log().stayed(of)
    }

    fn installed(&mut self) -> Result<Vec<Installed>, StoreError> {
        self.log().installed()
    }

    fn hold(&mut self) {
        self.held = true;
    }

    fn release(&mut self) {
        self.held = false;
        if !self.state.is_autocommit() {
            // It has only read: there is nothing that could be lost, and SQLite ends it in any case.
            let _ = self.state.prepare_cached("COMMIT").and_then(|mut it| it.execute([]));
        }
    }

    fn position(&mut self) -> Result<u64, StoreError> {
        self.ask("read the position", |eyes| position(eyes.connection))
    }

    fn project(&mut self) -> Result<Option<Project>, StoreError> {
        self.ask("read the project", |eyes| eyes.project())
    }

    fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        self.ask("read an entity", |eyes| eyes.entity(key))
    }

    fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        self.ask("read an entity", |eyes| eyes.last_entry(key))
    }

    fn counts(&mut self, group: &GroupKey) -> Result<As<Counts>, StoreError> {
        self.ask_at("count a group", |eyes| eyes.counts(group))
    }

    fn groups(&mut self, of: &EntityKey) -> Result<As<Vec<(Name, Counts)>>, StoreError> {
        self.ask_at("count the groups of an entity", |eyes| eyes.groups(of))
    }

    fn members(&mut self, group: &GroupKey) -> Result<As<Members>, StoreError> {
        self.ask_at("read a group", |eyes| eyes.members(group))
    }

    fn ranking(&mut self, key: &RankingKey) -> Result<As<Ranking>, StoreError> {
        self.ask_at("read a ranking", |eyes| eyes.ranking(key))
    }

    fn same(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>, StoreError> {
        self.ask("look for an entity", |eyes| eyes.same(lifecycle, value))
    }

    fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>, StoreError> {
        self.ask("look for an idempotency key", |eyes| eyes.key(actor, key))
    }

    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> Result<As<Vec<DueAt>>, StoreError> {
        self.ask_at("read timers", |eyes| eyes.timers(after, most))
    }

    fn list(&mut self, listing: &Listing) -> Result<As<Vec<Arc<Entity>>>, StoreError> {
        self.ask_at("list entities", |eyes| eyes.list(listing))
    }

    fn states(&mut self, lifecycle: &Name) -> Result<As<BTreeMap<Name, u64>>, StoreError> {
        self.ask_at("count states", |eyes| eyes.states(lifecycle))
    }

    fn stays(&mut self, lifecycle: &Name) -> Result<As<BTreeMap<Name, Stays>>, StoreError> {
        self.ask_at("read how long states lasted", |eyes| eyes.stays(lifecycle))
    }

    fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>, StoreError> {
        self.ask("look for entries", |eyes| eyes.notices(kinds, after, most))
    }

    fn effects(&mut self, after: u64, most: usize) -> Result<As<Vec<OpenEffectRow>>, StoreError> {
        self.ask_at("read open effects", |eyes| eyes.effects(after, most))
    }

    fn kept(&mut self, after: Option<&EntityKey>, most: usize) -> Result<As<Vec<Kept>>, StoreError> {
        self.ask_at("list what is kept", |eyes| eyes.kept(after, most))
    }

    fn is_kept(&mut self, key: &EntityKey) -> Result<bool, StoreError> {
        self.ask("look for an entity", |eyes| eyes.is_kept(key))
    }

    fn difference(&mut self, row: &EntityRow) -> Result<Option<String>, StoreError> {
        self.ask("look at what is kept of an entity", |eyes| eyes.difference(row))
    }

    fn groups_after(&mut self, after: u64, most: usize) -> Result<As<Vec<(u64, GroupKey)>>, StoreError> {
        self.ask_at("list groups", |eyes| eyes.groups_after(after, most))
    }

    fn members_after(
        &mut self,
        group: &GroupKey,
        after: u64,
        most: usize,
    ) -> Result<As<Vec<MemberRow>>, StoreError> {
        self.ask_at("list members of a group", |eyes| eyes.members_after(group, after, most))
    }

    fn is_member(&mut self, group: &GroupKey, of: &EntityKey) -> Result<bool, StoreError> {
        self.ask("look for a member of a group", |eyes| eyes.is_member(group, of))
    }

    fn place(&mut self, ranking: &RankingKey, id: &Name) -> Result<As<Option<Place>>, StoreError> {
        self.ask_at("look for a place", |eyes| eyes.place(ranking, id))
    }

    fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> Result<As<Vec<(RankingKey, Name)>>, StoreError> {
        self.ask_at("list places", |eyes| eyes.places_after(after, most))
    }

    fn order(&mut self, ranking: &RankingKey, within: &Within) -> Result<As<Option<OrderRow>>, StoreError> {
        self.ask_at("look for an order", |eyes| eyes.order(ranking, within))
    }

    fn orders_after(
        &mut self,
        after: Option<&(RankingKey, Within)>,
        most: usize,
    ) -> Result<As<Vec<OrderRow>>, StoreError> {
        self.ask_at("list orders", |eyes| eyes.orders_after(after, most))
    }

    fn census(&mut self) -> Result<As<Census>, StoreError> {
        self.ask_at("count what is waited for", |eyes| eyes.census())
    }
}
