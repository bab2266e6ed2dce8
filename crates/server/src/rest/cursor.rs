//! Cursors: opaque positions in a list that only that list accepts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::Paging;
use crate::problem::Refused;

/// Bytes of the checksum.
const SEAL: usize = 6;

/// The cursors of one list, by its path. The checksum catches mistakes, not attacks: a position is no secret, and
/// every page checks what the caller may see.
#[derive(Clone, Debug)]
pub(crate) struct Cursors(String);

impl Cursors {
    pub fn of(path: &[&str]) -> Self {
        Self(path.join("/"))
    }

    /// The cursor for the page after this position.
    pub fn give(&self, place: impl std::fmt::Display) -> String {
        let place = place.to_string();
        let sealed = [&self.signature(place.as_bytes())[..], place.as_bytes()].concat();
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// The position in a cursor; none for the first page.
    pub fn place(&self, cursor: Option<&str>) -> Result<Option<String>, Refused> {
        let Some(text) = cursor else { return Ok(None) };
        let given = URL_SAFE_NO_PAD.decode(text).ok().filter(|it| it.len() > SEAL);
        let place = given.and_then(|it| {
            let (seal, place) = it.split_at(SEAL);
            let place = (*seal == self.signature(place)).then(|| place.to_vec())?;
            String::from_utf8(place).ok()
        });
        place.map(Some).ok_or_else(|| not_a_cursor(text))
    }

    /// The cursor of a list in journal order: the entry to start after.
    pub fn after(&self, cursor: Option<&str>) -> Result<u64, Refused> {
        let place = self.place(cursor)?;
        let parse = |it: String| it.parse().map_err(|_| not_a_cursor(&it));
        place.map_or(Ok(0), parse)
    }

    /// A page of a list that is in memory, and its next cursor. If the last item shown is gone by then, the next page
    /// starts at its position.
    pub fn part<T>(
        &self,
        all: Vec<T>,
        page: &Paging,
        name: impl Fn(&T) -> String,
    ) -> Result<(Vec<T>, Option<String>), Refused> {
        let most = super::page_size(page.limit)?;
        let first = match self.place(page.cursor.as_deref())? {
            None => 0,
            Some(text) => {
                let (place, last) = text.split_once('~').ok_or_else(|| not_a_cursor(&text))?;
                let place: usize = place.parse().map_err(|_| not_a_cursor(&text))?;
                all.iter().position(|it| name(it) == last).map_or(place, |it| it + 1)
            }
        };
        let count = all.len();
        let items: Vec<T> = all.into_iter().skip(first).take(most).collect();
        let end = first.saturating_add(items.len());
        let last = items.last().filter(|_| end < count);
        let next = last.map(|it| self.give(format!("{end}~{}", name(it))));
        Ok((items, next))
    }

    fn signature(&self, place: &[u8]) -> [u8; SEAL] {
        let hash = Sha256::new().chain_update(&self.0).chain_update([0]).chain_update(place).finalize();
        let mut seal = [0; SEAL];
        seal.copy_from_slice(hash.get(..SEAL).unwrap_or(&[0; SEAL]));
        seal
    }
}

fn not_a_cursor(text: &str) -> Refused {
    let detail =
        format!("`{text}` is not a cursor of this list. Send the `nextCursor` of the previous page, or none");
    Refused::parameter("cursor", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_its_own_cursors() {
        let (tasks, agents) = (Cursors::of(&["entities", "a.task"]), Cursors::of(&["entities", "a.agent"]));
        for place in ["T-1", "C:é", "0~2026-01-01T00:00:00Z~a.task/T-1", "7"] {
            let given = tasks.give(place);
            assert!(given.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)), "{given}");
            assert_eq!(tasks.place(Some(&given)).unwrap().as_deref(), Some(place));
            assert!(agents.place(Some(&given)).is_err(), "it is not theirs");
            assert!(tasks.place(Some(place)).is_err(), "it was not given");
        }
        assert_eq!(tasks.place(None).unwrap(), None);
        assert_eq!((tasks.after(Some(&tasks.give(7))).unwrap(), tasks.after(None).unwrap()), (7, 0));
        assert!(tasks.after(Some(&tasks.give("x"))).is_err() && tasks.place(Some("")).is_err());
    }

    #[test]
    fn a_cursor_works_after_its_entity_is_gone() {
        let cursors = Cursors::of(&["lifecycles"]);
        let page = |all: &[&str], cursor: Option<String>| {
            let paging = Paging { limit: Some(2), cursor };
            let all = all.iter().map(|it| (*it).to_owned()).collect();
            cursors.part(all, &paging, Clone::clone).unwrap()
        };
        let (first, next) = page(&["a", "b", "c", "d"], None);
        assert_eq!(first, ["a", "b"]);
        assert_eq!(page(&["0", "a", "b", "c", "d"], next.clone()).0, ["c", "d"], "one came before");
        assert_eq!(page(&["a", "b1", "c", "d"], next.clone()).0, ["c", "d"], "the last one is gone");
        assert_eq!(page(&["a", "b", "c"], next), (vec!["c".to_owned()], None));
    }
}
