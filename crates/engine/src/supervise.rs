//! Decides the action of the supervisor after an agent's process has ended, by the rules of the pack. Performs
//! nothing.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::model::{AfterExit, Exit, GiveUp, Pack, Supervise};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use crate::fields::Fields;
use crate::law::Law;
use crate::query::{PackScope, QueryError, count};
use crate::trace::{Point, PointKind, Trace};
use crate::view::{Project, View};

/// An agent's process that ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub role: Name,
    pub agent: Name,
    pub code: i64,
    /// The number of restarts after this exit code without progress since.
    pub restarts: u32,
    /// The number of starts on the current task without progress.
    pub reruns: u32,
    /// How long the supervisor has waited instead of stopping the agent.
    pub waited: Span,
}

/// An action of the supervisor, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub act: Act,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Stop,
    Restart {
        after: Span,
    },
    /// There is no work now, but there will be: start again after this delay.
    Wait {
        after: Span,
    },
    /// Start again when its hold has ended.
    Hold,
    /// The agent makes no progress: fire this event on its task, then restart it without that task.
    GiveUp {
        on: Name,
        fire: Name,
        fields: Fields,
    },
}

/// The exit code that counts when a heartbeat said stop and the supervisor ended the process.
pub fn code_when_stopped(pack: &Pack, role: &Name) -> Option<i64> {
    pack.supervise.get(role)?.stopped
}

/// Applies the rules of the role.
pub fn after_exit(
    law: &Law,
    view: &View,
    pack: &Pack,
    ended: &Ended,
    now: Timestamp,
    trace: Option<&Trace>,
) -> Result<Verdict, QueryError> {
    let count_rows = |query: &Name, params: &Fields| count(law, view, pack, query, None, params, now);
    after_exit_by(pack, &view.project, ended, &count_rows, trace)
}

/// The number of rows that a query of the pack has with these parameters, whoever may read them.
pub type CountRows<'a> = &'a dyn Fn(&Name, &Fields) -> Result<usize, QueryError>;

/// Applies the rules of the role, for callers that store entities elsewhere.
pub fn after_exit_by(
    pack: &Pack,
    project: &Project,
    ended: &Ended,
    count_rows: CountRows<'_>,
    trace: Option<&Trace>,
) -> Result<Verdict, QueryError> {
    let Some(rules) = pack.supervise.get(&ended.role) else {
        let known: Vec<&str> = pack.supervise.keys().map(Name::as_str).collect();
        let message = format!(
            "{} does not say how to supervise {}; it does for {}",
            pack.name,
            ended.role,
            known.join(", ")
        );
        return Err(QueryError(vec![message]));
    };
    let case = Case { project, pack, rules, ended, count_rows, trace };
    case.judge()
}

struct Case<'a> {
    project: &'a Project,
    pack: &'a Pack,
    rules: &'a Supervise,
    ended: &'a Ended,
    count_rows: CountRows<'a>,
    trace: Option<&'a Trace>,
}

