//! The value of a setting: the entity's word over the project's over the pack's.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::Setting;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use crate::view::Project;

/// The value in force. Maps are merged key by key.
pub fn effective(setting: &Setting, pack: &Name, project: &Project, entity: Option<Value>) -> Value {
    let mut value = setting.default.clone();
    if let Some(over) = project.settings.get(pack).and_then(|it| it.get(&setting.name)) {
        value = laid_over(value, over);
    }
    match entity {
        Some(over) if !over.is_null() => within_bounds(setting, laid_over(value, &over)),
        _ => value,
    }
}

fn laid_over(under: Value, over: &Value) -> Value {
    match (&under, over) {
        (Value::Map(below), Value::Map(above)) => {
            let mut map = (**below).clone();
            for (name, value) in above.iter() {
                let below = map.remove(name).unwrap_or_default();
                map.insert(name.clone(), laid_over(below, value));
            }
            Value::map(map)
        }
        _ => over.clone(),
    }
}

/// Clamps an entity's own number to the bounds.
fn within_bounds(setting: &Setting, value: Value) -> Value {
    let Some(number) = value.as_float() else { return value };
    let bounded = number.max(setting.min.unwrap_or(f64::MIN)).min(setting.max.unwrap_or(f64::MAX));
    match value {
        _ if bounded == number => value,
        Value::Int(_) => Value::Int(bounded as i64),
        _ => Value::Float(bounded),
    }
}

/// The value of an override, or the reason why it is invalid.
///
/// It must be of the default's type, within the bounds, and name no key that the default does not have.
pub fn setting_value(setting: &Setting, value: &Value) -> Result<Value, String> {
    let value = shaped_like(&setting.name, &setting.default, value)?;
    if let Some(number) = value.as_float() {
        if let Some(min) = setting.min.filter(|it| number < *it) {
            return Err(format!("{} must be at least {min}", setting.name));
        }
        if let Some(max) = setting.max.filter(|it| number > *it) {
            return Err(format!("{} must be at most {max}", setting.name));
        }
    }
    Ok(value)
}

fn shaped_like(path: &str, default: &Value, value: &Value) -> Result<Value, String> {
    Ok(match (default, value) {
        (Value::Null, _) => value.clone(),
        (Value::Span(_), Value::Text(text)) => {
            Value::Span(Span::parse(text).ok_or_else(|| format!("{path} must be a span such as 15m"))?)
        }
        (Value::Float(_), Value::Int(it)) => Value::Float(*it as f64),
        (Value::Map(default), Value::Map(map)) => {
            let mut shaped = BTreeMap::new();
            for (name, it) in map.iter() {
                let like = match default.get(name) {
                    Some(like) => like.clone(),
                    None if default.is_empty() => Value::Null,
                    None => {
                        let near = nearest(name, default.keys().map(Name::as_str));
                        let hint = near.map(|it| format!("; did you mean {it}?")).unwrap_or_default();
                        return Err(format!("{path} has no {name}{hint}"));
                    }
                };
                shaped.insert(name.clone(), shaped_like(&format!("{path}.{name}"), &like, it)?);
            }
            Value::map(shaped)
        }
        (Value::List(default), Value::List(list)) => {
            let like = default.first().cloned().unwrap_or_default();
            Value::list(list.iter().map(|it| shaped_like(path, &like, it)).collect::<Result<_, _>>()?)
        }
        (default, value) if std::mem::discriminant(default) == std::mem::discriminant(value) => value.clone(),
        (default, value) => {
            return Err(format!("{path} must be {}, this is {}", default.kind(), value.kind()));
        }
    })
}
