//! No clock, IO, async, randomness or unordered iteration in the crates that decide.

use super::TidyFinding;
use crate::rust::{Mention, mentions, sources};
use crate::tree::Tree;

const PURE: [&str; 3] = ["crates/lifecycle/src", "crates/engine/src", "crates/study/src"];

/// Names that pure crates must not mention, and why.
enum Ban {
    /// A path that begins so; `core` and `alloc` count as `std`.
    Begins(&'static [&'static str]),
    /// A path that ends so.
    Ends(&'static [&'static str]),
    /// This name anywhere in a path, or this keyword.
    Name(&'static str),
    /// A call of this macro.
    Macro(&'static str),
}

const CLOCK: &str = "time is an argument";
const OUTSIDE: &str = "texts are arguments and results are return values; callers do the IO";
const ASYNC: &str = "nothing waits while deciding";
const CHANCE: &str = "the same arguments give the same answer";
const WIRE: &str = "JSON of answers is a type in `protocol`; a report derives `Serialize`";
const ORDER: &str = "its order differs from run to run: use a BTreeMap, a Vec, or the engine's Index";

const BANS: &[(Ban, &str)] = &[
    (Ban::Begins(&["std", "time"]), CLOCK),
    (Ban::Name("SystemTime"), CLOCK),
    (Ban::Name("Instant"), CLOCK),
    (Ban::Ends(&["Timestamp", "now"]), CLOCK),
    (Ban::Ends(&["Zoned", "now"]), CLOCK),
    (Ban::Ends(&["TimeZone", "system"]), CLOCK),
    (Ban::Begins(&["std", "fs"]), OUTSIDE),
    (Ban::Begins(&["std", "io"]), OUTSIDE),
    (Ban::Begins(&["std", "net"]), OUTSIDE),
    (Ban::Begins(&["std", "env"]), OUTSIDE),
    (Ban::Begins(&["std", "process"]), OUTSIDE),
    (Ban::Begins(&["std", "os"]), OUTSIDE),
    (Ban::Macro("print"), OUTSIDE),
    (Ban::Macro("println"), OUTSIDE),
    (Ban::Macro("eprint"), OUTSIDE),
    (Ban::Macro("eprintln"), OUTSIDE),
    (Ban::Macro("env"), OUTSIDE),
    (Ban::Macro("option_env"), OUTSIDE),
    (Ban::Begins(&["std", "thread"]), ASYNC),
    (Ban::Name("tokio"), ASYNC),
    (Ban::Name("async"), ASYNC),
    (Ban::Name("await"), ASYNC),
    (Ban::Macro("thread_local"), CHANCE),
    (Ban::Name("rand"), CHANCE),
    (Ban::Name("RandomState"), CHANCE),
    (Ban::Macro("json"), WIRE),
    (Ban::Name("HashMap"), ORDER),
    (Ban::Name("HashSet"), ORDER),
];

/// Exceptions to a ban, with the reason. One that is not needed any more is a finding.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/engine/src/index.rs",
        "HashMap",
        "the map behind `Index`, which cannot be walked in its own order",
    ),
    (
        "crates/lifecycle/src/guard/parse.rs",
        "std::thread",
        "a deeper stack for the parser of `cel`, joined at once",
    ),
    (
        "crates/study/src/explore/search/level.rs",
        "std::thread",
        "several cores follow one block of worlds, joined at once; the result does not depend on how many",
    ),
];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[(&str, &str, &str)]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for src in PURE {
        let sources = sources(tree, src);
        findings.extend(sources.lost.into_iter().map(|(path, what)| TidyFinding::new(path, 0, what)));
        for source in sources.product {
            for mention in mentions(&source.tokens) {
                for (ban, why) in BANS.iter().filter(|(ban, _)| ban.covers(&mention)) {
                    let name = ban.name();
                    let excepted =
                        exceptions.iter().position(|(path, it, _)| *path == source.path && *it == name);
                    match excepted.and_then(|at| used.get_mut(at)) {
                        Some(used) => *used = true,
                        None => findings.push(TidyFinding::new(
                            &source.path,
                            mention.line,
                            format!("`{name}`: {why}"),
                        )),
                    }
                }
            }
        }
    }
    let idle = exceptions.iter().zip(&used).filter(|(_, used)| !**used);
    findings.extend(idle.map(|((path, name, _), _)| {
        TidyFinding::new(*path, 0, format!("does not need its exception for `{name}` any more: remove it"))
    }));
    findings
}

