//! What was delivered to whom: a small file of the server's own.
//!
//! It is no part of the journal: how far a message has come is nothing that happened to the project, and an entry for
//! every delivery would be one more to deliver. What is lost of it in a power cut is delivered once more.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// The file, in the data folder.
const FILE: &str = "webhooks.db";
/// Messages of one webhook that are remembered once they are delivered.
const DELIVERED: i64 = 200;
/// Dead letters of one webhook that are kept; beyond them the oldest goes.
const DEAD: i64 = 10_000;

const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
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

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    Delivered,
    /// It will be tried again.
    Failing,
    /// It will not be tried again unless somebody says so.
    Dead,
    /// Somebody has said so.
    Queued,
}

impl Stand {
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

/// A message of a webhook, by the entry it tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub seq: u64,
    pub stand: Stand,
    pub attempts: u32,
    /// What the receiver answered last.
    pub status: Option<u16>,
    /// Why it was not taken.
    pub why: Option<String>,
    /// When it was tried last, in milliseconds since 1970.
    pub at: u64,
    /// When it is tried next.
    pub next_at: Option<u64>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub(crate) struct LedgerError {
    path: PathBuf,
    error: rusqlite::Error,
}

/// How far each webhook has come.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    connection: Mutex<Connection>,
}

type Result<T> = std::result::Result<T, LedgerError>;

impl Ledger {
    pub fn open(data: &Path) -> Result<Self> {
        let path = data.join(FILE);
        let opened = Connection::open(&path).and_then(|it| it.execute_batch(TABLES).map(|()| it));
        match opened {
            Ok(connection) => Ok(Self { path, connection: Mutex::new(connection) }),
            Err(error) => Err(LedgerError { path, error }),
        }
    }

    /// The entry up to which a webhook has come; none if nothing is known of it.
    pub fn cursor(&self, webhook: &str) -> Result<Option<u64>> {
        let sql = "SELECT cursor FROM progress WHERE webhook = ?1";
        self.with(|it| it.prepare_cached(sql)?.query_row([webhook], |row| number(row, 0)).optional())
    }

    /// It begins after this entry, unless it has begun already.
    pub fn begin(&self, webhook: &str, seq: u64) -> Result<()> {
        let sql = "INSERT INTO progress (webhook, cursor) VALUES (?1, ?2) ON CONFLICT (webhook) DO NOTHING";
        self.with(|it| it.execute(sql, params![webhook, int(seq)]).map(|_| ()))
    }

    /// It has come up to this entry.
    pub fn pass(&self, webhook: &str, seq: u64) -> Result<()> {
        self.with(|it| pass(it, webhook, seq))
    }

    /// It goes on without this entry.
    pub fn leave_out(&self, webhook: &str, seq: u64) -> Result<()> {
        self.with(|it| {
            it.execute("DELETE FROM delivery WHERE webhook = ?1 AND seq = ?2", params![webhook, int(seq)])?;
            pass(it, webhook, seq)
        })
    }

    /// A message, if it is known.
    pub fn delivery(&self, webhook: &str, seq: u64) -> Result<Option<Delivery>> {
        let sql = format!("SELECT {COLUMNS} FROM delivery WHERE webhook = ?1 AND seq = ?2");
        self.with(|it| it.prepare_cached(&sql)?.query_row(params![webhook, int(seq)], delivery).optional())
    }

    /// Notes where a message stands. What is delivered or dead is passed.
    pub fn note(&self, webhook: &str, it: &Delivery) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO delivery (webhook, seq, state, attempts, status, why, at, next_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let most = match it.stand {
            Stand::Delivered => Some(DELIVERED),
            Stand::Dead => Some(DEAD),
            Stand::Failing | Stand::Queued => None,
        };
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.prepare_cached(sql)?.execute(params![
                webhook,
                int(it.seq),
                it.stand.as_str(),
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
                transaction.prepare_cached(oldest)?.execute(params![webhook, it.stand.as_str(), most])?;
            }
            transaction.commit()
        })
    }

    /// Messages after one, in order, of all stands or of one.
    pub fn deliveries(
        &self,
        webhook: &str,
        stand: Option<Stand>,
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
                .query_map(params![webhook, stand.map(Stand::as_str), int(after), most], delivery)?;
            rows.collect()
        })
    }

    /// How many messages of a webhook stand so.
    pub fn count(&self, webhook: &str, stand: Stand) -> Result<u64> {
        let sql = "SELECT count(*) FROM delivery WHERE webhook = ?1 AND state = ?2";
        self.with(|it| it.prepare_cached(sql)?.query_row([webhook, stand.as_str()], |row| number(row, 0)))
    }

    /// How many messages of all webhooks stand so.
    pub fn count_all(&self, stand: Stand) -> Result<u64> {
        let sql = "SELECT count(*) FROM delivery WHERE state = ?1";
        self.with(|it| it.prepare_cached(sql)?.query_row([stand.as_str()], |row| number(row, 0)))
    }

    /// Dead letters are to be tried once more: these, or all. What is failing is tried at once. How many there are, and
    /// which of these are neither.
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

    /// Nothing more is known of a webhook.
    pub fn forget(&self, webhook: &str) -> Result<()> {
        self.with(|it| {
            it.execute("DELETE FROM delivery WHERE webhook = ?1", [webhook])?;
            it.execute("DELETE FROM progress WHERE webhook = ?1", [webhook]).map(|_| ())
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| LedgerError { path: self.path.clone(), error })
    }
}

