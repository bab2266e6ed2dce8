//! Why a measurement could not be made.

use std::path::{Path, PathBuf};

/// The reason why a measurement stopped, with the next step.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{path}: {error}")]
    File { path: PathBuf, error: std::io::Error },
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{program} failed: {said}")]
    Program { program: String, said: String },
    /// An error of the subject.
    #[error("{0}")]
    Subject(String),
    #[error(
        "{waiting} commands were not answered within {seconds} s: the pipeline hangs, or the disk does; try fewer --callers"
    )]
    Unanswered { waiting: usize, seconds: u64 },
    #[error("{refused} of {asked} commands were not accepted ({why}): a rate of refusals would mean nothing")]
    NotAccepted { refused: u64, asked: u64, why: String },
}

impl BenchError {
    /// An error of the subject.
    pub fn other(why: impl std::fmt::Display) -> Self {
        Self::Subject(why.to_string())
    }

    /// An IO error, with the path it is about.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::File { path: path.to_owned(), error }
    }
}
