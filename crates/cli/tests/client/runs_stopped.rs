//! Live processes whose work ends before they do: taken away by a person, over a budget or a limit, paused by a file, or
//! stopped by a broken rule.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::ground::{ClientServer, scratch};
use crate::runs::{RunGround, Runner, processes, read, wait_for};

/// How long a process may live after its work has ended.
const S1_LIMIT: Duration = Duration::from_secs(10);

/// Ignores the signal TERM, and leaves two processes in the background.
fn stubborn(mark: &str) -> String {
    format!(
        "trap '' TERM; echo \"$TRACKSIDE_TOKEN\" > token.txt; \
         (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; : {mark}; done' &) ; \
         sh -c ': {mark}; exec >/dev/null 2>&1; while :; do sleep 1; done' & \
         touch ready.txt; wait; sleep 600; : {mark}"
    )
}

/// Waits until no process with a mark is left, and fails if that takes longer than the limit. A machine on which one request
/// takes more than a quarter of a second has more time.
fn all_end(ground: &RunGround, mark: &str, since: Instant) {
    wait_for("no process is left", || processes(mark).is_empty().then_some(()));
    let passed = since.elapsed();
    let request = Instant::now();
    ground.server.ask(&["clock"]).says(0, &[]);
    let limit = S1_LIMIT * u32::try_from(1 + request.elapsed().as_millis() / 250).unwrap();
    assert!(passed < limit, "{passed:?} passed until no process was left; the limit is {limit:?}");
}

#[test]
fn s1_a_process_ends_when_its_work_is_taken_away() {
    let cases: [(&str, &str, &[&str], &str); 4] = [
        ("mission", "mission.task", &["cancel"], "CANCELED"),
        ("mission", "mission.task", &["block", "blockReason=It waits for a decision"], "BLOCKED"),
        ("coding", "coding.task", &["cancel", "--reason", "Not needed"], "ABANDONED"),
        ("coding", "coding.task", &["release", "--reason", "Another agent does it"], "UNCLAIMED"),
    ];
    for (pack, lifecycle, event, state) in cases {
        let name = format!("runs-taken-{pack}-{}", event[0]);
        let ground = match pack {
            "coding" => RunGround::new(&name, &[]),
            _ => RunGround::of_pack(&name, pack),
        };
        match pack {
            "coding" => ground.task("T-1"),
            _ => drop(ground.server.ask(&["new", lifecycle, "--id", "T-1", "title=Write"]).says(0, &[])),
        }
        let mark = format!("trackside-taken-{}-{name}", std::process::id());
        let role = if pack == "coding" { "coder" } else { "specialist" };
        let runner = ground.spawn(&["work", lifecycle, "--role", role, "--once"], &stubborn(&mark));
        wait_for("it works", || ground.repo().join("ready.txt").exists().then_some(()));
        let run = ground.run_of(&format!("{role}-1"))["id"].as_str().unwrap().to_owned();
        let entity = format!("{lifecycle}/T-1");
        assert!(processes(&mark).len() >= 2);
        let begun = Instant::now();
        ground.server.ask(&[&["fire", &entity], event].concat()).says(0, &[]);
        all_end(&ground, &mark, begun);
        let (code, messages) = runner.end();
        assert_eq!(code, 0, "{name}: {messages}");
        // The work stays as the person left it, and nothing starts again.
        assert_eq!(ground.state(&entity), state, "{name}: {messages}");
        assert_eq!(ground.runs().len(), 1, "{name}: {messages}");
        let run = ground.entity(&format!("fleet.run/{run}"));
        assert_eq!(run["final"], true, "{name}: {run:#}");
        assert!(run["fields"]["stopReason"].as_str().unwrap().contains(&entity), "{name}: {run:#}");
        // Its token is worth nothing now.
        let token = read(&ground.repo().join("token.txt")).unwrap();
        let refused =
            ground.server.ask_as(token.trim(), &["fire", &entity, "comment", "text=I am still here"]);
        assert_eq!(refused.code, 4, "{name}: {refused:?}");
    }
}

