//! HTML pages for people in a browser: refusals that say what to do next.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::problem::Refused;

/// The media type of a page.
pub(crate) const PAGE: &str = "text/html; charset=utf-8";

const STYLE: &str =
    "body{max-width:36rem;margin:4rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif}";

/// A refusal as a page for browsers, as a problem for programs.
pub(crate) fn refused(refused: Refused, headers: &HeaderMap, title: &str, next: &str) -> Response {
    let text = page(title, &refused.0.detail, next);
    let mut answer = refused.into_response();
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    if !wants_page(headers) {
        return answer;
    }
    *answer.body_mut() = Body::from(text);
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = answer.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PAGE));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// `next` is trusted HTML; the rest is escaped.
fn page(title: &str, said: &str, next: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · Trackside</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n<p>{}</p>\n{next}\n</body>\n</html>\n",
        in_words(said)
    )
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
