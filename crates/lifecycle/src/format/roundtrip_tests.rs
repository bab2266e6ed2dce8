//! Formatting never changes the meaning of a text, and formatting twice changes nothing more.

use proptest::prelude::*;

use super::random_yaml::{by_hand, choices};
use super::*;

/// Formats a text that the reader accepts; none for others.
fn kept(text: &str) -> Option<String> {
    let mut sources = Sources::new();
    let file = sources.add("a.yaml", text);
    let mut problems = Problems::new();
    if read(&sources, file, &mut problems).is_none() || problems.has_errors() {
        assert!(format(&sources, file).is_err(), "invalid text is not formatted");
        return None;
    }
    let once = format(&sources, file).unwrap_or_else(|it| {
        panic!("{:?}\n{text:?}\nbecomes\n{:?}", it.count(), write(&plain_breaks(text)).1)
    });
    let again = sources.add("b.yaml", once.clone());
    let twice = format(&sources, again).unwrap();
    assert_eq!(twice, once, "formatted twice it is something else\n{text:?}");
    assert!(!once.contains('\r') && !once.starts_with('\n'), "{once:?}");
    assert!(once.is_empty() || once.ends_with('\n'), "{once:?}");
    Some(once)
}

#[test]
fn most_generated_yaml_is_valid() {
    let texts = || (0..1000).map(|it| by_hand(&choices(it)));
    let kept: Vec<String> = texts().filter_map(|it| kept(&it)).collect();
    assert!(kept.len() > 700, "only {} of 1000 could be read", kept.len());
    let commented = kept.iter().filter(|it| it.contains("# words")).count();
    assert!(commented > 300, "only {commented} have comments");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_generated_yaml_keeps_its_content(choices in proptest::collection::vec(any::<u8>(), 0..120)) {
        kept(&by_hand(&choices));
    }

    #[test]
    fn formatting_random_tokens_keeps_their_content(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "a", "b: ", "c:", "- ", "\n", "\n  ", "\n    ", "\n\n", "{", "}", "[", "]", ", ", ": ", "? ", "'", "\"", "|",
            ">-", "|2", " # c", "#d\n", "\t", "\r\n", " ", "é", "x y", "\\", "~",
        ]), 0..24))
    {
        kept(&words.concat());
    }
}

/// The blank line is longer than the next one, so the block text ends before it.
#[test]
fn a_comment_after_an_empty_block_text_stays_a_comment() {
    assert_eq!(kept("|\n  \n#d\n # c").as_deref(), Some("|2\n\n# d\n# c\n"));
}

fn formatted(path: &str, text: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add(path, text);
    format(&sources, file).unwrap_or_else(|it| panic!("{}", it.render(&sources, false)))
}

#[test]
fn formatting_the_packs_keeps_their_content() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut folders: Vec<_> =
        ["packs", "crates/engine/tests/constructs"].map(|it| format!("{root}/{it}")).into();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.display().to_string());
            } else if path.extension().is_some_and(|it| it == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                let once = formatted(&path.display().to_string(), &text);
                assert_eq!(write(&once).1, once, "{}", path.display());
                if text.len() < 4000 {
                    // With more blanks and other line ends, it still has the same meaning.
                    kept(&text.replace("{ ", "{  ").replace(", ", " ,   ").replace('\n', " \r\n")).unwrap();
                }
                files += 1;
            }
        }
    }
    assert!(files > 100);
}
