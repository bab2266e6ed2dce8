//! Exports from a server, and imports of exports and of other tools' files.

use std::path::Path;

use trackside_protocol::{Client, ClientError};

use crate::ground::{ClientServer, LIGHT, scratch, small};
use crate::program::{binary, run_command};

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server of its own with the built-in packs.
fn start_with_all_packs(name: &str) -> ClientServer {
    ClientServer::start(scratch(name), "build,coding,mission,research,turns")
}

#[test]
fn an_export_starts_a_new_server_and_is_imported_by_another() {
    let mut ground = ClientServer::small("export");
    ground.ask(&["new", "small.light", "--id", "A", "place=hall", "watts:=60"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    ground.ask(&["clock", "advance", "3h"]).says(0, &[]);
    let file = ground.root.join("out.jsonl");
    let file = file.to_str().unwrap();
    ground.ask(&["export", "--to", file]).says(0, &["lines in"]);
    assert_eq!(ground.ask(&["export"]).says(0, &[]).data.lines().count(), lines(file));
    ground.ask(&["export", "--to", file]).says(2, &["already exists"]);
    let (pia, owner) = (ground.token("pia", "human", &[]), ground.owner());
    let seen = ground.root.join("seen.jsonl");
    ground.ask_as(&pia, &["export", "--to", seen.to_str().unwrap()]).says(0, &[]);
    ground.stop();

    // A copy of the project elsewhere.
    let root = scratch("export-copy");
    let data = root.join("data");
    let dry = binary(&["import", file, "--data", data.to_str().unwrap(), "--dry-run"]);
    run_command(dry).says(0, &["would be revoked; --keep-tokens keeps them"]);
    run_command(binary(&["import", file, "--data", data.to_str().unwrap()]))
        .says(0, &["unchanged", "revoked: ", "--keep-tokens"]);
    run_command(binary(&["import", seen.to_str().unwrap(), "--data", data.to_str().unwrap()]))
        .says(1, &["export it as a person with the role admin"]);
    // Its clock has the same time, and an export of the folder contains it, too.
    let clock = |folder: &Path| std::fs::read_to_string(folder.join("clock")).unwrap();
    assert_eq!(clock(&data), clock(&ground.root.join("data")));
    let again = run_command(binary(&["export", "--data", data.to_str().unwrap()])).says(0, &[]).data.clone();
    let stands = |lines: &str| {
        let about: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        about["export"]["manualClock"].as_str().unwrap().to_owned()
    };
    assert_eq!(stands(&again), stands(&std::fs::read_to_string(file).unwrap()));
    assert!(stands(&again).starts_with("2026-01-01T03:00:00"), "{}", stands(&again));
    let pack = small(&root, 1, LIGHT);
    let copy = ClientServer::start_by_person(root, &pack);
    // Tokens of the export are revoked here, unless they are kept.
    let status = |server: &ClientServer| match Client::new(&server.url(), &owner).get("/v1/whoami") {
        Ok(_) => 200,
        Err(ClientError::Refused(problem)) => problem.status,
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(status(&copy), 401);
    let root = scratch("export-kept");
    let (kept, pack) = (root.join("data"), small(&root, 1, LIGHT));
    run_command(binary(&["import", file, "--data", kept.to_str().unwrap(), "--keep-tokens"]))
        .says(0, &["unchanged", "kept: its tokens"]);
    // A script that has a token of the owner starts it.
    std::fs::write(kept.join("token"), &owner).unwrap();
    assert_eq!(status(&ClientServer::start(root, &pack)), 200);
    copy.ask(&["show", "small.light/A"]).says(0, &["ON", "hall"]);
    copy.ask(&["history", "small.light/A"]).says(0, &["switch_on"]);
    copy.ask(&["new", "small.light", "--id", "B", "place=attic"]).says(0, &[]);

    // Its entities in a project that has others.
    let other = ClientServer::small("export-other");
    other.ask(&["new", "small.light", "--id", "Z", "place=cellar"]).says(0, &[]);
    let import = |dry: bool| {
        let mut args = vec!["import", file];
        args.extend(dry.then_some("--dry-run"));
        other.ask(&args)
    };
    import(true).says(0, &["1 entity would be imported", "skipped: ", "access.token", "nothing was changed"]);
    other.ask(&["show", "small.light/A"]).says(1, &["unknown-entity"]);
    import(false).says(0, &["1 entity imported"]);
    other.ask(&["show", "small.light/A"]).says(0, &["ON", "hall", "60"]);
    other.ask(&["history", "small.light/A"]).says(0, &["import", "imported from trackside"]);
    import(false).says(0, &["0 entities imported", "1 was already imported"]);
    let pia = other.token("pia", "human", &[]);
    other.ask_as(&pia, &["import", file]).says(4, &["not-permitted"]);
    // An id that exists there already is a problem of its line.
    let clash = ClientServer::small("export-clash");
    clash.ask(&["new", "small.light", "--id", "A", "place=mine"]).says(0, &[]);
    clash
        .ask(&["import", file])
        .says(1, &["out.jsonl line ", "A: id: small.light/A exists already", "nothing was imported"]);
}

fn lines(file: &str) -> usize {
    std::fs::read_to_string(file).unwrap().lines().count()
}

#[test]
fn a_plan_becomes_tasks() {
    let ground = start_with_all_packs("import-plan");
    let plan = fixture("plan.md");
    let bare = ["import", "--from", "plan", &plan, "--into", "build.task", "--dry-run"];
    let told = ground.ask(&bare);
    told.says(
        2,
        &[
            "the status `blocked` (1) matches no state of build.task",
            "--state 'blocked=STATE'",
            "nothing was imported",
        ],
    );
    let import = |dry: bool| {
        let mut args = vec![
            "import",
            "--from",
            "plan",
            &plan,
            "--into",
            "build.task",
            "--state",
            "blocked=human_escalation",
        ];
        args.extend(dry.then_some("--dry-run"));
        ground.ask(&args)
    };
    let words = [
        "5 entities of build.task would be imported",
        "completed is completed: 1",
        "blocked is human_escalation: 1",
        "assigned to assignedAgent, dependencies to dependencies, description to description, title to title",
        "skipped: 3 checkboxes that explain the symbols",
        "no field has that name: phase (5), worktree (1)",
    ];
    import(true).says(0, &words);
    ground.ask(&["list", "build.task"]).says(0, &[]);
    assert_eq!(ground.ask(&["list", "build.task", "--json"]).json()["items"].as_array().unwrap().len(), 0);
    import(false).says(0, &["5 entities of build.task imported"]);
    let task = ground.ask(&["show", "build.task/TASK-003", "--json"]).json();
    assert_eq!(task["state"], "in_progress", "{task:#}");
    assert_eq!(task["fields"]["title"], "The till");
    assert_eq!(task["fields"]["dependencies"], serde_json::json!(["TASK-001", "TASK-002"]));
    assert_eq!(task["fields"]["assignedAgent"], "@agent-fullstack-developer");
    let named = ground.ask(&["show", "build.task/price-list", "--json"]).json();
    assert_eq!(
        (&named["state"], &named["fields"]["description"]),
        (&"pending".into(), &"Read prices from a file".into())
    );
    ground.ask(&["history", "build.task/TASK-001"]).says(0, &["imported from plan TASK-001 in plan.md"]);
    import(false).says(0, &["0 entities of build.task imported", "5 were already imported"]);
    // A plan with new lines imports only those.
    let grown = ground.root.join("grown.md");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&grown, format!("{text}\n## Later\n\n- [ ] TASK-006: Loyalty cards\n")).unwrap();
    let grown = grown.to_str().unwrap();
    let again =
        ["import", "--from", "plan", grown, "--into", "build.task", "--state", "blocked=human_escalation"];
    ground.ask(&again).says(0, &["1 entity of build.task imported", "5 were already imported"]);
}

#[test]
fn symbols_without_a_legend_get_the_meaning_of_the_pack() {
    let ground = start_with_all_packs("import-symbols");
    let plan = ground.root.join("symbols.md");
    let symbols = [" ", "x", "X", "~", "?", "#", "@"];
    let tasks: Vec<String> =
        symbols.iter().enumerate().map(|(n, it)| format!("- [{it}] TASK-{n}: Do it\n")).collect();
    std::fs::write(&plan, format!("# Plan\n\n{}", tasks.concat())).unwrap();
    let plan = plan.to_str().unwrap();
    let import = |more: &[&str]| {
        let args = [&["import", "--from", "plan", plan, "--into", "build.task"], more].concat();
        ground.ask(&args)
    };
    let json = import(&["--dry-run", "--json", "--set", "cto_intervention:returnTo=testing"]).json();
    let pairs: Vec<(&str, &str)> = json["states"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["theirs"].as_str().unwrap(), it["ours"].as_str().unwrap()))
        .collect();
    let expected = [
        ("[ ]", "pending"),
        ("[#]", "quality_review"),
        ("[?]", "planning"),
        ("[@]", "cto_intervention"),
        ("[X]", "completed"),
        ("[x]", "completed"),
        ("[~]", "in_progress"),
    ];
    assert_eq!(pairs, expected);
    // A state that requires a field which the plan lacks names the option to type.
    import(&["--dry-run"])
        .says(1, &["cto_intervention requires returnTo: add --set 'cto_intervention:returnTo=…'"]);
    import(&["--dry-run", "--only", "statsu=[x]"])
        .says(2, &["--only statsu=[x]: no task has statsu; did you mean status?"]);
    // Options override the pack.
    let said = ["--state", "[#]=testing", "--state", "[@]=-", "--state", "[~]=assigned", "--dry-run"];
    import(&said).says(0, &["[#] is testing: 1", "[~] is assigned: 1", "[?] is planning: 1"]);
    import(&["--state", "[!]=testing"]).says(2, &["no task has the status [!]"]);
    // A legend in other words, and a pack of one's own.
    let legend =
        "# Symbols\n\n- [#] looked at (by us)\n- [+] gone\n\n# Plan\n\n- [#] A-1: One\n- [+] A-2: Two\n";
    std::fs::write(plan, legend).unwrap();
    import(&["--state", "gone=abandoned", "--dry-run"])
        .says(0, &["looked at is quality_review: 1", "gone is abandoned: 1"]);
    import(&["--state", "[+]=abandoned", "--dry-run"]).says(0, &["gone is abandoned: 1"]);
    let light = LIGHT.replace("OFF: { initial: true,", "OFF: { initial: true, known_as: ['[#]', gone],");
    let own = ClientServer::start(scratch("import-known"), &small(&scratch("import-known-pack"), 1, &light));
    let into = ["import", "--from", "plan", plan, "--into", "small.light", "--map", "title=place"];
    own.ask(&into).says(0, &["gone is OFF: 1", "looked at is OFF: 1"]);
    // The same without a server.
    let mut own = own;
    own.stop();
    own.ask_typed(&[&into[..], &["--dry-run"]].concat()).says(0, &["2 were already imported"]);
}

#[test]
fn issues_of_beads_become_tasks() {
    let ground = start_with_all_packs("import-beads");
    let issues = fixture("issues.jsonl");
    let args = |more: &[&'static str]| {
        let mut args = vec!["import".to_owned(), "--from".to_owned(), "beads".to_owned(), issues.clone()];
        args.extend(["--into", "mission.task"].map(str::to_owned));
        args.extend(more.iter().map(|it| (*it).to_owned()));
        args
    };
    let ask = |more: &[&'static str]| {
        let all = args(more);
        ground.ask(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // All unmapped names are reported at once, with the options to type.
    let told = ask(&["--state", "closd=DONE"]);
    told.says(
        2,
        &[
            "`closed` (1)",
            "`open` (1)",
            "--state closd=DONE: no task has the status closd",
            "INBOX, ASSIGNED",
        ],
    );
    let states = ["--state", "open=INBOX", "--state", "closed=DONE", "--state", "in_progress=ASSIGNED"];
    // A value that does not fit is reported with its line.
    ask(&[&states[..], &["--dry-run"]].concat()).says(
        1,
        &[
            "issues.jsonl line 1: shop-1: type: ",
            "issues.jsonl line 3: shop-2.1: priority: ",
            "nothing was imported",
        ],
    );
    let fitting = ["--map", "issue_type=", "--value", "priority:0:=1"];
    // So is a rule that would be broken.
    ask(&[&states[..], &fitting].concat())
        .says(1, &["issues.jsonl line 2: shop-2: ", "A done task has a completion record"]);
    let record = [
        "--map",
        "close_reason=decisionNote",
        "--map",
        "closed_at=approvedAt",
        "--set",
        "DONE:approvedBy=ann",
    ];
    let all = [&states[..], &fitting, &record].concat();
    ask(&[&all[..], &["--dry-run"]].concat()).says(
        0,
        &[
            "3 entities of mission.task would be imported",
            "in_progress is ASSIGNED: 1",
            "assignee to assigneeIds",
            "skipped: 1 issue deleted there",
            "skipped: 1 line that is not an issue",
            "skipped: 1 reference to an issue not in the file",
        ],
    );
    let told = ask(&[&all[..], &["--json"]].concat());
    assert_eq!(told.says(0, &[]).json()["imported"], 3);
    let first = ground.ask(&["show", "mission.task/shop-1", "--json"]).json();
    assert_eq!(first["fields"]["assigneeIds"], serde_json::json!(["ada"]), "{first:#}");
    assert_eq!(first["fields"]["description"], "Twice on Monday");
    assert_eq!(ground.ask(&["show", "mission.task/shop-2.1", "--json"]).json()["fields"]["priority"], 1);
    let closed = ground.ask(&["show", "mission.task/shop-2", "--json"]).json();
    assert_eq!(
        (&closed["final"], &closed["fields"]["approvedAt"]),
        (&true.into(), &"2026-04-18T07:00:00Z".into()),
        "{closed:#}"
    );
    assert_eq!(closed["fields"]["approvedBy"], "ann");
    assert!(first["fields"].get("approvedBy").is_none_or(serde_json::Value::is_null), "{first:#}");
    ask(&all).says(0, &["0 entities", "3 were already imported"]);

    // A lifecycle without a title is reported; texts can share a field.
    let coding = [
        "import",
        "--from",
        "beads",
        &issues,
        "--into",
        "coding.task",
        "--dry-run",
        "--state",
        "open=DRAFT",
        "--state",
        "closed=MERGED",
        "--state",
        "in_progress=UNCLAIMED",
        "--value",
        "priority:0:=1",
    ];
    ground
        .ask(&coding)
        .says(2, &["coding.task has no field for the key title: add --map title=FIELD with one of "]);
    let joined = [&coding[..], &["--map", "title=description"]].concat();
    ground
        .ask(&joined)
        .says(0, &["description to description", "title to description", "dependencies to depends_on"]);
}

#[test]
fn tasks_of_vibe_kanban_become_tasks_of_a_custom_pack() {
    let ground = ClientServer::small("import-vibe-kanban");
    let path = ground.root.join("db.v2.sqlite");
    let sql = std::fs::read_to_string(fixture("vibe-kanban.sql")).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
    let before = std::fs::read(&path).unwrap();
    let file = path.to_str().unwrap();
    let ask = |more: &[&str]| {
        ground.ask(&[&["import", "--from", "vibe-kanban", file, "--into", "small.light"], more].concat())
    };
    ask(&[]).says(
        2,
        &[
            "no field for the key title",
            "`cancelled` (1)",
            "`done` (1)",
            "`inreview` (1)",
            "`todo` (1)",
            "one of OFF, ON, FIXING, BROKEN",
        ],
    );
    let wishes = [
        "--map",
        "title=place",
        "--only",
        "project=shop",
        "--state",
        "todo=OFF",
        "--state",
        "inreview=ON",
        "--state",
        "done=-",
    ];
    let words = [
        "2 entities of small.light would be imported",
        "todo is OFF: 1",
        "skipped: 1 task with a skipped status",
    ];
    ask(&[&wishes[..], &["--dry-run"]].concat()).says(0, &words);
    ask(&wishes).says(0, &["2 entities of small.light imported"]);
    ground
        .ask(&["show", "small.light/11111111-1111-4001-8001-000000000002"])
        .says(0, &["ON", "Hang the sign"]);
    ask(&wishes).says(0, &["0 entities", "2 were already imported"]);
    assert_eq!(std::fs::read(&path).unwrap(), before, "their file is as it was");

    let nothing = ground.root.join("nothing.sqlite");
    rusqlite::Connection::open(&nothing).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    let wrong = |path: &Path| {
        let path = path.to_str().unwrap().to_owned();
        ground.ask(&["import", "--from", "vibe-kanban", &path, "--into", "small.light"])
    };
    wrong(&nothing).says(1, &["its table tasks has no id, title, status"]);
    wrong(Path::new(&fixture("plan.md"))).says(1, &["not readable as a vibe-kanban database"]);
    wrong(Path::new("/nowhere/db.sqlite")).says(2, &["no such file"]);
}

#[test]
fn wrong_arguments_are_reported() {
    let ground = ClientServer::small("import-usage");
    let plan = fixture("plan.md");
    ground.ask(&["import", "--from", "plan", &plan]).says(2, &["--into"]);
    ground.ask(&["import", &plan, "--map", "a=b"]).says(2, &["--from"]);
    ground
        .ask(&["import", "--from", "jira", &plan, "--into", "small.light"])
        .says(2, &["plan, beads, vibe-kanban"]);
    ground
        .ask(&["import", "--from", "plan", &plan, "--into", "small.lihgt"])
        .says(1, &["Did you mean small.light?"]);
    let into = ["import", "--from", "plan", &plan, "--into", "small.light"];
    ground.ask(&[&into[..], &["--map", "title"]].concat()).says(2, &["--map KEY=FIELD"]);
    ground.ask(&[&into[..], &["--state", "=x"]].concat()).says(2, &["--state THEIRS=OURS"]);
    ground.ask(&[&into[..], &["--set", ":=x"]].concat()).says(2, &["--set FIELD=TEXT"]);
    ground.ask(&[&into[..], &["--value", "title=x"]].concat()).says(2, &["--value KEY:THEIRS=OURS"]);
    ground.ask(&[&into[..], &["--map", "title=plaec"]].concat()).says(2, &["did you mean place?"]);
    let nowhere = scratch("import-nowhere").join("none");
    run_command(binary(&[
        "import",
        "--from",
        "plan",
        &plan,
        "--into",
        "small.light",
        "--data",
        nowhere.to_str().unwrap(),
    ]))
    .says(3, &["no project in", "Ask the person who runs the server"]);
}
