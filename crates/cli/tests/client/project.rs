//! A project of one's own: a starter pack, packs on a running server, settings.

use crate::ground::{Ground, LIGHT, scratch, small};
use crate::program::{binary, told};

#[test]
fn a_new_project_has_a_pack_that_passes_its_test_and_its_check() {
    let root = scratch("init");
    let run = |args: &[&str]| {
        let mut command = binary(args);
        command.current_dir(&root);
        told(command)
    };
    run(&["init", "shop"]).says(0, &["shop/packs/shop", "trackside test"]);
    let readme = std::fs::read_to_string(root.join("shop/README.md")).unwrap();
    assert_eq!(readme.lines().count(), 5, "{readme}");
    run(&["test", "shop/packs"]).says(0, &["2 passed, 0 failed"]);
    run(&["check", "shop/packs", "--strict"]).says(0, &[]);
    run(&["fmt", "--check", "shop/packs"]).says(0, &[]);
    let lifecycle = std::fs::read_to_string(root.join("shop/packs/shop/lifecycles/task.yaml")).unwrap();
    assert!(!lifecycle.contains("starter"), "{lifecycle}");
    // What is there is never overwritten.
    std::fs::write(root.join("shop/packs/shop/pack.yaml"), "mine").unwrap();
    run(&["init", "shop"]).says(2, &["is there already, and is left as it is"]);
    assert_eq!(std::fs::read_to_string(root.join("shop/packs/shop/pack.yaml")).unwrap(), "mine");
}

#[test]
fn the_starter_pack_is_added_to_a_running_server_and_used() {
    let ground = Ground::small("starter");
    ground.command(&[]).output().unwrap();
    let mut init = binary(&["init", "shop"]);
    init.current_dir(&ground.root);
    told(init).says(0, &[]);
    ground.ask(&["pack", "add", "shop/packs/shop"]).says(0, &["shop 1 is installed: shop.task"]);
    ground.ask(&["pack", "add", "shop/packs/shop"]).says(0, &["shop 1 was there already"]);
    ground
        .ask(&["new", "shop.task", "--id", "T-1", "title=Try it"])
        .says(0, &["shop.task/T-1 created, TODO"]);
    ground.ask(&["fire", "shop.task/T-1", "start"]).says(0, &["TODO → DOING"]);
    ground.ask(&["explain", "shop.task/T-1"]).says(0, &["then time_out → STUCK"]);
}

#[test]
fn a_pack_is_refused_with_what_is_wrong_or_installed_beside_the_running_one() {
    let ground = Ground::small("packs");
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    ground.ask(&["pack", "list"]).says(0, &["small", "small.light"]);
    let second = ground.root.join("second");
    // Where the text is, so are the findings.
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
    ground.ask(&["pack", "add", "nowhere"]).says(2, &["there is no such file or folder"]);
}

#[test]
fn settings_are_told_with_their_origin_and_changed() {
    let ground = Ground::whole();
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
