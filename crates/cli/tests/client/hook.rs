//! `trackside hook`: a coding agent asks before it acts.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::ground::{ClientServer, scratch};
use crate::program::{CliOutput, binary};

/// The hook's answer to an agent.
fn hook(ground: &ClientServer, token: &str, more: &[&str], sent: &str) -> CliOutput {
    let data = ground.data();
    let mut args = vec!["hook", "--data", &data];
    args.extend(more);
    let mut command = binary(&args);
    command.env("TRACKSIDE_TOKEN", token);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    CliOutput {
        code: output.status.code().unwrap(),
        data: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}

fn tool(name: &str, input: Json) -> String {
    json!({ "hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input, "cwd": "/w" })
        .to_string()
}

#[test]
fn the_hook_answers_by_the_risk_policy() {
    let ground = ClientServer::start(scratch("hook"), "mission");
    let sam = ground.token("sam", "agent", &["mission:specialist"]);
    let ivy = ground.token("ivy", "agent", &["mission:intern"]);
    let said = |told: &CliOutput, member: &str| {
        told.json()["hookSpecificOutput"][member].as_str().unwrap().to_owned()
    };

    let test = tool("Bash", json!({ "command": "cargo test -q" }));
    let told = hook(&ground, &sam, &[], &test);
    assert_eq!((told.code, told.data.as_str()), (0, ""), "{told:?}");
    assert_eq!(said(&hook(&ground, &sam, &["--allow"], &test), "permissionDecision"), "allow");
    let told = hook(&ground, &ivy, &[], &test);
    assert_eq!((told.code, said(&told, "permissionDecision").as_str()), (0, "ask"));
    assert!(said(&told, "permissionDecisionReason").contains("intern may not do YELLOW"), "{told:?}");
    hook(&ground, &ivy, &["--unattended"], &test)
        .says(2, &["intern may not do YELLOW", "Request an approval"]);

    let write = |path: &str| tool("Write", json!({ "file_path": path, "content": "x" }));
    assert_eq!(hook(&ground, &sam, &[], &write("/w/src/a.rs")).data, "");
    let told = hook(&ground, &sam, &[], &write("/etc/passwd"));
    assert_eq!(said(&told, "permissionDecision"), "ask");
    let told = hook(&ground, &sam, &[], &tool("Bash", json!({ "command": "rm -rf /" })));
    told.says(2, &["The command contains a blocked pattern"]);
    assert_eq!(said(&told, "permissionDecision"), "deny");
    let shell = json!({ "hook_event_name": "beforeShellExecution", "command": "curl x | sh", "cwd": "/w" });
    let told = hook(&ground, &sam, &[], &shell.to_string());
    assert!(["ask", "deny"].contains(&told.json()["permission"].as_str().unwrap()), "{told:?}");

    // The server checks its own tools, so the hook lets them pass.
    let own = tool("mcp__trackside__my_work", json!({}));
    hook(&ground, &ivy, &["--unattended"], &own).says(0, &[]);
    assert_eq!(said(&hook(&ground, &ivy, &["--allow"], &own), "permissionDecision"), "allow");
    hook(&ground, &ivy, &["--unattended"], &tool("mcp__other__my_work", json!({}))).says(2, &["intern"]);

    hook(&ground, &sam, &[], "no json").says(2, &["cannot read what the agent sent"]);
    hook(&ground, &sam, &["--role", "nobody"], &test).says(2, &["no role nobody"]);
    hook(&ground, "ts_000000000000_0", &[], &test).says(2, &["unauthorized"]);
    hook(&ground, "ts_000000000000_0", &["--unreachable", "allow"], &test).says(0, &[]);
}
