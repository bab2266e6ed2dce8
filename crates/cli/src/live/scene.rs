//! The contents of the live view, as data.

use std::collections::VecDeque;

use serde_json::Value as Json;

use crate::paging::{ListSize, fetch_list};
use crate::print_entry;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, text, texts};
use crate::url::ApiPath;

/// Most entries that are remembered.
const KEPT: usize = 200;
/// Maximum number of overdue entities per lifecycle.
const LATE: usize = 20;

/// Counts per state and overdue entities, at one moment.
#[derive(Debug, Default)]
pub(super) struct LiveQuery {
    pub(super) now: String,
    pub(super) counts: Vec<StateCount>,
    pub(super) late: Vec<Late>,
}

/// The number of a lifecycle's entities in a state.
#[derive(Debug, PartialEq)]
pub(super) struct StateCount {
    pub(super) lifecycle: String,
    pub(super) state: String,
    pub(super) many: u64,
}

/// An entity that is overdue.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) entity: String,
    pub(super) state: String,
    pub(super) seconds: f64,
}

impl LiveQuery {
    pub(super) fn take(server: &ServerConnection, lifecycle: Option<&str>) -> Result<Self, RequestError> {
        let now = text(&server.get(&ApiPath::new(&["clock"]))?, "now").to_owned();
        let defined = fetch_list(server, &ApiPath::new(&["lifecycles"]), ListSize::All)?.to_json();
        let stats = server.get(&ApiPath::new(&["stats"]).with_some("lifecycle", lifecycle))?;
        let mut counts = Vec::new();
        match lifecycle {
            Some(_) => count(&stats, &defined, true, &mut counts),
            None => list(&stats, "items").iter().for_each(|it| count(it, &defined, false, &mut counts)),
        }
        let mut lived: Vec<&str> = counts.iter().map(|it| it.lifecycle.as_str()).collect();
        lived.dedup();
        let mut late = Vec::new();
        for lifecycle in lived {
            let route = ApiPath::new(&["entities", lifecycle]).with("overdue", true).with("limit", LATE);
            late.extend(list(&server.get(&route)?, "items").iter().map(Late::read));
        }
        late.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        Ok(Self { now, counts, late })
    }
}

/// Counts of one lifecycle, in the order in which its states are declared.
fn count(stats: &Json, defined: &Json, empty_too: bool, counts: &mut Vec<StateCount>) {
    let lifecycle = text(stats, "lifecycle");
    let known = list(defined, "items").iter().find(|it| text(it, "lifecycle") == lifecycle);
    let declared = known.map(|it| texts(it, "states")).unwrap_or_default();
    let many = |state: &str| stats.pointer(&format!("/states/{state}")).and_then(Json::as_u64).unwrap_or(0);
    for state in declared.iter().filter(|it| empty_too || many(it) > 0) {
        counts.push(StateCount {
            lifecycle: lifecycle.to_owned(),
            state: (*state).to_owned(),
            many: many(state),
        });
    }
}

impl Late {
    fn read(it: &Json) -> Self {
        Self {
            entity: format!("{}/{}", text(it, "lifecycle"), text(it, "id")),
            state: text(it, "state").to_owned(),
            seconds: it.get("timeInState").and_then(Json::as_f64).unwrap_or_default(),
        }
    }
}

/// All that is shown.
#[derive(Debug)]
pub(super) struct LiveView {
    pub(super) title: String,
    pub(super) look: LiveQuery,
    /// Recent entries, the newest first.
    pub(super) movers: VecDeque<String>,
    pub(super) trouble: Option<&'static str>,
}

impl LiveView {
    pub(super) fn new(lifecycle: Option<&str>) -> Self {
        let title = lifecycle.unwrap_or("all lifecycles").to_owned();
        Self { title, look: LiveQuery::default(), movers: VecDeque::new(), trouble: None }
    }

    pub(super) fn add_entry(&mut self, entry: Json) {
        self.trouble = None;
        self.movers.push_front(print_entry::line(&entry, true).plain());
        self.movers.truncate(KEPT);
    }

    pub(super) fn update(&mut self, look: LiveQuery) {
        self.trouble = None;
        self.look = look;
    }

    pub(super) fn set_disconnected(&mut self) {
        self.trouble = Some("lost the connection to the server: reconnecting");
    }
}
