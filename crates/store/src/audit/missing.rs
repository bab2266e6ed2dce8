//! Detects a journal that ends before the projections built from it.

/// The problem with a journal that ends at `end` while `state.db` was built from `known` entries; none if the journal
/// reaches that far. `state.db` is written after the journal is synced, so if it is ahead, acknowledged entries are
/// lost.
pub fn missing(known: u64, end: u64) -> Option<String> {
    match end {
        _ if known <= end => None,
        0 => Some(format!(
            "it is missing or empty, but state.db was built from {known} entries. \
             Put the journal back together with its -wal file, or restore a backup into another folder. \
             To start from scratch, choose an empty folder"
        )),
        _ => Some(format!(
            "it ends at {end}, but state.db was built from {known} entries: acknowledged entries after {end} are missing. \
             Put journal.db-wal back beside it, or restore a backup into another folder. Nothing was changed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn only_a_journal_that_ends_too_early_is_reported() {
        assert_eq!((missing(0, 0), missing(5, 5), missing(5, 9)), (None, None, None));
        assert!(
            missing(35, 14).is_some_and(|it| it.starts_with("it ends at 14, but state.db was built from 35"))
        );
        assert!(
            missing(3, 0).is_some_and(|it| it.contains("was built from 3 entries. Put the journal back"))
        );
    }
}
