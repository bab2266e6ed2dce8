//! Requests that wait for people, and their decisions.

use crate::ground::{ClientServer, scratch};

#[test]
fn people_list_open_requests_and_decide() {
    let ground = ClientServer::start(scratch("deciding"), "mission");
    let ada = ground.token("ada", "agent", &["mission:specialist"]);
    let [pia, tom] = ["pia", "tom"].map(|it| ground.token(it, "human", &[]));
    ground.ask(&["approvals"]).says(0, &["no open requests"]);
    ground.ask(&["new", "mission.task", "--id", "T-1", "title=Send the letter"]).says(0, &[]);
    ground.ask(&["fire", "mission.task/T-1", "assign", "assigneeIds:=[\"ada\"]"]).says(0, &[]);
    ground.ask_as(&ada, &["notifications", "--to", "me"]).says(0, &["assignees", "T-1 is assigned to you"]);
    let plan = "workPlan:={\"bullets\":[\"a\",\"b\",\"c\"]}";
    ground.ask_as(&ada, &["fire", "mission.task/T-1", "start", plan]).says(0, &["IN_PROGRESS"]);
    ground.ask_as(&ada, &["messages", "mission.task/T-1"]).says(0, &["WORK_PLAN by ada"]);
    let asked = [
        "fire",
        "mission.task/T-1",
        "request_action",
        "action=send_email",
        "justification=The customer waits",
        "rollbackPlan=None",
        "arguments:={\"to\":\"all@example.org\",\"body\":\"Dear all\\nwe moved\"}",
    ];
    ground.ask_as(&ada, &asked).says(0, &[]);
    let waiting = ground.ask(&["approvals", "--json"]).json();
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    ground.ask_as(&pia, &["approvals"]).says(
        0,
        &[
            &id,
            "action: send_email",
            "payload.arguments.to: all@example.org",
            "payload.arguments.body: \"Dear all\\nwe moved\"",
            "decide with",
        ],
    );
    ground.ask_as(&ada, &["approvals", "approve", &id]).says(4, &["refused: not-permitted"]);
    // A RED one needs two people.
    ground.ask_as(&pia, &["approvals", "approve", &id, "--note", "fine"]).says(0, &[]);
    ground.ask_as(&pia, &["approvals", "approve", &id, "--note", "fine"]).says(4, &["not approver"]);
    ground.ask_as(&tom, &["approvals", "approve", &id, "--note", "fine"]).says(0, &["APPROVED"]);
    ground.ask(&["show", "mission.task/T-1"]).says(0, &["IN_PROGRESS"]);
    ground.ask_as(&pia, &["approvals", "deny", "A-none"]).says(1, &["A-none"]);
}
