//! The JSON Schema of definition files, for completion in editors.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Any};

use super::collections::{Named, OneOrMany};
use super::from_node::FromNode;
use super::node::{At, Node};
use super::scalars::{Json, Percent, Scalar, SpanText};
use crate::name::Name;

/// The schema of a mapping with known keys.
#[derive(Debug)]
pub struct MapSchema {
    about: String,
    properties: Map<String, Any>,
    required: Vec<&'static str>,
}

impl MapSchema {
    pub fn new(about: &[&str]) -> Self {
        Self { about: prose(about), properties: Map::new(), required: Vec::new() }
    }

    pub fn key<T>(&mut self, generator: &mut SchemaGenerator, key: &'static str, doc: &[&str])
    where
        T: FromNode + JsonSchema,
    {
        let mut schema = generator.subschema_for::<T>();
        if T::absent().is_some() {
            without_null(&mut schema);
        } else {
            self.required.push(key);
        }
        describe(&mut schema, doc);
        self.properties.insert(key.to_owned(), schema.to_value());
    }

    pub fn finish(self) -> Schema {
        let mut schema = json_schema!({
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), Any::from(self.required));
        }
        if !self.about.is_empty() {
            schema.insert("description".to_owned(), Any::from(self.about));
        }
        schema
    }
}

/// A value that fits one of several schemas.
pub fn any_of(about: &[&str], variants: Vec<(Schema, &[&str])>) -> Schema {
    let described = |(mut schema, doc): (Schema, &[&str])| {
        describe(&mut schema, doc);
        schema.to_value()
    };
    let variants: Vec<Any> = variants.into_iter().map(described).collect();
    let mut schema = json_schema!({ "anyOf": variants });
    describe(&mut schema, about);
    schema
}

/// A word out of a closed list.
pub fn one_word(about: &[&str], words: &[(&str, &[&str])]) -> Schema {
    let mut schema = if words.iter().all(|(_, doc)| doc.is_empty()) {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        json_schema!({ "type": "string", "enum": words })
    } else {
        let described = |(word, doc): &(&str, &[&str])| {
            json_schema!({ "const": word, "description": prose(doc) }).to_value()
        };
        let words: Vec<Any> = words.iter().map(described).collect();
        json_schema!({ "oneOf": words })
    };
    describe(&mut schema, about);
    schema
}

fn describe(schema: &mut Schema, doc: &[&str]) {
    if !doc.is_empty() {
        schema.insert("description".to_owned(), Any::from(prose(doc)));
    }
}

/// The lines of a doc comment as paragraphs.
fn prose(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        match line {
            "" => text.push_str("\n\n"),
            _ => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim().to_owned()
}

/// A key may be left out; that an explicit null is tolerated too is not worth advertising.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Any::Array(types)) = object.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Any::Array(variants)) = object.get_mut("anyOf") {
        variants.retain(|it| it.get("type").is_none_or(|it| it != "null"));
        if let [only] = variants.as_slice()
            && let Ok(only) = Schema::try_from(only.clone())
        {
            *schema = only;
        }
    }
}

/// Types that are written in place rather than referred to by name.
macro_rules! inline {
    ($type:ident $(<$inner:ident>)?, $generator:ident => $schema:expr) => {
        impl$(<$inner: JsonSchema>)? JsonSchema for $type$(<$inner>)? {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn schema_id() -> Cow<'static, str> {
                std::any::type_name::<Self>().into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline!(At<T>, generator => generator.subschema_for::<T>());
inline!(OneOrMany<T>, generator => {
    let one = generator.subschema_for::<T>();
    json_schema!({ "anyOf": [one.clone(), { "type": "array", "items": one }] })
});
inline!(Named<T>, generator => {
    json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
});
inline!(Name, _generator => json_schema!({ "type": "string", "minLength": 1 }));
inline!(Scalar, _generator => json_schema!({ "type": ["string", "number", "boolean"] }));
inline!(Percent, _generator => json_schema!({ "type": "string", "pattern": Percent::PATTERN }));
inline!(SpanText, _generator => json_schema!({ "type": "string", "pattern": SpanText::PATTERN }));
inline!(Json, _generator => json_schema!(true));
inline!(Node, _generator => json_schema!(true));

#[cfg(test)]
#[expect(dead_code, reason = "declared for their schema only")]
mod tests {
    use super::*;
    use crate::source::{keys, shapes, words};

    keys! {
        /// One rule
        /// of a transition.
        ///
        /// Tried in order.
        struct Arm {
            /// The states it leaves.
            from: Option<OneOrMany<At<Name>>>,
            r#where: Option<At<Scalar>>,
            #[key("$ref")]
            reference: Option<At<String>>,
            /// Where it leads.
            to: To,
            warn: Vec<Percent>,
            after: Option<SpanText>,
            set: Named<Json>,
            outcome: Option<Outcome>,
        }
    }

    shapes! {
        enum To {
            /// One state.
            State(At<Name>) if scalar,
            Choices(Vec<Box<To>>) if list,
            Table(Named<At<Name>>) if map,
        }
    }

    words! {
        enum Outcome { Success = "success", Failure = "failure" }
    }

    #[test]
    fn one_declaration_gives_the_schema() {
        let schema = SchemaGenerator::default().into_root_schema_for::<Arm>();
        insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap(), @r##"
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "title": "Arm",
          "description": "One rule of a transition.\n\nTried in order.",
          "type": "object",
          "properties": {
            "$ref": {
              "type": "string"
            },
            "after": {
              "type": "string",
              "pattern": "^([0-9]+(ms|s|m|h|d))+$"
            },
            "from": {
              "description": "The states it leaves.",
              "anyOf": [
                {
                  "type": "string",
                  "minLength": 1
                },
                {
                  "type": "array",
                  "items": {
                    "type": "string",
                    "minLength": 1
                  }
                }
              ]
            },
            "outcome": {
              "$ref": "#/$defs/Outcome"
            },
            "set": {
              "type": "object",
              "additionalProperties": true
            },
            "to": {
              "description": "Where it leads.",
              "$ref": "#/$defs/To"
            },
            "warn": {
              "type": "array",
              "items": {
                "type": "string",
                "pattern": "^[0-9]{1,3}%$"
              }
            },
            "where": {
              "type": [
                "string",
                "number",
                "boolean"
              ]
            }
          },
          "additionalProperties": false,
          "required": [
            "to"
          ],
          "$defs": {
            "Outcome": {
              "type": "string",
              "enum": [
                "success",
                "failure"
              ]
            },
            "To": {
              "anyOf": [
                {
                  "description": "One state.",
                  "type": "string",
                  "minLength": 1
                },
                {
                  "type": "array",
                  "items": {
                    "$ref": "#/$defs/To"
                  }
                },
                {
                  "type": "object",
                  "additionalProperties": {
                    "type": "string",
                    "minLength": 1
                  }
                }
              ]
            }
          }
        }
        "##);
    }
}
