//! Replays the operations of a disk to know at each boundary which data is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cut::{Fate, Unsynced, put};
use crate::image::Image;
use crate::operation::{Operation, OperationKind, folder};

/// The durable state of a disk at a boundary, and the pending changes.
#[derive(Debug, Default)]
pub struct DiskReplay {
    at: u64,
    names: BTreeMap<Arc<str>, Name>,
    contents: BTreeMap<u64, Content>,
}

/// Which file is found under a name.
#[derive(Debug, Default)]
struct Name {
    safe: Option<u64>,
    /// Its later changes, in order.
    changes: Vec<Option<u64>>,
}

#[derive(Debug, Default)]
struct Content {
    safe: Vec<u8>,
    /// The later changes, in order. The first, if any, is not safe.
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    what: FileChange,
    sync: Sync,
}

#[derive(Debug)]
enum FileChange {
    Write { offset: u64, bytes: Arc<[u8]> },
    Truncate { size: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Missing,
    Done,
    /// It failed, and another one will not make up for it.
    Forgotten,
}

impl DiskReplay {
    /// At boundary 0. Files are numbered in the order of their names.
    pub fn new(start: &Image) -> Self {
        let mut replay = Self::default();
        for (inode, (name, bytes)) in (0..).zip(start.files()) {
            replay.names.insert(name.into(), Name { safe: Some(inode), changes: Vec::new() });
            replay.contents.insert(inode, Content { safe: bytes.to_vec(), changes: Vec::new() });
        }
        replay
    }

    /// The boundary this is.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Applies one operation.
    pub fn advance(&mut self, operation: &Operation) {
        self.at += 1;
        let Operation { file, inode, act } = operation;
        let what = match act {
            OperationKind::Create => {
                self.contents.insert(*inode, Content::default());
                return self.names.entry(file.clone()).or_default().changes.push(Some(*inode));
            }
            OperationKind::Delete { folder } => {
                self.names.entry(file.clone()).or_default().changes.push(None);
                if *folder {
                    self.sync_folder(file);
                }
                return;
            }
            OperationKind::Sync { ignored: true, .. } | OperationKind::Failed { .. } => return,
            OperationKind::Sync { folder, .. } => return self.sync(file, *inode, *folder),
            OperationKind::SyncFailed { forgets } => return self.content(*inode).sync_failed(*forgets),
            OperationKind::Write { offset, bytes } => {
                FileChange::Write { offset: *offset, bytes: bytes.clone() }
            }
            OperationKind::Truncate { size } => FileChange::Truncate { size: *size },
        };
        self.content(*inode).changes.push(Change { what, sync: Sync::Missing });
    }

    /// A possible image if power fails now.
    pub fn image(&self, how: Unsynced) -> Image {
        let mut found = Vec::new();
        for (number, (name, state)) in (0..).zip(&self.names) {
            // Far from the numbers of the files, so that a name draws for itself.
            let mut fate = Fate::new(how, self.at, u64::MAX - number);
            let inode = match fate.first_of(state.changes.len()) {
                0 => state.safe,
                changes => state.changes.get(changes - 1).copied().flatten(),
            };
            if let Some((inode, content)) = inode.and_then(|it| self.contents.get_key_value(&it)) {
                found.push((name.to_string(), content.image(Fate::new(how, self.at, *inode))));
            }
        }
        found.into_iter().collect()
    }

    fn content(&mut self, inode: u64) -> &mut Content {
        self.contents.entry(inode).or_default()
    }

    fn sync(&mut self, file: &str, inode: u64, folder: bool) {
        self.content(inode).sync();
        if let Some(name) = self.names.get_mut(file)
            && let Some(created) = name.changes.iter().position(|it| *it == Some(inode))
        {
            name.changes.drain(..=created);
            name.safe = Some(inode);
        }
        if folder {
            self.sync_folder(file);
        }
        self.forget_unreachable();
    }

    fn sync_folder(&mut self, file: &str) {
        for (_, name) in self.names.iter_mut().filter(|(it, _)| folder(it) == folder(file)) {
            if let Some(last) = name.changes.pop() {
                name.safe = last;
                name.changes.clear();
            }
        }
        self.forget_unreachable();
    }

    /// Drops files that were deleted for good.
    fn forget_unreachable(&mut self) {
        let names = &self.names;
        self.contents.retain(|inode, _| {
            names.values().any(|it| it.safe == Some(*inode) || it.changes.contains(&Some(*inode)))
        });
    }
}

impl Content {
    fn sync(&mut self) {
        for change in self.changes.iter_mut().filter(|it| it.sync == Sync::Missing) {
            change.sync = Sync::Done;
        }
        let safe = self.changes.iter().take_while(|it| it.sync == Sync::Done).count();
        for change in self.changes.drain(..safe) {
            change.what.apply(&mut self.safe);
        }
    }

    fn sync_failed(&mut self, forgets: bool) {
        if forgets {
            for change in self.changes.iter_mut().filter(|it| it.sync == Sync::Missing) {
                change.sync = Sync::Forgotten;
            }
        }
    }

