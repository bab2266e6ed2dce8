//! Scripts: what the model does, step by step.

use serde::Deserialize;

/// One script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    pub script: String,
    pub steps: Vec<ModelStep>,
}

/// What the model does when it is asked once.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelStep {
    pub text: Option<String>,
    pub tool: Option<ToolStep>,
    pub usage: TokenCounts,
    /// `rate_limit`, `usage_limit`, `billing`, `overloaded`, `auth`, `model`, `context` or `server`.
    pub error: Option<String>,
    /// Seconds until the usage limit ends.
    pub resets_in: Option<u64>,
    /// Milliseconds before the answer.
    pub delay: u64,
    /// Milliseconds between two events of the answer.
    pub event_delay: u64,
    /// Ends the connection after this many events.
    pub cut: Option<usize>,
    /// Ends the connection without an answer.
    pub drop: bool,
    /// Never answers.
    pub hang: bool,
    /// Stays on this step: for retries.
    pub repeat: bool,
}

/// A tool call. Each agent program has its own names for these tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum ToolStep {
    Write {
        path: String,
        content: String,
    },
    Shell {
        command: String,
        /// Asks to run outside the program's own sandbox, where it has one.
        #[serde(default)]
        escalated: bool,
    },
    /// A tool of the MCP server `trackside`.
    Mcp {
        name: String,
        arguments: serde_json::Value,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Default for TokenCounts {
    fn default() -> Self {
        Self { input: 1000, output: 50, cache_read: 200, cache_write: 30 }
    }
}

impl ModelScript {
    /// Reads one script.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|it| it.to_string())
    }

    /// The step of a request, and whether the next request gets the one after it. After the last step the model says
    /// that it is done.
    pub(crate) fn step(&self, number: usize) -> ModelStep {
        let done = || ModelStep { text: Some("Done.".to_owned()), ..ModelStep::default() };
        self.steps.get(number).cloned().unwrap_or_else(done)
    }
}
