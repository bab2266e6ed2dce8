//! Every route, on one page.

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{
    alerts, approvals, archives, artifacts, audit, backups, batch, claims, clock, corrections, effects,
    entities, evidence, explain, export, health, history, home, identity, imports, journal, lifecycles,
    messages, metrics, migrations, notices, packs, policy, queries, redactions, settings, sign_in, stats,
    transitions, webhooks,
};
use crate::{document, events, mcp, serve};

#[derive(OpenApi)]
#[openapi(
    info(title = "Trackside", description = "The control plane for teams of AI agents."),
    security(("token" = [])),
    // What speaks another protocol, or is for browsers: described here, and routed by hand.
    paths(mcp::asked, sign_in::sign_in),
)]
struct Document;

/// Every route, with its part of the document.
fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        // entities
        .routes(routes!(entities::create, entities::list))
        .routes(routes!(entities::show))
        .routes(routes!(transitions::fire))
        .routes(routes!(history::history))
        .routes(routes!(messages::messages))
        .routes(routes!(explain::explain))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::heartbeat))
        .routes(routes!(corrections::correct))
        .routes(routes!(batch::batch))
        // definitions and questions
        .routes(routes!(lifecycles::list))
        .routes(routes!(lifecycles::show))
        .routes(routes!(lifecycles::diagram))
        .routes(routes!(packs::list))
        .routes(routes!(packs::put))
        .routes(routes!(settings::project, settings::put_project))
        .routes(routes!(settings::show, settings::put))
        .routes(routes!(migrations::migrate))
        .routes(routes!(queries::list))
        .routes(routes!(queries::named))
        // what happened, and what people should look at
        .routes(routes!(journal::journal))
        .routes(routes!(events::events))
        .routes(routes!(stats::stats))
        .routes(routes!(alerts::list))
        .routes(routes!(alerts::acknowledge))
        .routes(routes!(alerts::resolve))
        .routes(routes!(notices::notifications))
        .routes(routes!(notices::violations))
        .routes(routes!(notices::sweep))
        .routes(routes!(audit::verify))
        .routes(routes!(evidence::export))
        .routes(routes!(export::export))
        .routes(routes!(imports::import))
        .routes(routes!(archives::archive))
        .routes(routes!(backups::backup))
        .routes(routes!(redactions::redact))
        // what people decide, and what the outside does
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::decide))
        .routes(routes!(policy::evaluate))
        .routes(routes!(effects::list))
        .routes(routes!(effects::take))
        .routes(routes!(effects::settle))
        .routes(routes!(artifacts::put, artifacts::get))
        // receivers outside
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::show, webhooks::remove))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::replay))
        // identity
        .routes(routes!(identity::whoami))
        .routes(routes!(identity::list, identity::create))
        .routes(routes!(identity::revoke))
        .routes(routes!(sign_in::link))
        .routes(routes!(sign_in::sign_out))
        // time
        .routes(routes!(clock::show))
        .routes(routes!(clock::advance))
        // health
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
}

/// The OpenAPI document, as it is served.
pub fn openapi() -> utoipa::openapi::OpenApi {
    document::finished(described().into_openapi())
}

/// The routes, ready to be served.
pub(crate) fn router(app: App) -> Router {
    let document = openapi().to_json().unwrap_or_default();
    let (router, _) = described().split_for_parts();
    let serve_document = move |_: Caller| {
        let document = document.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], document) }
    };
    router
        .route("/", get(home::home))
        .route("/openapi.json", get(serve_document))
        .route(mcp::PATH, mcp::door(&app))
        // A link is used up by whoever follows it, not by a program that only looks where it leads.
        .route("/sign-in", get(sign_in::sign_in).head(only_get))
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        // Every body is read within a limit of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(app.clone(), serve::guard))
        .with_state(app)
}

async fn unknown(State(_): State<App>, uri: Uri) -> Refused {
    Refused::unknown(
        "unknown-route",
        format!("There is nothing at {}. /openapi.json lists what there is", uri.path()),
    )
}

async fn not_allowed(method: Method, uri: Uri) -> Refused {
    let detail = format!("{method} does not work on {}. /openapi.json lists what does", uri.path());
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
}

async fn only_get(method: Method, uri: Uri) -> impl IntoResponse {
    ([(header::ALLOW, "GET")], not_allowed(method, uri).await)
}
