//! Answers of the MCP tools: text for the agent, and the same content as data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value as Json;
use trackside_lifecycle::printable::{escape, escape_json, escape_lines};
use trackside_protocol::{Problem, UnmetBody};

use crate::problem::Refused;

/// The answer to a successful call: text, and data.
#[derive(Clone, Debug)]
pub(super) struct ToolAnswer {
    pub text: String,
    pub data: Json,
    /// Whether the text says all that the data does. Otherwise the data follows as text, too.
    is_complete: bool,
}

impl ToolAnswer {
    pub fn new(text: impl Into<String>, data: &impl Serialize) -> Self {
        let data = serde_json::to_value(data).unwrap_or_default();
        Self { text: text.into(), data, is_complete: false }
    }

    /// An answer whose text says all that the data does.
    pub fn in_words(text: impl Into<String>, data: &impl Serialize) -> Self {
        Self { is_complete: true, ..Self::new(text, data) }
    }
}

/// The result of a tool call.
pub(super) fn result(outcome: Result<ToolAnswer, Refused>) -> CallToolResult {
    let (answer, is_refused) = match outcome {
        Ok(answer) => (answer, false),
        Err(refused) => (ToolAnswer::new(in_words(&refused.0), &*refused.0), true),
    };
    let ToolAnswer { text, data, is_complete } = answer;
    // Hosts print these texts. The data keeps every character.
    let mut content = vec![ContentBlock::text(escape_lines(&text))];
    if !is_complete {
        content.push(ContentBlock::text(escape_json(&data.to_string())));
    }
    let mut result = match is_refused {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = Some(data);
    result
}

/// A refusal as text: every reason, the permitted targets and who may.
fn in_words(problem: &Problem) -> String {
    let mut text = format!("Refused ({}): {}", problem.code, escape(&problem.detail));
    let reasons = problem.errors.iter().filter(|it| it.field.is_some() || it.message != problem.detail);
    for UnmetBody { field, message, .. } in reasons {
        let message = escape(message);
        match field {
            Some(field) => text.push_str(&format!("\n- {field}: {message}")),
            None => text.push_str(&format!("\n- {message}")),
        }
    }
    if !problem.allowed_transitions.is_empty() {
        text.push_str(&format!("\nYou can move it to: {}", problem.allowed_transitions.join(", ")));
    }
    if let Some(who) = problem.who_to_ask() {
        text.push_str(&format!("\nWho may: {who}"));
    }
    if let Some(grant) = &problem.grant {
        text.push_str(&format!("\nAn admin can give the role: {grant}"));
    }
    text
}
