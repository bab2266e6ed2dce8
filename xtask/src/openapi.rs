//! The OpenAPI document, as far as a client needs it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The operations and types of the document.
#[derive(Debug)]
pub struct Document {
    /// In the order of tags, paths and methods.
    pub operations: Vec<ApiOperation>,
    pub types: BTreeMap<String, NamedType>,
}

/// One method of one path.
#[derive(Debug)]
pub struct ApiOperation {
    pub id: String,
    pub tag: String,
    pub method: String,
    pub path: String,
    pub about: String,
    pub parameters: Vec<Parameter>,
    pub body: Option<ApiBody>,
    pub answer: ApiResponse,
    /// Whether it counts once under an idempotency key.
    pub keyed: bool,
}

/// A parameter of a request.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub place: ParameterPlace,
    pub required: bool,
    pub kind: Kind,
    pub about: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    Path,
    Query,
    Header,
}

/// The request body.
#[derive(Debug)]
pub struct ApiBody {
    pub kind: Kind,
    pub required: bool,
}

/// The response.
#[derive(Debug)]
pub struct ApiResponse {
    pub form: ResponseForm,
    /// Whether the answer may be empty.
    pub empty: bool,
}

#[derive(Debug)]
pub enum ResponseForm {
    Nothing,
    Json(Kind),
    Text,
    Bytes,
    /// JSON, line by line.
    Lines,
    /// Journal entries as they are written.
    Events,
}

/// A type with a name.
#[derive(Debug)]
pub struct NamedType {
    pub about: String,
    pub members: Vec<TypeMember>,
}

#[derive(Clone, Debug)]
pub struct TypeMember {
    pub name: String,
    pub required: bool,
    pub kind: Kind,
    pub about: String,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Any,
    Text,
    Integer,
    Number,
    Boolean,
    Bytes,
    /// One of these words.
    Words(Vec<String>),
    List(Box<Kind>),
    Map(Box<Kind>),
    Named(String),
    /// A page of a list.
    Page(Box<Kind>),
    /// Or null.
    Maybe(Box<Kind>),
}

/// The prefix of page schemas.
const PAGE: &str = "Page_";
/// Any JSON value.
const ANY: &str = "Value";
const KEY: &str = "Idempotency-Key";

/// The document of this server.
pub fn server_document() -> Document {
    Document::read(&serde_json::to_value(trackside_server::openapi()).unwrap_or_default())
}

impl Document {
    pub fn read(json: &Json) -> Self {
        let mut operations = Vec::new();
        for (path, item) in entries(json.get("paths")) {
            for (method, operation) in entries(Some(item)) {
                operations.push(ApiOperation::read(path, method, operation));
            }
        }
        operations.sort_by(|a, b| (&a.tag, &a.path, &a.method).cmp(&(&b.tag, &b.path, &b.method)));
        let types = entries(json.pointer("/components/schemas"))
            .filter(|(name, _)| *name != ANY && !name.starts_with(PAGE))
            .map(|(name, schema)| (name.clone(), NamedType::read(schema, json)));
        Self { operations, types: types.collect() }
    }
}

impl ApiOperation {
    fn read(path: &str, method: &str, json: &Json) -> Self {
        let parameters: Vec<Parameter> = items(json.get("parameters")).filter_map(Parameter::read).collect();
        let tag = items(json.get("tags")).next().and_then(Json::as_str).unwrap_or_default();
        let keyed = parameters.iter().any(|it| it.name == KEY);
        Self {
            id: text(json, "operationId"),
            tag: tag.to_owned(),
            method: method.to_uppercase(),
            path: path.to_owned(),
            about: format!("{} {}", text(json, "summary"), text(json, "description")).trim().to_owned(),
            // The client makes keys itself, and resumes by itself.
            parameters: parameters
                .into_iter()
                .filter(|it| it.name != KEY && it.name != "Last-Event-ID")
                .collect(),
            body: json.get("requestBody").and_then(ApiBody::read),
            answer: ApiResponse::read(json.get("responses")),
            keyed,
        }
    }

