//! Nothing is left unfinished: no `todo!`, `unimplemented!` or `dbg!`, not even in tests.

use super::TidyFinding;
use crate::rust::mentions;
use crate::tree::Tree;

const MARKERS: [&str; 3] = ["todo", "unimplemented", "dbg"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files("", ".rs") {
        let Ok(tokens) = text.parse() else {
            findings.push(TidyFinding::new(path, 0, "this is not Rust"));
            continue;
        };
        for mention in mentions(&tokens).iter().filter(|it| it.called) {
            if let Some(name) = mention.segments.last().filter(|it| MARKERS.contains(&it.as_str())) {
                findings.push(TidyFinding::new(
                    path,
                    mention.line,
                    format!("`{name}!` is left here: finish it or remove it"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn nothing_is_left_unfinished() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn markers_are_found_in_tests_too() {
        let text = "fn f() { todo!() }\nfn g() { std::unimplemented!() }\n#[cfg(test)] mod t { fn h() { dbg!(1); } }\n// todo!()\nfn dbg() {}";
        let lines: Vec<usize> =
            check(&Tree::planted(&[("crates/a/src/lib.rs", text)])).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