impl Ban {
    fn covers(&self, mention: &Mention) -> bool {
        let segments: Vec<&str> = mention.segments.iter().map(|it| it.trim_start_matches("r#")).collect();
        match self {
            Self::Begins(path) => {
                let standard = matches!(segments.first(), Some(&("std" | "core" | "alloc")));
                standard
                    && segments.len() >= path.len()
                    && segments.iter().zip(*path).skip(1).all(|(a, b)| a == b)
            }
            Self::Ends(path) => segments.ends_with(path),
            Self::Name(name) => segments.contains(name),
            Self::Macro(name) => mention.called && segments.last() == Some(name),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Begins(path) | Self::Ends(path) => path.join("::"),
            Self::Name(name) => (*name).to_owned(),
            Self::Macro(name) => format!("{name}!"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn deciding_crates_are_pure() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn each_ban_is_found_and_tests_are_free() {
        let planted = [
            ("use std::time::Duration;", "std::time"),
            ("use std::{fmt, time};", "std::time"),
            ("fn f() { core::time::Duration::ZERO; }", "std::time"),
            ("fn f(now: SystemTime) {}", "SystemTime"),
            ("fn f() { let t = Instant::now(); }", "Instant"),
            ("fn f() { jiff::Timestamp::now(); }", "Timestamp::now"),
            ("fn f() { jiff::tz::TimeZone::system(); }", "TimeZone::system"),
            ("fn f() { std::fs::read(p); }", "std::fs"),
            ("use std::net::TcpStream;", "std::net"),
            ("fn f() { std::env::var(n); }", "std::env"),
            ("fn f() { std::process::exit(1); }", "std::process"),
            ("fn f() { std::thread::sleep(d); }", "std::thread"),
            ("fn f() { tokio::spawn(x); }", "tokio"),
            ("async fn f() {}", "async"),
            ("fn f() { rand::random(); }", "rand"),
            ("fn f() { println!(); }", "println!"),
            ("use std::collections::{BTreeMap, HashMap};", "HashMap"),
            ("fn f(it: &HashSet<u8>) {}", "HashSet"),
            ("macro_rules! m { () => { std::fs::read(p) }; }", "std::fs"),
        ];
        for (text, name) in planted {
            let tree = Tree::planted(&[("crates/engine/src/lib.rs", text)]);
            let found = check_with(&tree, &[]);
            assert!(found.iter().any(|it| it.what.starts_with(&format!("`{name}`"))), "{text}: {found:?}");
            let hidden = format!("#[cfg(test)] mod tests {{ {text} }}");
            let tree = Tree::planted(&[("crates/engine/src/lib.rs", &hidden)]);
            assert_eq!(check_with(&tree, &[]), [], "{hidden}");
        }
    }

    #[test]
    fn words_that_only_look_like_it_are_fine() {
        let text = "/// Instant, HashMap and std::fs.\nuse crate::time::Timestamp; fn random(operand: &str) -> &str { \"tokio\" }";
        let tree = Tree::planted(&[("crates/lifecycle/src/lib.rs", text)]);
        assert_eq!(check_with(&tree, &[]), []);
    }

    #[test]
    fn an_exception_covers_its_file_alone_and_must_be_needed() {
        let text = "use std::collections::HashMap;";
        let tree = Tree::planted(&[
            ("crates/engine/src/lib.rs", "mod index;"),
            ("crates/engine/src/index.rs", text),
        ]);
        assert_eq!(check_with(&tree, &[("crates/engine/src/index.rs", "HashMap", "")]), []);
        let other = check_with(&tree, &[("crates/engine/src/lib.rs", "HashMap", "")]);
        assert_eq!(other.len(), 2, "{other:?}");
    }
}
