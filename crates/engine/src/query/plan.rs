//! A query, prepared before any entity is read.

use trackside_lifecycle::guard::{Fault, Guard, Scope, VarSlot, did_you_mean};
use trackside_lifecycle::model::{Fit, Lifecycle, Pack, Query, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::QueryError;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::ranking::RankingKey;
use crate::settings::effective;
use crate::view::Project;

/// A query with its checked parameters.
#[derive(Clone, Debug)]
pub struct QueryPlan<'q> {
    pub query: &'q Query,
    pub params: Fields,
    pub kind: QueryKind,
}

/// What the query reads: rows or counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// The number of rows of other queries; [`values`] computes it.
    Values,
    /// The journal of this entity, if it may be seen.
    History(EntityKey),
    /// Tables over the entities of a lifecycle; [`GroupedRows`](super::GroupedRows) computes them.
    Groups(Name),
    /// The open entries of a ranking, in its order; of reserved ones, those for `caller`.
    Ranked { ranking: RankingKey, caller: Option<Name> },
    /// All entities of a lifecycle.
    Rows(Name),
}

impl<'q> QueryPlan<'q> {
    /// Checks the parameters and returns all mistakes at once.
    pub fn new(law: &Law, query: &'q Query, asked: &Fields) -> Result<Self, QueryError> {
        let params = params(query, asked)?;
        if !query.answers.is_empty() {
            return Ok(Self { query, params, kind: QueryKind::Values });
        }
        let Some(of) = &query.of else {
            return Err(QueryError(vec![format!("{} asks about nothing", query.name)]));
        };
        let Some(life) = law.newest(of) else {
            return Err(QueryError(vec![format!("there is no lifecycle {of}")]));
        };
        // The id is a parameter or a constant: no entity is needed to compute it.
        let text = |guard: &Guard| match guard.eval(&ParamScope { life, params: &params }) {
            Ok(Value::Text(it)) => Ok(Some(it)),
            Ok(_) => Ok(None),
            Err(fault) => Err(QueryError(vec![fault.to_string()])),
        };
        let kind = match (&query.history, &query.ranked) {
            (Some(history), _) => {
                let id = text(history)?.unwrap_or_else(|| Name::new(""));
                QueryKind::History(EntityKey { lifecycle: of.clone(), id })
            }
            (None, None) if !query.groups.is_empty() => QueryKind::Groups(of.clone()),
            (None, Some(ranking)) => QueryKind::Ranked {
                ranking: RankingKey { lifecycle: of.clone(), name: ranking.clone() },
                caller: query.meant_for.as_ref().map(text).transpose()?.flatten(),
            },
            (None, None) => QueryKind::Rows(of.clone()),
        };
        Ok(Self { query, params, kind })
    }

    /// A plan for a query whose rows another query counts. It gets those of the parameters that it takes.
    pub fn for_counting(law: &Law, query: &'q Query, asked: &Fields) -> Result<Self, QueryError> {
        let mut own = Fields::default();
        for (name, value) in asked.iter().filter(|(name, _)| query.takes.iter().any(|(it, _)| it == *name)) {
            own.put(name, value.clone());
        }
        Self::new(law, query, &own)
    }
}

/// A query of a pack by its name.
pub fn find_query<'p>(pack: &'p Pack, name: &str) -> Result<&'p Query, QueryError> {
    let found = pack.queries.iter().find(|it| it.name == *name);
    found.ok_or_else(|| {
        let known = pack.queries.iter().map(|it| it.name.as_str());
        let hint = did_you_mean(name, known);
        QueryError(vec![format!("there is no query {name}{hint}")])
    })
}

/// The answers of a query that gives values; `rows` has the row counts of the queries that it counts.
pub fn values(
    pack: &Pack,
    project: &Project,
    plan: &QueryPlan<'_>,
    rows: &[(Name, usize)],
) -> Result<Vec<(Name, Value)>, QueryError> {
    let count = |it: usize| Value::Int(i64::try_from(it).unwrap_or(i64::MAX));
    let rows: Fields = rows.iter().map(|(name, it)| (name.clone(), count(*it))).collect();
    let scope = PackScope { pack, project, params: &plan.params, rows: &rows, given: &Fields::default() };
    let answers = plan.query.answers.iter().map(|(name, it)| Ok((name.clone(), it.eval(&scope)?)));
    answers.collect::<Result<_, Fault>>().map_err(|fault| QueryError(vec![fault.to_string()]))
}

fn params(query: &Query, asked: &Fields) -> Result<Fields, QueryError> {
    let mut params = Fields::default();
    let mut errors = Vec::new();
    for (name, value) in asked.iter() {
        match query.takes.iter().find(|(it, _)| it == name) {
            Some((_, fits)) => match fits.accept(name, &typed(&fits.fit, value)) {
                Ok(value) => params.put(name, value),
                Err(misfits) => errors.extend(misfits.into_iter().map(|it| it.message)),
            },
            None => errors.push(format!("{} does not take {name}", query.name)),
        }
    }
    for (name, fits) in &query.takes {
        if params.get(name).is_none() && !matches!(fits.fit, Fit::Bool) {
            errors.push(format!("{} needs {name}", query.name));
        }
    }
    if errors.is_empty() { Ok(params) } else { Err(QueryError(errors)) }
}

/// A parameter of a URL is a text: `true`, `false` and numbers are read where the query takes them.
fn typed(fit: &Fit, value: &Value) -> Value {
    let read = match (fit, value) {
        (Fit::Bool, Value::Text(text)) => text.parse().ok().map(Value::Bool),
        (Fit::Int { .. }, Value::Text(text)) => text.parse().ok().map(Value::Int),
        (Fit::Number { .. }, Value::Text(text)) => {
            text.parse().ok().filter(|it: &f64| it.is_finite()).map(Value::Float)
        }
        _ => None,
    };
    read.unwrap_or_else(|| value.clone())
}

/// The scope of an expression of a pack, without an entity.
pub(crate) struct PackScope<'a> {
    pub pack: &'a Pack,
    pub project: &'a Project,
    pub params: &'a Fields,
    pub rows: &'a Fields,
    pub given: &'a Fields,
}

impl Scope for PackScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        Ok(match self.pack.reads.get(slot.0 as usize) {
            Some(Read::Ask(name)) => self.params.value(name),
            Some(Read::Rows(name)) => self.rows.value(name),
            Some(Read::Given(name)) => self.given.value(name),
            Some(Read::Setting(place)) => match self.pack.settings.get(*place) {
                Some(setting) => effective(setting, &self.pack.name, self.project, None),
                None => Value::Null,
            },
            _ => Value::Null,
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
}

struct ParamScope<'a> {
    life: &'a Lifecycle,
    params: &'a Fields,
}

impl Scope for ParamScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Ask(name)) => Ok(self.params.value(name)),
            _ => Err(Fault::Failed("only parameters can be read here".to_owned())),
        }
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
}