    pub fn path_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|it| it.place == ParameterPlace::Path)
    }

    /// A query or header parameter.
    pub fn options(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|it| it.place != ParameterPlace::Path)
    }
}

impl Parameter {
    fn read(json: &Json) -> Option<Self> {
        let place = match json.get("in")?.as_str()? {
            "path" => ParameterPlace::Path,
            "query" => ParameterPlace::Query,
            "header" => ParameterPlace::Header,
            _ => return None,
        };
        Some(Self {
            name: text(json, "name"),
            place,
            required: json.get("required").and_then(Json::as_bool).unwrap_or(false),
            kind: without_null(Kind::read(json.get("schema"))),
            about: text(json, "description"),
        })
    }
}

impl ApiBody {
    fn read(json: &Json) -> Option<Self> {
        let (form, content) = entries(json.get("content")).next()?;
        let kind = match form.as_str() {
            "application/octet-stream" => Kind::Bytes,
            _ => without_null(Kind::read(content.get("schema"))),
        };
        Some(Self { kind, required: json.get("required").and_then(Json::as_bool).unwrap_or(false) })
    }
}

impl ApiResponse {
    fn read(json: Option<&Json>) -> Self {
        let good: Vec<&Json> =
            entries(json).filter(|(it, _)| it.starts_with('2')).map(|(_, it)| it).collect();
        let contents: Vec<(&String, &Json)> = good.iter().flat_map(|it| entries(it.get("content"))).collect();
        let empty = good.iter().any(|it| entries(it.get("content")).next().is_none());
        let is = |form: &str| contents.iter().any(|(it, _)| it.as_str() == form);
        let form = match contents.as_slice() {
            [] => ResponseForm::Nothing,
            _ if is("text/event-stream") => ResponseForm::Events,
            _ if is("application/jsonl") => ResponseForm::Lines,
            _ if is("application/octet-stream") => ResponseForm::Bytes,
            all if all.iter().all(|(it, _)| it.as_str() == "application/json") => {
                ResponseForm::Json(Kind::read(all.first().and_then(|(_, it)| it.get("schema"))))
            }
            _ => ResponseForm::Text,
        };
        Self { form, empty }
    }
}

impl NamedType {
    fn read(json: &Json, document: &Json) -> Self {
        Self { about: text(json, "description"), members: members(json, document).into_values().collect() }
    }
}

/// The members of an object by name, with those of every part. A member that only some of the alternatives have is
/// not required.
fn members(schema: &Json, document: &Json) -> BTreeMap<String, TypeMember> {
    if let Some(path) = schema.get("$ref").and_then(Json::as_str) {
        let found = document.pointer(path.trim_start_matches('#'));
        return found.map(|it| members(it, document)).unwrap_or_default();
    }
    let required: Vec<&str> = items(schema.get("required")).filter_map(Json::as_str).collect();
    let own = entries(schema.get("properties")).map(|(name, schema)| {
        let (kind, about) = (Kind::read(Some(schema)), text(schema, "description"));
        let required = required.contains(&name.as_str());
        (name.clone(), TypeMember { name: name.clone(), required, kind, about })
    });
    let mut all: BTreeMap<String, TypeMember> = own.collect();
    for part in items(schema.get("allOf")) {
        all.extend(members(part, document));
    }
    let alternatives = ["oneOf", "anyOf"].into_iter().flat_map(|it| items(schema.get(it)));
    let alternatives: Vec<_> = alternatives.map(|it| members(it, document)).collect();
    let required = |name: &str| alternatives.iter().all(|it| it.get(name).is_some_and(|it| it.required));
    for member in alternatives.iter().flat_map(BTreeMap::values) {
        let required = required(&member.name);
        all.entry(member.name.clone()).or_insert_with(|| TypeMember { required, ..member.clone() });
    }
    all
}

