//! The value of a setting: the entity's word over the project's over the pack's.

use trackside_lifecycle::model::Setting;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::view::Project;

/// What holds. Maps are laid over each other key by key.
pub fn effective(setting: &Setting, pack: &Name, project: &Project, entity: Option<Value>) -> Value {
    let mut value = setting.default.clone();
    if let Some(over) = project.settings.get(pack).and_then(|it| it.get(&setting.name)) {
        value = laid_over(value, over);
    }
    match entity {
        Some(over) if !over.is_null() => laid_over(value, &over),
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
