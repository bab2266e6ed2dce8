//! Secret files, and messages for files that cannot be read or written, with the next step.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// Why a file was not read.
pub(crate) fn unread(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), reading(error))
}

/// The error without the name of the file.
pub(crate) fn reading(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "no such file. Check its name and the current folder".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "permission denied. Ask its owner for read access, or run the command as a user who has it"
                .to_owned()
        }
        ErrorKind::IsADirectory => "this is a folder. Name a file".to_owned(),
        ErrorKind::InvalidData => "not UTF-8 text. Check that this is the right file".to_owned(),
        // One of our own errors, complete as it is.
        ErrorKind::Other => error.to_string(),
        _ => format!("cannot be read ({error}). Check the disk, then retry"),
    }
}

/// Reads a text of at most this many bytes. The size of a device or a pipe is not known before.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        let message = format!("larger than {} MiB, the most that is read. Split the file", most >> 20);
        return Err(io::Error::other(message));
    }
    String::from_utf8(text).map_err(|it| io::Error::new(ErrorKind::InvalidData, it))
}

/// Why a file or a folder was not written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), writing(error))
}

fn writing(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "its folder does not exist. Create it, or choose another path".to_owned(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "permission denied. Choose another path, or ask its owner for write access".to_owned()
        }
        ErrorKind::IsADirectory => "this is a folder. Name a file".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is in the place of a folder. Choose another path, or move the file".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            format!("no space left ({error}). Free some space, or choose another path")
        }
        _ => format!("cannot be written ({error}). Check the disk, or choose another path"),
    }
}

/// Writes a file atomically, readable by its owner only.
pub(crate) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let error = read_text(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert!(reading(&error).contains("larger than 1 MiB"), "{error}");
    }
}
