//! The tools: names, descriptions, schemas and annotations.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use trackside_protocol::{
    ClaimReply, EntityBody, ExplainBody, HeartbeatReply, InboxItemBody, Moved, WaitReply, WorkSummary,
};

use super::args;
use super::schema::{input, output, page_output};

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
            (input::<args::MyWorkInput>(), output::<WorkSummary>()),
            Does::Reads,
        ),
        tool(
            "inbox",
            "List what waits for me",
            "Everything that waits for you: approvals you may decide, states that only you and people like you move on, and open alerts. Each item says since when, what happens otherwise and when, and what you can do.",
            (input::<args::InboxInput>(), page_output::<InboxItemBody>()),
            Does::Reads,
        ),
        tool(
            "show",
            "Show an entity",
            "One entity: state, fields, timers, leases, and where you may take it (allowedTransitions).",
            (input::<args::EntityInput>(), output::<EntityBody>()),
            Does::Reads,
        ),
        tool(
            "list",
            "List entities",
            "Entities of a lifecycle, by state or by a condition on their fields, page by page.",
            (input::<args::ListInput>(), page_output::<EntityBody>()),
            Does::Reads,
        ),
        tool(
            "explain",
            "Explain why an entity does not move",
            "Every transition from an entity's state: who may fire it, which fields it takes, each check with its result and values; also what blocks the entity, who must act, and which timers run.",
            (input::<args::EntityInput>(), output::<ExplainBody>()),
            Does::Reads,
        ),
        tool(
            "create",
            "Create an entity",
            "A new entity of a lifecycle, such as a task. Refused with every reason if a field is missing or you may not create it.",
            (input::<args::CreateInput>(), output::<Moved>()),
            Does::Tells { again: false },
        ),
        tool(
            "claim",
            "Claim the next one",
            "Takes the next available entity of a lifecycle atomically, so that no other agent gets the same one. Returns it with your lease: send its fence with fire, and renew it with heartbeat. `claimed` is false if nothing is available.",
            (input::<args::ClaimInput>(), output::<ClaimReply>()),
            Does::Tells { again: false },
        ),
        tool(
            "fire",
            "Move an entity",
            "Fires a transition, by its name (event) or by its target state (to), with the fields it takes. The rules decide: it is done and journalled, or refused with every unmet condition and nothing changed. The rules may choose another target: read transition.to.",
            (input::<args::FireInput>(), output::<Moved>()),
            Does::Moves,
        ),
        tool(
            "report",
            "Report on an entity",
            "Records something about an entity without moving it: a comment, the cost of a run, a failed tool. The lifecycle defines the reports; without `event` the answer lists them.",
            (input::<args::ReportInput>(), output::<Moved>()),
            Does::Tells { again: false },
        ),
        tool(
            "heartbeat",
            "Keep a lease",
            "Renews your lease. `stop` says why you should stop working. Refused with stale-fence if another holder has the lease: then stop.",
            (input::<args::HeartbeatInput>(), output::<HeartbeatReply>()),
            Does::Tells { again: true },
        ),
        tool(
            "wait",
            "Wait for others",
            "Waits until an entity leaves its state (people decide an approval, a review ends), or, without an id, until you can claim something of the lifecycle. `happened` is false if the time ran out; call it again then.",
            (input::<args::WaitInput>(), output::<WaitReply>()),
            Does::Reads,
        ),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    about: &'static str,
    (takes, gives): (JsonObject, JsonObject),
    does: Does,
) -> Tool {
    let hints = ToolAnnotations::with_title(title).open_world(false);
    let hints = match does {
        Does::Reads => hints.read_only(true),
        Does::Tells { again } => hints.read_only(false).destructive(false).idempotent(again),
        Does::Moves => hints.read_only(false).destructive(true).idempotent(false),
    };
    Tool::new(name, about, takes)
        .with_title(title)
        .with_raw_output_schema(gives.into())
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
    fn every_tool_has_input_and_output_schemas() {
        for tool in all() {
            let name = &tool.name;
            assert_eq!(tool.input_schema["type"], "object", "{name}");
            assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
            let takes = tool.input_schema["properties"].as_object();
            for (field, schema) in takes.into_iter().flatten() {
                assert!(schema.get("description").is_some(), "{name} does not say what {field} is");
            }
            let gives =
                tool.output_schema.as_ref().map(|it| serde_json::to_string(&**it).unwrap_or_default());
            let gives = gives.unwrap_or_default();
            assert!(!gives.contains("#/components"), "{name} leads out of its schema");
            for to in gives.split("#/$defs/").skip(1).filter_map(|it| it.split('"').next()) {
                let defined = tool.output_schema.as_ref().is_some_and(|it| it["$defs"].get(to).is_some());
                assert!(defined, "{name} refers to {to}, which is not there");
            }
        }
    }
}
