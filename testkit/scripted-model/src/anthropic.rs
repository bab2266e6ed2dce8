//! The Messages API.

use serde_json::{Value, json};

use crate::script::{ModelStep, ToolStep};
use crate::server::{ModelReply, now};

pub(crate) fn reply(step: &ModelStep, number: usize, request: &Value) -> ModelReply {
    if let Some(error) = &step.error {
        return failure(error, step.resets_in.unwrap_or(3600));
    }
    let model = request.get("model").cloned().unwrap_or(Value::Null);
    let content = content(step, number);
    let stop = if step.tool.is_some() { "tool_use" } else { "end_turn" };
    let usage = json!({
        "input_tokens": step.usage.input,
        "output_tokens": step.usage.output,
        "cache_read_input_tokens": step.usage.cache_read,
        "cache_creation_input_tokens": step.usage.cache_write,
    });
    let message = json!({
        "id": format!("msg_{number}_{}", now()), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
    });
    if request.get("stream") != Some(&Value::Bool(true)) {
        return ModelReply::Json { status: 200, headers: Vec::new(), body: message };
    }
    let mut start = message;
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![("message_start", json!({ "type": "message_start", "message": start }))];
    for (index, block) in content.iter().enumerate() {
        let (empty, delta) = match block["type"].as_str() {
            Some("tool_use") => {
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }))
            }
            _ => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": block["text"] }),
            ),
        };
        events.push((
            "content_block_start",
            json!({ "type": "content_block_start", "index": index, "content_block": empty }),
        ));
        events.push((
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        ));
        events.push(("content_block_stop", json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    events.push(("message_delta", json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    events.push(("message_stop", json!({ "type": "message_stop" })));
    ModelReply::Events(
        events.into_iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect(),
    )
}

fn content(step: &ModelStep, number: usize) -> Vec<Value> {
    let text = step.text.as_ref().map(|it| json!({ "type": "text", "text": it }));
    let tool = step.tool.as_ref().map(|it| {
        let (name, input) = match it {
            ToolStep::Write { path, content } => {
                ("Write".to_owned(), json!({ "file_path": path, "content": content }))
            }
            ToolStep::Shell { command, .. } => {
                ("Bash".to_owned(), json!({ "command": command, "description": "run it" }))
            }
            ToolStep::Mcp { name, arguments } => (format!("mcp__trackside__{name}"), arguments.clone()),
        };
        json!({ "type": "tool_use", "id": format!("toolu_{number}_{}", now()), "name": name, "input": input })
    });
    text.into_iter().chain(tool).collect()
}

fn failure(error: &str, resets_in: u64) -> ModelReply {
    let reset = now() / 1000 + i64::try_from(resets_in).unwrap_or(0);
    let (status, kind, message) = match error {
        "rate_limit" => (429, "rate_limit_error", "This request would exceed your account's rate limit."),
        "usage_limit" => (429, "rate_limit_error", "This request would exceed your account's rate limit."),
        "billing" => {
            (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
        }
        "overloaded" => (529, "overloaded_error", "Overloaded"),
        "auth" => (401, "authentication_error", "invalid x-api-key"),
        "model" => (404, "not_found_error", "model: no such model"),
        "context" => (400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
        _ => (500, "api_error", "Internal server error"),
    };
    let mut headers = vec![("x-should-retry".to_owned(), "false".to_owned())];
    if error == "usage_limit" {
        for (name, value) in [
            ("status", "rejected".to_owned()),
            ("reset", reset.to_string()),
            ("representative-claim", "five_hour".to_owned()),
            ("5h-status", "rejected".to_owned()),
            ("5h-reset", reset.to_string()),
            ("5h-utilization", "1".to_owned()),
        ] {
            headers.push((format!("anthropic-ratelimit-unified-{name}"), value));
        }
    }
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    ModelReply::Json { status, headers, body }
}
