//! Prints refusals: every unmet condition, allowed alternatives, permitted actors and the next step.

use trackside_engine::refusal::{Code, ConditionCode};
use trackside_protocol::{Problem, ProblemCode, UnmetBody};

use crate::field_types::FieldTypes;
use crate::print::{self, Colour, painted};
use crate::server_lookup::RequestError;
use crate::styled::Styled;
use crate::{exit, print_transition, time_format, values};

/// The lifecycle or entity of a command, so that the next step can name it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommandSubject<'a> {
    pub(crate) lifecycle: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
    /// Fields that the command takes as options of the same name.
    pub(crate) options: &'static [&'static str],
    /// Fields as they were typed.
    pub(crate) typed: &'a [String],
    /// The declared types of the fields, if they are known.
    pub(crate) types: Option<&'a FieldTypes>,
}

impl<'a> CommandSubject<'a> {
    pub(crate) fn lifecycle(lifecycle: &'a str) -> Self {
        Self { lifecycle: Some(lifecycle), ..Self::default() }
    }

    pub(crate) fn entity(lifecycle: &'a str, id: &'a str) -> Self {
        Self { lifecycle: Some(lifecycle), id: Some(id), ..Self::default() }
    }

    pub(crate) fn with_typed(self, typed: &'a [String]) -> Self {
        Self { typed, ..self }
    }

    pub(crate) fn with_types(self, types: &'a FieldTypes) -> Self {
        Self { types: Some(types), ..self }
    }

    pub(crate) fn with_options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }
}

/// Returns the exit code of a command, and prints the error if it failed.
pub(crate) fn finish(outcome: Result<u8, RequestError>, about: CommandSubject<'_>, json: bool) -> u8 {
    match outcome {
        Ok(code) => code,
        Err(RequestError::Cli(stopped)) => stopped.report(),
        Err(RequestError::Refused(problem)) => {
            if json {
                print::json(&serde_json::to_value(&*problem).unwrap_or_default());
            }
            print::message(render(&problem, about));
            code(&problem)
        }
    }
}

/// The same for a command about the entity that was typed as `LIFECYCLE/ID`.
pub(crate) fn finish_entity(
    typed: &str,
    json: bool,
    work: impl FnOnce(&str, &str) -> Result<u8, RequestError>,
) -> u8 {
    match print_transition::parse_entity(typed) {
        Ok((lifecycle, id)) => finish(work(lifecycle, id), CommandSubject::entity(lifecycle, id), json),
        Err(stopped) => stopped.report(),
    }
}

/// The exit code of a refusal.
fn code(problem: &Problem) -> u8 {
    match problem.status {
        400 => exit::USAGE,
        401 | 403 => exit::FORBIDDEN,
        429 | 503 => exit::UNREACHABLE,
        _ => exit::REFUSED,
    }
}

/// Renders a refusal with the same content as over HTTP.
pub(crate) fn render(problem: &Problem, about: CommandSubject<'_>) -> Styled {
    render_as(problem, about, &painted("refused", Colour::Red))
}

/// Renders it with another first word.
pub(crate) fn render_as(problem: &Problem, about: CommandSubject<'_>, word: &Styled) -> Styled {
    let mut lines = vec![styled!("{word}: {}", problem.code)];
    let alone = match problem.errors.as_slice() {
        [] => true,
        [one] => one.message == problem.detail && one.field.is_none() && one.saw.is_empty(),
        _ => false,
    };
    if alone {
        lines.push(styled!("  {}", problem.detail));
    } else {
        lines.extend(problem.errors.iter().flat_map(unmet));
    }
    if !problem.allowed_transitions.is_empty() {
        lines.push(print_transition::targets(&problem.allowed_transitions).into());
    }
    if let Some(who) = problem.who_to_ask() {
        lines.push(styled!("who may: {who}"));
    }
    if problem.kept {
        lines.push("what you sent is kept in the journal".into());
    }
    if let Some(next) = next(problem, about) {
        lines.push(styled!("next: {next}"));
    }
    Styled::joined(lines)
}

fn unmet(it: &UnmetBody) -> Vec<Styled> {
    let field = it.field.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
    let mut lines = vec![styled!("  - {field}{} ({})", it.message, it.code)];
    if !it.saw.is_empty() {
        let saw: Vec<String> =
            it.saw.iter().map(|(name, value)| format!("{name} = {}", time_format::value(value))).collect();
        lines.push(styled!("      it saw {}", saw.join(", ")));
    }
    lines
}

/// The argument for a missing field or one with too few items: a placeholder of its type, else its name.
fn argument(it: &UnmetBody, about: CommandSubject<'_>) -> Option<String> {
    let name = it.field.as_deref()?;
    let placeholder = about.types.and_then(|it| it.placeholder(name));
    match () {
        () if it.has_code(ConditionCode::TooFew) => placeholder,
        () if !it.has_code(ConditionCode::Missing) => None,
        () if name == "reason" || about.options.contains(&name) => Some(format!("--{name} …")),
        () => Some(placeholder.unwrap_or_else(|| name.to_owned())),
    }
}

/// The next step for a code: the first template whose names are known.
fn next_by_code(code: ProblemCode, about: CommandSubject<'_>) -> Option<String> {
    let entity = about.lifecycle.zip(about.id).map(|(lifecycle, id)| format!("{lifecycle}/{id}"));
    let names = [("{entity}", entity.as_deref()), ("{lifecycle}", about.lifecycle)];
    code.next_steps().iter().find_map(|template| {
        names.iter().try_fold((*template).to_owned(), |text, (name, value)| {
            if text.contains(name) { value.map(|it| text.replace(name, it)) } else { Some(text) }
        })
    })
}

/// How fields are typed.
const FORMS: &str = " (name=text, name:=json or name=@file)";

