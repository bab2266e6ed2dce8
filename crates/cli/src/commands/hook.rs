//! `trackside hook`: answers a coding agent before it acts.

use std::io::Read;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trackside_protocol::{ActionAnswer, ActionApproval, Evaluate, RequestAction};
use trackside_runner::tool_arguments::relative_to;
use trackside_server::MCP_TOOLS;

use super::hook_test;
use crate::args::{HookArgs, HookCommand, Otherwise};
use crate::server_lookup::{Credentials, RequestError, ServerConnection};
use crate::styled::Styled;
use crate::time_format::text;
use crate::url::ApiPath;
use crate::{exit, print, refused};

/// The most that is read of an action.
const MOST: u64 = 4 << 20;
/// The exit code that blocks a tool call in every agent.
const BLOCKED: u8 = 2;
/// The time that the hook may take in addition to the wait for a decision.
const SLACK: Duration = Duration::from_secs(8);
/// The pause before the second look at a request, doubled up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The format of the answer to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Claude Code, Codex, and agents with the same format.
    Claude,
    Cursor,
}

/// A tool call that an agent is about to make.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Act {
    dialect: Dialect,
    /// Its own name for the event.
    event: String,
    pub(super) tool: String,
    pub(super) arguments: Json,
    /// Whether the agent's mode has no person to ask.
    unattended: bool,
    /// The tool is one of Trackside's own.
    own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Allow,
    Ask,
    Deny,
}

pub(crate) fn run(args: &HookArgs) -> u8 {
    match &args.command {
        Some(HookCommand::Test(args)) => hook_test::run(args),
        None => answer_agent(args),
    }
}

/// Answers the agent whose tool call is on standard input.
fn answer_agent(args: &HookArgs) -> u8 {
    let mut given = String::new();
    let read = std::io::stdin().take(MOST).read_to_string(&mut given);
    let act = match read.map_err(|it| it.to_string()).and_then(|_| act(&given)) {
        Ok(act) => act,
        Err(why) => {
            print::message(styled!("Blocked: cannot read what the agent sent: {why}"));
            return BLOCKED;
        }
    };
    let nobody = args.unattended || act.unattended;
    let Verdict { decision, why, by_people } = if act.own {
        Verdict::new(Decision::Allow, "Trackside's own tools are checked by the server")
    } else {
        decide_in_time(args, &act)
    };
    let decision = if decision == Decision::Ask && nobody { Decision::Deny } else { decision };
    if let Some(answer) = answer(&act, decision, &why.plain(), args.allow || by_people) {
        print::json_line(&answer);
    }
    if decision == Decision::Deny {
        print::message(&why);
        return BLOCKED;
    }
    exit::DONE
}

/// An answer with its reason.
struct Verdict {
    decision: Decision,
    why: Styled,
    /// People approved this action, so the agent does not ask again.
    by_people: bool,
}

impl Verdict {
    fn new(decision: Decision, why: impl Into<Styled>) -> Self {
        Self { decision, why: why.into(), by_people: false }
    }

    fn deny(why: impl Into<Styled>) -> Self {
        Self::new(Decision::Deny, why)
    }
}

/// Decides, and blocks the action if the server takes too long: most agents run an action whose hook is too slow.
fn decide_in_time(args: &HookArgs, act: &Act) -> Verdict {
    let (sender, receiver) = mpsc::channel();
    let limit = args.wait + SLACK;
    let (args, act) = (args.clone(), act.clone());
    let started = std::thread::Builder::new().spawn(move || {
        let _ = sender.send(decide(&args, &act));
    });
    if let Err(why) = started {
        return Verdict::deny(styled!("Cannot ask the policy: {why}"));
    }
    let slow = format!("The server did not answer within {} seconds", limit.as_secs());
    receiver.recv_timeout(limit).unwrap_or_else(|_| Verdict::deny(slow))
}

/// The decision of the policy, and of people where the policy requires an approval.
fn decide(args: &HookArgs, act: &Act) -> Verdict {
    let begun = Instant::now();
    let (server, response) = match judged(args, act) {
        Ok(judged) => judged,
        // A server that does not prove its identity is never a reason to allow.
        Err(Unanswered { why, is_trusted: false }) => return Verdict::deny(why),
        Err(Unanswered { why, is_trusted: true }) => {
            return Verdict::new(otherwise(args.unreachable), why);
        }
    };
    let why = styled!("{} is {}: {}", act.tool, text(&response, "level"), text(&response, "why"));
    match text(&response, "outcome") {
        "allow" => Verdict::new(Decision::Allow, why),
        "approve" => approved(args, act, &server, &why, begun),
        _ => Verdict::deny(why),
    }
}

