//! The delivery ledger: a small SQLite file with the state of every message.
//!
//! It is not part of the journal, because deliveries are not events of the project and would have to be delivered in
//! turn. Deliveries that are lost in a power cut are repeated.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, params};
use trackside_store::DiskSpace;

/// The file in the data folder.
const FILE: &str = "webhooks.db";
/// Delivered messages that are kept per webhook.
const DELIVERED: i64 = 200;
/// Dead letters that are kept per webhook; the oldest are dropped.
const DEAD: i64 = 10_000;

/// The version of the tables, stored as `user_version`.
const SCHEMA: u32 = 1;

const PRAGMAS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS progress (webhook TEXT PRIMARY KEY, cursor INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS delivery (
    webhook  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    status   INTEGER,
    why      TEXT,
    at       INTEGER NOT NULL,
    next_at  INTEGER,
    PRIMARY KEY (webhook, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_by_state ON delivery (webhook, state, seq);
";

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryState {
    Delivered,
    /// It will be retried.
    Failing,
    /// It is retried only on request.
    Dead,
    /// A retry was requested.
    Queued,
}

impl DeliveryState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failing => "failing",
            Self::Dead => "dead",
            Self::Queued => "queued",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Delivered, Self::Failing, Self::Dead, Self::Queued].into_iter().find(|it| it.as_str() == text)
    }
}

/// A message of a webhook, for one journal entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub seq: u64,
    pub state: DeliveryState,
    pub attempts: u32,
    /// The last status of the receiver.
    pub status: Option<u16>,
    /// Why the last attempt failed.
    pub why: Option<String>,
    /// The last attempt, in milliseconds since 1970.
    pub at: u64,
    /// The next attempt.
    pub next_at: Option<u64>,
}

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    #[error("{}: {error}", path.display())]
    Sqlite { path: PathBuf, error: rusqlite::Error },
    #[error(
        "{} was written by a newer release (schema {found}; this release supports up to {SCHEMA}). Use that release, or \
         move the file away: webhooks then start at the newest entry",
        path.display()
    )]
    TooNew { path: PathBuf, found: u32 },
}

/// The delivery state of all webhooks.
#[derive(Debug)]
pub(crate) struct DeliveryLedger {
    path: PathBuf,
    connection: Mutex<Connection>,
}

type Result<T> = std::result::Result<T, LedgerError>;

/// Creates the file, or restricts that of an earlier release, so that only this user can read it: it holds URLs. Files
/// beside it get its mode. If that fails, opening it says why.
fn make_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
}