#[test]
fn an_agent_that_moved_its_work_on_can_say_its_last_words() {
    let ground = RunGround::new("runs-last-words", &[]);
    ground.task("T-1");
    let script = "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work; \
        trackside fire \"$TRACKSIDE_ENTITY\" submit review_commit=$(git rev-parse HEAD) || exit 9; \
        while [ ! -e go.txt ]; do sleep 0.1; done; echo my last words";
    let runner = ground.spawn(&["work", "coding.task", "--once"], script);
    let run = ground.run_of("coder-1")["id"].as_str().unwrap().to_owned();
    let mark = wait_for("the runner has seen it", || {
        let lines = ground.server.ask(&["logs", &run]).data;
        lines.lines().find(|it| it.contains("the process ends within")).map(str::to_owned)
    });
    assert!(mark.contains("within 60 s"), "{mark}");
    std::fs::write(ground.repo().join("go.txt"), "").unwrap();
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!(run["state"], "SUCCEEDED", "{run:#}");
    let transcript = ground.server.ask(&["logs", run["id"].as_str().unwrap()]);
    transcript.says(0, &["my last words"]);

    // It has its time, and no more.
    ground.server.ask(&["settings", "fleet", "wrapUpTime=2s"]).says(0, &[]);
    ground.task("T-2");
    let mark = format!("trackside-lingers-{}", std::process::id());
    let script = format!(
        "trackside fire \"$TRACKSIDE_ENTITY\" submit review_commit=$(git rev-parse HEAD) || exit 9; sh -c 'while :; do sleep 1; : {mark}; done'"
    );
    // The first agent waits for its review.
    let (code, messages) = ground.spawn(&["work", "coding.task", "--as", "coder-2", "--once"], &script).end();
    assert_eq!(code, 0, "{messages}");
    assert!(processes(&mark).is_empty());
    assert_eq!(ground.state("coding.task/T-2"), "READY_FOR_REVIEW", "{messages}");
}

/// Reports what it has cost so far, and works on.
const SPENDS: &str = r#"spend() {
    echo '{"type":"result","subtype":"success","is_error":false,"result":"a step","session_id":"s-1","total_cost_usd":'$1',"usage":{"input_tokens":100,"output_tokens":10}}'
}
"#;

