//! Identifiers for a notation: a name that it would misread gets a plain one.

use std::collections::{BTreeMap, BTreeSet};

/// An identifier for each name; no two are the same.
#[derive(Debug)]
pub(super) struct IdentifierMap(BTreeMap<String, String>);

impl IdentifierMap {
    /// Valid names stay. Others become `prefix` and their valid characters.
    pub fn new<'a>(
        names: impl IntoIterator<Item = &'a str>,
        prefix: &str,
        fit: impl Fn(&str) -> bool,
    ) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut taken: BTreeSet<String> =
            names.iter().filter(|it| fit(it)).map(|it| (*it).to_owned()).collect();
        let mut ids = BTreeMap::new();
        for name in names {
            let id =
                if fit(name) { name.to_owned() } else { free(&taken, &format!("{prefix}{}", plain(name))) };
            taken.insert(id.clone());
            ids.insert(name.to_owned(), id);
        }
        Self(ids)
    }

    pub fn get<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

/// Letters, digits and underscores, not starting with a digit: an identifier almost everywhere.
pub(super) fn is_word(name: &str) -> bool {
    name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        && name.starts_with(|it: char| it.is_ascii_alphabetic())
}

fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect()
}

fn free(taken: &BTreeSet<String>, wish: &str) -> String {
    if !taken.contains(wish) {
        return wish.to_owned();
    }
    (2_u32..).map(|n| format!("{wish}_{n}")).find(|it| !taken.contains(it)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_name_stays_and_no_two_are_the_same() {
        let ids = IdentifierMap::new(["DONE", "a b", "a-b", "s_a_b", "größe"], "s_", is_word);
        assert_eq!(ids.get("DONE"), "DONE");
        assert_eq!(ids.get("s_a_b"), "s_a_b");
        assert_eq!(ids.get("a b"), "s_a_b_2");
        assert_eq!(ids.get("a-b"), "s_a_b_3");
        assert_eq!(ids.get("größe"), "s_gr__e");
    }
}
