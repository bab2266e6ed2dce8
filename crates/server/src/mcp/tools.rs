//! The tools: what each is for, what it takes and gives, and what it may change.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use trackside_protocol::{Entity, HeartbeatTold, Moved};

use super::args;
use super::schema::{input, output};
use super::told::{Claimed, Explained, Listed, Waited, Work};

/// How an agent should go about it.
pub(super) const INSTRUCTIONS: &str = "\
Trackside keeps the lifecycles of tasks, approvals, agents and whatever else a team declares, and lets nothing move against their rules.
Begin with my_work: who you are, what is yours, what you may claim, what waits for you. claim takes the next piece of work and gives you a lease; keep it with heartbeat and send its fence with fire.
fire moves an entity, report tells something about it without moving it, explain says what each move needs and why something stands still, wait waits for others.
A refusal (isError) changes nothing. Its structured content lists every unmet condition (errors), the states you may go to (allowedTransitions) and who may (who): set right what it names and call again.";

/// Their names.
pub const TOOLS: [&str; 10] =
    ["my_work", "show", "list", "explain", "create", "claim", "fire", "report", "heartbeat", "wait"];

/// What a tool does to the world.
enum Does {
    /// It only reads.
    Reads,
    /// It adds, and can be repeated.
    Tells { again: bool },
    /// It moves things.
    Moves,
}

/// All of them.
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool(
            "my_work",
            "What may I do now?",
            "Who you are, open work that names you, what you could claim, requests you may decide, and what else the rules let you move. Start here.",
            (input::<args::MyWork>(), output::<Work>()),
            Does::Reads,
        ),
        tool(
            "show",
            "Show an entity",
            "One entity: state, fields, timers, leases, and where you may take it (allowedTransitions).",
            (input::<args::One>(), output::<Entity>()),
            Does::Reads,
        ),
        tool(
            "list",
            "List entities",
            "Entities of a lifecycle, by state or by a condition on their fields, page by page.",
            (input::<args::List>(), output::<Listed>()),
            Does::Reads,
        ),
        tool(
            "explain",
            "Why does it not move?",
            "Every way out of an entity's state: who may, what it takes, each check passed or failed with the values it saw; what is waited for, who must act, what happens by itself and when.",
            (input::<args::One>(), output::<Explained>()),
            Does::Reads,
        ),
        tool(
            "create",
            "Create an entity",
            "A new entity of a lifecycle, such as a task. Refused with every reason if a field is missing or you may not.",
            (input::<args::Create>(), output::<Moved>()),
            Does::Tells { again: false },
        ),
        tool(
            "claim",
            "Claim the next one",
            "Takes the next entity of a lifecycle that you can have, atomically: nobody else gets the same. Gives it with your lease: send its fence with fire, and keep it with heartbeat. `claimed` is false if there is nothing.",
            (input::<args::Claim>(), output::<Claimed>()),
            Does::Tells { again: false },
        ),
        tool(
            "fire",
            "Move an entity",
            "Asks for a transition, by its name (event) or by the state it leads to (to), with the fields it takes. Decided by the rules: done and journalled, or refused with every unmet condition at once and nothing changed. The outcome may differ where the rules say so: look at transition.to.",
            (input::<args::Fire>(), output::<Moved>()),
            Does::Moves,
        ),
        tool(
            "report",
            "Report on an entity",
            "Tells something about an entity without moving it: a comment, what a run cost, a tool that failed. Which reports there are is up to the lifecycle; without `event` the answer lists them.",
            (input::<args::Report>(), output::<Moved>()),
            Does::Tells { again: false },
        ),
        tool(
            "heartbeat",
            "Keep a lease",
            "A sign of life from the holder of a lease: extends it. `stop` says why you should stop working. Refused with stale-fence if the lease is somebody else's by now: then stop.",
            (input::<args::Heartbeat>(), output::<HeartbeatTold>()),
            Does::Tells { again: true },
        ),
        tool(
            "wait",
            "Wait for others",
            "Waits until an entity leaves its state (people decide an approval, a review ends), or, without an id, until something of the lifecycle can be claimed by you. Bounded: `happened` is false when the time ran out; call it again then.",
            (input::<args::Wait>(), output::<Waited>()),
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
    fn every_tool_says_what_it_takes_and_gives() {
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