    fn image(&self, mut fate: Fate) -> Vec<u8> {
        let mut file = self.safe.clone();
        for Change { what, sync } in &self.changes {
            match what {
                _ if *sync == Sync::Done => what.apply(&mut file),
                FileChange::Write { offset, bytes } => fate.write(&mut file, index(*offset), bytes),
                FileChange::Truncate { .. } if fate.keeps() => what.apply(&mut file),
                FileChange::Truncate { .. } => {}
            }
        }
        file
    }
}

impl FileChange {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(file, index(*offset), bytes),
            Self::Truncate { size } => file.resize(index(*size), 0),
        }
    }
}

/// Files are in memory, so their sizes fit.
fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(start: &Image, operations: &[(&str, u64, OperationKind)]) -> DiskReplay {
        let mut replay = DiskReplay::new(start);
        for (file, inode, act) in operations {
            replay.advance(&Operation { file: (*file).into(), inode: *inode, act: act.clone() });
        }
        replay
    }

    fn write(offset: u64, bytes: &[u8]) -> OperationKind {
        OperationKind::Write { offset, bytes: bytes.into() }
    }

    const SYNC: OperationKind = OperationKind::Sync { folder: false, ignored: false };

    /// Everything that can be found, as text.
    fn found(replay: &DiskReplay) -> Vec<String> {
        let mut found: Vec<String> = Unsynced::ways(300)
            .map(|how| {
                let image = replay.image(how);
                let files: Vec<String> = image
                    .files()
                    .map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(bytes)))
                    .collect();
                files.join(" ")
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn only_synced_writes_of_the_same_file_are_safe() {
        let start: Image =
            [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"1".to_vec())].into_iter().collect();
        let before = [("a", 0, write(0, b"2")), ("b", 1, write(0, b"2"))];
        assert_eq!(found(&replay(&start, &before)), ["a=1 b=1", "a=1 b=2", "a=2 b=1", "a=2 b=2"]);
        let after = [before[0].clone(), before[1].clone(), ("b", 1, SYNC), ("a", 0, write(0, b"3"))];
        assert_eq!(found(&replay(&start, &after)), ["a=1 b=2", "a=2 b=2", "a=3 b=2"]);
        let lied = [before[0].clone(), ("a", 0, OperationKind::Sync { folder: true, ignored: true })];
        assert_eq!(found(&replay(&start, &lied)), ["a=1 b=1", "a=2 b=1"]);
    }

    #[test]
    fn names_become_safe_with_their_file_or_their_folder() {
        let create = [("d/a", 0, OperationKind::Create), ("d/b", 1, OperationKind::Create)];
        assert_eq!(found(&replay(&Image::default(), &create)), ["", "d/a=", "d/a= d/b=", "d/b="]);
        let synced = [create[0].clone(), create[1].clone(), ("d/a", 0, SYNC)];
        assert_eq!(found(&replay(&Image::default(), &synced)), ["d/a=", "d/a= d/b="]);
        let folder = [
            create[0].clone(),
            create[1].clone(),
            ("d/a", 0, OperationKind::Sync { folder: true, ignored: false }),
        ];
        assert_eq!(found(&replay(&Image::default(), &folder)), ["d/a= d/b="]);
    }

    #[test]
    fn a_deletion_can_be_undone_until_its_folder_is_synced() {
        let start: Image =
            [("a".to_owned(), b"1".to_vec()), ("x/b".to_owned(), b"1".to_vec())].into_iter().collect();
        let delete = |folder| [("a", 0, OperationKind::Delete { folder })];
        assert_eq!(found(&replay(&start, &delete(false))), ["a=1 x/b=1", "x/b=1"]);
        assert_eq!(found(&replay(&start, &delete(true))), ["x/b=1"]);
        let again = [
            ("a", 0, OperationKind::Delete { folder: false }),
            ("a", 2, OperationKind::Create),
            ("a", 2, SYNC),
        ];
        assert_eq!(found(&replay(&start, &again)), ["a= x/b=1"]);
        let other = [
            ("x/b", 1, OperationKind::Delete { folder: false }),
            ("a", 0, OperationKind::Delete { folder: true }),
        ];
        assert_eq!(found(&replay(&start, &other)), ["", "x/b=1"]);
    }

    #[test]
    fn a_later_sync_does_not_recover_a_failed_one() {
        let start: Image = [("a".to_owned(), b"11".to_vec())].into_iter().collect();
        let run = |forgets| {
            let operations = [write(0, b"2"), OperationKind::SyncFailed { forgets }, write(1, b"3"), SYNC]
                .map(|act| ("a", 0, act));
            found(&replay(&start, &operations))
        };
        assert_eq!(run(false), ["a=23"]);
        assert_eq!(run(true), ["a=13", "a=23"]);
    }

    #[test]
    fn truncations_are_lost_and_kept_like_writes() {
        let start: Image = [("a".to_owned(), b"11".to_vec())].into_iter().collect();
        let cut = [("a", 0, OperationKind::Truncate { size: 1 })];
        assert_eq!(found(&replay(&start, &cut)), ["a=1", "a=11"]);
        let synced = [cut[0].clone(), ("a", 0, SYNC)];
        assert_eq!(found(&replay(&start, &synced)), ["a=1"]);
    }
}
