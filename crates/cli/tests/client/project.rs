//! A project of one's own: a starter pack, packs on a running server, settings.

use crate::ground::{ClientServer, LIGHT, scratch, small};
use crate::program::{binary, run_command};

#[test]
fn a_new_project_has_a_pack_that_passes_its_test_and_its_check() {
    let root = scratch("init");
    let run = |args: &[&str]| {
        let mut command = binary(args);
        command.current_dir(&root);
        run_command(command)
    };
    run(&["init", "shop"]).says(0, &["shop/packs/shop", "trackside test"]);
    let readme = std::fs::read_to_string(root.join("shop/README.md")).unwrap();
    assert_eq!(readme.lines().count(), 5, "{readme}");
    run(&["test", "shop/packs"]).says(0, &["4 passed, 0 failed"]);
    run(&["check", "shop/packs", "--strict", "--quick"]).says(0, &["5 of 5 promises: no counterexample in "]);
    run(&["fmt", "--check", "shop/packs"]).says(0, &[]);
    let lifecycle = std::fs::read_to_string(root.join("shop/packs/shop/lifecycles/task.yaml")).unwrap();
    assert!(!lifecycle.contains("starter"), "{lifecycle}");
    // Existing files are never overwritten.
    std::fs::write(root.join("shop/packs/shop/pack.yaml"), "mine").unwrap();
    run(&["init", "shop"]).says(2, &["already exists and was not changed"]);
    assert_eq!(std::fs::read_to_string(root.join("shop/packs/shop/pack.yaml")).unwrap(), "mine");
}

/// The files that `git add -A` stages in a folder.
fn staged_files(root: &std::path::Path) -> Vec<String> {
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "init.defaultBranch=main", "-c", "core.excludesFile="]).args(args).current_dir(root);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "-A"]);
    git(&["ls-files", "--cached"]).lines().map(str::to_owned).collect()
}

const SCHEMAS: [&str; 5] = [
    ".trackside/.gitignore",
    ".trackside/schema/lifecycle.json",
    ".trackside/schema/pack.json",
    ".trackside/schema/scenario.json",
    ".trackside/schema/stage.json",
];

#[test]
fn git_never_stages_tokens_or_databases() {
    let root = scratch("git");
    let mut init = binary(&["init", "."]);
    init.current_dir(&root);
    run_command(init).says(0, &[]);
    let mut expected: Vec<String> = SCHEMAS.map(str::to_owned).to_vec();
    expected.push("README.md".to_owned());
    expected.extend(
        ["lifecycles/task.yaml", "pack.yaml", "scenarios/task.yaml"].map(|it| format!("packs/git/{it}")),
    );
    assert_eq!(staged_files(&root), expected);
    // A running server has a token, databases, a lock and logs of SQLite.
    let mut ground = ClientServer::start_in(root.clone(), ".trackside", "packs/git");
    assert!(root.join(".trackside/token").is_file() && root.join(".trackside/journal.db").is_file());
    std::fs::remove_file(root.join("up.log")).unwrap();
    assert_eq!(staged_files(&root), expected);
    // So does a backup.
    ground.ask(&["backup", "copy"]).says(0, &[]);
    expected.push("copy/.gitignore".to_owned());
    expected.sort();
    assert_eq!(staged_files(&root), expected);
    ground.stop();
}

#[test]
fn a_project_folder_from_an_older_release_gets_a_gitignore() {
    let root = scratch("git-older");
    let mut ground = ClientServer::start_in(root.clone(), ".trackside", "mission");
    ground.stop();
    std::fs::remove_file(root.join(".trackside/.gitignore")).unwrap();
    std::fs::remove_dir_all(root.join(".trackside/schema")).unwrap();
    let mut ground = ClientServer::start_in(root.clone(), ".trackside", "mission");
    ground.stop();
    std::fs::remove_file(root.join("up.log")).unwrap();
    assert_eq!(staged_files(&root), SCHEMAS);
    // A changed file is left alone.
    std::fs::write(root.join(".trackside/.gitignore"), "*\n").unwrap();
    ClientServer::start_in(root.clone(), ".trackside", "mission").stop();
    assert_eq!(std::fs::read_to_string(root.join(".trackside/.gitignore")).unwrap(), "*\n");
    // One from elsewhere that lets secrets in gets our lines at its end, once.
    for foreign in ["", "# nothing", "*\n!server.key\n"] {
        std::fs::write(root.join(".trackside/.gitignore"), foreign).unwrap();
        for _ in 0..2 {
            ClientServer::start_in(root.clone(), ".trackside", "mission").stop();
        }
        let text = std::fs::read_to_string(root.join(".trackside/.gitignore")).unwrap();
        assert!(text.starts_with(foreign) && text.matches("!schema/\n").count() == 1, "{text}");
        assert!(text.rfind("\n*\n") > text.find("!server.key"), "{text}");
    }
}

