//! The drawings in `docs/diagrams` match the packs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::folder;
use trackside_study::draw::Picture;
use trackside_study::draw::graph::pack_graphs;
use trackside_study::draw::svg::Theme;

/// Set, it makes the test write the drawings instead of comparing them.
const UPDATE: &str = "DIAGRAMS_UPDATE";

#[test]
fn the_drawings_of_the_packs_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wanted: BTreeMap<PathBuf, String> = BTreeMap::new();
    for name in ["build", "coding", "mission", "research", "turns"] {
        for graph in pack_graphs(&folder::pack(&root.join("packs").join(name)).0) {
            let file = root.join("docs/diagrams").join(format!("{}.svg", graph.name));
            wanted.insert(file, Picture::of(&graph).svg(Theme::Auto));
        }
    }
    if std::env::var_os(UPDATE).is_some() {
        let _ = std::fs::remove_dir_all(root.join("docs/diagrams"));
        std::fs::create_dir_all(root.join("docs/diagrams")).unwrap();
        wanted.iter().for_each(|(file, svg)| std::fs::write(file, svg).unwrap());
    }
    let there = std::fs::read_dir(root.join("docs/diagrams")).unwrap().map(|it| it.unwrap().path());
    let surplus: Vec<PathBuf> = there.filter(|it| !wanted.contains_key(it)).collect();
    assert_eq!(surplus, Vec::<PathBuf>::new(), "drawings of no lifecycle");
    for (file, svg) in wanted {
        let same = std::fs::read_to_string(&file).is_ok_and(|it| it == svg);
        let file = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            same,
            "docs/diagrams/{file} is out of date; run {UPDATE}=1 cargo test -p trackside-study --test study draw::diagrams"
        );
    }
}
