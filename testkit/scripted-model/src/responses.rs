//! The Responses API.

use serde_json::{Value, json};

use crate::script::{ModelStep, ToolStep};
use crate::server::{ModelReply, now};

pub(crate) fn reply(step: &ModelStep, number: usize) -> ModelReply {
    if let Some(error) = &step.error {
        return failure(error, step.resets_in.unwrap_or(3600));
    }
    let id = format!("resp_{number}_{}", now());
    let text = step.text.as_ref().map(|it| {
        json!({
            "type": "message", "role": "assistant", "id": format!("msg_{number}"), "status": "completed",
            "content": [{ "type": "output_text", "text": it, "annotations": [] }],
        })
    });
    let tool = step.tool.as_ref().map(|it| {
        let call = format!("call_{number}_{}", now());
        let shell = |command: &str, escalated: bool| {
            let mut arguments = json!({ "cmd": command });
            if escalated {
                arguments["sandbox_permissions"] = json!("require_escalated");
                arguments["justification"] = json!("Run this outside the sandbox?");
            }
            json!({ "type": "function_call", "id": format!("fc_{number}"), "call_id": call, "name": "exec_command",
                    "arguments": arguments.to_string(), "status": "completed" })
        };
        match it {
            ToolStep::Shell { command, escalated } => shell(command, *escalated),
            ToolStep::Write { path, content } => shell(&format!("printf %s {} > {}", quoted(content), quoted(path)), false),
            ToolStep::Mcp { name, arguments } => json!({
                "type": "function_call", "id": format!("fc_{number}"), "call_id": call, "namespace": "mcp__trackside",
                "name": name, "arguments": arguments.to_string(), "status": "completed",
            }),
        }
    });
    let output: Vec<Value> = text.into_iter().chain(tool).collect();
    let cached = step.usage.cache_read + step.usage.cache_write;
    let usage = json!({
        "input_tokens": step.usage.input + cached,
        "input_tokens_details": { "cached_tokens": step.usage.cache_read },
        "output_tokens": step.usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": step.usage.input + cached + step.usage.output,
    });
    let mut events = vec![("response.created", json!({ "response": { "id": id } }))];
    for (index, item) in output.iter().enumerate() {
        events.push(("response.output_item.added", json!({ "output_index": index, "item": item })));
        events.push(("response.output_item.done", json!({ "output_index": index, "item": item })));
    }
    let response = json!({ "id": id, "status": "completed", "output": output, "usage": usage });
    events.push(("response.completed", json!({ "response": response })));
    let render = |(name, mut data): (&str, Value)| {
        data["type"] = json!(name);
        format!("event: {name}\ndata: {data}\n\n")
    };
    ModelReply::Events(events.into_iter().map(render).collect())
}

/// A word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn failure(error: &str, resets_in: u64) -> ModelReply {
    let reset = now() / 1000 + i64::try_from(resets_in).unwrap_or(0);
    let body =
        |kind: &str, message: &str| json!({ "error": { "type": kind, "code": kind, "message": message } });
    let (status, body) = match error {
        "rate_limit" => (429, body("rate_limit_exceeded", "Rate limit reached")),
        "usage_limit" => (
            429,
            json!({ "error": { "type": "usage_limit_reached", "message": "limit", "resets_at": reset, "plan_type": "plus" } }),
        ),
        "billing" => (429, body("insufficient_quota", "You exceeded your current quota")),
        "overloaded" => (503, body("server_is_overloaded", "overloaded")),
        "auth" => (401, body("invalid_api_key", "Incorrect API key provided")),
        "model" => (404, body("model_not_found", "The model does not exist")),
        "context" => {
            (400, body("context_length_exceeded", "Your input exceeds the context window of this model"))
        }
        _ => (500, body("server_error", "error")),
    };
    let mut headers = Vec::new();
    if error == "usage_limit" {
        for (name, value) in [
            ("x-codex-primary-used-percent", "100".to_owned()),
            ("x-codex-primary-window-minutes", "300".to_owned()),
            ("x-codex-primary-reset-at", reset.to_string()),
        ] {
            headers.push((name.to_owned(), value));
        }
    }
    ModelReply::Json { status, headers, body }
}
