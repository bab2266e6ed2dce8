//! JSON Schemas of tool arguments and results.

use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};
use trackside_protocol::{Page, Problem};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

/// The path of the definitions in the OpenAPI document and in a JSON Schema.
const THERE: &str = "#/components/schemas/";
const HERE: &str = "#/$defs/";

/// The schema of arguments.
pub(super) fn input<T: ToSchema>() -> JsonObject {
    let mut all = Vec::new();
    T::schemas(&mut all);
    with_definitions(schema_json(&T::schema()), all)
}

/// The schema of a result: the answer, or a problem.
pub(super) fn output<T: ToSchema>() -> JsonObject {
    let (mut all, mut of_refusals) = (Vec::new(), Vec::new());
    T::schemas(&mut all);
    Problem::schemas(&mut of_refusals);
    let mut refusal = schema_json(&Problem::schema());
    // Descriptions are left out: it is the same for every tool.
    remove_descriptions(&mut refusal);
    let mut schema =
        with_definitions(json!({ "type": "object", "anyOf": [schema_json(&T::schema()), refusal] }), all);
    if let Json::Object(defs) = schema.entry("$defs").or_insert_with(|| json!({})) {
        for (name, it) in of_refusals {
            let mut it = schema_json(&it);
            remove_descriptions(&mut it);
            defs.insert(name, it);
        }
    }
    schema
}

/// The schema of a result that is one page of a list.
pub(super) fn page_output<T: ToSchema>() -> JsonObject {
    let mut schema = output::<Page<T>>();
    if let Some(Json::Object(defs)) = schema.get_mut("$defs") {
        defs.insert(T::name().into_owned(), schema_json(&T::schema()));
    }
    schema
}

/// A schema without its descriptions.
fn remove_descriptions(json: &mut Json) {
    match json {
        Json::Object(members) => {
            members.retain(|name, it| name != "description" || !it.is_string());
            members.values_mut().for_each(remove_descriptions);
        }
        Json::Array(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
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
