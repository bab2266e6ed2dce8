//! The values of addresses: URLs, tokens and passwords. They are in a file of their own, not in the journal, so that no
//! export, evidence or backup contains them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The file in the data folder.
const FILE: &str = "delivery.secrets";
/// Shorter values are too common to be removed from texts.
const SHORTEST: usize = 4;

/// The values of one address, by name.
pub(crate) type AddressValues = BTreeMap<String, String>;
/// Audience to address to values.
type AllValues = BTreeMap<String, BTreeMap<String, AddressValues>>;

/// The values of all addresses.
pub(crate) struct AddressSecrets {
    path: PathBuf,
    values: RwLock<AllValues>,
}

impl std::fmt::Debug for AddressSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AddressSecrets")
    }
}

impl AddressSecrets {
    pub fn open(data: &Path) -> std::io::Result<Self> {
        let path = data.join(FILE);
        let values = match std::fs::read(&path) {
            Ok(stored) => serde_json::from_slice(&stored).map_err(|_| {
                std::io::Error::other(format!(
                    "{} is damaged. Restore it, or move it away and set the audiences again",
                    path.display()
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => AllValues::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, values: RwLock::new(values) })
    }

    /// The values of an address; none if it has none.
    pub fn of(&self, audience: &str, address: &str) -> Option<AddressValues> {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        values.get(audience)?.get(address).cloned()
    }

    /// Replaces the values of an audience, durably.
    pub fn set(&self, audience: &str, addresses: BTreeMap<String, AddressValues>) -> std::io::Result<()> {
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = values.clone();
        next.insert(audience.to_owned(), addresses);
        write_private(&self.path, &serde_json::to_vec_pretty(&next)?)?;
        *values = next;
        Ok(())
    }
}

/// Replaces a file that only this user can read.
fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension("secrets.new");
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// A text without the values of an address, for logs and the journal: receivers repeat the text that they got.
pub(crate) fn without_values(text: &str, values: &AddressValues) -> String {
    let mut named: Vec<(&String, &String)> = values.iter().filter(|(_, it)| it.len() >= SHORTEST).collect();
    // The longest first: one may contain another.
    named.sort_by_key(|(_, it)| std::cmp::Reverse(it.len()));
    named
        .into_iter()
        .fold(text.to_owned(), |text, (name, it)| text.replace(it.as_str(), &format!("({name})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_a_file_that_only_this_user_can_read() {
        let data = std::env::temp_dir().join(format!("trackside-addresses-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).unwrap();
        let secrets = AddressSecrets::open(&data).unwrap();
        assert_eq!(secrets.of("crew", "phone"), None);
        let values = AddressValues::from([("topic".to_owned(), "hidden-topic".to_owned())]);
        secrets.set("crew", [("phone".to_owned(), values.clone())].into()).unwrap();
        secrets.set("other", BTreeMap::new()).unwrap();
        let again = AddressSecrets::open(&data).unwrap();
        assert_eq!(again.of("crew", "phone"), Some(values));
        assert!(!format!("{again:?}").contains("hidden"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(data.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(data.join(FILE), "{").unwrap();
        assert!(AddressSecrets::open(&data).unwrap_err().to_string().contains("damaged"));
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn an_answer_that_repeats_a_value_is_shown_without_it() {
        let values = [("to", "ada@example.com"), ("token", "ada@example.com-secret"), ("port", "25")];
        let values = values.map(|(name, it)| (name.to_owned(), it.to_owned())).into();
        let said = "550 <ada@example.com>: no such user (25); ada@example.com-secret";
        assert_eq!(without_values(said, &values), "550 <(to)>: no such user (25); (token)");
    }
}
