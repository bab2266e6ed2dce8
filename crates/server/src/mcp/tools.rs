//! The tools: names, descriptions, schemas and annotations.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::args;
use super::schema::{any_object, input};

/// Instructions for agents.
pub(super) const INSTRUCTIONS: &str = "\
Trackside enforces the lifecycles of tasks, approvals, agents and other entities that a team declares.
Start with my_work: who you are, your work, what you may claim, and what waits for you. claim takes the next piece of work and returns a lease; renew it with heartbeat and send its fence with fire.
fire moves an entity, report records something about it without moving it, explain shows what each transition needs and why an entity does not move, wait waits for others.
A refusal (isError) changes nothing. Its structured content lists every unmet condition (errors), the states you can move it to (allowedTransitions) and who may (who): fix what it names and call again.";

/// Their names.
pub const TOOLS: [&str; 11] =
    ["my_work", "inbox", "show", "list", "explain", "create", "claim", "fire", "report", "heartbeat", "wait"];

/// The effect of a tool.
enum Does {
    /// Reads only.
    Reads,
    /// Adds something, and can be repeated.
    Tells { again: bool },
    /// Changes something.
    Moves,
}

/// All tools.
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool(
            "my_work",
            "List my work",
            "Who you are, your task with its instructions and events, open work that names you, what you could claim, requests you may decide, and other entities that you may move. Start here.",
            input::<args::MyWorkInput>(),
            Does::Reads,
        ),
        tool(
            "inbox",
            "List what waits for me",
            "Everything that waits for you: approvals you may decide, states that only you and people like you move on, and open alerts. Each item says since when, what happens otherwise and when, and what you can do.",
            input::<args::InboxInput>(),
            Does::Reads,
        ),
        tool(
            "show",
            "Show an entity",
            "One entity: state, fields, timers, leases, and where you may take it (allowedTransitions).",
            input::<args::EntityInput>(),
            Does::Reads,
        ),
        tool(
            "list",
            "List entities",
            "Entities of a lifecycle, by state or by a condition on their fields, page by page.",
            input::<args::ListInput>(),
            Does::Reads,
        ),
        tool(
            "explain",
            "Explain why an entity does not move",
            "Who has to act next on an entity and why, and each transition from its state: what it needs, and who may fire it. `full` adds every check with its values, leases, timers, effects and runs.",
            input::<args::ExplainInput>(),
            Does::Reads,
        ),
        tool(
            "create",
            "Create an entity",
            "A new entity of a lifecycle, such as a task. Refused with every reason if a field is missing or you may not create it.",
            input::<args::CreateInput>(),
            Does::Tells { again: false },
        ),
        tool(
            "claim",
            "Claim the next one",
            "Takes the next available entity of a lifecycle atomically, so that no other agent gets the same one. Returns it with your lease: send its fence with fire, and renew it with heartbeat. `claimed` is false if nothing is available.",
            input::<args::ClaimInput>(),
            Does::Tells { again: false },
        ),
        tool(
            "fire",
            "Move an entity",
            "Fires a transition, by its name (event) or by its target state (to), with the fields it takes. The rules decide: it is done and journalled, or refused with every unmet condition and nothing changed. The rules may choose another target: read transition.to.",
            input::<args::FireInput>(),
            Does::Moves,
        ),
        tool(
            "report",
            "Report on an entity",
            "Records something about an entity without moving it: a comment, the cost of a run, a failed tool. The lifecycle defines the reports; without `event` the answer lists them.",
            input::<args::ReportInput>(),
            Does::Tells { again: false },
        ),
        tool(
            "heartbeat",
            "Keep a lease",
            "Renews your lease. `stop` says why you should stop working. Refused with stale-fence if another holder has the lease: then stop.",
            input::<args::HeartbeatInput>(),
            Does::Tells { again: true },
        ),
        tool(
            "wait",
            "Wait for others",
            "Waits until an entity leaves its state (people decide an approval, a review ends), or, without an id, until you can claim something of the lifecycle. `happened` is false if the time ran out; call it again then.",
            input::<args::WaitInput>(),
            Does::Reads,
        ),
    ]
}

fn tool(name: &'static str, title: &str, about: &'static str, takes: JsonObject, does: Does) -> Tool {
    let hints = ToolAnnotations::with_title(title).open_world(false);
    let hints = match does {
        Does::Reads => hints.read_only(true),
        Does::Tells { again } => hints.read_only(false).destructive(false).idempotent(again),
        Does::Moves => hints.read_only(false).destructive(true).idempotent(false),
    };
    Tool::new(name, about, takes)
        .with_title(title)
        .with_raw_output_schema(any_object().into())
        .with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_named() {
        assert_eq!(all().iter().map(|it| &*it.name).collect::<Vec<_>>(), TOOLS);
    }

    #[test]
    fn every_tool_has_an_input_schema() {
        for tool in all() {
            let name = &tool.name;
            assert_eq!(tool.input_schema["type"], "object", "{name}");
            assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
            let takes = tool.input_schema["properties"].as_object();
            for (field, schema) in takes.into_iter().flatten() {
                assert!(schema.get("description").is_some(), "{name} does not say what {field} is");
            }
            let schema = serde_json::to_string(&*tool.input_schema).unwrap_or_default();
            assert!(!schema.contains("#/components"), "{name} leads out of its schema");
        }
    }
}
