//! Finds the main checkout of a git worktree.

use std::path::{Path, PathBuf};

/// The root of the main checkout, if this folder is the root of another worktree of it.
pub(crate) fn main_checkout(folder: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(folder.join(".git")).ok()?;
    let own = folder.join(text.strip_prefix("gitdir:")?.trim());
    // Submodules have no such file.
    let common = std::fs::read_to_string(own.join("commondir")).ok()?;
    let common = std::fs::canonicalize(own.join(common.trim())).ok()?;
    let main = common.parent().filter(|_| common.ends_with(".git"))?;
    Some(main.to_owned()).filter(|it| *it != *folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_worktree_has_a_main_checkout() {
        let root = std::env::temp_dir().join(format!("trackside-worktree-{}", std::process::id()));
        let (main, tree, module) = (root.join("main"), root.join("tree"), root.join("main/module"));
        let own = main.join(".git/worktrees/tree");
        for folder in [&own, &tree, &module, &main.join(".git/modules/module")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        std::fs::write(module.join(".git"), "gitdir: ../.git/modules/module\n").unwrap();
        assert_eq!(main_checkout(&tree), std::fs::canonicalize(&main).ok());
        std::fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
        assert_eq!(main_checkout(&tree), std::fs::canonicalize(&main).ok());
        for other in [&main, &module, &root] {
            assert_eq!(main_checkout(other), None);
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