/// Requests the approval and waits for the decision. Every failure blocks the action.
fn approved(args: &HookArgs, act: &Act, server: &ServerConnection, why: &Styled, begun: Instant) -> Verdict {
    let asked = RequestAction {
        pack: args.pack.clone(),
        action: act.tool.clone(),
        arguments: act.arguments.clone(),
        role: args.role.clone(),
        entity: args.entity.clone(),
        unattended: args.unattended || act.unattended,
    };
    let route = ApiPath::new(&["policy", "request"]);
    let mut pause = FIRST_PAUSE;
    loop {
        let answer = match server.post(&route, &asked) {
            Ok(body) => {
                serde_json::from_value::<ActionAnswer>(body).map_err(|it| Styled::from(it.to_string()))
            }
            Err(RequestError::Cli(stopped)) => Err(stopped.why),
            Err(RequestError::Refused(problem)) => {
                Err(refused::render(&problem, refused::CommandSubject::default()))
            }
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(failed) => return Verdict::deny(styled!("{why}. It cannot be requested: {failed}")),
        };
        let decided = match (answer.outcome.as_str(), &answer.approval) {
            ("allow", _) => Decision::Allow,
            // Nothing to wait for: only the person at the agent can decide.
            ("approve", None) => Decision::Ask,
            ("approve", Some(_)) if begun.elapsed() + pause < args.wait => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            ("approve", Some(approval)) => return Verdict::deny(undecided(act, approval, &answer.why)),
            _ => Decision::Deny,
        };
        let next =
            if decided == Decision::Ask { ". Request an approval first, or choose another way" } else { "" };
        return Verdict {
            decision: decided,
            why: styled!("{}: {}{next}", act.tool, answer.why),
            by_people: decided == Decision::Allow && answer.approval.is_some(),
        };
    }
}

/// The message about a request without a decision in time.
fn undecided(act: &Act, approval: &ActionApproval, why: &str) -> String {
    let ActionApproval { lifecycle, id, about, .. } = approval;
    format!(
        "{} waits for approval {id} about {about}: {why} A person finds it with: trackside inbox. Do not try another way. Once {lifecycle}/{id} is decided, repeat the same call: it finds this request and its decision",
        act.tool
    )
}

fn otherwise(wanted: Otherwise) -> Decision {
    match wanted {
        Otherwise::Deny => Decision::Deny,
        Otherwise::Ask => Decision::Ask,
        Otherwise::Allow => Decision::Allow,
    }
}

/// Why there is no verdict.
struct Unanswered {
    why: Styled,
    /// The person who wrote the hook's configuration named the server, or the server proved its identity. An address
    /// that was only found in a folder may be an agent's own.
    is_trusted: bool,
}

/// The server with its verdict by the policy, or the reason why there is none. Asks only with `TRACKSIDE_TOKEN`.
fn judged(args: &HookArgs, act: &Act) -> Result<(ServerConnection, Json), Unanswered> {
    let asked = Evaluate {
        pack: args.pack.clone(),
        action: act.tool.clone(),
        arguments: act.arguments.clone(),
        role: args.role.clone(),
        entity: args.entity.clone(),
    };
    let server = ServerConnection::find_with(&args.reach, Credentials::Token).map_err(|stopped| {
        let is_named = args.reach.data.is_some() || std::env::var_os("TRACKSIDE_URL").is_some();
        let is_trusted = is_named && stopped.code == exit::UNREACHABLE;
        Unanswered { why: styled!("Cannot ask the policy: {}", stopped.why), is_trusted }
    })?;
    let response = server.post(&ApiPath::new(&["policy", "evaluate"]), &asked).map_err(|error| {
        let why = match error {
            RequestError::Cli(stopped) => styled!("Cannot ask the policy: {}", stopped.why),
            RequestError::Refused(problem) => refused::render(&problem, refused::CommandSubject::default()),
        };
        Unanswered { why, is_trusted: true }
    })?;
    Ok((server, response))
}

/// Parses the input of an agent, in the known formats.
pub(super) fn act(given: &str) -> Result<Act, String> {
    let sent: Json = serde_json::from_str(given).map_err(|it| it.to_string())?;
    let event = text(&sent, "hook_event_name").to_owned();
    let cursor = event.starts_with("before") || event == "preToolUse";
    let (tool, arguments) = match (sent.get("tool_name").and_then(Json::as_str), sent.get("tool_input")) {
        (Some(tool), input) => (tool, input.cloned().unwrap_or_default()),
        (None, _) => match (sent.get("command"), sent.get("file_path")) {
            (Some(command), _) => ("Shell", json!({ "command": command })),
            (None, Some(path)) => ("Read", json!({ "file_path": path })),
            (None, None) => return Err("it names no tool (`tool_name`), command or file".to_owned()),
        },
    };
    // Some send the arguments as text.
    let arguments = match arguments.as_str().map(serde_json::from_str) {
        Some(Ok(inner)) => inner,
        _ => arguments,
    };
    let own = is_own(&event, tool, text(&sent, "command"));
    Ok(Act {
        own,
        dialect: if cursor { Dialect::Cursor } else { Dialect::Claude },
        event: if event.is_empty() { "PreToolUse".to_owned() } else { event },
        tool: tool.to_owned(),
        arguments: relative_to(arguments, text(&sent, "cwd")),
        unattended: matches!(text(&sent, "permission_mode"), "bypassPermissions" | "dontAsk"),
    })
}

