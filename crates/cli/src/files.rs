//! Files that cannot be read or written, in words that say what to do next.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Why a file was not read.
pub(crate) fn unread(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), reading(error))
}

/// The same without its name.
pub(crate) fn reading(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "there is no such file. Look at its name, and at the folder that you are in".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "you may not read it. Ask whoever owns it, or ask as somebody who may".to_owned()
        }
        ErrorKind::IsADirectory => "it is a folder. Name a file in it".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text. Is it the file that you mean?".to_owned(),
        // Of ours, and said in full.
        ErrorKind::Other => error.to_string(),
        _ => format!("it cannot be read ({error}). Look after the disk, then try again"),
    }
}

/// Why a file or a folder was not written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), writing(error))
}

fn writing(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "its folder is not there. Make it first, or name another place".to_owned(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "you may not write there. Name another place, or let its owner give you the right".to_owned()
        }
        ErrorKind::IsADirectory => "it is a folder. Name a file in it".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is where a folder should be. Name another place, or move that file away".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            format!("there is no room for it ({error}). Make room, or name another place")
        }
        _ => format!("it cannot be written ({error}). Look after the disk, or name another place"),
    }
}
