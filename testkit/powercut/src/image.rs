//! The files of a disk at one moment.

use std::collections::BTreeMap;

/// Files by name, as they would be found on a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    files: BTreeMap<String, Vec<u8>>,
}

impl Image {
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// A file to change, empty if there was none.
    pub fn file_mut(&mut self, name: &str) -> &mut Vec<u8> {
        self.files.entry(name.to_owned()).or_default()
    }

    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.files.remove(name)
    }

    /// Names and bytes, in the order of the names.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

impl FromIterator<(String, Vec<u8>)> for Image {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(files: T) -> Self {
        Self { files: files.into_iter().collect() }
    }
}
