//! Paths of the HTTP API. Typed values are encoded, so that they cannot change the path.

use std::fmt::Write as _;

/// A path with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct ApiPath {
    text: String,
    asked: bool,
}

impl ApiPath {
    /// `/v1/…`, of these parts.
    pub(crate) fn new(parts: &[&str]) -> Self {
        let mut text = "/v1".to_owned();
        for part in parts {
            text.push('/');
            encode(part, &mut text);
        }
        Self { text, asked: false }
    }

    /// The route that reports the server's readiness and the last journal entry it shows.
    pub(crate) fn readiness() -> Self {
        Self { text: "/readyz".to_owned(), asked: false }
    }

    /// With a parameter.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.text.push(if self.asked { '&' } else { '?' });
        self.asked = true;
        encode(name, &mut self.text);
        self.text.push('=');
        encode(&value.to_string(), &mut self.text);
        self
    }

    /// With a parameter, where there is one.
    #[must_use]
    pub(crate) fn with_some(self, name: &str, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

fn encode(part: &str, into: &mut String) {
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'~' | b'-' | b'@' | b':' => {
                into.push(char::from(byte));
            }
            other => {
                let _ = write!(into, "%{other:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_cannot_change_the_route() {
        let route = ApiPath::new(&["entities", "mission.task", "../x?y#z"]);
        assert_eq!(route.as_str(), "/v1/entities/mission.task/..%2Fx%3Fy%23z");
        let route = ApiPath::new(&["entities", "a.b"])
            .with("where", "x == \"ü\" && y")
            .with_some("limit", None::<u32>)
            .with("all", true);
        assert_eq!(route.as_str(), "/v1/entities/a.b?where=x%20%3D%3D%20%22%C3%BC%22%20%26%26%20y&all=true");
    }
}
