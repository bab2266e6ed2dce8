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
    put_together(written(&T::schema()), all)
}

/// The schema of a result: the answer, or a problem.
pub(super) fn output<T: ToSchema>() -> JsonObject {
    let (mut all, mut of_refusals) = (Vec::new(), Vec::new());
    T::schemas(&mut all);
    Problem::schemas(&mut of_refusals);
    let mut refusal = written(&Problem::schema());
    // Descriptions are left out: it is the same for every tool.
    without_words(&mut refusal);
    let mut schema =
        put_together(json!({ "type": "object", "anyOf": [written(&T::schema()), refusal] }), all);
    if let Json::Object(defs) = schema.entry("$defs").or_insert_with(|| json!({})) {
        for (name, it) in of_refusals {
            let mut it = written(&it);
            without_words(&mut it);
            defs.insert(name, it);
        }
    }
    schema
}

/// The schema of a result that is one page of a list.
pub(super) fn page_output<T: ToSchema>() -> JsonObject {
    let mut schema = output::<Page<T>>();
    if let Some(Json::Object(defs)) = schema.get_mut("$defs") {
        defs.insert(T::name().into_owned(), written(&T::schema()));
    }
    schema
}

/// A schema without its descriptions.
fn without_words(json: &mut Json) {
    match json {
        Json::Object(members) => {
            members.retain(|name, it| name != "description" || !it.is_string());
            members.values_mut().for_each(without_words);
        }
        Json::Array(items) => items.iter_mut().for_each(without_words),
        _ => {}
    }
}

fn written(schema: &RefOr<Schema>) -> Json {
    let mut json = serde_json::to_value(schema).unwrap_or_default();
    lead_here(&mut json);
    json
}

/// Points references into the schema itself.
fn lead_here(json: &mut Json) {
    match json {
        Json::Object(members) => {
            for (name, member) in members {
                match member {
                    Json::String(to) if name == "$ref" => *to = to.replacen(THERE, HERE, 1),
                    member => lead_here(member),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(lead_here),
        _ => {}
    }
}

fn put_together(schema: Json, all: Vec<(String, RefOr<Schema>)>) -> JsonObject {
    let Json::Object(mut schema) = schema else { return JsonObject::new() };
    let defs: JsonObject = all.into_iter().map(|(name, it)| (name, written(&it))).collect();
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), Json::Object(defs));
    }
    schema
}
