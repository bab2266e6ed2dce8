//! The first page: who one is signed in as, and what there is.

use axum::http::HeaderValue;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use trackside_lifecycle::name::Name;

use crate::auth::Caller;
use crate::page::{PAGE, escaped};
use crate::problem::Refused;

/// What can be typed next, and what it does.
const COMMANDS: &[(&str, &str)] = &[
    ("trackside lifecycles", "what entities can be, and which states they have"),
    ("trackside new mission.task title='Try it'", "creates an entity"),
    ("trackside list mission.task", "lists entities"),
    ("trackside explain mission.task/ID", "why it is not moving, and who must act"),
    ("trackside watch", "everything as it moves"),
    ("trackside token create ada --kind agent", "a token for an agent or a colleague"),
    ("trackside help", "all commands"),
];

/// What can be asked for with a browser that is signed in, and what it is.
const ROUTES: &[(&str, &str)] = &[
    ("/v1/whoami", "who you are here"),
    ("/v1/lifecycles", "definitions"),
    ("/v1/alerts", "what people should look at"),
    ("/v1/approvals", "what waits for somebody's word"),
    ("/v1/journal", "what happened, in order"),
    ("/openapi.json", "every route, for programs"),
];

/// For everybody: of whom there is nothing to say, it says how to come in.
pub(crate) async fn home(caller: Result<Caller, Refused>) -> Response {
    let who = match &caller {
        Ok(caller) => signed_in(caller),
        Err(_) => "<p>You are not signed in. <code>trackside sign-in</code> prints a link that lets you in, once.</p>".to_owned(),
    };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>Trackside</title></head>\n<body>\n<h1>Trackside</h1>\n{who}\n<h2>On the command line</h2>\n<dl>\n{}</dl>\n<h2>Over HTTP</h2>\n<dl>\n{}</dl>\n<p>Programs send a token: <code>Authorization: Bearer TOKEN</code>. Agents that speak MCP find it at <code>/mcp</code>.</p>\n</body>\n</html>\n",
        rows(COMMANDS, |it| format!("<code>{it}</code>")),
        rows(ROUTES, |it| format!("<a href=\"{it}\">{it}</a>")),
    );
    let mut answer = page.into_response();
    let kind = HeaderValue::from_static(PAGE);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

fn signed_in(caller: &Caller) -> String {
    let actor = caller.actor();
    let roles: Vec<&str> = actor.roles.iter().map(Name::as_str).collect();
    let roles = match roles.is_empty() {
        true => String::new(),
        false => format!(", with role {}", escaped(&roles.join(", "))),
    };
    format!(
        "<p>You are signed in as <strong>{}</strong> ({}{roles}).</p>",
        escaped(&actor.id),
        actor.kind.as_str()
    )
}

fn rows(all: &[(&str, &str)], shown: impl Fn(&str) -> String) -> String {
    all.iter().map(|(what, about)| format!("<dt>{}</dt><dd>{about}</dd>\n", shown(what))).collect()
}
