//! Counting and forgetting.

use trackside_lifecycle::model::{Counter, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::AbstractValue;
use super::draft::{MoveCase, put};
use super::frame::VariableSource;
use super::shape::EntityShape;

/// One count: one more, or any number where the model cannot follow it.
pub(super) fn count_cases<'a>(
    shape: &EntityShape<'_>,
    mut case: MoveCase<'a>,
    counter: &Counter,
) -> Vec<MoveCase<'a>> {
    let key = match (&counter.tally, &case.frame.state) {
        (TallyBy::PerState, AbstractValue::Known(Value::Text(state))) => Some(state.clone()),
        _ => None,
    };
    let Some(variable) = shape.tallies.get(&(counter.name.clone(), key)).copied() else { return vec![case] };
    let plain = !matches!(counter.tally, TallyBy::ByKey(_))
        && counter.add.is_none()
        && counter.within.is_none()
        && counter.last.is_none()
        && !matches!(case.frame.source(variable), VariableSource::More(..) | VariableSource::Any);
    let most = u8::try_from(shape.size(variable).saturating_sub(1)).unwrap_or(u8::MAX);
    if plain {
        let source = match case.frame.source(variable) {
            VariableSource::Value(it) => VariableSource::Value(it.saturating_add(1).min(most)),
            VariableSource::Of(from) => VariableSource::More(from, most),
            source => source,
        };
        case.frame.put(variable, source);
        return vec![case];
    }
    let lowest = u8::from(counter.add.is_none() && counter.last.is_none());
    let any = (lowest..=most).map(|value| {
        let mut case = case.clone();
        case.frame.put(variable, VariableSource::Value(value));
        case
    });
    any.collect()
}

/// Resets a counter: all of it, or only the tally of one state. For a keyed counter the tally that is read
/// next is unknown.
pub(super) fn forget<'a>(
    shape: &EntityShape<'_>,
    all: &mut Vec<MoveCase<'a>>,
    counter: &Counter,
    only: Option<&Name>,
) {
    let keyed = matches!(counter.tally, TallyBy::ByKey(_));
    for variable in shape.tallies_of(&counter.name) {
        let mine = only
            .is_none_or(|it| shape.tallies.get(&(counter.name.clone(), Some(it.clone()))) == Some(&variable));
        if !mine {
            continue;
        }
        if !keyed {
            all.iter_mut().for_each(|it| put(&mut it.next, variable, VariableSource::Value(0)));
            continue;
        }
        let values: Vec<u8> = (0..=u8::MAX).take(shape.size(variable)).collect();
        *all = all
            .iter()
            .flat_map(|case| {
                values.iter().map(|value| {
                    let mut case = case.clone();
                    put(&mut case.next, variable, VariableSource::Value(*value));
                    case
                })
            })
            .collect();
    }
}
