//! Legal names. A name is part of addresses, role names, file names and lines for people, so it is short and plain.

use crate::name::Name;
use crate::source::{At, Problems, quote};
use crate::syntax::{LifecycleFile, PackFile};

/// The longest name, in characters.
const LONGEST: usize = 64;

/// The names that are declared by one key.
type Declared<'a> = (&'static str, Box<dyn Iterator<Item = &'a At<Name>> + 'a>);

/// Reports declared names that are not legal.
pub(super) fn check(pack: &PackFile, lifecycles: &[LifecycleFile], problems: &mut Problems) {
    let mut one = |kind: &str, name: &At<Name>, is_legal: bool| {
        if is_legal {
            return;
        }
        let message = format!(
            "{} is not a legal {kind}: use 1 to {LONGEST} letters, digits, `_` and `-`, and begin with a letter, a digit or `_`",
            quote(&name.it)
        );
        problems.error("illegal-name", name.at, message).for_new_packs();
    };
    one("name of a pack", &pack.pack, is_legal(&pack.pack.it));
    for lifecycle in lifecycles {
        let name = &lifecycle.lifecycle;
        let kind = name.it.split_once('.').map_or(name.it.as_str(), |(_, kind)| kind);
        // The part before the dot is the pack.
        one("kind of a lifecycle", name, is_legal(kind));
    }
    let shared: [Declared<'_>; 5] = [
        ("name of a role", Box::new(pack.roles.names())),
        ("name of a setting", Box::new(pack.settings.names())),
        ("name of a type", Box::new(pack.types.names())),
        ("name of an audience", Box::new(pack.audiences.names())),
        ("name of a query", Box::new(pack.queries.names())),
    ];
    for (kind, names) in shared.into_iter().chain(lifecycles.iter().flat_map(declared)) {
        names.for_each(|it| one(kind, it, is_legal(&it.it)));
    }
    // Effects are named like `worktree.create`.
    for name in lifecycles.iter().flat_map(|it| it.effects.names()) {
        let is_short = name.it.chars().count() <= LONGEST;
        one("name of an effect", name, is_short && name.it.split('.').all(is_legal));
    }
}

fn declared(file: &LifecycleFile) -> [Declared<'_>; 13] {
    [
        ("name of a state", Box::new(file.states.names())),
        ("name of a transition", Box::new(file.transitions.names())),
        ("name of a field", Box::new(file.fields.names())),
        ("name of a ref", Box::new(file.refs.names())),
        ("name of a relation", Box::new(file.relations.names())),
        ("name of a set of states", Box::new(file.sets.names())),
        ("name of a setting", Box::new(file.settings.names())),
        ("name of a type", Box::new(file.types.names())),
        ("name of a timer", Box::new(file.timers.names())),
        ("name of a counter", Box::new(file.counters.names())),
        ("name of a slot", Box::new(file.slots.names())),
        ("name of a ranking", Box::new(file.rankings.names())),
        (
            "name of a rule",
            Box::new(file.reactions.names().chain(file.invariants.names()).chain(file.gates.names())),
        ),
    ]
}

fn is_legal(name: &str) -> bool {
    let mut chars = name.chars();
    name.chars().count() <= LONGEST
        && chars.next().is_some_and(|it| it.is_alphanumeric() || it == '_')
        && chars.all(|it| it.is_alphanumeric() || matches!(it, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::super::{PackFiles, compile, compile_stored};
    use crate::source::{Problems, Sources};

    fn pack_of(name: &str, role: &str, state: &str) -> (Sources, PackFiles) {
        let quoted = |it: &str| serde_json::Value::from(it).to_string();
        let mut sources = Sources::new();
        let pack = format!("pack: {}\nversion: 1\nroles: {{ {}: {{}} }}\n", quoted(name), quoted(role));
        let life = format!(
            "lifecycle: {}\ncreate: {{ by: human }}\nstates: {{ {}: {{ initial: true }}, DONE: {{ final: true }} }}\n\
             transitions: {{ end: {{ from: {}, to: DONE, by: human }} }}\n",
            quoted(&format!("{name}.task")),
            quoted(state),
            quoted(state)
        );
        let files = PackFiles {
            pack: sources.add("pack.yaml", pack),
            lifecycles: vec![sources.add("task.yaml", life)],
        };
        (sources, files)
    }

    fn codes(problems: &Problems) -> Vec<&str> {
        problems.sorted().iter().map(|it| it.code).collect()
    }

    #[test]
    fn names_that_do_not_fit_addresses_and_lines_are_refused() {
        let (sources, files) = pack_of("shop", "lead-2", "IN_WORK");
        compile(&sources, &files).unwrap();
        let long = "a".repeat(300);
        for odd in
            ["..", "a/b", "a\u{1b}[2J", "a\u{0}", long.as_str(), "a:b", "", "a b", "-a", "a\u{202e}b", "a\nb"]
        {
            for (pack, role, state) in [("shop", odd, "OPEN"), ("shop", "lead", odd), (odd, "lead", "OPEN")] {
                let (sources, files) = pack_of(pack, role, state);
                let problems = compile(&sources, &files).map(|_| ()).unwrap_err();
                assert!(!codes(&problems).is_empty(), "{pack:?} {role:?} {state:?}");
                let shown = problems.render(&sources, false);
                assert!(shown.contains("1 to 64 letters") || shown.contains("error["), "{shown}");
            }
            let (sources, files) = pack_of("shop", odd, "OPEN");
            let problems = compile(&sources, &files).map(|_| ()).unwrap_err();
            // The reader refuses an empty key.
            assert_eq!(codes(&problems), [if odd.is_empty() { "key" } else { "illegal-name" }], "{odd:?}");
        }
    }

    #[test]
    fn a_stored_pack_with_such_a_name_still_compiles() {
        let (sources, files) = pack_of("shop", "a:b", "x y");
        let (compiled, problems) = compile_stored(&sources, &files).unwrap();
        assert_eq!(compiled.lifecycles.len(), 1);
        assert_eq!(codes(&problems), ["illegal-name", "illegal-name"]);
        assert!(!problems.has_errors());
    }
}
