//! Evidence in one file, checked far from the server that gave it.

use crate::ground::ClientServer;
use crate::program::{binary, run_command};

#[test]
fn exported_evidence_verifies_without_the_server() {
    let ground = ClientServer::small("evidence");
    ground.ask(&["new", "small.light", "--id", "A", "place=the hall"]).says(0, &[]);
    ground.ask(&["new", "small.light", "--id", "B", "place=somewhere private"]).says(0, &[]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(0, &[]);
    let file = ground.root.join("A.jsonl");
    let name = file.to_str().unwrap();
    let export = ["audit", "export", "small.light/A", "--to", name];
    let done = ground.ask(&export);
    done.says(0, &["intact", "small.light/A  ON, version 2, ", "trackside audit verify FILE"]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("the hall") && !text.contains("somewhere private"));
    ground.ask(&export).says(2, &["already exists"]);
    assert_eq!(
        std::fs::read_dir(&ground.root)
            .unwrap()
            .filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "part"))
            .count(),
        0
    );
    ground.ask(&["audit", "export", "small.light/X", "--to", "x"]).says(1, &["unknown-entity"]);

    // The end of the journal is the end in the file.
    let audit = ground.ask(&["audit", "verify", "--json"]).json();
    let end = format!("{}:{}", audit["to"]["seq"], audit["to"]["hash"].as_str().unwrap());
    drop(ground);
    let verify = |args: &[&str]| run_command(binary(&[&["audit", "verify", name], args].concat()));
    verify(&[]).says(0, &["intact", &format!("ends at {end}")]);
    verify(&["--known", &end]).says(0, &["intact"]);
    let json = verify(&["--json"]).json();
    assert_eq!(
        (&json["intact"], &json["about"]["entity"]),
        (&true.into(), &"small.light/A".into()),
        "{json:#}"
    );
    verify(&["--known", &end.replace(|it: char| it.is_ascii_alphabetic(), "0")])
        .says(1, &["BROKEN", "does not match the hash noted"]);
    verify(&["--known", "999999:0"]).says(2, &["SEQ:HASH"]);
    verify(&["--data", "somewhere"]).says(2, &["cannot be used with"]);

    std::fs::write(&file, text.replace("the hall", "the cave")).unwrap();
    verify(&[]).says(1, &["BROKEN", "the payload of entry", "was changed"]);
    std::fs::write(&file, "{}\n").unwrap();
    verify(&[]).says(1, &["it is not an evidence file", "trackside audit export"]);
    std::fs::remove_file(&file).unwrap();
    verify(&[]).says(3, &["no such file"]);
}
