//! HTML pages for people in a browser: forms, and refusals that say what to do next. They work without scripts.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::problem::Refused;

/// The media type of a page.
pub(crate) const PAGE: &str = "text/html; charset=utf-8";

const STYLE: &str = "body{max-width:36rem;margin:4rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif}\
    fieldset{margin:1rem 0}label{display:block}textarea,input[type=text]{width:100%}dd{overflow-wrap:anywhere}";

/// A page with a body of trusted HTML, whose forms are sent to this server.
pub(crate) fn form_page(status: StatusCode, title: &str, body: &str) -> Response {
    let mut answer = (status, document(&escaped(title), "", body)).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PAGE));
    set_policy(headers, "'self'");
    // Browsers send the origin of a form only then, and without it the form is refused.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

/// A page that loads another address of this server at once. A browser that followed a link from elsewhere sends its
/// session only then.
pub(crate) fn forward_page(to: &str) -> Response {
    let to = escaped(to);
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={to}\">\n");
    let body = format!("<p><a href=\"{to}\">Continue</a></p>");
    let mut answer = document("Trackside", &head, &body).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PAGE));
    set_policy(headers, "'none'");
    answer
}

fn set_policy(headers: &mut HeaderMap, forms: &str) {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action {forms}; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// All parts are HTML.
fn document(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         {head}<title>{title} · Trackside</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )
}

/// A refusal as a page for browsers, as a problem for programs.
pub(crate) fn refused(refused: Refused, headers: &HeaderMap, title: &str, next: &str) -> Response {
    let text = page(title, &refused.0.detail, next);
    let mut answer = refused.into_response();
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    if !wants_page(headers) {
        return answer;
    }
    *answer.body_mut() = Body::from(text);
    let headers = answer.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PAGE));
    set_policy(headers, "'none'");
    answer
}

/// `next` is trusted HTML; the rest is escaped.
fn page(title: &str, said: &str, next: &str) -> String {
    document(title, "", &format!("<p>{}</p>\n{next}", in_words(said)))
}

/// Escapes text, and marks text in backticks as code.
fn in_words(said: &str) -> String {
    let parts = said.split('`').map(escaped).enumerate();
    parts.map(|(n, it)| if n % 2 == 0 { it } else { format!("<code>{it}</code>") }).collect()
}

/// Whether the request prefers HTML over JSON. Programs that accept anything get the problem.
fn wants_page(headers: &HeaderMap) -> bool {
    let asked = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let kinds: Vec<(String, f32)> = asked.flat_map(|it| it.split(',')).map(parse_quality).collect();
    let weight = |wanted: &[&str]| {
        let named = kinds.iter().filter(|(kind, _)| wanted.contains(&kind.as_str()));
        named.map(|(_, weight)| *weight).fold(0.0, f32::max)
    };
    let page = weight(&["text/html"]);
    page > 0.0 && page >= weight(&["application/json", "application/problem+json"])
}

/// One media type of an `Accept` header, and its weight.
fn parse_quality(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|it| it.strip_prefix("q=")).map_or(Some(1.0), |it| it.parse().ok());
    (kind, weight.unwrap_or(0.0))
}

/// Escapes text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_those_who_ask_for_one() {
        let wants = |accept: &'static str| {
            wants_page(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
        };
        for browser in
            ["text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json;q=0.5, Text/HTML"]
        {
            assert!(wants(browser), "{browser}");
        }
        for program in [
            "*/*",
            "application/json",
            "application/json, text/html;q=0.9",
            "text/html;q=0",
            "text/html;q=x",
            "",
        ] {
            assert!(!wants(program), "{program}");
        }
        assert!(!wants_page(&HeaderMap::new()));
    }

    #[test]
    fn request_text_is_not_part_of_the_page() {
        let page = page("No", "<script>alert(\"x\")</script> & `more`", "<p>Next</p>");
        assert!(
            page.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; <code>more</code>")
                && page.contains("<p>Next</p>")
        );
    }
}