#[test]
fn the_starter_pack_refers_to_local_schemas_that_are_current() {
    let root = scratch("schema");
    let run = |args: &[&str]| {
        let mut command = binary(args);
        command.current_dir(&root);
        run_command(command)
    };
    run(&["init", "shop"]).says(0, &[]);
    let pack = root.join("shop/packs/shop");
    for (file, kind) in
        [("pack.yaml", "pack"), ("lifecycles/task.yaml", "lifecycle"), ("scenarios/task.yaml", "scenario")]
    {
        let path = pack.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        let named = first.strip_prefix("# yaml-language-server: $schema=").unwrap();
        let schema = path.parent().unwrap().join(named);
        let written =
            std::fs::read_to_string(&schema).unwrap_or_else(|it| panic!("{}: {it}", schema.display()));
        assert_eq!(written, run(&["schema", kind]).data, "{file}");
    }
    // A schema of another release is replaced when a pack is added.
    let ground = ClientServer::start_in(root.join("shop"), ".trackside", "packs/shop");
    let schema = root.join("shop/.trackside/schema/pack.json");
    std::fs::write(&schema, "{}").unwrap();
    ground.ask(&["pack", "add", "packs/shop"]).says(0, &[]);
    assert_eq!(std::fs::read_to_string(&schema).unwrap(), run(&["schema", "pack"]).data);
}

#[test]
fn a_project_can_be_restored_and_imported_into_a_folder_that_init_prepared() {
    let ground = ClientServer::small("prepared");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    ground.ask(&["backup", "copy"]).says(0, &[]);
    ground.ask(&["export", "--to", "all.jsonl"]).says(0, &[]);
    for (name, args) in [("one", ["restore", "../copy"]), ("two", ["import", "../all.jsonl"])] {
        let run = |folder: &std::path::Path, args: &[&str]| {
            let mut command = binary(args);
            command.current_dir(folder);
            run_command(command)
        };
        run(&ground.root, &["init", name]).says(0, &[]);
        let project = ground.root.join(name);
        run(&project, &args).says(0, &[]);
        assert!(project.join(".trackside/journal.db").is_file(), "{name}");
        assert!(project.join(".trackside/.gitignore").is_file(), "{name}");
        assert!(project.join(".trackside/schema/pack.json").is_file(), "{name}");
        run(&project, &["doctor"]).says(0, &[]);
    }
}

#[test]
fn the_starter_pack_is_added_to_a_running_server_and_used() {
    let ground = ClientServer::small("starter");
    ground.command(&[]).output().unwrap();
    let mut init = binary(&["init", "shop"]);
    init.current_dir(&ground.root);
    run_command(init).says(0, &[]);
    ground.ask(&["pack", "add", "shop/packs/shop"]).says(0, &["shop 1 is installed: shop.task"]);
    ground.ask(&["pack", "add", "shop/packs/shop"]).says(0, &["shop 1 is already installed"]);
    ground
        .ask(&["new", "shop.task", "--id", "T-1", "title=Try it"])
        .says(0, &["shop.task/T-1 created, TODO"]);
    ground.ask(&["fire", "shop.task/T-1", "start"]).says(0, &["TODO → DOING"]);
    ground.ask(&["explain", "shop.task/T-1"]).says(0, &["then time_out → STUCK"]);
}

#[test]
fn a_pack_is_refused_with_its_errors_or_installed_beside_the_running_one() {
    let ground = ClientServer::small("packs");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    ground.ask(&["pack", "list"]).says(0, &["small", "small.light"]);
    let second = ground.root.join("second");
    // Findings point into the text of the pack.
    let broken = small(&second, 2, &LIGHT.replace("from: ON", "form: ON"));
    ground.ask(&["pack", "add", &broken]).says(1, &["lifecycles/light.yaml:", "Did you mean `from`?"]);
    // The same version with another text.
    let same = small(&second, 1, &LIGHT.replace("default: 40", "default: 50"));
    ground.ask(&["pack", "add", &same]).says(1, &["refused: version-in-use"]);
    let better = small(&second, 2, &LIGHT.replace("default: 40", "default: 50"));
    ground.ask(&["pack", "add", &better]).says(0, &["small 2 is installed"]);
    ground.ask(&["new", "small.light", "--id", "B"]).says(0, &[]);
    let definition = |id: &str| ground.ask(&["show", id, "--json"]).json()["definition"].clone();
    assert_eq!((definition("small.light/A"), definition("small.light/B")), (1.into(), 2.into()));
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["pack", "add", &better]).says(4, &["not-permitted"]);
    ground.ask(&["pack", "add", "nowhere"]).says(2, &["no such file or folder"]);
}

#[test]
fn settings_are_shown_with_their_origin_and_changed() {
    let ground = ClientServer::with_all_packs();
    ground.ask(&["settings", "mission"]).says(0, &["maxReviewCycles", "default"]);
    let changed = ground.ask(&["settings", "mission", "maxReviewCycles:=5"]);
    changed.says(0, &["maxReviewCycles", "project"]);
    let json = ground.ask(&["settings", "mission", "--json"]).json();
    let one = json["items"].as_array().unwrap().iter().find(|it| it["name"] == "maxReviewCycles").unwrap();
    assert_eq!((&one["value"], &one["origin"]), (&5.into(), &"project".into()));
    ground.ask(&["settings", "mission", "maxReviewCycles:=null"]).says(0, &[]);
    ground.ask(&["settings", "mission", "maxReviewCycels:=5"]).says(1, &["maxReviewCycles"]);
    ground.ask(&["settings", "misson"]).says(1, &["Did you mean mission?"]);
    ground.ask(&["settings"]).says(0, &["mission", "coding"]);
    let typo = ["token", "create", "ada", "--kind", "agent", "--role", "mission:specialst"];
    ground.ask(&typo).says(1, &["unknown-role", "Did you mean mission:specialist?"]);
}
