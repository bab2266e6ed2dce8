//! JSON Schemas of tool arguments and results.

use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// The path of the definitions in the OpenAPI document and in a JSON Schema.
const THERE: &str = "#/components/schemas/";
const HERE: &str = "#/$defs/";

/// The schema of arguments.
pub(super) fn input<T: ToSchema>() -> JsonObject {
    let mut all = Vec::new();
    T::schemas(&mut all);
    with_definitions(schema_json(&T::schema()), all)
}

/// The schema of every result. Agents pay for each byte of the list of tools, and the answers explain themselves: their
/// members are described in the HTTP reference.
pub(super) fn any_object() -> JsonObject {
    JsonObject::from_iter([("type".to_owned(), json!("object"))])
}

fn schema_json(schema: &RefOr<Schema>) -> Json {
    let mut json = serde_json::to_value(schema).unwrap_or_default();
    point_to_definitions(&mut json);
    json
}

/// Points references into the schema itself.
fn point_to_definitions(json: &mut Json) {
    match json {
        Json::Object(members) => {
            for (name, member) in members {
                match member {
                    Json::String(to) if name == "$ref" => *to = to.replacen(THERE, HERE, 1),
                    member => point_to_definitions(member),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(point_to_definitions),
        _ => {}
    }
}

fn with_definitions(schema: Json, all: Vec<(String, RefOr<Schema>)>) -> JsonObject {
    let Json::Object(mut schema) = schema else { return JsonObject::new() };
    let defs: JsonObject = all.into_iter().map(|(name, it)| (name, schema_json(&it))).collect();
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), Json::Object(defs));
    }
    schema
}