/// Whether a tool is Trackside's own, by the server name of the guide. Such calls carry a token, and the server checks them.
fn is_own(event: &str, tool: &str, command: &str) -> bool {
    let named = match event {
        // Cursor sends the command that runs the MCP server.
        "beforeMCPExecution" => {
            let mut words = command.split_whitespace();
            let program = words.next().and_then(|it| it.rsplit(['/', '\\']).next()).unwrap_or_default();
            let program = program.strip_suffix(".exe").unwrap_or(program);
            (program == "trackside" && words.next() == Some("mcp")).then_some(tool)
        }
        _ => tool.strip_prefix("mcp__trackside__"),
    };
    named.is_some_and(|it| MCP_TOOLS.contains(&it))
}

/// The answer to the agent; none if its own rules decide.
fn answer(act: &Act, decision: Decision, why: &str, allow: bool) -> Option<Json> {
    let word = match decision {
        Decision::Allow if !allow => return (act.dialect == Dialect::Cursor).then(|| json!({})),
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    Some(match act.dialect {
        Dialect::Claude => json!({ "hookSpecificOutput": {
            "hookEventName": act.event, "permissionDecision": word, "permissionDecisionReason": why,
        } }),
        Dialect::Cursor => json!({ "permission": word, "user_message": why, "agent_message": why }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formats_of_agents_are_parsed() {
        let claude = r#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/w/src/a.rs","content":"/w/"},"cwd":"/w","permission_mode":"default"}"#;
        let read = act(claude).unwrap();
        assert_eq!((read.dialect, read.tool.as_str(), read.unattended), (Dialect::Claude, "Write", false));
        assert_eq!(read.arguments, json!({ "file_path": "src/a.rs", "content": "" }));
        let cursor = r#"{"hook_event_name":"beforeShellExecution","command":"ls","cwd":""}"#;
        let read = act(cursor).unwrap();
        assert_eq!((read.dialect, read.tool.as_str()), (Dialect::Cursor, "Shell"));
        assert_eq!(read.arguments, json!({ "command": "ls" }));
        let text = r#"{"hook_event_name":"beforeMCPExecution","tool_name":"x","tool_input":"{\"a\":1}"}"#;
        assert_eq!(act(text).unwrap().arguments, json!({ "a": 1 }));
        assert!(act("{}").is_err() && act("").is_err() && act("[1]").is_err());
    }

    #[test]
    fn tools_of_the_server_itself_are_known_and_no_others() {
        let claude = |tool: &str| act(&json!({ "tool_name": tool }).to_string()).unwrap().own;
        assert!(claude("mcp__trackside__my_work") && claude("mcp__trackside__fire"));
        for other in ["my_work", "mcp__trackside__rm", "mcp__trackside2__fire", "mcp__other__fire", "Bash"] {
            assert!(!claude(other), "{other}");
        }
        let cursor = |tool: &str, command: &str| {
            let event = "beforeMCPExecution";
            let sent = json!({ "hook_event_name": event, "tool_name": tool, "command": command });
            act(&sent.to_string()).unwrap().own
        };
        for command in ["trackside mcp --data /w/.trackside", "/opt/bin/trackside mcp"] {
            assert!(cursor("wait", command) && !cursor("rm", command), "{command}");
        }
        for other in ["other mcp", "trackside up", ""] {
            assert!(!cursor("wait", other), "{other}");
        }
    }

    #[test]
    fn an_allowed_action_is_left_to_the_agents_own_rules() {
        let read =
            |event: &str| act(&json!({ "hook_event_name": event, "command": "ls" }).to_string()).unwrap();
        assert_eq!(answer(&read("PreToolUse"), Decision::Allow, "", false), None);
        assert_eq!(answer(&read("beforeShellExecution"), Decision::Allow, "", false), Some(json!({})));
        let said = answer(&read("PreToolUse"), Decision::Allow, "w", true).unwrap();
        assert_eq!(said.pointer("/hookSpecificOutput/permissionDecision"), Some(&json!("allow")));
        let said = answer(&read("beforeShellExecution"), Decision::Ask, "w", false).unwrap();
        assert_eq!(said, json!({ "permission": "ask", "user_message": "w", "agent_message": "w" }));
    }
}