impl Kind {
    fn read(schema: Option<&Json>) -> Self {
        let Some(schema) = schema else { return Self::Any };
        if let Some(name) = schema.get("$ref").and_then(Json::as_str) {
            return type_by_name(name.rsplit('/').next().unwrap_or(name));
        }
        for several in ["oneOf", "anyOf", "allOf"] {
            let all: Vec<&Json> = items(schema.get(several)).collect();
            let (null, some): (Vec<&Json>, Vec<&Json>) = all.into_iter().partition(|it| is_null(it));
            match (some.as_slice(), null.is_empty()) {
                ([one], true) => return Self::read(Some(one)),
                ([one], false) => return Self::Maybe(Box::new(Self::read(Some(one)))),
                ([], _) => {}
                _ => return Self::Any,
            }
        }
        let names: Vec<&str> = match schema.get("type") {
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        let some: Vec<&str> = names.iter().copied().filter(|it| *it != "null").collect();
        let kind = match some.as_slice() {
            [one] => Self::of(one, schema),
            _ => return Self::Any,
        };
        if some.len() < names.len() { Self::Maybe(Box::new(kind)) } else { kind }
    }

    fn of(name: &str, schema: &Json) -> Self {
        let words: Vec<String> =
            items(schema.get("enum")).filter_map(Json::as_str).map(str::to_owned).collect();
        match name {
            "string" if !words.is_empty() => Self::Words(words),
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::List(Box::new(Self::read(schema.get("items")))),
            "object" => {
                let values = schema.get("additionalProperties").filter(|it| it.is_object());
                Self::Map(Box::new(Self::read(values)))
            }
            _ => Self::Any,
        }
    }
}

fn type_by_name(name: &str) -> Kind {
    match name.strip_prefix(PAGE) {
        Some(inside) => Kind::Page(Box::new(type_by_name(inside))),
        None if name == ANY => Kind::Any,
        None => Kind::Named(name.to_owned()),
    }
}

/// An optional value needs no null.
fn without_null(kind: Kind) -> Kind {
    match kind {
        Kind::Maybe(kind) => *kind,
        kind => kind,
    }
}

fn is_null(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("null")
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn items(json: Option<&Json>) -> impl Iterator<Item = &Json> {
    json.and_then(Json::as_array).into_iter().flatten()
}

fn entries(json: Option<&Json>) -> impl Iterator<Item = (&String, &Json)> {
    json.and_then(Json::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_are_read_as_their_types() {
        let read = |it: Json| Kind::read(Some(&it));
        let maybe = |it| Kind::Maybe(Box::new(it));
        assert_eq!(read(json!({ "type": ["string", "null"] })), maybe(Kind::Text));
        assert_eq!(
            read(json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Entity" }] })),
            maybe(Kind::Named("Entity".to_owned()))
        );
        assert_eq!(
            read(json!({ "$ref": "#/components/schemas/Page_Value" })),
            Kind::Page(Box::new(Kind::Any))
        );
        assert_eq!(
            read(json!({ "type": "object", "additionalProperties": { "type": "integer" } })),
            Kind::Map(Box::new(Kind::Integer))
        );
        assert_eq!(read(json!({ "type": "object" })), Kind::Map(Box::new(Kind::Any)));
        assert_eq!(
            read(json!({ "type": "string", "enum": ["a", "b"] })),
            Kind::Words(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(read(json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] })), Kind::Any);
        assert_eq!(read(json!({})), Kind::Any);
    }

    #[test]
    fn members_of_all_parts_are_collected_and_of_alternatives_only_the_common_ones_are_required() {
        let document = json!({ "A": { "properties": { "a": { "type": "string" } }, "required": ["a"] } });
        let whole = json!({ "oneOf": [
            { "allOf": [{ "$ref": "#/A" }, { "properties": { "b": { "type": "integer" } }, "required": ["b"] }] },
            { "$ref": "#/A" },
        ] });
        let found: Vec<(String, bool)> =
            members(&whole, &document).into_values().map(|it| (it.name, it.required)).collect();
        assert_eq!(found, [("a".to_owned(), true), ("b".to_owned(), false)]);
    }

    #[test]
    fn every_route_has_a_name_of_its_own() {
        let document = server_document();
        let mut names: Vec<&str> = document.operations.iter().map(|it| it.id.as_str()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert!(all > 40 && names.len() == all && !names.contains(&""), "{names:?}");
    }
}
