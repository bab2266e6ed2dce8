//! Tests as data: given, when, then, in virtual time.

mod check;
mod expect;
mod matrix;
mod opening;
mod outward;
mod report;
mod run;
mod substitute;
mod syntax;

pub use opening::opening;
pub use report::{ScenarioFailure, ScenarioReport};
pub use run::{Played, run, run_watched};
pub use syntax::{ActorDecl, ScenarioFile, ScenarioHead, ScenarioNode, read_file};

/// The JSON Schema of a scenario file.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(ScenarioFile).to_value();
    allow_holes(&mut schema);
    schema
}

/// Allows a placeholder such as `<name>` wherever the schema expects something else than a text.
fn allow_holes(schema: &mut serde_json::Value) {
    let serde_json::Value::Object(map) = schema else { return };
    for (key, inner) in map.iter_mut() {
        match (key.as_str(), inner) {
            ("properties" | "$defs", serde_json::Value::Object(members)) => {
                for member in members.values_mut() {
                    allow_holes(member);
                    if key == "properties" {
                        or_hole(member);
                    }
                }
            }
            ("additionalProperties" | "items", inner) => {
                allow_holes(inner);
                or_hole(inner);
            }
            ("anyOf", serde_json::Value::Array(variants)) => variants.iter_mut().for_each(allow_holes),
            _ => {}
        }
    }
}

fn or_hole(schema: &mut serde_json::Value) {
    if schema.is_object() {
        let hole = schemars::json_schema!({ "type": "string", "pattern": "^<[^>]+>$" });
        *schema = schemars::json_schema!({ "anyOf": [schema.take(), hole.to_value()] }).to_value();
    }
}
