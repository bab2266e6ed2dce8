//! Hides folders and files from a run, in the mount namespace of the run.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};

use crate::records::SandboxSpec;

/// One change to what the run sees.
enum MaskStep {
    /// The folder appears empty.
    Empty,
    /// The file appears empty.
    Cover(OwnedFd),
    /// What was there before its parent was hidden.
    Keep { tree: OwnedFd, is_folder: bool },
    /// A link inside a hidden folder.
    Link(PathBuf),
}

/// Hides what the spec names, except what it keeps.
pub(crate) fn apply(spec: &SandboxSpec) -> io::Result<()> {
    // All paths are followed and all trees are taken before the first one disappears.
    let hidden: BTreeSet<PathBuf> = spec.hide.iter().filter_map(|it| it.canonicalize().ok()).collect();
    let mut steps = Vec::new();
    for path in &hidden {
        let step =
            if path.is_dir() { MaskStep::Empty } else { MaskStep::Cover(tree(Path::new("/dev/null"))?) };
        steps.push((path.clone(), step));
    }
    let is_inside = |it: &Path| !hidden.contains(it) && hidden.iter().any(|hidden| it.starts_with(hidden));
    let mut kept = BTreeSet::new();
    for path in &spec.keep {
        let link = fs::read_link(path).ok();
        if let Some(link) = &link
            && is_inside(path)
            && kept.insert(path.clone())
        {
            steps.push((path.clone(), MaskStep::Link(link.clone())));
        }
        // A link to /proc leads to another place for each process.
        let Some(real) =
            path.canonicalize().ok().filter(|_| link.as_ref().is_none_or(|it| !it.starts_with("/proc")))
        else {
            continue;
        };
        // A folder of the path can be a link, too: then the run may use both names.
        let names = [Some(&real), Some(path).filter(|_| link.is_none())];
        for name in names.into_iter().flatten() {
            if is_inside(name) && kept.insert(name.clone()) {
                steps.push((name.clone(), MaskStep::Keep { tree: tree(&real)?, is_folder: real.is_dir() }));
            }
        }
    }
    // The outer ones first: a kept folder can contain a hidden one.
    steps.sort_by_key(|(path, _)| path.components().count());
    for (path, step) in steps {
        take(&path, step).map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be hidden or kept: {error}", path.display()))
        })?;
    }
    // The present folder still leads to the folders above it as they were.
    std::env::set_current_dir(std::env::current_dir()?)
}

fn take(path: &Path, step: MaskStep) -> io::Result<()> {
    match step {
        MaskStep::Empty if path.is_dir() => {
            // In a folder that everybody may write, the kernel would not let the run write to /dev/null.
            Ok(mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")?)
        }
        MaskStep::Cover(tree) if path.exists() => place(&tree, path),
        // It is inside another hidden folder.
        MaskStep::Empty | MaskStep::Cover(_) => Ok(()),
        MaskStep::Keep { tree, is_folder } => {
            if !path.exists() {
                let folder = if is_folder { Some(path) } else { path.parent() };
                folder.map_or(Ok(()), fs::create_dir_all)?;
                if !is_folder {
                    fs::write(path, "")?;
                }
            }
            place(&tree, path)
        }
        MaskStep::Link(target) => {
            if fs::symlink_metadata(path).is_ok() {
                return Ok(());
            }
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            std::os::unix::fs::symlink(target, path)
        }
    }
}

/// A file or folder with everything that is mounted in it, under no name.
fn tree(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
        .map_err(|error| io::Error::other(format!("{} cannot stay visible: {error}", path.display())))
}

fn place(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(tree.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}
