//! Completes the OpenAPI document with the parts that all routes share.

use utoipa::openapi::schema::{AnyOf, ArrayItems};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, OneOf, OpenApi, Ref, RefOr, Schema, Server};

/// The schema name of a page of items.
const PAGE: &str = "Page_";

/// The document as it is served.
pub(crate) fn finished(mut document: OpenApi) -> OpenApi {
    document.servers = Some(vec![Server::new("/")]);
    for path in document.paths.paths.values_mut() {
        let operations = [&mut path.get, &mut path.put, &mut path.post, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            for (status, response) in &mut operation.responses.responses {
                if let RefOr::T(response) = response
                    && response.description.is_empty()
                {
                    response.description = meaning(status).to_owned();
                }
            }
        }
    }
    let components = document.components.get_or_insert_default();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert("token".to_owned(), scheme.into());
    name_items(components);
    allow_overlap(components.schemas.get_mut("QueryReply"));
    document
}

/// The description of a status.
fn meaning(status: &str) -> &'static str {
    match status {
        "201" => "Created.",
        "204" => "Done; no content.",
        "4XX" => "Refused, with every reason. Nothing was changed.",
        "503" => "Temporarily unavailable. Retry in a moment.",
        _ => "Done.",
    }
}

/// Makes a choice of schemas that one value can match together: a page is also an object of any members.
fn allow_overlap(schema: Option<&mut RefOr<Schema>>) {
    if let Some(RefOr::T(schema)) = schema
        && let Schema::OneOf(OneOf { items, description, .. }) = schema
    {
        let any = AnyOf { items: std::mem::take(items), description: description.take(), ..AnyOf::default() };
        *schema = Schema::AnyOf(any);
    }
}

/// Replaces the inline item schema of a page with a reference.
fn name_items(components: &mut Components) {
    let names: Vec<String> =
        components.schemas.keys().filter_map(|it| it.strip_prefix(PAGE)).map(str::to_owned).collect();
    for name in names.into_iter().filter(|it| components.schemas.contains_key(it)).collect::<Vec<_>>() {
        let page = components.schemas.get_mut(&format!("{PAGE}{name}"));
        if let Some(RefOr::T(Schema::Object(page))) = page
            && let Some(RefOr::T(Schema::Array(items))) = page.properties.get_mut("items")
        {
            items.items = ArrayItems::RefOrSchema(Box::new(Ref::from_schema_name(name).into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    #[test]
    fn every_answer_has_a_description_and_every_page_an_item_type() {
        let document = serde_json::to_value(crate::openapi()).unwrap_or_default();
        let answers = |it: &Json| it["responses"].as_object().cloned().unwrap_or_default();
        let mut seen = 0;
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (status, answer) in item.as_object().into_iter().flatten().flat_map(|(_, it)| answers(it)) {
                assert!(answer["description"].as_str().is_some_and(|it| !it.is_empty()), "{path} {status}");
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
        let page = &document["components"]["schemas"]["Page_Token"]["properties"]["items"]["items"];
        assert_eq!(page["$ref"], "#/components/schemas/Token");
    }
}
