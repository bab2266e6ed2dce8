//! A journal that ends before what was made from it.

/// What is said of a journal that ends at entry `end` beside a `state.db` that was made from `known` entries; none where
/// it goes as far. `state.db` is written after the journal is synced: if it is ahead, something that was answered is lost.
pub fn missing(known: u64, end: u64) -> Option<String> {
    match end {
        _ if known <= end => None,
        0 => Some(format!(
            "it is empty or was not there, but state.db beside it was made from {known} entries. \
             Put the journal back, and with it the -wal file that was beside it, or restore a backup into another folder. \
             To begin anew with nothing, choose an empty folder"
        )),
        _ => Some(format!(
            "it ends at {end}, but state.db beside it was made from {known} entries: what was answered after {end} is missing. \
             Put the file journal.db-wal back beside it, or restore a backup into another folder. Nothing was changed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn only_a_journal_that_ends_too_early_is_spoken_of() {
        assert_eq!((missing(0, 0), missing(5, 5), missing(5, 9)), (None, None, None));
        assert!(
            missing(35, 14)
                .is_some_and(|it| it.starts_with("it ends at 14, but state.db beside it was made from 35"))
        );
        assert!(missing(3, 0).is_some_and(|it| it.contains("was made from 3 entries. Put the journal back")));
    }
}
