//! The regions of an SQLite file: of every table and index the page headers, the cell pointers and the cells.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use trackside_random::Random;

/// A part of the pages of one table or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Region {
    /// The first 100 bytes of the file.
    File,
    /// The headers of its pages.
    Header,
    /// The places of its rows in the pages.
    Pointers,
    /// Its rows.
    Cells,
}

/// The bytes of a file by table or index and region. A table without rows has no cells.
pub(super) fn strata(path: &Path) -> BTreeMap<(String, Region), Vec<Range<usize>>> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let size: i64 = file.query_row("PRAGMA page_size", [], |it| it.get(0)).unwrap();
    let mut statement = file.prepare("SELECT name, pageno, pagetype FROM dbstat").unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let pages: Vec<(String, i64, String)> =
        statement.query_map([], row).unwrap().map(Result::unwrap).collect();
    let bytes = std::fs::read(path).unwrap();
    let mut all: BTreeMap<(String, Region), Vec<Range<usize>>> = BTreeMap::new();
    let mut add = |name: &str, region, range: Range<usize>| {
        if !range.is_empty() {
            all.entry((name.to_owned(), region)).or_default().push(range);
        }
    };
    let size_of_page = usize::try_from(size).unwrap();
    add("", Region::File, 0..100);
    for (name, number, kind) in pages {
        let page = usize::try_from((number - 1) * size).unwrap();
        if kind == "overflow" {
            add(&name, Region::Cells, page..page + size_of_page);
            continue;
        }
        let header = if number == 1 { 100 } else { page };
        let two = |at: usize| (usize::from(bytes[at]) << 8) | usize::from(bytes[at + 1]);
        let pointers = header + if kind == "internal" { 12 } else { 8 };
        let cells = two(header + 3);
        add(&name, Region::Header, header..pointers);
        add(&name, Region::Pointers, pointers..pointers + 2 * cells);
        let mut starts: Vec<usize> = (0..cells).map(|it| page + two(pointers + 2 * it)).collect();
        starts.extend([page + size_of_page]);
        starts.sort_unstable();
        starts.windows(2).for_each(|it| add(&name, Region::Cells, it[0]..it[1]));
    }
    all
}

/// The regions whose damage is always noticed: rows have checksums. A flipped bit in the header of a page or in the places
/// of its rows can hide a row. `TRACKSIDE_ROT_PAGES` adds these regions.
pub(super) fn is_guarded(region: Region) -> bool {
    matches!(region, Region::File | Region::Cells) || std::env::var_os("TRACKSIDE_ROT_PAGES").is_some()
}

/// A random bit of a stratum: the byte and its mask.
pub(super) fn some_bit(random: &mut Random, ranges: &[Range<usize>]) -> (usize, u8) {
    let range = random.pick(ranges).unwrap();
    (range.start + random.below(range.len()), 1 << random.below(8))
}

/// The seed of the samples: 2, or the one in `TRACKSIDE_ROT_SEED`.
pub(super) fn seed() -> u64 {
    std::env::var("TRACKSIDE_ROT_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(2)
}
