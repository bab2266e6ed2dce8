//! Answers of the MCP tools: text for the agent, and the same content as data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value as Json;
use trackside_lifecycle::printable::{escape, escape_json, escape_lines};
use trackside_protocol::{Problem, UnmetBody};

use crate::problem::Refused;

/// The answer to a successful call: one sentence, and data.
#[derive(Clone, Debug)]
pub(super) struct ToolAnswer {
    pub text: String,
    pub data: Json,
}

impl ToolAnswer {
    pub fn new(text: impl Into<String>, data: &impl Serialize) -> Self {
        Self { text: text.into(), data: serde_json::to_value(data).unwrap_or_default() }
    }
}

/// The result of a tool call.
pub(super) fn result(outcome: Result<ToolAnswer, Refused>) -> CallToolResult {
    let (text, data, is_refused) = match outcome {
        Ok(answer) => (answer.text, answer.data, false),
        Err(refused) => (in_words(&refused.0), serde_json::to_value(&*refused.0).unwrap_or_default(), true),
    };
    // Hosts print these texts. The data keeps every character.
    let json = data.to_string();
    let content = vec![ContentBlock::text(escape_lines(&text)), ContentBlock::text(escape_json(&json))];
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
    text
}
