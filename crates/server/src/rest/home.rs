//! The home page: who is signed in, and links.

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use trackside_lifecycle::name::Name;

use crate::app::App;
use crate::auth::Caller;
use crate::page::{PAGE, escaped};
use crate::problem::Refused;

/// Commands to try, with descriptions.
const COMMANDS: &[(&str, &str)] = &[
    ("trackside lifecycles", "list lifecycles and their states"),
    ("trackside new mission.task title='Try it'", "create an entity"),
    ("trackside list mission.task", "lists entities"),
    ("trackside explain mission.task/ID", "show why it does not move, and who must act"),
    ("trackside watch", "follow all changes"),
    ("trackside token create ada --kind agent", "create a token for an agent or a colleague"),
    ("trackside help", "all commands"),
];

/// Links for a signed-in browser, with descriptions.
const ROUTES: &[(&str, &str)] = &[
    ("/v1/whoami", "your identity"),
    ("/v1/lifecycles", "definitions"),
    ("/v1/alerts", "open alerts"),
    ("/v1/approvals", "open approval requests"),
    ("/v1/journal", "the journal"),
    ("/openapi.json", "the API description"),
];

/// Without a session it explains how to sign in.
pub(crate) async fn home(State(app): State<App>, caller: Result<Caller, Refused>) -> Response {
    let who = match &caller {
        Ok(caller) => signed_in(caller),
        Err(_) if app.oidc.is_some() => {
            "<p>You are not signed in. <a href=\"/sign-in/oidc\">Sign in</a>.</p>".to_owned()
        }
        Err(_) => {
            "<p>You are not signed in. <code>trackside sign-in</code> prints a link that works once.</p>"
                .to_owned()
        }
    };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>Trackside</title></head>\n<body>\n<h1>Trackside</h1>\n{who}\n<h2>On the command line</h2>\n<dl>\n{}</dl>\n<h2>Over HTTP</h2>\n<dl>\n{}</dl>\n<p>Programs send a token: <code>Authorization: Bearer TOKEN</code>. MCP clients connect to <code>/mcp</code>.</p>\n</body>\n</html>\n",
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
