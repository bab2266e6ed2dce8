//! The delays and limits of runs, from the settings of the pack `fleet`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// The pack of the settings.
pub(crate) const FLEET: &str = "fleet";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunLimits {
    /// The time without progress after which a run is reported.
    pub stall: Duration,
    /// How long a process may run on after its agent has moved its work on.
    pub wrap_up: Duration,
    /// How long an agent may take to write its handoff notes.
    pub handoff: Duration,
    /// Restarts after a failure, for a role that its pack does not supervise.
    pub restarts: u32,
    /// The pause before each of them.
    pub pause: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            stall: Duration::from_secs(15 * 60),
            wrap_up: Duration::from_secs(60),
            handoff: Duration::from_secs(5 * 60),
            restarts: 3,
            pause: Duration::from_secs(5),
        }
    }
}

impl RunLimits {
    /// Reads the settings. One that is absent keeps its default.
    pub(crate) fn read(settings: &BTreeMap<String, Value>) -> Self {
        let other = Self::default();
        let span = |name: &str| settings.get(name).and_then(Value::as_str).and_then(span);
        let restarts = settings.get("plainRestarts").and_then(Value::as_u64);
        Self {
            stall: span("stallTime").unwrap_or(other.stall),
            wrap_up: span("wrapUpTime").unwrap_or(other.wrap_up),
            handoff: span("handoffTime").unwrap_or(other.handoff),
            restarts: restarts.and_then(|it| u32::try_from(it).ok()).unwrap_or(other.restarts),
            pause: span("plainPause").unwrap_or(other.pause),
        }
    }
}

/// A span of time, such as `PT5S` or `5s`.
fn span(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.parse().ok()?;
    let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_replace_the_defaults() {
        let given = [("stallTime", "6s"), ("wrapUpTime", "2m"), ("plainPause", "1d")];
        let mut settings: BTreeMap<String, Value> =
            given.into_iter().map(|(name, it)| (name.to_owned(), Value::from(it))).collect();
        settings.insert("plainRestarts".to_owned(), Value::from(7));
        let limits = RunLimits::read(&settings);
        let expected = RunLimits {
            stall: Duration::from_secs(6),
            wrap_up: Duration::from_secs(120),
            pause: Duration::from_secs(86_400),
            restarts: 7,
            ..RunLimits::default()
        };
        assert_eq!(limits, expected);
    }
}
