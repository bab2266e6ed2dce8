//! Runners that cannot start agents.

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{ReadError, Reads};

/// The lifecycle of runners.
const RUNNER: &str = "fleet.runner";

/// Why no runner that is online can start agents, one sentence for each. Empty if one can, or if none is online.
pub(super) fn unfit_runners(reads: &Reads) -> Result<Vec<String>, ReadError> {
    let lifecycle = Name::new(RUNNER);
    let law = reads.law();
    // The first state of a runner is the one in which it starts agents.
    let is_online = |it: &Entity| {
        law.definition(&it.key.lifecycle, it.definition).is_some_and(|life| life.initial == it.state)
    };
    let mut query = ListQuery::of(lifecycle, Actor::engine());
    query.limit = MOST;
    let mut unfit = Vec::new();
    loop {
        let listed = reads.list(&query)?;
        for runner in listed.items.iter().filter(|it| is_online(it)) {
            let text = |name: &str| runner.fields.text(name).unwrap_or_default().to_owned();
            let why = text("unfit");
            if why.is_empty() {
                return Ok(Vec::new());
            }
            unfit.push(format!("runner {} on {} cannot start agents: {why}", runner.key.id, text("machine")));
        }
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            return Ok(unfit);
        }
    }
}
