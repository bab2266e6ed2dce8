//! The bytes of artifacts that each actor has stored, in the file `artifact-use.log` of the data folder.
//!
//! Each line is one artifact: its bytes, and the kind and id of the actor that stored it first. Artifacts stay until the
//! project ends, so the sums only grow. Backups do not have the file: in a restored project they begin at 0.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trackside_engine::actor::Actor;

const FILE: &str = "artifact-use.log";

/// The use of all actors.
#[derive(Debug)]
pub(crate) struct ArtifactUse {
    path: PathBuf,
    open: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    bytes: HashMap<String, u64>,
    file: Option<File>,
}

impl ArtifactUse {
    pub fn open(data: &Path) -> io::Result<Self> {
        let path = data.join(FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        let mut bytes = HashMap::new();
        // A crash may have cut the last line.
        for line in
            String::from_utf8_lossy(&text).split_inclusive('\n').filter_map(|it| it.strip_suffix('\n'))
        {
            if let Some((size, actor)) = line.split_once(' ')
                && let Ok(size) = size.parse::<u64>()
            {
                add(&mut bytes, actor, size);
            }
        }
        Ok(Self { path, open: Mutex::new(Totals { bytes, file: None }) })
    }

    /// Adds to the use of an actor, unless it would exceed `most`, where 0 means no limit. The error is its use.
    pub fn reserve(&self, actor: &Actor, size: u64, most: u64) -> Result<(), u64> {
        let mut totals = self.totals();
        let used = totals.bytes.get(&name(actor)).copied().unwrap_or_default();
        if most > 0 && used.saturating_add(size) > most {
            return Err(used);
        }
        add(&mut totals.bytes, &name(actor), size);
        Ok(())
    }

    /// Releases a reservation.
    pub fn release(&self, actor: &Actor, size: u64) {
        if let Some(bytes) = self.totals().bytes.get_mut(&name(actor)) {
            *bytes = bytes.saturating_sub(size);
        }
    }

    /// Records a reservation.
    pub fn note(&self, actor: &Actor, size: u64) -> io::Result<()> {
        let mut totals = self.totals();
        let file = match &mut totals.file {
            Some(file) => file,
            none => none.insert(self.append()?),
        };
        file.write_all(format!("{size} {}\n", name(actor)).as_bytes())
    }

    fn append(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        // Ends a line that a crash cut.
        if fs::read(&self.path)?.last().is_some_and(|it| *it != b'\n') {
            file.write_all(b"\n")?;
        }
        Ok(file)
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(bytes: &mut HashMap<String, u64>, actor: &str, size: u64) {
    let total = bytes.entry(actor.to_owned()).or_default();
    *total = total.saturating_add(size);
}

fn name(actor: &Actor) -> String {
    format!("{} {}", actor.kind.as_str(), actor.id)
}

#[cfg(test)]
mod tests {
    use trackside_engine::actor::ActorKind;

    use super::*;

    #[test]
    fn the_use_of_an_actor_survives_a_restart_and_a_cut_line() {
        let folder = std::env::temp_dir().join(format!("trackside-artifact-use-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        let (ada, bob) = (Actor::new("ada", ActorKind::Agent), Actor::new("ada", ActorKind::Human));
        let store = |it: &ArtifactUse, actor: &Actor, size| {
            it.reserve(actor, size, 100).map(|()| it.note(actor, size).unwrap())
        };
        let first = ArtifactUse::open(&folder).unwrap();
        assert_eq!(store(&first, &ada, 60), Ok(()));
        assert_eq!(store(&first, &ada, 41), Err(60));
        assert_eq!(store(&first, &bob, 41), Ok(()), "another actor with the same id");
        first.reserve(&ada, 40, 100).unwrap();
        first.release(&ada, 40);
        let mut file = OpenOptions::new().append(true).open(folder.join(FILE)).unwrap();
        file.write_all(b"9999 agent a").unwrap();
        let second = ArtifactUse::open(&folder).unwrap();
        assert_eq!(store(&second, &ada, 41), Err(60));
        assert_eq!(store(&second, &ada, 40), Ok(()));
        assert_eq!(ArtifactUse::open(&folder).unwrap().reserve(&ada, 1, 100), Err(100));
        assert_eq!(second.reserve(&ada, 1, 0), Ok(()), "no limit");
        fs::remove_dir_all(&folder).unwrap();
    }
}
