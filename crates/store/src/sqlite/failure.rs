//! Converts SQLite errors to store errors.

use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode};
use trackside_engine::key::EntityKey;

use crate::StoreError;

/// Converts an error of SQLite. `doing` names the operation, `path` the file.
pub(super) fn failed<'a>(path: &'a Path, doing: &'a str) -> impl Fn(Error) -> StoreError + 'a {
    move |error| translate(path, doing, &error)
}

fn translate(path: &Path, doing: &str, error: &Error) -> StoreError {
    let path_buf = path.to_path_buf();
    let damaged =
        |what: String| StoreError::Damaged { path: path.to_path_buf(), what: what_to_do(path, &what) };
    match error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => StoreError::Full { path: path_buf },
            ErrorCode::ReadOnly => read_only(path),
            ErrorCode::PermissionDenied => StoreError::ReadOnly {
                path: path_buf,
                why: "permission denied. Make the file and its folder writable for this user".to_owned(),
            },
            ErrorCode::CannotOpen => cannot_open(path, doing),
            ErrorCode::DatabaseCorrupt => {
                damaged(format!("a page is corrupt, found while trying to {doing}"))
            }
            // We write nothing that a table refuses: it has rows that were not written so.
            ErrorCode::ConstraintViolation if is_state(path) => damaged(format!(
                "a row does not fit the rows beside it ({error}), found while trying to {doing}"
            )),
            ErrorCode::NotADatabase => damaged("it is not an SQLite file".to_owned()),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::InUse {
                path: path_buf,
                owner: "another program that has the file open".to_owned(),
            },
            ErrorCode::SystemIoFailure => StoreError::io(
                format!("{doing} in {}", path.display()),
                format!(
                    "the disk returned an error ({error}). Check the system log. Acknowledged commands are safe; you can try again"
                ),
            ),
            _ => StoreError::io(format!("{doing} in {}", path.display()), error),
        },
        Error::FromSqlConversionFailure(_, _, inner) if inner.is::<DamagedEntity>() => {
            match inner.downcast_ref::<DamagedEntity>() {
                Some(DamagedEntity { entity, what }) => {
                    StoreError::DamagedRow { entity: entity.clone(), what: what.clone() }
                }
                None => damaged(error.to_string()),
            }
        }
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => {
            damaged(format!("a value is invalid ({error}), found while trying to {doing}"))
        }
        _ => StoreError::io(format!("{doing} in {}", path.display()), error),
    }
}

/// A row of an entity that does not match its checksum or cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct DamagedEntity {
    entity: EntityKey,
    what: String,
}

/// Names the entity whose row could not be read. Errors of the file itself stay as they are.
pub(super) fn of_entity(entity: &EntityKey) -> impl FnOnce(Error) -> Error + '_ {
    move |error| match error {
        Error::SqliteFailure(..) | Error::QueryReturnedNoRows => error,
        error => {
            let damaged = DamagedEntity { entity: entity.clone(), what: error.to_string() };
            Error::FromSqlConversionFailure(0, Type::Text, damaged.into())
        }
    }
}

pub(super) fn read_only(path: &Path) -> StoreError {
    StoreError::ReadOnly {
        path: path.to_path_buf(),
        why: "the file or its folder is read-only. Make both writable for this user".to_owned(),
    }
}

/// Projections can be rebuilt; the journal cannot.
fn what_to_do(path: &Path, what: &str) -> String {
    match is_state(path) {
        true => format!(
            "{what}. Nothing is lost: the file is rebuilt from the journal. Start the server again: it rebuilds the file"
        ),
        false => journal_damaged(what),
    }
}

fn is_state(path: &Path) -> bool {
    path.file_name().is_some_and(|it| it == "state.db")
}

/// Adds what to do about a damaged journal.
pub(super) fn journal_damaged(what: &str) -> String {
    format!("{what}. The file was not changed. Delete nothing, and restore a backup into another folder")
}

/// Asks the file system for the reason, which SQLite does not give.
fn cannot_open(path: &Path, doing: &str) -> StoreError {
    let why = match std::fs::metadata(path) {
        Ok(it) if it.is_dir() => "it is a folder".to_owned(),
        Ok(_) => {
            "this user may not open it or write to its folder. Make both readable and writable for this user"
                .to_owned()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match path.parent() {
            Some(dir) if dir.is_dir() => {
                "it does not exist and cannot be created. Make its folder writable for this user".to_owned()
            }
            _ => "its folder does not exist".to_owned(),
        },
        Err(error) => not_seen(&error),
    };
    StoreError::Closed { path: path.to_path_buf(), why: format!("{why} (to {doing})") }
}

/// Why the file could not be examined.
pub(super) fn not_seen(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "this user may not read its folder. Make the folder and its files readable and writable for this user"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// To SQLite's integer type. Sequence numbers stay far below its limit.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts back.
pub(super) fn number(int: i64) -> u64 {
    u64::try_from(int).unwrap_or(0)
}

/// The argument of `LIMIT`.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
