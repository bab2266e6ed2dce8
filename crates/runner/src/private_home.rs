//! The home folder of one run: the login that its agent program needs, and nothing else of the user's.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Largest login file that is copied.
const LARGEST: u64 = 4 << 20;

/// A private home folder with copies of login files.
#[derive(Debug)]
pub struct PrivateHome {
    path: PathBuf,
    copies: Vec<LoginCopy>,
}

#[derive(Debug)]
struct LoginCopy {
    original: PathBuf,
    copy: PathBuf,
    content: Vec<u8>,
}

impl PrivateHome {
    /// Creates the folder and copies the login files, given relative to the user's home. A missing one is left out.
    /// `before` keeps what they contained, outside of the agent's reach, for the next runner.
    pub fn create(path: &Path, user_home: &Path, files: &[String], before: &Path) -> io::Result<Self> {
        create_private_folder(path)?;
        create_private_folder(before)?;
        let mut home = Self { path: path.to_owned(), copies: Vec::new() };
        for file in files {
            let relative = Path::new(file);
            let plain = relative.components().all(|it| matches!(it, std::path::Component::Normal(_)));
            if !plain {
                return Err(io::Error::other(format!("{file} is not a path below the home folder")));
            }
            let original = user_home.join(relative);
            match fs::metadata(&original) {
                Ok(found) if found.is_file() && found.len() <= LARGEST => {}
                Ok(_) => return Err(io::Error::other(format!("{} is no login file", original.display()))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            let copy = path.join(relative);
            if let Some(folder) = copy.parent() {
                create_private_folder(folder)?;
            }
            let content = fs::read(&original)?;
            write_private(&copy, &content)?;
            write_private(&before.join(home.copies.len().to_string()), &content)?;
            write_private(&before.join(format!("{}.name", home.copies.len())), file.as_bytes())?;
            home.copies.push(LoginCopy { original, copy, content });
        }
        Ok(home)
    }

    /// Opens the home of a run that another process started.
    pub fn reopen(path: &Path, user_home: &Path, before: &Path) -> io::Result<Self> {
        let mut home = Self { path: path.to_owned(), copies: Vec::new() };
        for number in 0.. {
            let Ok(file) = fs::read_to_string(before.join(format!("{number}.name"))) else { break };
            let content = fs::read(before.join(number.to_string()))?;
            home.copies.push(LoginCopy { original: user_home.join(&file), copy: path.join(&file), content });
        }
        Ok(home)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies refreshed logins back. Returns the files that changed in both places and were left alone.
    ///
    /// A login that the user renewed during the run wins over the run's.
    pub fn copy_back(&self) -> io::Result<Vec<PathBuf>> {
        let mut conflicts = Vec::new();
        for login in &self.copies {
            // The agent could have replaced it with a link to another file.
            let Ok(found) = fs::symlink_metadata(&login.copy) else { continue };
            // So could it have replaced the folder of the file.
            let is_inside = login.copy.canonicalize().ok().zip(self.path.canonicalize().ok());
            if !found.is_file()
                || found.len() > LARGEST
                || !is_inside.is_some_and(|(copy, home)| copy.starts_with(home))
            {
                continue;
            }
            let refreshed = fs::read(&login.copy)?;
            if refreshed == login.content {
                continue;
            }
            if fs::read(&login.original).ok().as_deref() != Some(login.content.as_slice()) {
                conflicts.push(login.original.clone());
                continue;
            }
            let new = login.original.with_extension("trackside-new");
            write_private(&new, &refreshed)?;
            fs::rename(&new, &login.original)?;
        }
        Ok(conflicts)
    }

    /// Deletes the folder.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

fn create_private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).recursive(true).create(path)
}

fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trackside-home-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("user/.claude")).unwrap();
        fs::write(path.join("user/.claude/login.json"), "old").unwrap();
        path
    }

    #[test]
    fn a_refreshed_login_is_copied_back_and_a_newer_one_of_the_user_wins() {
        let root = scratch("refresh");
        let files = [".claude/login.json".to_owned(), ".claude/missing.json".to_owned()];
        PrivateHome::create(&root.join("run"), &root.join("user"), &files, &root.join("before")).unwrap();
        let home = PrivateHome::reopen(&root.join("run"), &root.join("user"), &root.join("before")).unwrap();
        assert_eq!(fs::read_to_string(root.join("run/.claude/login.json")).unwrap(), "old");
        fs::write(root.join("run/.claude/login.json"), "refreshed").unwrap();
        assert!(home.copy_back().unwrap().is_empty());
        assert_eq!(fs::read_to_string(root.join("user/.claude/login.json")).unwrap(), "refreshed");

        let home =
            PrivateHome::create(&root.join("second"), &root.join("user"), &files, &root.join("before"))
                .unwrap();
        fs::write(root.join("second/.claude/login.json"), "of the run").unwrap();
        fs::write(root.join("user/.claude/login.json"), "of the user").unwrap();
        assert_eq!(home.copy_back().unwrap(), [root.join("user/.claude/login.json")]);
        assert_eq!(fs::read_to_string(root.join("user/.claude/login.json")).unwrap(), "of the user");
        home.remove().unwrap();
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_link_in_place_of_a_login_is_not_followed() {
        let root = scratch("link");
        let files = [".claude/login.json".to_owned()];
        let home =
            PrivateHome::create(&root.join("run"), &root.join("user"), &files, &root.join("before")).unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        fs::remove_file(root.join("run/.claude/login.json")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("run/.claude/login.json")).unwrap();
        assert!(home.copy_back().unwrap().is_empty());
        // The folder as a link.
        fs::remove_dir_all(root.join("run/.claude")).unwrap();
        fs::create_dir(root.join("elsewhere")).unwrap();
        fs::write(root.join("elsewhere/login.json"), "secret").unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("run/.claude")).unwrap();
        assert!(home.copy_back().unwrap().is_empty());
        assert_eq!(fs::read_to_string(root.join("user/.claude/login.json")).unwrap(), "old");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_path_outside_the_home_is_refused() {
        let root = scratch("outside");
        for file in ["../x", "/etc/passwd", "./a"] {
            assert!(
                PrivateHome::create(
                    &root.join("run"),
                    &root.join("user"),
                    &[file.to_owned()],
                    &root.join("before")
                )
                .is_err(),
                "{file}"
            );
        }
        fs::remove_dir_all(root).unwrap();
    }
}
