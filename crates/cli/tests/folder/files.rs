//! Files that cannot be read or written: the message says what to do next, not the name of the system
//! error.

use crate::ground::{CliProject, trackside};

#[test]
fn a_wrong_file_is_reported_with_the_next_step() {
    let ground = CliProject::with_scenario("files", "Lights go on");
    let (pack, nowhere, data) = (ground.path("pack"), ground.path("nowhere.jsonl"), ground.path("data"));
    let (deep, file) = (ground.path("no/such/out"), ground.path("journal.jsonl"));
    let (new, note) = (ground.path("new"), format!("note=@{nowhere}"));
    let below = format!("{file}/below");
    let bytes = ground.path("bytes");
    std::fs::write(&bytes, [0xff, 0xfe]).unwrap();
    let none = "no such file";
    let rows: [(&[&str], i32, &str); 13] = [
        (&["import", &nowhere, "--data", &data], 2, none),
        (&["import", &nowhere, "--data", &data], 2, "trackside export --to FILE"),
        (&["import", &nowhere, "--from", "plan", "--into", "small.light", "--data", &data], 2, none),
        (&["import", &pack, "--data", &new], 2, "this is a folder"),
        (&["import", &bytes, "--data", &new], 2, "not UTF-8 text"),
        (&["redact", "small.light/A", "--set", &note, "--reason", "x", "--data", &data], 2, none),
        (&["audit", "verify", &nowhere], 3, none),
        (&["diff", &pack, &pack, "--entities", &nowhere], 2, none),
        (&["export", "--to", &deep, "--data", &data], 3, "its folder does not exist"),
        (&["test", &pack, "--only", "Lights go on", "--journal", &deep], 2, "its folder does not exist"),
        (&["diagram", "small.light", &pack, "--output", &deep], 2, "its folder does not exist"),
        (&["init", &below], 3, "a file is in the place of a folder"),
        (&["man", "--output", &below], 3, "a file is in the place of a folder"),
    ];
    for (args, code, words) in rows {
        let told = trackside(args);
        told.says(code, &[words]);
        assert!(!told.messages.contains("os error"), "{args:?}: {}", told.messages);
    }
    assert!(!std::path::Path::new(&new).exists(), "nothing was made");
}
