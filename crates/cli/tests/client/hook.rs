//! `trackside hook`: a coding agent asks before it acts.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::ground::{ClientServer, scratch};
use crate::program::{CliOutput, binary};

/// The hook's answer to an agent.
fn hook(ground: &ClientServer, token: &str, more: &[&str], sent: &str) -> CliOutput {
    finish(begin(ground, token, more, sent))
}

/// Starts a hook.
fn begin(ground: &ClientServer, token: &str, more: &[&str], sent: &str) -> Child {
    let data = ground.data();
    let mut args = vec!["hook", "--data", &data];
    args.extend(more);
    let mut command = binary(&args);
    command.env("TRACKSIDE_TOKEN", token);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    child
}

fn finish(child: Child) -> CliOutput {
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
    told.says(2, &["The command contains a blocked pattern: \"rm -rf /\" (setting blockedPatterns)"]);
    assert_eq!(said(&told, "permissionDecision"), "deny");
    let shell = json!({ "hook_event_name": "beforeShellExecution", "command": "curl x | sh", "cwd": "/w" });
    let told = hook(&ground, &sam, &[], &shell.to_string());
    assert!(["ask", "deny"].contains(&told.json()["permission"].as_str().unwrap()), "{told:?}");

    // Agents do not change their own configuration, also when the arguments are a text.
    hook(&ground, &sam, &[], &write("/w/src/.claude/settings.json")).says(2, &["configuration of agents"]);
    let patch = json!("*** Begin Patch\n*** Add File: .codex/hooks.json\n+x\n*** End Patch");
    hook(&ground, &sam, &[], &tool("apply_patch", patch)).says(2, &["configuration of agents"]);
    assert_eq!(hook(&ground, &sam, &[], &tool("juggle", json!("three balls"))).data, "");

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

/// A server with a task in progress for each of these agents, and their tokens.
struct Working {
    ground: ClientServer,
    /// The intern `ivy`.
    ivy: String,
}

impl Working {
    fn start(name: &str) -> Self {
        let ground = ClientServer::start(scratch(name), "mission");
        let ivy = ground.token("ivy", "agent", &["mission:intern"]);
        ground.ask(&["new", "mission.task", "--id", "T-1", "title=Test it"]).says(0, &[]);
        ground.ask(&["fire", "mission.task/T-1", "assign", "assigneeIds:=[\"ivy\"]"]).says(0, &[]);
        let plan = "workPlan:={\"bullets\":[\"a\",\"b\",\"c\"]}";
        ground.ask_as(&ivy, &["fire", "mission.task/T-1", "start", plan]).says(0, &[]);
        Self { ground, ivy }
    }

    fn hook(&self, more: &[&str], sent: &str) -> CliOutput {
        finish(self.begin(more, sent))
    }

    fn begin(&self, more: &[&str], sent: &str) -> Child {
        begin(&self.ground, &self.ivy, more, sent)
    }

    /// The ids of all requests with their states.
    fn requests(&self) -> Vec<String> {
        let listed = self.ground.ask(&["list", "mission.approval", "--json"]).json();
        let shown = |it: &Json| format!("{} {}", it["id"].as_str().unwrap(), it["state"].as_str().unwrap());
        let mut all: Vec<String> = listed["items"].as_array().unwrap().iter().map(shown).collect();
        all.sort();
        all
    }

    fn task_state(&self) -> String {
        let task = self.ground.ask(&["show", "mission.task/T-1", "--json"]).json();
        task["state"].as_str().unwrap().to_owned()
    }

    /// Waits until these are the requests.
    fn await_requests(&self, expected: &[&str]) {
        let begun = Instant::now();
        while self.requests() != expected {
            assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", self.requests());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn decide(&self, id: &str, event: &str, note: &str) {
        let entity = format!("mission.approval/{id}");
        self.ground.ask(&["fire", &entity, event, &format!("note={note}")]).says(0, &[]);
    }
}

/// The word of the hook's answer.
fn decision(told: &CliOutput) -> String {
    told.json()["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

#[test]
fn an_action_waits_for_the_decision_of_a_person() {
    let it = Working::start("hook-waits");
    let call = tool("Bash", json!({ "command": "cargo test -q" }));
    let waiting = it.begin(&[], &call);
    it.await_requests(&["T-1.A1 PENDING"]);
    assert_eq!(it.task_state(), "NEEDS_APPROVAL");
    it.decide("T-1.A1", "approve", "go ahead");
    let told = finish(waiting);
    assert_eq!((told.code, decision(&told).as_str()), (0, "allow"), "{told:?}");
    assert_eq!(it.task_state(), "IN_PROGRESS");

    // An approval is used once, and only for the approved arguments.
    let other = tool("Bash", json!({ "command": "cargo build" }));
    let waiting = it.begin(&[], &other);
    it.await_requests(&["T-1.A1 APPROVED", "T-1.A2 PENDING"]);
    it.decide("T-1.A2", "deny", "not on this machine");
    let told = finish(waiting);
    told.says(2, &["mission.approval/T-1.A2 is DENIED", "not on this machine"]);
    assert_eq!(decision(&told), "deny");

    // The denial stands: the repeated call files no further request.
    it.hook(&[], &other).says(2, &["not on this machine"]);
    it.await_requests(&["T-1.A1 APPROVED", "T-1.A2 DENIED"]);
    // A blocked task takes no request.
    it.hook(&[], &call).says(2, &["cannot be requested", "BLOCKED"]);
    it.hook(&["--unreachable", "allow"], &call).says(2, &["cannot be requested"]);
}

#[test]
fn a_repeated_action_finds_its_request_and_the_decision() {
    let it = Working::start("hook-repeats");
    // A long text is shortened in the request, and the same text finds it again.
    let content = "line\n".repeat(4_000);
    let call = tool("Write", json!({ "file_path": "/w/src/a.rs", "content": content }));
    for _ in 0..2 {
        let told = it.hook(&["--wait", "0s"], &call);
        told.says(
            2,
            &[
                "approval T-1.A1 about mission.task/T-1",
                "approve: ",
                "trackside inbox",
                "repeat the same call",
            ],
        );
        assert_eq!(decision(&told), "deny");
        it.await_requests(&["T-1.A1 PENDING"]);
    }
    let stored = it.ground.ask(&["show", "mission.approval/T-1.A1", "--json"]).json();
    let stored = stored["fields"]["payload"]["arguments"]["content"].as_str().unwrap().to_owned();
    assert!(stored.len() < 2_000 && stored.contains("20000 characters, sha256 "), "{stored}");
    let other = tool("Write", json!({ "file_path": "/w/src/a.rs", "content": format!("{content}x") }));
    it.hook(&["--wait", "0s"], &other).says(2, &["T-1.A2"]);
    it.decide("T-1.A1", "approve", "fine");
    assert_eq!(decision(&it.hook(&["--wait", "0s"], &call)), "allow");
    // It was used.
    it.hook(&["--wait", "0s"], &call).says(2, &["T-1.A3"]);
    it.await_requests(&["T-1.A1 APPROVED", "T-1.A2 PENDING", "T-1.A3 PENDING"]);
    it.hook(&["--entity", "T-9"], &call).says(2, &["does not list T-9"]);
    it.hook(&["--wait", "2h"], &call).says(2, &["at most 1h"]);
}

/// The calls of agents every day, with the outcome that both default policies give.
fn everyday_calls() -> String {
    format!("{}/tests/everyday-commands.txt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn everyday_calls_are_allowed_by_the_default_policies() {
    for (pack, role) in [("mission", "mission:specialist"), ("coding", "coding:coder")] {
        let ground = ClientServer::start(scratch(&format!("hook-everyday-{pack}")), pack);
        let file = everyday_calls();
        let told = ground.ask(&["hook", "test", &file, "--role", role]);
        told.says(0, &["git push", "is not on the allow list", "29 of 43 allowed, 0 not as expected"]);
        let told = ground.ask(&["hook", "test", &file, "--role", role, "--json"]).json();
        let calls = told["calls"].as_array().unwrap();
        assert_eq!(calls.iter().filter(|it| it["expected"] == "allow").count(), 29, "{told}");
        assert!(calls.iter().all(|it| it["rule"].as_str().unwrap().starts_with("policy.rules[")), "{told}");

        // The planner of `coding` only reads, and an intern of `mission` performs no guarded action.
        let less = if pack == "coding" { "coding:planner" } else { "mission:intern" };
        let told = ground.ask(&["hook", "test", &file, "--role", less]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.data.contains("approve, not allow"), "{told:?}");
    }
}

#[test]
fn the_pack_of_a_policy_follows_from_the_role_or_the_entity() {
    let ground = ClientServer::start(scratch("hook-packs"), "mission");
    ground.ask(&["pack", "add", "coding"]).says(0, &[]);
    let sam = ground.token("sam", "agent", &["mission:specialist"]);
    let cody = ground.token("coder-1", "agent", &["coding:coder"]);
    let both = ground.token("both", "agent", &["mission:intern", "coding:coder"]);
    let test = tool("Bash", json!({ "command": "cargo test" }));
    assert_eq!(hook(&ground, &sam, &[], &test).data, "");
    assert_eq!(hook(&ground, &cody, &[], &test).data, "");
    hook(&ground, &both, &[], &test).says(2, &["name the `pack`"]);
    assert_eq!(hook(&ground, &both, &["--role", "coding:coder"], &test).data, "");
    assert_eq!(hook(&ground, &both, &["--pack", "coding"], &test).data, "");
    hook(&ground, &both, &["--role", "mission:intern", "--unattended"], &test)
        .says(2, &["intern may not do"]);

    // The request is about the agent's own record, with or without a task.
    ground.ask_as(&cody, &["new", "coding.agent", "--id", "coder-1", "role=coder"]).says(0, &[]);
    let push = tool("Bash", json!({ "command": "git push" }));
    let told = hook(&ground, &cody, &["--wait", "0s", "--unattended"], &push);
    told.says(2, &["approval coder-1.A1 about coding.agent/coder-1", "trackside inbox"]);
    ground.ask(&["inbox"]).says(0, &["coder-1.A1"]);
    ground.ask(&["fire", "coding.approval/coder-1.A1", "approve"]).says(0, &[]);
    assert_eq!(decision(&hook(&ground, &cody, &["--wait", "0s"], &push)), "allow");
    hook(&ground, &cody, &["--wait", "0s"], &push).says(2, &["coder-1.A2"]);
}

#[test]
fn the_state_of_a_task_limits_the_tools() {
    let ground = ClientServer::start(scratch("hook-states"), "mission");
    let sam = ground.token("sam", "agent", &["mission:specialist"]);
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=Test it"]).says(0, &[]);
    ground.ask(&["fire", "mission.task/T-1", "assign", "assigneeIds:=[\"sam\"]"]).says(0, &[]);
    let plan = "workPlan:={\"bullets\":[\"a\",\"b\",\"c\"]}";
    ground.ask_as(&sam, &["fire", "mission.task/T-1", "start", plan]).says(0, &[]);
    let write = tool("Write", json!({ "file_path": "/w/src/a.rs", "content": "x" }));
    let test = tool("Bash", json!({ "command": "cargo test" }));
    let commit = tool("Bash", json!({ "command": "git commit -m x" }));
    for call in [&write, &test, &commit] {
        assert_eq!(hook(&ground, &sam, &[], call).data, "");
    }
    let deliverable = "deliverable:={\"content\":\"Done\",\"artifacts\":[]}";
    let checklist = "reviewChecklist:={\"items\":[{\"label\":\"Tests\",\"checked\":true}]}";
    ground.ask_as(&sam, &["fire", "mission.task/T-1", "submit", deliverable, checklist]).says(0, &[]);
    let limit = "mission.task/T-1 is REVIEW, in which agents may use all but write_file, shell and install_dependency";
    hook(&ground, &sam, &[], &write).says(2, &[limit, "not write_file"]);
    hook(&ground, &sam, &[], &commit).says(2, &[limit, "not shell"]);
    hook(&ground, &sam, &["--entity", "mission.task/T-1"], &write).says(2, &[limit]);
    assert_eq!(hook(&ground, &sam, &[], &test).data, "");
}

#[test]
fn an_unattended_agent_without_work_is_never_stopped_in_silence() {
    let ground = ClientServer::start(scratch("hook-silent"), "mission");
    let sam = ground.token("sam", "agent", &["mission:specialist"]);
    let push = tool("Bash", json!({ "command": "git push" }));
    // A person is at the agent.
    assert_eq!(decision(&hook(&ground, &sam, &[], &push)), "ask");
    let open = || ground.ask(&["alerts", "--json"]).json()["items"].as_array().unwrap().len();
    assert_eq!(open(), 0);
    for _ in 0..2 {
        hook(&ground, &sam, &["--unattended"], &push).says(2, &["An alert tells people", "trackside inbox"]);
        assert_eq!(open(), 1);
    }
    ground.ask(&["alerts"]).says(0, &["unattended-action", "sam was stopped at Bash", "git push"]);
}
