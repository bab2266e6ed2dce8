//! Whole numbers in JSON, also written as `3.0`.

use serde::{Deserialize as _, Deserializer};
use serde_json::Value as Json;

/// Reads a whole number, also one written as `3.0`. Null is none.
fn read<E: serde::de::Error>(json: &Json) -> Result<Option<u64>, E> {
    let wrong =
        |it: &dyn std::fmt::Display| E::custom(format!("{it} is not a whole number from 0 to {}", i64::MAX));
    match json {
        Json::Null => Ok(None),
        Json::Number(it) => {
            let float = it.as_f64().filter(|it| it.fract() == 0.0 && (0.0..9.0e15).contains(it));
            let found = it.as_i64().or(float.map(|it| it as i64)).and_then(|it| u64::try_from(it).ok());
            found.map(Some).ok_or_else(|| wrong(&it))
        }
        other => Err(wrong(other)),
    }
}

/// An optional whole number.
pub(crate) fn optional_whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(&Json::deserialize(from)?)
}

/// A required whole number.
pub(crate) fn whole_number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    let found =
        optional_whole_number(from)?.ok_or_else(|| serde::de::Error::custom("a whole number is needed"))?;
    T::try_from(found).map_err(|_| serde::de::Error::custom(format!("{found} is too large")))
}

/// A list of whole numbers.
pub(crate) fn all<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let each = |it: &Json| read(it)?.ok_or_else(|| serde::de::Error::custom("a whole number is needed"));
    Vec::<Json>::deserialize(from)?.iter().map(each).collect()
}