impl Case<'_> {
    fn judge(&self) -> Result<Verdict, QueryError> {
        let code = self.ended.code;
        if let Some(query) = &self.rules.ends
            && self.rows(query)? > 0
        {
            self.hit("ends");
            return Ok(verdict(Act::Stop, format!("{query}: the end for this role")));
        }
        let after = self.rules.exits.iter().find(|(exit, _)| match exit {
            Exit::Code(it) => *it == code,
            Exit::Other => true,
        });
        let Some((exit, after)) = after else {
            return Ok(verdict(Act::Stop, format!("no rule for exit code {code}")));
        };
        self.hit(&format!("exits.{}", exit_name(*exit)));
        let AfterExit::Restart { after, most, growth, limit } = after else { return self.stop() };
        let reruns = self.limit(self.rules.reruns.as_ref())?;
        if reruns.is_some_and(|it| f64::from(self.ended.reruns) >= it) {
            self.hit("reruns");
            return self.give_up(format!("{} starts on one task without progress", self.ended.reruns));
        }
        let limit = self.limit(limit.as_ref())?;
        if limit.is_some_and(|it| f64::from(self.ended.restarts) >= it) {
            self.hit(&format!("exits.{}.limit", exit_name(*exit)));
            let times = self.ended.restarts;
            return self.give_up(format!("{times} restarts after exit code {code} without progress"));
        }
        if let Some(query) = &self.rules.holds
            && self.rows(query)? > 0
        {
            self.hit("holds");
            return Ok(verdict(Act::Hold, format!("{query}: no restart before it is over")));
        }
        let first = self.span(after)?.0 as f64;
        let growth = self.number(growth.as_ref())?.unwrap_or(1.0).max(1.0);
        let mut delay = first * growth.powi(i32::try_from(self.ended.restarts.min(64)).unwrap_or(64));
        if let Some(most) = most {
            delay = delay.min(self.span(most)?.0 as f64);
        }
        Ok(verdict(Act::Restart { after: Span(delay as i64) }, format!("exit code {code}")))
    }

    /// Stops an agent that has no more work, or waits if there will be work.
    fn stop(&self) -> Result<Verdict, QueryError> {
        for (n, wait) in self.rules.waits.iter().enumerate() {
            let most = wait.most.as_ref().map(|it| self.span(it)).transpose()?;
            if most.is_some_and(|it| it.0 > 0 && self.ended.waited >= it) {
                continue;
            }
            let rows = self.rows(&wait.query)?;
            if rows > 0 {
                self.hit(&format!("waits[{n}]"));
                let why = match wait.says.as_str() {
                    "" => format!("{rows} in {}", wait.query),
                    says => says.replace("{n}", &rows.to_string()),
                };
                return Ok(verdict(Act::Wait { after: self.span(&wait.lasts)? }, why));
            }
        }
        Ok(verdict(Act::Stop, format!("exit code {}", self.ended.code)))
    }

    fn give_up(&self, why: String) -> Result<Verdict, QueryError> {
        let Some(GiveUp { on, fire, with }) = &self.rules.gives_up else {
            return Ok(verdict(Act::Stop, why));
        };
        let mut fields = Fields::default();
        for (name, guard) in with {
            fields.put(name, self.value(guard)?);
        }
        Ok(verdict(Act::GiveUp { on: on.clone(), fire: fire.clone(), fields }, why))
    }

    fn hit(&self, what: &str) {
        if let Some(trace) = self.trace {
            trace.add(vec![point(&self.pack.name, &self.rules.role, what)]);
        }
    }

    fn rows(&self, query: &Name) -> Result<usize, QueryError> {
        let mut params = Fields::default();
        params.put(&Name::new("agent"), Value::from(&self.ended.agent));
        params.put(&Name::new("role"), Value::from(&self.ended.role));
        (self.count_rows)(query, &params)
    }

    fn value(&self, guard: &Guard) -> Result<Value, QueryError> {
        let none = Fields::default();
        let mut given = Fields::default();
        given.put(&Name::new("exit"), Value::Int(self.ended.code));
        given.put(&Name::new("restarts"), Value::Int(i64::from(self.ended.restarts)));
        let scope =
            PackScope { pack: self.pack, project: self.project, params: &none, rows: &none, given: &given };
        guard.eval(&scope).map_err(|fault: Fault| QueryError(vec![fault.to_string()]))
    }

    fn span(&self, guard: &Guard) -> Result<Span, QueryError> {
        match self.value(guard)? {
            Value::Span(it) => Ok(it),
            other => {
                Err(QueryError(vec![format!("`{}` is {}, no length of time", guard.source(), other.kind())]))
            }
        }
    }

    /// A limit; zero means none.
    fn limit(&self, guard: Option<&Guard>) -> Result<Option<f64>, QueryError> {
        Ok(self.number(guard)?.filter(|it| *it > 0.0))
    }

    fn number(&self, guard: Option<&Guard>) -> Result<Option<f64>, QueryError> {
        guard.map_or(Ok(None), |it| Ok(self.value(it)?.as_float()))
    }
}

fn exit_name(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => code.to_string(),
        Exit::Other => "other".to_owned(),
    }
}

fn point(pack: &Name, role: &Name, what: &str) -> Point {
    Point { lifecycle: pack.clone(), kind: PointKind::Supervision, what: format!("supervise.{role}.{what}") }
}

/// Every rule of supervision that a scenario can exercise.
pub fn points(pack: &Pack) -> BTreeSet<Point> {
    let mut points = BTreeSet::new();
    for (role, rules) in &pack.supervise {
        let mut add = |what: &str| points.insert(point(&pack.name, role, what));
        for (exit, after) in &rules.exits {
            add(&format!("exits.{}", exit_name(*exit)));
            if let AfterExit::Restart { limit: Some(_), .. } = after {
                add(&format!("exits.{}.limit", exit_name(*exit)));
            }
        }
        for n in 0..rules.waits.len() {
            add(&format!("waits[{n}]"));
        }
        let said = [("ends", rules.ends.is_some()), ("holds", rules.holds.is_some())];
        for (what, _) in said.into_iter().chain([("reruns", rules.reruns.is_some())]).filter(|(_, it)| *it) {
            add(what);
        }
    }
    points
}

fn verdict(act: Act, why: String) -> Verdict {
    Verdict { act, why }
}
