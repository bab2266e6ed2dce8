//! Text with expressions in it: `Task {id} waits since {since}`.

use std::fmt::Write as _;
use std::sync::Arc;

use super::limits::{self, Budget};
use super::tokens::{ExprTokenKind, scan};
use super::{Fault, Guard, GuardError, Names, Scope, VariableUse};
use crate::value::Value;

/// A compiled text with holes. Cloning it shares it.
#[derive(Clone, Debug)]
pub struct Template(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Hole(Guard),
}

impl Template {
    /// Compiles the text in `{…}`; `{{` and `}}` are the braces themselves.
    pub fn compile(source: &str, names: &mut dyn Names) -> Result<Self, Vec<GuardError>> {
        if source.len() > limits::TEMPLATE {
            let message = format!("the text is longer than {} bytes", limits::TEMPLATE);
            return Err(vec![GuardError::new(message, 0..source.len())]);
        }
        let mut parts = Vec::new();
        let mut errors = Vec::new();
        for piece in pieces(source) {
            match piece {
                Ok(Piece::Text(text)) => match parts.last_mut() {
                    Some(Part::Text(before)) => before.push_str(text),
                    _ => parts.push(Part::Text(text.to_owned())),
                },
                Ok(Piece::Hole { source, offset }) => match Guard::compile(source, names) {
                    Ok(guard) => parts.push(Part::Hole(guard)),
                    Err(wrong) => errors.extend(wrong.into_iter().map(|it| it.shifted(offset))),
                },
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Self(Arc::new(Compiled { source: source.into(), parts })))
        } else {
            Err(errors)
        }
    }

    /// A text without holes; braces in it are just braces.
    pub fn text(text: &str) -> Self {
        Self(Arc::new(Compiled { source: text.into(), parts: vec![Part::Text(text.to_owned())] }))
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The variables that its placeholders may read.
    pub fn reads(&self) -> impl Iterator<Item = &VariableUse> {
        self.0.parts.iter().flat_map(|it| match it {
            Part::Text(_) => [].as_slice(),
            Part::Hole(guard) => guard.reads(),
        })
    }

    pub fn render(&self, scope: &dyn Scope) -> Result<String, Fault> {
        let budget = Budget::new(limits::STEPS);
        let mut text = String::with_capacity(self.0.source.len());
        for part in &self.0.parts {
            match part {
                Part::Text(it) => text.push_str(it),
                Part::Hole(guard) => show(&guard.eval(scope)?, &mut text, &budget)?,
            }
        }
        Ok(text)
    }
}

/// Writes a value for people: text without quotes, null as nothing, lists with commas.
pub(super) fn show(value: &Value, text: &mut String, budget: &Budget) -> Result<(), Fault> {
    budget.step()?;
    // Writing into a string cannot fail.
    let _ = match value {
        Value::Null => Ok(()),
        Value::Bool(it) => write!(text, "{it}"),
        Value::Int(it) => write!(text, "{it}"),
        Value::Float(it) => write!(text, "{it}"),
        Value::Text(it) => {
            budget.text(it.len())?;
            text.write_str(it)
        }
        Value::Time(it) => write!(text, "{it}"),
        Value::Span(it) => write!(text, "{it}"),
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                show(item, text, budget)?;
            }
            Ok(())
        }
        Value::Map(entries) => {
            for (at, (name, item)) in entries.iter().enumerate() {
                budget.text(name.len())?;
                let _ = write!(text, "{}{name}: ", if at > 0 { ", " } else { "" });
                show(item, text, budget)?;
            }
            Ok(())
        }
    };
    Ok(())
}

enum Piece<'s> {
    Text(&'s str),
    Hole { source: &'s str, offset: usize },
}

/// Splits a template at its braces.
fn pieces(source: &str) -> impl Iterator<Item = Result<Piece<'_>, GuardError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = source.get(at..).filter(|it| !it.is_empty())?;
        let brace = rest.find(['{', '}']).unwrap_or(rest.len());
        if brace > 0 {
            at += brace;
            return rest.get(..brace).map(|it| Ok(Piece::Text(it)));
        }
        for (doubled, single) in [("{{", "{"), ("}}", "}")] {
            if rest.starts_with(doubled) {
                at += 2;
                return Some(Ok(Piece::Text(single)));
            }
        }
        let start = at;
        if rest.starts_with('}') {
            at += 1;
            let error = GuardError::new("`}` closes nothing", start..at);
            return Some(Err(error.hint("write `}}` for a brace")));
        }
        let inside = rest.get(1..).unwrap_or_default();
        let Some(end) = hole_end(inside) else {
            at = source.len();
            let error = GuardError::new("`{` is never closed", start..start + 1);
            return Some(Err(error.hint("write `{{` for a brace")));
        };
        at += end + 2;
        inside.get(..end).map(|source| Ok(Piece::Hole { source, offset: start + 1 }))
    })
}

/// The brace that closes a hole: not one within a text, nor one of a map.
fn hole_end(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for token in scan(inside) {
        let Ok(token) = token else { continue };
        match token.kind {
            ExprTokenKind::Open('{') => depth += 1,
            ExprTokenKind::Close('}') if depth == 0 => return Some(token.at.start),
            ExprTokenKind::Close('}') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::test_scope::{task, told};

    fn renders(source: &str, expected: &str) {
        let mut world = task();
        let template = Template::compile(source, &mut world).unwrap_or_else(|it| panic!("{source}: {it:?}"));
        assert_eq!(template.render(&world).as_deref(), Ok(expected), "{source}");
    }

    fn mistake(source: &str, expected: &[&str]) {
        let errors = Template::compile(source, &mut task()).err().unwrap_or_default();
        assert_eq!(told(source, &errors), expected, "{source}");
    }

    #[test]
    fn holes_are_filled_in() {
        renders("", "");
        renders("plain", "plain");
        renders(
            "Task {title} has {reviewCycles + 1} of {assigneeIds}",
            "Task Fix it has 3 of coder-1, coder-2",
        );
        renders("[{reviewer}] [{oldPlan.bullets}]", "[] []");
        renders("{score} {2.0} {lease} {since} {open}", "1.5 2 1m 1970-01-01T00:16:40Z true");
        renders("{{title}} {'}'}{\"{\"} }}{{", "{title} }{ }{");
        renders("{ {'a': title}.a }é{title}", "Fix itéFix it");
        renders("{labels}", "team: core");
    }

    #[test]
    fn mistakes_point_into_the_template() {
        mistake(
            "é {titel} and {reviewCycels}",
            &[
                "unknown name `titel` @ titel (did you mean `title`?)",
                "unknown name `reviewCycels` @ reviewCycels (did you mean `reviewCycles`?)",
            ],
        );
        mistake("a { b", &["`{` is never closed @ { (write `{{` for a brace)"]);
        mistake("a } b", &["`}` closes nothing @ } (write `}}` for a brace)"]);
        mistake("a {} b", &["an expression is missing @ "]);
        mistake("{title title}", &["unexpected `title` @ title"]);
    }

    #[test]
    fn text_without_holes_keeps_its_braces() {
        assert_eq!(Template::text("{a} }").render(&task()).as_deref(), Ok("{a} }"));
        assert!(Template::compile(&"x".repeat(limits::TEMPLATE + 1), &mut task()).is_err());
    }

    #[test]
    fn a_template_lists_its_reads() {
        let template = Template::compile("{title} {plan.bullets}", &mut task()).unwrap();
        assert_eq!(
            template.reads().map(|it| it.path.as_str()).collect::<Vec<_>>(),
            ["title", "plan.bullets"]
        );
    }
}
