//! Every route, in one table.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, State};
use axum::http::{Extensions, Method, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use trackside_protocol::ProblemCode;

use crate::app::App;
use crate::auth::Caller;
use crate::middleware::{RequestRules, guard, replay_or_run};
use crate::problem::Refused;
use crate::rest::{
    action_requests, alerts, approvals, archives, artifacts, audiences, audit, backups, batch, changes,
    claims, clock, corrections, decision_form, deliveries, effects, entities, evidence, explain, export,
    health, history, home, identity, imports, inbox, journal, lifecycles, messages, metrics, migrations,
    notices, oidc_sign_in, packs, policy, queries, redactions, run_actions, runs, settings, sign_in, stats,
    token_rotation, transcripts, transitions, webhooks, work, worktrees,
};
use crate::{document, events, mcp};

#[derive(OpenApi)]
#[openapi(
    info(title = "Trackside", description = "The control plane for teams of AI agents."),
    security(("token" = [])),
    // Routed by hand: MCP is another protocol, and sign-in is for browsers.
    paths(mcp::asked, sign_in::sign_in),
)]
struct Document;

/// Properties of routes, by their path pattern.
#[derive(Debug, Default)]
pub(crate) struct RouteTraits {
    /// Have no time limit.
    long: BTreeSet<String>,
    /// Store no idempotency key in the journal; their answers are kept in memory.
    unjournalled: BTreeSet<String>,
    /// The parameters and bodies that they accept.
    pub requests: RequestRules,
}

impl RouteTraits {
    pub fn is_long(&self, path: &str) -> bool {
        self.long.contains(path)
    }

    pub fn is_unjournalled(&self, path: &str) -> bool {
        self.unjournalled.contains(path)
    }
}

/// The path pattern of the matched route; empty if there is none.
pub(crate) fn matched(extensions: &Extensions) -> String {
    extensions.get::<MatchedPath>().map(|it| it.as_str().to_owned()).unwrap_or_default()
}

/// The routes with their properties.
struct RouteTable {
    router: OpenApiRouter<App>,
    traits: RouteTraits,
}

impl RouteTable {
    fn routes(self, routes: UtoipaMethodRouter<App>) -> Self {
        Self { router: self.router.routes(routes), ..self }
    }

    fn long(mut self, routes: UtoipaMethodRouter<App>) -> Self {
        self.traits.long.extend(routes.1.paths.keys().cloned());
        self.routes(routes)
    }

    fn unjournalled(mut self, routes: UtoipaMethodRouter<App>) -> Self {
        self.traits.unjournalled.extend(routes.1.paths.keys().cloned());
        self.routes(routes)
    }

    fn long_unjournalled(mut self, routes: UtoipaMethodRouter<App>) -> Self {
        self.traits.long.extend(routes.1.paths.keys().cloned());
        self.unjournalled(routes)
    }
}

/// Every route with its OpenAPI description.
fn route_table() -> RouteTable {
    RouteTable { router: OpenApiRouter::with_openapi(Document::openapi()), traits: RouteTraits::default() }
        // entities
        .routes(routes!(entities::create, entities::list))
        .routes(routes!(entities::show))
        .routes(routes!(transitions::fire))
        .routes(routes!(history::history))
        .routes(routes!(messages::messages))
        .routes(routes!(explain::explain))
        .routes(routes!(work::work))
        .routes(routes!(worktrees::report, worktrees::show))
        .routes(routes!(changes::report))
        .routes(routes!(changes::diff))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::heartbeat))
        .routes(routes!(corrections::correct))
        .routes(routes!(batch::batch))
        // definitions and queries
        .routes(routes!(lifecycles::list))
        .routes(routes!(lifecycles::show))
        .routes(routes!(lifecycles::diagram))
        .routes(routes!(packs::list))
        .routes(routes!(packs::put))
        .routes(routes!(settings::project, settings::put_project))
        .routes(routes!(settings::show, settings::put))
        .long_unjournalled(routes!(migrations::migrate))
        .routes(routes!(queries::list))
        .routes(routes!(queries::named))
        // journal, alerts and maintenance
        .routes(routes!(journal::journal))
        .long(routes!(events::events))
        .routes(routes!(stats::stats))
        .routes(routes!(alerts::list))
        .routes(routes!(alerts::acknowledge))
        .routes(routes!(alerts::resolve))
        .routes(routes!(notices::notifications))
        .routes(routes!(notices::violations))
        .long_unjournalled(routes!(notices::sweep))
        .long(routes!(audit::verify))
        .routes(routes!(evidence::export))
        .routes(routes!(export::export))
        .long(routes!(imports::import))
        .long_unjournalled(routes!(archives::archive))
        .long_unjournalled(routes!(backups::backup))
        .long(routes!(redactions::redact))
        // runs
        .routes(routes!(run_actions::apply))
        // approvals and effects
        .routes(routes!(inbox::list))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::decide))
        .unjournalled(routes!(policy::evaluate))
        .unjournalled(routes!(action_requests::request_action))
        .routes(routes!(effects::list))
        .unjournalled(routes!(effects::take))
        .routes(routes!(effects::settle))
        .routes(routes!(artifacts::put, artifacts::get))
        // runs
        .routes(routes!(runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(runs::stop))
        .routes(routes!(runs::steer))
        .routes(routes!(runs::verdict))
        .long_unjournalled(routes!(transcripts::append, transcripts::read))
        // webhooks
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::show, webhooks::remove))
        .routes(routes!(webhooks::deliveries))
        .unjournalled(routes!(webhooks::replay))
        // messages to people
        .routes(routes!(audiences::list))
        .routes(routes!(audiences::show, audiences::put))
        .unjournalled(routes!(audiences::test))
        .routes(routes!(deliveries::list))
        // identity
        .routes(routes!(identity::server_identity))
        .routes(routes!(identity::whoami))
        .routes(routes!(identity::list, identity::create))
        .routes(routes!(identity::revoke))
        .routes(routes!(token_rotation::rotate))
        .unjournalled(routes!(token_rotation::replace))
        .unjournalled(routes!(token_rotation::extend))
        .routes(routes!(sign_in::link))
        .routes(routes!(sign_in::sign_out))
        // time
        .routes(routes!(clock::show))
        .long_unjournalled(routes!(clock::advance))
        .long_unjournalled(routes!(clock::correct))
        // health
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
}

