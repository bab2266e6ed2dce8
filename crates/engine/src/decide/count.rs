//! Counts, and their consequences.

use trackside_lifecycle::model::{Counter, Lifecycle, TallyBy as TallyKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::plan::CountedChange;
use super::scope::{EntityScope, SINGLE};
use super::{DecisionBuilder, Stop};
use crate::event::TallyChange;
use crate::refusal::{Code, Refusal};

/// Most observations a window remembers.
const MARKS: usize = 1_024;

impl DecisionBuilder<'_> {
    /// Counts each of these, in order.
    pub fn count<'l>(
        &self,
        life: &'l Lifecycle,
        scope: &EntityScope<'_>,
        names: &[Name],
    ) -> Result<Vec<CountedChange<'l>>, Stop> {
        let mut all = Vec::new();
        for counter in names.iter().filter_map(|it| life.counter(it)) {
            all.extend(count_change(self, scope, counter)?);
        }
        Ok(all)
    }
}

/// One count of one counter; none if its condition does not hold.
pub(super) fn count_change<'l>(
    builder: &DecisionBuilder<'_>,
    scope: &EntityScope<'_>,
    counter: &'l Counter,
) -> Result<Option<CountedChange<'l>>, Stop> {
    let counts = builder.condition_holds(scope, counter.only_if.as_ref())?;
    if !counts && counter.last.is_none() {
        return Ok(None);
    }
    let number = |guard: &trackside_lifecycle::guard::Guard| -> Result<f64, Stop> {
        match builder.eval(scope, guard)? {
            Ok(value) => Ok(value.as_float().unwrap_or_default()),
            Err(fault) => {
                let message = format!("`{}` could not be counted: {fault}", guard.source());
                Err(Refusal::one(Code::EvaluationFailed, message).into())
            }
        }
    };
    let key = match &counter.tally {
        TallyKind::One => Name::new(SINGLE),
        TallyKind::PerState => scope.entity.state.clone(),
        TallyKind::ByKey(keys) => {
            let mut parts = Vec::new();
            for guard in keys {
                parts.push(builder.eval(scope, guard)?.map(|it| key_part(&it)).unwrap_or_default());
            }
            let key = parts.join(SEPARATOR);
            // A key is never empty: the empty key stands for all of them.
            Name::from(if key.is_empty() { "-".to_owned() } else { key })
        }
    };
    let amount = match (&counter.add, counts) {
        (_, false) => 0.0,
        (Some(add), true) => number(add)?,
        (None, true) => 1.0,
    };
    let now = scope.around.now;
    let mut tally = scope.entity.tally(&counter.name, &key).cloned().unwrap_or_default();
    let limit = match &counter.limit {
        Some(limit) => Some(number(limit)?),
        None => None,
    };
    // After a limit was raised, warnings for steps ahead are given again.
    let anew = counter.within.is_none() && counter.last.is_none();
    let told = if anew { warnings_reached(counter, tally.value, limit) } else { usize::MAX };
    let first = told.min(tally.warned as usize);
    if let Some(within) = &counter.within {
        let within = scope
            .span(within)
            .map_err(|fault| Stop::from(Refusal::one(Code::EvaluationFailed, fault.to_string())))?;
        // A mark in the future is from a wrong time that was corrected.
        tally.marks.retain(|(at, _)| at.plus(within) > now && *at <= now);
        tally.marks.push((now, amount));
        tally.value = tally.marks.iter().map(|(_, it)| it).sum();
    } else if let Some(last) = &counter.last {
        let last = number(last)?.clamp(1.0, MARKS as f64) as usize;
        tally.marks.push((now, amount));
        let surplus = tally.marks.len().saturating_sub(last);
        tally.marks.drain(..surplus);
        tally.value = tally.marks.iter().map(|(_, it)| it).sum();
    } else {
        tally.value = six_decimals(tally.value + amount);
    }
    let surplus = tally.marks.len().saturating_sub(MARKS);
    tally.marks.drain(..surplus);
    let warned = first..warnings_reached(counter, tally.value, limit).max(first);
    tally.warned = u32::try_from(warned.end).unwrap_or(u32::MAX);
    let reached = counts && limit.is_some_and(|limit| tally.value >= limit);
    let change = TallyChange { counter: counter.name.clone(), key, tally: Some(tally) };
    Ok(Some(CountedChange { counter, change, warned, limit, reached }))
}

/// The number of warnings that a value has reached.
fn warnings_reached(counter: &Counter, value: f64, limit: Option<f64>) -> usize {
    let due = |percent: u32| limit.is_some_and(|limit| value * 100.0 >= limit * f64::from(percent));
    counter.warn.iter().take_while(|it| due(it.percent)).count()
}

/// Separates the parts of a key; no part contains it.
pub(super) const SEPARATOR: &str = " \u{b7} ";

/// One part of a key as text.
pub(super) fn key_part(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.to_string(),
        value => value.to_json().to_string(),
    };
    text.replace(SEPARATOR, " ")
}

fn six_decimals(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
