//! The page about findings, against the code.

use std::collections::BTreeSet;

use super::common::{codes, pack, root};
use trackside_study::check::Class;

/// The part of the page about each code.
fn entries() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/reference/findings.md")).unwrap();
    let parts = page.split("\n### ").skip(1);
    parts
        .map(|it| {
            let (code, rest) = it.split_once('\n').unwrap();
            (code.to_owned(), rest.split("\n## ").next().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn every_class_has_its_entry() {
    let written: BTreeSet<String> = entries().into_iter().map(|(code, _)| code).collect();
    let known: BTreeSet<String> = Class::ALL.iter().map(|it| it.code().to_owned()).collect();
    assert_eq!(written, known);
    assert_eq!(entries().len(), Class::ALL.len());
}

#[test]
fn every_entry_names_its_severity() {
    for (code, text) in entries() {
        let class = Class::ALL.iter().find(|it| it.code() == code).unwrap();
        let word = class.severity().word();
        assert!(
            text.trim_start().to_lowercase().split(". ").next().unwrap().contains(word),
            "{code} is a {word}"
        );
    }
}

/// Each example compiles and has the finding of its entry.
#[test]
fn every_example_has_its_finding() {
    for (code, text) in entries() {
        let mut files = vec!["pack: t\nversion: 1\n".to_owned()];
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            if block.starts_with("# pack.yaml") {
                files[0].push_str(block);
            } else if block.starts_with("lifecycle:") {
                files.push(block.to_owned());
            } else {
                files.push(format!("lifecycle: t.thing\ncreate: {{ by: human }}\n{block}"));
            }
        }
        assert!(files.len() > 1, "{code} has no example");
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let found = pack(&files).findings();
        assert_eq!(codes(&found), [code.as_str()], "{found:#?}");
    }
}
