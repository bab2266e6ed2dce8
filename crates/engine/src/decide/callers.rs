//! Expressions about actors (`by`): who is admitted, in readable form.

use trackside_lifecycle::guard::Guard;

/// The caller that is the engine itself, in expressions.
const ENGINE: &str = "engine";

/// The alternatives of an expression about actors.
fn alternatives(source: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut quoted) = (Vec::new(), 0_usize, 0, None);
    for (at, c) in source.char_indices() {
        match (c, quoted) {
            (c, Some(mark)) if c == mark => quoted = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quoted = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth = depth.saturating_sub(1),
            ('|', None) if depth == 0 && source.get(at..).is_some_and(|it| it.starts_with("||")) => {
                parts.push(source.get(start..at).unwrap_or_default().trim());
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(source.get(start..).unwrap_or_default().trim());
    parts
}

/// Whether `by` admits only the engine.
pub(super) fn is_engine_only(by: &Guard) -> bool {
    alternatives(by.source()).iter().all(|it| it.split("&&").any(|it| it.trim() == ENGINE))
}

/// An expression about actors in readable form. The engine is named only if it is the only caller.
pub(crate) fn describe_guard(source: &str) -> String {
    let mut parts = alternatives(source);
    if parts.iter().any(|it| *it != ENGINE) {
        parts.retain(|it| *it != ENGINE);
    }
    let words: Vec<String> = parts.iter().map(|it| describe_caller(it)).collect();
    words.join(" or ")
}

/// One alternative. Comparisons of the caller's id with a field become `listed in` and `named in`.
fn describe_caller(source: &str) -> String {
    if source == "true" {
        return "anyone".to_owned();
    }
    let mut text = source
        .replace("(system && !engine)", "system")
        .replace(" && !engine", "")
        .replace("||", "or")
        .replace("&&", "and");
    text = text.replace("subject.id != actor.id", "acting for another actor");
    for actor in ["actor.id", "subject.id"] {
        text =
            text.replace(&format!("{actor} in "), "listed in ").replace(&format!("{actor} == "), "named in ");
    }
    text = text
        .replace(" != null", " is set")
        .replace(" == null", " is empty")
        .replace(" != ", " is not ")
        .replace(" == ", " is ");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '!' => out.push_str("not "),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_described_without_the_engine() {
        for (source, expected) in [
            ("true", "anyone"),
            ("engine", "engine"),
            ("human || system || engine", "human or system"),
            ("engine || human || (agent && assignee)", "human or (agent and assignee)"),
            ("supervisor || (system && !engine)", "supervisor or system"),
            (
                "(agent || system) && (subject.id in assigneeIds || subject.id == reviewerId)",
                "(agent or system) and (listed in assigneeIds or named in reviewerId)",
            ),
            ("human || (editor && !author_of)", "human or (editor and not author_of)"),
            ("self && role == \"a || engine\"", "self and role is \"a or engine\""),
            ("task == null || lead", "task is empty or lead"),
            ("system && subject.id != actor.id", "system and acting for another actor"),
        ] {
            assert_eq!(describe_guard(source), expected);
        }
    }
}
