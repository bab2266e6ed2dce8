//! The contents of the live view, as data.

use std::collections::VecDeque;

use serde_json::Value as Json;

use crate::entity_labels::EntityLabels;
use crate::paging::{ListSize, fetch_list};
use crate::print_entry;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{entity_of, list, text, texts};
use crate::url::ApiPath;

/// Most entries that are remembered.
const KEPT: usize = 200;
/// Maximum number of overdue entities, and of others, per lifecycle.
const ROWS: usize = 20;

/// Counts per state and open entities, at one moment.
#[derive(Debug, Default)]
pub(super) struct LiveQuery {
    pub(super) now: String,
    pub(super) counts: Vec<StateCount>,
    /// Overdue ones first, then those that are longest in their state.
    pub(super) rows: Vec<LiveRow>,
}

/// The number of a lifecycle's entities in a state.
#[derive(Debug, PartialEq)]
pub(super) struct StateCount {
    pub(super) lifecycle: String,
    pub(super) state: String,
    pub(super) many: u64,
}

/// An open entity.
#[derive(Debug)]
pub(super) struct LiveRow {
    /// Its title, or else its id.
    pub(super) title: String,
    pub(super) entity: String,
    pub(super) holder: String,
    pub(super) seconds: f64,
    pub(super) state: String,
    pub(super) overdue: bool,
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
        let mut rows: Vec<LiveRow> = Vec::new();
        for lifecycle in lived {
            let known = list(&defined, "items").iter().find(|it| text(it, "lifecycle") == lifecycle);
            let labels = known.map(EntityLabels::read).unwrap_or_default();
            let route = ApiPath::new(&["entities", lifecycle]).with("limit", ROWS);
            let late = server.get(&route.clone().with("overdue", true))?;
            rows.extend(list(&late, "items").iter().map(|it| LiveRow::read(it, &labels, true)));
            let open: Vec<&str> = known.map(open_states).unwrap_or_default();
            if !open.is_empty() {
                let found = server.get(&route.with("state", open.join(",")))?;
                let new: Vec<LiveRow> =
                    list(&found, "items").iter().map(|it| LiveRow::read(it, &labels, false)).collect();
                let shown: Vec<String> = rows.iter().map(|it| it.entity.clone()).collect();
                rows.extend(new.into_iter().filter(|it| !shown.contains(&it.entity)));
            }
        }
        rows.sort_by(|a, b| b.overdue.cmp(&a.overdue).then(b.seconds.total_cmp(&a.seconds)));
        Ok(Self { now, counts, rows })
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

/// The states of a lifecycle in which an entity has not ended.
fn open_states(lifecycle: &Json) -> Vec<&str> {
    let ends = |state: &str| {
        let shows = lifecycle.get("shows").map(|it| text(it, state)).unwrap_or_default();
        ["done", "failed", "ended"].contains(&shows)
    };
    texts(lifecycle, "states").into_iter().filter(|it| !ends(it)).collect()
}

impl LiveRow {
    fn read(it: &Json, labels: &EntityLabels, overdue: bool) -> Self {
        let entity = entity_of(it);
        let title = Some(labels.title(it)).filter(|it| !it.is_empty());
        Self {
            title: title.unwrap_or_else(|| entity.clone()),
            entity,
            holder: labels.holder(it),
            seconds: it.get("timeInState").and_then(Json::as_f64).unwrap_or_default(),
            state: text(it, "state").to_owned(),
            overdue,
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
