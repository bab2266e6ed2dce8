//! Pages on which people decide what waits for them. They work without scripts, and a message links to them.
//!
//! Only a POST decides, so a preview of a link changes nothing. A signed-in browser is believed only if the form came from
//! a page of this server: the check of the caller refuses others.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::{Map, Value as Json};
use trackside_engine::Law;
use trackside_engine::command::AlertAction;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Fit;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::printable::{escape, escape_lines};
use trackside_protocol::{
    AlertNote, Decide, EntityBody, InboxAction, InboxItemBody, ProblemCode, TransitionBody,
};
use trackside_runtime::ReadError;

use super::alerts::handle_alert;
use super::inbox::{self, InboxQuery};
use super::oidc_sign_in::set_cookie;
use super::transitions::fired;
use super::{Body, CommandHeaders, DryRun, Parameters, approvals, entity_body, whole};
use crate::app::App;
use crate::auth::{Caller, SecureTransport};
use crate::events::Visibility;
use crate::page::{self, escaped};
use crate::problem::Refused;

/// The page that lists everything that waits for the caller.
pub(crate) const DECIDE: &str = "/decide";
/// The page of one item, by its number.
pub(crate) const DECIDE_ONE: &str = "/decide/{number}";
/// The parameters of both: whether the page was loaded again, from this server.
pub(crate) const PARAMETERS: &[&str] = &["again"];

/// Seconds for which a browser remembers the page to return to.
const REMEMBERED: i64 = 15 * 60;
/// The most characters of a field that are shown.
const LONGEST: usize = 4_000;
/// The start of the name of an input with a field.
const FIELD: &str = "field:";
/// The type of a form.
const FORM: &str = "application/x-www-form-urlencoded";
const TITLE: &str = "Not decided";
const BACK: &str = "<p><a href=\"/decide\">What waits for you</a></p>";

/// Lists what waits for the caller, with a link to each.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Result<Caller, Refused>,
    secure: SecureTransport,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => return signed_out(&app, refused, secure, &headers, &uri),
    };
    let which = InboxQuery { kind: None, number: None, limit: None, cursor: None };
    match inbox::list(State(app), caller, Parameters(which)).await {
        Ok(found) => page::form_page(
            StatusCode::OK,
            "What waits for you",
            &listed(&found.0.items, found.0.more || found.0.next_cursor.is_some()),
        ),
        Err(refused) => page::refused(refused, &headers, TITLE, ""),
    }
}

fn listed(items: &[InboxItemBody], has_more: bool) -> String {
    if items.is_empty() {
        return "<p>Nothing waits for you.</p>".to_owned();
    }
    let row = |it: &InboxItemBody| {
        let (number, headline) = (it.number, escaped(&escape(&it.headline)));
        let about = format!("{} of {}/{}, since {}", it.kind.as_str(), it.lifecycle, it.id, it.since);
        format!("<li><a href=\"{DECIDE}/{number}\">{headline}</a><br>{}</li>\n", escaped(&about))
    };
    let more = if has_more { "<p>There is more. It is listed when some of this is decided.</p>" } else { "" };
    format!("<ul>\n{}</ul>\n{more}", items.iter().map(row).collect::<String>())
}

/// Shows one item with a form for each thing that the caller can do about it.
pub(crate) async fn show(
    State(app): State<App>,
    caller: Result<Caller, Refused>,
    secure: SecureTransport,
    headers: HeaderMap,
    uri: Uri,
    Path(number): Path<String>,
) -> Response {
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => return signed_out(&app, refused, secure, &headers, &uri),
    };
    match waiting(&app, &caller, &number).await {
        Ok((item, entity)) => {
            let title = escape(&item.headline).into_owned();
            page::form_page(StatusCode::OK, &title, &form(&app.runtime.law(), &item, entity.as_ref()))
        }
        Err(refused) => page::refused(refused, &headers, "Nothing to decide", BACK),
    }
}

/// Carries out what a form asks for, if it still waits and its entity is the one that the page showed.
pub(crate) async fn decide(
    State(app): State<App>,
    caller: Result<Caller, Refused>,
    headers: HeaderMap,
    Path(number): Path<String>,
    request: Request,
) -> Response {
    let decided = async { carry_out(&app, &caller?, &number, request).await };
    match decided.await {
        Ok(said) => page::form_page(StatusCode::OK, "Done", &format!("<p>{}</p>\n{BACK}", escaped(&said))),
        Err(refused) => page::refused(refused, &headers, TITLE, BACK),
    }
}

