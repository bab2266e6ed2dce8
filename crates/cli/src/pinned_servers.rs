//! Servers that this user trusts, with the owner's credential for each: one file per server in the state directory.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trackside_lifecycle::time::Timestamp;

use crate::files;

/// A trusted server. Commands use its token only when a person types them at a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PinnedServer {
    pub(crate) fingerprint: String,
    /// The owner's credential.
    pub(crate) token: String,
    /// The absolute path of its data folder.
    pub(crate) folder: PathBuf,
    /// Its address when it was last started.
    pub(crate) address: String,
    /// When commands replace the credential, by the machine's clock; none if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rotate_after: Option<String>,
    /// The id of the earlier credential, until the server knows that this one replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
}

impl PinnedServer {
    /// The server with this fingerprint, if the user trusts it.
    pub(crate) fn load(fingerprint: &str) -> Option<Self> {
        let text = std::fs::read_to_string(path_of(fingerprint)?).ok()?;
        serde_json::from_str::<Self>(&text).ok().filter(|it| it.fingerprint == fingerprint)
    }

    /// The server of this data folder, if the user trusts one.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let folder = absolute(folder);
        let entries = std::fs::read_dir(directory()?).ok()?;
        let mut all = entries.flatten().filter_map(|it| {
            let name = it.file_name().into_string().ok()?;
            Self::load(name.strip_suffix(".json")?)
        });
        all.find(|it| it.folder == folder)
    }

    /// Writes the file, readable by its owner only, and returns its path.
    pub(crate) fn save(&self) -> io::Result<PathBuf> {
        let none = || io::Error::other("set HOME or XDG_STATE_HOME to an absolute path");
        let (folder, path) = (directory().ok_or_else(none)?, path_of(&self.fingerprint).ok_or_else(none)?);
        create_private(&folder)?;
        // The state directory may be in a repository, such as one for settings or a container's home.
        let ignored = folder.with_file_name(".gitignore");
        if !ignored.exists() {
            let _ = std::fs::write(&ignored, "*\n");
        }
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        files::write_secret(&path, &format!("{text}\n"))?;
        Ok(path)
    }

    /// Removes the file of a server that no longer exists.
    pub(crate) fn remove(&self) {
        if let Some(path) = path_of(&self.fingerprint) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Whether the credential has passed half of its lifetime.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.rotate_after.as_deref().and_then(Timestamp::parse).is_some_and(|it| it <= now)
    }

    /// Whether this is the server of a data folder.
    pub(crate) fn is_of(&self, folder: &Path) -> bool {
        self.folder == absolute(folder)
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        path_of(&self.fingerprint)
    }
}

/// The folder with one file per server: `$XDG_STATE_HOME/trackside/servers`, else below `~/.local/state`.
pub(crate) fn directory() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let state = of("XDG_STATE_HOME").or_else(|| of("HOME").map(|it| it.join(".local/state")))?;
    Some(state.join("trackside/servers"))
}

/// The file of a server. None for text that is no fingerprint.
fn path_of(fingerprint: &str) -> Option<PathBuf> {
    let is_hex = |it: u8| it.is_ascii_digit() || matches!(it, b'a'..=b'f');
    let is_one = fingerprint.len() == 64 && fingerprint.bytes().all(is_hex);
    Some(directory()?.join(format!("{fingerprint}.json"))).filter(|_| is_one)
}

/// The path without links, or as it is if it does not exist.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let absolute = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    absolute.unwrap_or_else(|_| path.to_owned())
}

/// Creates the folder. Only its owner may enter it and the one above, which is ours too.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    for own in folder.ancestors().take(2) {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(own, private)?;
    }
    Ok(())
}
