//! Lists of a server, page by page.

use serde_json::{Value as Json, json};

use crate::args::PageArgs;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::styled::Styled;
use crate::url::ApiPath;
use crate::{exit, print, time_format};

/// Most items of a page.
const PAGE: usize = 200;

/// The number of items to fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListSize {
    /// One page of the server's default size.
    Page,
    /// At most this many.
    Most(usize),
    All,
}

impl ListSize {
    /// The size of the next page after this many items; none for the server's default.
    pub(crate) fn page_size(self, found: usize) -> Option<usize> {
        match self {
            Self::Page => None,
            Self::Most(most) => Some(most.saturating_sub(found).min(PAGE)),
            Self::All => Some(PAGE),
        }
    }

    /// Whether this many items are all that were wanted.
    pub(crate) fn is_enough(self, found: usize) -> bool {
        match self {
            Self::Page => true,
            Self::Most(most) => found >= most,
            Self::All => false,
        }
    }
}

impl From<&PageArgs> for ListSize {
    fn from(args: &PageArgs) -> Self {
        match (args.all, args.limit) {
            (true, _) => Self::All,
            (false, Some(limit)) => Self::Most(limit as usize),
            (false, None) => Self::Page,
        }
    }
}

/// The items found, and the cursor of the next page.
#[derive(Debug)]
pub(crate) struct PagedList {
    pub(crate) items: Vec<Json>,
    pub(crate) more: Option<String>,
    /// The first answer as a whole: some lists contain more than items.
    pub(crate) first: Json,
}

/// Fetches pages until there are enough items.
pub(crate) fn fetch_list(
    server: &ServerConnection,
    route: &ApiPath,
    much: impl Into<ListSize>,
) -> Result<PagedList, RequestError> {
    let much = much.into();
    let mut found = PagedList { items: Vec::new(), more: None, first: Json::Null };
    loop {
        let size = much.page_size(found.items.len());
        let route = route.clone().with_some("limit", size).with_some("cursor", found.more.as_ref());
        let body = server.get(&route)?;
        found.items.extend_from_slice(time_format::list(&body, "items"));
        found.more = body.get("nextCursor").and_then(Json::as_str).map(str::to_owned);
        if found.first.is_null() {
            found.first = body;
        }
        if much.is_enough(found.items.len()) || found.more.is_none() {
            return Ok(found);
        }
    }
}

/// The note below a list that shows only its first items.
pub(crate) fn more_note(shown: usize) -> Styled {
    styled!("Showing the first {shown}. Use --all for the rest, or --limit N")
}

impl PagedList {
    pub(crate) fn to_json(&self) -> Json {
        let mut all = self.first.clone();
        match all.as_object_mut() {
            Some(all) => {
                all.insert("items".to_owned(), json!(self.items));
                all.insert("nextCursor".to_owned(), json!(self.more));
            }
            None => all = json!({ "items": self.items, "nextCursor": self.more }),
        }
        all
    }

    /// Prints it: as JSON, or by `show` with `none` for an empty list. Returns the exit code.
    pub(crate) fn print(&self, as_json: bool, none: &str, show: impl FnOnce(&[Json])) -> u8 {
        if as_json {
            print::json(&self.to_json());
        } else if self.items.is_empty() {
            print::message(none);
        } else {
            show(&self.items);
            self.tell_more();
        }
        exit::DONE
    }

    /// Prints a note if there are more items.
    fn tell_more(&self) {
        if self.more.is_some() {
            print::message(more_note(self.items.len()));
        }
    }
}