/// The item with this number that waits for the caller, with its entity if the caller may read it.
async fn waiting(
    app: &App,
    caller: &Caller,
    number: &str,
) -> Result<(InboxItemBody, Option<EntityBody>), Refused> {
    let visibility = Visibility::of(app, caller);
    let (law, wanted) = (app.runtime.law(), number.parse::<u64>().ok());
    let found = app.read(move |reads| {
        let Some(wanted) = wanted else { return Ok(None) };
        let Some(item) = inbox::numbered(reads, &law, &visibility, wanted)? else { return Ok(None) };
        let key = EntityKey { lifecycle: item.lifecycle.clone(), id: item.id.clone() };
        match entity_body(reads, &key, visibility.reader()) {
            Ok(entity) => Ok(Some((item, Some(entity)))),
            // An alert about the project has no entity.
            Err(ReadError::UnknownEntity(_) | ReadError::UnknownLifecycle { .. }) => Ok(Some((item, None))),
            Err(error) => Err(error),
        }
    });
    found.await?.ok_or_else(|| {
        let detail = format!("Nothing with the number {number} waits for you. It may have been decided");
        Refused::new(ProblemCode::UnknownApproval, detail)
    })
}

/// Where a browser without a session goes. One that followed a link from elsewhere may have a session that it sends only
/// to pages of this server, so the page is loaded once more.
fn signed_out(
    app: &App,
    refused: Refused,
    secure: SecureTransport,
    headers: &HeaderMap,
    uri: &Uri,
) -> Response {
    if refused.0.status != StatusCode::UNAUTHORIZED.as_u16() || headers.contains_key(header::AUTHORIZATION) {
        return page::refused(refused, headers, "You are not signed in", "");
    }
    if uri.query().is_none_or(|it| !it.starts_with("again=")) {
        return page::forward_page(&format!("{}?again=1", uri.path()));
    }
    let next = match app.oidc.is_some() {
        true => "<p><a href=\"/sign-in/oidc\">Sign in</a>, and you come back here.</p>",
        false => {
            "<p>Run <code>trackside sign-in</code> and open the link that it prints in this browser: you come back here.</p>"
        }
    };
    let mut answer = page::refused(refused, headers, "You are not signed in", next);
    set_cookie(&mut answer, &secure.set(&secure.return_name(app), uri.path(), "Lax", REMEMBERED));
    answer
}

/// The page of an item, as HTML.
fn form(law: &Law, item: &InboxItemBody, entity: Option<&EntityBody>) -> String {
    let severity = if item.severity == "info" { String::new() } else { format!(", {}", item.severity) };
    let about =
        format!("{} of {}/{}, since {}{severity}", item.kind.as_str(), item.lifecycle, item.id, item.since);
    let mut body = format!("<p>{}</p>\n", escaped(&about));
    if let Some(otherwise) = &item.otherwise {
        let said = format!("Without a decision: {} at {}", otherwise.event, otherwise.at);
        body.push_str(&format!("<p>{}</p>\n", escaped(&said)));
    }
    if let Some(entity) = entity {
        let rows = entity.fields.0.iter().filter(|(_, it)| !it.is_blank()).map(|(name, value)| {
            let text = match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_json().to_string(),
            };
            let text: String = escape_lines(&text).chars().take(LONGEST).collect();
            format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(&text))
        });
        body.push_str(&format!("<dl>\n{}</dl>\n", rows.collect::<String>()));
    }
    for action in &item.actions {
        body.push_str(&action_form(law, item, entity, action));
    }
    body.push_str(BACK);
    body
}

fn action_form(law: &Law, item: &InboxItemBody, entity: Option<&EntityBody>, action: &InboxAction) -> String {
    let mut inputs = String::new();
    let event = action.event.as_ref().map(Name::as_str).unwrap_or_default();
    for name in &action.fields {
        let (label, input) = match name.as_str() {
            "reason" => continue,
            "to" => ("To which state".to_owned(), "to".to_owned()),
            name => (name.to_owned(), format!("{FIELD}{name}")),
        };
        let hint = match name.as_str() == "to" || is_text(law, entity, event, name) {
            true => "",
            false => " (as JSON)",
        };
        inputs.push_str(&format!(
            "<label>{}{hint} <input type=\"text\" name=\"{}\" required></label>\n",
            escaped(&label),
            escaped(&input)
        ));
    }
    let is_required = action.fields.iter().any(|it| it == "reason");
    let (label, required) = if is_required { ("Reason", " required") } else { ("Note", "") };
    // A resolved alert or a changed entity is not decided about by an old page.
    let version = entity.map(|it| it.version.to_string()).unwrap_or_default();
    format!(
        "<form method=\"post\" action=\"{DECIDE}/{}\"><fieldset><legend>{}</legend>\n\
         <input type=\"hidden\" name=\"do\" value=\"{}\"><input type=\"hidden\" name=\"version\" value=\"{version}\">\n\
         {inputs}<label>{label} <textarea name=\"note\" rows=\"2\"{required}></textarea></label>\n\
         <button>{}</button></fieldset></form>\n",
        item.number,
        escaped(&action.label),
        escaped(&name_of(action)),
        escaped(&action.label),
    )
}