/// The next step, unless the refusal names it.
fn next(problem: &Problem, about: CommandSubject<'_>) -> Option<String> {
    let code = ProblemCode::parse(&problem.code);
    if let Some(grant) = &problem.grant {
        return Some(format!("an admin can give the role: {grant}"));
    }
    if let Some(code) = code.filter(|it| !it.next_steps().is_empty()) {
        return next_by_code(code, about);
    }
    let is_form = |it: &UnmetBody| it.field.as_deref() == Some("form");
    if code == Some(ProblemCode::InvalidParameter) && problem.errors.iter().any(is_form) {
        return Some("ask again without --form".to_owned());
    }
    let sent_as_text = |it: &UnmetBody| {
        it.has_code(ConditionCode::WrongType)
            && it.field.as_deref().is_some_and(|it| values::is_text(about.typed, it))
    };
    if problem.errors.iter().any(sent_as_text) {
        return Some(
            "type numbers, lists, true and false as JSON, with := as in count:=3 or names:='[\"ada\"]'"
                .to_owned(),
        );
    }
    let mut missing: Vec<String> = problem.errors.iter().filter_map(|it| argument(it, about)).collect();
    missing.dedup();
    let extra = problem.errors.iter().filter(|it| it.has_code(Code::UnexpectedField));
    let extra: Vec<&str> = extra.filter_map(|it| it.field.as_deref()).collect();
    let with = missing.join(" ");
    let how = if missing.iter().any(|it| !it.starts_with("--")) { FORMS } else { "" };
    match (missing.is_empty(), extra.is_empty()) {
        (true, false) => Some(format!("ask again without {}", extra.join(", "))),
        (false, true) => Some(format!("ask again with {with}{how}")),
        (false, false) => Some(format!("ask again without {} and with {with}{how}", extra.join(", "))),
        // The message already describes the problem with the arguments.
        (true, true) if problem.status == 400 => None,
        (true, true) => {
            let (lifecycle, id) = about.lifecycle.zip(about.id)?;
            Some(format!("trackside explain {lifecycle}/{id} shows every condition"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_to_be_left_out_and_missing_ones_given() {
        let unmet = |field: &str, code: &str| {
            serde_json::from_value(serde_json::json!({ "field": field, "code": code, "message": "" }))
                .unwrap()
        };
        let mut problem = Problem::new(Code::UnexpectedField, "y");
        problem.errors = vec![unmet("limit", "unexpected-field")];
        assert_eq!(next(&problem, CommandSubject::default()).unwrap(), "ask again without limit");
        problem.errors.push(unmet("title", "missing"));
        let both = "ask again without limit and with title (name=text, name:=json or name=@file)";
        assert_eq!(next(&problem, CommandSubject::default()).unwrap(), both);
        problem.errors = vec![unmet("fence", "missing"), unmet("reason", "missing")];
        let beat = CommandSubject::default().with_options(&["slot", "fence"]);
        assert_eq!(next(&problem, beat).unwrap(), "ask again with --fence … --reason …");
        let mut problem = Problem::new(ProblemCode::InvalidParameter, "No log line");
        problem.errors = vec![unmet("form", "invalid-parameter")];
        assert_eq!(next(&problem, CommandSubject::default()).unwrap(), "ask again without --form");
    }

    #[test]
    fn codes_say_whether_it_was_refused_forbidden_or_typed_wrongly() {
        for (status, expected) in [
            (400, exit::USAGE),
            (401, exit::FORBIDDEN),
            (403, exit::FORBIDDEN),
            (404, exit::REFUSED),
            (409, exit::REFUSED),
            (422, exit::REFUSED),
            (429, exit::UNREACHABLE),
        ] {
            let problem = Problem { status, ..Problem::new(ProblemCode::Internal, "y") };
            assert_eq!(code(&problem), expected, "{status}");
        }
    }

    #[test]
    fn every_unmet_condition_is_printed_with_its_values() {
        let mut problem = Problem::new(Code::RequirementMissing, "Two things are missing");
        let unmet = |field: &str, message: &str| UnmetBody {
            field: Some(field.to_owned()),
            message: message.to_owned(),
            code: "missing".to_owned(),
            rule: None,
            saw: [(field.to_owned(), serde_json::Value::Null)].into(),
        };
        problem.errors = vec![unmet("plan", "A plan is required"), unmet("owner", "Say whose it is")];
        problem.allowed_transitions = vec!["A".to_owned(), "B".to_owned()];
        problem.who = Some("human".to_owned());
        let text = render(&problem, CommandSubject::entity("x.y", "1")).plain();
        let expected = "\
refused: requirement-missing
  - plan: A plan is required (missing)
      it saw plan = nothing
  - owner: Say whose it is (missing)
      it saw owner = nothing
you can move it to: A, B
next: ask again with plan owner (name=text, name:=json or name=@file)";
        assert_eq!(text, expected);
    }

    #[test]
    fn who_may_is_printed_once_and_only_for_missing_permission() {
        let mut problem = Problem::new(Code::NotPermitted, "ada may not publish. Who may: human");
        problem.who = Some("human".to_owned());
        let text = render(&problem, CommandSubject::default()).plain();
        assert_eq!(text.to_lowercase().matches("who may: human").count(), 1, "{text}");
        let mut problem = Problem::new(Code::NotPermitted, "This token may not act for eve");
        problem.who = Some("a token made with --for".to_owned());
        let text = render(&problem, CommandSubject::default()).plain();
        assert!(text.contains("who may: a token made with --for"), "{text}");
        let mut problem = Problem::new(Code::GuardFailed, "Too early");
        problem.who = Some("human".to_owned());
        assert!(!render(&problem, CommandSubject::default()).plain().contains("who may"));
    }
}