const COLUMNS: &str = "seq, state, attempts, status, why, at, next_at";

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let state: String = row.get(1)?;
    Ok(Delivery {
        seq: number(row, 0)?,
        stand: Stand::parse(&state).unwrap_or(Stand::Dead),
        attempts: row.get(2)?,
        status: row.get(3)?,
        why: row.get(4)?,
        at: number(row, 5)?,
        next_at: row.get::<_, Option<i64>>(6)?.map(|it| u64::try_from(it).unwrap_or(0)),
    })
}

/// A cursor only goes forward.
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

    fn ledger(name: &str) -> (Ledger, PathBuf) {
        let data = std::env::temp_dir().join(format!("trackside-ledger-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&data).ok();
        std::fs::create_dir_all(&data).unwrap();
        (Ledger::open(&data).unwrap(), data)
    }

    fn stands(seq: u64, stand: Stand) -> Delivery {
        Delivery { seq, stand, attempts: 1, status: None, why: None, at: 1, next_at: None }
    }

    #[test]
    fn what_is_noted_is_there_the_next_time() {
        let (ledger, data) = ledger("again");
        assert_eq!(ledger.cursor("a").unwrap(), None);
        ledger.begin("a", 7).unwrap();
        ledger.begin("a", 9).unwrap();
        let failing = Delivery {
            status: Some(500),
            why: Some("it answered 500".to_owned()),
            next_at: Some(99),
            attempts: 3,
            ..stands(8, Stand::Failing)
        };
        ledger.note("a", &failing).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&data).unwrap();
        assert_eq!(ledger.cursor("a").unwrap(), Some(7), "what fails is not passed");
        assert_eq!(ledger.delivery("a", 8).unwrap(), Some(failing));
        ledger.note("a", &stands(8, Stand::Dead)).unwrap();
        ledger.pass("a", 3).unwrap();
        assert_eq!(ledger.cursor("a").unwrap(), Some(8), "it goes forward only");
        assert_eq!(ledger.delivery("b", 8).unwrap(), None);
        ledger.leave_out("a", 8).unwrap();
        assert_eq!((ledger.cursor("a").unwrap(), ledger.delivery("a", 8).unwrap()), (Some(8), None));
        ledger.note("a", &stands(9, Stand::Dead)).unwrap();
        ledger.forget("a").unwrap();
        assert_eq!((ledger.cursor("a").unwrap(), ledger.delivery("a", 9).unwrap()), (None, None));
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn only_the_newest_are_remembered_and_the_dead_are_tried_again_when_asked() {
        let (ledger, data) = ledger("bounds");
        for seq in 1..=600 {
            ledger
                .note("a", &stands(seq, if seq % 3 == 0 { Stand::Dead } else { Stand::Delivered }))
                .unwrap();
        }
        assert_eq!(ledger.count("a", Stand::Delivered).unwrap(), 200);
        assert_eq!(ledger.count("a", Stand::Dead).unwrap(), 200);
        ledger.note("b", &stands(3, Stand::Dead)).unwrap();
        ledger.note("a", &Delivery { next_at: Some(u64::MAX / 4), ..stands(601, Stand::Failing) }).unwrap();
        assert_eq!(
            ledger.replay("a", Some(&[3, 4, 9])).unwrap(),
            (3, vec![4]),
            "two dead ones, and what is failing"
        );
        assert_eq!(ledger.delivery("a", 601).unwrap().unwrap().next_at, Some(0));
        let queued = ledger.deliveries("a", Some(Stand::Queued), 0, 10).unwrap();
        assert_eq!(queued.iter().map(|it| it.seq).collect::<Vec<_>>(), [3, 9]);
        let next = ledger.deliveries("a", None, 3, 2).unwrap();
        assert_eq!(next.iter().map(|it| it.seq).collect::<Vec<_>>(), [6, 9]);
        ledger.replay("a", None).unwrap();
        assert_eq!(ledger.count("a", Stand::Queued).unwrap(), 200);
        assert_eq!(ledger.count("b", Stand::Queued).unwrap(), 0);
        assert_eq!(
            (ledger.count_all(Stand::Queued).unwrap(), ledger.count_all(Stand::Dead).unwrap()),
            (200, 1)
        );
        std::fs::remove_dir_all(&data).unwrap();
    }
}