#[test]
fn a_budget_ends_a_live_run() {
    let ground = RunGround::of_pack("runs-budget", "mission");
    ground.server.ask(&["new", "mission.task", "--id", "T-1", "title=Write"]).says(0, &[]);
    ground.claude(&format!(
        "{SPENDS}spend 0.5; while [ ! -e spend.txt ]; do sleep 0.2; done; spend 4.0; while :; do sleep 1; done"
    ));
    let mark = ground.server.root.join("bin/claude").display().to_string();
    let args = ["--role", "specialist", "--once"];
    let runner = Runner(Some(ground.claude_runner("mission.task", "ada", &args).spawn().unwrap()));
    // Within its budget it works on.
    wait_for("the first step is charged", || {
        let cost = ground.entity("mission.task/T-1")["fields"]["costSummary"]["totalCost"].as_f64()?;
        (cost == 0.5).then_some(())
    });
    assert!(!processes(&mark).is_empty());
    assert_eq!(ground.state("mission.task/T-1"), "ASSIGNED");
    std::fs::write(ground.server.root.join("ada/spend.txt"), "").unwrap();
    wait_for("the budget is used up", || {
        (ground.state("mission.task/T-1") == "NEEDS_APPROVAL").then_some(())
    });
    all_end(&ground, &mark, Instant::now());
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!((&run["final"], &run["fields"]["cost"]), (&true.into(), &4.0.into()), "{run:#}");
    // No other run begins before a person has allowed more money, and none after a denial.
    let approvals = ground.server.ask(&["list", "mission.approval", "--json"]).json();
    let [approval] = &approvals["items"].as_array().unwrap()[..] else { panic!("{approvals:#}") };
    assert_eq!(approval["fields"]["actionType"], "BUDGET_OVERRIDE", "{approval:#}");
    let again = || {
        let output = ground.claude_runner("mission.task", "ada", &args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(ground.runs().len(), 1);
    };
    again();
    let approval = format!("mission.approval/{}", approval["id"].as_str().unwrap());
    ground.server.ask(&["fire", &approval, "deny", "note=It costs too much"]).says(0, &[]);
    assert_eq!(ground.state("mission.task/T-1"), "BLOCKED");
    again();
}

#[test]
fn s6_a_limit_of_tokens_ends_a_live_run_of_a_program_that_reports_no_cost() {
    let ground = RunGround::new("runs-tokens", &[]);
    ground.server.ask(&["settings", "fleet", "maxTokens:=1000"]).says(0, &[]);
    ground.task("T-1");
    ground.claude(
        r#"step() { echo '{"type":"assistant","message":{"id":"'$1'","content":[],"usage":{"input_tokens":600,"output_tokens":10}}}'; }
        step m1; while [ ! -e go.txt ]; do sleep 0.2; done; step m2; while :; do sleep 1; done"#,
    );
    let mark = ground.server.root.join("bin/claude").display().to_string();
    let runner = ground.spawn_claude("coder-1", &["--once"]);
    let work = "fleet.work/coding.task-T-1";
    wait_for("the tokens of the open run count", || {
        let shown = ground.server.ask(&["show", work, "--json"]);
        (shown.code == 0 && shown.json()["fields"]["tokens"] == 610).then_some(())
    });
    assert_eq!(ground.run_of("coder-1")["state"], "RUNNING");
    std::fs::write(ground.server.root.join("coder-1/go.txt"), "").unwrap();
    let (code, messages) = runner.end();
    assert_eq!(code, 0, "{messages}");
    assert!(processes(&mark).is_empty());
    let [run] = &ground.runs()[..] else { panic!("{messages}") };
    assert_eq!(run["state"], "STOPPED", "{run:#}");
    let task = ground.entity("coding.task/T-1");
    assert_eq!(task["state"], "BLOCKED", "{messages}");
    assert!(task["fields"]["blocked_reason"].as_str().unwrap().contains("1220 tokens"), "{task:#}");
    assert_eq!(ground.entity(work)["fields"]["tokens"], 1220);
}

/// Says at which moments it starts and gets the signal TERM.
const OBEYS: &str = "echo start >> starts.txt; trap 'echo term >> terms.txt; exit 42' TERM; \
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m work; while :; do sleep 0.1; done";

fn lines(path: &Path) -> usize {
    read(path).map_or(0, |it| it.lines().count())
}

#[test]
fn control_files_stop_a_live_process_and_hold_its_restart() {
    let ground = RunGround::in_project("runs-control", &["restart_delay=1s", "crash_delay=1s"]);
    let repo = ground.repo();
    ground.server.ask(&["new", "coding.goal", "--id", "G", "description=Faster"]).says(0, &[]);
    ground.server.ask(&["new", "coding.sprint", "--id", "S", "goal_ref=G"]).says(0, &[]);
    let made = ["new", "coding.task", "--id", "T-1", "description=x", "sprint_id=S"];
    ground.server.ask_as(&ground.planner, &made).says(0, &[]);
    ground.server.ask_as(&ground.planner, &["fire", "coding.task/T-1", "finalize"]).says(0, &[]);
    let log = ground.server.root.join("supervisor.log");
    let mut command = ground.runner(&["supervise", "--role", "coder", "--id", "coder-1"], OBEYS);
    command.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let runner = Runner(Some(command.spawn().unwrap()));
    let (starts, terms) = (repo.join("starts.txt"), repo.join("terms.txt"));
    let is_running = |count: usize| {
        wait_for(&format!("start {count}"), || (lines(&starts) == count).then_some(()));
        ground.run_of("coder-1");
    };
    // It does not wait for its lease to end.
    let stops = |count: usize, since: Instant| {
        wait_for(&format!("signal {count}"), || (lines(&terms) == count).then_some(()));
        assert!(since.elapsed() < 6 * S1_LIMIT, "{:?}", since.elapsed());
        wait_for("the run has ended", || ground.runs().iter().all(|it| it["final"] == true).then_some(()));
    };
    is_running(1);
    for (number, name) in [(1, "PAUSE"), (2, "CHECKPOINT")] {
        let file = ground.server.root.join(".trackside").join(name);
        let begun = Instant::now();
        std::fs::write(&file, "").unwrap();
        stops(number, begun);
        // Its restart would be due after one second.
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(lines(&starts), number, "{name}: {}", read(&log).unwrap_or_default());
        std::fs::remove_file(&file).unwrap();
        is_running(number + 1);
    }
    // An abort ends the supervisor, too.
    std::fs::write(ground.server.root.join(".trackside/ABORT"), "").unwrap();
    let (code, _) = runner.end();
    let messages = read(&log).unwrap_or_default();
    assert_eq!(code, 0, "{messages}");
    assert!(ground.runs().iter().all(|it| it["final"] == true), "{messages}");
    assert_eq!(ground.state("coding.goal/G"), "ABORTED", "{messages}");
}

/// A pack whose lease stops its holder when a rule with a setting is broken.
const YARD: [(&str, &str); 2] = [
    (
        "pack.yaml",
        "pack: yard\nversion: 1\nsettings: { heaviest: { default: 10, about: The heaviest load in kg. } }\n",
    ),
    (
        "lifecycles/load.yaml",
        "lifecycle: yard.load
fields: { weight: { type: integer, default: 5 }, packer: { type: string, by: engine } }
create: { by: human, takes: [weight] }
slots: { work: { for: 1h, holder: packer, lost: drop, invariants: [this] } }
rankings: { waiting: { in: [OPEN], by: [weight], claims: take } }
states: { OPEN: { initial: true }, TAKEN: {}, DONE: { final: true, outcome: success } }
transitions:
  take: { from: OPEN, to: TAKEN, by: agent, lease: work }
  drop: { from: TAKEN, to: OPEN, by: engine }
  finish: { from: TAKEN, to: DONE, by: agent, holding: work, release: [work] }
  fail: { from: TAKEN, to: OPEN, by: agent, holding: work, release: [work] }
invariants:
  light: { in: [TAKEN], holds: weight <= settings.heaviest, says: '{weight} kg are too heavy' }
work:
  agent: { claim: take, ask: Pack it., done: finish, failed: fail }
",
    ),
];

#[test]
fn a_broken_rule_stops_a_live_process() {
    let root = scratch("runs-tier-0");
    for (file, text) in YARD {
        let path = root.join("yard").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let pack = root.join("yard").display().to_string();
    let ground = RunGround::on(ClientServer::start_by(root, &pack, "system", &[]));
    ground.server.ask(&["new", "yard.load", "--id", "L-1"]).says(0, &[]);
    let _runner = ground.spawn(&["work", "yard.load", "--as", "mia"], OBEYS);
    wait_for("it works", || (lines(&ground.repo().join("starts.txt")) == 1).then_some(()));
    let run = ground.run_of("mia")["id"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    ground.server.ask(&["settings", "yard", "heaviest:=3"]).says(0, &[]);
    wait_for("the signal", || read(&ground.repo().join("terms.txt")));
    assert!(begun.elapsed() < 6 * S1_LIMIT, "{:?}", begun.elapsed());
    let run = format!("fleet.run/{run}");
    let ended = wait_for("its run ends", || Some(ground.entity(&run)).filter(|it| it["final"] == true));
    assert!(ended["fields"]["stopReason"].as_str().unwrap().contains("5 kg are too heavy"), "{ended:#}");
}