impl DeliveryLedger {
    pub fn open(data: &Path) -> Result<Self> {
        let path = data.join(FILE);
        let failed = |error| LedgerError::Sqlite { path: path.clone(), error };
        make_private(&path);
        let is_full = cfg!(unix) && DiskSpace::of(data).is_ok_and(|it| it.is_full());
        let opened = match is_full {
            // Needs no file for the index of the log, so that a full disk can be read.
            true => Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), "unix-excl"),
            false => Connection::open(&path),
        };
        let connection = opened.map_err(failed)?;
        let found: u32 =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        if found > SCHEMA {
            return Err(LedgerError::TooNew { path, found });
        }
        connection.execute_batch(PRAGMAS).map_err(failed)?;
        // Files of the first releases have these tables and no number.
        if found < SCHEMA {
            let numbered = connection
                .execute_batch(TABLES)
                .and_then(|()| connection.pragma_update(None, "user_version", SCHEMA));
            match numbered {
                Err(error) if is_full && error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {}
                numbered => numbered.map_err(failed)?,
            }
        }
        Ok(Self { path, connection: Mutex::new(connection) })
    }

    /// The last entry that a webhook has processed; none if it is unknown.
    pub fn cursor(&self, webhook: &str) -> Result<Option<u64>> {
        let sql = "SELECT cursor FROM progress WHERE webhook = ?1";
        self.with(|it| it.prepare_cached(sql)?.query_row([webhook], |row| number(row, 0)).optional())
    }

    /// Sets the start position, unless there is one.
    pub fn begin(&self, webhook: &str, seq: u64) -> Result<()> {
        let sql = "INSERT INTO progress (webhook, cursor) VALUES (?1, ?2) ON CONFLICT (webhook) DO NOTHING";
        self.with(|it| it.execute(sql, params![webhook, int(seq)]).map(|_| ()))
    }

    /// Advances to this entry.
    pub fn pass(&self, webhook: &str, seq: u64) -> Result<()> {
        self.with(|it| pass(it, webhook, seq))
    }

    /// Skips this entry.
    pub fn leave_out(&self, webhook: &str, seq: u64) -> Result<()> {
        self.with(|it| {
            it.execute("DELETE FROM delivery WHERE webhook = ?1 AND seq = ?2", params![webhook, int(seq)])?;
            pass(it, webhook, seq)
        })
    }

    /// The state of a message, if known.
    pub fn delivery(&self, webhook: &str, seq: u64) -> Result<Option<Delivery>> {
        let sql = format!("SELECT {COLUMNS} FROM delivery WHERE webhook = ?1 AND seq = ?2");
        self.with(|it| it.prepare_cached(&sql)?.query_row(params![webhook, int(seq)], delivery).optional())
    }

    /// Records the state of a message. Delivered and dead ones advance the position.
    pub fn note(&self, webhook: &str, it: &Delivery) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO delivery (webhook, seq, state, attempts, status, why, at, next_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let most = match it.state {
            DeliveryState::Delivered => Some(DELIVERED),
            DeliveryState::Dead => Some(DEAD),
            DeliveryState::Failing | DeliveryState::Queued => None,
        };
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.prepare_cached(sql)?.execute(params![
                webhook,
                int(it.seq),
                it.state.as_str(),
                it.attempts,
                it.status,
                it.why,
                int(it.at),
                it.next_at.map(int)
            ])?;
            if let Some(most) = most {
                pass(&transaction, webhook, it.seq)?;
                let oldest = "DELETE FROM delivery WHERE webhook = ?1 AND state = ?2 AND seq <= \
                              (SELECT seq FROM delivery WHERE webhook = ?1 AND state = ?2 \
                               ORDER BY seq DESC LIMIT 1 OFFSET ?3)";
                transaction.prepare_cached(oldest)?.execute(params![webhook, it.state.as_str(), most])?;
            }
            transaction.commit()
        })
    }

    /// Messages after one, in order, in one state or in all.
    pub fn deliveries(
        &self,
        webhook: &str,
        state: Option<DeliveryState>,
        after: u64,
        most: usize,
    ) -> Result<Vec<Delivery>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM delivery WHERE webhook = ?1 AND (?2 IS NULL OR state = ?2) AND seq > ?3 \
             ORDER BY seq LIMIT ?4"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.with(|it| {
            let mut statement = it.prepare_cached(&sql)?;
            let rows = statement
                .query_map(params![webhook, state.map(DeliveryState::as_str), int(after), most], delivery)?;
            rows.collect()
        })
    }

    /// Messages of a webhook in this state.
    pub fn count(&self, webhook: &str, state: DeliveryState) -> Result<u64> {
        let sql = "SELECT count(*) FROM delivery WHERE webhook = ?1 AND state = ?2";
        self.with(|it| it.prepare_cached(sql)?.query_row([webhook, state.as_str()], |row| number(row, 0)))
    }

    /// Messages of all webhooks in this state.
    pub fn count_all(&self, state: DeliveryState) -> Result<u64> {
        let sql = "SELECT count(*) FROM delivery WHERE state = ?1";
        self.with(|it| it.prepare_cached(sql)?.query_row([state.as_str()], |row| number(row, 0)))
    }

    /// Queues dead letters for a retry: these, or all. Failing ones are retried now. Returns how many, and which of
    /// these are neither.
    pub fn replay(&self, webhook: &str, only: Option<&[u64]>) -> Result<(u64, Vec<u64>)> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let now = "UPDATE delivery SET next_at = 0 WHERE webhook = ?1 AND state = 'failing'";
            let mut changed = transaction.execute(now, [webhook])?;
            let mut passed_over = Vec::new();
            match only {
                None => {
                    let all = "UPDATE delivery SET state = 'queued' WHERE webhook = ?1 AND state = 'dead'";
                    changed += transaction.execute(all, [webhook])?;
                }
                Some(only) => {
                    let one =
                        "UPDATE delivery SET state = 'queued' WHERE webhook = ?1 AND state = 'dead' AND seq = ?2";
                    let mut statement = transaction.prepare_cached(one)?;
                    let open = "SELECT 1 FROM delivery WHERE webhook = ?1 AND seq = ?2 AND state IN ('failing', 'queued')";
                    let mut open = transaction.prepare_cached(open)?;
                    for seq in only {
                        let queued = statement.execute(params![webhook, int(*seq)])?;
                        changed += queued;
                        if queued == 0 && !open.exists(params![webhook, int(*seq)])? {
                            passed_over.push(*seq);
                        }
                    }
                }
            }
            transaction.commit()?;
            Ok((u64::try_from(changed).unwrap_or(u64::MAX), passed_over))
        })
    }

    /// Deletes everything about a webhook.
    pub fn forget(&self, webhook: &str) -> Result<()> {
        self.with(|it| {
            it.execute("DELETE FROM delivery WHERE webhook = ?1", [webhook])?;
            it.execute("DELETE FROM progress WHERE webhook = ?1", [webhook]).map(|_| ())
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| LedgerError::Sqlite { path: self.path.clone(), error })
    }
}

