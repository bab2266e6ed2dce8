//! Journal entries in expressions: log lines, and the entries of a history.

use trackside_lifecycle::model::{Lifecycle, Query};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::draft::DecisionDraft;
use super::fire::plain_scope;
use super::request::Request;
use super::scope::{EntityScope, Surroundings};
use crate::actor::{Actor, ActorKind, ENGINE};
use crate::entity::Entity;
use crate::fields::Fields;
use crate::law::Law;
use crate::view::{Lookup, Needs, View};

/// The log line of an entry in the form that the newest version of its lifecycle declares: the members that are not
/// null. None if there is no line for this entry. `entity` is the entity as it is now.
pub fn log_line(
    law: &Law,
    view: &View,
    entity: &Entity,
    entry: &Value,
    now: Timestamp,
) -> Result<Option<Vec<(Name, Value)>>, Needs> {
    let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(None) };
    let Some(log) = &life.log else { return Ok(None) };
    let request = Request::engine(ActorKind::System, Fields::default(), Name::new(ENGINE), None);
    with_entry(law, view, life, entity, entry, &request, now, None, |scope| {
        if log.when.as_ref().is_some_and(|it| !it.test(scope).unwrap_or(false)) {
            return None;
        }
        let members = log.line.iter().map(|(name, it)| (name.clone(), it.eval(scope).unwrap_or_default()));
        Some(members.filter(|(_, value)| !value.is_null()).collect())
    })
}

/// Whether an entry passes the `where` of a history. A condition that cannot be evaluated leaves the entry out.
#[expect(clippy::too_many_arguments, reason = "a query, its parameters, and an entry")]
pub fn passes_history(
    law: &Law,
    view: &View,
    query: &Query,
    params: &Fields,
    entity: &Entity,
    entry: &Value,
    actor: &Actor,
    now: Timestamp,
) -> Result<bool, Needs> {
    let Some(filter) = &query.filter else { return Ok(true) };
    let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(false) };
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    with_entry(law, view, life, entity, entry, &request, now, Some(params), |scope| {
        filter.test(scope).unwrap_or(false)
    })
}

#[expect(clippy::too_many_arguments, reason = "everything that an expression reads")]
fn with_entry<T>(
    law: &Law,
    view: &View,
    life: &Lifecycle,
    entity: &Entity,
    entry: &Value,
    request: &Request,
    now: Timestamp,
    ask: Option<&Fields>,
    look: impl FnOnce(&EntityScope<'_>) -> T,
) -> Result<T, Needs> {
    let lookup = Lookup::new(view);
    let draft = DecisionDraft::new(&lookup);
    let around = Surroundings { law, draft: &draft, project: &view.project, now };
    let plain = plain_scope(&around, life, entity, request);
    lookup.finish(look(&EntityScope { ask, it: Some(entry), ..plain }))
}