/// The OpenAPI document as it is served.
pub fn openapi() -> utoipa::openapi::OpenApi {
    document::finished(route_table().router.into_openapi())
}

/// The routes with their layers.
pub(crate) fn router(app: App) -> Router {
    let document = openapi();
    let RouteTable { router, mut traits } = route_table();
    traits.long.insert(mcp::PATH.to_owned());
    traits.requests = RequestRules::of(&document)
        .with_page("/", &[])
        .with_page("/openapi.json", &[])
        .with_page(oidc_sign_in::START, &[])
        .with_page(decision_form::DECIDE, decision_form::PARAMETERS)
        .with_page(decision_form::DECIDE_ONE, decision_form::PARAMETERS);
    let document = document.to_json().unwrap_or_default();
    let (router, _) = router.split_for_parts();
    let state = (app.clone(), Arc::new(traits));
    let serve_document = move |_: Caller| {
        let document = document.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], document) }
    };
    router
        .layer(from_fn_with_state(state.clone(), replay_or_run))
        .route("/", get(home::home))
        .route("/openapi.json", get(serve_document))
        .route(decision_form::DECIDE, get(decision_form::list))
        .route(decision_form::DECIDE_ONE, get(decision_form::show).post(decision_form::decide))
        .route(mcp::PATH, mcp::door(&app))
        // HEAD is refused: GET uses the link up, and a link preview must not.
        .route("/sign-in", get(sign_in::sign_in).head(only_get))
        .route(oidc_sign_in::START, get(oidc_sign_in::start).head(only_get))
        .route(oidc_sign_in::CALLBACK, get(oidc_sign_in::callback).head(only_get))
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        // Each handler limits its own body.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(state, guard))
        .with_state(app)
}

async fn unknown(State(_): State<App>, uri: Uri) -> Refused {
    Refused::new(
        ProblemCode::UnknownRoute,
        format!("No route {}. /openapi.json lists all routes", uri.path()),
    )
}

async fn not_allowed(method: Method, uri: Uri) -> Refused {
    let detail = format!("{method} is not allowed on {}. /openapi.json lists the methods", uri.path());
    Refused::new(ProblemCode::MethodNotAllowed, detail)
}

async fn only_get(method: Method, uri: Uri) -> impl IntoResponse {
    ([(header::ALLOW, "GET")], not_allowed(method, uri).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_the_whole_journal_has_no_time_limit() {
        let traits = route_table().traits;
        for path in ["/v1/archive", "/v1/audit/verify", "/v1/backup", "/v1/import", "/v1/sweep"] {
            assert!(traits.is_long(path), "{path}");
        }
        assert!(!traits.is_long("/v1/batch"));
        assert!(traits.is_unjournalled("/v1/archive") && !traits.is_unjournalled("/v1/import"));
    }

    /// The layer for idempotency keys adds it when it repeats such an answer.
    #[test]
    fn answers_that_are_kept_in_memory_have_no_member_replayed() {
        let document = serde_json::to_value(openapi()).unwrap();
        for path in &route_table().traits.unjournalled {
            let answer = &document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"];
            let name = answer["schema"]["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap();
            let members = document["components"]["schemas"][name]["properties"].as_object().unwrap();
            assert!(!members.contains_key("replayed"), "{path}");
        }
    }
}
