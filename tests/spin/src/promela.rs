//! The model as Promela, the language of `spin`.

use std::fmt::Write as _;

use super::condition::ModelCondition;
use super::model::{AbstractModel, Assignment};

/// The model, with one `ltl` claim per state and per property, and one that is always true (`every`) for counting states.
///
/// `s_N` says that no entity is ever in state N, `p_N` that no entity ever meets the condition of claim N.
pub fn promela(model: &AbstractModel) -> String {
    let mut out = String::new();
    let _ = write_model(model, &mut out);
    out
}

fn write_model(model: &AbstractModel, out: &mut String) -> std::fmt::Result {
    writeln!(out, "/* {}: {} of it, abstracted.", model.lifecycle, model.entities)?;
    for it in &model.left_out {
        writeln!(out, "   {} is left out.", plain(it))?;
    }
    writeln!(out, "*/\n")?;
    for (number, variable) in model.variables.iter().enumerate() {
        let values: Vec<String> =
            variable.values.iter().enumerate().map(|(n, it)| format!("{n} {it}")).collect();
        writeln!(
            out,
            "byte v{number}[{}]; /* {}: {} */",
            model.entities,
            plain(&variable.name),
            plain(&values.join(", "))
        )?;
        if is_crossed(model, number) {
            writeln!(out, "hidden byte t{number};")?;
        }
    }
    writeln!(out, "\nactive [{}] proctype entity() {{\n  do", model.entities)?;
    for it in &model.moves {
        writeln!(out, "  /* {} */", plain(&it.name))?;
        write!(out, "  :: d_step {{ {} -> ", text(&it.when, "_pid"))?;
        let read_late = |variable: &usize| it.changes.iter().any(|(_, to)| *to == Assignment::Of(*variable));
        let kept: Vec<usize> = it.changes.iter().map(|(variable, _)| *variable).filter(read_late).collect();
        for variable in &kept {
            write!(out, "t{variable} = v{variable}[_pid]; ")?;
        }
        for (place, (variable, to)) in it.changes.iter().enumerate() {
            let end = if place + 1 < it.changes.len() { "; " } else { "" };
            match to {
                Assignment::Value(value) => write!(out, "v{variable}[_pid] = {value}{end}")?,
                Assignment::Of(from) if kept.contains(from) => {
                    write!(out, "v{variable}[_pid] = t{from}{end}")?
                }
                Assignment::Of(from) => write!(out, "v{variable}[_pid] = v{from}[_pid]{end}")?,
                Assignment::More(most) => write!(
                    out,
                    "v{variable}[_pid] = (v{variable}[_pid] < {most} -> v{variable}[_pid] + 1 : {most}){end}"
                )?,
            }
        }
        writeln!(out, " }}")?;
    }
    if model.moves.is_empty() {
        writeln!(out, "  :: false")?;
    }
    writeln!(out, "  od\n}}\n\nltl every {{ [] (v0[0] <= 255) }}")?;
    for (number, state) in model.states().iter().enumerate() {
        writeln!(out, "/* {} is not reached */", plain(state))?;
        claim(&format!("s_{number}"), &somewhere(model, &model.is_in(number)), out)?;
    }
    for (number, it) in model.claims.iter().enumerate() {
        writeln!(out, "/* {} */", plain(&it.name))?;
        claim(&format!("p_{number}"), &somewhere(model, &it.bad), out)?;
    }
    Ok(())
}

/// The longest formula that spin is given as such; it cannot read much longer ones.
const FORMULA: usize = 800;

/// A claim that a condition never becomes true: as a formula, or as the automaton that spin would make of
/// it.
fn claim(name: &str, bad: &str, out: &mut String) -> std::fmt::Result {
    if bad.len() <= FORMULA {
        return writeln!(out, "ltl {name} {{ [] !({bad}) }}");
    }
    writeln!(out, "never {name} {{ do :: ({bad}) -> break :: !({bad}) od }}")
}

/// Whether some move reads the variable while it writes it.
fn is_crossed(model: &AbstractModel, variable: usize) -> bool {
    model.moves.iter().any(|it| {
        it.changes.iter().any(|(written, _)| *written == variable)
            && it.changes.iter().any(|(_, to)| *to == Assignment::Of(variable))
    })
}

/// The condition of some entity.
fn somewhere(model: &AbstractModel, cond: &ModelCondition) -> String {
    let entities: Vec<String> = (0..model.entities).map(|it| text(cond, &it.to_string())).collect();
    entities.join(" || ")
}

fn text(cond: &ModelCondition, entity: &str) -> String {
    let joined = |parts: &[ModelCondition], by: &str| {
        let parts: Vec<String> = parts.iter().map(|it| text(it, entity)).collect();
        format!("({})", parts.join(by))
    };
    match cond {
        ModelCondition::Always => "true".to_owned(),
        ModelCondition::Never => "false".to_owned(),
        ModelCondition::Is(variable, value) => format!("v{variable}[{entity}] == {value}"),
        ModelCondition::All(parts) => joined(parts, " && "),
        ModelCondition::Any(parts) => joined(parts, " || "),
        ModelCondition::Not(of) => format!("!({})", text(of, entity)),
    }
}

/// The text without the end mark of a comment.
fn plain(text: &str) -> String {
    text.replace("*/", "* /").replace('\n', " ")
}
