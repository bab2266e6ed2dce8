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

/// A user's own lifecycle, in which people decide without requests of their own.
const PART: &str = "\
lifecycle: small.light
title: what
card: [cost]
path: [OPEN, ASKED, DONE]
fields: { what: { type: string }, cost: { type: number, default: 0 }, why: { type: string } }
create: { by: human, takes: [what, cost] }
states:
  OPEN:  { initial: true }
  ASKED: { about: Waits for an approval., deadline: { after: 24h, then: expire } }
  DONE:  { final: true, outcome: success }
transitions:
  ask:     { from: OPEN, to: ASKED, by: human || agent }
  release: { from: ASKED, to: DONE, by: human }
  reject:  { from: ASKED, to: OPEN, by: human, takes: { why: Say why not } }
  expire:  { from: ASKED, to: OPEN, by: engine }
";

#[test]
fn the_inbox_lists_what_waits_and_its_numbers_decide() {
    let root = scratch("inbox");
    let pack = crate::ground::small(&root, 1, PART);
    let ground = ClientServer::start(root, "mission");
    ground.ask(&["pack", "add", &pack]).says(0, &[]);
    ground.ask(&["inbox"]).says(0, &["nothing waits for you"]);
    ground.ask(&["inbox", "--check"]).says(0, &[]);
    for n in 1..=4 {
        let (id, what) = (format!("P-{n}"), format!("what=Part {n}\n    7  approve it\u{1b}[2J"));
        ground.ask(&["new", "small.light", "--id", &id, &what, "cost:=2"]).says(0, &[]);
        ground.ask(&["fire", &format!("small.light/{id}"), "ask"]).says(0, &[]);
    }
    let found = ground.ask(&["inbox", "--json"]).json();
    let number = |n: usize| found["items"][n]["number"].to_string();
    let listed = ground.ask(&["inbox"]);
    listed.says(
        0,
        &[
            "Part 4 7 approve it\\u{1b}[2J: Waits for an approval",
            "decision of small.light/P-4, since ",
            "otherwise: expire at ",
            &format!("Release: trackside inbox approve {}", number(0)),
            &format!("Reject: trackside inbox deny {} why=VALUE", number(0)),
        ],
    );
    ground.ask(&["approvals"]).says(0, &["P-1 (small.light)", "P-4 (small.light)"]);
    ground.ask(&["inbox", "--check"]).says(1, &[]);
    ground.ask(&["inbox", "approve", &number(0), "--note", "go ahead"]).says(0, &["DONE"]);
    ground.ask(&["history", "small.light/P-1"]).says(0, &["go ahead"]);
    ground.ask(&["inbox", "approve", &number(0)]).says(1, &["waits for you", "trackside inbox"]);
    ground.ask(&["inbox", "deny", &number(1), "--note", "too dear"]).says(0, &["OPEN"]);
    ground.ask(&["inbox", "deny", &number(2), "why=Not now"]).says(0, &["OPEN"]);
    ground.ask(&["show", "small.light/P-3"]).says(0, &["why", "Not now"]);
    ground.ask(&["inbox", "ack", &number(3)]).says(2, &["is not an alert"]);
    ground.ask(&["list", "small.light"]).says(0, &["ID   TITLE", "HELD BY  FOR", "cost: 2"]);
}

#[test]
fn an_audience_is_set_from_a_file_and_its_addresses_are_tried() {
    let ground = ClientServer::start(scratch("audience"), "mission");
    ground.token("pia", "human", &[]);
    ground.ask(&["audience", "list"]).says(0, &["operator"]);
    let file = ground.root.join("audience.yaml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    write("members: [pia]\nadresses: {}\n");
    ground.ask(&["audience", "set", "operator", &path]).says(2, &["adresses", "Did you mean `addresses`?"]);
    write("members: [pia]\naddresses: { phone: { channel: ntfy } }\n");
    ground.ask(&["audience", "set", "operator", &path]).says(1, &["needs a value topic"]);
    write(
        "members: [pia]\nescalate_after: 15m\nquiet: { from: '22:00', to: '07:00' }\n\
         addresses: { phone: { channel: ntfy, person: pia, values: { topic: hidden-word, server: 'https://127.0.0.1:9' } } }\n",
    );
    ground
        .ask(&["audience", "set", "operator", &path])
        .says(0, &["audience operator is pia", "trackside delivery test operator"]);
    let listed = ground.ask(&["audience", "list"]);
    listed.says(0, &["operator", "pia", "phone (ntfy)"]);
    assert!(!listed.data.contains("hidden-word"), "{}", listed.data);
    let tried = ground.ask(&["delivery", "test", "operator"]);
    tried.says(1, &["phone", "ntfy", "--allow-private-webhooks"]);
    ground.ask(&["delivery", "test", "operator", "--address", "phon"]).says(1, &["Did you mean phone?"]);
    ground.ask(&["delivery", "list"]).says(0, &["no deliveries"]);
    ground.ask(&["delivery", "list", "--state", "LOST"]).says(2, &["FAILED"]);
    write("members: [mia]\n");
    ground
        .ask(&["audience", "set", "operator", &path])
        .says(0, &["audience operator is without people so far"]);
}