const COLUMNS: &str = "seq, state, attempts, status, why, at, next_at";

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let state: String = row.get(1)?;
    Ok(Delivery {
        seq: number(row, 0)?,
        state: DeliveryState::parse(&state).unwrap_or(DeliveryState::Dead),
        attempts: row.get(2)?,
        status: row.get(3)?,
        why: row.get(4)?,
        at: number(row, 5)?,
        next_at: row.get::<_, Option<i64>>(6)?.map(|it| u64::try_from(it).unwrap_or(0)),
    })
}

/// A position only moves forward.
fn pass(connection: &Connection, webhook: &str, seq: u64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO progress (webhook, cursor) VALUES (?1, ?2) \
               ON CONFLICT (webhook) DO UPDATE SET cursor = max(cursor, excluded.cursor)";
    connection.prepare_cached(sql)?.execute(params![webhook, int(seq)]).map(|_| ())
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(name: &str) -> (DeliveryLedger, PathBuf) {
        let data = std::env::temp_dir().join(format!("trackside-ledger-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&data).ok();
        std::fs::create_dir_all(&data).unwrap();
        (DeliveryLedger::open(&data).unwrap(), data)
    }

    fn stands(seq: u64, state: DeliveryState) -> Delivery {
        Delivery { seq, state, attempts: 1, status: None, why: None, at: 1, next_at: None }
    }

    #[cfg(unix)]
    #[test]
    fn only_this_user_reads_the_urls_of_receivers() {
        use std::os::unix::fs::PermissionsExt as _;
        let (first, data) = ledger("private");
        drop(first);
        let open = || {
            drop(DeliveryLedger::open(&data).unwrap());
            std::fs::metadata(data.join(FILE)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(open(), 0o600);
        // One of an earlier release.
        std::fs::set_permissions(data.join(FILE), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(open(), 0o600);
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn noted_deliveries_survive_a_restart() {
        let (ledger, data) = ledger("again");
        assert_eq!(ledger.cursor("a").unwrap(), None);
        ledger.begin("a", 7).unwrap();
        ledger.begin("a", 9).unwrap();
        let failing = Delivery {
            status: Some(500),
            why: Some("it answered 500".to_owned()),
            next_at: Some(99),
            attempts: 3,
            ..stands(8, DeliveryState::Failing)
        };
        ledger.note("a", &failing).unwrap();
        drop(ledger);
        let ledger = DeliveryLedger::open(&data).unwrap();
        assert_eq!(ledger.cursor("a").unwrap(), Some(7), "what fails is not passed");
        assert_eq!(ledger.delivery("a", 8).unwrap(), Some(failing));
        ledger.note("a", &stands(8, DeliveryState::Dead)).unwrap();
        ledger.pass("a", 3).unwrap();
        assert_eq!(ledger.cursor("a").unwrap(), Some(8), "it goes forward only");
        assert_eq!(ledger.delivery("b", 8).unwrap(), None);
        ledger.leave_out("a", 8).unwrap();
        assert_eq!((ledger.cursor("a").unwrap(), ledger.delivery("a", 8).unwrap()), (Some(8), None));
        ledger.note("a", &stands(9, DeliveryState::Dead)).unwrap();
        ledger.forget("a").unwrap();
        assert_eq!((ledger.cursor("a").unwrap(), ledger.delivery("a", 9).unwrap()), (None, None));
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn the_ledger_of_a_newer_release_is_refused_and_one_without_a_number_opens() {
        let (ledger, data) = ledger("schema");
        ledger.note("a", &stands(7, DeliveryState::Delivered)).unwrap();
        drop(ledger);
        let set = |version: u32| {
            let file = Connection::open(data.join(FILE)).unwrap();
            file.pragma_update(None, "user_version", version).unwrap();
        };
        set(0);
        assert_eq!(DeliveryLedger::open(&data).unwrap().cursor("a").unwrap(), Some(7));
        set(SCHEMA + 1);
        let why = DeliveryLedger::open(&data).unwrap_err().to_string();
        assert!(why.contains("newer release (schema 2") && why.contains("move the file away"), "{why}");
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn only_the_newest_are_kept_and_dead_letters_are_retried_on_request() {
        let (ledger, data) = ledger("bounds");
        for seq in 1..=600 {
            ledger
                .note(
                    "a",
                    &stands(seq, if seq % 3 == 0 { DeliveryState::Dead } else { DeliveryState::Delivered }),
                )
                .unwrap();
        }
        assert_eq!(ledger.count("a", DeliveryState::Delivered).unwrap(), 200);
        assert_eq!(ledger.count("a", DeliveryState::Dead).unwrap(), 200);
        ledger.note("b", &stands(3, DeliveryState::Dead)).unwrap();
        ledger
            .note("a", &Delivery { next_at: Some(u64::MAX / 4), ..stands(601, DeliveryState::Failing) })
            .unwrap();
        assert_eq!(
            ledger.replay("a", Some(&[3, 4, 9])).unwrap(),
            (3, vec![4]),
            "two dead ones, and the failing one"
        );
        assert_eq!(ledger.delivery("a", 601).unwrap().unwrap().next_at, Some(0));
        let queued = ledger.deliveries("a", Some(DeliveryState::Queued), 0, 10).unwrap();
        assert_eq!(queued.iter().map(|it| it.seq).collect::<Vec<_>>(), [3, 9]);
        let next = ledger.deliveries("a", None, 3, 2).unwrap();
        assert_eq!(next.iter().map(|it| it.seq).collect::<Vec<_>>(), [6, 9]);
        ledger.replay("a", None).unwrap();
        assert_eq!(ledger.count("a", DeliveryState::Queued).unwrap(), 200);
        assert_eq!(ledger.count("b", DeliveryState::Queued).unwrap(), 0);
        assert_eq!(
            (
                ledger.count_all(DeliveryState::Queued).unwrap(),
                ledger.count_all(DeliveryState::Dead).unwrap()
            ),
            (200, 1)
        );
        std::fs::remove_dir_all(&data).unwrap();
    }
}
