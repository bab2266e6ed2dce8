//! The difference between two commits as data: files, hunks, lines and figures.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::git::GitFolder;

/// The largest change as JSON, in bytes. The hunks of the largest files are left out of a larger one.
pub const LARGEST_CHANGE: usize = 4 << 20;

/// A change from one commit to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitChange {
    pub base: String,
    pub head: String,
    /// Hunks of large files were left out.
    pub truncated: bool,
    pub stats: ChangeFigures,
    pub files: Vec<ChangedFile>,
}

/// The figures of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFigures {
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
}

/// The change of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub status: ChangedFileStatus,
    pub binary: bool,
    pub additions: u64,
    pub deletions: u64,
    pub hunks: Vec<ChangeHunk>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedFileStatus {
    Added,
    #[default]
    Modified,
    Deleted,
    Renamed,
    Copied,
    /// Only the mode changed.
    Mode,
}

/// Neighbouring lines that changed, with the lines around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeHunk {
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    /// The function or section in which it is.
    pub header: String,
    pub lines: Vec<ChangeLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeLine {
    pub kind: ChangeLineKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeLineKind {
    Context,
    Add,
    Delete,
}

/// Reads the change between two commits.
pub fn read_change(git: &GitFolder, base: &str, head: &str) -> Result<CommitChange, WorktreeError> {
    read_bounded_change(git, base, head, LARGEST_CHANGE)
}

/// Reads a change that is at most `limit` bytes as JSON.
pub fn read_bounded_change(
    git: &GitFolder,
    base: &str,
    head: &str,
    limit: usize,
) -> Result<CommitChange, WorktreeError> {
    let diff = ["diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative"];
    let with = |more: &[&str]| -> Vec<String> {
        diff.iter().chain(more).map(|it| (*it).to_owned()).chain([base.to_owned(), head.to_owned()]).collect()
    };
    let (mut files, paths) = read_raw(&git.bytes(&with(&["--raw", "--no-abbrev", "-z"]))?);
    read_figures(&git.bytes(&with(&["--numstat", "-z"]))?, &mut files);
    let mut truncated = false;
    // One file at a time: a huge one is not read at all.
    let mut room = limit.saturating_sub(serde_json::to_vec(&files).map_or(0, |it| it.len()));
    let mut order: Vec<usize> = (0..files.len()).collect();
    let size = |it: &ChangedFile| it.additions + it.deletions;
    order.sort_by_key(|it| files.get(*it).map_or(0, size));
    for place in order {
        let Some(file) = files.get_mut(place).filter(|it| !it.binary && size(it) > 0) else { continue };
        if usize::try_from(size(file)).unwrap_or(usize::MAX).saturating_mul(24) > room {
            truncated = true;
            continue;
        }
        let mut args: Vec<OsString> = with(&["-p", "-U3"]).into_iter().map(OsString::from).collect();
        args.push("--".into());
        args.extend(paths.get(place).into_iter().flatten().map(|it| OsString::from_vec(it.clone())));
        let literal = git.clone().with("GIT_LITERAL_PATHSPECS", "1");
        let hunks = read_hunks(&String::from_utf8_lossy(&literal.bytes(&args)?));
        let length = serde_json::to_vec(&hunks).map_or(usize::MAX, |it| it.len());
        if length > room {
            truncated = true;
            continue;
        }
        room -= length;
        file.hunks = hunks;
    }
    let mut stats = ChangeFigures { files: files.len() as u64, ..ChangeFigures::default() };
    for file in &files {
        stats.additions += file.additions;
        stats.deletions += file.deletions;
    }
    Ok(CommitChange { base: base.to_owned(), head: head.to_owned(), truncated, stats, files })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `:MODE MODE OBJECT OBJECT STATUS`, then one path, or two of a renamed file.
/// The paths come beside the files as they are: they need not be text.
fn read_raw(listed: &[u8]) -> (Vec<ChangedFile>, Vec<Vec<Vec<u8>>>) {
    let mut parts = listed.split(|it| *it == 0).filter(|it| !it.is_empty());
    let (mut files, mut paths) = (Vec::new(), Vec::new());
    while let Some(head) = parts.next() {
        let head = text(head);
        let words: Vec<&str> = head.split(' ').collect();
        let [_, _, old, new, status] = words.as_slice() else { break };
        let status = match status.chars().next() {
            Some('A') => ChangedFileStatus::Added,
            Some('D') => ChangedFileStatus::Deleted,
            Some('R') => ChangedFileStatus::Renamed,
            Some('C') => ChangedFileStatus::Copied,
            Some('M') if old == new => ChangedFileStatus::Mode,
            _ => ChangedFileStatus::Modified,
        };
        let has_two = matches!(status, ChangedFileStatus::Renamed | ChangedFileStatus::Copied);
        let own: Vec<Vec<u8>> =
            parts.by_ref().take(if has_two { 2 } else { 1 }).map(<[u8]>::to_vec).collect();
        let path = own.last().map(|it| text(it)).unwrap_or_default();
        let old_path = own.first().filter(|_| has_two).map(|it| text(it));
        files.push(ChangedFile { path, old_path, status, ..ChangedFile::default() });
        paths.push(own);
    }
    (files, paths)
}

/// `ADDED TAB DELETED TAB PATH`; of a renamed file the path is empty and two follow. In the order of the files.
fn read_figures(listed: &[u8], files: &mut [ChangedFile]) {
    let mut parts = listed.split(|it| *it == 0).map(text);
    for file in files {
        let Some(line) = parts.next() else { return };
        let mut words = line.splitn(3, '\t');
        let (added, deleted) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        file.binary = added == "-";
        file.additions = added.parse().unwrap_or(0);
        file.deletions = deleted.parse().unwrap_or(0);
        if words.next() == Some("") {
            parts.next();
            parts.next();
        }
    }
}

fn read_hunks(patch: &str) -> Vec<ChangeHunk> {
    let mut hunks: Vec<ChangeHunk> = Vec::new();
    // Lines of the hunk that are still to come: a deleted line can look like a header.
    let (mut old_left, mut new_left) = (0, 0);
    for line in patch.split('\n') {
        if old_left == 0 && new_left == 0 {
            if let Some(hunk) = line.strip_prefix("@@ -").and_then(read_head) {
                (old_left, new_left) = (hunk.old_lines, hunk.new_lines);
                hunks.push(hunk);
            }
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let kind = match line.chars().next() {
            Some('+') => ChangeLineKind::Add,
            Some('-') => ChangeLineKind::Delete,
            Some('\\') => continue,
            _ => ChangeLineKind::Context,
        };
        if kind != ChangeLineKind::Add {
            old_left = old_left.saturating_sub(1);
        }
        if kind != ChangeLineKind::Delete {
            new_left = new_left.saturating_sub(1);
        }
        let text = line.get(1..).unwrap_or_default().to_owned();
        hunk.lines.push(ChangeLine { kind, text });
    }
    hunks
}

/// `3,4 +5,6 @@ header`.
fn read_head(rest: &str) -> Option<ChangeHunk> {
    let (ranges, header) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |it: &str| -> Option<(u64, u64)> {
        let (start, lines) = it.split_once(',').unwrap_or((it, "1"));
        Some((start.parse().ok()?, lines.parse().ok()?))
    };
    let ((old_start, old_lines), (new_start, new_lines)) = (range(old)?, range(new)?);
    let header = header.trim_start().to_owned();
    Some(ChangeHunk { old_start, old_lines, new_start, new_lines, header, lines: Vec::new() })
}
