//! The parameter and result types of the built-in functions, checked when the file is loaded.

use super::Builtin;
use crate::guard::Type;

/// An argument of the wrong type.
pub(in crate::guard) struct ArgumentMismatch {
    pub(in crate::guard) argument: usize,
    pub(in crate::guard) needs: &'static str,
}

/// The type of the result. The number of arguments has been checked.
pub(in crate::guard) fn signature(builtin: Builtin, arguments: &[Type]) -> Result<Type, ArgumentMismatch> {
    let given = |at: usize| arguments.get(at).unwrap_or(&Type::Any);
    let check = |argument: usize, needs: &'static str, fits: fn(&Type) -> bool| {
        let it = given(argument);
        if fits(it) || *it == Type::Any { Ok(()) } else { Err(ArgumentMismatch { argument, needs }) }
    };
    let number = |at| check(at, "a number", Type::is_number);
    let whole = |at| check(at, "a whole number", Type::is_number);
    let text = |at| check(at, "text", Type::is_text);
    let list = |at| check(at, "a list", |it| matches!(it, Type::List(_)));
    let span = |at| check(at, "a length of time", |it| *it == Type::Span);
    let item = |at: usize| match given(at) {
        Type::List(of) => Type::clone(of).known(),
        _ => Type::Any,
    };

    Ok(match builtin {
        Builtin::Size => {
            check(0, "text, a list or a map", |it| {
                it.is_text() || matches!(it, Type::List(_) | Type::Map(_) | Type::Record(_))
            })?;
            Type::Int
        }
        Builtin::Contains | Builtin::StartsWith | Builtin::EndsWith => {
            text(0)?;
            text(1)?;
            Type::Bool
        }
        Builtin::LowerAscii | Builtin::UpperAscii | Builtin::Trim => {
            text(0)?;
            Type::Text
        }
        Builtin::Split => {
            text(0)?;
            text(1)?;
            Type::list(Type::Text)
        }
        Builtin::Shell => {
            text(0)?;
            Type::list(Type::list(Type::Text))
        }
        Builtin::Join => {
            check(
                0,
                "a list of text",
                |it| matches!(it, Type::List(of) if of.is_text() || **of == Type::Null),
            )?;
            text(1)?;
            Type::Text
        }
        Builtin::Index => {
            list(0)?;
            Type::Int
        }
        Builtin::Digest => Type::Text,
        Builtin::Pair | Builtin::Before => {
            text(0)?;
            text(1)?;
            Type::Text
        }
        Builtin::String => {
            check(0, "a value", |it| *it != Type::Null)?;
            Type::Text
        }
        Builtin::Int => {
            check(0, "a number or text", |it| it.is_number() || it.is_text() || *it == Type::Time)?;
            Type::Int
        }
        Builtin::Double => {
            check(0, "a number or text", |it| it.is_number() || it.is_text())?;
            Type::Float
        }
        Builtin::Duration => {
            check(0, "text", |it| it.is_text() || *it == Type::Span)?;
            Type::Span
        }
        Builtin::Timestamp => {
            check(0, "text", |it| it.is_text() || *it == Type::Time)?;
            Type::Time
        }
        Builtin::Pow => {
            number(0)?;
            number(1)?;
            Type::Float
        }
        Builtin::Round if arguments.len() == 2 => {
            number(0)?;
            whole(1)?;
            if *given(0) == Type::Int { Type::Int } else { Type::Float }
        }
        Builtin::Round | Builtin::Ceil | Builtin::Floor => {
            number(0)?;
            Type::Int
        }
        Builtin::Abs => {
            check(0, "a number", |it| it.is_number() || *it == Type::Span)?;
            given(0).clone()
        }
        Builtin::Min | Builtin::Max => return extreme(arguments),
        Builtin::Sum | Builtin::SumSpans => {
            check(0, "a list of numbers", |it| match it {
                Type::List(of) => of.is_number() || matches!(**of, Type::Span | Type::Null),
                _ => false,
            })?;
            item(0)
        }
        Builtin::Add | Builtin::Append => {
            list(0)?;
            let all = match given(0) {
                Type::List(of) => Type::clone(of),
                _ => Type::Any,
            };
            Type::list(if all == Type::Any { all } else { all.or(given(1).clone()) })
        }
        Builtin::Remove | Builtin::Unique | Builtin::Slice => {
            list(0)?;
            if builtin == Builtin::Slice {
                whole(1)?;
                whole(2)?;
            }
            given(0).clone()
        }
        Builtin::First | Builtin::Last => {
            list(0)?;
            item(0)
        }
        Builtin::Hours | Builtin::Minutes | Builtin::Seconds => match given(0) {
            Type::Map(of) if **of == Type::Span => Type::map(Type::Float),
            _ => {
                span(0)?;
                Type::Float
            }
        },
    })
}

/// Either one list, or values that can be compared with each other.
fn extreme(arguments: &[Type]) -> Result<Type, ArgumentMismatch> {
    const NEEDS: &str = "numbers, moments or lengths of time that can be compared";
    let mut all = Type::Null;
    let items: Vec<&Type> = match arguments {
        [Type::List(of)] => vec![of],
        _ => arguments.iter().collect(),
    };
    for (argument, it) in items.into_iter().enumerate() {
        let comparable = it.is_number() || matches!(it, Type::Time | Type::Span | Type::Null);
        let joined = all.or(it.clone());
        if !comparable || (joined == Type::Any && *it != Type::Any && !arguments.contains(&Type::Any)) {
            return Err(ArgumentMismatch { argument, needs: NEEDS });
        }
        all = joined;
    }
    Ok(all.known())
}
