//! Transactions whose presence and completeness can be checked afterwards.

use rusqlite::{Connection, OptionalExtension, params};
use trackside_powercut::{Image, VirtualDisk};

pub const DATABASE: &str = "folder/story.db";
/// Rows of each transaction.
const ROWS: i64 = 3;

/// The durability settings of a database.
#[derive(Clone, Copy, Debug)]
pub struct DurabilitySettings {
    pub journal: &'static str,
    pub synchronous: &'static str,
}

pub fn open(disk: &VirtualDisk, settings: DurabilitySettings) -> Connection {
    let db = disk.open(DATABASE).unwrap();
    let DurabilitySettings { journal, synchronous } = settings;
    db.execute_batch(&format!("PRAGMA synchronous = {synchronous}")).unwrap();
    db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(())).unwrap();
    db.query_row("PRAGMA wal_autocheckpoint = 12", [], |_| Ok(())).unwrap();
    db
}

pub fn create(db: &Connection) {
    db.execute_batch(
        "BEGIN; CREATE TABLE entry (part INTEGER, number INTEGER, text BLOB, PRIMARY KEY (part, number));
         CREATE TABLE last (number INTEGER); INSERT INTO last VALUES (0); COMMIT",
    )
    .unwrap();
}

/// Transaction `number`: new rows all over the tree, one old row changed.
pub fn tell(db: &mut Connection, number: i64) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    for part in 0..ROWS {
        let text = vec![u8::try_from(number % 100 + 1).unwrap(); 600];
        transaction.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", params![part, number, text])?;
    }
    transaction.execute("UPDATE last SET number = ?1", [number])?;
    transaction.commit()
}

/// The boundary at which each transaction was answered: first the tables, then as many as requested, with a
/// restart after two thirds of them.
pub fn run(disk: &VirtualDisk, settings: DurabilitySettings, transactions: i64) -> Vec<u64> {
    let mut db = open(disk, settings);
    create(&db);
    let mut answered = vec![disk.boundary()];
    for number in 1..=transactions {
        if number == transactions * 2 / 3 {
            drop(db);
            db = open(disk, settings);
        }
        tell(&mut db, number).unwrap();
        answered.push(disk.boundary());
    }
    answered
}

/// The number of answers before a boundary.
pub fn promised_count(answered: &[u64], boundary: u64) -> i64 {
    answered.iter().filter(|it| **it <= boundary).count() as i64
}

/// Checks that the database is intact, has the promised transactions (the tables count as one) and can be written.
pub fn check(image: Image, settings: DurabilitySettings, promised: i64) -> Result<(), String> {
    let disk = VirtualDisk::from_image(image);
    let found = recount(&disk).map_err(|error| error.to_string())??;
    if found < promised {
        return Err(format!("lost: {found} transactions of {promised}"));
    }
    if found > 0 {
        let mut db = open(&disk, settings);
        tell(&mut db, found).map_err(|error| format!("cannot go on: {error}"))?;
    }
    Ok(())
}

/// The number of transactions, if all of them are complete.
fn recount(disk: &VirtualDisk) -> rusqlite::Result<Result<i64, String>> {
    let db = disk.open(DATABASE)?;
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound != "ok" {
        return Ok(Err(format!("not sound: {sound}")));
    }
    let tables: i64 =
        db.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Ok(0));
    }
    let last: Option<i64> = db.query_row("SELECT number FROM last", [], |row| row.get(0)).optional()?;
    let Some(last) = last.filter(|_| tables == 2) else { return Ok(Err("half a schema".to_owned())) };
    let (rows, numbers, greatest): (i64, i64, i64) = db.query_row(
        "SELECT count(*), count(DISTINCT number), coalesce(max(number), 0) FROM entry
         WHERE text = CAST(replace(hex(zeroblob(600)), '00', char(number % 100 + 1)) AS BLOB)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let whole = (rows, numbers, greatest) == (last * ROWS, last, last);
    Ok(if whole {
        Ok(last + 1)
    } else {
        Err(format!("torn: {rows} rows of {numbers} transactions, last {last}"))
    })
}
