//! Journal entries in expressions: log lines, and the entries of a history.

use trackside_lifecycle::guard::{Fault, Guard, Scope, VarSlot};
use trackside_lifecycle::model::{EntityAttribute, Lifecycle, Query, Read};
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
use crate::observe::EntryAccess;
use crate::view::{Lookup, Needs, View};

/// The log line of an entry in the form that the newest version of its lifecycle declares: the members that are not
/// null. None if there is no line for this entry. `entity` is the present entity.
///
/// Fields that the reader may not see are null; without a reader, all fields that are not for everybody.
pub fn log_line(
    law: &Law,
    view: &View,
    entity: &Entity,
    entry: &Value,
    reader: Option<&Actor>,
    now: Timestamp,
) -> Result<Option<Vec<(Name, Value)>>, Needs> {
    let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(None) };
    let Some(log) = &life.log else { return Ok(None) };
    let hidden = hidden_fields(law, view, life, entity, reader, now)?;
    let entity = &without(entity, &hidden);
    let request = Request::engine(ActorKind::System, Fields::default(), Name::new(ENGINE), None);
    with_entry(law, view, life, entity, entry, &request, now, None, |scope| {
        let scope = &ReaderScope { law, life, hidden: &hidden, scope };
        let is_logged = log.when.as_ref().is_none_or(|it| it.test(scope).unwrap_or(false));
        is_logged.then(|| members(&log.line, scope))
    })
}

/// An entry as a row of a history query that declares its `line`: the members that are not null. `entity` is the
/// present entity; fields that the reader may not see are null.
#[expect(clippy::too_many_arguments, reason = "a query, its parameters, and an entry")]
pub fn history_line(
    law: &Law,
    view: &View,
    query: &Query,
    params: &Fields,
    entity: &Entity,
    entry: &Value,
    reader: &Actor,
    now: Timestamp,
) -> Result<Vec<(Name, Value)>, Needs> {
    let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(Vec::new()) };
    let hidden = hidden_fields(law, view, life, entity, Some(reader), now)?;
    let entity = &without(entity, &hidden);
    let request = Request::by(reader.clone(), reader.subject.clone(), Fields::default(), None);
    with_entry(law, view, life, entity, entry, &request, now, Some(params), |scope| {
        members(&query.line, &ReaderScope { law, life, hidden: &hidden, scope })
    })
}

/// The members of a line that are not null. A member that cannot be evaluated is null.
fn members(line: &[(Name, Guard)], scope: &ReaderScope<'_>) -> Vec<(Name, Value)> {
    let all = line.iter().map(|(name, it)| (name.clone(), it.eval(scope).unwrap_or_default()));
    all.filter(|(_, value)| !value.is_null()).collect()
}

/// The entity without the values of these fields.
fn without(entity: &Entity, fields: &[Name]) -> Entity {
    let mut entity = entity.clone();
    fields.iter().for_each(|it| entity.fields.set(it, Value::Null));
    entity
}

/// The fields of an entity that a log line must not show.
fn hidden_fields(
    law: &Law,
    view: &View,
    newest: &Lifecycle,
    entity: &Entity,
    reader: Option<&Actor>,
    now: Timestamp,
) -> Result<Vec<Name>, Needs> {
    let restricted = || newest.restricted_fields().map(|(field, _)| field.name.clone());
    let Some(reader) = reader else { return Ok(restricted().collect()) };
    let mut hidden = EntryAccess::of(law, view, entity, reader, now)?.hidden;
    if entity.definition != newest.version {
        hidden.extend(restricted());
    }
    Ok(hidden)
}

/// The names of an entity, without the values that the reader may not see.
pub(super) struct ReaderScope<'a> {
    pub law: &'a Law,
    pub life: &'a Lifecycle,
    pub hidden: &'a [Name],
    pub scope: &'a EntityScope<'a>,
}

impl ReaderScope<'_> {
    fn is_hidden(&self, slot: VarSlot) -> bool {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Field(name) | Read::Was(name)) => self.hidden.contains(name),
            Some(Read::Computed(guard)) => self.hidden.iter().any(|it| {
                let computed = self.life.fields.get(it).and_then(|it| it.is.as_ref());
                computed.is_some_and(|it| it.source() == guard.source())
            }),
            Some(Read::Ref(name, EntityAttribute::Field(field))) => {
                let to = self.life.refs.iter().find(|it| it.name == *name).map(|it| &it.to);
                self.is_restricted(to, field)
            }
            Some(Read::Me(EntityAttribute::Field(field))) => self.is_restricted(self.life.me.as_ref(), field),
            _ => false,
        }
    }

    /// Whether a field of another entity is not for everybody.
    fn is_restricted(&self, lifecycle: Option<&Name>, field: &Name) -> bool {
        let definitions = lifecycle.map(|it| self.law.definitions(it)).unwrap_or_default();
        definitions.iter().any(|it| it.restricted_fields().any(|(it, _)| it.name == *field))
    }
}

impl Scope for ReaderScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        if self.is_hidden(slot) { Ok(Value::Null) } else { self.scope.read(slot) }
    }

    fn call(&self, function: u16, arguments: &[Value]) -> Result<Value, Fault> {
        self.scope.call(function, arguments)
    }
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
