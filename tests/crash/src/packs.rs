//! The packs of these tests.

use std::path::Path;

use trackside_lifecycle::time::Timestamp;
use trackside_runtime::PackSource;

pub fn pack(name: &str) -> PackSource {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let mut files = vec![("pack.yaml".to_owned(), read(&folder.join("pack.yaml")))];
    let mut paths: Vec<_> =
        std::fs::read_dir(folder.join("lifecycles")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        files.push((format!("lifecycles/{}", path.file_name().unwrap().to_string_lossy()), read(&path)));
    }
    PackSource { files }
}

pub fn packs() -> [PackSource; 2] {
    [pack("mission"), pack("coding")]
}

pub fn start_of_time() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
}
