//! Reads query parameters into a type. An error names the parameter it is about.

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads `a=1&b=2`.
pub(super) fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, ParameterError> {
    let pairs = form_urlencoded::parse(query.as_bytes()).map(|(name, text)| {
        let name = name.into_owned();
        (name.clone(), ParameterValue { name, text: text.into_owned() })
    });
    T::deserialize(MapDeserializer::new(pairs))
}

/// Why query parameters cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParameterError {
    /// There is no such parameter.
    Unknown { name: String, expected: &'static [&'static str] },
    /// The value of this parameter is wrong.
    Invalid { name: String, why: String },
    /// A parameter is missing or given twice.
    Other(String),
}

impl ParameterError {
    /// The same about the value of a parameter.
    fn of(self, name: String) -> Self {
        match self {
            Self::Other(why) => Self::Invalid { name, why },
            named @ (Self::Unknown { .. } | Self::Invalid { .. }) => named,
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, .. } => write!(f, "unknown parameter {name}"),
            Self::Invalid { name, why } => write!(f, "{name} is invalid: {why}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ParameterError {}

impl de::Error for ParameterError {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::Other(why.to_string())
    }

    fn unknown_field(name: &str, expected: &'static [&'static str]) -> Self {
        Self::Unknown { name: name.to_owned(), expected }
    }
}

/// The text of one parameter, read as the type that is asked for.
struct ParameterValue {
    name: String,
    text: String,
}

impl IntoDeserializer<'_, ParameterError> for ParameterValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
            let Self { name, text } = self;
            let found = text.parse().map_err(<ParameterError as de::Error>::custom);
            found.and_then(|it| visitor.$visit(it)).map_err(|it| it.of(name))
        }
    )*};
}

impl<'de> Deserializer<'de> for ParameterValue {
    type Error = ParameterError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        visitor.visit_string(self.text).map_err(|it: ParameterError| it.of(self.name))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        visitor.visit_enum(self.text.into_deserializer()).map_err(|it: ParameterError| it.of(self.name))
    }

    parsed! {
        deserialize_bool visit_bool;
        deserialize_u8 visit_u8;
        deserialize_u16 visit_u16;
        deserialize_u32 visit_u32;
        deserialize_u64 visit_u64;
        deserialize_i8 visit_i8;
        deserialize_i16 visit_i16;
        deserialize_i32 visit_i32;
        deserialize_i64 visit_i64;
        deserialize_f32 visit_f32;
        deserialize_f64 visit_f64;
    }

    forward_to_deserialize_any! {
        char str string unit bytes byte_buf unit_struct tuple_struct struct identifier tuple ignored_any seq map
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        #[default]
        Up,
        Down,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Asked {
        limit: Option<u64>,
        dry: bool,
        order: Order,
        text: String,
    }

    fn asked(query: &str) -> Result<Asked, ParameterError> {
        from_query(query)
    }

    #[test]
    fn values_are_read_as_their_types() {
        let all = Asked { limit: Some(5), dry: true, order: Order::Down, text: "a b&c: d".to_owned() };
        assert_eq!(asked("limit=5&dry=true&order=down&text=a+b%26c%3A%20d"), Ok(all));
        assert_eq!(asked(""), Ok(Asked::default()));
    }

    #[test]
    fn an_error_names_its_parameter() {
        let invalid = |name: &str, why: &str| ParameterError::Invalid { name: name.into(), why: why.into() };
        assert_eq!(asked("limit=-1"), Err(invalid("limit", "invalid digit found in string")));
        assert_eq!(asked("dry=1"), Err(invalid("dry", "provided string was not `true` or `false`")));
        assert_eq!(
            asked("order=left"),
            Err(invalid("order", "unknown variant `left`, expected `up` or `down`"))
        );
        let expected = &["limit", "dry", "order", "text"];
        assert_eq!(asked("lmit=5"), Err(ParameterError::Unknown { name: "lmit".into(), expected }));
        assert_eq!(asked("dry=true&dry=true"), Err(ParameterError::Other("duplicate field `dry`".into())));
    }
}