/// The name of an action in a form.
fn name_of(action: &InboxAction) -> String {
    match (action.decision, &action.event) {
        (Some(decision), _) => decision.to_owned(),
        (None, Some(event)) => format!("fire:{event}"),
        (None, None) => String::new(),
    }
}

/// Whether a field of a transition is text, so that it is sent as it is typed.
fn is_text(law: &Law, entity: Option<&EntityBody>, event: &str, field: &str) -> bool {
    let Some(entity) = entity else { return true };
    let life = law.definition(&entity.lifecycle, entity.definition);
    let arms = life.and_then(|it| it.transition(&Name::new(event))).map(|it| it.arms.as_slice());
    let takes = arms.unwrap_or_default().iter().flat_map(|it| &it.takes).find(|it| *it.name == *field);
    takes.is_none_or(|it| matches!(it.fits.fit, Fit::Text { .. } | Fit::Choice(_) | Fit::Time | Fit::Span))
}

/// Carries out a form, and describes the result.
async fn carry_out(app: &App, caller: &Caller, number: &str, request: Request) -> Result<String, Refused> {
    let kind =
        request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().is_none_or(|it| !it.trim().eq_ignore_ascii_case(FORM)) {
        return Err(Refused::shape(format!("Send a form, as {FORM}")));
    }
    let sent = whole(request.into_body(), app.limits().body).await?;
    let sent: Vec<(String, String)> = form_urlencoded::parse(&sent).into_owned().collect();
    let value = |name: &str| sent.iter().find(|(it, _)| it == name).map(|(_, value)| value.trim());
    let note = value("note").filter(|it| !it.is_empty()).map(str::to_owned);
    let (item, entity) = waiting(app, caller, number).await?;
    let wanted = value("do").unwrap_or_default();
    let Some(action) = item.actions.iter().find(|it| name_of(it) == wanted && !wanted.is_empty()) else {
        return Err(Refused::shape(format!("You cannot do `{wanted}` here. Load the page again")));
    };
    let headers = CommandHeaders {
        if_version: value("version").and_then(|it| it.parse().ok()),
        ..CommandHeaders::default()
    };
    let Some(event) = &action.event else {
        let act = match wanted {
            "acknowledge" => AlertAction::Acknowledge,
            _ => AlertAction::Resolve,
        };
        let headers = CommandHeaders::default();
        let number = item.number.to_string();
        let _handled = handle_alert(app, caller, &number, &headers, &AlertNote { note }, act).await?;
        return Ok(format!("{}: alert {}", action.label, item.number));
    };
    let law = app.runtime.law();
    let typed = sent.iter().filter_map(|(name, it)| Some((name.strip_prefix(FIELD)?, it)));
    let mut fields: Map<String, Json> = Map::new();
    for (name, text) in typed.filter(|(_, it)| !it.is_empty()) {
        let read = || serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone()));
        let is_text = is_text(&law, entity.as_ref(), event, name);
        fields.insert(name.to_owned(), if is_text { Json::String(text.clone()) } else { read() });
    }
    let to = value("to").filter(|it| !it.is_empty()).map(str::to_owned);
    let key = EntityKey { lifecycle: item.lifecycle.clone(), id: item.id.clone() };
    match action.decision {
        // The request's own field for the note gets it.
        Some(decision) if fields.is_empty() => {
            let body = Decide {
                decision: decision.to_owned(),
                note,
                to,
                lifecycle: Some(item.lifecycle.to_string()),
            };
            let how = Parameters(DryRun { dry_run: false });
            approvals::decide(
                State(app.clone()),
                caller.clone(),
                Path(item.id.to_string()),
                headers,
                how,
                Body(body),
            )
            .await?;
        }
        _ => {
            if let Some(to) = to {
                fields.insert("to".to_owned(), Json::String(to));
            }
            let body = TransitionBody {
                to: None,
                event: Some(event.to_string()),
                fields,
                reason: note,
                fence: None,
            };
            fired(app, caller, key.clone(), &headers, false, &body).await?;
        }
    }
    let state = app.read(move |reads| Ok(reads.entity(&key)?.map(|it| it.state.clone()))).await?;
    let state = state.map(|it| format!(". It is {it} now")).unwrap_or_default();
    Ok(format!("{}: {}/{}{state}", action.label, item.lifecycle, item.id))
}
