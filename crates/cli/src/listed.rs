//! Lists of a server, page by page.

use serde_json::{Value as Json, json};

use crate::moment;
use crate::print;
use crate::reach::{Server, Unanswered};
use crate::route::Route;

/// Most items of a page.
const PAGE: usize = 200;

/// How much of a list is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Much {
    /// A page, as long as the server likes.
    Page,
    /// At most so many.
    Most(usize),
    All,
}

impl Much {
    pub(crate) fn new(limit: Option<usize>, all: bool) -> Self {
        match (all, limit) {
            (true, _) => Self::All,
            (false, Some(limit)) => Self::Most(limit),
            (false, None) => Self::Page,
        }
    }
}

/// What was found, and whether there is more.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) items: Vec<Json>,
    pub(crate) more: Option<String>,
    /// The first answer as a whole: some lists say more than their items.
    pub(crate) first: Json,
}

/// Asks for pages until there is enough.
pub(crate) fn listed(server: &Server, route: &Route, much: Much) -> Result<Listed, Unanswered> {
    let mut found = Listed { items: Vec::new(), more: None, first: Json::Null };
    loop {
        let size = match much {
            Much::Page => None,
            Much::Most(most) => Some(most.saturating_sub(found.items.len()).min(PAGE)),
            Much::All => Some(PAGE),
        };
        let route = route.clone().with_some("limit", size).with_some("cursor", found.more.as_ref());
        let body = server.get(&route)?;
        found.items.extend_from_slice(moment::list(&body, "items"));
        found.more = body.get("nextCursor").and_then(Json::as_str).map(str::to_owned);
        if found.first.is_null() {
            found.first = body;
        }
        let enough = match much {
            Much::Page => true,
            Much::Most(most) => found.items.len() >= most,
            Much::All => false,
        };
        if enough || found.more.is_none() {
            return Ok(found);
        }
    }
}

impl Listed {
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

    /// Says that there is more, where there is.
    pub(crate) fn tell_more(&self) {
        if self.more.is_some() {
            print::message(&format!(
                "These are the first {}. See the rest with --all, or so many with --limit N",
                self.items.len()
            ));
        }
    }
}
