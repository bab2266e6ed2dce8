//! No state of any pack is known to the code: rules live in definitions.

use std::collections::BTreeMap;

use super::{TidyFinding, crates};
use crate::packs::{own_packs, packs};
use crate::rust::{sources, texts};
use crate::tree::Tree;

/// Shorter names are ordinary words too often.
const SHORTEST: usize = 4;

/// Literals that are spelled like a state of some pack but have another meaning.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/engine/src/event.rs",
        "ASSIGNED",
        "a kind of journal entry, out of the closed list of the contract",
    ),
    ("crates/cli/src/foreign/words.json", "assigned", "the name of the assignee field in other tools"),
    ("crates/cli/src/commands/token.rs", "VALID", "the state of tokens in the server's own pack"),
    ("crates/cli/src/bench/workload.json", "ACTIVE", LOAD),
    ("crates/cli/src/bench/workload.json", "ASSIGNED", LOAD),
];

const LOAD: &str = "the workload of `trackside bench` is data about one built-in pack";

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[(&str, &str, &str)]) -> Vec<TidyFinding> {
    let mut states: BTreeMap<String, String> = BTreeMap::new();
    for pack in packs(tree).into_iter().chain(own_packs(tree)) {
        for state in pack.states().into_iter().filter(|it| it.len() >= SHORTEST) {
            states.entry(state).or_insert_with(|| pack.name.clone());
        }
    }
    let mut findings = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for src in crates(tree) {
        let code = sources(tree, &src).product;
        let said =
            code.iter().flat_map(|it| texts(&it.tokens).into_iter().map(|said| (it.path.as_str(), said)));
        // Data that is compiled in counts as code.
        let data = tree.files(&src, ".json").flat_map(|(path, text)| {
            text.lines().enumerate().map(move |(n, line)| (path, (line.to_owned(), n + 1)))
        });
        for (path, (text, line)) in said.chain(data) {
            for (state, pack) in states.iter().filter(|(state, _)| mentions_state(&text, state)) {
                let excepted = exceptions.iter().position(|(of, it, _)| *of == path && it == state);
                match excepted.and_then(|at| used.get_mut(at)) {
                    Some(used) => *used = true,
                    None => {
                        let what = format!(
                            "\"{state}\" is a state of the pack {pack}: rules belong into definitions"
                        );
                        findings.push(TidyFinding::new(path, line, what));
                    }
                }
            }
        }
    }
    let idle = exceptions.iter().zip(&used).filter(|(_, used)| !**used);
    findings.extend(idle.map(|((path, state, _), _)| {
        TidyFinding::new(*path, 0, format!("does not need its exception for \"{state}\" any more: remove it"))
    }));
    findings
}

/// The whole text, or quoted inside it, as in an expression.
fn mentions_state(text: &str, state: &str) -> bool {
    text == state || text.contains(&format!("\"{state}\"")) || text.contains(&format!("'{state}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn the_code_names_no_state_of_a_pack() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_state_in_the_code_is_found() {
        let lifecycle = "lifecycle: mission.task\nstates: { REVIEW: {}, OUT: {}, IN_PROGRESS: {} }\n";
        let code = "/// From \"REVIEW\" on.\nfn f(s: &str) -> bool {\n s == \"REVIEW\" || g(\"state == 'IN_PROGRESS'\") || s == \"OUT\" }\n#[cfg(test)] mod tests { const S: &str = \"REVIEW\"; }";
        let tree = Tree::planted(&[
            ("packs/mission/pack.yaml", "pack: mission\n"),
            ("packs/mission/lifecycles/task.yaml", lifecycle),
            ("crates/engine/src/lib.rs", code),
            ("crates/engine/src/words.json", "{\n\n \"x\": \"REVIEW\" }"),
        ]);
        let found = check_with(&tree, &[]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|it| it.line == 3), "{found:?}");
        let excepted = [
            ("crates/engine/src/lib.rs", "REVIEW", ""),
            ("crates/engine/src/lib.rs", "IN_PROGRESS", ""),
            ("crates/engine/src/words.json", "REVIEW", ""),
        ];
        assert_eq!(check_with(&tree, &excepted), []);
    }
}
