//! Limits on requests.

use std::collections::BTreeMap;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

/// Limits. A request beyond one is refused, and the refusal names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Bytes of a body.
    pub body: usize,
    /// Nesting levels of a JSON body.
    pub depth: usize,
    /// Bytes of an artifact.
    pub artifact: usize,
    /// Commands in a batch.
    pub batch: usize,
    /// Open event streams.
    pub streams: usize,
    /// Requests per actor and second; 0 means no limit.
    pub rate: u32,
    /// Commands per actor and second; 0 means no limit.
    pub actor_commands: u32,
    /// Bytes of request bodies per actor and second; 0 means no limit.
    pub actor_bytes: u32,
    /// Open event streams and waits of an actor.
    pub actor_streams: usize,
    /// Bytes of artifacts that an actor may store a day; 0 means no limit.
    pub actor_artifact_bytes: u64,
    /// Bytes of artifacts that an actor may store in all; 0 means no limit.
    pub actor_artifact_total: u64,
    /// Entities that an actor may create a day; 0 means no limit.
    pub actor_entities: u64,
    /// Open connections.
    pub connections: usize,
    /// Open connections of one address.
    pub address_connections: usize,
    /// Unknown tokens or links per address and second; 0 means no limit.
    pub strangers: u32,
    /// Seconds a request may take, and a peer may be idle; streams excepted.
    pub seconds: u64,
    /// The farthest that the manual clock may move at once: commands wait until everything due has fired.
    pub advance: Span,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body: 1024 * 1024,
            depth: 64,
            artifact: 16 * 1024 * 1024,
            batch: 1_000,
            streams: 4_096,
            rate: 2_000,
            actor_commands: 10_000,
            actor_bytes: 32 * 1024 * 1024,
            actor_streams: 256,
            actor_artifact_bytes: 4 * 1024 * 1024 * 1024,
            actor_artifact_total: 64 * 1024 * 1024 * 1024,
            actor_entities: 200_000,
            connections: 8_192,
            address_connections: 4_096,
            strangers: 50,
            seconds: 30,
            advance: Span(400 * 24 * 60 * 60 * 1_000),
        }
    }
}

impl ServerLimits {
    /// The limits with the settings of the pack `access` applied.
    pub(crate) fn changed(mut self, settings: &BTreeMap<Name, Value>) -> Self {
        for (name, value) in settings {
            let Some(number) = value.as_int().and_then(|it| u64::try_from(it).ok()) else { continue };
            let (whole, small) = (usize::try_from(number), u32::try_from(number));
            match &**name {
                "bodyBytes" => self.body = whole.unwrap_or(self.body),
                "bodyDepth" => self.depth = whole.unwrap_or(self.depth),
                "artifactBytes" => self.artifact = whole.unwrap_or(self.artifact),
                "batchCommands" => self.batch = whole.unwrap_or(self.batch),
                "eventStreams" => self.streams = whole.unwrap_or(self.streams),
                "requestsPerSecond" => self.rate = small.unwrap_or(self.rate),
                "commandsPerSecond" => self.actor_commands = small.unwrap_or(self.actor_commands),
                "bytesPerSecond" => self.actor_bytes = small.unwrap_or(self.actor_bytes),
                "actorEventStreams" => self.actor_streams = whole.unwrap_or(self.actor_streams),
                "artifactBytesPerDay" => self.actor_artifact_bytes = number,
                "artifactBytesTotal" => self.actor_artifact_total = number,
                "entitiesPerDay" => self.actor_entities = number,
                "connections" => self.connections = whole.unwrap_or(self.connections),
                "addressConnections" => self.address_connections = whole.unwrap_or(self.address_connections),
                "strangersPerSecond" => self.strangers = small.unwrap_or(self.strangers),
                "requestSeconds" => self.seconds = number,
                _ => {}
            }
        }
        self
    }
}

/// Whether a JSON text nests too deep. Counts brackets outside of strings without parsing.
pub(crate) fn is_too_deep(json: &[u8], most: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        if in_text {
            match (escaped, byte) {
                (true, _) => escaped = false,
                (false, b'\\') => escaped = true,
                (false, b'"') => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_texts_do_not_count() {
        assert!(!is_too_deep(br#"{"a":"[[[[\"[[[["}"#, 1));
        assert!(is_too_deep(br#"{"a":[1]}"#, 1));
        assert!(!is_too_deep(br#"{"a":[1],"b":[2]}"#, 2));
    }
}
